"""Which rows of a table a backend runs, where the rows are too long to run on all of them."""

import keras

PLACES = {"jax": 0, "tensorflow": 1, "torch": 2}


def dealt(rows):
    """Returns the rows for this backend: all on PyTorch, which compiles nothing, a third on each of the others."""
    rows = list(rows)
    return rows if keras.backend.backend() == "torch" else dealt_once(rows)


def dealt_once(rows):
    """Returns the rows for this backend, a third of all: each row runs on one."""
    return list(rows)[PLACES[keras.backend.backend()] :: 3]
