"""The gated recurrent unit, with its reset gate before or after the recurrent product."""

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, activations
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._types import Activation
from keras_adaptive_rnn.cells.bases.gated import GatedCell


@export
class GRUCell(GatedCell):
    r"""The gated recurrent unit.

    $$z = \sigma(x W_z + h_{t-1} U_z + b_z), \qquad r = \sigma(x W_r + h_{t-1} U_r + b_r)$$
    $$\tilde h = \phi(x W_h + r \odot (h_{t-1} U_h + b'_h) + b_h) \quad\text{if reset\_after, else}\quad
      \tilde h = \phi(x W_h + (r \odot h_{t-1}) U_h + b_h)$$
    $$h_t = z \odot h_{t-1} + (1 - z) \odot \tilde h$$

    Weights, as in `keras.layers.GRUCell`, gates concatenated as z, r, h: kernel `[inputs, 3 units]`, recurrent kernel
    `[units, 3 units]`, bias `[3 units]`, or `[2, 3 units]` with `reset_after` (the second row is $b'$).

    Args:
        units: Positive integer, dimensionality of the output space.
        activation: Activation function $\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\sigma$ of the gates. Defaults to `"sigmoid"`.
        reset_after: Whether to apply the reset gate after the recurrent product (as in Keras and cuDNN) or before it.
            Defaults to `True`.
        **kwargs: As in `keras_adaptive_rnn.cells.GatedCell`.

    States: $h$ `[batch, units]`.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.GRUCell(4, reset_after=False))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 4)

    Reference: Cho et al., Learning Phrase Representations using RNN Encoder-Decoder (2014).
    """

    gates = ("z", "r", "h")
    is_affine = True
    # How Keras forms the products of the gates.
    ignored_arguments = {"implementation": (0, 1, 2)}

    def __init__(
        self,
        units: int,
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        use_bias: bool = True,
        *,
        reset_after: bool = True,
        **kwargs,
    ):
        super().__init__(units, activation=activation, use_bias=use_bias, **kwargs)
        self.recurrent_activation = _arguments.resolve("recurrent_activation", recurrent_activation, activations.get)
        self.reset_after = _arguments.boolean("reset_after", reset_after)

    native_kind = "gru"

    @property
    def groups(self):
        return (3,) if self.reset_after else (2, 1)

    @property
    def bias_rows(self):
        return 2 if self.reset_after else 1

    def bias_row_initializers(self):
        first, *others = super().bias_row_initializers()
        # The rows are added: as in Keras each starts from `bias_initializer`, but a number for one gate counts once.
        zeros = keras.initializers.Zeros()
        second = [each if each is self.bias_initializer else zeros for each in first]
        return [first, *([second] if others else [])]

    def step(self, projected, states, run):
        (h,) = states
        x_z, x_r, x_h = self.split(projected)
        if self.reset_after:
            u_z, u_r, u_h = self.split(self.bias_layer(self.recurrent(h, run), run, row=1))
        else:
            u_z, u_r = ops.split(self.recurrent(h, run), 2, axis=-1)
        z = self.recurrent_activation(x_z + u_z)
        r = self.recurrent_activation(x_r + u_r)
        candidate = self.activation(x_h + (r * u_h if self.reset_after else self.recurrent(r * h, run, group=1)))
        h = z * h + (1 - z) * candidate
        run.sow(self, z=z, r=r, candidate=candidate)
        return h, [h]
