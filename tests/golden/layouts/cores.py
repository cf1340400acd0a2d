"""Low-rank passthrough, recurrent highways, weight drop, and the simple baselines."""

import keras
import numpy as np

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import maps
from tests.golden.layouts.base import golden, join, reorder, torch_lstm


def low_rank(data, config):
    """Recurrent map `h @ U_proj_g @ U_g + h * U_d_g`. GRU: m proposal, u carry, r reset; LSTM: i, j, f, o."""
    is_lstm = "s0.c" in data
    gates = "ifjo" if is_lstm else "urm"
    units, rank = data["w.U_i" if is_lstm else "w.U_m"].shape[::-1]
    tied, reset_after = "w.U_proj" in data, config.get("reset_after", False)
    normalised = config.get("weight_normalization", False)
    trained_state = "w.h_0" in data

    def layout(read):
        weights = [read("h_0")[0]] if trained_state else []
        weights.append(join(read(f"W_{gate}") for gate in gates))
        weights += [join(read(f"g_W_{gate}") for gate in gates)] if normalised else []
        weights.append(read("U_proj") if tied else np.stack([read(f"U_proj_{gate}") for gate in gates]))
        weights.append(np.stack([read(f"U_{gate}") for gate in gates]))
        weights += [join(read(f"U_d_{gate}") for gate in gates)] if f"U_d_{gates[0]}" in read else []
        weights += [np.stack([read(f"g_U_{gate}") for gate in gates])] if normalised else []
        bias = join(read(f"b_{gate}") for gate in gates)
        # Where the reset gate acts after the product, the source has one bias and we have two.
        return [*weights, np.stack([bias, read.unknown(bias.shape)]) if reset_after else bias]

    arguments = {"diagonal": f"w.U_d_{gates[0]}" in data, "tied": tied, "trainable_initial_state": trained_state}
    if not is_lstm:
        cell = kar.LowRankGRUCell(units, rank, reset_after=reset_after, weight_normalization=normalised, **arguments)
        return golden(data, cell, layout, states=[] if trained_state else ["h"])
    cell = kar.LowRankLSTMCell(units, rank, per_gate_dropout="aux.mask_x" in data, **arguments)
    masks = []
    if "aux.mask_x" in data:
        # Of the four masks, in the order in which the source draws them.
        order = [config.get("mask_gates", "ijfo").index(gate) for gate in gates]
        masks = [(cell, {"dropout": data["aux.mask_x"][:, order], "recurrent_dropout": data["aux.mask_h"][:, order]})]
    return golden(data, cell, layout, masks=masks)


def baseline(data, config):
    """The baselines of the low-rank code: a GRU that resets before the product, and simple networks."""
    if "w.V" in data:

        def layout(read):
            return [read("h_0")[0], read("V"), read("W"), read("hidden_bias")]

        activation = "relu" if config["name"] == "baseline_irnn" else "tanh"
        cell = kar.ElmanCell(data["w.W"].shape[0], activation=activation, trainable_initial_state=True)
        return golden(data, cell, layout, states=[])

    def layout(read):
        return [read("h_0")[0], *(join(read(f"{part}_{gate}") for gate in "urm") for part in "WUb")]

    cell = kar.GRUCell(data["w.h_0"].shape[-1], reset_after=False, trainable_initial_state=True)
    return golden(data, cell, layout, states=[])


def recurrent_highway(data, config):
    units, inputs, depth = data["s0.s"].shape[-1], data["x"].shape[-1], config["depth"]
    coupled = config["coupled"]
    cell = kar.RecurrentHighwayCell(units, depth=depth, coupled=coupled)

    def zilly(read):
        layers = [[read(f"{gate}_{k}.Matrix") for gate in "ht"] for k in range(depth)]
        return layers, [[read(f"{gate}_{k}.Bias") for gate in "ht"] for k in range(depth)]

    def lamb(read):
        """Blocks h, c, t. Coupled, the code has the carry gate for parameter, and t = 1 - c is c of the negative."""
        matrices, biases = [], []
        for k in range(depth):
            blocks = np.split(read(f"layer{k}.W"), 2 if coupled else 3, axis=-1)
            of_layer = [read(f"layer{k}.B_{gate}") for gate in ("hc" if coupled else "hct")]
            for source, target in ((blocks, matrices), (of_layer, biases)):
                h, c, *t = source
                target.append([h, -c] if coupled else [h, *t, c])
        return matrices, biases

    def layout(read):
        matrices, biases = (zilly if "h_0.Matrix" in read else lamb)(read)
        first = join(matrices[0])
        recurrent = join([first[inputs:], *(join(layer) for layer in matrices[1:])])
        rows = [join(layer) for layer in biases]
        return [first[:inputs], recurrent, rows[0] if depth == 1 else np.stack(rows)]

    masks = []
    if "aux.noise_i" in data:
        masks = [(cell, {"dropout": data["aux.noise_i"], "recurrent_dropout": data["aux.noise_h"]})]
    return golden(data, cell, layout, states=["s"], masks=masks)


def weight_drop(data, config):
    """PyTorch's LSTM, or GRU with blocks r, z, n and a bias inside the reset, with a given mask on `weight_hh`."""
    units, arguments = data["s0.h"].shape[-1], {"rate": config["dropout"], "variational": config["variational"]}
    mask = data["aux.mask"].T
    if "s0.c" in data:
        cell = kar.WeightDropLSTMCell(units, recurrent_weight_dropout=arguments.pop("rate"), **arguments)
        return golden(data, cell, torch_lstm, masks=[(cell.recurrent_map, {"rate": mask})])

    def gates(array):
        return reorder(array, "rzn", "zrn")

    def layout(read):
        kernels = [gates(read(f"weight_{part}").T) for part in ("ih", "hh")]
        return [*kernels, np.stack([gates(read(f"bias_{part}")) for part in ("ih", "hh")])]

    cell = kar.GRUCell(units, recurrent_map=maps.DropConnect(**arguments))
    return golden(data, cell, layout, states=["h"], masks=[(cell.recurrent_map, {"rate": gates(mask)})])


class GivenBlocks(kar.DeepRNNCell):
    """A deep stack that is told with its inputs which blocks are kept, `[x; kept]`."""

    def build(self, input_shape):
        super().build((None, self.units))
        self.input_spec = None

    def project(self, inputs, run):
        return [inputs]

    def step(self, projected, states, run):
        x, self.given = projected[0][..., : self.units], projected[0][..., self.units :]
        return super().step([x], states, run.changed(training=True))

    def kept_blocks(self, digits, run):
        return keras.ops.split(self.given, len(self.blocks()), axis=-1)


def deep_rnn(data, config):
    """A stack of vanilla layers, `z = x @ U_l + h_l @ W_l + b_l`."""
    units, depth = data["w.b0"].shape[0], config["depth"]

    def layout(read):
        above = join(read(f"U{k}") for k in range(1, depth))
        bias = np.stack([read(f"b{k}") for k in range(depth)])
        return [read("U0"), join(read(f"W{k}") for k in range(depth)), above, bias]

    arguments = {"depth": depth, "skip_scale": config["skip_scale"]}
    states = [f"h{k}" for k in reversed(range(depth))]
    if "aux.block_gates" not in data:
        return golden(data, kar.DeepRNNCell(units, **arguments), layout, states=states)
    gates = np.tile(data["aux.block_gates"], (len(data["x"]), 1, 1))
    cell = GivenBlocks(units, block_dropout=0.5, **arguments)
    return golden(data, cell, layout, states=[None, *states, None], inputs=join([data["x"], gates]))
