"""Runs cells whose states are linear recurrences: the coefficients of all steps at once, then one scan a cell."""

import dataclasses

from keras import ops

from keras_adaptive_rnn import engine
from keras_adaptive_rnn.cells.adaptive_linear import AdaptiveLinearCell
from keras_adaptive_rnn.cells.bases.any_cell import parts_of
from keras_adaptive_rnn.cells.bases.cell import Cell, runs_in_parts
from keras_adaptive_rnn.cells.bases.linear import LinearCell, last_entry
from keras_adaptive_rnn.cells.stacked import StackedCells
from keras_adaptive_rnn.loop import resetting

SCHEDULES = ("scan", "associative")


def is_linear(cell):
    """Returns whether a cell is linear, or made of cells, one of them linear, that each run over the whole sequence."""
    if type(cell) is StackedCells:
        return any(map(is_linear, cell.cells)) and all(_runs_by_itself(inner, cell) for inner in cell.cells)
    if type(cell) is AdaptiveLinearCell:
        return True
    # A subclass may have a step of its own.
    return isinstance(cell, LinearCell) and runs_in_parts(cell) and type(cell).step is LinearCell.step


def is_elementwise(cell):
    """Returns whether a step of a linear cell, and of each cell in a stack, is one multiplication and one addition."""
    if type(cell) is StackedCells:
        return all(map(is_elementwise, cell.cells))
    return isinstance(cell, LinearCell) and type(cell).recur is LinearCell.recur


def _runs_by_itself(inner, outer):
    decides = any(getattr(part, "aux_size", 0) for part in parts_of(inner))
    is_ours = isinstance(inner, Cell) and runs_in_parts(inner)
    return is_ours and not decides and inner.compute_dtype == outer.compute_dtype


def scan(cell, run, sequence, states, output, mask, options, resets, associative):
    """Returns what `engine.scan` does; `associative` is that of `engine.linear_scan`."""
    whole = dataclasses.replace(options, return_sequences=True, zero_output_for_mask=False)
    outputs, states = _run(cell, run, sequence, list(states), resets, mask, whole, associative)
    if mask is not None and options.zero_output_for_mask:
        outputs = ops.where(mask, outputs, 0)
    return last_entry(output, outputs), outputs if options.return_sequences else None, states


def _run(cell, run, sequence, states, resets, *how):
    """Returns the outputs of all steps, of which a masked one repeats the output before it, and the last states."""
    if isinstance(cell, StackedCells):
        return _run_stack(cell, run, sequence, states, resets, *how)
    if isinstance(cell, AdaptiveLinearCell):
        return _run_adaptive(cell, run, sequence, states, resets, *how)
    # With a length that is a symbol, as in a file of JAX for any length, there is no number of chunks.
    can_scan = is_elementwise(cell) or isinstance(sequence.shape[0], int | None)
    run_one = _run_linear if is_linear(cell) and can_scan else _run_other
    return run_one(cell, run, sequence, states, resets, *how)


def _run_linear(cell, run, sequence, states, resets, mask, options, associative):
    coefficients, read = cell.project(sequence, run)
    if mask is not None:
        coefficients = cell.masked(coefficients, mask)
    if resets is not None:
        resets = resets.of(cell.memories(resets.states))
    h, memories = cell.recur_over(coefficients, cell.memories(states), associative, resets)
    if not cell.has_read_out:
        return h, memories
    outputs = _held(cell.read_out(h, *read, run), states[0], mask, associative)
    return outputs, [last_entry(states[0], outputs), *memories]


def _run_other(cell, run, sequence, states, resets, mask, options, associative):
    projected = cell.project(sequence, run)
    loop = resetting.restarting(cell.step, run, projected, resets)
    _, outputs, states = engine.scan(*loop, states, states[0], mask, options)
    return outputs, states


def _run_adaptive(cell, run, sequence, states, resets, *how):
    memory_states, policy_states = cell.split_states(states)
    memory_resets, policy_resets = resetting.split(resets, cell.split_states, 2)
    x = cell.drop(sequence, "dropout", run)
    p, policy_states = _run(cell.policy_cell, run, x, policy_states, policy_resets, *how)
    h, memory_states = _run(cell.memory_cell, run, cell.memory_inputs(x, p), memory_states, memory_resets, *how)
    return h, [*memory_states, *policy_states]


def _run_stack(stack, run, sequence, states, resets, mask, options, associative):
    below, outputs, new = sequence, [], []
    of_cells = resetting.split(resets, stack.split_states, len(stack.cells))[::-1]
    for cell, before, reset in zip(stack.cells, stack.split_states(states)[::-1], of_cells, strict=True):
        output, after = _run(cell, run, below, before, reset, mask, options, associative)
        below = output + below if outputs and stack.connection == "residual" else output
        outputs.append(output)
        new = [*after, *new]
    if stack.connection is None:
        return below, new
    result = _held(sum(outputs) if stack.connection == "skip" else below, states[0], mask, associative)
    return result, [last_entry(states[0], result), *new]


def _held(outputs, before, mask, associative):
    """Returns outputs of which a masked one repeats the one before it, itself a linear recurrence."""
    if mask is None:
        return outputs
    # Not a cast of `logical_not`, which is of double precision in the ONNX files of JAX.
    kept = 1.0 - ops.broadcast_to(ops.cast(mask, outputs.dtype), ops.shape(outputs))
    return engine.linear_scan(kept, ops.where(mask, outputs, 0.0), before, associative)
