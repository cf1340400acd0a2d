"""Bipolar activations: what they compute, the theorems of their paper, their names and files."""

import json

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import activations
from tests.backends import in_turns

pytestmark = in_turns

SAMPLES = 40_000
BASES = {
    "brelu": lambda x: np.maximum(x, 0),
    "belu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "bleaky_relu": lambda x: np.where(x > 0, x, 0.2 * x),
}


def apply(f, x):
    return ops.convert_to_numpy(f(x.astype("float32")))


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


# What they compute.


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_every_other_entry_is_flipped(name, axis, rng):
    x = 2 * rng.normal(size=(4, 5, 7))
    y = np.moveaxis(apply(lambda t: activations.get(name)(t, axis=axis), x), axis, -1)
    x, f = np.moveaxis(x, axis, -1), BASES[name]
    close(y[..., 0::2], f(x[..., 0::2]))
    close(y[..., 1::2], -f(-x[..., 1::2]))


@pytest.mark.parametrize(("size", "flipped"), [(4, 2), (5, 2), (1, 0)])
def test_halves(size, flipped, rng):
    x, f = rng.normal(size=(3, size)), BASES["belu"]
    y = apply(activations.bipolar(keras.activations.elu, layout="halves"), x)
    close(y, np.concatenate([-f(-x[:, :flipped]), f(x[:, flipped:])], axis=1))


def test_arguments_of_the_base():
    x = np.array([[-3.0, 3.0]])
    close(apply(lambda t: activations.belu(t, alpha=2.0), x), 2 * np.expm1(-3) * np.array([[1, -1]]))
    close(apply(lambda t: activations.bleaky_relu(t, negative_slope=0.5), x), [[-1.5, 1.5]])


def test_oplu_keeps_norm_and_mean_and_sorts_pairs(rng):
    x = rng.normal(size=(3, 6, 5))
    y = apply(lambda t: activations.oplu(t, axis=1), x)
    close(y.sum(axis=1), x.sum(axis=1))
    close(np.square(y).sum(axis=1), np.square(x).sum(axis=1))
    close(y[:, 0::2], np.maximum(x[:, 0::2], x[:, 1::2]))


def test_crelu(rng):
    x = rng.normal(size=(2, 3, 4))
    close(apply(lambda t: activations.crelu(t, axis=1), x), np.maximum(np.concatenate([x, -x], axis=1), 0))


@pytest.mark.parametrize("name", activations.FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(name, dtype, rng):
    x = ops.cast(rng.normal(size=(3, 4)).astype("float32"), dtype)
    y = activations.get(name)(x)
    assert keras.backend.standardize_dtype(y.dtype) == dtype
    exact = activations.get(name)(ops.cast(x, "float32"))
    np.testing.assert_allclose(ops.convert_to_numpy(ops.cast(y, "float32")), ops.convert_to_numpy(exact), atol=0.02)


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="float64 is off by default")
@pytest.mark.parametrize("name", activations.FUNCTIONS)
def test_double_precision(name, rng):
    x = ops.convert_to_tensor(rng.normal(size=(3, 4)), "float64")
    assert keras.backend.standardize_dtype(activations.get(name)(x).dtype) == "float64"


# The theorems.


@st.composite
def independent_draws(draw):
    """Independent entries of one distribution, symmetric or not: the draws, and five standard errors of their mean."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    mean, scale = draw(st.floats(-20, 20)), draw(st.floats(0.1, 10))
    kind = draw(st.sampled_from(["normal", "exponential", "uniform"]))
    x = mean + scale * getattr(rng, kind)(size=(SAMPLES // 8, 8))
    return x, 5 * scale / np.sqrt(SAMPLES)


def centred_error(f, x):
    """How far the mean of the output is from half the mean of the input."""
    return abs(apply(f, x).mean() - 0.5 * x.mean())


@given(independent_draws())
@settings(max_examples=30, deadline=None)
def test_theorem_1_bipolar_relu_halves_the_mean(case):
    x, error = case
    assert centred_error(activations.brelu, x) < error


@given(independent_draws(), st.sampled_from([0.5, 1.0, 3.0]))
@settings(max_examples=30, deadline=None)
def test_theorem_2_bipolar_elu_moves_the_mean_towards_an_interval(case, alpha):
    x, error = case
    # E f(x) = (E x + E z) / 2, with z in [-alpha, alpha].
    assert centred_error(lambda t: activations.belu(t, alpha), x) < alpha / 2 + error


@pytest.mark.parametrize(("f", "bound"), [(keras.activations.relu, 0.0), (keras.activations.elu, 0.5)])
def test_the_theorems_do_not_hold_without_the_flip(f, bound, rng):
    x = rng.normal(3.0, 1.0, size=(SAMPLES // 8, 8))
    assert centred_error(f, x) > bound + 5 / np.sqrt(SAMPLES)


# Names and files.


@pytest.mark.parametrize("name", activations.FUNCTIONS)
def test_names(name):
    f = activations.get(name)
    assert f is getattr(activations, name)
    assert activations.serialize(f) == name
    assert activations.get(activations.serialize(f)) is f


@pytest.mark.parametrize("identifier", ["relu", keras.activations.silu, None])
def test_others_are_those_of_keras(identifier):
    f = activations.get(identifier)
    assert f is keras.activations.get(identifier)
    assert activations.get(activations.serialize(f)) is f


@pytest.mark.parametrize("name", ["brelu", "belu", "bleaky_relu", "oplu"])
def test_a_dense_layer_of_keras_keeps_it_in_a_file(name, tmp_path, rng):
    layers = [keras.Input((3,)), keras.layers.Dense(8, activation=getattr(activations, name)), keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.layers[0].activation is getattr(activations, name)
    x = rng.normal(size=(2, 3)).astype("float32")
    close(loaded.predict(x, verbose=0), model.predict(x, verbose=0))


@pytest.mark.parametrize("cell", [kar.ElmanCell, kar.LSTMCell, kar.GRUCell, kar.MogrifierCell])
def test_a_cell_takes_its_name(cell):
    config = cell(8, activation="belu").get_config()
    assert config["activation"] == "belu"
    assert cell.from_config(json.loads(json.dumps(config))).get_config()["activation"] == "belu"
    if cell is not kar.ElmanCell:
        assert cell(8, recurrent_activation="brelu").get_config()["recurrent_activation"] == "brelu"


# Bad input.

X = np.ones((2, 3), "float32")


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: activations.bipolar("relu"), ["`f`", "'relu'"]),
        (lambda: activations.bipolar(keras.activations.relu, layout="thirds"), ["`layout`", "'thirds'", "'halves'"]),
        (lambda: activations.bipolar(keras.activations.relu, axis=2)(X), ["`axis`", "axis=2", "(2, 3)"]),
        (lambda: activations.belu(keras.Input((None,))), ["`axis`", "known size"]),
        (lambda: activations.oplu(X), ["even size", "(2, 3)"]),
        (lambda: activations.oplu(X, axis=3), ["`axis`", "axis=3"]),
        (lambda: activations.get("bgelu"), ["bgelu"]),
        (lambda: kar.LSTMCell(4, activation="bgelu"), ["`activation`", "bgelu"]),
    ],
)
def test_bad_arguments(call, words):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call()
    missing = [word for word in words if word not in str(caught.value)]
    assert not missing, f"{missing} not in: {caught.value}"
