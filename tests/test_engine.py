"""The gradients that the engine forms itself are those of a loop whose products are the backend's own."""

import contextlib
import importlib
import math

import keras
import numpy as np
import pytest
from keras import ops, tree

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import engine
from keras_adaptive_rnn.engine import tuning
from keras_adaptive_rnn.testing.case import Case
from tests.cells import CELLS, OPTIONS

# One weight for several rows of inputs: the blocks of an untied low-rank map share a factor.
SHARED = {
    "adaptive_rnn_shared": lambda: kar.AdaptiveRNNCell(
        4, policy_units=2, tied=False, recurrent_map=kar.maps.LowRank(2, tied=True)
    )
}
ALL = {**CELLS, **OPTIONS, **SHARED}
# Products of every shape, weights outside the maps, noise, and cells of Keras inside.
NAMES = [
    "adaptive_lstm",
    *SHARED,
    "deep_rnn",
    "gru_reset_before",
    "low_rank_lstm",
    "mogrifier_around_keras",
    "recurrent_highway",
    "weight_drop_lstm",
    "zoneout",
]
# Sizes from which each backend computes in another way.
BOUNDS = ("BATCHED_GRADIENT_ENTRIES", "DEFERRED_GRADIENT_ENTRIES", "HALVED_MULTIPLICATIONS")
BACKEND = importlib.import_module(f"keras_adaptive_rnn.engine.{keras.backend.backend()}")


@pytest.fixture(autouse=True)
def _several_chunks(monkeypatch):
    for name in ("RECOMPUTED_STEPS", "BACKWARD_STEPS"):
        monkeypatch.setattr(tuning, name, 3)
    monkeypatch.setattr(tuning, "GRADIENT_ROWS", 4)
    for name in BOUNDS:
        monkeypatch.setattr(tuning, name, 0)


def loss_and_gradients(cell, **kwargs):
    keras.utils.set_random_seed(1)
    case = Case(cell(), (2, 7, 4))
    layer = case.layer(kar.RNN, **kwargs)
    mask = np.array([[True] * 7, [True, True, False, True, True, False, False]])
    weights = ops.convert_to_tensor(np.random.default_rng(2).normal(size=(2, 7, case.output_size)).astype("float32"))

    def loss(inputs, *states):
        states = tree.pack_sequence_as(layer.get_initial_state(2), list(states))
        outputs, *last = layer(inputs, initial_state=states, mask=mask, training=True)
        return ops.sum(outputs * weights) + sum(ops.sum(ops.square(s)) for s in tree.flatten(last))

    value, by_variable, by_tensor = engine.gradients(
        loss, layer.trainable_variables, [case.inputs, *case.states], compiled=True
    )
    return [value, *(np.float32(0) if g is None else g for g in [*by_variable, *by_tensor])]


@pytest.mark.parametrize("name", NAMES)
def test_gradients_formed_in_few_products_are_the_same(name, monkeypatch):
    formed = [loss_and_gradients(ALL[name], recompute=recompute) for recompute in (False, True)]
    for bound in BOUNDS:
        monkeypatch.setattr(tuning, bound, math.inf)
    formed.append(loss_and_gradients(ALL[name]))
    monkeypatch.setattr(BACKEND, "override_matmul", lambda form: contextlib.nullcontext())
    plain = loss_and_gradients(ALL[name])
    for found in formed:
        for a, b in zip(plain, found, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5 * max(1, np.abs(a).max()))


def test_large_weights_in_another_form_train_alike(monkeypatch):
    """PyTorch packs weights from a size on that no other test reaches; the others compile."""
    for name in ("REORDERED_ENTRIES", "REORDERED_STEPS"):
        monkeypatch.setattr(tuning, name, 1)
    case = Case(kar.MogrifierCell(5, rounds=2), (12, 6, 4))
    trained = []
    for rnn in (kar.RNN, keras.layers.RNN):
        model = keras.Sequential([keras.Input(case.inputs.shape[1:]), rnn(case.cell())])
        model.compile(keras.optimizers.SGD(0.5), "mse", jit_compile=keras.backend.backend() != "torch")
        model.train_on_batch(case.inputs, case.inputs[:, 0, :1])
        trained.append([*model.get_weights(), model.predict_on_batch(case.inputs)])
    for a, b in zip(*trained, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


LOOPS = [(False, False), (True, False), *([] if keras.backend.backend() == "torch" else [(True, True)])]


@pytest.mark.parametrize(("recompute", "jit"), LOOPS)
def test_a_length_that_no_graph_knows_trains_alike(recompute, jit):
    rng = np.random.default_rng(0)
    case = Case(kar.MogrifierCell(4, rounds=2), (2, 7, 3))
    batches = [tuple(rng.normal(size=(2, steps, n)).astype("float32") for n in (3, 4)) for steps in (2, 3, 8)]
    trained = []
    for rnn, options, compiled in ((kar.RNN, {"recompute": recompute}, jit), (keras.layers.RNN, {}, False)):
        model = keras.Sequential([keras.Input((None, 3)), rnn(case.cell(), return_sequences=True, **options)])
        model.compile(keras.optimizers.SGD(0.5), "mse", jit_compile=compiled)
        model.fit((batch for batch in batches), steps_per_epoch=len(batches), verbose=0)
        trained.append(model.get_weights())
    for a, b in zip(*trained, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("recompute", [False, True])
def test_no_steps_have_a_gradient_of_zero(recompute):
    layer = kar.RNN(kar.LSTMCell(3), recompute=recompute)
    layer.build((2, None, 4))

    def loss(x):
        return ops.sum(layer(x, training=True))

    value, by_variable, _ = engine.gradients(
        loss, layer.trainable_variables, [np.zeros((2, 0, 4), "float32")], compiled=True
    )
    assert float(value) == 0
    assert all(g is None or not np.any(ops.convert_to_numpy(g)) for g in by_variable)


def squared_gradient(rnn):
    """Returns the gradient by the inputs of the squared gradient by the inputs."""
    case = Case(kar.LSTMCell(3), (2, 4, 2))
    layer = case.layer(rnn, return_state=False)
    if keras.backend.backend() == "jax":
        import jax

        first = jax.grad(lambda x: ops.sum(ops.square(layer(x))))
        return jax.grad(lambda x: ops.sum(ops.square(first(x))))(ops.convert_to_tensor(case.inputs))
    if keras.backend.backend() == "torch":
        import torch

        x = torch.tensor(case.inputs, requires_grad=True)
        (first,) = torch.autograd.grad(layer(x).square().sum(), x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), x)[0].detach()
    import tensorflow as tf

    @tf.function
    def second(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(layer(x) ** 2)
            squared = tf.reduce_sum(inner.gradient(y, x) ** 2)
        return outer.gradient(squared, x)

    return second(tf.convert_to_tensor(case.inputs))


def test_second_derivatives_are_right_or_an_error():
    if keras.backend.backend() == "tensorflow":
        with pytest.raises(NotImplementedError, match="unroll=True"):
            squared_gradient(kar.RNN)
    else:
        ours, expected = (ops.convert_to_numpy(squared_gradient(rnn)) for rnn in (kar.RNN, keras.layers.RNN))
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=1e-5)
