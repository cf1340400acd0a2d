"""What the papers say of sizes, starts and bounds, and what noise must be."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import _run
from keras_adaptive_rnn.cells.bases.noise import DIGITS, next_digits
from keras_adaptive_rnn.testing import given_noise
from tests.backends import in_turns

pytestmark = in_turns


def built(cell, inputs=4):
    cell.build((None, inputs))
    return cell


def array(tensor):
    return ops.convert_to_numpy(tensor)


# Sizes.


def test_low_rank_plus_diagonal_of_the_memory_task():
    cell = built(kar.LowRankGRUCell(128, rank=50), 10)
    assert cell.recurrent_map.count_params() + cell.bias_layer.count_params() == 39_168


@pytest.mark.parametrize(("units", "rank", "count"), [(128, 24, 20_234), (512, 4, 19_466)])
def test_low_rank_of_pixel_mnist(units, rank, count):
    layer = kar.LowRankGRU(units, rank=rank, diagonal=False, use_bias=False, trainable_initial_state=True)
    model = keras.Sequential([keras.Input((None, 1)), layer, keras.layers.Dense(10)])
    assert model.count_params() == count


@pytest.mark.parametrize(
    ("adaptation", "tied", "size"),
    [
        ("io", True, 5 + 13 * 7),
        ("io", False, 4 * 5 + 4 * 7 + 3 * 4 * 7),
        ("input", True, 5 + 7 + 4 * 7),
        ("output", True, 3 * 4 * 7),
        ("sva", True, 5 + 7 + 4 * 7),
    ],
)
def test_the_policy_vector(adaptation, tied, size):
    cell = built(kar.AdaptiveLSTMCell(7, policy_units=3, adaptation=adaptation, tied=tied), 5)
    assert cell.sub_policies.kernel.shape == (3, size)


# Starts.


def test_an_irnn_starts_as_the_identity():
    cell = built(kar.ElmanCell(6, activation="relu", recurrent_initializer="identity"))
    h = np.abs(np.random.default_rng(0).normal(size=(2, 6))).astype("float32")
    output, _ = cell(np.zeros((2, 4), "float32"), [h])
    np.testing.assert_allclose(array(output), h, rtol=1e-6)


@pytest.mark.parametrize(
    ("cell", "gate", "start"),
    [
        (kar.LowRankGRUCell(6, 2, carry_bias=4.0), 0, 4.0),
        (kar.LowRankGRUCell(6, 2, carry_bias=4.0), 1, 0.0),
        (kar.LowRankLSTMCell(6, 2), 1, 1.0),
        (kar.LowRankLSTMCell(6, 2, carry_bias=5.0, tied_gates=True), 0, 5.0),
        (kar.RecurrentHighwayCell(6, depth=3), 1, -2.0),
        (kar.RecurrentHighwayCell(6, depth=3, coupled=False, transform_bias=-4.0), 2, 4.0),
    ],
)
def test_carry_gates_start_open(cell, gate, start):
    if not cell.built:
        cell.build((None, 4))
    blocks = np.split(array(cell.bias), len(cell.gates), axis=-1)
    np.testing.assert_array_equal(blocks[gate], np.full(blocks[gate].shape, start))


@pytest.mark.parametrize("make", [lambda: kar.RecurrentHighwayCell(8, depth=4), lambda: kar.DeepRNNCell(8, depth=4)])
def test_every_layer_draws_a_matrix_of_its_own(make):
    cell = built(make(), 8)
    layers = np.split(array(cell.recurrent_map.kernel), 4, axis=1)
    for k, layer in enumerate(layers):
        gram = layer @ layer.T
        np.testing.assert_allclose(gram, gram[0, 0] * np.eye(8), atol=1e-5, err_msg="a draw is orthogonal")
        assert all(np.abs(layer - other).max() > 0.1 for other in layers[:k])


# Bounds.


def test_max_norm_bounds_every_column_of_every_factor(rng):
    layer = kar.LowRankGRU(6, rank=3, recurrent_constraint=keras.constraints.MaxNorm(0.1))
    model = keras.Sequential([keras.Input((5, 4)), layer])
    model.compile("sgd", "mse")
    model.fit(rng.normal(size=(8, 5, 4)), rng.normal(size=(8, 6)), verbose=0)
    for factor in (layer.cell.recurrent_map.right, layer.cell.recurrent_map.left):
        norms = np.linalg.norm(array(factor), axis=-2)
        assert norms.shape[0] == 3
        assert (norms <= 0.1 + 1e-6).all()
        assert (norms > 0.09).any(), "nothing had to be bounded"


# Noise that differs from step to step.


def kept_units(cell, steps, seed=0):
    """Returns which units of a cell with frozen states keep them, `[steps, batch, units]`."""
    cell.build((None, 1))
    digits = ops.zeros((20, DIGITS), dtype=cell.compute_dtype)
    size = cell.step_noise_sizes["zoneout"]
    keys = np.random.default_rng(seed).integers(0, 2**31 - 1, size=(20, size)).astype("int32")
    kept = []
    with given_noise(cell, zoneout=keys):
        for _ in range(steps):
            kept.append(array(cell.uniform("zoneout", digits, _run.current()) < 0.3))
            digits = next_digits(digits)
    return np.stack(kept)


def test_zoneout_keeps_its_share_of_units_and_others_in_every_step():
    kept = kept_units(kar.ZoneoutCell(50, zoneout=0.3), 200)
    assert abs(kept.mean() - 0.3) < 0.003
    # Neither steps, nor samples, nor units go together: correlations of 200 to 2000 fair draws.
    flat = kept.reshape(200, -1).astype(float)
    for a, b in ((flat[:-1], flat[1:]), (flat[:, :-1], flat[:, 1:]), (flat[:, :-100], flat[:, 100:])):
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 0.01
    assert kept.mean((1, 2)).std() < 0.02, "every step keeps about as many"


def test_units_that_are_kept_have_the_value_of_the_step_before(rng):
    cell = kar.ZoneoutCell(50, core="elman", zoneout=0.3)
    x = rng.normal(size=(20, 41, 3)).astype("float32")
    h = array(kar.RNN(cell, return_sequences=True)(x, training=True))
    kept = h[:, 1:] == h[:, :-1]
    assert abs(kept.mean() - 0.3) < 0.012, "40,000 draws"


@pytest.mark.parametrize("training", [True, False])
def test_the_loop_counts_its_steps_in_half_precision(training):
    cell = kar.ZoneoutCell(2, core="elman", zoneout=0.5, dtype="mixed_bfloat16")
    layer = kar.RNN(cell, return_state=True, dtype="mixed_bfloat16")
    digits = layer(np.ones((1, 300, 1), "float32"), training=training)[-1]
    expected = [300 % 128, 300 // 128, 0] if training else [0, 0, 0]
    np.testing.assert_array_equal(array(ops.cast(digits, "float32")), [expected])


def test_the_count_goes_on_in_half_precision():
    kept = kept_units(kar.ZoneoutCell(10, zoneout=0.3, dtype="mixed_bfloat16"), 400)
    assert len({step.tobytes() for step in kept}) == 400


def test_the_noise_of_a_seed_is_repeated_and_that_of_batches_differs():
    def run():
        layer = kar.RNN(kar.ZoneoutCell(8, zoneout=0.5, seed=3, kernel_initializer="ones"), return_sequences=True)
        x = np.ones((2, 6, 3), "float32")
        return [array(layer(x, training=True)) for _ in range(2)]

    keras.utils.set_random_seed(0)
    first = run()
    keras.utils.set_random_seed(0)
    again = run()
    np.testing.assert_array_equal(first, again)
    assert np.abs(first[0] - first[1]).max() > 1e-3


def test_a_dropped_block_passes_its_input_on(rng):
    cell = built(kar.DeepRNNCell(4, depth=4, skip_every=2, block_dropout=0.999))
    x = rng.normal(size=(3, 4)).astype("float32")
    h = [rng.normal(size=(3, 4)).astype("float32") for _ in range(4)]
    output, states = cell(x, [h[0], *h, np.zeros((3, DIGITS), "float32")], training=True)
    np.testing.assert_allclose(array(output), x, rtol=1e-6)
    for ours, before in zip(states[1:5], h, strict=True):
        np.testing.assert_allclose(array(ours), before, rtol=1e-6)


def test_a_stack_144_layers_deep_trains(rng):
    layer = kar.DeepRNN(4, depth=144, return_sequences=True)
    model = keras.Sequential([keras.Input((3, 4)), layer])
    # On TensorFlow the gradient of such a loop takes most of a minute to lay out in a graph.
    model.compile("sgd", "mse", run_eagerly=keras.backend.backend() == "tensorflow")
    assert np.isfinite(model.fit(*rng.normal(size=(2, 2, 3, 4)), verbose=0).history["loss"]).all()


def test_weights_are_dropped_in_training_alone():
    cell = built(kar.WeightDropLSTMCell(4, recurrent_weight_dropout=0.5))
    x, states = np.ones((2, 4), "float32"), [np.ones((2, 4), "float32")] * 2
    plain = array(cell(x, states)[0])
    nothing = np.zeros((4, 16), "float32")
    with given_noise(cell.recurrent_map, rate=nothing):
        np.testing.assert_array_equal(array(cell(x, states)[0]), plain)
        dropped = array(cell(x, states, training=True)[0])
    kernel, _, bias = (array(w).astype("float64") for w in cell.weights)
    i, f, j, o = np.split(np.ones((2, 4)) @ kernel + bias, 4, axis=1)
    c = 1 / (1 + np.exp(-f)) + np.tanh(j) / (1 + np.exp(-i))
    np.testing.assert_allclose(dropped, np.tanh(c) / (1 + np.exp(-o)), rtol=1e-5)
