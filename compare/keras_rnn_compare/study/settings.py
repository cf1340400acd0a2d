"""The settings of a comparison."""

import dataclasses
from typing import Any

from keras_rnn_compare import arguments
from keras_rnn_compare.models.candidates import resolve_candidates


@dataclasses.dataclass(frozen=True)
class Settings:
    """The arguments of `keras_rnn_compare.compare` that decide about the result, checked.

    `cells` is a dict of the candidates by name once it has been checked.
    """

    cells: Any = None
    weights: int | None = None
    equal: str = "weights"
    minutes: float = 10
    trials: int = 4
    seeds: int = 3
    depth: int = 1
    batch_size: int = 32
    memory: bool = True
    seed: int = 0

    def __post_init__(self):
        checked = {
            "cells": resolve_candidates(self.cells),
            "weights": arguments.integer("weights", self.weights, optional=True),
            "equal": arguments.choice("equal", self.equal, ("weights", "time")),
            "minutes": arguments.positive_number("minutes", self.minutes),
            "trials": arguments.integer("trials", self.trials),
            "seeds": arguments.integer("seeds", self.seeds),
            "depth": arguments.integer("depth", self.depth),
            "batch_size": arguments.integer("batch_size", self.batch_size),
            "memory": arguments.boolean("memory", self.memory),
            "seed": arguments.integer("seed", self.seed, minimum=0),
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)
