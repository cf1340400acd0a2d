"""Frozen layers: no weight of one trains, however it was frozen, loaded, copied or contained."""

import pickle

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import layers, maps, models
from tests.backends import dealt_once, in_turns
from tests.table import CELLS, OPTIONS

pytestmark = in_turns

LAYERS = {
    "lstm": lambda **k: layers.LSTM(4, layer_normalization=True, projection_units=3, **k),
    "gru": lambda **k: layers.GRU(4, **k),
    "stack": lambda **k: layers.Mogrifier([4, 3], gate_bias=True, **k),
    "adaptive_stack": lambda **k: layers.AdaptiveLSTM([4, 3], policy_units=2, **k),
    "grid": lambda **k: layers.GridLSTM(4, depth=2, **k),
    "deep": lambda **k: layers.DeepRNN(4, depth=3, **k),
    "skip": lambda **k: layers.Skip(kar.GRUCell(4), **k),
    "keras_cell": lambda **k: layers.RNN(keras.layers.LSTMCell(4), **k),
    "keras_cell_in_wrapper": lambda **k: layers.Zoneout(cell=keras.layers.GRUCell(4), **k),
    "list_of_cells": lambda **k: layers.RNN([kar.LSTMCell(4), kar.MogrifierCell(3)], **k),
    "in_keras_rnn": lambda **k: keras.layers.RNN(kar.MogrifierCell(4), **k),
    "in_bidirectional": lambda **k: keras.layers.Bidirectional(layers.Mogrifier([4, 3]), **k),
    "adaptive_dense": lambda **k: layers.AdaptiveDense(4, **k),
    "adaptive_dense_policy": lambda **k: layers.AdaptiveDense(
        4, policy=keras.Sequential([keras.layers.Dense(5), keras.layers.Dense(12)]), **k
    ),
    "highway": lambda **k: layers.Highway(rank=2, **k),
    "maxout": lambda **k: layers.Maxout(4, 2, **k),
    "mixture": lambda **k: layers.MixtureOfSoftmaxes(2, 5, **k),
    "in_time_distributed": lambda **k: keras.layers.TimeDistributed(layers.Highway(), **k),
    "map": lambda **k: maps.LowRank(2, units=3, weight_normalization=True, **k),
}


def sequential(layer):
    pooling = [] if len(layer.compute_output_shape((2, 5, 4))) == 2 else [keras.layers.GlobalAveragePooling1D()]
    return keras.Sequential([keras.Input((5, 4)), layer, *pooling, keras.layers.Dense(1)])


def trains(layer):
    return [v.path for v in layer.weights if v.trainable]


def copies(model, tmp_path):
    model.save(tmp_path / "model.keras")
    yield keras.models.load_model(tmp_path / "model.keras")
    yield keras.models.clone_model(model)
    yield pickle.loads(pickle.dumps(model))


def assert_still(model):
    """Trains a model for a step, and checks that of its first layer nothing moves."""
    rng = np.random.default_rng(0)
    before = model.layers[0].get_weights()
    model.compile(keras.optimizers.SGD(1.0), "mse")
    model.fit(rng.normal(size=(4, 5, 4)), rng.normal(size=(4, 1)), verbose=0)
    for old, new in zip(before, model.layers[0].get_weights(), strict=True):
        np.testing.assert_array_equal(new, old)


@pytest.mark.parametrize(("name", "make"), dealt_once(LAYERS.items()))
def test_a_frozen_layer_never_trains(name, make, tmp_path):
    made, before, after, toggled = make(trainable=False), make(), make(), make()
    before.trainable = toggled.trainable = False
    toggled.trainable = True
    found = [sequential(layer) for layer in (made, before, after, toggled)]
    after.trainable = toggled.trainable = False
    found += copies(found[2], tmp_path)
    for model in found:
        assert model.layers[0].weights
        assert trains(model.layers[0]) == []
    assert_still(found[0])
    assert_still(found[4])
    for model in found:
        model.layers[0].trainable = True
        assert len(trains(model.layers[0])) == len(model.layers[0].weights)


@pytest.mark.parametrize(("name", "make"), dealt_once({**CELLS, **OPTIONS}.items()))
def test_every_cell_freezes(name, make):
    cell = make()
    frozen = type(cell).from_config({**cell.get_config(), "trainable": False})
    for layer in (
        layers.RNN(frozen),
        layers.RNN(make(), trainable=False),
        keras.layers.Bidirectional(layers.RNN(make())),
    ):
        if isinstance(layer, keras.layers.Bidirectional):
            layer.trainable = False
        layer.build((None, 3, 5))
        assert layer.weights
        assert trains(layer) == []


PARTS = {
    "cell_of_a_stack": (lambda: layers.Mogrifier([4, 3]), lambda layer: layer.cell.cells[0]),
    "upper_cell_of_a_stack": (lambda: layers.Mogrifier([4, 3]), lambda layer: layer.cell.cells[1]),
    "round": (lambda: layers.Mogrifier([4, 3]), lambda layer: layer.cell.cells[1].gates[2]),
    "core": (lambda: layers.Mogrifier(4), lambda layer: layer.cell.cell),
    "map": (lambda: layers.LSTM([4, 3]), lambda layer: layer.cell.cells[0].recurrent_map),
    "bias": (lambda: layers.GRU(4), lambda layer: layer._flatten_layers()[-1]),
    "policy": (lambda: layers.AdaptiveLSTM([4, 3], policy_units=2), lambda layer: layer.cell.cells[1].policy_cell),
    "dimension": (lambda: layers.GridLSTM(4, depth=2), lambda layer: layer.cell.depth_cells[1]),
    "keras_cell": (
        lambda: layers.RNN(kar.StackedCells([keras.layers.LSTMCell(4), kar.LSTMCell(3)])),
        lambda layer: layer.cell.cells[0],
    ),
    "in_keras_stack": (lambda: layers.RNN([kar.LSTMCell(4), kar.LSTMCell(3)]), lambda layer: layer.cell.cells[0]),
    "backward": (lambda: keras.layers.Bidirectional(layers.LSTM(4)), lambda layer: layer.backward_layer),
    "cell_in_bidirectional": (
        lambda: keras.layers.Bidirectional(layers.Mogrifier([4, 3])),
        lambda layer: layer.forward_layer.cell.cells[1],
    ),
}


