"""Cells that draw their masks with Keras's mix-in: a mask lasts as long as its pass, and no other pass sees it."""

import threading

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import engine
from keras_adaptive_rnn._keras import DropoutRNNCell
from tests.backends import in_turns

X = np.ones((2, 4, 3), "float32")


class AlwaysDropping(keras.layers.SimpleRNNCell):
    """A user's cell that drops units in inference as well."""

    def call(self, sequence, states, training=False):
        return super().call(sequence, states, training=True)


class OfOneSize(DropoutRNNCell, keras.layers.Layer):
    """A user's cell with the mix-in alone, which asks for its masks in every call."""

    def __init__(self, units, dropout=0.0, recurrent_dropout=0.0, **kwargs):
        super().__init__(**kwargs)
        self.state_size, self.dropout, self.recurrent_dropout = [units], dropout, recurrent_dropout
        self.seed_generator = keras.random.SeedGenerator(1)

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], self.state_size[0]), initializer="ones")

    def call(self, inputs, states, training=False):
        mask, recurrent = self.get_dropout_mask(inputs), self.get_recurrent_dropout_mask(states[0])
        if training and mask is not None:
            inputs = inputs * mask
        h = states[0] if recurrent is None or not training else states[0] * recurrent
        output = ops.tanh(ops.matmul(inputs, self.kernel) * 0.1 + h)
        return output, [output]


CELLS = {
    "elman": lambda: keras.layers.SimpleRNNCell(5, dropout=0.5),
    "elman_recurrent": lambda: keras.layers.SimpleRNNCell(5, recurrent_dropout=0.5),
    "gru": lambda: keras.layers.GRUCell(5, dropout=0.5, recurrent_dropout=0.5),
    "of_user": lambda: OfOneSize(5, dropout=0.5, recurrent_dropout=0.5),
    "always": lambda: AlwaysDropping(5, dropout=0.5),
    "wrapped": lambda: kar.MogrifierCell(cell=keras.layers.SimpleRNNCell(5, dropout=0.5)),
    "stacked": lambda: kar.StackedCells([keras.layers.SimpleRNNCell(5, dropout=0.5) for _ in range(2)]),
    "stacked_by_keras": lambda: [keras.layers.SimpleRNNCell(5, dropout=0.5) for _ in range(2)],
}


@in_turns
@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("options", [{}, {"recompute": True}, {"unroll": True}], ids=str)
def test_models_train_and_predict_in_turns(name, options):
    model = keras.Sequential([keras.Input((4, 3)), kar.RNN(CELLS[name](), **options), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    for rows in (2, 3):
        x, y = np.ones((rows, 4, 3), "float32"), np.zeros((rows, 1), "float32")
        model.predict(x, verbose=0)
        model.fit(x, y, verbose=0)


@in_turns
@pytest.mark.parametrize("name", CELLS)
def test_batches_of_any_size_take_turns(name):
    layer = kar.RNN(CELLS[name](), return_sequences=True)
    for training, rows in ((False, 2), (True, 3), (False, 1), (True, 2), (False, 3)):
        assert tuple(layer(X[:1].repeat(rows, 0), training=training).shape) == (rows, 4, 5)
        layer.step(X[:1, 0].repeat(rows + 1, 0))


@in_turns
@pytest.mark.parametrize("name", [name for name in CELLS if name != "always"])
def test_each_training_pass_draws_and_inference_does_not_drop(name):
    layer = kar.RNN(CELLS[name]())
    quiet, *noisy = (ops.convert_to_numpy(layer(X, training=training)) for training in (False, True, True, True, True))
    np.testing.assert_array_equal(quiet, ops.convert_to_numpy(layer(X)))
    assert len({a.tobytes() for a in [quiet, *noisy]}) > 2


def test_a_cell_that_drops_in_inference_does_so_as_in_keras():
    cell = AlwaysDropping(5, dropout=0.5)
    for rnn in (kar.RNN, keras.layers.RNN):
        layer = rnn(cell)
        assert len({ops.convert_to_numpy(layer(X)).tobytes() for _ in range(8)}) > 1, rnn


@in_turns
@pytest.mark.parametrize("name", CELLS)
def test_recomputed_steps_have_the_masks_of_their_pass(name):
    cell = CELLS[name]()
    gradients = []
    x = np.random.default_rng(0).normal(size=(2, 40, 3)).astype("float32")
    plain = kar.RNN(cell)
    plain.build((2, 40, 3))
    seeds = [v for v in plain.non_trainable_variables if "seed" in v.path]
    for recompute in (False, True):
        layer = kar.RNN(plain.cell, recompute=recompute)
        layer.build((2, 40, 3))
        # Without a seed of the cell, Keras's dropout on PyTorch reads the global generator.
        keras.utils.set_random_seed(1)
        for seed in seeds:
            seed.assign([1, 2])
        _, found, _ = engine.gradients(
            lambda x, layer=layer: ops.sum(layer(x, training=True) ** 2), layer.trainable_variables, [x], compiled=True
        )
        # Another pass must not change what a gradient recomputes.
        layer(X, training=True)
        gradients.append(found)
    for a, b in zip(*gradients, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_a_pass_leaves_nothing_in_the_cell():
    cell = keras.layers.SimpleRNNCell(5, dropout=0.5, recurrent_dropout=0.5)
    layer = kar.RNN(cell)
    for training in (False, True):
        layer(X, training=training)
        layer.step(X[:, 0])
        assert vars(cell).get("_dropout_mask") is None
        assert vars(cell).get("_recurrent_dropout_mask") is None


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="a seed that two threads change belongs to one of them")
def test_threads_do_not_see_each_others_masks():
    layer = kar.RNN(AlwaysDropping(5, dropout=0.5))
    layer(X)
    errors, start = [], threading.Barrier(4)

    def run(rows):
        start.wait()
        for _ in range(10):
            try:
                assert tuple(layer(np.ones((rows, 4, 3), "float32")).shape) == (rows, 5)
            except Exception as error:
                errors.append(error)

    threads = [threading.Thread(target=run, args=(rows,)) for rows in (1, 2, 3, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[:2]
