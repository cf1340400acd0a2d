"""For each system of the golden files, the cell or layer that computes it and where each array goes in its weights."""

import dataclasses
import json

import keras
import numpy as np

import keras_adaptive_rnn as kar


@dataclasses.dataclass
class Golden:
    """A cell, its weights and their gradients in its order, its states' names, and masks as `(cell, masks)` pairs.

    A feed-forward layer stands in the place of the cell, and has no states.
    """

    cell: object
    weights: list
    gradients: list
    states: list
    masks: list = dataclasses.field(default_factory=list)


def golden(data, cell, layout, states=("h", "c"), masks=()):
    """Returns the `Golden` whose weights and gradients `layout(read, add)` arranges.

    A gradient is arranged like its weight, but where the source adds two biases each has the gradient of the sum.
    """
    weights = layout(lambda name: data[f"w.{name}"], np.add)
    gradients = layout(lambda name: data[f"g.w.{name}"], lambda a, b: a)
    return Golden(cell, weights, gradients, list(states), list(masks))


def join(pieces):
    return np.concatenate([np.asarray(p) for p in pieces], axis=-1)


def reorder(array, source, target, axis=-1):
    """Returns `array` with the blocks named by `source` in the order of `target`."""
    blocks = dict(zip(source, np.split(array, len(source), axis=axis), strict=True))
    return np.concatenate([blocks[gate] for gate in target], axis=axis)


def lamb_lstm(data, config):
    """The LSTM of lamb: `[x, h] @ W`, blocks j, o, f, i; ours are i, f, j, o."""
    source = "jof" if config.get("tie_gates") else "jofi"
    target = "fjo" if config.get("tie_gates") else "ifjo"
    inputs = data["x"].shape[-1]
    norm = config.get("layer_norm", False)

    def layout(read, add):
        if norm:
            kernel = [join(read(f"W_{side}_{gate}") for gate in target) for side in "xh"]
        else:
            joined = reorder(read("W"), source, target)
            kernel = [joined[:inputs], joined[inputs:]]
        weights = [*kernel, join(read(f"B_{gate}") for gate in target)]
        if norm:
            weights += [reorder(read(f"ln_{side}.gain")[0], source, target) for side in "xh"]
            weights += [read("ln_c.gain")[0], read("ln_c.bias")[0]]
        if config.get("num_proj"):
            weights.append(read("projection.kernel"))
        return weights

    arguments = {
        "cap_input_gate": config.get("cap_input_gate", False),
        "tied_gates": config.get("tie_gates", False),
        "cell_clip": config.get("cell_clip"),
        "projection_units": config.get("num_proj"),
        "layer_normalization": norm,
    }
    return arguments, layout


def torch_lstm(read, add, ih, hh):
    """The LSTM of PyTorch: `x @ W.T`, blocks i, f, g, o as ours, two biases that add up."""
    return [read(f"{ih[0]}").T, read(f"{hh[0]}").T, add(read(ih[1]), read(hh[1]))]


def lstm(data, config):
    arguments, layout = lamb_lstm(data, config)
    return golden(data, kar.LSTMCell(data["s0.c"].shape[-1], **arguments), layout)


