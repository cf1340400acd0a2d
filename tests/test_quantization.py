"""Quantized maps: numbers, files, training, errors."""

import warnings

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import layers, maps
from tests.backends import dealt, dealt_once, in_turns
from tests.frozen.freeze import FOLDER
from tests.table import CELLS, OPTIONS

pytestmark = in_turns

MODES = ("int8", "int4")


def numpy(x):
    return keras.ops.convert_to_numpy(keras.ops.cast(x, "float32"))


def sequential(*parts):
    return keras.Sequential([keras.Input((3, 5)), *parts])


def quantized(model, mode, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras warns of every layer that has nothing to quantize.
        model.quantize(mode, **kwargs)
    return model


def maps_of(layer):
    return [part for part in layer._flatten_layers() if isinstance(part, maps.LinearMap)]


def assert_near(ours, theirs, mode, times=1):
    # Errors of rounding are half a step: one part in 254, or 15, of the largest weight of a column.
    np.testing.assert_allclose(ours, theirs, atol=times * {"int8": 0.02, "int4": 0.4}[mode] * np.abs(theirs).max())


@pytest.mark.parametrize(("name", "make"), dealt_once({**CELLS, **OPTIONS}.items()))
def test_every_cell_is_quantized(name, make, rng, tmp_path):
    mode = MODES[len(name) % 2]
    model = sequential(layers.RNN(make(), return_sequences=True))
    model.set_weights([0.5 * rng.normal(size=w.shape) for w in model.weights])
    x = rng.normal(size=(2, 3, 5)).astype("float32")
    before = numpy(model(x))
    quantized(model, mode)
    assert {part.quantization_mode for part in maps_of(model)} == {mode}
    after = numpy(model(x))
    # A small complex number is easily turned, and modReLU then adds to its modulus.
    assert_near(after, before, mode, times=2 if name == "urnn" else 1)
    assert not np.array_equal(after, before)
    model.save(tmp_path / "model.keras")
    np.testing.assert_array_equal(numpy(keras.models.load_model(tmp_path / "model.keras")(x)), after)


LAYERS = {
    "bidirectional": lambda: keras.layers.Bidirectional(layers.LSTM(4, recurrent_map=maps.DropConnect(0.3))),
    "keras_rnn": lambda: keras.layers.RNN(kar.ZoneoutCell(cell=kar.LowRankLSTMCell(6, rank=2))),
    "stack": lambda: layers.Mogrifier([6] * 3, rank=2, connection="skip"),
    "mixed_precision": lambda: layers.GRU(6, reset_after=False, dtype="mixed_bfloat16"),
    "highway": lambda: layers.Highway(rank=3, diagonal=True),
    "adaptive_dense": lambda: layers.AdaptiveDense(4, adaptation="sva"),
    "maxout": lambda: layers.Maxout(4, pieces=2),
}


@pytest.mark.parametrize(("name", "make"), dealt(LAYERS.items()))
def test_layers_are_quantized_cloned_and_trained(name, make, rng, tmp_path):
    model = sequential(make())
    x = rng.normal(size=(2, 3, 5)).astype("float32")
    before = numpy(model(x))
    quantized(model, "int8")
    after = numpy(model(x))
    assert_near(after, before, "int8")
    clone = keras.models.clone_model(model)
    model.save_weights(tmp_path / "model.weights.h5")
    clone.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(numpy(clone(x)), after)
    clone.set_weights([w * 0 for w in model.get_weights()])
    clone.set_weights(model.get_weights())
    np.testing.assert_array_equal(numpy(clone(x)), after)
    # Biases are trained further, matrices are not.
    model.compile("adam", "mse")
    integers = [numpy(w) for w in model.weights if w.dtype == "int8"]
    assert integers
    model.fit(x, before + 1, verbose=0)
    for old, new in zip(integers, [w for w in model.weights if w.dtype == "int8"], strict=True):
        np.testing.assert_array_equal(old, numpy(new))


@pytest.mark.parametrize("mode", MODES)
def test_matrices_are_small_and_close(mode, rng):
    matrix = maps.Full(units=128, blocks=4)
    matrix.build((None, 300))
    before = matrix.get_weights()[0]
    matrix.quantize(mode)
    share = sum(w.nbytes for w in matrix.get_weights()) / before.nbytes
    assert share < {"int8": 0.255, "int4": 0.14}[mode]
    after = numpy(matrix.matrix("kernel"))
    groups = {"int8": [before], "int4": np.split(before, [128, 256])}[mode]
    steps = [np.ptp(g, axis=0) / 15 if mode == "int4" else np.abs(g).max(axis=0) / 127 for g in groups]
    for rows, step in zip(np.split(after - before, np.cumsum([len(g) for g in groups])[:-1]), steps, strict=True):
        # Keras's int4 rounds the zero, too.
        assert (np.abs(rows) <= (1.6 if mode == "int4" else 0.51) * step).all()


def test_steps_and_filters(rng):
    layer = layers.LSTM(6, return_sequences=True)
    model = sequential(layer)
    x = rng.normal(size=(2, 3, 5)).astype("float32")
    layer.step(x[:, 0])  # Compiled with the weights of before.
    quantized(model, "int8", filters=lambda part: part is layer.cell.recurrent_map)
    assert [part.quantization_mode for part in (layer.cell.kernel_map, layer.cell.recurrent_map)] == [None, "int8"]
    model.set_weights([w if w.dtype == "int8" else 2 * w for w in model.get_weights()])
    states, outputs = None, []
    for t in range(3):
        output, states = layer.step(x[:, t], states)
        outputs.append(numpy(output))
    np.testing.assert_allclose(np.stack(outputs, axis=1), numpy(model(x)), rtol=1e-5, atol=1e-5)


def test_the_loss_stays_within_one_percent(rng):
    x = rng.normal(size=(256, 3, 5)).astype("float32")
    y = np.cumsum(x[..., :2], axis=1)
    model = sequential(layers.GRU(24, return_sequences=True), keras.layers.TimeDistributed(maps.Full(units=2)))
    model.compile(keras.optimizers.Adam(0.01), "mse")
    model.fit(x, y, batch_size=64, epochs=8, verbose=0)
    before = model.evaluate(x, y, verbose=0)
    assert before < 0.8 * np.var(y)
    quantized(model, "int8")
    model.compile(loss="mse")
    assert abs(model.evaluate(x, y, verbose=0) / before - 1) < 0.01


@pytest.mark.parametrize("mode", MODES)
def test_a_quantized_file_of_another_backend_loads(mode):
    # Written on JAX.
    with np.load(FOLDER / f"{mode}_mogrifier.npz") as data:
        outputs = keras.models.load_model(FOLDER / f"{mode}_mogrifier.keras")(data["inputs"])
        np.testing.assert_allclose(numpy(outputs), data["outputs"], rtol=1e-5, atol=1e-5)


def test_errors(tmp_path):
    class Own(maps.Full):
        pass

    model = sequential(layers.LSTM(4))
    model.save_weights(tmp_path / "float.weights.h5")
    linear_map = model.layers[0].cell.kernel_map
    with pytest.raises(ValueError, match="isn't yet built"):
        maps.Full(units=4).quantize("int8")
    with pytest.raises(ValueError, match="Invalid quantization mode"):
        linear_map.quantize("int3")
    with pytest.raises(NotImplementedError, match="must be 'int8' or 'int4'"):
        linear_map.quantize("float8")
    quantized(model, "int8")
    with pytest.raises(ValueError, match="kernel_map' is already quantized to 'int8'"):
        linear_map.quantize("int4")
    with pytest.raises(ValueError, match=r"expected \d variables, but received"):
        model.load_weights(tmp_path / "float.weights.h5")
    own = Own(units=4)
    own.build((None, 5))
    with pytest.raises(NotImplementedError, match="is a Own, which may read its weights in its own way"):
        own.quantize("int8")
