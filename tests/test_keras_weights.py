"""Weights of Keras's recurrent layers and ours: the same files, names and first values."""

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import layers, maps
from tests.backends import in_turns

pytestmark = in_turns

KINDS = {
    "lstm": (layers.LSTM, keras.layers.LSTM, {}),
    "lstm_without_bias": (layers.LSTM, keras.layers.LSTM, {"use_bias": False}),
    "lstm_backwards": (layers.LSTM, keras.layers.LSTM, {"go_backwards": True, "dropout": 0.2, "seed": 1}),
    "gru": (layers.GRU, keras.layers.GRU, {}),
    "gru_reset_before": (layers.GRU, keras.layers.GRU, {"reset_after": False}),
    "elman": (layers.Elman, keras.layers.SimpleRNN, {}),
    "elman_without_bias": (layers.Elman, keras.layers.SimpleRNN, {"use_bias": False}),
}
# The greatest size of a shard, in gigabytes: a few weights.
SHARDED = {"h5": {}, "json": {"max_shard_size": 3e-6}}
CELLS = {
    "lstm": (kar.LSTMCell, keras.layers.LSTMCell),
    "gru": (kar.GRUCell, keras.layers.GRUCell),
    "elman": (kar.ElmanCell, keras.layers.SimpleRNNCell),
    "weight_drop_lstm": (kar.WeightDropLSTMCell, keras.layers.LSTMCell),
}


def numpy(x):
    return keras.ops.convert_to_numpy(x)


def sequential(*parts):
    return keras.Sequential([keras.Input((5, 3)), *parts, keras.layers.Dense(2)])


def pairs(name):
    """Returns functions that make a layer of ours and the same of Keras, with the layers around them."""
    ours, theirs, arguments = KINDS[name]
    return [
        (lambda: ours(4, **arguments), lambda: theirs(4, **arguments)),
        (
            lambda: keras.layers.Bidirectional(ours(4, **(arguments | {"go_backwards": False}))),
            lambda: keras.layers.Bidirectional(theirs(4, **(arguments | {"go_backwards": False}))),
        ),
    ]


def assert_loads(source, target, path, rng, **save):
    x = rng.normal(size=(2, 5, 3)).astype("float32")
    source.set_weights([rng.normal(size=w.shape) for w in source.weights])
    source.save_weights(path, **save)
    target.load_weights(path)
    np.testing.assert_allclose(target.predict(x, verbose=0), source.predict(x, verbose=0), atol=1e-5)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("suffix", ["h5", "json"])
def test_a_weights_file_of_keras_loads_into_our_layer(name, suffix, rng, tmp_path):
    for make_ours, make_theirs in pairs(name):
        path = tmp_path / f"w.weights.{suffix}"
        assert_loads(sequential(make_theirs()), sequential(make_ours()), path, rng, **SHARDED[suffix])


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("suffix", ["h5", "json"])
def test_our_weights_file_loads_into_the_layer_of_keras(name, suffix, rng, tmp_path):
    for k, (make_ours, make_theirs) in enumerate(pairs(name)):
        ours, theirs = sequential(make_ours()), sequential(make_theirs())
        path = tmp_path / f"w.weights.{suffix}"
        if k == 0 and name.startswith("elman"):
            # Keras looks up what is directly in a model by the name of its class.
            ours.save_weights(path, **SHARDED[suffix])
            with pytest.raises(ValueError, match="simple_rnn"):
                theirs.load_weights(path)
        else:
            assert_loads(ours, theirs, path, rng, **SHARDED[suffix])


@pytest.mark.parametrize("name", CELLS)
def test_weights_files_of_cells(name, rng, tmp_path):
    ours, theirs = CELLS[name]
    path = tmp_path / "w.weights.h5"
    for rnn in (layers.RNN, keras.layers.RNN):
        assert_loads(sequential(keras.layers.RNN(theirs(4))), sequential(rnn(ours(4))), path, rng)
        assert_loads(sequential(rnn(ours(4))), sequential(keras.layers.RNN(theirs(4))), path, rng)
    stacks = [lambda cell=cell: layers.RNN([cell(4), cell(3)]) for cell in (ours, theirs)]
    if name != "weight_drop_lstm":
        assert_loads(sequential(stacks[1]()), sequential(stacks[0]()), path, rng)
    if name in ("lstm", "gru"):
        assert_loads(sequential(stacks[0]()), sequential(stacks[1]()), path, rng)


def test_two_elman_layers_beside_one_of_keras(rng, tmp_path):
    def make(*classes):
        return sequential(*(cls(4, return_sequences=True) for cls in classes), keras.layers.GlobalAveragePooling1D())

    theirs, ours = keras.layers.SimpleRNN, layers.Elman
    assert_loads(make(theirs, theirs, theirs), make(ours, ours, ours), tmp_path / "w.weights.h5", rng)
    assert_loads(make(ours, theirs, ours), make(ours, theirs, ours), tmp_path / "w.weights.h5", rng)


