"""Every cell against its equations in float64 NumPy: random weights, biases and states, every option."""

import functools

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import maps
from tests import reference as ref

lstm_rows = {
    "plain": ({}, {}),
    "tied": ({"tied_gates": True}, {"tied": True}),
    "capped": ({"cap_input_gate": True}, {"cap": True}),
    "clipped": ({"cell_clip": 0.2}, {"clip": 0.2}),
    "normalised": ({"layer_normalization": True}, {"layer_normalization": True}),
    "projected": ({"projection_units": 3}, {}),
    "low_rank": ({"kernel_map": maps.LowRank(2), "recurrent_map": maps.LowRank(2, diagonal=True)}, {}),
    "low_rank_tied": ({"recurrent_map": maps.LowRank(2, diagonal=True, tied=True)}, {}),
}
gru_rows = {
    "after": ({}, {}),
    "before": ({"reset_after": False}, {"reset_after": False}),
    "before_normalised": (
        {"reset_after": False, "layer_normalization": True},
        {"reset_after": False, "layer_normalization": True},
    ),
    "before_low_rank": (
        {"reset_after": False, "recurrent_map": maps.LowRank(2, diagonal=True)},
        {"reset_after": False},
    ),
    "before_low_rank_tied": (
        {"reset_after": False, "recurrent_map": maps.LowRank(2, tied=True)},
        {"reset_after": False},
    ),
}
mogrifier = functools.partial(functools.partial, ref.mogrifier)
ROWS = {
    "elman": (kar.ElmanCell(4), ref.elman),
    **{
        f"lstm_{name}": (kar.LSTMCell(4, **ours), functools.partial(ref.lstm, **theirs))
        for name, (ours, theirs) in lstm_rows.items()
    },
    **{
        f"gru_{name}": (kar.GRUCell(4, **ours), functools.partial(ref.gru, **theirs))
        for name, (ours, theirs) in gru_rows.items()
    },
    **{
        f"mogrifier_{rounds}": (kar.MogrifierCell(4, rounds=rounds), mogrifier(ref.lstm, rounds=rounds))
        for rounds in range(7)
    },
    "mogrifier_rank": (kar.MogrifierCell(4, rank=2, gate_bias=True), mogrifier(ref.lstm)),
    "mogrifier_no_zigzag": (kar.MogrifierCell(4, zigzag=False), mogrifier(ref.lstm, zigzag=False)),
    "mogrifier_gru": (kar.MogrifierCell(4, core="gru"), mogrifier(ref.gru)),
    "mogrifier_elman": (kar.MogrifierCell(4, core="elman"), mogrifier(ref.elman)),
    "mogrifier_tied": (
        kar.MogrifierCell(4, tied_gates=True),
        mogrifier(functools.partial(ref.lstm, tied=True)),
    ),
    "multiplicative_lstm": (kar.MultiplicativeLSTMCell(4), functools.partial(ref.multiplicative, ref.lstm)),
    "multiplicative_rnn": (
        kar.MultiplicativeLSTMCell(4, core="elman", factor_bias=True),
        functools.partial(ref.multiplicative, ref.elman),
    ),
}


def named_weights(cell):
    """Returns the weights in float64 by their path inside the cell; an inner cell is called `core`."""
    core = getattr(cell, "cell", None)
    names = {}
    for weight in cell.weights:
        name = weight.path.removeprefix(f"{cell.name}/")
        if core is not None and name.startswith(f"{core.name}/"):
            name = "core" + name.removeprefix(core.name)
        *folders, last = name.split("/")
        # Keras numbers layer names over a session; the number inside the cell is the order of creation.
        if folders and folders[-1].startswith("layer_normalization"):
            k = sum(other.endswith(f"/{last}") and "layer_normalization" in other for other in names)
            k = 2 if last == "beta" else k
            folders[-1] = f"layer_normalization_{k}"
        names["/".join([*folders, last])] = keras.ops.convert_to_numpy(weight).astype("float64")
    return names


@pytest.mark.parametrize("name", ROWS)
def test_cell_is_its_equations(name, rng):
    cell, reference = ROWS[name]
    if not cell.built:
        cell.build((2, 5))
    cell.set_weights([0.6 * rng.normal(size=w.shape) for w in cell.weights])
    weights = named_weights(cell)
    x = rng.normal(size=(2, 6, 5))
    states = [rng.normal(size=(2, size)) for size in cell.state_size]
    layer = kar.RNN(cell, return_sequences=True, return_state=True)
    outputs, *last = layer(x.astype("float32"), initial_state=[s.astype("float32") for s in states])
    for t in range(6):
        output, states = reference(weights, x[:, t], states)
        ours = keras.ops.convert_to_numpy(outputs[:, t])
        np.testing.assert_allclose(ours, output, rtol=1e-5, atol=1e-5, err_msg=f"step {t}")
    for ours, theirs in zip(last, states, strict=True):
        np.testing.assert_allclose(keras.ops.convert_to_numpy(ours), theirs, rtol=1e-5, atol=1e-5)
