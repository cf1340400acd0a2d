"""What cells that hold a cell share."""

from typing import Any

import keras
from keras import ops, tree

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn.cells.base import Cell
from keras_adaptive_rnn.cells.elman import ElmanCell
from keras_adaptive_rnn.cells.gru import GRUCell
from keras_adaptive_rnn.cells.lstm import LSTMCell
from keras_adaptive_rnn.cells.sequence import end_sequence, start_sequence


class Modulator(Cell):
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

    def __init__(self, cell: Any, **kwargs):
        super().__init__(**kwargs)
        if isinstance(cell, dict):
            cell = keras.saving.deserialize_keras_object(cell)
        self.cell = check_cell_argument("cell", cell)
        inner = cell.state_size
        inner = list(inner) if isinstance(inner, (list, tuple)) else [inner]
        self._inner_is_list = isinstance(cell.state_size, (list, tuple))
        self._inner_states = len(inner)
        self.state_size = [*inner, *self.own_state_size]
        self.output_size = inner[0]

    def build(self, input_shape):
        if not self.cell.built:
            self.cell.build(input_shape)
        super().build(input_shape)

    def inner(self, inputs, states, training):
        """Returns `output, states` of the inner cell for one step; `states` is a list."""
        return self.inner_step(self.inner_project(inputs, training), states, training)

    def inner_project(self, inputs, training):
        """Returns what the inner cell can compute without its state."""
        return self.cell.project(inputs, training) if self._calls_parts else inputs

    def inner_step(self, projected, states, training):
        """Returns `output, states` of the inner cell's step from what `inner_project` gave."""
        states = list(states[: self._inner_states])
        if self._calls_parts:
            return self.cell.step(projected, states, training)
        kwargs = {"training": training} if getattr(self.cell, "_call_has_training_arg", False) else {}
        output, states = self.cell(projected, states if self._inner_is_list else states[0], **kwargs)
        states = list(states) if isinstance(states, (list, tuple)) else [states]
        return tree.map_structure(lambda t: ops.cast(t, self.compute_dtype), (output, states))

    @property
    def _calls_parts(self):
        # A cell of another library, or of another dtype policy, goes through its `__call__`, which casts.
        return isinstance(self.cell, Cell) and self.cell.compute_dtype == self.compute_dtype

    def start_sequence(self, batch_size, training):
        super().start_sequence(batch_size, training)
        start_sequence(self.cell, batch_size, training, self.input_size)

    def end_sequence(self):
        super().end_sequence()
        end_sequence(self.cell)

    def get_initial_state(self, batch_size=None):
        own = super().get_initial_state(batch_size)
        if self.trainable_initial_state or not hasattr(self.cell, "get_initial_state"):
            return own
        inner = self.cell.get_initial_state(batch_size=batch_size)
        inner = list(inner) if isinstance(inner, (list, tuple)) else [inner]
        return [ops.cast(state, self.compute_dtype) for state in inner] + own[self._inner_states :]

    @property
    def trains_initial_state(self):
        return self.trainable_initial_state or getattr(self.cell, "trains_initial_state", False)


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


def check_cell_argument(name, cell):
    """Returns `cell` if a modulator can hold it, or raises an error that says why not."""
    size = getattr(cell, "state_size", None)
    if not callable(cell) or size is None:
        raise ValueError(
            f"Argument `{name}` must be a recurrent cell: callable, with `state_size`. Received: {name}={cell!r}"
        )
    sizes = size if isinstance(size, (list, tuple)) else [size]
    if not sizes or any(not isinstance(s, int) for s in sizes):
        raise ValueError(
            f"Argument `{name}` must have a flat `state_size`, an integer or a list of them; modulate the cells of a "
            f"stack one by one. Received: a {type(cell).__name__} with state_size={size}"
        )
    output_size = getattr(cell, "output_size", None)
    if output_size not in (None, sizes[0]):
        raise ValueError(
            f"Argument `{name}` must be a cell whose first state is its output. "
            f"Received: a {type(cell).__name__} with state_size={size} and output_size={output_size}"
        )
    return cell
