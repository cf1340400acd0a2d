"""Noise that a test decides."""

import contextlib

from keras_adaptive_rnn import _sequence
from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.cells.bases.cell import Cell
from keras_adaptive_rnn.maps import DropConnect


@contextlib.contextmanager
def given_noise(drawer: Cell | DropConnect, **masks: Tensor):
    """Makes a cell or a map use these masks in place of drawn ones, so that backends can be compared.

    Args:
        drawer: A built cell of this package, or the `DropConnect` map of one.
        **masks: For each rate's name, such as `dropout`, an array that holds the factors: 0 for what is dropped,
            `1 / (1 - rate)` for what is kept. `[batch, size]` for a cell, the shape of the kernel for the `rate` of a
            map. Of a noise that differs from step to step, such as `zoneout`, integers of type int32 from which the
            noise of every step is made.
    """
    names = ["rate"] if isinstance(drawer, DropConnect) else [*drawer.noise_sizes, *drawer.step_noise_sizes]
    unknown = set(masks) - set(names)
    if unknown:
        raise ValueError(f"{type(drawer).__name__} draws {sorted(names)}. Received: {sorted(unknown)}")
    given = {**_sequence.current().given, drawer: masks}
    with _sequence.changed(given=given):
        yield drawer
