"""A wrapper that creates the cell inside it by name."""

from typing import Any

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._seeds import fold_in
from keras_adaptive_rnn.cells.bases.wrapper import WrapperCell
from keras_adaptive_rnn.cells.elman import ElmanCell
from keras_adaptive_rnn.cells.gru import GRUCell
from keras_adaptive_rnn.cells.lstm import LSTMCell


class CoreWrapperCell(WrapperCell):
    """A wrapper that creates its inner cell by name, or takes a cell object.

    Args:
        units: Positive integer, units of the inner cell. Must be omitted if `cell` is given.
        core: Name of the cell to wrap, a key of `cores`. Defaults to `"lstm"`.
        cell: A cell object, instead of `units` and `core`. Defaults to `None`.
        **kwargs: Arguments of `keras_adaptive_rnn.cells.WrapperCell`; all others are passed to the inner cell.
    """

    cores = {"lstm": LSTMCell, "gru": GRUCell, "elman": ElmanCell}
    takes_arguments_of = tuple(cores.values())

    def __init__(self, units: int | None = None, *, core: str = "lstm", cell: Any = None, **kwargs):
        of_wrapper, of_core = _arguments.split_arguments(type(self), WrapperCell, kwargs)
        if hasattr(units, "state_size"):
            raise TypeError(
                f"{type(self).__name__} takes a cell object by name: cell={type(units).__name__}(...). "
                f"Received: units={units!r}"
            )
        rule = f"{type(self).__name__} takes either `units`, a positive integer, or `cell`, a cell object"
        _arguments.check((units is None) != (cell is None), rule, units=units, cell=cell)
        _arguments.choice("core", core, self.cores)
        if cell is not None and (of_core or core != "lstm"):
            of_core = {**({} if core == "lstm" else {"core": core}), **of_core}
            raise TypeError(
                f"{type(self).__name__}(cell=...) does not take arguments of the inner cell: {', '.join(of_core)}. "
                f"Pass them to the cell. Received: {of_core}"
            )
        self._created_cell = cell is None
        if self._created_cell:
            cell_class = self.cores[core]
            seed = _arguments.integer("seed", of_wrapper.get("seed"), minimum=0, optional=True)
            defaults = {"dtype": of_wrapper.get("dtype"), "seed": fold_in(seed, "cell")}
            _arguments.reject_unknown(
                type(self), of_core, {**_arguments.parameters(type(self)), **cell_class.accepted_arguments()}
            )
            cell = cell_class(units, **{**defaults, **of_core})
        super().__init__(cell, **of_wrapper)
        self.core = core

    @property
    def units(self):
        return self.cell.units if self._created_cell else None

    def first_part(self):
        return self.cell if self._created_cell else None

    def config_value(self, name):
        return None if name == "cell" and self._created_cell else super().config_value(name)
