"""Base classes of the feed-forward layers."""

from typing import Any

import keras

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._types import Constraint, Initializer, Regularizer
from keras_adaptive_rnn.maps.owner import OwnsWeights

class FeedForward(OwnsWeights, _arguments.Declared, keras.layers.Layer):
    """A layer that accepts any leading axes, treats all positions alike, and passes masks through.

    So it `is_time_distributed`: in inference, it computes each time step by itself, and
    `keras_adaptive_rnn.step_model` can run it for a single one. Any layer may say so, in an attribute of this name.

    Args:
        activity_regularizer: Regularizer of the output. Defaults to `None`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.
    """

    is_time_distributed: bool
    supports_masking: bool
    activity_regularizer: Any

    def __init__(
        self,
        *,
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def compute_output_shape(self, input_shape: Any) -> Any: ...

class Affine(FeedForward):
    """A feed-forward layer with kernels and a bias.

    Args:
        kernel_initializer: Initializer of the kernels. Defaults to `"glorot_uniform"`.
        bias_initializer: Initializer of the bias. Defaults to `"zeros"`.
        kernel_regularizer, bias_regularizer: Regularizers, `None` by default.
        kernel_constraint, bias_constraint: Constraints, `None` by default.
        activity_regularizer: Regularizer of the output. Defaults to `None`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.
    """

    input_spec: Any
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
    def build(self, input_shape: Any) -> None:
        """Checks the input size. A subclass calls this first."""

    def make_map(self, units: Any, blocks: int = 1, rank: Any = None, diagonal: bool = False, index: int = 0) -> Any:
        """Returns a map with the kernel arguments of this layer. Each `index` has its own random numbers."""
