"""What cells that hold a cell share."""

from typing import Any

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn.cells.elman import ElmanCell
from keras_adaptive_rnn.cells.gru import GRUCell
from keras_adaptive_rnn.cells.holder import Holder
from keras_adaptive_rnn.cells.inner import as_list, check_cell, memory_index, project, step
from keras_adaptive_rnn.cells.lstm import LSTMCell


class Modulator(Holder):
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
        self.cell = check_cell("cell", cell)
        if self.changes_output_state and not getattr(self.cell, "reads_output", True):
            raise ValueError(
                f"Argument `cell` of {type(self).__name__} must be a cell that reads its output in the next step, and "
                f"{type(self.cell).__name__}, as it is made here, does not; modulate the cells inside it. "
                f"Received: cell={cell!r}"
            )
        self.hold([self.cell])
        inner = as_list(self.cell.state_size)
        self.state_size = [*inner, *self.own_state_size]
        self.output_size = inner[0]

    def build(self, input_shape):
        self.build_held(self.cell, input_shape)
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


class CoreModulator(Modulator):
    """A modulator that makes its inner cell by name, or takes one.

    Args:
        units: Positive integer, size of the core; not given where `cell` is.
        core: Name of the core, a key of `cores`.
        cell: A cell object, in place of `units` and `core`.
        **kwargs: Arguments of `keras_adaptive_rnn.cells.Modulator`; all others go to the core.
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
