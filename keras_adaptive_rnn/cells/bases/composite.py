"""A cell made of several cells of one class."""

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn.cells.bases.any_cell import sibling
from keras_adaptive_rnn.cells.bases.cell import Cell


class CompositeCell(Cell):
    """A cell that makes several cells of one class and takes their arguments beside its own.

    A subclass names the class in `takes_arguments_of` and makes the parts by `self.make(index, units)`. `first_part`
    returns the one that stands for all in the config.
    """

    def __init__(self, **kwargs):
        own, self._part_values = _arguments.divide(type(self), kwargs)
        super().__init__(**own)

    def make(self, index, units, **changes):
        """Returns the `index`-th part."""
        values = {"seed": None if self.seed is None else self.seed + 1, **self._part_values, **changes}
        return type(self).takes_arguments_of(units, dtype=self.dtype_policy, **sibling(values, index))
