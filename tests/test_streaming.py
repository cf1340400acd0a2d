"""`RNN.step`, which a backend may compile: it is never older than the weights, and goes into what a user compiles."""

import copy
import pickle

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import _keras

X = np.random.default_rng(0).normal(size=(2, 3, 5)).astype("float32")


def close(a, b):
    np.testing.assert_allclose(ops.convert_to_numpy(a), ops.convert_to_numpy(b), rtol=1e-5, atol=1e-6)


def built(cell=None, **kwargs):
    layer = kar.RNN(cell or kar.ElmanCell(4), **kwargs)
    layer.build((None, None, 5))
    return layer


def assert_steps_give_one_pass(layer):
    states = None
    for t in range(3):
        output, states = layer.step(X[:, t], states)
    close(output, layer(X))


def test_weights_that_change_between_steps_are_seen(tmp_path):
    model = keras.Sequential([keras.Input((None, 5)), kar.Elman(4)])
    model.compile("sgd", "mse", jit_compile=False)
    layer = model.layers[0]
    first, _ = layer.step(X[:, 0])
    model.save(tmp_path / "model.keras")
    model.fit(X, np.ones((2, 4)), verbose=0)
    assert_steps_give_one_pass(layer)
    assert not np.allclose(*(ops.convert_to_numpy(y) for y in (layer.step(X[:, 0])[0], first)))
    layer.set_weights([w + 0.1 for w in layer.get_weights()])
    assert_steps_give_one_pass(layer)
    model.load_weights(tmp_path / "model.keras")
    close(layer.step(X[:, 0])[0], first)
    loaded = keras.models.load_model(tmp_path / "model.keras").layers[0]
    close(loaded.step(X[:, 0])[0], first)


def test_step_inside_what_a_user_compiles():
    layer = built()
    old = [ops.convert_to_tensor(w) for w in layer.get_weights()]
    expected, _ = layer.step(X[:, 0])
    layer.set_weights([2 * w for w in layer.get_weights()])
    states = layer.get_initial_state(2)

    def step(weights, x, states):
        with keras.StatelessScope(list(zip(layer.weights, weights, strict=True))):
            return layer.step(x, states)[0]

    close(step(old, X[:, 0], states), expected)
    if keras.backend.backend() == "jax":
        import jax

        close(jax.jit(step)(old, X[:, 0], states), expected)
        close(jax.jit(layer.step)(X[:, 0], states)[0], layer.step(X[:, 0])[0])
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        close(tf.function(step)(old, X[:, 0], states), expected)
        compiled = tf.function(layer.step)
        compiled(X[:, 0], states)
        layer.set_weights(old)
        close(compiled(X[:, 0], states)[0], expected)


def test_step_takes_other_batches_dtypes_and_copies_of_the_layer():
    layer = built(kar.LSTMCell(4, dtype="mixed_float16"))
    output, states = layer.step(X[:, 0])
    assert (
        keras.backend.standardize_dtype(output.dtype) == keras.backend.standardize_dtype(states[1].dtype) == "float16"
    )
    close(layer.step(X[:1, 0].astype("float64").tolist())[0], output[:1])
    with _keras.AutocastScope("float16"):
        close(layer.step(ops.convert_to_tensor(X[:, 0]))[0], output)
    with pytest.raises(ValueError, match="expected states"):
        layer.step(X[:1, 0], states)
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        close(other.step(X[:, 0])[0], output)


class Counting(keras.layers.Layer):
    """A cell of a user's own, which counts its steps in a variable."""

    state_size = 5

    def build(self, input_shape):
        self.count = self.add_weight(shape=(), initializer="zeros", trainable=False)

    def call(self, inputs, states):
        self.count.assign(self.count + 1)
        return inputs + self.count, [inputs]


def test_what_a_step_writes_stays_written():
    layer = built(Counting())
    for t in range(3):
        output, _ = layer.step(X[:, t])
        close(output, X[:, t] + t + 1)
    assert float(layer.cell.count.numpy()) == 3


class Plain:
    """A cell that is no layer, so nobody knows what it reads."""

    state_size = 5

    def __init__(self):
        self.weight = keras.Variable(np.ones(5))

    def call(self, inputs, states):
        return inputs * self.weight, [inputs]

    __call__ = call


def test_step_of_a_cell_that_is_no_layer():
    layer = built(Plain())
    for factor in (1, 2):
        layer.cell.weight.assign(factor * np.ones(5))
        close(layer.step(X[:, 0])[0], factor * X[:, 0])
