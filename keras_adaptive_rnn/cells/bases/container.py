"""A cell that contains other cells."""

from keras_adaptive_rnn.cells.bases.any_cell import (
    has_trainable_initial_state,
    initial_states,
    memory_states,
    split_states,
)
from keras_adaptive_rnn.cells.bases.cell import Cell


class ContainerCell(Cell):
    """A cell that contains other cells: ours, Keras's or the user's.

    Its states are a flat list: `own_states_before` states of its own, the states of the inner cells, and further states
    of its own. Its own states are bookkeeping and not memory.

    A subclass returns its inner cells from `inner_cells`, in the order of their states. They must be attributes too.
    """

    own_states_before = 0

    def inner_cells(self):
        """Returns the inner cells. A method, because Keras saves what a property lists."""

    def build_inner(self, cell, input_shape):
        """Builds an inner cell unless it is built already, or is no layer."""
        self.check_input_shape(input_shape)
        if not getattr(cell, "built", True):
            cell.build(input_shape)

    def split_states(self, states):
        """Returns the states of each inner cell, a list of lists."""
        return split_states(states, self.inner_cells(), self.own_states_before)

    @property
    def memory_states(self):
        inner = [is_memory for cell in self.inner_cells() for is_memory in memory_states(cell)]
        after = len(self.state_size) - self.own_states_before - len(inner)
        return [False] * self.own_states_before + inner + [False] * after

    def get_initial_state(self, batch_size=None):
        states = super().get_initial_state(batch_size)
        inner = [s for cell in self.inner_cells() for s in initial_states(cell, batch_size, self.compute_dtype)]
        for k, state in enumerate(inner, self.own_states_before):
            if not (self.trainable_initial_state and self.memory_states[k]):
                states[k] = state
        return states

    @property
    def has_trainable_initial_state(self):
        return self.trainable_initial_state or any(map(has_trainable_initial_state, self.inner_cells()))
