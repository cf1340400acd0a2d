"""The adaptive LSTM and RNN: the authors' code, its policy vector cut as in the paper, and the paper's equations."""

import keras_adaptive_rnn as kar
from keras_adaptive_rnn.cells.bases.any_cell import split_sizes
from tests.golden.layouts.base import golden, join, torch_lstm


class GivenPolicy(kar.AdaptiveLSTMCell):
    """An adaptive LSTM whose policy vector comes with its inputs, `[x; policy]`."""

    def build(self, input_shape):
        super().build((None, 5))
        self.input_spec = None

    def project(self, inputs, run):
        return [inputs[..., :5], inputs[..., 5:]]

    def step(self, projected, states, run):
        x, self.given = projected
        return super().step([x], states, run)

    def sub_policies_of(self, z, run):
        return dict(zip(self.policy_sizes, split_sizes(self.given, self.policy_sizes.values()), strict=True))


def alstm(data, config):
    if "policy" in data:
        return given_policy(data)
    return paper(data, config) if "adaptation" in config else authors(data, config, kar.AdaptiveLSTMCell)


def arnn(data, config):
    return authors(data, config, kar.AdaptiveRNNCell)


def given_policy(data):
    units = data["s0.h"].shape[-1]
    cell = GivenPolicy(units, policy_units=1, policy="static")

    def layout(read):
        policy = [read.unknown((12, 1)), read.unknown((1,)), read.unknown((1, data["policy"].shape[-1]))]
        return [read("weight_ih").T, read("weight_hh").T, *policy, read("bias")]

    return golden(data, cell, layout, inputs=join([data["x"], data["policy"]]))


def authors(data, config, cell_class):
    """`policy_lstm{l}` is the policy of layer l, `project{l}` its sub-policies, joined as ours."""
    layers, is_lstm = config["layers"], cell_class is kar.AdaptiveLSTMCell

    def layer_weights(read, layer):
        policy, own = read.inside(f"policy_lstm{layer}."), read.inside(f"layer{layer}.")
        units = own("weight_hh").shape[-1]
        # In the RNN, the vector ends with a piece that is never used.
        used = None if is_lstm else data["x"].shape[-1] * (layer == 0) + units * (4 + (layer > 0))
        project = read(f"project{layer}.weight")[:used].T
        return [own("weight_ih").T, own("weight_hh").T, *torch_lstm(policy), project, own("bias")]

    def layout(read):
        return [weight for layer in range(layers) for weight in layer_weights(read, layer)]

    units = [data[f"s0.h{layer}"].shape[-1] for layer in range(layers)]
    arguments = {"policy_units": config["policy_units"]}
    if layers == 1:
        cell = cells = cell_class(units[0], **arguments)
        cells = [cell]
    else:
        stack = kar.StackedAdaptiveLSTMCells if is_lstm else kar.StackedAdaptiveRNNCells
        cell = stack(units, **arguments)
        cells = cell.cells
    names = ("h", "c", "policy_h", "policy_c") if is_lstm else ("h", "policy_h", "policy_c")
    states = [f"{name}{layer}" for layer in reversed(range(layers)) for name in names]
    masks, dropped_states = [], {}
    if "aux.mask_h0" in data:
        dropped_states = {f"h{k}": data[f"aux.mask_h{k}"] for k in range(layers)}
        dropped_states |= {f"policy_h{k}": data[f"aux.mask_policy{k}"] for k in range(layers)}
        masks = [
            (each, {"recurrent_dropout": data[f"aux.mask_h{k}"], "policy_dropout": data[f"aux.mask_policy{k}"]})
            for k, each in enumerate(cells)
        ]
    return golden(data, cell, layout, states=states, masks=masks, dropped_states=dropped_states)


def paper(data, config):
    """One matrix a gate, one sub-policy a triple `s.jr` of gate, operand and position; gate z is the candidate."""
    units = data["s0.h"].shape[-1]
    cell = kar.AdaptiveLSTMCell(
        units,
        policy_units=config["policy_units"],
        policy=config["policy"],
        adaptation=config["adaptation"],
        tied=config["tied"],
    )

    def layout(read):
        if config["policy"] == "recurrent":
            policy = [join(read(f"policy.{part}_{gate}") for gate in "ifjo") for part in "WUb"]
        else:
            policy = [read("policy.kernel"), read("policy.bias")]
        sub = []
        for piece in ("x1", "h1", "x2", "h2", "b1"):
            if f"sub.{piece}" in read:
                sub.append(read(f"sub.{piece}"))
            elif f"sub.i.{piece}" in read:
                sub += [read(f"sub.{gate}.{piece}") for gate in "ifzo"]
        joined = [join(read(f"{part}_{gate}") for gate in "ifzo") for part in "WVb"]
        return [*joined[:2], *policy, join(sub), joined[2]]

    states = ("h", "c", "policy_h", "policy_c") if config["policy"] == "recurrent" else ("h", "c")
    return golden(data, cell, layout, states=states)
