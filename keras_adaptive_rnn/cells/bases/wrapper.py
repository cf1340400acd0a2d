"""A cell around another cell."""

from typing import Any

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn.cells.bases.any_cell import as_list, memory_index, project, step, step_states, validate_cell
from keras_adaptive_rnn.cells.bases.container import ContainerCell


class WrapperCell(ContainerCell):
    """A cell around one inner cell: ours, Keras's or the user's.

    Its states are a flat list: the states of the inner cell, the output first, followed by states of its own, whose
    sizes a subclass lists in `own_state_size`. A subclass implements `step`, which calls
    `self.inner(inputs, states, run)`.

    Args:
        cell: The inner cell, with `state_size`; its first state must be its output.
        dropout, recurrent_dropout: As in `keras_adaptive_rnn.cells.Cell`. They apply to what the wrapper reads.
        trainable_initial_state: As in `keras_adaptive_rnn.cells.Cell`. The states of the inner cell are included.
        **kwargs: As in `keras_adaptive_rnn.cells.Cell`.
    """

    own_state_size = ()
    # Whether the wrapper changes the output state of the inner cell before the next step reads it.
    changes_output_state = True

    def __init__(self, cell: Any, **kwargs):
        super().__init__(**kwargs)
        self.cell = validate_cell("cell", cell)
        rule = (
            f"Argument `cell` of {type(self).__name__} must be a cell that reads its output in the next step, and "
            f"{type(self.cell).__name__}, with these arguments, does not; wrap the cells inside it instead"
        )
        fits = not self.changes_output_state or getattr(self.cell, "reads_output", True)
        _arguments.check(fits, rule, cell=cell)
        inner = as_list(self.cell.state_size)
        self.state_size = [*inner, *self.own_state_size]
        self.output_size = inner[0]

    def inner_cells(self):
        return [self.cell]

    def build(self, input_shape):
        self.build_inner(self.cell, input_shape)
        super().build(input_shape)

    def inner(self, inputs, states, run):
        """Returns `output, states` of one step of the inner cell; `states` is a list."""
        return self.inner_step(self.inner_project(inputs, run), states, run)

    def inner_project(self, inputs, run):
        """Returns the state-independent part of the inner cell's step."""
        return project(self.cell, inputs, run, self.compute_dtype)

    def inner_step(self, projected, states, run):
        """Returns `output, states` of one step of the inner cell from the result of `inner_project`."""
        (inner,) = self.split_states(states)
        return step(self.cell, projected, inner, run, self.compute_dtype)

    def inner_states(self, projected, states, run):
        """Returns the states alone, the first of which is the output, or raises an error if the output is another."""
        (inner,) = self.split_states(states)
        return step_states(self.cell, projected, inner, run, self.compute_dtype)

    @property
    def reads_output(self):
        return getattr(self.cell, "reads_output", True)

    @property
    def memory_index(self):
        return memory_index(self.cell)
