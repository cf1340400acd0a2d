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
low_rank = {"diagonal": True, "weight_normalization": True}
adaptive_rows = {
    "recurrent": {},
    "recurrent_untied": {"tied": False},
    "recurrent_input": {"adaptation": "input"},
    "recurrent_output": {"adaptation": "output"},
    "recurrent_sva": {"adaptation": "sva"},
    "static": {"policy": "static"},
    "static_untied_input": {"policy": "static", "tied": False, "adaptation": "input"},
    "static_untied_sva": {"policy": "static", "tied": False, "adaptation": "sva", "rank": 2},
    "no_bias": {"use_bias": False},
}


def adaptive(core, policy="recurrent", adaptation="io", tied=True, **_):
    return functools.partial(ref.adaptive, core, kind=policy, adaptation=adaptation, tied=tied)


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
zoneout = functools.partial(functools.partial, ref.zoneout)
two_lstms = [(ref.lstm, 2), (ref.lstm, 2)]
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
    **{
        f"adaptive_lstm_{name}": (kar.AdaptiveLSTMCell(4, policy_units=3, **ours), adaptive(ref.lstm, **ours))
        for name, ours in adaptive_rows.items()
    },
    **{
        f"adaptive_rnn_{name}": (kar.AdaptiveRNNCell(4, policy_units=3, **ours), adaptive(ref.elman, **ours))
        for name, ours in adaptive_rows.items()
    },
    "adaptive_lstm_stack": (
        kar.StackedAdaptiveLSTMCells([3, 4], policy_units=2),
        functools.partial(ref.adaptive_stack, ref.lstm),
    ),
    "adaptive_rnn_stack": (
        kar.StackedAdaptiveRNNCells([3, 5, 4], policy_units=2),
        functools.partial(ref.adaptive_stack, ref.elman, layers=3),
    ),
    "adaptive_stack_static": (
        kar.StackedAdaptiveLSTMCells([3, 4], policy_units=2, policy="static"),
        functools.partial(ref.adaptive_stack, ref.lstm, kind="static"),
    ),
    "low_rank_gru": (kar.LowRankGRUCell(4, 2), functools.partial(ref.gru, reset_after=False)),
    "low_rank_gru_after": (kar.LowRankGRUCell(4, 2, tied=True, reset_after=True), ref.gru),
    "low_rank_gru_normalised": (
        kar.LowRankGRUCell(4, 2, weight_normalization=True),
        functools.partial(ref.normalized, ref.gru, reset_after=False),
    ),
    "low_rank_lstm": (kar.LowRankLSTMCell(4, 2, diagonal=False), ref.lstm),
    "low_rank_lstm_normalised": (
        kar.LowRankLSTMCell(4, 2, tied=True, weight_normalization=True),
        functools.partial(ref.normalized, ref.lstm),
    ),
    "weight_drop_lstm": (kar.WeightDropLSTMCell(4), ref.lstm),
    **{
        f"recurrent_highway_{depth}_{'coupled' if coupled else 'free'}": (
            kar.RecurrentHighwayCell(4, depth=depth, coupled=coupled),
            functools.partial(ref.recurrent_highway, depth=depth, coupled=coupled),
        )
        for depth in (1, 3, 10)
        for coupled in (True, False)
    },
    "grid_1": (kar.GridLSTMCell(4, depth=1), functools.partial(ref.grid, depth=1)),
    "grid_3": (kar.GridLSTMCell(4, depth=3), functools.partial(ref.grid, depth=3)),
    "grid_3_tied": (kar.GridLSTMCell(4, depth=3, tied=True), functools.partial(ref.grid, depth=3, tied=True)),
    "zoneout": (kar.ZoneoutCell(4, zoneout=0.3), zoneout(ref.lstm, rates=[0.3])),
    "zoneout_rates": (kar.ZoneoutCell(4, zoneout=[0.1, 0.6]), zoneout(ref.lstm, rates=[0.1, 0.6])),
    **{
        f"stack_{connection}": (
            kar.StackedCells([kar.LSTMCell(4), kar.LSTMCell(4)], connection=connection),
            functools.partial(ref.stacked, two_lstms, connection=connection),
        )
        for connection in (None, "skip", "residual")
    },
    "stack_of_sizes": (
        kar.StackedCells([kar.ElmanCell(3), kar.LSTMCell(5), kar.GRUCell(4)]),
        functools.partial(ref.stacked, [(ref.elman, 1), (ref.lstm, 2), (ref.gru, 1)]),
    ),
    **{
        f"deep_{depth}_{skip}": (
            kar.DeepRNNCell(units, depth=depth, skip_every=skip),
            functools.partial(ref.deep, depth=depth, skip_every=skip),
        )
        for units, depth, skip in ((4, 1, 4), (4, 5, 2), (5, 5, 2), (4, 6, None))
    },
    "multiplicative_rnn": (
        kar.MultiplicativeLSTMCell(4, core="elman", factor_bias=True),
        functools.partial(ref.multiplicative, ref.elman),
    ),
}


def inner_cells(cell):
    """Yields the cells inside a cell, with the names by which the references call them."""
    if hasattr(cell, "cell"):
        yield "core", cell.cell
    for attribute, name in (("cells", "layer"), ("time_cells", "time"), ("depth_cells", "depth")):
        yield from ((f"{name}_{k}", inner) for k, inner in enumerate(getattr(cell, attribute, ())))


def named_weights(cell):
    """Returns the weights in float64 by their path inside the cell, the cells in it called as in the references."""
    called = {inner.name: name for name, inner in inner_cells(cell)}
    names = {}
    for weight in cell.weights:
        name = "/".join(called.get(part, part) for part in weight.path.removeprefix(f"{cell.name}/").split("/"))
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
