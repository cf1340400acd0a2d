"""Runs a cell whose state is a linear recurrence: its coefficients for all steps at once, then one scan."""

from keras import ops

from keras_adaptive_rnn import engine
from keras_adaptive_rnn.cells.bases.any_cell import runs_in_parts
from keras_adaptive_rnn.cells.bases.linear import LinearCell

SCHEDULES = ("scan", "associative")


def is_linear(cell):
    """Returns whether a cell steps as `LinearCell` does."""
    return isinstance(cell, LinearCell) and runs_in_parts(cell) and not _overrides(cell, "project", "step")


def _overrides(cell, *methods):
    return any(getattr(type(cell), name) is not getattr(LinearCell, name) for name in methods)


def scan(cell, run, projected, states, output, mask, options, associative):
    """Does what `engine.scan` does, from `projected`, the projected inputs of all steps, and `associative`, as in
    `engine.linear_scan`.
    """
    a, b, *inputs = projected
    if mask is not None:
        # A masked step keeps the state.
        a, b = ops.where(mask, a, 1), ops.where(mask, b, 0)
    states_of_all = engine.linear_scan(a, b, states[-1], associative)
    state = _last(states[-1], states_of_all)
    if not cell.has_read_out:
        outputs = states_of_all
        if mask is not None and options.zero_output_for_mask:
            outputs = ops.where(mask, outputs, 0)
        return _last(output, outputs), outputs if options.return_sequences else None, [state]
    outputs = cell.read_out(states_of_all, *inputs, run)
    # A masked step repeats the previous output or outputs zeros, and keeps the state that is the output.
    last, outputs, (kept,) = engine.scan(
        lambda now, _, run: (now, [now]), run.changed(prepared=None), outputs, [output], output, mask, options
    )
    return last, outputs, [kept, state]


def _last(before, sequence):
    """Returns the last entry of a sequence, or `before` if it is empty; its length may not be known."""
    return ops.concatenate([before[None], sequence[-1:]])[-1]
