"""Penalties on the outputs of a recurrent layer, and on their changes."""

from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._keras import get_mask
from keras_adaptive_rnn.engine.masking import without_masked
from keras_adaptive_rnn.layers.feed_forward import FeedForward


@export
class ActivationRegularization(FeedForward):
    r"""Returns the dropped outputs of a recurrent layer, and adds AR and TAR to the loss in training.

    $$\alpha\, \overline{(m \odot h_t)^2} + \beta\, \overline{(h_{t+1} - h_t)^2}$$

    where $h$ are the raw outputs of the layer, $m \odot h$ the outputs after dropout, and the bars are means over rows,
    steps (or pairs of successive steps, within the segment) and units. Masked steps, and pairs with one, do not count;
    nothing is added where no step or pair is left. The paper writes an $L_2$ norm; its authors' code takes the mean of
    squares, which is what $\alpha$ and $\beta$ were tuned for.

    The penalties count in full beside a loss that is a mean over tokens. `activation_norm_penalty` in the code of
    Melis, Kočiský and Blunsom (2020), where both losses are summed over time, is the same $\alpha$.

    Args:
        activation: Non-negative number, $\alpha$ of AR. Defaults to `2.0`.
        temporal: Non-negative number, $\beta$ of TAR. Defaults to `1.0`.
        **kwargs: As in `keras.layers.Layer`.

    Call arguments:
        dropped: Tensor `[batch, time, units]`, the outputs after dropout.
        raw: Tensor of the same shape, the outputs before it.
        mask: Boolean tensor `[batch, time]`, or `None` (default) for the mask of `dropped`.
        training: Whether the penalties are added.

    Output shape: that of `dropped`, which is returned as it is.

    Example:

    >>> inputs = keras.Input((None, 3))
    >>> raw = keras_adaptive_rnn.layers.LSTM(4, return_sequences=True)(inputs)
    >>> dropped = keras.layers.SpatialDropout1D(0.4)(raw)
    >>> outputs = keras_adaptive_rnn.layers.ActivationRegularization()(dropped, raw)
    >>> model = keras.Model(inputs, outputs)

    Reference: Merity, McCann and Socher, Revisiting Activation Regularization for Language RNNs (2017); Merity, Keskar
    and Socher, Regularizing and Optimizing LSTM Language Models (2018), section 4.6.
    """

    def __init__(self, activation: float = 2.0, temporal: float = 1.0, **kwargs):
        super().__init__(**kwargs)
        self.activation = _arguments.number("activation", activation, minimum=0)
        self.temporal = _arguments.number("temporal", temporal, minimum=0)

    def build(self, dropped_shape, raw_shape):
        if len(dropped_shape) != 3 or tuple(dropped_shape) != tuple(raw_shape):
            raise ValueError(
                f"Layer '{self.name}' expected `dropped` and `raw` of the same shape (batch, time, units). "
                f"Received: {tuple(dropped_shape)}, {tuple(raw_shape)}"
            )

    def call(self, dropped, raw, mask=None, training=False):
        mask = _arguments.mask(self, get_mask(dropped) if mask is None else mask, dropped)
        if training:
            # Squares and means do not fit into half precision.
            pairs = None if mask is None else ops.logical_and(mask[:, 1:], mask[:, :-1])
            raw = ops.cast(raw, "float32")
            self.add_loss(
                self.activation * _mean_square(ops.cast(dropped, "float32"), mask)
                + self.temporal * _mean_square(raw[:, 1:] - raw[:, :-1], pairs)
            )
        return dropped

    def compute_output_shape(self, dropped_shape, raw_shape=None):
        return tuple(dropped_shape)


def _mean_square(x, mask):
    """Returns the mean of the squares of `x` `[batch, time, units]` where `mask` `[batch, time]` is true; 0 of none."""
    if mask is None:
        count = ops.prod(ops.shape(x))
    else:
        x, count = without_masked(x, mask), ops.sum(ops.cast(mask, "float32")) * x.shape[-1]
    return ops.sum(ops.square(x)) / ops.maximum(ops.cast(count, "float32"), 1.0)
