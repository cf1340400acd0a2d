"""A run of a cell over a sequence: the state that each step gets and passes on to the cells and maps inside."""

import dataclasses
import functools
import itertools
import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

import keras
from keras import ops, tree

from keras_adaptive_rnn._contexts import held
from keras_adaptive_rnn._keras import AutocastScope, DropoutRNNCell, enclosing_call, rematerializes
from keras_adaptive_rnn._products import plain_matmul, product_per_layer

KERAS_MASKS = ("dropout_mask", "recurrent_dropout_mask")
# Stands for a tensor in a structure.
_TENSOR = object()
# Keras's cells hold a mask in an attribute while they draw it.
_drawing = threading.RLock()


@dataclasses.dataclass(frozen=True, eq=False)
class Run:
    """A run of a cell over a sequence, or its part in one step.

    A cell reads `run.training`, hands the run on to the cells and maps inside it, and shows what it computes with `sow`
    and `emit`. It does not change the run.

    Args:
        training: Whether this is training: dropout is on. `None` while `keras.layers.RNN` begins a run, which does not
            say. Defaults to `False`.
        dtype: The compute dtype of the cell, or `None` (default).
        prepared: Dict of what each part of the cell has prepared for the sequence, itself a dict: the noise that it
            drew, and its weights. `None` (default) for an empty one.
        given_noise: Dict of the noise of each part, to use instead of drawn noise. `None` (default) for an empty one.
        skips_unneeded: Whether inference skips computation whose result is unused. Gradients are wrong then. Defaults
            to `False`.
        matmul_impl: Function of `(inputs, kernel)` that multiplies by prepared weights; `None` (default) for a plain
            product.
        emitted: Dict that takes what cells decide in a step, by cell; `None` (default) if nobody wants it.
        sown: List that takes what cells sow, `(cell, name, value)`; `None` (default) if nobody wants it.
        keras_call: The call of a Keras model or layer that the run belongs to, if `keras.layers.RNN` began it; `None`
            (default) otherwise.
        bare: Set of the cells that `keras.layers.RNN` steps and whose `call` is all that a step needs; `None` (default)
            for an empty one.

    Example:

    >>> run = keras_adaptive_rnn.cells.Run(training=True)
    >>> cell = keras_adaptive_rnn.LSTMCell(8, dropout=0.1)
    >>> cell.build((2, 3))
    >>> projected = cell.project(keras.ops.ones((2, 3)), run)
    >>> output, states = cell.step(projected, cell.get_initial_state(2), run)
    >>> tuple(output.shape)
    (2, 8)
    """

    training: bool | None = False
    dtype: str | None = None
    prepared: Mapping[Any, dict] | None = None
    given_noise: Mapping[Any, dict] | None = None
    skips_unneeded: bool = False
    matmul_impl: Callable | None = None
    emitted: dict | None = None
    sown: list | None = None
    keras_call: Any = None
    bare: frozenset | None = None

    def __post_init__(self):
        for name, empty in {"prepared": {}, "given_noise": {}, "bare": frozenset()}.items():
            if getattr(self, name) is None:
                object.__setattr__(self, name, empty)

    def __bool__(self):
        raise TypeError("`run` is a `Run`, not a boolean: a step gets it in place of `training`; use `run.training`.")

    def changed(self, **fields):
        """Returns the run with other `fields`."""
        return dataclasses.replace(self, **fields)

    # For cells and maps.

    @property
    def prepares_weights(self):
        """Whether weights are prepared before the first step; if `training` is `None`, those that no noise changes."""
        return self.training is not None or self.keras_call is not None

    def prepared_by(self, part):
        """Returns what `part` has prepared, a dict; an empty one if that is nothing."""
        return self.prepared.get(part) or {}

    def matmul(self, inputs, kernel):
        """Returns `inputs @ kernel`. Maps multiply by their prepared weights with this function alone.

        Args:
            inputs: Tensor `[rows, inputs]`, or `[batches, rows, inputs]` for a batched product.
            kernel: Tensor `[inputs, outputs]`, or `[batches, inputs, outputs]`. If the rows hold the batches of several
                layers, one below another, the kernels of all layers are stacked along the first axis, layer by layer.
        """
        return product_per_layer(self.matmul_impl or plain_matmul, inputs, kernel)

    def emit(self, cell, *values):
        """Passes what `cell` decides in a step, `aux_size` tensors `[batch, 1]`, to the layer, our `RNN`."""
        if self.emitted is not None:
            self.emitted[cell] = values

    def sow(self, cell, **values):
        """Makes values of a step visible, by name, to `keras_adaptive_rnn.analysis.trace`."""
        if self.sown is not None:
            self.sown.extend((cell, name, value) for name, value in values.items())

    # For loops.

    def tensors(self):
        """Returns a list of all tensors that the parts of the cell have prepared."""
        return tensors_of(list(self.prepared.values()))

    def emptied(self):
        """Returns the run without its tensors, to be `filled`: a function that outlives a trace may keep this one."""
        return self.filled(itertools.repeat(_TENSOR))

    def filled(self, tensors):
        """Returns the run with these tensors in place of its own, in the order of `tensors`."""
        values = with_tensors(list(self.prepared.values()), tensors)
        return self.changed(prepared=dict(zip(self.prepared, values, strict=True)))


