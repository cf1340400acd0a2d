"""Every cell against its equations in float64 NumPy: random weights, biases and states, every option."""

import contextlib
import functools

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import maps
from keras_adaptive_rnn.testing import given_noise
from tests import reference as ref
from tests.backends import in_turns
from tests.table import adaptive, references

# The adaptations that the table does not run over a sequence, some without the bias. They differ within one step.
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


ROWS = references(decides=False)


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


@in_turns
@pytest.mark.parametrize("name", ROWS)
def test_cell_is_its_equations(name, rng):
    make, reference = ROWS[name]
    cell = make()
    cell.build((2, 5))
    check_run(cell, reference, rng)


@in_turns
@pytest.mark.parametrize("name", ROWS)
def test_float64_is_exact(name, rng):
    make, reference = ROWS[name]
    with double_precision():
        cell = make()
        # Keras's layer computes in float32.
        if getattr(getattr(cell, "cell", cell), "layer_normalization", False):
            pytest.skip("normalizes layers")
        cell.build((2, 5))
        weights = randomized(cell, rng)
        x, states = rng.normal(size=(2, 6, 5)), [rng.normal(size=(2, size)) for size in cell.state_size]
        layer = kar.RNN(cell, return_sequences=True)
        outputs = keras.ops.convert_to_numpy(layer(x, initial_state=[state.copy() for state in states]))
        assert outputs.dtype == "float64"
        for t in range(6):
            output, states = reference(weights, x[:, t], states)
            np.testing.assert_allclose(outputs[:, t], output, rtol=0, atol=1e-12, err_msg=f"step {t}")


@contextlib.contextmanager
def double_precision():
    """Makes layers in float64, which JAX has only on request."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("float64")
    try:
        if keras.backend.backend() == "jax":
            import jax

            with jax.enable_x64(True):
                yield
        else:
            yield
    finally:
        keras.config.set_dtype_policy(before)


@in_turns
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
        step = functools.partial(ref.zoneout, reference, rates=rates, keys=keys)
        check_run(cell, step, rng, states, training=True)
