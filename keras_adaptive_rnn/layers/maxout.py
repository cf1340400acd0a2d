"""The maxout layer."""

from keras import ops

from keras_adaptive_rnn import _arguments, _run, initializers, maps
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.layers.feed_forward import Affine


@export
class Maxout(Affine):
    r"""The elementwise maximum of several affine maps: $y = \max_j (x W_j + b_j)$.

    Weights, in order: kernel `[inputs, pieces * units]`, the $W_j$ concatenated; bias `[pieces * units]`.

    Args:
        units: Positive integer, dimensionality of the output space.
        pieces: Positive integer, the number of maps.
        use_bias: Whether to add the $b_j$. Defaults to `True`.
        kernel_initializer: Initializer of the kernel. Defaults to `"glorot_uniform"`.
        bias_initializer: Initializer of each $b_j$. Defaults to `"zeros"`.
        **kwargs: As in `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor `[..., inputs]`.

    Output shape: `[..., units]`.

    Example:

    >>> tuple(keras_adaptive_rnn.layers.Maxout(4, pieces=3)(np.ones((2, 5))).shape)
    (2, 4)

    Reference: Goodfellow et al., Maxout Networks (2013), section 3.
    """

    def __init__(self, units: int, pieces: int, *, use_bias: bool = True, **kwargs):
        super().__init__(**kwargs)
        self.units = _arguments.integer("units", units)
        self.pieces = _arguments.integer("pieces", pieces)
        self.use_bias = _arguments.boolean("use_bias", use_bias)
        self.kernel_map = self.make_map(self.units, blocks=self.pieces)
        self.bias = maps.no_bias

    def build(self, input_shape):
        super().build(input_shape)
        self.kernel_map.build(input_shape)
        if self.use_bias:
            each = [initializers.reseeded(self.bias_initializer, "piece", k) for k in range(self.pieces)]
            self.bias = self.make_bias(self.units, each)

    def call(self, inputs):
        pieces = ops.split(self.bias(self.kernel_map(inputs), _run.current()), self.pieces, axis=-1)
        return ops.max(ops.stack(pieces), axis=0)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.units)
