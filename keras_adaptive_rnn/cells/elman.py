"""The Elman cell, called SimpleRNN in Keras."""

import re

from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._keras import entry_elsewhere
from keras_adaptive_rnn.cells.bases.gated import GatedCell


@export
class ElmanCell(GatedCell):
    r"""The Elman cell: an affine map and an activation.

    $$h_t = \phi(x_t W + h_{t-1} U + b)$$

    Weights, as in `keras.layers.SimpleRNNCell`: kernel `[inputs, units]`, recurrent kernel `[units, units]`, bias
    `[units]`.

    Args:
        units: Positive integer, dimensionality of the output space.
        activation: Activation function $\phi$. Defaults to `"tanh"`.
        **kwargs: As in `keras_adaptive_rnn.cells.GatedCell`.

    States: $h$ `[batch, units]`.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.ElmanCell(4))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 4)

    Reference: Elman, Finding Structure in Time (1990).
    """

    gates = ("h",)
    is_affine = True
    native_kind = "rnn"

    def load_own_variables(self, store):
        # Keras finds the layers of a model by the names of their classes.
        theirs = entry_elsewhere(store, lambda place: re.sub(r"(?<![^/])elman(?=_cell|_\d|/|$)", "simple_rnn", place))
        super().load_own_variables(theirs or store)

    def update(self, a, states, run):
        h = self.activation(a)
        return h, [h]
