"""Which tests and rows a backend runs, where there are too many to run on all of them."""

import keras
import pytest

PLACES = {"jax": 0, "tensorflow": 1, "torch": 2}

# Marks a test, or as `pytestmark` a file: PyTorch, which compiles nothing, runs every row, the others an eighth each.
# Tests that are picked by name run on every backend.
in_turns = pytest.mark.in_turns
# PyTorch runs every row, and each other row is JAX's or TensorFlow's; goldens run everywhere.
alternating = pytest.mark.alternating


def dealt(rows):
    """Returns the rows for this backend: all on PyTorch, a third on each of the others."""
    rows = list(rows)
    return rows if keras.backend.backend() == "torch" else dealt_once(rows)


def dealt_once(rows):
    """Returns the rows for this backend, a third of all: each row runs on one."""
    return list(rows)[PLACES[keras.backend.backend()] :: 3]
