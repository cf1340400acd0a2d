"""Stacks of adaptive cells whose policies read each other."""

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.cells.adaptive import AdaptiveGatedCell, AdaptiveLSTMCell, AdaptiveRNNCell
from keras_adaptive_rnn.cells.bases.any_cell import split_states
from keras_adaptive_rnn.cells.bases.composite import CompositeCell


class StackedAdaptiveCells(CompositeCell):
    """A stack of adaptive cells in the hybrid wiring. A subclass names the class of the cells."""

    takes_arguments_of = AdaptiveGatedCell
    # They belong to the cells.
    fixed_arguments = ("dropout", "recurrent_dropout")
    # Each cell has a policy of its own.
    refused_arguments = ("policy_cell",)

    def __init__(self, units: list[int], **kwargs):
        super().__init__(**kwargs)
        if not isinstance(units, (list, tuple)) or not units:
            raise TypeError(f"Argument `units` must be a list of positive integers. Received: units={units!r}")
        self.units = [_arguments.integer("units", size) for size in units]
        # Between layers, the output is dropped with the mask of the recurrent state.
        self.cells = [self.make(k, size, **({"dropout": 0.0} if k else {})) for k, size in enumerate(self.units)]
        self.memory_index = self.cells[-1].memory_index
        self.state_size = [size for cell in reversed(self.cells) for size in cell.state_size]
        self.output_size = self.cells[-1].output_size

    def first_part(self):
        return self.cells[0]

    def build(self, input_shape):
        size = input_shape[-1]
        for cell in self.cells:
            cell.context_size = cell.policy_units if cell.policy == "recurrent" else 0
            cell.build((None, size))
            size = cell.output_size
        super().build(input_shape)

    def project(self, inputs, run):
        return self.cells[0].project(inputs, run)

    def step(self, projected, states, run):
        states = split_states(states, self.cells[::-1])[::-1]
        z, output = self._latent(self.cells[-1], states[-1], run), None
        for k, cell in enumerate(self.cells):
            if k > 0:
                projected = cell.project(self.cells[k - 1].drop(output, "recurrent_dropout", run), run)
            output, states[k] = cell.step(projected, states[k], run, context=z)
            z = self._latent(cell, states[k], run)
        return output, [state for of_cell in reversed(states) for state in of_cell]

    def _latent(self, cell, states, run):
        """Returns the inputs of the next policy from this one: none if it is static, since it has no memory."""
        if cell.policy == "static":
            return []
        return [cell.drop(states[len(cell.core_state_size)], "policy_dropout", run)]


@export
class StackedAdaptiveLSTMCells(StackedAdaptiveCells):
    r"""A stack of adaptive LSTMs in the hybrid wiring: each policy reads the policy below it.

    In layer $l = 1, \dots, L$ the policy reads

    $$v^l_t = [h^{l-1}_t;\; h^l_{t-1};\; z^{l-1}_t], \qquad h^0_t = x_t, \quad z^0_t = z^L_{t-1}$$

    and $z^l_t = \mathrm{LSTM}(v^l_t, z^l_{t-1})$, so the lowest policy reads the latent of the highest policy from
    the previous step. The rest is as in `keras_adaptive_rnn.AdaptiveLSTMCell`. With `policy="static"`, which has no
    memory, the policies read only inputs and states.

    Weights: the weights of the cells, the lowest cell first.

    Args:
        units: List of positive integers, the size of each layer, the lowest first.
        policy_units, policy, adaptation, tied, ...: As in `keras_adaptive_rnn.AdaptiveLSTMCell`, the same in every
            layer.
        dropout: Float in `[0, 1)`, fraction of $x_t$ to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of each $h^l$ to drop, with one mask per sequence. As in the
            authors' code, the same mask applies when layer $l$ reads it in the next step and when layer $l + 1$ reads
            it in the same step. Defaults to `0.0`.
        **kwargs: As in `keras_adaptive_rnn.cells.Cell`.

    States: the states of the cells, the highest cell first: $h$, $c$, $z$ and the policy's memory for each.

    Example:

    >>> cell = keras_adaptive_rnn.StackedAdaptiveLSTMCells([8, 6], policy_units=4)
    >>> tuple(keras.layers.RNN(cell)(np.ones((2, 5, 3))).shape)
    (2, 6)

    Reference: Flennerhag, Yin, Keane, Elliot, Breaking the Activation Function Bottleneck through Adaptive
    Parameterization (2018), section 3, equation 10.
    """

    takes_arguments_of = AdaptiveLSTMCell


@export
class StackedAdaptiveRNNCells(StackedAdaptiveCells):
    r"""A stack of adaptive Elman cells in the hybrid wiring of `keras_adaptive_rnn.StackedAdaptiveLSTMCells`.

    $$v^l_t = [h^{l-1}_t;\; h^l_{t-1};\; z^{l-1}_t], \qquad h^0_t = x_t, \quad z^0_t = z^L_{t-1}$$

    Weights: the weights of the cells, the lowest cell first.

    Args:
        units: List of positive integers, the size of each layer, the lowest first.
        policy_units, policy, adaptation, tied, ...: As in `keras_adaptive_rnn.AdaptiveRNNCell`, the same in every
            layer.
        dropout, recurrent_dropout: As in `keras_adaptive_rnn.StackedAdaptiveLSTMCells`.
        **kwargs: As in `keras_adaptive_rnn.cells.Cell`.

    States: the states of the cells, the highest cell first: $h$, $z$ and the policy's memory for each.

    Example:

    >>> cell = keras_adaptive_rnn.StackedAdaptiveRNNCells([8, 6], policy_units=4)
    >>> tuple(keras.layers.RNN(cell)(np.ones((2, 5, 3))).shape)
    (2, 6)

    Reference: Flennerhag, Yin, Keane, Elliot, Breaking the Activation Function Bottleneck through Adaptive
    Parameterization (2018), section 3, equation 10, with the Elman cell.
    """

    takes_arguments_of = AdaptiveRNNCell
