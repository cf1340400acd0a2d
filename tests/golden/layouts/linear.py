"""Linear recurrences, and the cells of xLSTM."""

import keras_adaptive_rnn as kar
from tests.golden.layouts.base import golden, join


def slstm(data, config):
    """Gates i, f, z, o as ours, in matrices of our orientation."""
    cell = kar.SLSTMCell(data["w.R"].shape[0])
    return golden(data, cell, lambda read: [read("W"), read("R"), read("b")], states="hcnm")


def mlstm(data, config):
    """A matrix for each of q, k, v, o, whose biases the source leaves to other layers, and for the gates of heads."""

    def layout(read):
        kernel, gates = join(read(f"W_{gate}") for gate in "qkvo"), join(read(f"w_{gate}") for gate in "if")
        biases = [read.unknown(kernel.shape[-1:]), join(read(f"b_{gate}") for gate in "if")]
        return [kernel, gates, *biases]

    cell = kar.MLSTMCell(data["w.W_q"].shape[1], num_heads=config["heads"], epsilon=config["epsilon"])
    return golden(data, cell, layout, states=[None, "C", "n", "m"])


def gated_delta_net(data, config):
    """As `mlstm`, with the output gate g and without biases."""

    def layout(read):
        own = [read("A_log"), read("dt_bias"), read("norm")]
        return [*own, join(read(f"W_{gate}") for gate in "qkvg"), join(read(f"w_{gate}") for gate in "ab")]

    options = {"query_scale": config["query_scale"], "epsilon": config["epsilon"]}
    cell = kar.GatedDeltaNetCell(data["w.W_q"].shape[1], num_heads=config["heads"], **options)
    return golden(data, cell, layout, states=[None, "S"])


def rg_lru(data, config):
    r"""A linear layer before the unit; the source stores $-\Lambda$."""

    def layout(read):
        gates = [join(read(f"{kind}_{gate}") for gate in "ri") for kind in "Wb"]
        return [-read("Lambda"), read("W"), gates[0], read("b"), gates[1]]

    return golden(data, kar.RGLRUCell(data["w.W"].shape[1]), layout, states=["h"])
