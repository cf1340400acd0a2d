"""What a layout says of a golden file, and the arrangements that many sources share."""

import dataclasses

import numpy as np


@dataclasses.dataclass
class Golden:
    """A cell, and how a golden file speaks of it.

    Args:
        cell: The cell.
        weights, gradients: In the order of the cell's weights.
        states: Names of the states, `None` for one that the file does not know. Empty where the cell trains them.
        masks: Pairs of what draws noise (a cell or a map) and its masks by the name of their rate.
        inputs: What the cell reads, `x` and perhaps more after it.
        dropped_states: Masks by the name of their state, where the source drops states when it computes them, and so
            not the initial ones. We drop them where they are read.
        ties: Names of states at a point where the gradient is not defined.
    """

    cell: object
    weights: list
    gradients: list
    states: list
    masks: list
    inputs: np.ndarray
    dropped_states: dict
    ties: tuple


class Reader:
    """Reads the weights of a file, or their gradients, which a layout arranges alike.

    `add` joins two weights of the source that add up: each has the gradient of the sum. `unknown` stands for a
    weight of ours that the source does not have: zeros, whose gradient nobody knows.
    """

    def __init__(self, data, prefix, gradients):
        self.data, self.prefix, self.gradients = data, prefix, gradients

    def __call__(self, name):
        return self.data[f"{self.prefix}{name}"]

    def __contains__(self, name):
        return f"{self.prefix}{name}" in self.data

    def inside(self, name):
        return Reader(self.data, f"{self.prefix}{name}", self.gradients)

    def add(self, a, b):
        return a if self.gradients else a + b

    def unknown(self, shape):
        return np.full(shape, np.nan if self.gradients else 0.0)


def golden(data, cell, layout, states=("h", "c"), masks=(), inputs=None, dropped_states=None, ties=()):
    """Returns the `Golden` whose weights and gradients `layout(read)` arranges."""
    weights, gradients = layout(Reader(data, "w.", False)), layout(Reader(data, "g.w.", True))
    inputs = data["x"] if inputs is None else inputs
    return Golden(cell, weights, gradients, list(states), list(masks), inputs, dropped_states or {}, ties)


def join(pieces):
    return np.concatenate([np.asarray(p) for p in pieces], axis=-1)


def reorder(array, source, target, axis=-1):
    """Returns `array` with the blocks named by `source` in the order of `target`."""
    blocks = dict(zip(source, np.split(array, len(source), axis=axis), strict=True))
    return np.concatenate([blocks[gate] for gate in target], axis=axis)


def torch_lstm(read, ih="weight_ih", hh="weight_hh", biases=("bias_ih", "bias_hh")):
    """The LSTM of PyTorch: `x @ W.T`, blocks i, f, g, o as ours, two biases that add up."""
    return [read(ih).T, read(hh).T, read.add(*(read(bias) for bias in biases))]
