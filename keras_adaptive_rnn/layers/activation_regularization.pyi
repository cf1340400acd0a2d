"""Penalties on the outputs of a recurrent layer, and on their changes."""

from typing import Any

from keras_adaptive_rnn._types import Regularizer
from keras_adaptive_rnn.layers.feed_forward import FeedForward

class ActivationRegularization(FeedForward):
    """Returns the dropped outputs of a recurrent layer, and adds AR and TAR to the loss in training.

    $$\\alpha\\, \\overline{(m \\odot h_t)^2} + \\beta\\, \\overline{(h_{t+1} - h_t)^2}$$

    where $h$ are the raw outputs of the layer, $m \\odot h$ the outputs after dropout, and the bars are means over rows,
    steps (or pairs of successive steps, within the segment) and units. Masked steps, and pairs with one, do not count;
    nothing is added where no step or pair is left. The paper writes an $L_2$ norm; its authors' code takes the mean of
    squares, which is what $\\alpha$ and $\\beta$ were tuned for.

    The penalties count in full beside a loss that is a mean over tokens. `activation_norm_penalty` in the code of
    Melis, Kočiský and Blunsom (2020), where both losses are summed over time, is the same $\\alpha$.

    Args:
        activation: Non-negative number, $\\alpha$ of AR. Defaults to `2.0`.
        temporal: Non-negative number, $\\beta$ of TAR. Defaults to `1.0`.
        activity_regularizer: Regularizer of the output. Defaults to `None`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        dropped: Tensor `[batch, time, units]`, the outputs after dropout.
        raw: Tensor of the same shape, the outputs before it.
        mask: Boolean tensor `[batch, time]`, or `None` (default) for the mask of `dropped`.
        training: Whether the penalties are added.

    Output shape: that of `dropped`, which is returned as it is.

    Raises:
        ValueError: An argument is out of range; the inputs differ in shape, or are not of rank 3.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> inputs = keras.Input((None, 3))
    >>> raw = keras_adaptive_rnn.layers.LSTM(4, return_sequences=True)(inputs)
    >>> dropped = keras.layers.SpatialDropout1D(0.4)(raw)
    >>> outputs = keras_adaptive_rnn.layers.ActivationRegularization()(dropped, raw)
    >>> model = keras.Model(inputs, outputs)

    Reference: Merity, McCann and Socher, Revisiting Activation Regularization for Language RNNs (2017); Merity, Keskar
    and Socher, Regularizing and Optimizing LSTM Language Models (2018), section 4.6.
    """

    activation: float
    temporal: float
    activity_regularizer: Any

    def __init__(
        self,
        activation: float = 2.0,
        temporal: float = 1.0,
        *,
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def build(self, dropped_shape: Any, raw_shape: Any) -> None: ...
    def call(self, dropped: Any, raw: Any, mask: Any = None, training: bool | None = False) -> Any: ...
    def compute_mask(self, dropped: Any, mask: Any = None) -> Any: ...
    def compute_output_shape(self, dropped_shape: Any, raw_shape: Any = None) -> Any: ...