def tensors_of(structure):
    """Returns a list of the tensors in a structure, which may hold anything else as well."""
    return list(filter(ops.is_tensor, tree.flatten(structure)))


def with_tensors(structure, tensors):
    """Returns `structure` with other `tensors` in the places of those that `tensors_of` returns."""
    left = iter(tensors)
    leaves = [next(left) if leaf is _TENSOR or ops.is_tensor(leaf) else leaf for leaf in tree.flatten(structure)]
    return tree.pack_sequence_as(structure, leaves)


def start(parts, batch_size, training, dtype, **fields):
    """Returns a new run, for which the noise of `parts` is drawn and their weights are prepared.

    `parts` is a list of a cell and the layers inside it, `batch_size` an integer or a scalar tensor.
    """
    run = Run(training, dtype, {}, current().given_noise, **fields)
    with AutocastScope(dtype):
        _prepare(parts, run, batch_size)
    return run


# `call(inputs, states, training)`, as Keras calls a cell, has no place for a run. Around such a call, it is here.
_current = ContextVar("run", default=Run())  # noqa: B039 - Nothing is written to this one.


def current(training=None):
    """Returns the run around a call in this thread, or else a new one; with another `training` if that is given."""
    run = _current.get()
    if run.keras_call is not None and run.keras_call is not enclosing_call():
        # An error has ended the loop of Keras before its last hook: what was prepared is of the past.
        run = Run()
        _current.set(run)
    return run if training is None or training == run.training else run.changed(training=bool(training))


def entered(run):
    """A context in which `run` is the current one."""
    return held(_current, run)


def begin(parts, batch_size, is_bare):
    """Begins a run in `keras.layers.RNN`, which has hooks instead of a context and does not pass `training`.

    The arguments are those of `start`, and whether the `call` of the first part is all that a step needs.
    """
    run = current()
    # Weights that are prepared outside a call that is computed again would get no gradient.
    call = None if rematerializes(parts[0]) else enclosing_call()
    bare = run.bare | {parts[0]} if call is not None and is_bare else run.bare
    run = run.changed(training=None, prepared=dict(run.prepared), keras_call=call, bare=bare)
    _current.set(run)
    _prepare(parts, run, batch_size)


def end(parts):
    """Ends what `begin` began."""
    run = current()
    prepared = {part: values for part, values in run.prepared.items() if part not in parts}
    call, bare = run.keras_call if prepared else None, run.bare - {parts[0]}
    _current.set(run.changed(training=False, prepared=prepared, keras_call=call, bare=bare))


def _prepare(parts, run, batch_size):
    # Inner layers come after the layer that contains them, which may read what they have prepared.
    for part in reversed(parts):
        if hasattr(part, "prepare_sequence"):
            run.prepared[part] = part.prepare_sequence(batch_size, run)
        elif draws_own_masks(part):
            _keep_masks_in_runs(part)
            is_unused = run.training is False and not draws_in_inference(part)
            run.prepared[part] = dict.fromkeys(KERAS_MASKS) if is_unused else _drawn_masks(part, batch_size)


# The masks of Keras's cells, which keep them in attributes of the cell: there they would outlive the run, be seen by
# other threads, and be drawn again by steps that run again for a gradient.


def draws_own_masks(part):
    """Returns whether a layer is a cell that draws masks as Keras's cells do."""
    return isinstance(part, DropoutRNNCell) and not hasattr(part, "prepare_sequence")


def draws_in_inference(part):
    """Returns whether a layer may need masks of its own in inference, too: Keras's own cells apply none."""
    return draws_own_masks(part) and not type(part).__module__.startswith("keras.")


def _drawn_masks(cell, batch_size):
    """Returns new masks of a built Keras cell, by name."""
    sizes = cell.get_build_config()["input_shape"][-1], keras.tree.flatten(cell.state_size)[0]
    with _drawing:
        masks = {}
        for name, size in zip(KERAS_MASKS, sizes, strict=True):
            get, reset = (getattr(type(cell), f"{verb}_{name}") for verb in ("get", "reset"))
            # An earlier mask may be there, if the cell was called by itself.
            reset(cell)
            masks[name] = get(cell, ops.ones((batch_size, size), cell.compute_dtype))
            reset(cell)
    return masks


def _keep_masks_in_runs(cell):
    """Lets a Keras cell read the masks of the current run, if there is one, in place of its own."""
    for name in KERAS_MASKS:
        # Not by assignment, which Keras would track.
        cell.__dict__.setdefault(f"get_{name}", functools.partial(_mask_of_run, cell, name))


def _mask_of_run(cell, name, step_input):
    masks = current().prepared_by(cell)
    return masks[name] if masks else getattr(type(cell), f"get_{name}")(cell, step_input)
