"""Cells that decide how much to compute."""

import keras_adaptive_rnn as kar
from tests.golden.layouts.base import golden, join, reorder


def skip(data, config):
    """Skip RNN, `[x, h] @ Weights`. LSTM: blocks i, j, f, o, one added to f. GRU: gates r, u, of which u keeps."""
    if config.get("layer_norm"):
        raise NotImplementedError("a norm of each gate by itself, which no cell of ours has")
    is_lstm, sizes = config["core"] == "lstm", config.get("units")
    layers = [""] if sizes is None else [f"layer_{k}." for k in range(1, len(sizes) + 1)]
    sizes = sizes or [data["s0.h"].shape[-1]]
    inputs = [data["x"].shape[-1], *sizes[:-1]]

    def lstm(read, units, size):
        kernel, bias = (reorder(read(name), "ijfo", "ifjo") for name in ("Weights", "Biases"))
        if not read.gradients:
            bias[units : 2 * units] += config.get("forget_bias", 1.0)
        return [kernel[:size], kernel[size:], bias]

    def gru(read, _, size):
        parts = []
        for name in ("Weights", "Biases"):
            gates = reorder(read(f"gates.{name}"), "ru", "ur")
            parts.append(join([gates, read(f"candidate.{name}")]))
        kernel, bias = parts
        return [kernel[:size], kernel[size:], bias]

    def layout(read):
        weights = [read("state_update_prob.Weights"), read("state_update_prob.Biases")]
        for prefix, units, size in zip(layers, sizes, inputs, strict=True):
            weights += (lstm if is_lstm else gru)(read.inside(prefix), units, size)
        return weights

    cells = [kar.LSTMCell(n) if is_lstm else kar.GRUCell(n, reset_after=False) for n in sizes]
    cell = kar.SkipCell(cells[0] if len(cells) == 1 else kar.StackedCells(cells), held_increment=True)
    numbers = [""] if len(cells) == 1 else [str(k) for k in range(len(cells), 0, -1)]
    own = ("update_prob", "cum_update_prob")
    states = [*(f"{name}{k}" for k in numbers for name in ("hc" if is_lstm else "h")), *own]
    # One and zero at the start: both sides of the minimum are equal, and its gradient is anybody's.
    ties = own if (data["s0.update_prob"] == 1 - data["s0.cum_update_prob"]).any() else ()
    return golden(data, cell, layout, states=states, ties=ties)
