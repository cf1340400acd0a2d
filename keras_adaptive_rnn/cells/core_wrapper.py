"""A cell around a core that it makes by name."""

from typing import Any

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn.cells.bases.wrapper import WrapperCell
from keras_adaptive_rnn.cells.elman import ElmanCell
from keras_adaptive_rnn.cells.gru import GRUCell
from keras_adaptive_rnn.cells.lstm import LSTMCell


class CoreWrapperCell(WrapperCell):
    """A modulator that makes its inner cell by name, or takes one.

    Args:
        units: Positive integer, size of the core; not given where `cell` is.
        core: Name of the core, a key of `cores`.
        cell: A cell object, in place of `units` and `core`.
        **kwargs: Arguments of `keras_adaptive_rnn.cells.WrapperCell`; all others go to the core.
    """

    cores = {"lstm": LSTMCell, "gru": GRUCell, "elman": ElmanCell}

    def __init__(self, units: int | None = None, core: str = "lstm", cell: Any = None, **kwargs):
        own, core_arguments = _arguments.divide(type(self), kwargs)
        if (units is None) == (cell is None):
            raise ValueError(
                "Give one of `units`, a positive integer, and `cell`, a cell object. "
                f"Received: units={units!r}, cell={cell!r}"
            )
        _arguments.choice("core", core, self.cores)
        if cell is not None and (core_arguments or core != "lstm"):
            core_arguments = {**({} if core == "lstm" else {"core": core}), **core_arguments}
            raise TypeError(
                f"{type(self).__name__}(cell=...) takes no arguments of a core: {', '.join(core_arguments)}. "
                f"Give them to the cell. Received: {core_arguments}"
            )
        self._core_arguments = ()
        if cell is None:
            made = self.cores[core]
            # The modulator's own noise and the core's must differ, and both be repeatable.
            seed = _arguments.integer("seed", own.get("seed"), minimum=0, optional=True)
            defaults = {"dtype": own.get("dtype"), "seed": None if seed is None else seed + 1}
            _arguments.reject_unknown(
                type(self), core_arguments, {**_arguments.parameters(type(self)), **made.accepted_arguments()}
            )
            cell = made(units, **{**defaults, **core_arguments})
            self._core_arguments = tuple(
                n for n in _arguments.parameters(made) if n not in _arguments.parameters(type(self))
            )
        super().__init__(cell, **own)
        self.core = core
        self._made_core = bool(self._core_arguments)

    @classmethod
    def accepted_arguments(cls):
        arguments = super().accepted_arguments()
        for core in cls.cores.values():
            arguments = {**arguments, **{n: p for n, p in core.accepted_arguments().items() if n not in arguments}}
        return arguments

    @property
    def units(self):
        return self.cell.units if self._made_core else None

    def get_config(self):
        config = super().get_config()
        if self._made_core:
            config |= {"cell": None, **_arguments.config(self.cell, self._core_arguments)}
        return config
