"""Runs over a sequence in the recurrent operations that the backend has of its own."""

import dataclasses

from keras_adaptive_rnn import engine
from keras_adaptive_rnn.cells.bases.native import native_operation
from keras_adaptive_rnn.cells.stacked import StackedCells


def scan(cell, run, sequences, states, mask, options):
    """Does what `engine.scan` does in one operation a cell, or returns `None` where that is impossible or slower.

    Args:
        cell: A cell, or a stack of cells, which then run over the sequence one after the other.
        run, sequences, states, mask, options: As in `engine.scan`.
    """
    is_stack = type(cell) is StackedCells and cell.connection is None
    cells, states = (cell.cells, cell.split_states(states)[::-1]) if is_stack else ([cell], [states])
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
