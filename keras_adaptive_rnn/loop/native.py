"""Runs over a sequence in the recurrent operations that the backend has of its own."""

import dataclasses

from keras_adaptive_rnn import engine
from keras_adaptive_rnn.cells.bases.native import native_kind, native_operation
from keras_adaptive_rnn.cells.stacked import StackedCells


def scan(cell, run, sequences, states, mask, options):
    """Does what `engine.scan` does in one operation a cell, or returns `None` where that is impossible or slower.

    Args:
        cell: A cell, or a stack of cells, which then run over the sequence one after the other.
        run: Its run.
        sequences: Tensor `[time, batch, features]`.
        states: List of the states of the cell.
        mask, options: As in `engine.scan`.
    """
    cells = cells_of(cell)
    states = [states] if cells[0] is cell else cell.split_states(states)[::-1]
    operations = [native_operation(each, run) for each in cells]
    # Of all cells before any runs: each would run once more in the loop.
    if None in operations or not all(
        engine.prefers_native(operation, sequences, start, mask, options)
        for operation, start in zip(operations, states, strict=True)
    ):
        return None
    below = dataclasses.replace(options, return_sequences=True, zero_output_for_mask=False)
    outputs, ends = sequences, []
    for each, operation, start in zip(cells, operations, states, strict=True):
        is_highest = each is cells[-1]
        inputs = each.drop(outputs, "dropout", run)
        results = engine.native_scan(operation, inputs, start, mask, options if is_highest else below)
        # Only the lowest cell can fail, at a mask that the others would share.
        if results is None:
            return None
        last, outputs, end = results
        ends.append(end)
    return last, outputs, [state for end in reversed(ends) for state in end]


def cells_of(cell):
    """Returns the cells that may run over the sequence one after the other, the lowest first."""
    return cell.cells if type(cell) is StackedCells and cell.connection is None else [cell]


def exports_any_length(cell, dtype):
    """Returns whether the file that is being exported holds an operation for all steps of each cell.

    Args:
        cell: As in `scan`.
        dtype: The name of the dtype in which it runs.
    """
    return engine.exports_native(dtype) and all(map(native_kind, cells_of(cell)))
