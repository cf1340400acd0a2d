"""How a deep stack starts: unit variance at any depth, gradients through it, and the arguments that decide it."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import analysis, initializers, maps
from tests.backends import RUNS_ALL, dealt, in_turns

pytestmark = in_turns


def normal(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def deviations(layer, x):
    """Returns the standard deviation of the output in each step."""
    layer.return_sequences = True
    return np.std(ops.convert_to_numpy(ops.cast(layer(x), "float32")), axis=(0, 2))


def assert_near_unit(measured):
    assert np.all((measured > 0.5) & (measured < 2)), measured


# Unit variance.


@pytest.mark.parametrize(
    ("depth", "arguments"),
    dealt(
        [
            (36, {}),
            *([(144, {})] if RUNS_ALL else []),
            (12, {}),
            *[(36, {"activation": f}) for f in ("brelu", "relu", "elu", "tanh", "silu", "sigmoid", None)],
            (1, {"activation": "relu"}),
            (38, {"activation": "brelu", "skip_every": 2}),
            (36, {"skip_scale": 1.0}),
            (36, {"skip_scale": -0.5}),
        ]
    ),
)
def test_the_output_starts_near_unit_variance(depth, arguments):
    layer = kar.DeepRNN(32, depth=depth, **arguments)
    measured = deviations(layer, normal(16, 60, 32))
    assert_near_unit(measured[0 if depth < 100 and not arguments else 10 :])


@pytest.mark.parametrize(
    "make",
    [
        lambda: {"kernel_map": maps.LowRank(8), "recurrent_map": maps.LowRank(8, diagonal=True)},
        lambda: {"recurrent_map": maps.Full(weight_normalization=True)},
    ],
    ids=["low_rank", "weight_normalization"],
)
def test_other_maps(make):
    assert_near_unit(deviations(kar.DeepRNN(32, depth=36, **make()), normal(16, 40, 32)))


# A homogeneous activation (ReLU) has no variance that it returns to: narrow stacks without skip connections drift.
@pytest.mark.parametrize(("depth", "activation"), dealt(itertools.product([4, 24], ["belu", "elu", "tanh"])))
def test_a_stack_without_skip_connections_gets_there(depth, activation):
    layer = kar.DeepRNN(128, depth=depth, activation=activation, skip_every=None)
    assert_near_unit(deviations(layer, normal(16, 4 * depth, 128))[2 * depth :])


@pytest.mark.parametrize("features", dealt([2, 7, 200]))
def test_inputs_of_any_size(features):
    assert_near_unit(deviations(kar.DeepRNN(32, depth=12), normal(32, 30, features))[10:])


def test_it_stays_there():
    assert_near_unit(deviations(kar.DeepRNN(32, depth=36), normal(8, 300, 32)))


@pytest.mark.parametrize("dtype", dealt(["bfloat16", "mixed_bfloat16"]))
def test_half_precision(dtype):
    assert_near_unit(deviations(kar.DeepRNN(32, depth=36, dtype=dtype), normal(8, 30, 32)))


def test_gradients_neither_explode_nor_vanish():
    # The flow is computed step by step, which takes JAX and TensorFlow long to compile.
    depth, steps = (36, 30) if keras.backend.backend() == "torch" else (12, 4)
    layer = kar.DeepRNN(32, depth=depth, return_sequences=True)
    x = normal(4, steps, 32)
    layer(x)
    flow = analysis.gradient_flow(layer, x)
    # The last step's loss, back through the blocks' outputs.
    assert 0.2 < np.min(flow[3::4, -1]) / flow[-1, -1] <= np.max(flow[3::4, -1]) / flow[-1, -1] < 5
    assert np.max(flow) < 5 * flow[-1, -1]


def test_training_starts_from_the_loss_of_the_targets():
    """A model that the first batch builds, where Keras lets no number be computed yet."""
    x, y = normal(64, 20, 8), normal(64, 20, 8)[:, -3, :1]
    model = keras.Sequential([kar.DeepRNN(24, depth=36), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    losses = model.fit(x, y, batch_size=32, epochs=3, verbose=0, shuffle=False).history["loss"]
    # The last layer, which Keras draws, may make it ten; it was in the millions with plain initializers.
    assert losses[0] < 20
    assert losses[-1] < losses[0]


# The gains.


def test_the_gains_of_relu_are_those_of_he():
    """He et al. (2015), equation 10: $n Var(w) = 2$ preserves the second moment, here shared by the two matrices."""
    gains = initializers.unit_variance_gains(keras.activations.relu, 4, [None] * 4)
    assert gains[1:] == pytest.approx([1.0] * 3, abs=0.01)


def test_the_gains_of_a_skip_connection():
    """A linear layer that ends a block adds what the skip connection leaves of unit variance."""
    gains = initializers.unit_variance_gains(lambda x: x, 4, [None, (-1, 0.6), None])
    assert gains == pytest.approx([0.5**0.5, 0.8 * 0.5**0.5, 0.5**0.5], abs=1e-3)


def test_the_gains_agree_with_lsuv():
    layer, x = kar.DeepRNN(128, depth=12), normal(512, 1, 128)
    layer.build(x.shape)
    before = ops.convert_to_numpy(layer.cell.inner_map.weights[0])
    kar.callbacks.lsuv(layer, x, orthogonal=False, seed=0)
    after = ops.convert_to_numpy(layer.cell.inner_map.weights[0])
    norms = [np.linalg.norm(w.reshape(128, 11, 128), axis=(0, 2)) for w in (before, after)]
    np.testing.assert_allclose(norms[1], norms[0], rtol=0.2)


def test_only_the_default_is_scaled():
    seeded = keras.initializers.GlorotUniform(seed=3)
    cell = kar.DeepRNNCell(8, depth=4, kernel_initializer=seeded, recurrent_initializer="orthogonal")
    cell.build((None, 8))
    kernel, recurrent = (ops.convert_to_numpy(m.weights[0]) for m in (cell.kernel_map, cell.recurrent_map))
    np.testing.assert_array_equal(kernel, ops.convert_to_numpy(seeded((8, 8))))
    for k in range(4):
        w = recurrent[:, 8 * k : 8 * k + 8]
        np.testing.assert_allclose(w.T @ w, np.eye(8), atol=1e-5)


def test_a_seed_repeats_the_weights_and_no_matrix_twice():
    def weights():
        seeded = [initializers.UnitVariance(seed=seed) for seed in (1, 10_000)]
        cell = kar.DeepRNNCell(8, depth=4, kernel_initializer=seeded[0], recurrent_initializer=seeded[1])
        cell.build((None, 8))
        return [ops.convert_to_numpy(w) for w in cell.weights]

    first, second = weights(), weights()
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    matrices = np.concatenate(first[:3], axis=1).reshape(8, -1, 8).transpose(1, 0, 2)
    directions = matrices.reshape(8, -1) / np.linalg.norm(matrices, axis=(1, 2))[:, None]
    assert np.max(np.abs(directions @ directions.T - np.eye(8))) < 0.9


@pytest.mark.parametrize("shape", [(64, 16), (16, 64), (4, 4, 8)])
def test_unit_variance(shape):
    initializer = initializers.UnitVariance(gain=0.5, seed=1)
    w = ops.convert_to_numpy(initializer(shape)).reshape(-1, shape[-1])
    np.testing.assert_allclose(np.mean(np.sum(w**2, axis=0)), 0.25, rtol=1e-5)


def test_the_initializers_survive_a_config():
    cell = kar.DeepRNNCell(4, depth=3, kernel_initializer=initializers.UnitVariance(gain=2.0, seed=1))
    again = kar.DeepRNNCell.from_config(cell.get_config())
    assert again.kernel_initializer.get_config() == {"gain": 2.0, "blocks": 1, "seed": 1}
    assert isinstance(again.recurrent_initializer, initializers.UnitVariance)
