"""The highway layer, with full or low-rank matrices."""

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments, _run, activations
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._products import plain_matmul
from keras_adaptive_rnn._types import Activation
from keras_adaptive_rnn.layers.feed_forward import Affine


@export
class Highway(Affine):
    r"""A dense layer with a gated connection that carries its input to its output.

    $$H = \phi(x W_h + b_h), \qquad T = \sigma(x W_t + b_t), \qquad C = \sigma(x W_c + b_c)$$
    $$y = H \odot T + \hat x \odot C$$

    $\hat x$ is $x$ itself if `units` is the size $n$ of $x$. A wider layer pads $x$ with zeros, and a narrower one
    sub-samples it evenly: $\hat x_j = x_{\lfloor j n / units \rfloor}$, with $j$ from 0.

    With `coupled=True`, $C = 1 - T$. With `rank`, each matrix is a product of two thin matrices, plus an optional
    diagonal: $W = R L + \operatorname{diag}(d)$. With `batch_normalization`, what each parameter matrix returns is
    normalized, so that $x W + b$ becomes, with full and with low-rank matrices,

    $$g \odot \mathrm{BN}(x W) + b \qquad\text{and}\qquad
      g \odot \mathrm{BN}(\mathrm{BN}(x R) L + x \odot d) + b$$

    Weights, in order, blocks concatenated as h, t, c (c only if not coupled): the weights of the map,
    `keras_adaptive_rnn.maps.Full` or `LowRank`, such as the kernel `[n, 2 units]`; bias `[2 units]`; with
    `batch_normalization`, the gain $g$ `[2 units]`, and the moving mean and variance of each product.

    Args:
        units: Positive integer, dimensionality of the output space. Defaults to `None`: the size of the input.
        coupled: Whether to couple the gates, $C = 1 - T$. Defaults to `True`.
        rank: Positive integer, rank of each matrix, at most the size of the input and of the output; `None` (default)
            for full matrices.
        diagonal: Whether to add a diagonal to low-rank matrices, for which `units` must be the size of the input.
            Defaults to `False`.
        batch_normalization: Whether to normalize the products over the batch, and over time, where the mask counts. The
            moving averages have momentum 0.9, as in the authors' code. Inputs then have as many axes as the first ones.
            Defaults to `False`.
        transform_bias: Number, initial value of $b_t$; a negative one makes the layer carry most of its input at first.
            $b_c$, if not coupled, is initialized to the negative of this number. Defaults to `-1.0`.
        activation: Activation function $\phi$. Defaults to `"relu"`.
        kernel_initializer: Initializer of the matrices. Defaults to `"glorot_uniform"`.
        bias_initializer: Initializer of $b_h$. Defaults to `"zeros"`.
        **kwargs: As in `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor `[..., n]`.
        training: Whether batch normalization uses the statistics of the batch.
        mask: Boolean tensor, the shape of the inputs without its last axis, or `None` (default).

    Output shape: `[..., units]`.

    Example:

    >>> layer = keras_adaptive_rnn.layers.Highway(rank=2, diagonal=True)
    >>> tuple(layer(np.ones((2, 6))).shape)
    (2, 6)
    >>> layer.count_params()  # 2 * (6 * 2 + 2 * 6 + 6 + 6)
    72
    >>> tuple(keras_adaptive_rnn.layers.Highway(4, batch_normalization=True)(np.ones((2, 6))).shape)
    (2, 4)

    Reference: Srivastava, Greff, Schmidhuber, Highway Networks (2015), section 2; low-rank: Miceli Barone, Low-rank
    passthrough neural networks (2016), section 2, equations 3 to 5, and batch normalization: appendix A.1.
    """

    def __init__(
        self,
        units: int | None = None,
        *,
        coupled: bool = True,
        rank: int | None = None,
        diagonal: bool = False,
        batch_normalization: bool = False,
        transform_bias: float = -1.0,
        activation: Activation = "relu",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.units = _arguments.integer("units", units, optional=True)
        self.coupled = _arguments.boolean("coupled", coupled)
        self.rank = _arguments.integer("rank", rank, optional=True)
        self.diagonal = _arguments.boolean("diagonal", diagonal)
        rule = "Argument `diagonal` must be False if `rank` is None, as a full matrix already has a diagonal"
        _arguments.check(not self.diagonal or self.rank is not None, rule, diagonal=diagonal, rank=rank)
        self.batch_normalization = _arguments.boolean("batch_normalization", batch_normalization)
        self.transform_bias = _arguments.number("transform_bias", transform_bias)
        self.activation = _arguments.resolve("activation", activation, activations.get)
        self.kernel_map = self.bias = self.norm = self.inner_norm = None

    def build(self, input_shape):
        super().build(input_shape)
        size = self.units or input_shape[-1]
        bias = [self.bias_initializer, keras.initializers.Constant(self.transform_bias)]
        if not self.coupled:
            bias.append(keras.initializers.Constant(-self.transform_bias))
        self.kernel_map = self.make_map(size, len(bias), self.rank, self.diagonal)
        self.kernel_map.build(input_shape)
        self.bias = self.make_bias(size, bias)
        if self.batch_normalization:
            leading = input_shape[:-1]
            self.input_spec = keras.layers.InputSpec(ndim=len(input_shape), axes={-1: input_shape[-1]})
            self.norm = self._make_norm("norm", (*leading, len(bias) * size))
            if self.rank is not None:
                self.inner_norm = self._make_norm("inner_norm", (*leading, len(bias) * self.rank), scale=False)

    def _make_norm(self, name, shape, scale=True):
        # The bias of the layer is the offset.
        norm = keras.layers.BatchNormalization(
            momentum=0.9, center=False, scale=scale, name=name, dtype=self.dtype_policy
        )
        norm.build(shape)
        return norm

    def call(self, inputs, training=None, mask=None):
        affine = self.bias(self._product(inputs, training, mask), _run.current())
        h, t, *c = ops.split(affine, 2 if self.coupled else 3, axis=-1)
        t = ops.sigmoid(t)
        c = 1 - t if self.coupled else ops.sigmoid(c[0])
        return self.activation(h) * t + self._carried(inputs) * c

    def _product(self, inputs, training, mask):
        if not self.batch_normalization:
            return self.kernel_map(inputs)
        if self.inner_norm is None:
            product = self.kernel_map(inputs)
        else:
            run = _run.current(training)
            (factors,) = self.kernel_map.prepare(run)
            inner = self.inner_norm(self.kernel_map.inner(inputs, factors, run), training=training, mask=mask)
            product = self.kernel_map.outer(inner, inputs, factors, run)
        return self.norm(product, training=training, mask=mask)

    def _carried(self, inputs):
        # Not that of the inputs, which is a tensor while PyTorch traces.
        size = self.input_spec.axes[-1]
        units = self.units or size
        if units > size:
            return ops.pad(inputs, [(0, 0)] * (len(inputs.shape) - 1) + [(0, units - size)])
        if units == size:
            return inputs
        # A product, as PyTorch's ONNX files do not hold `ops.take`.
        chosen = np.eye(size)[:, np.arange(units) * size // units]
        return plain_matmul(inputs, ops.convert_to_tensor(chosen, dtype=inputs.dtype))

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.units or input_shape[-1])
