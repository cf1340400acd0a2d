"""Noise that a test decides."""

import contextlib

from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.cells.base import Cell


@contextlib.contextmanager
def given_noise(cell: Cell, **masks: Tensor):
    """Makes `cell` use these masks in place of drawn ones, so that backends can be compared.

    Args:
        cell: A cell of this package.
        **masks: For each rate's name, such as `dropout`, an array `[batch, size]` that holds the factors: 0 for what
            is dropped, `1 / (1 - rate)` for what is kept.
    """
    unknown = set(masks) - set(cell.noise_sizes)
    if unknown:
        raise ValueError(f"{type(cell).__name__} draws {sorted(cell.noise_sizes)}. Received: {sorted(unknown)}")
    cell._noise.given.update(masks)
    try:
        yield cell
    finally:
        cell._noise.given.clear()
