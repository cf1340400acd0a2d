"""Which rows of a table a backend runs, where the rows are too long to run on all of them."""

import keras

FIRST = {"jax": 0, "tensorflow": 1}


def dealt(rows):
    """Returns the rows for this backend: all on PyTorch, which compiles nothing, a third on each of the others."""
    rows = list(rows)
    backend = keras.backend.backend()
    return rows[FIRST[backend] :: 3] if backend in FIRST else rows
