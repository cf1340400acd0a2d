"""Every cell against its equations in float64 NumPy: random weights, biases and states, every option."""

import functools

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import maps
from keras_adaptive_rnn.testing import given_noise
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


# The adaptations that are not in the rows above, some of them without the bias. They differ within one step.
OTHER_ADAPTATIONS = [
    {"policy": "recurrent", "adaptation": "input", "tied": False, "use_bias": False},
    {"policy": "recurrent", "adaptation": "output", "tied": False},
    {"policy": "recurrent", "adaptation": "sva", "tied": False, "use_bias": False},
    {"policy": "recurrent", "adaptation": "sva", "rank": 1},
    {"policy": "static", "adaptation": "io", "tied": False, "use_bias": False},
    {"policy": "static", "adaptation": "input"},
    {"policy": "static", "adaptation": "output", "use_bias": False},
    {"policy": "static", "adaptation": "sva", "use_bias": False},
]


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
    "low_rank_gru_after_normalised": (
        kar.LowRankGRUCell(4, 2, diagonal=False, reset_after=True, weight_normalization=True),
        functools.partial(ref.normalized, ref.gru),
    ),
    "low_rank_gru_tied_normalised": (
        kar.LowRankGRUCell(4, 2, tied=True, weight_normalization=True),
        functools.partial(ref.normalized, ref.gru, reset_after=False),
    ),
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
        yield from inner_cells(cell.cell)
    if hasattr(cell, "small_cell"):
        yield "small", cell.small_cell
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


def randomized(cell, rng):
    """Sets every weight of a built cell to noise, biases and gains too, and returns them by name."""
    cell.set_weights([0.6 * rng.normal(size=w.shape) for w in cell.weights])
    return named_weights(cell)


def close(ours, theirs, what=""):
    np.testing.assert_allclose(keras.ops.convert_to_numpy(ours), theirs, rtol=1e-5, atol=1e-5, err_msg=what)


def single(arrays):
    return [array.astype("float32") for array in arrays]


def check_run(cell, reference, rng, states=None, training=False):
    """Compares the outputs and last states of six steps."""
    weights = randomized(cell, rng)
    x = rng.normal(size=(2, 6, 5))
    if states is None:
        states = [rng.normal(size=(2, size)) for size in cell.state_size]
    layer = kar.RNN(cell, return_sequences=True, return_state=True)
    outputs, *last = layer(x.astype("float32"), initial_state=single(states), training=training)
    for t in range(6):
        output, states = reference(weights, x[:, t], states)
        close(outputs[:, t], output, f"step {t}")
    for k, (ours, theirs) in enumerate(zip(last, states, strict=True)):
        close(ours, theirs, f"state {k}")


@pytest.mark.parametrize("name", ROWS)
def test_cell_is_its_equations(name, rng):
    cell, reference = ROWS[name]
    if not cell.built:
        cell.build((2, 5))
    check_run(cell, reference, rng)


@pytest.mark.parametrize("options", OTHER_ADAPTATIONS, ids=lambda options: "_".join(map(str, options.values())))
@pytest.mark.parametrize(("make", "core"), [(kar.AdaptiveLSTMCell, ref.lstm), (kar.AdaptiveRNNCell, ref.elman)])
def test_adaptation_is_its_equation(make, core, options, rng):
    cell = make(4, policy_units=3, **options)
    cell.build((None, 5))
    weights = randomized(cell, rng)
    x, *states = (rng.normal(size=(2, size)) for size in (5, *cell.state_size))
    output, new = adaptive(core, **options)(weights, x, states)
    ours, our_states = cell(*single([x]), single(states))
    close(ours, output)
    for k, (a, b) in enumerate(zip(our_states, new, strict=True)):
        close(a, b, f"state {k}")


