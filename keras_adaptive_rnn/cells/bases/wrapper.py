"""A cell around another cell."""

from typing import Any

from keras_adaptive_rnn.cells.bases.any_cell import as_list, memory_index, project, step, validate_cell
from keras_adaptive_rnn.cells.bases.container import ContainerCell


class WrapperCell(ContainerCell):
    """A cell around a cell, of ours, of Keras or of the user.

    It hands on what the inner cell needs of the sequence (noise, prepared weights, initial state) and keeps the states
    flat: the inner cell's first, the output first among them, then its own, whose sizes a subclass
    names in `own_state_size`. A subclass writes `step` and calls `self.inner(inputs, states, training)` in it.

    Args:
        cell: The inner cell, with `state_size`; its first state must be its output.
        dropout, recurrent_dropout, seed, trainable_initial_state: As in `keras_adaptive_rnn.cells.Cell`; the dropout
            is the modulator's, on what it reads, and the initial state covers the inner cell's states.
        name, dtype, trainable: As in `keras.layers.Layer`.
    """

    own_state_size = ()
    # Whether the modulator changes the inner cell's output state on its way to the next step.
    changes_output_state = True

    def __init__(self, cell: Any, **kwargs):
        super().__init__(**kwargs)
        self.cell = validate_cell("cell", cell)
        if self.changes_output_state and not getattr(self.cell, "reads_output", True):
            raise ValueError(
                f"Argument `cell` of {type(self).__name__} must be a cell that reads its output in the next step, and "
                f"{type(self.cell).__name__}, as it is made here, does not; modulate the cells inside it. "
                f"Received: cell={cell!r}"
            )
        inner = as_list(self.cell.state_size)
        self.state_size = [*inner, *self.own_state_size]
        self.output_size = inner[0]

    def inner_cells(self):
        return [self.cell]

    def build(self, input_shape):
        self.build_inner(self.cell, input_shape)
        super().build(input_shape)

    def inner(self, inputs, states, training):
        """Returns `output, states` of the inner cell for one step; `states` is a list."""
        return self.inner_step(self.inner_project(inputs, training), states, training)

    def inner_project(self, inputs, training):
        """Returns what the inner cell can compute without its state."""
        return project(self.cell, inputs, training, self.compute_dtype)

    def inner_step(self, projected, states, training):
        """Returns `output, states` of the inner cell's step from what `inner_project` gave."""
        (inner,) = self.divide_states(states)
        return step(self.cell, projected, inner, training, self.compute_dtype)

    @property
    def reads_output(self):
        return getattr(self.cell, "reads_output", True)

    @property
    def memory_index(self):
        return memory_index(self.cell)
