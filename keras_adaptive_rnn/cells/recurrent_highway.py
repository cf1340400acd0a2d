"""The recurrent highway network: several highway layers per time step."""

import keras

from keras_adaptive_rnn import _arguments, activations
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._types import Activation
from keras_adaptive_rnn.cells.bases.gated import GatedCell


@export
class RecurrentHighwayCell(GatedCell):
    r"""A recurrent cell whose step consists of `depth` highway layers.

    With $s^0 = s_{t-1}$, for $l = 1, \dots, L$, where only the first layer reads the input:

    $$h^l = \phi(x_t W_h [l = 1] + s^{l-1} U^l_h + b^l_h), \qquad
      t^l = \sigma(x_t W_t [l = 1] + s^{l-1} U^l_t + b^l_t)$$
    $$s^l = h^l \odot t^l + s^{l-1} \odot c^l, \qquad c^l = 1 - t^l$$

    and $s_t = s^L$. With `coupled=False`, the carry gate is independent:
    $c^l = \sigma(x_t W_c [l = 1] + s^{l-1} U^l_c + b^l_c)$.

    Weights, in order, gates concatenated as h, t(, c): `kernel_map` $W$ `[inputs, gates * units]`; `recurrent_map` $U$
    `[units, depth * gates * units]`, layer after layer; `bias` `[depth, gates * units]` (without the first axis if
    `depth` is one).

    Args:
        units: Positive integer, dimensionality of the state and of the output space.
        depth: Positive integer, the number $L$ of layers. Defaults to `5`.
        coupled: Whether to couple the gates, $c = 1 - t$. Defaults to `True`.
        transform_bias: Number, initial bias of $t$. The bias of an independent carry gate is initialized to its
            negative, so that $c = 1 - t$ for zero inputs. Defaults to `-2.0`, which carries most of the state.
        activation: Activation function $\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\sigma$ of the gates. Defaults to `"sigmoid"`.
        recurrent_dropout: As in `keras_adaptive_rnn.cells.Cell`. The mask applies to the factor of $U$ in each layer,
            but not to the state that it carries.
        **kwargs: As in `keras_adaptive_rnn.cells.GatedCell`.

    States: $s$ `[batch, units]`.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.RecurrentHighwayCell(8, depth=3))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Zilly, Srivastava, Koutnik, Schmidhuber, Recurrent Highway Networks (2017), section 4, equations 6 to 9.
    """

    def __init__(
        self,
        units: int,
        depth: int = 5,
        *,
        coupled: bool = True,
        transform_bias: float = -2.0,
        recurrent_activation: Activation = "sigmoid",
        **kwargs,
    ):
        super().__init__(units, **kwargs)
        self.depth = _arguments.integer("depth", depth)
        self.coupled = _arguments.boolean("coupled", coupled)
        self.transform_bias = _arguments.number("transform_bias", transform_bias)
        self.recurrent_activation = _arguments.resolve("recurrent_activation", recurrent_activation, activations.get)

    @property
    def gates(self):
        return ("h", "t") if self.coupled else ("h", "t", "c")

    @property
    def groups(self):
        return (len(self.gates),) * self.depth

    @property
    def init_groups(self):
        return self.groups

    @property
    def bias_rows(self):
        return self.depth

    def bias_initializers(self):
        start = {"t": self.transform_bias, "c": -self.transform_bias}
        return [keras.initializers.Constant(start[g]) if g in start else self.bias_initializer for g in self.gates]

    def step(self, projected, states, run):
        (s,) = states
        for layer in range(self.depth):
            a = self.recurrent(s, run, group=layer)
            h, t, *c = self.split(a + projected if layer == 0 else self.bias_layer(a, run, layer))
            t = self.recurrent_activation(t)
            c = 1 - t if self.coupled else self.recurrent_activation(c[0])
            s = self.activation(h) * t + s * c
            run.sow(self, **{f"t_{layer + 1}": t, f"c_{layer + 1}": c, f"s_{layer + 1}": s})
        return s, [s]