@pytest.mark.parametrize("dimensions", [2, 3])
def test_grid_block_is_its_equations(dimensions, rng):
    block = kar.GridLSTMBlock(4, dimensions=dimensions)
    hidden, memory = rng.normal(size=(2, dimensions, 2, 4))
    block.build([(2, 4)] * dimensions, [(2, 4)] * dimensions)
    weights = randomized(block, rng)
    ours = block(single(hidden), single(memory))
    for name, a, b in zip(("hidden", "memory"), ours, ref.grid_block(weights, list(hidden), list(memory)), strict=True):
        for k, (vector, expected) in enumerate(zip(a, b, strict=True)):
            close(vector, expected, f"{name} {k}")


# Training, with masks and keys that are given. A factor is zero or twice, as of a rate of one half.

half = {"dropout": 0.5, "recurrent_dropout": 0.5}
NOISY = {
    "weight_drop": (lambda: kar.WeightDropLSTMCell(4), "recurrent_map", {"rate": (4, 16)}, ref.weight_drop),
    "update_dropout": (
        lambda: kar.LSTMCell(4, update_dropout=0.5),
        None,
        {"update_dropout": (2, 4)},
        ref.lstm,
    ),
    "lstm_gates": (
        lambda: kar.LSTMCell(4, per_gate_dropout=True, **half),
        None,
        {"dropout": (2, 4, 5), "recurrent_dropout": (2, 4, 4)},
        ref.lstm,
    ),
    "lstm_tied_gates": (
        lambda: kar.LSTMCell(4, tied_gates=True, per_gate_dropout=True, projection_units=3, **half),
        None,
        {"dropout": (2, 3, 5), "recurrent_dropout": (2, 3, 3)},
        functools.partial(ref.lstm, tied=True),
    ),
    "low_rank_lstm_gates": (
        lambda: kar.LowRankLSTMCell(4, 2, tied=True, per_gate_dropout=True, kernel_map=maps.LowRank(2), **half),
        None,
        {"dropout": (2, 4, 5), "recurrent_dropout": (2, 4, 4)},
        ref.lstm,
    ),
    "gru_gates": (
        lambda: kar.GRUCell(4, per_gate_dropout=True, **half),
        None,
        {"dropout": (2, 3, 5), "recurrent_dropout": (2, 3, 4)},
        ref.gru,
    ),
    "low_rank_gru_gates": (
        lambda: kar.LowRankGRUCell(4, 2, per_gate_dropout=True, **half),
        None,
        {"dropout": (2, 3, 5), "recurrent_dropout": (2, 3, 4)},
        functools.partial(ref.gru, reset_after=False),
    ),
}


@pytest.mark.parametrize("name", NOISY)
def test_training_is_its_equations(name, rng):
    make, drawer, shapes, reference = NOISY[name]
    cell = make()
    cell.build((None, 5))
    masks = {rate: 2.0 * rng.integers(0, 2, size=shape) for rate, shape in shapes.items()}
    with given_noise(getattr(cell, drawer) if drawer else cell, **masks):
        check_run(cell, functools.partial(reference, **masks), rng, training=True)


@pytest.mark.parametrize(
    ("core", "reference", "rates"),
    [("lstm", ref.lstm, [0.2, 0.6]), ("lstm", ref.lstm, [0.5]), ("gru", ref.gru, [0.4])],
)
def test_zoneout_keeps_what_its_hash_says(core, reference, rates, rng):
    cell = kar.ZoneoutCell(4, core=core, zoneout=rates if len(rates) > 1 else rates[0])
    cell.build((None, 5))
    sizes = cell.state_size[:-1]
    keys = rng.integers(0, 2**31 - 1, size=(2, sum(sizes)), dtype="int32")
    # Within the six steps the lowest digit of the first count, and the two lowest of the second, start anew.
    digits = np.array([[125.0, 1.0, 0.0], [124.0, 127.0, 5.0]])
    states = [*(rng.normal(size=(2, size)) for size in sizes), digits]
    with given_noise(cell, zoneout=keys):
        check_run(cell, zoneout(reference, rates=rates, keys=keys), rng, states, training=True)
