"""Noise set by a test."""

import contextlib

from keras_adaptive_rnn import _run
from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.cells.bases.cell import Cell
from keras_adaptive_rnn.maps import DropConnect


@contextlib.contextmanager
def given_noise(drawer: Cell | DropConnect, **masks: Tensor):
    """Makes a cell or a map use the given masks instead of random ones, so that backends can be compared.

    Args:
        drawer: A built cell of this package, or the `DropConnect` map of a cell.
        **masks: For the name of each rate, such as `dropout`, an array of factors: 0 for dropped entries and
            `1 / (1 - rate)` for the others. The shape is `[batch, size]` for a cell, and the shape of the kernel for
            the `rate` of a map. For noise that changes from step to step, such as `zoneout`, int32 keys
            `[batch, size]`, from which the noise of every step is computed.

    Raises:
        ValueError: `drawer` has no noise of that name.
    """
    names = ["rate"] if isinstance(drawer, DropConnect) else [*drawer.noise_sizes, *drawer.step_noise_sizes]
    unknown = set(masks) - set(names)
    if unknown:
        raise ValueError(f"{type(drawer).__name__} draws {sorted(names)}. Received: {sorted(unknown)}")
    run = _run.current()
    with _run.entered(run.changed(given_noise={**run.given_noise, drawer: masks})):
        yield drawer