@pytest.mark.parametrize(("name", "make", "part"), [(name, *row) for name, row in PARTS.items()])
def test_one_frozen_part_stays_frozen_alone(name, make, part, tmp_path):
    model = sequential(make())
    part(model.layers[0]).trainable = False
    places = [v.trainable for v in model.layers[0].weights]
    assert len(set(places)) == 2
    for copy in copies(model, tmp_path):
        assert [v.trainable for v in copy.layers[0].weights] == places
        # TensorFlow ignores an attribute that is set to what it is, as it does for Keras's layers.
        copy.layers[0].trainable = False
        copy.layers[0].trainable = True
        assert all(v.trainable for v in copy.layers[0].weights)


def test_a_cell_made_frozen_stays_frozen_alone(tmp_path):
    model = sequential(layers.RNN(kar.StackedCells([kar.MogrifierCell(4, trainable=False), kar.LSTMCell(3)])))
    for each in (model, *copies(model, tmp_path)):
        below, above = each.layers[0].cell.cells
        assert not trains(below)
        assert len(trains(above)) == 3
    made = layers.LSTM([4, 3], recurrent_map=maps.Full(trainable=False))
    made.build((None, 5, 4))
    assert [v.trainable for v in made.weights] == [True, False, True] * 2


def test_a_part_may_train_in_a_frozen_layer(tmp_path):
    embedding = layers.TiedEmbedding(6, 4)
    x = keras.Input((5,), dtype="int32")
    mixture = layers.MixtureOfSoftmaxes(2, embedding)
    model = keras.Model(x, mixture(embedding(x)))
    mixture.trainable, embedding.trainable = False, True
    assert len(model.trainable_variables) == 2
    for copy in copies(model, tmp_path):
        # `clone_model` does not share what two layers share.
        copied = copy.get_layer(mixture.name)
        assert trains(copied.prior) == trains(copied.latent) == []
        assert len(trains(copied.embedding)) == len(trains(copy.get_layer(embedding.name))) == 2


def test_no_parts_in_the_config_of_a_layer_that_is_frozen_as_a_whole():
    for make in LAYERS.values():
        layer = make()
        layer.build((None, 5, 4))
        for layer.trainable in (True, False):
            assert "trainable_parts" not in str(layer.get_config())


@pytest.mark.parametrize("make", [
    lambda **k: models.LSTMJump(
        vocabulary_size=9, embedding_units=4, classes=2, units=4, read=2, max_jump=2, max_jumps=2, **k
    ),
    lambda **k: models.SkimOrRead(vocabulary_size=9, embedding_units=4, classes=2, units=4, **k),
], ids=["lstm_jump", "skim_or_read"])  # fmt: skip
def test_frozen_models(make, tmp_path):
    frozen, partly = make(trainable=False), make(cell=None)
    for model in (frozen, partly):
        model(np.ones((2, 7), "int32"))
    assert trains(frozen) == []
    partly.cell.trainable = False
    kept = [v.trainable for v in partly.weights]
    assert len(set(kept)) == 2
    for model, expected in ((frozen, [False] * len(kept)), (partly, kept)):
        model.save(tmp_path / "model.keras")
        assert [v.trainable for v in keras.models.load_model(tmp_path / "model.keras").weights] == expected


@keras.saving.register_keras_serializable(package="tests")
class TwoWays(keras.Model):
    """A model that makes its `Bidirectional` while Keras loads it."""

    def __init__(self, layer, **kwargs):
        super().__init__(**kwargs)
        self.layer = keras.saving.deserialize_keras_object(layer) if isinstance(layer, dict) else layer
        self.both = keras.layers.Bidirectional(self.layer)

    def build(self, input_shape):
        self.both.build(input_shape)

    def call(self, x):
        return self.both(x)

    def get_config(self):
        return {**super().get_config(), "layer": keras.saving.serialize_keras_object(self.layer)}


@pytest.mark.parametrize("make", [
    lambda: layers.RNN(kar.LSTMCell(3)),
    lambda: layers.Skip(kar.GRUCell(3)),
    lambda: layers.Mogrifier([3, 3]),
    lambda: layers.LSTM(3, recurrent_map=maps.LowRank(2)),
    lambda: layers.Mogrifier(cell=kar.StackedCells([kar.LSTMCell(3), kar.LSTMCell(3)])),
], ids=["rnn", "skip", "stack", "map", "nested"])  # fmt: skip
def test_two_directions_share_nothing_after_loading(make, rng, tmp_path):
    x = rng.normal(size=(2, 5, 4)).astype("float32")
    model = TwoWays(make())
    before = model.predict(x, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert len(loaded.weights) == len(model.weights)
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), before)
