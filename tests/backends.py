"""Which tests and rows a backend runs, where there are too many to run on all of them."""

import os

import keras
import pytest

PLACES = {"jax": 0, "tensorflow": 1, "torch": 2}
# `make test-all` sets it: then all that is shared out below runs on every backend.
EVERY_ROW = "KAR_EVERY_ROW" in os.environ
# PyTorch compiles nothing, and has the time.
RUNS_ALL = EVERY_ROW or keras.backend.backend() == "torch"

# Marks a test, or as `pytestmark` a file: PyTorch runs every row, the others a thirty-second each. Tests that are
# picked by name run on every backend.
in_turns = pytest.mark.in_turns
# PyTorch runs every row, the others a sixteenth each; goldens run everywhere.
alternating = pytest.mark.alternating
# Marks what takes long and breaks seldom: it runs with every row, and where it is picked by name.
nightly = pytest.mark.nightly


def one_in(count, rows):
    """Returns every `count`th row, where they cost much and show alike; all with every row."""
    return list(rows) if EVERY_ROW else list(rows)[::count]


def dealt(rows):
    """Returns the rows for this backend: all on PyTorch, a sixth on each of the others."""
    return list(rows) if RUNS_ALL else list(rows)[PLACES[keras.backend.backend()] :: 6]


def dealt_once(rows):
    """Returns the rows for this backend, a third of all: each row runs on one."""
    return list(rows) if EVERY_ROW else list(rows)[PLACES[keras.backend.backend()] :: 3]
