"""The unitary evolution RNN: its matrix, the norm of its state, its permutation and its first weights."""

import keras
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn._seeds import fold_in
from tests.backends import in_turns
from tests.reference import permuted
from tests.test_properties import quiet
from tests.test_reference import double_precision, named_weights

pytestmark = in_turns

RUN = kar.cells.Run()


def built(units, inputs=3, **arguments):
    cell = kar.URNNCell(units, **arguments)
    cell.build((None, inputs))
    return cell


def complex_matrix(cell):
    """Returns W, built from dense factors."""
    w, n = named_weights(cell), cell.units
    permutation = permuted(np.arange(n)[None], cell.permutation_seed)[0]
    k = np.arange(n)
    fourier = np.exp(-2j * np.pi * np.outer(k, k) / n) / np.sqrt(n)
    d_1, d_2, d_3 = (np.diag(np.exp(1j * phases)) for phases in w["recurrent_map/phases"].T)
    columns = (column[:n, None] + 1j * column[n:, None] for column in w["recurrent_map/reflections"].T)
    r_1, r_2 = (np.eye(n) - 2 * v @ v.conj().T / (v.conj().T @ v) for v in columns)
    return d_3 @ r_2 @ np.linalg.inv(fourier) @ d_2 @ np.eye(n)[permutation] @ r_1 @ fourier @ d_1


def as_over_a_sequence(cell, x):
    prepared = cell.recurrent_map.prepare(RUN)
    return ops.convert_to_numpy(cell.recurrent_map.product(ops.convert_to_tensor(x), *prepared, RUN))


@pytest.mark.parametrize("units", [1, 2, 7, 16])
def test_the_matrix_is_its_factors_and_unitary(units, rng):
    with double_precision():
        cell = built(units, seed=units)
        w = complex_matrix(cell)
        np.testing.assert_allclose(w @ w.conj().T, np.eye(units), atol=1e-13)
        of_real = np.block([[w.T.real, w.T.imag], [-w.T.imag, w.T.real]])
        np.testing.assert_allclose(as_over_a_sequence(cell, np.eye(2 * units)), of_real, atol=1e-13)
        # A single step applies the factors, one by one.
        h = rng.normal(size=(3, 2 * units))
        np.testing.assert_allclose(ops.convert_to_numpy(cell.recurrent_map(h, RUN)), h @ of_real, atol=1e-13)


@quiet
@given(units=st.integers(1, 24), seed=st.integers(0, 2**31 - 1), exact=st.booleans())
def test_the_norm_is_kept(units, seed, exact):
    """Over 10,000 steps without inputs: to 1e-5 where numbers are exact, and to what float32 loses in so many steps."""

    def norms():
        layer = kar.URNN(units, seed=seed)
        model = keras.Sequential([keras.Input((10_000, 1)), layer])
        h = np.random.default_rng(seed).normal(size=2 * units)
        layer.cell.initial_state[0].assign(h)
        last = model.predict(np.zeros((1, 10_000, 1)), verbose=0)
        return np.linalg.norm(h), np.linalg.norm(last.astype("float64"))

    if exact:
        with double_precision():
            before, after = norms()
    else:
        before, after = norms()
    np.testing.assert_allclose(after, before, rtol=1e-5 if exact else 5e-3)


def test_the_permutation_is_part_of_the_config(tmp_path):
    model = keras.Sequential([keras.Input((None, 3)), kar.URNN(6, permutation_seed=3)])
    x = np.random.default_rng(0).normal(size=(2, 5, 3)).astype("float32")
    expected = ops.convert_to_numpy(model(x))
    model.save(tmp_path / "model.keras")
    model.save_weights(tmp_path / "model.weights.h5")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    rebuilt = keras.Sequential([keras.Input((None, 3)), kar.URNN(6, permutation_seed=3, seed=5)])
    rebuilt.load_weights(tmp_path / "model.weights.h5")
    for same in (loaded, clone, rebuilt):
        np.testing.assert_array_equal(ops.convert_to_numpy(same(x)), expected)
    other = keras.Sequential([keras.Input((None, 3)), kar.URNN(6, permutation_seed=4)])
    other.set_weights(model.get_weights())
    assert np.abs(ops.convert_to_numpy(other(x)) - expected).max() > 1e-3


def test_first_weights_are_those_of_the_paper():
    cell = built(256, inputs=64, seed=1)
    state, kernel, phases, reflections, bias = cell.get_weights()
    for drawn, bound in (
        (state, np.sqrt(3 / 512)),
        (kernel, np.sqrt(6 / (64 + 512))),
        (phases, np.pi),
        (reflections, 1.0),
    ):
        # Uniform between the bounds.
        assert 0.98 * bound < np.abs(drawn).max() <= bound
        assert abs(drawn.std() / bound - 1 / np.sqrt(3)) < 0.05
        assert abs(drawn.mean()) < 0.1 * bound
    assert (bias == 0).all()
    assert abs(np.linalg.norm(state) - 1) < 0.1
    again = built(256, inputs=64, seed=1).get_weights()
    np.testing.assert_array_equal(again[0], state)
    np.testing.assert_array_equal(again[2], phases)
    np.testing.assert_array_equal(again[3], reflections)


def test_no_initial_state_is_zero():
    cell = built(4, trainable_initial_state=False)
    assert not ops.convert_to_numpy(cell.get_initial_state(2)[0]).any()
    assert len(cell.weights) == 4


def test_an_entry_of_zero_has_a_gradient(rng):
    """The modulus has no derivative at zero."""
    layer = kar.URNN(3, trainable_initial_state=False, return_sequences=True)
    model = keras.Sequential([keras.Input((None, 2)), layer])
    model.compile("sgd", "mse")
    model.fit(np.zeros((2, 4, 2)), rng.normal(size=(2, 4, 6)), verbose=0)
    assert all(np.isfinite(w).all() for w in model.get_weights())


@pytest.mark.parametrize("name", ["recurrent_dropout", "activation", "recurrent_map", "layer_normalization"])
def test_what_it_refuses(name):
    with pytest.raises(TypeError, match=f"has no argument `{name}`"):
        kar.URNNCell(4, **{name: 0})


def test_bad_arguments():
    for arguments in ({"permutation_seed": -1}, {"units": 0}):
        with pytest.raises(ValueError, match=f"Argument `{next(iter(arguments))}` must be an integer of at least"):
            kar.URNNCell(**{"units": 4, **arguments})
    with pytest.raises(TypeError, match="Argument `permutation_seed` must be an integer"):
        kar.URNNCell(4, permutation_seed=1.5)
    with pytest.raises(TypeError, match="Argument `permutation_seed` must be an integer"):
        kar.URNNCell(4, permutation_seed=None)


def test_the_hashes_are_those_of_the_package():
    """The permutation is read from files by later versions, too."""
    places = np.arange(9)[None]
    assert permuted(places, 2)[0].tolist() == sorted(range(9), key=lambda k: fold_in(2, k))
    assert permuted(places, 0)[0].tolist() == built(9).recurrent_map._permutation
