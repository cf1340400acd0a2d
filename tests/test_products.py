"""The loop knows the weights of our cells: it forms their gradients in few products, and no stranger's."""

import importlib

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import engine
from keras_adaptive_rnn.engine import tuning
from tests.backends import dealt, in_turns
from tests.table import CELLS

pytestmark = in_turns

BACKEND = importlib.import_module(f"keras_adaptive_rnn.engine.{keras.backend.backend()}")
X = np.ones((2, 5, 4), "float32")


class Own(keras.layers.Layer):
    """A cell of a user's own."""

    state_size = 4

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], 4))

    def call(self, inputs, states):
        output = ops.tanh(ops.matmul(inputs, self.kernel) + states[0])
        return output, [output]


# What an engine calls only for a step whose gradients it forms itself.
FORMS = {
    "jax": lambda: (BACKEND.Products, "step"),
    "tensorflow": lambda: (BACKEND.Weights, "product"),
    "torch": lambda: (BACKEND.Products, "matmul_impl"),
}[keras.backend.backend()]()


def forms_products(cell, monkeypatch):
    """Returns whether the loop over a cell forms the gradients of its weights itself."""
    owner, name = FORMS
    calls, usual = [], getattr(owner, name)
    monkeypatch.setattr(owner, name, lambda *args: calls.append(1) or usual(*args))
    monkeypatch.setattr(engine, "native_scan", lambda *args: None)
    # The gradients of weights as small as these would be formed step by step.
    monkeypatch.setattr(tuning, "DEFERRED_GRADIENT_ENTRIES", 0)
    monkeypatch.setattr(tuning, "BATCHED_GRADIENT_ENTRIES", 0)
    layer = kar.RNN(cell)
    layer.build(X.shape)
    engine.gradients(lambda x: ops.sum(layer(x, training=True)), layer.trainable_variables, [X], compiled=True)
    return bool(calls)


# Linear cells multiply before the loop.
MULTIPLYING = [name for name, make in CELLS.items() if not isinstance(make(), kar.cells.LinearCell)]


@pytest.mark.parametrize("name", dealt(MULTIPLYING))
def test_the_loop_forms_the_products_of_our_cells(name, monkeypatch):
    assert forms_products(CELLS[name](), monkeypatch)


@pytest.mark.parametrize("make", [lambda: keras.layers.LSTMCell(4), Own])
def test_the_loop_leaves_other_cells_alone(make, monkeypatch):
    assert not forms_products(make(), monkeypatch)
