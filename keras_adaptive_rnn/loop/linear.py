"""Runs cells whose states are linear recurrences: the coefficients of all steps at once, then one scan a cell."""

from keras import ops

from keras_adaptive_rnn import engine
from keras_adaptive_rnn.cells.bases.any_cell import runs_in_parts
from keras_adaptive_rnn.cells.bases.linear import LinearCell
from keras_adaptive_rnn.cells.stacked import StackedCells

SCHEDULES = ("scan", "associative")


def is_linear(cell):
    """Returns whether a cell, or each cell of a stack, steps as `LinearCell` does."""
    if type(cell) is StackedCells:
        return all(is_linear(inner) and inner.compute_dtype == cell.compute_dtype for inner in cell.cells)
    overridden = [name for name in ("project", "step") if getattr(type(cell), name, None) is not vars(LinearCell)[name]]
    return isinstance(cell, LinearCell) and runs_in_parts(cell) and not overridden


def scan(cell, run, sequence, states, output, mask, options, associative):
    """Does what `engine.scan` does; `associative` is that of `engine.linear_scan`."""
    outputs, states = _run(cell, run, sequence, list(states), mask, associative)
    if mask is not None and options.zero_output_for_mask:
        outputs = ops.where(mask, outputs, 0)
    return _last(output, outputs), outputs if options.return_sequences else None, states


def _run(cell, run, sequence, states, mask, associative):
    """Returns the outputs of all steps, of which a masked one repeats the output before it, and the last states."""
    if isinstance(cell, StackedCells):
        return _run_stack(cell, run, sequence, states, mask, associative)
    a, b, *inputs = cell.project(sequence, run)
    if mask is not None:
        a, b = ops.where(mask, a, 1), ops.where(mask, b, 0)
    h = engine.linear_scan(a, b, states[-1], associative)
    last = _last(states[-1], h)
    if not cell.has_read_out:
        return h, [last]
    outputs = _held(cell.read_out(h, *inputs, run), states[0], mask, associative)
    return outputs, [_last(states[0], outputs), last]


def _run_stack(stack, run, sequence, states, mask, associative):
    below, outputs, new = sequence, [], []
    for cell, before in zip(stack.cells, stack.split_states(states)[::-1], strict=True):
        output, after = _run(cell, run, below, before, mask, associative)
        below = output + below if outputs and stack.connection == "residual" else output
        outputs.append(output)
        new = [*after, *new]
    if stack.connection is None:
        return below, new
    result = _held(sum(outputs) if stack.connection == "skip" else below, states[0], mask, associative)
    return result, [_last(states[0], result), *new]


def _held(outputs, before, mask, associative):
    """Returns outputs of which a masked one repeats the one before it, itself a linear recurrence."""
    if mask is None:
        return outputs
    kept = ops.broadcast_to(ops.cast(ops.logical_not(mask), outputs.dtype), ops.shape(outputs))
    return engine.linear_scan(kept, ops.where(mask, outputs, 0), before, associative)


def _last(before, sequence):
    """Returns the last entry of a sequence, or `before` if it is empty; its length may not be known."""
    return ops.concatenate([before[None], sequence[-1:]])[-1]
