"""The input switched affine network on symbols: what its equations say of one-hot inputs, and what it learns."""

import keras
import numpy as np
from keras import ops

import keras_adaptive_rnn as kar
from tests.backends import in_turns


def symbols_and_parity(rng, count, length):
    """Returns zeros and ones as one-hot vectors, and whether the ones so far are odd in number."""
    symbols = rng.integers(0, 2, size=(count, length))
    return np.eye(2, dtype="float32")[symbols], (symbols.cumsum(axis=1) % 2)[..., None].astype("float32")


def test_a_symbol_chooses_its_map(rng):
    layer = kar.ISAN(4, return_sequences=True)
    layer.build((None, None, 3))
    b, W = (0.6 * rng.normal(size=shape) for shape in ((3, 4), (4, 12)))
    layer.cell.set_weights([b, W])
    symbols = rng.integers(0, 3, size=(2, 6))
    outputs = ops.convert_to_numpy(layer(np.eye(3, dtype="float32")[symbols]))
    for row, text in enumerate(symbols):
        h = np.zeros(4)
        for t, k in enumerate(text):
            h = h @ W[:, 4 * k : 4 * k + 4] + b[k]
            np.testing.assert_allclose(outputs[row, t], h, rtol=1e-5, atol=1e-5)


def test_each_symbol_starts_with_an_orthogonal_matrix():
    cell = kar.ISANCell(5)
    cell.build((None, 3))
    first, *others = np.split(ops.convert_to_numpy(cell.recurrent_kernel), 3, axis=1)
    for W in (first, *others):
        np.testing.assert_allclose(W @ W.T, np.eye(5), atol=1e-5)
    assert all(np.abs(W - first).max() > 0.1 for W in others)


@in_turns
def test_it_learns_parity(rng):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([kar.ISAN(8, return_sequences=True), keras.layers.Dense(1, activation="sigmoid")])
    model.compile(keras.optimizers.Adam(0.01, clipnorm=1.0), "binary_crossentropy", metrics=["accuracy"])
    model.fit(*symbols_and_parity(rng, 6400, 12), batch_size=64, epochs=2, verbose=0)
    _, accuracy = model.evaluate(*symbols_and_parity(rng, 500, 24), verbose=0)
    assert accuracy > 0.99


def test_its_state_grows_by_a_bias_a_step_with_symbols_and_without_bound_otherwise(rng):
    layer = kar.ISAN(8, return_sequences=True, seed=0)
    symbols = np.eye(3, dtype="float32")[rng.integers(0, 3, size=(4, 1000))]
    norms = np.linalg.norm(ops.convert_to_numpy(layer(symbols)), axis=-1)
    largest = np.linalg.norm(layer.cell.get_weights()[0], axis=-1).max()
    assert (norms <= 1.001 * largest * np.arange(1, 1001)).all()
    outputs = ops.convert_to_numpy(layer(rng.normal(size=(4, 500, 3)).astype("float32")))
    assert all(200 < np.argmin(np.isfinite(row).all(axis=-1)) < 350 for row in outputs)
