"""The highway layer, with full or low-rank matrices."""

from typing import Any

from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.layers.feed_forward import Affine

class Highway(Affine):
    """A dense layer with a gated connection that carries its input to its output.

    $$H = \\phi(x W_h + b_h), \\qquad T = \\sigma(x W_t + b_t), \\qquad C = \\sigma(x W_c + b_c)$$
    $$y = H \\odot T + x \\odot C$$

    With `coupled=True`, $C = 1 - T$. With `rank`, each matrix is a product of two thin matrices, plus an optional
    diagonal: $W = R L + \\operatorname{diag}(d)$.

    Weights, in order, blocks concatenated as h, t, c (c only if not coupled): the weights of the map,
    `keras_adaptive_rnn.maps.Full` or `LowRank`, such as the kernel `[n, 2 n]`; bias `[2 n]`.

    Args:
        coupled: Whether to couple the gates, $C = 1 - T$. Defaults to `True`.
        rank: Positive integer, rank of each matrix, at most the size of the input; `None` (default) for full
            matrices.
        diagonal: Whether to add a diagonal to low-rank matrices. Defaults to `False`.
        transform_bias: Number, initial value of $b_t$; a negative one makes the layer carry most of its input at
            first. $b_c$, if not coupled, is initialized to the negative of this number. Defaults to `-1.0`.
        activation: Activation function $\\phi$. Defaults to `"relu"`.
        kernel_initializer: Initializer of the matrices. Defaults to `"glorot_uniform"`.
        bias_initializer: Initializer of $b_h$. Defaults to `"zeros"`.
        kernel_regularizer, bias_regularizer: Regularizers, `None` by default.
        kernel_constraint, bias_constraint: Constraints, `None` by default.
        activity_regularizer: Regularizer of the output. Defaults to `None`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

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

    coupled: bool
    rank: int | None
    diagonal: bool
    transform_bias: float
    activation: Any
    kernel_map: Any
    bias: Any
    kernel_initializer: Any
    bias_initializer: Any
    kernel_regularizer: Any
    bias_regularizer: Any
    kernel_constraint: Any
    bias_constraint: Any
    activity_regularizer: Any

    def __init__(
        self,
        *,
        coupled: bool = True,
        rank: int | None = None,
        diagonal: bool = False,
        transform_bias: float = -1.0,
        activation: Activation = "relu",
        kernel_initializer: Initializer = "glorot_uniform",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def build(self, input_shape: Any) -> None: ...
    def call(self, inputs: Any) -> Any: ...
