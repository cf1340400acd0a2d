"""The full matrix, and the full matrix with DropConnect."""

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, engine, initializers
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.maps.base import LinearMap, narrow_blocks


@export
class Full(LinearMap):
    r"""A full matrix: $y = x W$.

    Weights: `kernel`, `[inputs, blocks * units]`, with the blocks concatenated as in Keras's cells, and with
    `weight_normalization` also `gain`, `[blocks * units]`.

    Args:
        units, blocks, initializer, regularizer, constraint, weight_normalization: As in
            `keras_adaptive_rnn.maps.LinearMap`.

    Example:

    >>> y = keras_adaptive_rnn.maps.Full(4)(np.ones((2, 3)))
    >>> tuple(y.shape)
    (2, 4)
    """

    def build(self, input_shape):
        super().build(input_shape)
        if self._init_groups:
            columns = [self.units * blocks for blocks in self._init_groups]
            self.initializer = initializers.concatenated(self.initializer, columns)
        self.kernel = self.add_kernel("kernel", (input_shape[-1], self.units * sum(self.blocks)))
        if self.weight_normalization:
            self.gain = self.add_gain("gain", self.kernel)

    def effective_kernel(self, run):
        kernel = self.matrix("kernel", run)
        return self.normalized(kernel, ops.cast(self.gain, self.compute_dtype)) if self.weight_normalization else kernel

    def prepare(self, run):
        return self.by_group(self.effective_kernel(run))

    def narrow(self, prepared, inputs, units):
        return narrow_blocks(prepared, inputs, self.units, units)

    def prepare_blocks(self, run):
        kernel = self.effective_kernel(run)
        return ops.transpose(ops.reshape(kernel, (kernel.shape[0], -1, self.units)), (1, 0, 2))


@export
class DropConnect(Full):
    r"""A full matrix with some of its entries dropped during training: $y = x (W \odot M)$.

    $M_{ij}$ is $0$ with probability `rate` and $1 / (1 - \text{rate})$ otherwise. One $M$ is drawn for each batch and
    holds for the whole sequence. Inference uses $W$ itself.

    Weights: as in `keras_adaptive_rnn.maps.Full`.

    Args:
        rate: Float in `[0, 1)`, fraction of the entries to drop. Defaults to `0.5`.
        variational: Whether to drop whole columns, that is outputs of the map, instead of single entries. Defaults to
            `False`. (With this option, the authors' code also drops in inference; this class does not.)
        seed: Integer seed of the masks, or `None` (default).
        units, blocks, initializer, regularizer, constraint, weight_normalization: As in
            `keras_adaptive_rnn.maps.LinearMap`.

    Example:

    >>> cell = keras_adaptive_rnn.LSTMCell(8, recurrent_map=keras_adaptive_rnn.maps.DropConnect(0.3))
    >>> keras_adaptive_rnn.layers.RNN(cell)(np.ones((2, 5, 3))).shape[-1]
    8

    Reference: Wan et al., Regularization of Neural Networks using DropConnect (2013); on the recurrent matrix of an
    LSTM: Merity, Keskar, Socher, Regularizing and Optimizing LSTM Language Models (2017), section 2.
    """

    noise_rates = ("rate",)
    shares_noise = True

    def __init__(self, rate: float = 0.5, variational: bool = False, seed: int | None = None, **kwargs):
        super().__init__(**kwargs)
        self.rate = _arguments.rate("rate", rate)
        self.variational = _arguments.boolean("variational", variational)
        self.seed = _arguments.integer("seed", seed, minimum=0, optional=True)
        self.seed_generator = engine.SeedGenerator(seed)

    def draw_noise(self, run):
        return {"mask": self._draw(run)} if self.rate > 0 else {}

    def _draw(self, run):
        noise = run.given_noise.get(self)
        if noise:
            return ops.convert_to_tensor(noise["rate"], dtype=self.compute_dtype)
        inputs, outputs = self.matrix_shapes["kernel"]
        ones = ops.ones((1 if self.variational else inputs, outputs), dtype=self.compute_dtype)
        return keras.random.dropout(ones, self.rate, seed=self.seed_generator)

    def effective_kernel(self, run):
        kernel = super().effective_kernel(run)
        if not run.training or self.rate == 0:
            return kernel
        mask = run.prepared_by(self).get("mask")
        return kernel * (self._draw(run) if mask is None else mask)
