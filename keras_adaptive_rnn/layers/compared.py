"""What a layer says of itself to `keras_adaptive_rnn.compare`."""

import dataclasses
from collections.abc import Callable
from typing import Any

# Below this width of the input, a full matrix is thinner than a low-rank one.
WIDE = 16


@dataclasses.dataclass(frozen=True)
class Compared:
    """How `compare` makes a layer of any size, in the attribute `compared` of its class.

    `size(units, inputs)` counts its weights without making it: on JAX, making one costs seconds.
    `arguments(units, inputs)` are those beside `units`.
    """

    title: str
    size: Callable[[int, int], int]
    arguments: Callable[[int, int], dict[str, Any]] = lambda units, inputs: {}


def lstm_size(units, inputs):
    return 4 * units * (inputs + units + 1)


def quarter(units):
    """The rank, or the size of the policy: a quarter of the units, as in the papers' models of words."""
    return max(1, units // 4)


def mogrifier_rank(units, inputs):
    return None if inputs <= WIDE else min(inputs, quarter(units))


def mogrifier_size(units, inputs):
    rank = mogrifier_rank(units, inputs)
    return lstm_size(units, inputs) + 5 * (units * inputs if rank is None else rank * (units + inputs))


def adaptive_size(units, inputs):
    policy = quarter(units)
    return lstm_size(units, inputs) + lstm_size(policy, inputs + units) + policy * (inputs + 13 * units)
