"""What a cell says of itself to `keras_adaptive_rnn.compare`."""

import dataclasses
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(frozen=True)
class Compared:
    """How `compare` makes a cell of any size, in the attribute `compared` of its class.

    `size(units, inputs)` counts its weights without making it: on JAX, making one costs seconds.
    `arguments(units, inputs)` are those beside `units`. The units must be a multiple of `multiple`.
    """

    title: str
    size: Callable[[int, int], int]
    arguments: Callable[[int, int], dict[str, Any]] = lambda units, inputs: {}
    multiple: int = 1


def quarter(units):
    """The rank, or the size of the policy: a quarter of the units, as in the papers' models of words."""
    return max(1, units // 4)