def test_a_file_with_other_weights_is_refused(tmp_path):
    path = tmp_path / "w.weights.h5"
    sequential(keras.layers.LSTM(4)).save_weights(path)
    for layer, message in (
        (layers.LSTM(5), r"'kernel' of shape \(3, 20\).* a file with shape \(3, 16\)"),
        (layers.LSTM(4, use_bias=False), "expected 2 variables, but received 3"),
        (layers.LSTM(4, layer_normalization=True), "could not be loaded"),
        (layers.RNN(kar.LowRankLSTMCell(4, rank=2), name="lstm"), "could not be loaded"),
    ):
        model = sequential(layer)
        before = layer.get_weights()
        with pytest.raises(ValueError, match=r"(?s)" + message):
            model.load_weights(path)
        for old, new in zip(before, layer.get_weights(), strict=True):
            np.testing.assert_array_equal(new, old)
        with pytest.warns(UserWarning, match="could not be loaded"):
            model.load_weights(path, skip_mismatch=True)


def test_noise_goes_on_after_loading(rng, tmp_path):
    x = rng.normal(size=(2, 5, 3)).astype("float32")
    model = sequential(layers.LSTM(4, dropout=0.5, recurrent_map=maps.DropConnect(0.5)))
    for _ in range(3):
        model(x, training=True)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    for _ in range(2):
        np.testing.assert_array_equal(numpy(loaded(x, training=True)), numpy(model(x, training=True)))


@pytest.mark.parametrize("name", ["lstm", "gru", "elman"])
def test_names_of_weights(name):
    ours, theirs = (make() for make in pairs(name)[0])
    for layer in (ours, theirs):
        with pytest.raises(AttributeError):
            _ = layer.cell.kernel
        layer.build((None, 5, 3))
    for part in ("kernel", "recurrent_kernel", "bias"):
        value = np.ones(getattr(theirs.cell, part).shape, "float32")
        getattr(ours.cell, part).assign(value)
        np.testing.assert_array_equal(numpy(getattr(ours.cell, part)), value)
        setattr(ours.cell, part, 2 * value)
        np.testing.assert_array_equal(numpy(getattr(ours.cell, part)), 2 * value)
    assert all((w == 2).all() for w in ours.get_weights())
    assert type(ours)(4, use_bias=False).cell.bias is None


def test_names_of_weights_of_other_cells():
    cell = kar.RecurrentHighwayCell(4, depth=2, kernel_map=maps.LowRank(2))
    cell.build((None, 3))
    assert cell.recurrent_kernel.shape == (4, 16)
    assert not hasattr(cell, "kernel")
    with pytest.raises(AttributeError, match=r"no single matrix `kernel`.* `right` \(2, 3, 2\), `left` \(2, 2, 4\)"):
        _ = cell.kernel
    with pytest.raises(AttributeError, match="nothing_like_that"):
        _ = cell.nothing_like_that


@pytest.mark.parametrize(
    ("ours", "theirs", "arguments"),
    [
        (*CELLS["lstm"], {}),
        (*CELLS["lstm"], {"unit_forget_bias": False}),
        (*CELLS["gru"], {}),
        (*CELLS["gru"], {"reset_after": False}),
        (*CELLS["elman"], {}),
    ],
)
def test_weights_start_as_in_keras(ours, theirs, arguments):
    keras.utils.set_random_seed(0)
    seeded = {
        "kernel_initializer": keras.initializers.GlorotUniform(seed=1),
        "recurrent_initializer": keras.initializers.Orthogonal(seed=2),
        "bias_initializer": keras.initializers.RandomNormal(seed=3),
    }
    cells = [cls(4, **seeded, **arguments) for cls in (ours, theirs)]
    for cell in cells:
        cell.build((None, 3))
    for a, b in zip(*(cell.get_weights() for cell in cells), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("reset_after", [False, True])
def test_the_carry_bias_is_the_logit_of_the_carry_gate(reset_after):
    layer = layers.LowRankGRU(4, rank=2, carry_bias=4.0, reset_after=reset_after)
    states = np.full((1, 4), 0.5, "float32")
    layer.build((1, 1, 3))
    for linear_map in (layer.cell.kernel_map, layer.cell.recurrent_map):
        linear_map.set_weights([np.zeros(w.shape) for w in linear_map.weights])
    output = layer(np.zeros((1, 1, 3), "float32"), initial_state=[states])
    np.testing.assert_allclose(numpy(output), states / (1 + np.exp(-4)), rtol=1e-5)


def test_a_bias_of_one_gate_counts_once_in_any_gru():
    class Updating(kar.GRUCell):
        def bias_initializers(self):
            return [keras.initializers.Constant(3.0), *super().bias_initializers()[1:]]

    cell = Updating(2, bias_initializer="ones")
    cell.build((None, 3))
    np.testing.assert_array_equal(numpy(cell.bias), [[3, 3, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1]])
