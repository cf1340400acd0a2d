"""Batches without rows, and sequences without steps: the shapes of `keras.layers.RNN`."""

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import engine
from tests.backends import dealt

LAYERS = {
    "lstm": lambda **kwargs: kar.LSTM(4, **kwargs),
    "recomputed": lambda **kwargs: kar.LSTM(4, recompute=True, **kwargs),
    "of_keras_cell": lambda **kwargs: kar.RNN(keras.layers.GRUCell(4, dropout=0.5), **kwargs),
    "skip": lambda **kwargs: kar.Skip(kar.GRUCell(4), **kwargs),
    "skim": lambda **kwargs: kar.Skim(kar.GRUCell(4), kar.GRUCell(2), **kwargs),
    "variable_computation": lambda **kwargs: kar.VariableComputation(4, **kwargs),
    "mlstm": lambda **kwargs: kar.MLSTM(4, num_heads=2, **kwargs),
    "gated_delta_net": lambda **kwargs: kar.GatedDeltaNet(4, num_heads=2, **kwargs),
    "layers": lambda **kwargs: kar.DeepRNN(4, depth=3, schedule="layers", **kwargs),
    "wavefront": lambda **kwargs: kar.DeepRNN(4, depth=3, schedule="wavefront", **kwargs),
}


@pytest.mark.parametrize("name", dealt(LAYERS))
@pytest.mark.parametrize("return_sequences", [False, True])
def test_a_batch_without_rows(name, return_sequences):
    layer, shape = LAYERS[name](return_sequences=return_sequences), (0, 3, 4) if return_sequences else (0, 4)
    x, mask = np.zeros((0, 3, 2), "float32"), np.zeros((0, 3), bool)
    for kwargs in ({}, {"mask": mask}, {"training": True}):
        assert tuple(layer(x, **kwargs).shape) == shape, kwargs
    model = keras.Sequential([keras.Input((None, 2)), layer])
    assert model.predict_on_batch(x).shape == shape
    # What an empty batch has left behind does not reach the next one.
    y = np.random.default_rng(0).normal(size=(2, 3, 2)).astype("float32")
    again = keras.layers.deserialize(keras.layers.serialize(layer))
    again(y)
    again.set_weights(layer.get_weights())
    np.testing.assert_allclose(model.predict_on_batch(y), keras.ops.convert_to_numpy(again(y)), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("return_sequences", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_a_skip_rnn_without_steps_returns_its_initial_state(return_sequences, masked):
    layer = LAYERS["skip"](return_sequences=return_sequences)
    found = layer(np.zeros((2, 0, 3), "float32"), mask=np.zeros((2, 0), bool) if masked else None)
    assert tuple(found.shape) == ((2, 0, 4) if return_sequences else (2, 4))
    assert not keras.ops.convert_to_numpy(found).any()


@pytest.mark.parametrize("name", ["lstm", "skip"])
def test_the_gradient_of_a_batch_without_rows_is_zero(name):
    layer = LAYERS[name]()
    layer.build((None, 3, 2))
    variables = layer.trainable_variables
    x = np.zeros((0, 3, 2), "float32")
    _, found, _ = engine.gradients(lambda x: keras.ops.sum(layer(x, training=True)), variables, [x])
    assert all(gradient is None or not gradient.any() for gradient in found)
