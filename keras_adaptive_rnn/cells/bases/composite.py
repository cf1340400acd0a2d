"""What cells made of several alike cells share."""

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn.cells.bases.any_cell import sibling
from keras_adaptive_rnn.cells.bases.cell import Cell


class CompositeCell(Cell):
    """A cell that makes several cells of one class, whose arguments it takes beside its own.

    A subclass names the class, `part_class`, and makes the parts by `self.make(index, units)`; the first of them stands
    for all in the config.
    """

    part_class = Cell
    # Arguments of the parts that would not work here.
    refused_arguments = ()

    @classmethod
    def accepted_arguments(cls):
        own = super().accepted_arguments()
        return {**own, **{name: p for name, p in cls.part_arguments().items() if name not in own}}

    @classmethod
    def part_arguments(cls):
        """Returns the parameters of the parts that are none of this class, by name."""
        own = _arguments.parameters(cls)
        return {
            name: p
            for name, p in _arguments.parameters(cls.part_class).items()
            if name not in own and name not in cls.refused_arguments
        }

    def __init__(self, **kwargs):
        own, self._part_values = _arguments.divide(type(self), kwargs)
        super().__init__(**own)

    def make(self, index, units, **changes):
        """Returns the `index`-th part."""
        values = {"seed": None if self.seed is None else self.seed + 1, **self._part_values, **changes}
        return self.part_class(units, dtype=self.dtype_policy, **sibling(values, index))

    def first_part(self):
        raise NotImplementedError

    def get_config(self):
        return {**super().get_config(), **_arguments.config(self.first_part(), self.part_arguments())}
