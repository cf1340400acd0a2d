"""Everything that a good Keras cell must do, in one call."""

import inspect
from collections.abc import Sequence

import keras
import numpy as np

from keras_adaptive_rnn.testing.case import Case
from keras_adaptive_rnn.testing.checks import CELL_CHECKS
from keras_adaptive_rnn.testing.compare import close, run_keras_layer_test


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
    _run(CELL_CHECKS, skip, Case(cell, _input_shape(input_shape), seed))


def check_layer(layer: keras.layers.Layer, input_shape: tuple[int, int, int], seed: int = 0) -> None:
    """Runs Keras's own `run_layer_test` on a recurrent layer, and checks that its config creates the same layer.

    Args:
        layer: The layer, an instance; copies of it are tested.
        input_shape: `(batch, time, features)`.
        seed: Integer seed of the inputs. Defaults to `0`.

    Raises:
        AssertionError: what the layer does wrong.

    Example:

    >>> keras_adaptive_rnn.testing.check_layer(keras_adaptive_rnn.layers.Mogrifier(4), input_shape=(2, 4, 3))
    """
    config = layer.get_config()
    inputs = np.random.default_rng(seed).normal(size=_input_shape(input_shape)).astype("float32")

    def make(**changes):
        return type(layer).from_config({**config, **changes})

    copy, original = make(), make()
    copy.build(inputs.shape)
    original.build(inputs.shape)
    copy.set_weights(original.get_weights())
    close(copy(inputs), original(inputs), "outputs of a layer made from the config")
    run_keras_layer_test(make, inputs.shape)


def _input_shape(shape):
    shape = tuple(shape)
    if len(shape) != 3 or any(not isinstance(n, int) for n in shape) or shape[0] < 2 or shape[1] < 3 or shape[2] < 1:
        raise ValueError(
            "Argument `input_shape` must be (batch, time, features), integers of at least (2, 3, 1). "
            f"Received: input_shape={shape}"
        )
    return shape


def _run(checks, skip, case):
    names = [check.__name__ for check in checks]
    unknown = sorted(set(skip) - set(names))
    if unknown:
        raise ValueError(f"Argument `skip` must hold names out of {names}. Received: {unknown}")
    lines, errors = [], []
    for check in checks:
        if check.__name__ in skip:
            continue
        try:
            check(case)
        except Exception as error:  # A cell can fail in any way, and the user wants all of them.
            errors.append(error)
            rule, _, advice = (inspect.getdoc(check) or "").partition("\n\n")  # None under `python -OO`.
            lines += [f"- {check.__name__} ({rule}): {type(error).__name__}: {error}", f"  {' '.join(advice.split())}"]
    if errors:
        summary = f"{type(case.original).__name__} fails {len(errors)} of {len(names)} checks:"
        raise AssertionError("\n".join([summary, *lines])) from errors[0]
