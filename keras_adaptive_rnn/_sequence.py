"""A pass over a sequence as one value, which only the thread that runs the pass can see."""

import contextlib
import dataclasses
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

import keras
from keras import ops

from keras_adaptive_rnn._keras import AutocastScope, DropoutRNNCell, replaced

KERAS_MASKS = ("_dropout_mask", "_recurrent_dropout_mask")


@dataclasses.dataclass(frozen=True)
class Sequence:
    """A pass over a sequence.

    Attributes:
        kept: For each part of the cell, a dict of what it drew and prepared for the sequence.
        given: For each part, a dict of the noise to use instead of drawn noise.
        skips_unneeded: Whether inference steps skip computation whose result is unused. Gradients are wrong then.
        aux: Dict in which cells emit what they decided in the current step; `None` if it is not collected.
        intermediates: List to which cells sow `(cell, name, value)`; `None` if it is not collected.
    """

    kept: Mapping[Any, dict] = dataclasses.field(default_factory=dict)
    given: Mapping[Any, dict] = dataclasses.field(default_factory=dict)
    skips_unneeded: bool = False
    aux: dict | None = None
    intermediates: list | None = None


_current = ContextVar("sequence", default=Sequence())  # noqa: B039 - Nothing is written to this one.
# Returns the pass that the calling thread runs; an empty one outside any pass.
current = _current.get


def kept_by(part):
    """Returns the dict of what `part` keeps for the current pass; an empty one if it keeps nothing."""
    return _current.get().kept.get(part) or {}


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
    with changed(kept={}, aux=None, skips_unneeded=skips_unneeded) as sequence:
        _prepare(parts, sequence.kept, batch_size, training)
        with _keras_masks(sequence):
            yield sequence


@contextlib.contextmanager
def resumed(sequence, dtype):
    """Re-enters a pass that has ended, in the compute dtype of its cell, since gradients may run its steps again."""
    with AutocastScope(dtype), entered(sequence), _keras_masks(sequence):
        yield


def begin(parts, batch_size):
    """Starts a pass in `keras.layers.RNN`, which has hooks instead of a context and does not pass `training`."""
    now = current()
    kept = dict(now.kept)
    _current.set(dataclasses.replace(now, kept=kept))
    _prepare(parts, kept, batch_size, training=None)


def end(parts):
    """Ends what `begin` started."""
    now = current()
    _current.set(dataclasses.replace(now, kept={part: kept for part, kept in now.kept.items() if part not in parts}))
    for part in parts:
        if _is_noisy_keras_cell(part):
            _reset_keras_masks(part)


def _prepare(parts, kept, batch_size, training):
    # Inner layers come after the layer that contains them, which may read what they keep.
    for part in reversed(parts):
        if hasattr(part, "prepare_sequence"):
            kept[part] = {}
            part.prepare_sequence(kept[part], batch_size, training)
        elif training is not False and _is_noisy_keras_cell(part):
            inputs, state = (ops.ones((batch_size, size), part.compute_dtype) for size in _sizes(part))
            masks = part.get_dropout_mask(inputs), part.get_recurrent_dropout_mask(state)
            kept[part] = dict(zip(KERAS_MASKS, masks, strict=True))
            if training:
                # From here on, `_keras_masks` sets them.
                _reset_keras_masks(part)


def _is_noisy_keras_cell(part):
    return isinstance(part, DropoutRNNCell) and not hasattr(part, "prepare_sequence")


def _sizes(cell):
    """Returns the sizes of the input and of the first state of a built Keras cell."""
    return cell.get_build_config()["input_shape"][-1], keras.tree.flatten(cell.state_size)[0]


def _reset_keras_masks(cell):
    cell.reset_dropout_mask()
    cell.reset_recurrent_dropout_mask()


@contextlib.contextmanager
def _keras_masks(sequence):
    with contextlib.ExitStack() as stack:
        for cell in filter(_is_noisy_keras_cell, sequence.kept):
            stack.enter_context(replaced(cell, **sequence.kept[cell]))
        yield
