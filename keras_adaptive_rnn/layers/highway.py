"""The highway layer, with full or low-rank matrices."""

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, _run, activations
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._types import Activation
from keras_adaptive_rnn.layers.feed_forward import Affine


@export
class Highway(Affine):
    r"""A dense layer with a gated connection that carries its input to its output.

    $$H = \phi(x W_h + b_h), \qquad T = \sigma(x W_t + b_t), \qquad C = \sigma(x W_c + b_c)$$
    $$y = H \odot T + x \odot C$$

    With `coupled=True`, $C = 1 - T$. With `rank`, each matrix is a product of two thin matrices, plus an optional
    diagonal: $W = R L + \operatorname{diag}(d)$.

    Weights, in order, blocks concatenated as h, t, c (c only if not coupled): the weights of the map,
    `keras_adaptive_rnn.maps.Full` or `LowRank`, such as the kernel `[n, 2 n]`; bias `[2 n]`.

    Args:
        coupled: Whether to couple the gates, $C = 1 - T$. Defaults to `True`.
        rank: Positive integer, rank of each matrix, at most the size of the input; `None` (default) for full matrices.
        diagonal: Whether to add a diagonal to low-rank matrices. Defaults to `False`.
        transform_bias: Number, initial value of $b_t$; a negative one makes the layer carry most of its input at first.
            $b_c$, if not coupled, is initialized to the negative of this number. Defaults to `-1.0`.
        activation: Activation function $\phi$. Defaults to `"relu"`.
        kernel_initializer: Initializer of the matrices. Defaults to `"glorot_uniform"`.
        bias_initializer: Initializer of $b_h$. Defaults to `"zeros"`.
        kernel_regularizer, bias_regularizer: Regularizers, `None` by default.
        kernel_constraint, bias_constraint: Constraints, `None` by default.
        name, dtype, trainable, activity_regularizer: As in `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor `[..., n]`.

    Output shape: Same as the inputs.

    Raises:
        ValueError: `diagonal=True` without `rank`, or `rank` is larger than the size of the input.

    Example:

    >>> layer = keras_adaptive_rnn.layers.Highway(rank=2, diagonal=True)
    >>> tuple(layer(np.ones((2, 6))).shape)
    (2, 6)
    >>> layer.count_params()  # 2 * (6 * 2 + 2 * 6 + 6 + 6)
    72

    Reference: Srivastava, Greff, Schmidhuber, Highway Networks (2015), section 2; low-rank: Miceli Barone, Low-rank
    passthrough neural networks (2016), section 3, equations 3 to 5.
    """

    def __init__(
        self,
        *,
        coupled: bool = True,
        rank: int | None = None,
        diagonal: bool = False,
        transform_bias: float = -1.0,
        activation: Activation = "relu",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.coupled = _arguments.boolean("coupled", coupled)
        self.rank = _arguments.integer("rank", rank, optional=True)
        self.diagonal = _arguments.boolean("diagonal", diagonal)
        if self.diagonal and self.rank is None:
            raise ValueError(
                "Argument `diagonal` must be False if `rank` is None, as a full matrix already has a diagonal. "
                "Received: diagonal=True, rank=None"
            )
        self.transform_bias = _arguments.number("transform_bias", transform_bias)
        self.activation = _arguments.resolve("activation", activation, activations.get)
        self.kernel_map = self.bias = None

    def build(self, input_shape):
        super().build(input_shape)
        size = input_shape[-1]
        bias = [self.bias_initializer, keras.initializers.Constant(self.transform_bias)]
        if not self.coupled:
            bias.append(keras.initializers.Constant(-self.transform_bias))
        self.kernel_map = self.make_map(size, len(bias), self.rank, self.diagonal)
        self.kernel_map.build(input_shape)
        self.bias = self.make_bias(size, bias)

    def call(self, inputs):
        affine = self.bias(self.kernel_map(inputs), _run.current())
        h, t, *c = ops.split(affine, 2 if self.coupled else 3, axis=-1)
        t = ops.sigmoid(t)
        c = 1 - t if self.coupled else ops.sigmoid(c[0])
        return self.activation(h) * t + inputs * c
