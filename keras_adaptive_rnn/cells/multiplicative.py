"""The multiplicative LSTM: the gates read a product of input and state instead of the state."""

from typing import Any

import keras

from keras_adaptive_rnn import _arguments, initializers, maps
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.cells.core_wrapper import CoreWrapperCell
from keras_adaptive_rnn.cells.elman import ElmanCell
from keras_adaptive_rnn.cells.lstm import LSTMCell


@export
class MultiplicativeLSTMCell(CoreWrapperCell):
    r"""An LSTM whose recurrent transition depends on the input.

    $$m_t = (x_t W_{mx}) \odot (h_{t-1} W_{mh})$$
    $$h_t, c_t = \mathrm{LSTM}(x_t, m_t, c_{t-1})$$

    Every gate reads $m_t$ instead of $h_{t-1}$. With `core="elman"`, this is the multiplicative RNN,
    $h_t = \tanh(x_t W + m_t U + b)$.

    Weights, in order: the weights of the inner cell, `input_factor` $W_{mx}$ `[inputs, units]`, `state_factor` $W_{mh}$
    `[units, units]`, and with `factor_bias` a bias for each.

    Args:
        units: Positive integer, dimensionality of the output space. Must be omitted if `cell` is given.
        core: Name of the cell to wrap: `"lstm"` (default) or `"elman"`. Further arguments, such as `tied_gates=True`,
            are passed to it.
        cell: A cell object to wrap instead of `units` and `core`; its first state must be its output.
        factor_bias: Whether both factors of $m$ have a bias, as in some implementations; the paper has none. Defaults
            to `False`.
        dropout, recurrent_dropout: Float in `[0, 1)`, fraction of $x_t$ and of $h_{t-1}$ to drop, with one mask per
            sequence. Default to `0.0`.
        **kwargs: Arguments of the wrapped cell. Its `kernel_initializer` and `recurrent_initializer` also initialize
            $W_{mx}$ and $W_{mh}$.

    States: the inner cell's states; for an LSTM $h$ and $c$, each `[batch, units]`.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.MultiplicativeLSTMCell(8))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Krause, Lu, Murray, Renals, Multiplicative LSTM for sequence modelling (2016), section 2; Sutskever,
    Martens, Hinton, Generating Text with Recurrent Neural Networks (2011), for the multiplicative RNN.
    """

    cores = {"lstm": LSTMCell, "elman": ElmanCell}
    divided_weights = {"input_factor/kernel": 1, "state_factor/kernel": 1}
    takes_arguments_of = tuple(cores.values())

    def __init__(
        self, units: int | None = None, *, core: str = "lstm", cell: Any = None, factor_bias: bool = False, **kwargs
    ):
        super().__init__(units, core=core, cell=cell, **kwargs)
        self.factor_bias = _arguments.boolean("factor_bias", factor_bias)
        size = self.state_size[0]
        of_input = initializers.reseeded(getattr(self.cell, "kernel_initializer", "glorot_uniform"), "factor")
        of_state = initializers.reseeded(getattr(self.cell, "recurrent_initializer", "orthogonal"), "factor")
        self.input_factor = maps.Full().bind(self, "input_factor", size, of_input)
        self.state_factor = maps.Full().bind(self, "state_factor", size, of_state)
        self.input_bias = self.state_bias = maps.no_bias

    def build(self, input_shape):
        size = self.state_size[0]
        self.input_factor.build_blocks((1,), input_shape[-1])
        self.state_factor.build_blocks((1,), size)
        if self.factor_bias:
            zeros = [keras.initializers.Zeros()]
            self.input_bias = maps.Bias(size, zeros, name="input_bias", dtype=self.dtype_policy)
            self.state_bias = maps.Bias(size, zeros, name="state_bias", dtype=self.dtype_policy)
            self.input_bias.build()
            self.state_bias.build()
        super().build(input_shape)

    def project(self, inputs, run):
        x = self.drop(inputs, "dropout", run)
        factor = self.input_bias(self.input_factor(x, run), run)
        return factor, self.inner_project(x, run)

    def step(self, projected, states, run):
        factor, x = projected
        h = self.drop(states[0], "recurrent_dropout", run)
        m = factor * self.state_bias(self.state_factor(h, run), run)
        run.sow(self, m=m)
        return self.inner_step(x, [m, *states[1:]], run)
