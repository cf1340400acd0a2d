"""Everything that a good Keras cell must do, in one call."""

from collections.abc import Sequence

import keras

from keras_adaptive_rnn.testing.case import Case, check_input_shape
from keras_adaptive_rnn.testing.checks import CELL_CHECKS
from keras_adaptive_rnn.testing.results import run_checks


def check_cell(
    cell: keras.layers.Layer, input_shape: tuple[int, int, int], seed: int = 0, skip: Sequence[str] = ()
) -> None:
    """Checks that a cell does everything a Keras cell must do, on the backend in use, and reports every failure.

    One call covers: the shapes, order and dtype of what a step returns; config and file round trips; agreement of a
    Python loop over the cell, `keras.layers.RNN` and `keras_adaptive_rnn.layers.RNN` in outputs, states and gradients,
    with masks, backwards, unrolled; masked padding changes nothing; noise is fresh for every batch and gone in
    inference; streaming and stateful batches equal one pass, and pieces between resets those apart; `Bidirectional`;
    `StackedRNNCells`; both mixed precisions; unknown batch and time; a gradient for every weight; and Keras's own
    `run_layer_test`.

    Args:
        cell: The cell, an instance; copies of it are tested. Its class must be registered for saving.
        input_shape: `(batch, time, features)`, at least `(2, 3, 1)`; small sizes will do.
        seed: Integer seed of inputs and weights. Defaults to `0`.
        skip: Names of checks to leave out, such as `("keras_layer_test",)`. Defaults to `()`.

    Raises:
        AssertionError: for each check that failed, what the cell must do, the error, and what to do about it.
        ValueError: `input_shape` or a name in `skip` is not understood.

    Example:

    >>> keras_adaptive_rnn.testing.check_cell(keras_adaptive_rnn.ElmanCell(4), input_shape=(2, 4, 3))
    """
    results = run_checks(CELL_CHECKS, skip, Case(cell, check_input_shape(input_shape), seed))
    failed = [result for result in results if result.status == "failed"]
    if failed:
        lines = [f"{type(cell).__name__} fails {len(failed)} of {len(results)} checks:"]
        for result in failed:
            rule, advice = result.rule
            lines += [f"- {result.name} ({rule}): {result.reason}", f"  {advice}"]
        raise AssertionError("\n".join(lines)) from failed[0].error
