"""A cell made of several cells of one class."""

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._seeds import fold_in
from keras_adaptive_rnn.cells.bases.any_cell import sibling
from keras_adaptive_rnn.cells.bases.cell import Cell, runs_in_parts


class CompositeCell(Cell):
    """A cell that creates several cells of one class and takes their arguments in addition to its own.

    A subclass names the class in `takes_arguments_of` and creates the cells with `self.make(index, units)`.
    `first_part` returns the cell that represents all of them in the config.
    """

    def __init__(self, **kwargs):
        of_cell, values = _arguments.split_arguments(type(self), Cell, kwargs)
        super().__init__(**of_cell)
        # Not an attribute: Keras would list the weights of a given map first, and only until the cell is loaded.
        self._part_values = lambda: values

    def make(self, index, units, **changes):
        """Creates the `index`-th cell."""
        values = {"seed": fold_in(self.seed, "cells"), **self._part_values(), **changes}
        part = type(self).takes_arguments_of
        cell = part(units, dtype=self.dtype_policy, **sibling(part, values, index))
        if not runs_in_parts(cell):
            raise TypeError(
                f"{type(self).__name__} runs the `step` of its cells, so `{type(cell).__name__}` must not override "
                "`call`: override `project` or `step` instead."
            )
        return cell