def mogrifier(data, config):
    units, rounds = data["s0.h"].shape[-1], config["rounds"]
    rank = config.get("rank") or None
    arguments = {"rounds": rounds, "rank": rank, "zigzag": config.get("zigzag", True)}

    def gate_weights(gates, biases):
        if not config["gate_bias"]:
            return [weight for gate in gates for weight in gate]
        return [weight for gate, bias in zip(gates, biases, strict=True) for weight in [*gate, bias]]

    if "w.lstm.weight_ih" in data:  # fawazsammani

        def layout(read, add):
            weights = torch_lstm(read, add, ("lstm.weight_ih", "lstm.bias_ih"), ("lstm.weight_hh", "lstm.bias_hh"))
            gates = [read(f"mogrifier_list.{k}.weight").T for k in range(rounds)]
            biases = [read(f"mogrifier_list.{k}.bias") for k in range(rounds)]
            return [*weights, *gate_weights([[gate] for gate in gates], biases)]

        return golden(data, kar.MogrifierCell(units, gate_bias=config["gate_bias"], **arguments), layout)

    if "w.W_xi" in data:  # the paper's notation, one matrix a gate

        def layout(read, add):
            kernel, recurrent = (join(read(f"W_{side}{gate}") for gate in "ifjo") for side in "xh")
            gates = [read(f"{'RQ'[k % 2]}{k}") for k in range(1, rounds + 1)]
            return [kernel, recurrent, join(read(f"b_{gate}") for gate in "ifjo"), *gates]

        return golden(data, kar.MogrifierCell(units, **arguments), layout)

    core_arguments, core_layout = lamb_lstm(data, config)

    def layout(read, add):
        if rank is None:
            gates = [[read(f"fm_{k}.kernel")] for k in range(rounds)]
            biases = [read(f"fm_{k}.bias") for k in range(rounds)]
        else:
            gates = [[read(f"fm_{k}_weight_a"), read(f"fm_{k}_weight_b")] for k in range(rounds)]
            biases = [read(f"fm_{k}_bias") for k in range(rounds)]
        return [*core_layout(read, add), *gate_weights(gates, biases)]

    cell = kar.MogrifierCell(units, gate_bias=config["gate_bias"], **arguments, **core_arguments)
    masks = []
    if "aux.mask_input" in data:
        masks = [
            (cell, {"dropout": data["aux.mask_input"], "recurrent_dropout": data["aux.mask_state"]}),
            (cell.cell, {"update_dropout": data["aux.mask_update"]}),
        ]
    return golden(data, cell, layout, masks=masks)


def mlstm(data, config):
    units = data["s0.h"].shape[-1]
    if "s0.c" not in data:  # the multiplicative RNN

        def layout(read, add):
            return [read("W_hx"), read("W_hm"), read("b"), read("W_mx"), read("W_mh")]

        return golden(data, kar.MultiplicativeLSTMCell(units, core="elman"), layout, states=("h",))

    if "w.weight_ih" not in data:  # the paper's notation, one matrix a gate
        (candidate,) = {key[4] for key in data if key.startswith("w.W_") and key.endswith("x")} - set("mifo")

        def layout(read, add):
            gates = f"if{candidate}o"
            kernel, recurrent = (join(read(f"W_{gate}{side}") for gate in gates) for side in "xm")
            return [kernel, recurrent, join(read(f"b_{gate}") for gate in gates), read("W_mx"), read("W_mh")]

        return golden(data, kar.MultiplicativeLSTMCell(units), layout)

    def layout(read, add):
        kernel, bias = read("weight_ih").T, read("bias_ih")
        weights = [
            kernel[:, units:],
            read("weight_mh").T,
            add(bias[units:], read("bias_mh")),
            kernel[:, :units],
            read("weight_hh").T,
        ]
        return [*weights, *([bias[:units], read("bias_hh")] if config["m_bias"] else [])]

    return golden(data, kar.MultiplicativeLSTMCell(units, factor_bias=config["m_bias"]), layout)


def highway(data, config):
    blocks = "ht" if config["coupled"] else "htc"

    def layout(read, add):
        if config["rank"] is None:
            weights = [join(read(f"W_{block}") for block in blocks)]
        else:
            weights = [np.stack([read(f"{side}_{block}") for block in blocks]) for side in "RL"]
            if config["diagonal"]:
                weights.append(join(read(f"D_{block}") for block in blocks))
        return [*weights, join(read(f"b_{block}") for block in blocks)]

    return golden(data, kar.layers.Highway(**config), layout, states=())


def bipolar(data, config):
    name = json.loads(str(data["meta"]))["name"]
    if name in ("crelu", "oplu"):
        layer = {"crelu": kar.layers.CReLU, "oplu": kar.layers.OPLU}[name]()
        return golden(data, layer, lambda read, add: [], states=())
    f = {"brelu": "relu", "belu": "elu", "bleaky": keras.layers.LeakyReLU(0.1)}[name.split("_")[1]]
    layer = kar.layers.Bipolar(f, axis=config.get("axis", -1), layout=config["layout"])
    return golden(data, layer, lambda read, add: [], states=())


LAYOUTS = {"bipolar": bipolar, "highway": highway, "lstm": lstm, "mlstm": mlstm, "mogrifier": mogrifier}
# Systems whose layers are no cells.
FEED_FORWARD = {"bipolar", "highway"}
