"""Multiplicative integration: gates multiply their products with input and state, instead of only adding them."""

import keras

from keras_adaptive_rnn import _arguments, maps
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.cells.bases.gated import GatedCell
from keras_adaptive_rnn.cells.elman import ElmanCell
from keras_adaptive_rnn.cells.lstm import LSTMCell


class MultiplicativeIntegrationCell(GatedCell):
    r"""A gated cell whose gates integrate input and state multiplicatively.

    $$a = \alpha \odot x W \odot h U + \beta_1 \odot h U + \beta_2 \odot x W + b$$
    """

    # The gains of both normalized products would only rescale alpha, beta_1 and beta_2.
    fixed_arguments = ("layer_normalization",)
    is_affine = False

    def __init__(self, units: int, *, alpha: float = 1.0, beta_1: float = 1.0, beta_2: float = 1.0, **kwargs):
        super().__init__(units, **kwargs)
        self.alpha = _arguments.number("alpha", alpha)
        self.beta_1 = _arguments.number("beta_1", beta_1)
        self.beta_2 = _arguments.number("beta_2", beta_2)

    def build(self, input_shape):
        super().build(input_shape)
        starts = [keras.initializers.Constant(value) for value in (self.alpha, self.beta_1, self.beta_2)]
        rows = [[start] * len(self.gates) for start in starts]
        self.integration = maps.Bias(self.units, rows, name="integration", dtype=self.dtype_policy)
        self.integration.build()

    def project(self, inputs, run):
        x = self._product(self.kernel_map, inputs, "dropout", run)
        alpha, beta_1, beta_2 = (self.integration.value(run, row) for row in range(3))
        return alpha * x + beta_1, self.bias_layer(beta_2 * x, run)

    def step(self, projected, states, run):
        factor, offset = projected
        return self.update(factor * self.recurrent(states[0], run) + offset, states, run)


@export
class MultiplicativeIntegrationLSTMCell(MultiplicativeIntegrationCell, LSTMCell):
    r"""An LSTM whose gates multiply their products with input and state, instead of only adding them.

    For each gate $s \in \{i, f, c, o\}$:

    $$a^s = \alpha^s \odot x_t W_s \odot h_{t-1} U_s + \beta^s_1 \odot h_{t-1} U_s + \beta^s_2 \odot x_t W_s + b_s$$
    $$c_t = \sigma(a^f) \odot c_{t-1} + \sigma(a^i) \odot \phi(a^c), \qquad h_t = \sigma(a^o) \odot \phi(c_t)$$

    with trained vectors $\alpha$, $\beta_1$ and $\beta_2$. With $\alpha = 0$ and $\beta_1 = \beta_2 = 1$, this is the
    LSTM.

    Weights, in order: the weights of `keras_adaptive_rnn.LSTMCell`, then `integration` $\alpha$, $\beta_1$, $\beta_2$
    `[3, 4 units]`.

    Args:
        alpha: Number, initial value of $\alpha$. Defaults to `1.0`.
        beta_1: Number, initial value of $\beta_1$, the scale of $h_{t-1} U$. Defaults to `1.0`.
        beta_2: Number, initial value of $\beta_2$, the scale of $x_t W$. Defaults to `1.0`.
        **kwargs: As in `keras_adaptive_rnn.LSTMCell`, except `layer_normalization`.

    States: $h$ `[batch, units]` (or `[batch, projection_units]`) and $c$ `[batch, units]`.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.MultiplicativeIntegrationLSTMCell(8))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Wu, Zhang, Zhang, Bengio, Salakhutdinov, On Multiplicative Integration with Recurrent Neural Networks
    (2016), section 2, the general form.
    """


@export
class MultiplicativeIntegrationRNNCell(MultiplicativeIntegrationCell, ElmanCell):
    r"""An Elman cell that multiplies its products with input and state, instead of only adding them.

    $$h_t = \phi(\alpha \odot x_t W \odot h_{t-1} U + \beta_1 \odot h_{t-1} U + \beta_2 \odot x_t W + b)$$

    with trained vectors $\alpha$, $\beta_1$ and $\beta_2$.

    Weights, in order: the weights of `keras_adaptive_rnn.ElmanCell`, then `integration` $\alpha$, $\beta_1$, $\beta_2$
    `[3, units]`.

    Args:
        alpha, beta_1, beta_2: As in `keras_adaptive_rnn.MultiplicativeIntegrationLSTMCell`.
        **kwargs: As in `keras_adaptive_rnn.ElmanCell`, except `layer_normalization`.

    States: $h$ `[batch, units]`.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.MultiplicativeIntegrationRNNCell(8, alpha=2.0))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Wu, Zhang, Zhang, Bengio, Salakhutdinov, On Multiplicative Integration with Recurrent Neural Networks
    (2016), section 2, the general form.
    """
