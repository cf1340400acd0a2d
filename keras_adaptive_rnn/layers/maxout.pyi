"""The maxout layer."""

from typing import Any

from keras_adaptive_rnn._types import Constraint, Initializer, Regularizer
from keras_adaptive_rnn.layers.feed_forward import Affine

class Maxout(Affine):
    """The elementwise maximum of several affine maps: $y = \\max_j (x W_j + b_j)$.

    Weights, in order: kernel `[inputs, pieces * units]`, the $W_j$ concatenated; bias `[pieces * units]`.

    Args:
        units: Positive integer, dimensionality of the output space.
        pieces: Positive integer, the number of maps.
        use_bias: Whether to add the $b_j$. Defaults to `True`.
        kernel_initializer: Initializer of the kernel. Defaults to `"glorot_uniform"`.
        bias_initializer: Initializer of each $b_j$. Defaults to `"zeros"`.
        kernel_regularizer, bias_regularizer: Regularizers, `None` by default.
        kernel_constraint, bias_constraint: Constraints, `None` by default.
        activity_regularizer: Regularizer of the output. Defaults to `None`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[..., inputs]`.

    Output shape: `[..., units]`.

    Example:

    >>> tuple(keras_adaptive_rnn.layers.Maxout(4, pieces=3)(np.ones((2, 5))).shape)
    (2, 4)

    Reference: Goodfellow et al., Maxout Networks (2013), section 3.
    """

    units: int
    pieces: int
    use_bias: bool
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
        units: int,
        pieces: int,
        *,
        use_bias: bool = True,
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
    def compute_output_shape(self, input_shape: Any) -> Any: ...
