"""What cells that hold cells of any kind share."""

from keras_adaptive_rnn.cells.bases.any_cell import (
    divide_states,
    end_sequence,
    initial_states,
    memory_states,
    start_sequence,
)
from keras_adaptive_rnn.cells.bases.cell import Cell


class ContainerCell(Cell):
    """A cell that holds others, of ours, of Keras or of the user.

    It hands on what they need of the sequence: noise, prepared weights, initial states. Its states are a flat list:
    `own_states_before` of its own, those of the cells in the order in which `hold` has received them, and further own
    ones. Own states are book-keeping, not memory.
    """

    own_states_before = 0

    def hold(self, cells):
        """Records the cells that it holds, in the order of their states. They must be attributes too."""
        self._held = Held(cells)

    def build_inner(self, cell, input_shape):
        """Builds one of the cells that it holds."""
        if not cell.built:
            cell.build(input_shape)
        self._held.input_sizes[id(cell)] = input_shape[-1]

    def divide_states(self, states):
        """Returns the states of each cell that it holds, in their order, each a list."""
        return divide_states(states, self._held.cells, self.own_states_before)

    @property
    def memory_states(self):
        held = [is_memory for cell in self._held.cells for is_memory in memory_states(cell)]
        after = len(self.state_size) - self.own_states_before - len(held)
        return [False] * self.own_states_before + held + [False] * after

    def get_initial_state(self, batch_size=None):
        states = super().get_initial_state(batch_size)
        held = [s for cell in self._held.cells for s in initial_states(cell, batch_size, self.compute_dtype)]
        for k, state in enumerate(held, self.own_states_before):
            if not (self.trainable_initial_state and self.memory_states[k]):
                states[k] = state
        return states

    @property
    def has_trainable_initial_state(self):
        return self.trainable_initial_state or any(
            getattr(cell, "has_trainable_initial_state", False) for cell in self._held.cells
        )

    def start_sequence(self, batch_size, training):
        super().start_sequence(batch_size, training)
        for cell in self._strangers():
            start_sequence(cell, batch_size, training, self._held.input_sizes[id(cell)])

    def end_sequence(self):
        super().end_sequence()
        for cell in self._strangers():
            end_sequence(cell)

    def _strangers(self):
        # Our own cells start and end with the cell that has them as attributes.
        return [cell for cell in self._held.cells if not isinstance(cell, Cell)]


class Held:
    """The cells that a cell holds; a plain object, so that Keras does not track them twice."""

    def __init__(self, cells):
        self.cells = list(cells)
        self.input_sizes = {}
