"""Layers that create their own cell."""

from typing import Any

from keras_adaptive_rnn import _arguments, cells
from keras_adaptive_rnn._saving import restored
from keras_adaptive_rnn.cells.bases.any_cell import sibling
from keras_adaptive_rnn.loop.rnn import RNN


class CellLayer(RNN):
    """An `RNN` that creates its own cell or stack of cells. A subclass names the class: `cell_class=MogrifierCell`.

    Every argument of the cell is also an attribute of the layer, except `cell`: `layer.cell` is the layer's own cell.
    For a stack, `units` is a list, and the other attributes are the arguments of the lowest cell.

    Args:
        units: Positive integer, units of the cell; or a list of them, which stacks cells of these sizes, the lowest
            first, in a `keras_adaptive_rnn.StackedCells`. They differ only in size and random numbers.
        connection: Connection of a stack: `None` (default), `"skip"` or `"residual"`, as in
            `keras_adaptive_rnn.StackedCells`.
    """

    cell_class = None
    fixed_arguments = ("cell",)

    def __init_subclass__(cls, cell_class: type | None = None, **kwargs: Any) -> None:
        if cell_class is not None:
            cls.cell_class = cls.takes_arguments_of = cell_class
        super().__init_subclass__(**kwargs)
        declared = _arguments.parameters(cls)
        for name in _arguments.parameters(cls.cell_class) if cls.cell_class else ():
            if name not in {"cell", *declared}:
                setattr(cls, name, property(lambda self, name=name: self._argument(name)))

    @classmethod
    def accepted_arguments(cls):
        accepted = super().accepted_arguments()
        if "units" in accepted:
            optional = accepted["units"].default is None
            sizes = int | list[int] | None if optional else int | list[int]
            accepted["units"] = accepted["units"].replace(annotation=sizes)
        return accepted

    def __init__(self, *args, connection: str | None = None, **kwargs):
        arguments = _arguments.by_name(self.cell_class, args, kwargs)
        loop, of_cell = _arguments.split_arguments(type(self), RNN, arguments)
        shared = {name: loop[name] for name in ("dtype", "trainable") if name in loop}
        self.connection = connection
        super().__init__(self.make_cell(**of_cell, **shared), **loop)

    def make_cell(self, units=None, **kwargs):
        """Creates the cell, or the stack of cells, from the arguments."""
        cell_class = type(self).cell_class
        arguments = kwargs if units is None else {"units": units, **kwargs}
        _arguments.reject_missing(type(self), arguments, _arguments.part_arguments(type(self)))
        if "connection" not in _arguments.parameters(type(self)) or not isinstance(units, (list, tuple)):
            rule = "Argument `connection` must be None unless `units` is a list, which creates a stack"
            _arguments.check(self.connection is None, rule, connection=self.connection, units=units)
            return cell_class(**arguments)
        _arguments.check(units, "Argument `units` must be a positive integer, or a list of them", units=units)
        stack = [cell_class(**sibling(cell_class, {**arguments, "units": size}, k)) for k, size in enumerate(units)]
        layer = {name: kwargs[name] for name in _arguments.LAYER_ARGUMENTS if name in kwargs}
        stacked = cells.StackedCells(stack, connection=self.connection, **layer)
        stacked.repeats = len(set(units)) == 1
        return stacked

    def _parts(self):
        """Returns the cells of the stack that the layer created, or its single cell.

        A method, because Keras saves what a property lists.
        """
        return self.cell.cells if isinstance(self.cell, cells.StackedCells) else [self.cell]

    def _argument(self, name):
        values = [getattr(part, name) for part in self._parts()]
        return values if name == "units" and self.first_part() is not self.cell else values[0]

    def first_part(self):
        return self._parts()[0]

    def get_config(self):
        config = super().get_config()
        return config if self.first_part() is self.cell else {**config, "units": self.units}

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return restored(lambda arguments: cls(**arguments), _arguments.of_config(config))
