"""Masks reach the layers after ours, in versions of Keras whose own recurrent layers hand them on and in others."""

import contextlib
from functools import partial

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar

IDS = np.array([[1, 2, 3, 0, 0], [4, 0, 0, 0, 0]])
LAYERS = {
    "layer": lambda: kar.Mogrifier(3, return_sequences=True),
    "of_keras_cell": lambda: kar.RNN(keras.layers.GRUCell(3), return_sequences=True),
    "bidirectional": lambda: keras.layers.Bidirectional(kar.Mogrifier(3, return_sequences=True)),
    "two_layers": lambda: keras.layers.Bidirectional(
        kar.LSTM(3, return_sequences=True), backward_layer=kar.GRU(3, return_sequences=True, go_backwards=True)
    ),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("how", ["functional", "eager", "loaded"])
def test_the_next_layer_gets_the_mask(name, how, tmp_path):
    embedding, ours, after = keras.layers.Embedding(5, 3, mask_zero=True), LAYERS[name](), keras.layers.LSTM(2)
    inputs = keras.Input((None,))
    model = keras.Model(inputs, after(ours(embedding(inputs))))
    if how == "functional":
        found = model(IDS)
    elif how == "eager":
        found = after(ours(embedding(IDS)))
    else:
        model.save(tmp_path / "model.keras")
        found = keras.saving.load_model(tmp_path / "model.keras")(IDS)
    mask = ops.convert_to_tensor(IDS != 0)
    expected = after(ours(embedding(IDS), mask=mask), mask=mask)
    np.testing.assert_allclose(ops.convert_to_numpy(found), ops.convert_to_numpy(expected), rtol=1e-5, atol=1e-6)
    unmasked = after(ours(embedding(IDS), mask=mask), mask=ops.ones_like(mask))
    assert np.abs(ops.convert_to_numpy(unmasked) - ops.convert_to_numpy(expected)).max() > 1e-5


def penalized(x, present):
    outputs = x + kar.GRU(2, return_sequences=True)(x, mask=present)
    return kar.ActivationRegularization()(outputs, outputs, mask=present)[:, 0]


def rebuilt(x, present):
    states = kar.GRU(2, return_sequences=True)(x, mask=present)
    return kar.SequenceAuxiliary(kar.GRUCell(2), 3, anchors=4, seed=0)(states, x, mask=present)[:, 0]


def pointed_at(x, present):
    states = kar.GRU(4, return_sequences=True)(x[:, :1])
    source = keras.ops.cast(present, "int32")
    return kar.layers.PointerGenerator(3, 2)(states, x, source, encoded_mask=present)[:, 0]


READERS = {
    "mogrifier": lambda x, present: kar.Mogrifier(3)(x, mask=present),
    "linear": lambda x, present: kar.MinGRU(3)(x, mask=present),
    "skip": lambda x, present: kar.Skip(kar.GRUCell(3), go_backwards=True)(x, mask=present),
    "of_keras_cell": lambda x, present: kar.RNN(keras.layers.GRUCell(3))(x, mask=present),
    "bidirectional": lambda x, present: keras.layers.Bidirectional(kar.LSTM(3))(x, mask=present),
    "penalized": penalized,
    "rebuilt": rebuilt,
    "pointed_at": pointed_at,
}


@pytest.mark.parametrize("name", READERS)
def test_masked_steps_may_hold_nan(name):
    zeros, nan = (after_a_step(READERS[name], missing) for missing in (0.0, np.nan))
    for expected, weight in zip(zeros, nan, strict=True):
        np.testing.assert_allclose(weight, expected, rtol=1e-6)


def after_a_step(reads, missing):
    """Returns the weights of a model after a step of training on data whose masked steps hold what is `missing`."""
    keras.utils.set_random_seed(0)
    mask = np.arange(5) < np.array([[2], [5], [1]])
    inputs, present = keras.Input((None, 2)), keras.Input((None,), dtype="bool")
    model = keras.Model([inputs, present], reads(inputs, present))
    model.compile("sgd", "mse")
    x = np.where(mask[..., None], np.linspace(-1, 1, 30).reshape(3, 5, 2), missing)
    model.train_on_batch([x, mask], np.ones((3, model.output_shape[-1])))
    return model.get_weights()


@pytest.mark.skipif(keras.backend.backend() != "torch", reason="Keras's RematScope fails on JAX and TensorFlow")
@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.parametrize(
    "layer", [partial(kar.LSTM, seed=3), lambda units, dropout, **kwargs: kar.Skip(kar.GRUCell(units), **kwargs)]
)
def test_rematerialized_layers_have_the_mask_the_states_and_the_noise_of_their_pass(layer, noise):
    def build(scope):
        inputs = keras.Input((None,))
        embedded = keras.layers.Embedding(5, 3, mask_zero=True)(inputs)
        with scope:
            h, *states = layer(4, dropout=noise, return_sequences=True, return_state=True)(embedded)
            h = layer(4, dropout=noise)(h, initial_state=states)
        # Outside the scope: Keras would rematerialize the model, too, and draw other noise for that.
        return keras.Model(inputs, keras.layers.Dense(1)(h))

    plain = build(contextlib.nullcontext())
    again = build(keras.RematScope(mode="full"))
    again.set_weights(plain.get_weights())
    trained = []
    for model in (plain, again):
        model.compile(keras.optimizers.SGD(1.0), "mse")
        keras.utils.set_random_seed(1)
        model.train_on_batch(IDS, np.ones((2, 1), "float32"))
        trained.append(model.get_weights())
    for a, b in zip(*trained, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5)
