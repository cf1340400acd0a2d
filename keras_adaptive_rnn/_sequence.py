"""A pass over a sequence as one value, which only the thread that runs the pass can see."""

import contextlib
import dataclasses
import functools
import threading
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

import keras
from keras import ops

from keras_adaptive_rnn._keras import AutocastScope, DropoutRNNCell

KERAS_MASKS = ("dropout_mask", "recurrent_dropout_mask")
# Keras's cells hold a mask in an attribute while they draw it.
_drawing = threading.RLock()


@dataclasses.dataclass(frozen=True)
class Sequence:
    """A pass over a sequence.

    Attributes:
        prepared: For each part of the cell, a dict of what it drew and prepared for the sequence.
        given_noise: For each part, a dict of the noise to use instead of drawn noise.
        skips_unneeded: Whether inference steps skip computation whose result is unused. Gradients are wrong then.
        aux: Dict in which cells emit what they decided in the current step; `None` if it is not collected.
        intermediates: List to which cells sow `(cell, name, value)`; `None` if it is not collected.
    """

    prepared: Mapping[Any, dict] = dataclasses.field(default_factory=dict)
    given_noise: Mapping[Any, dict] = dataclasses.field(default_factory=dict)
    skips_unneeded: bool = False
    aux: dict | None = None
    intermediates: list | None = None


_current = ContextVar("sequence", default=Sequence())  # noqa: B039 - Nothing is written to this one.
# Returns the pass that the calling thread runs; an empty one outside any pass.
current = _current.get


def prepared_by(part):
    """Returns what `part` has prepared for the current pass, a dict; an empty one if that is nothing."""
    return _current.get().prepared.get(part) or {}


@contextlib.contextmanager
def entered(sequence):
    """Makes `sequence` the current pass within this context."""
    token = _current.set(sequence)
    try:
        yield sequence
    finally:
        _current.reset(token)


def changed(**fields):
    """Makes the current pass with other `fields` the current one within a context."""
    return entered(dataclasses.replace(current(), **fields))


@contextlib.contextmanager
def started(parts, batch_size, training, skips_unneeded=False):
    """Starts a pass: within this context, the noise of `parts` is drawn and their weights are prepared.

    Args:
        parts: List of the layers inside a cell, the cell included.
        batch_size: Integer or scalar tensor.
        training: Whether the pass is a training pass.
        skips_unneeded: As in `Sequence`. Defaults to `False`.
    """
    with changed(prepared={}, aux=None, skips_unneeded=skips_unneeded) as sequence:
        _prepare(parts, sequence.prepared, batch_size, training)
        yield sequence


@contextlib.contextmanager
def resumed(sequence, dtype):
    """Re-enters a pass that has ended, in the compute dtype of its cell, since gradients may run its steps again."""
    with AutocastScope(dtype), entered(sequence):
        yield


def started_step(cells, batch_size):
    """Starts a pass of a single inference step, for those of Keras's cells that draw masks even then."""
    prepared = {}
    _prepare(cells, prepared, batch_size, training=False)
    return changed(prepared=current().prepared | prepared) if prepared else contextlib.nullcontext()


def begin(parts, batch_size):
    """Starts a pass in `keras.layers.RNN`, which has hooks instead of a context and does not pass `training`."""
    now = current()
    prepared = dict(now.prepared)
    _current.set(dataclasses.replace(now, prepared=prepared))
    _prepare(parts, prepared, batch_size, training=None)


def end(parts):
    """Ends what `begin` started."""
    now = current()
    prepared = {part: values for part, values in now.prepared.items() if part not in parts}
    _current.set(dataclasses.replace(now, prepared=prepared))


def _prepare(parts, prepared, batch_size, training):
    # Inner layers come after the layer that contains them, which may read what they have prepared.
    for part in reversed(parts):
        if hasattr(part, "prepare_sequence"):
            prepared[part] = {}
            part.prepare_sequence(prepared[part], batch_size, training)
        elif draws_own_masks(part):
            _keep_masks_in_passes(part)
            # Keras's own cells may draw masks in inference, but apply them in training alone.
            unused = training is False and type(part).__module__.startswith("keras.")
            prepared[part] = dict.fromkeys(KERAS_MASKS) if unused else _drawn_masks(part, batch_size)


# The masks of Keras's cells, which keep them in attributes of the cell: there they would outlive the pass, be seen by
# other threads, and be drawn again by steps that run again for a gradient.


def draws_own_masks(part):
    """Returns whether a layer is a cell that draws masks as Keras's cells do."""
    return isinstance(part, DropoutRNNCell) and not hasattr(part, "prepare_sequence")


def _drawn_masks(cell, batch_size):
    """Returns new masks of a built Keras cell, by name."""
    sizes = cell.get_build_config()["input_shape"][-1], keras.tree.flatten(cell.state_size)[0]
    with _drawing:
        masks = {}
        for name, size in zip(KERAS_MASKS, sizes, strict=True):
            of_class = {verb: getattr(type(cell), f"{verb}_{name}") for verb in ("get", "reset")}
            # An earlier mask may be there, if the cell was called by itself.
            of_class["reset"](cell)
            masks[name] = of_class["get"](cell, ops.ones((batch_size, size), cell.compute_dtype))
            of_class["reset"](cell)
    return masks


def _keep_masks_in_passes(cell):
    """Lets a Keras cell read the masks of the current pass, if there is one, in place of its own."""
    for name in KERAS_MASKS:
        # Not by assignment, which Keras would track.
        cell.__dict__.setdefault(f"get_{name}", functools.partial(_mask_of_pass, cell, name))


def _mask_of_pass(cell, name, step_input):
    masks = prepared_by(cell)
    return masks[name] if masks else getattr(type(cell), f"get_{name}")(cell, step_input)
