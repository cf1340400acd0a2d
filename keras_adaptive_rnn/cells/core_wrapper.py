"""A wrapper that makes the cell inside it by name."""

from typing import Any

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn.cells.bases.wrapper import WrapperCell
from keras_adaptive_rnn.cells.elman import ElmanCell
from keras_adaptive_rnn.cells.gru import GRUCell
from keras_adaptive_rnn.cells.lstm import LSTMCell


class CoreWrapperCell(WrapperCell):
    """A wrapper that makes its inner cell, the core, by name, or takes a cell object.

    Args:
        units: Positive integer, size of the core. Not allowed with `cell`.
        core: Name of the core, a key of `cores`. Defaults to `"lstm"`.
        cell: A cell object, instead of `units` and `core`. Defaults to `None`.
        **kwargs: Arguments of `keras_adaptive_rnn.cells.WrapperCell`; all others are passed to the core.
    """

    cores = {"lstm": LSTMCell, "gru": GRUCell, "elman": ElmanCell}
    takes_arguments_of = tuple(cores.values())

    def __init__(self, units: int | None = None, *, core: str = "lstm", cell: Any = None, **kwargs):
        own, of_core = _arguments.divide(type(self), kwargs)
        if (units is None) == (cell is None):
            raise ValueError(
                f"{type(self).__name__} takes either `units`, a positive integer, or `cell`, a cell object. "
                f"Received: units={units!r}, cell={cell!r}"
            )
        _arguments.choice("core", core, self.cores)
        if cell is not None and (of_core or core != "lstm"):
            of_core = {**({} if core == "lstm" else {"core": core}), **of_core}
            raise TypeError(
                f"{type(self).__name__}(cell=...) takes no arguments of a core: {', '.join(of_core)}. "
                f"Give them to the cell. Received: {of_core}"
            )
        self._made_core = cell is None
        if self._made_core:
            made = self.cores[core]
            # The wrapper and the core must draw different noise, and both repeatably.
            seed = _arguments.integer("seed", own.get("seed"), minimum=0, optional=True)
            defaults = {"dtype": own.get("dtype"), "seed": None if seed is None else seed + 1}
            _arguments.reject_unknown(
                type(self), of_core, {**_arguments.parameters(type(self)), **made.accepted_arguments()}
            )
            cell = made(units, **{**defaults, **of_core})
        super().__init__(cell, **own)
        self.core = core

    @property
    def units(self):
        return self.cell.units if self._made_core else None

    def first_part(self):
        return self.cell if self._made_core else None

    def get_config(self):
        return {**super().get_config(), **({"cell": None} if self._made_core else {})}
