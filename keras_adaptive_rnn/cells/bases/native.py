"""Recurrent operations that platforms have of their own, with the weights of cells that compute the same."""

import dataclasses
from typing import Any

from keras_adaptive_rnn import activations, maps
from keras_adaptive_rnn.cells.bases.cell import runs_in_parts

# Arguments of gated cells, with the values at which they compute what a platform's operation computes. In inference,
# no rate of noise counts.
ARGUMENTS = {
    "recurrent_activation": activations.get("sigmoid"),
    "reset_after": True,
    "tied_gates": False,
    "cap_input_gate": False,
    "projection_units": None,
    "cell_clip": None,
    "peepholes": False,
    "layer_normalization": False,
}
IN_TRAINING = {"recurrent_dropout": 0.0, "update_dropout": 0.0, "per_gate_dropout": False}
ACTIVATIONS = {
    "lstm": {"tanh": "lstm"},
    "gru": {"tanh": "gru"},
    "rnn": {"tanh": "rnn_tanh", "relu": "rnn_relu"},
}


@dataclasses.dataclass(frozen=True)
class NativeOperation:
    """A recurrent operation as PyTorch, cuDNN and ONNX define it, over inputs `[time, batch, features]`.

    Args:
        kind: `"lstm"`, with gates in the order i, f, candidate, o; `"gru"`, z, r, candidate, which resets after the
            product; `"rnn_tanh"` or `"rnn_relu"`.
        weights: List of the kernel `[features, gates * units]`, the recurrent kernel `[units, gates * units]`, and
            their biases `[gates * units]`, each of which may be `None`.
    """

    kind: str
    weights: list[Any]


def unmet(cell, arguments):
    """Returns the name of the first argument at which `cell` computes something else, or `None`."""
    held = vars(cell)
    return next((name for name, value in arguments.items() if held.get(name, value) != value), None)


def native_operation(cell, run):
    """Returns the `NativeOperation` that computes all steps of `cell` in `run`, or `None`.

    A class of cells names its operation in `native_kind`. A subclass does not inherit it, as its equations may differ.
    """
    kind = vars(type(cell)).get("native_kind")
    # Others may have changed the methods of one cell, to see or to replace what its steps compute.
    is_changed = not runs_in_parts(cell) or vars(cell).keys() & {"project", "step", "update"}
    if kind is None or run.sown is not None or is_changed or unmet(cell, ARGUMENTS):
        return None
    if run.training and (unmet(cell, IN_TRAINING) or cell in run.given_noise):
        return None
    named = {activations.get(name): of_kind for name, of_kind in ACTIVATIONS[kind].items()}
    linear_maps = [cell.kernel_map, cell.recurrent_map]
    if cell.activation not in named or not all(isinstance(each, maps.Full) for each in linear_maps):
        return None
    kernels = [group for each in linear_maps for group in run.prepared_by(each)["groups"]]
    biases = [cell.bias_layer.value(run, row) for row in range(cell.bias_rows)] if cell.use_bias else []
    return NativeOperation(named[cell.activation], [*kernels, *biases, *[None] * (2 - len(biases))])
