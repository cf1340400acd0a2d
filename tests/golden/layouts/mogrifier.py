"""The Mogrifier, the multiplicative LSTM, the LSTM that they share, and stacks of Mogrifiers."""

import keras_adaptive_rnn as kar
from tests.golden.layouts.base import golden, join, reorder, torch_lstm


def lamb_lstm(data, config):
    """The LSTM of lamb: `[x, h] @ W`, blocks j, o, f, i; ours are i, f, j, o."""
    source = "jof" if config.get("tie_gates") else "jofi"
    target = "fjo" if config.get("tie_gates") else "ifjo"
    inputs = data["x"].shape[-1]
    norm = config.get("layer_norm", False)

    def layout(read):
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

        def layout(read):
            weights = torch_lstm(read.inside("lstm."))
            gates = [read(f"mogrifier_list.{k}.weight").T for k in range(rounds)]
            biases = [read(f"mogrifier_list.{k}.bias") for k in range(rounds)]
            return [*weights, *gate_weights([[gate] for gate in gates], biases)]

        return golden(data, kar.MogrifierCell(units, gate_bias=config["gate_bias"], **arguments), layout)

    if "w.W_xi" in data:  # the paper's notation, one matrix a gate

        def layout(read):
            kernel, recurrent = (join(read(f"W_{side}{gate}") for gate in "ifjo") for side in "xh")
            gates = [read(f"{'RQ'[k % 2]}{k}") for k in range(1, rounds + 1)]
            return [kernel, recurrent, join(read(f"b_{gate}") for gate in "ifjo"), *gates]

        return golden(data, kar.MogrifierCell(units, **arguments), layout)

    core_arguments, core_layout = lamb_lstm(data, config)

    def layout(read):
        if rank is None:
            gates = [[read(f"fm_{k}.kernel")] for k in range(rounds)]
            biases = [read(f"fm_{k}.bias") for k in range(rounds)]
        else:
            gates = [[read(f"fm_{k}_weight_a"), read(f"fm_{k}_weight_b")] for k in range(rounds)]
            biases = [read(f"fm_{k}_bias") for k in range(rounds)]
        return [*core_layout(read), *gate_weights(gates, biases)]

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

        def layout(read):
            return [read("W_hx"), read("W_hm"), read("b"), read("W_mx"), read("W_mh")]

        return golden(data, kar.MultiplicativeLSTMCell(units, core="elman"), layout, states=("h",))

    if "w.weight_ih" not in data:  # the paper's notation, one matrix a gate
        (candidate,) = {key[4] for key in data if key.startswith("w.W_") and key.endswith("x")} - set("mifo")

        def layout(read):
            gates = f"if{candidate}o"
            kernel, recurrent = (join(read(f"W_{gate}{side}") for gate in gates) for side in "xm")
            return [kernel, recurrent, join(read(f"b_{gate}") for gate in gates), read("W_mx"), read("W_mh")]

        return golden(data, kar.MultiplicativeLSTMCell(units), layout)

    def layout(read):
        kernel, bias = read("weight_ih").T, read("bias_ih")
        weights = [
            kernel[:, units:],
            read("weight_mh").T,
            read.add(bias[units:], read("bias_mh")),
            kernel[:, :units],
            read("weight_hh").T,
        ]
        return [*weights, *([bias[:units], read("bias_hh")] if config["m_bias"] else [])]

    return golden(data, kar.MultiplicativeLSTMCell(units, factor_bias=config["m_bias"]), layout)


def stack(data, config):
    """A stack of lamb's Mogrifiers: `cell_l` is layer l, the lowest first."""
    units, layers, rounds = data["s0.h0"].shape[-1], config["layers"], config["rounds"]

    def layout(read):
        weights = []
        for layer in range(layers):
            inside = read.inside(f"cell_{layer}.")
            inputs = units if layer else data["x"].shape[-1]
            joined = reorder(inside("W"), "jofi", "ifjo")
            weights += [joined[:inputs], joined[inputs:], join(inside(f"B_{gate}") for gate in "ifjo")]
            weights += [inside(f"fm_{k}.{part}") for k in range(rounds) for part in ("kernel", "bias")]
        return weights

    cells = [kar.MogrifierCell(units, rounds=rounds, gate_bias=True, cap_input_gate=True) for _ in range(layers)]
    cell = kar.StackedCells(cells, connection=config["name"].rpartition("_")[2])
    return golden(data, cell, layout, states=[None, *(f"{s}{k}" for k in reversed(range(layers)) for s in "hc")])
