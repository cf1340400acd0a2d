"""Our cells in `keras.layers.RNN`, which prepares their weights once and calls their `call` where that is enough."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import engine

BACKEND = keras.backend.backend()
X = np.random.default_rng(0).normal(size=(2, 4, 3)).astype("float32")
CELLS = {
    "lstm": lambda **options: kar.LSTMCell(5, **options),
    "mogrifier": lambda **options: kar.MogrifierCell(5, rank=2, **options),
    "dropped": lambda **options: kar.WeightDropLSTMCell(5, **options),
    "stack": lambda **options: kar.StackedCells([kar.GRUCell(5, **options) for _ in range(2)]),
}


def built(layer):
    layer.build(X.shape)
    rng = np.random.default_rng(1)
    layer.set_weights([rng.normal(size=w.shape) for w in layer.weights])
    return layer


def value_and_gradients(layer):
    return engine.gradients(lambda x: ops.sum(ops.square(layer(x))), layer.trainable_variables, [X], compiled=True)


@pytest.mark.parametrize("mode", [None, "full"])
@pytest.mark.parametrize("name", CELLS)
def test_gradients_are_those_of_our_loop(name, mode):
    if mode is not None and BACKEND != "torch":
        pytest.skip("Keras cannot compute steps of `keras.layers.RNN` again, of any cell")
    expected = value_and_gradients(built(kar.RNN(CELLS[name]())))
    with keras.RematScope(mode=mode):
        layer = built(keras.layers.RNN(CELLS[name]()))
    for a, b in zip(keras.tree.flatten(value_and_gradients(layer)), keras.tree.flatten(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


class Failing(kar.LSTMCell):
    """Fails in the third step."""

    steps = 0

    def step(self, projected, states, run):
        self.steps += 1
        if self.steps == 3:
            raise RuntimeError("third")
        return super().step(projected, states, run)


def test_a_loop_that_fails_leaves_nothing_prepared():
    cell = Failing(5, dropout=0.5)
    layer = built(keras.layers.RNN(cell, unroll=True))
    with pytest.raises(RuntimeError, match="third"):
        layer(X, training=True)
    cell.set_weights([np.zeros(w.shape) for w in cell.weights])
    output, _ = cell(X[:, 0], cell.get_initial_state(2), training=True)
    np.testing.assert_array_equal(ops.convert_to_numpy(output), 0)


def test_a_cell_of_another_type_computes_in_its_own():
    inner = built(keras.layers.RNN(kar.LSTMCell(5, dtype="bfloat16"), return_sequences=True))
    outer = built(kar.RNN(kar.LSTMCell(5, dtype="bfloat16"), return_sequences=True, dtype="bfloat16"))
    found, expected = (ops.convert_to_numpy(ops.cast(layer(X), "float32")) for layer in (inner, outer))
    np.testing.assert_allclose(found, expected, atol=0.03)
    assert inner.cell.compute_dtype == "bfloat16"


@pytest.mark.skipif(BACKEND != "torch", reason="hooks of PyTorch")
def test_hooks_see_every_step():
    layer, seen = built(keras.layers.RNN(kar.LSTMCell(5))), []
    layer.cell.register_forward_hook(lambda cell, inputs, outputs: seen.append(outputs))
    layer(X)
    # Keras also calls the first step to see the size of its output.
    assert len(seen) == 5
