"""`LSTM` and `GRU` on cuDNN: when they call it, and with what; a plain loop stands for cuDNN, as no test has a GPU."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn.engine import tuning
from keras_adaptive_rnn.layers import fused
from tests.backends import in_turns

pytestmark = in_turns

BACKEND = keras.backend.backend()
LAYERS = {"lstm": kar.LSTM} if BACKEND == "jax" else {"lstm": kar.LSTM, "gru": kar.GRU}  # JAX has no GRU on cuDNN.


def lstm_step(x, states, kernel, recurrent_kernel, bias):
    h, c = states
    i, f, j, o = ops.split(x @ kernel + h @ recurrent_kernel + bias, 4, axis=-1)
    c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(j)
    h = ops.sigmoid(o) * ops.tanh(c)
    return h, [h, c]


def gru_step(x, states, kernel, recurrent_kernel, bias):
    (h,) = states
    x_z, x_r, x_h = ops.split(x @ kernel + bias[0], 3, axis=-1)
    h_z, h_r, h_h = ops.split(h @ recurrent_kernel + bias[1], 3, axis=-1)
    z = ops.sigmoid(x_z + h_z)
    h = z * h + (1 - z) * ops.tanh(x_h + ops.sigmoid(x_r + h_r) * h_h)
    return h, [h]


STEPS = {"lstm": lstm_step, "gru": gru_step}


@pytest.fixture
def calls(monkeypatch):
    """Lets a plain loop stand for cuDNN, wherever it may run; returns the list of what it is called with."""
    calls = []

    def of_kind(kind, sequences=None):
        def loop(sequences, *states_and_mask, kernel, recurrent_kernel, bias, return_sequences, go_backwards, **others):
            *states, mask = states_and_mask
            assert mask is None
            # With it, Keras's functions return the outputs in different orders.
            assert not go_backwards
            calls.append({"kind": kind, "return_sequences": return_sequences, **others})
            weights = [ops.convert_to_tensor(each) for each in (kernel, recurrent_kernel, bias)]
            outputs = []
            for t in range(sequences.shape[1]):
                output, states = STEPS[kind](sequences[:, t], states, *weights)
                outputs.append(output)
            return outputs[-1], ops.stack(outputs, axis=1) if return_sequences else outputs[-1][:, None], states

        return loop

    monkeypatch.setattr(fused, "cudnn_loop", of_kind)
    monkeypatch.setattr(tuning, "CUDNN_BACKENDS", ("jax", "tensorflow", "torch"))
    return calls


def pair(kind, **arguments):
    """Returns two layers of the same weights, of which the first may use cuDNN."""
    layers = [LAYERS[kind](5, seed=1, use_cudnn=use, **arguments) for use in ("auto", False)]
    for layer in layers:
        layer.build((2, 6, 3))
    layers[1].set_weights(layers[0].get_weights())
    return layers


def numpy(structure):
    return [np.asarray(ops.convert_to_numpy(each)) for each in keras.tree.flatten(structure)]


def close(ours, theirs):
    for a, b in zip(numpy(ours), numpy(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"return_sequences": True, "return_state": True},
        {"return_sequences": True, "go_backwards": True},
        {"return_state": True, "stateful": True},
        {"return_sequences": True, "dropout": 0.5},
        {"trainable_initial_state": True},
    ],
    ids=str,
)
def test_the_numbers_are_those_of_the_loop(kind, arguments, calls, rng):
    layers = pair(kind, **arguments)
    x = rng.normal(size=(2, 6, 3)).astype("float32")
    for training in (False, True):
        close(*(layer(x, training=training) for layer in layers))
    assert len(calls) == 2
    assert calls[0]["kind"] == kind
    assert calls[0]["activation"] is keras.activations.tanh
    if not layers[0].stateful:
        states = [rng.normal(size=(2, 5)).astype("float32") for _ in layers[0].cell.state_size]
        close(*(layer(x, initial_state=states) for layer in layers))


@pytest.mark.parametrize("kind", LAYERS)
def test_a_model_trains_and_is_saved_as_without(kind, calls, rng, tmp_path):
    x, y = rng.normal(size=(8, 6, 3)).astype("float32"), rng.normal(size=(8, 5)).astype("float32")
    models = []
    for layer in pair(kind):
        model = keras.Sequential([keras.Input((6, 3)), layer])
        model.compile("sgd", "mse", jit_compile=False)
        model.fit(x, y, batch_size=4, epochs=2, shuffle=False, verbose=0)
        models.append(model)
    assert calls
    close(*(model.get_weights() for model in models))
    models[0].save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert again.layers[0].use_cudnn == "auto"
    close(again.predict(x, verbose=0), models[1].predict(x, verbose=0))


BEYOND = {
    "activation": {"activation": "relu"},
    "recurrent_activation": {"recurrent_activation": "hard_sigmoid"},
    "use_bias": {"use_bias": False},
    "recurrent_dropout": {"recurrent_dropout": 0.1},
    "unroll": {"unroll": True},
    "recompute": {"recompute": True},
    "layer_normalization": {"layer_normalization": True},
    "a single layer": {"units": [4, 5]},
}


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("what", BEYOND)
def test_what_cudnn_has_not_runs_in_a_loop_or_is_refused(kind, what, calls):
    arguments = {"units": 4, **BEYOND[what]}
    LAYERS[kind](**arguments)(np.zeros((2, 6, 3), "float32"), training=True)
    assert not calls
    with pytest.raises(ValueError, match=rf"cannot run with `use_cudnn=True`: cuDNN .*{what}"):
        LAYERS[kind](**arguments, use_cudnn=True)(np.zeros((2, 6, 3), "float32"))


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("name", ["kernel_map", "recurrent_map"])
def test_other_maps_run_in_a_loop_or_are_refused(kind, name, calls):
    LAYERS[kind](4, **{name: kar.maps.LowRank(2)})(np.zeros((2, 6, 3), "float32"))
    assert not calls
    with pytest.raises(ValueError, match=rf"cuDNN reads dense weights, and {name} is LowRank"):
        LAYERS[kind](4, **{name: kar.maps.LowRank(2)}, use_cudnn=True)(np.zeros((2, 6, 3), "float32"))


@pytest.mark.parametrize("arguments", [{"tied_gates": True}, {"cell_clip": 1.0}, {"projection_units": 2}], ids=str)
def test_options_of_our_lstm_run_in_a_loop(arguments, calls):
    kar.LSTM(4, **arguments)(np.zeros((2, 6, 3), "float32"))
    assert not calls


@pytest.mark.parametrize("kind", LAYERS)
def test_a_masked_sequence_runs_in_a_loop_or_is_refused(kind, calls, rng):
    layers = pair(kind, return_sequences=True)
    x, mask = rng.normal(size=(2, 6, 3)).astype("float32"), np.arange(6) < np.array([[6], [4]])
    close(*(layer(x, mask=mask) for layer in layers))
    assert not calls
    layer = LAYERS[kind](4, use_cudnn=True)
    layer(x)
    assert len(calls) == 1
    with pytest.raises(
        ValueError, match=r"a mask or resets with `use_cudnn=True`.* Received: a mask of shape \(2, 6\)"
    ):
        layer(x, mask=mask)


@pytest.mark.parametrize("kind", LAYERS)
def test_no_steps_run_in_a_loop(kind, calls):
    """Keras's function for cuDNN raises an error on PyTorch."""
    layer = LAYERS[kind](4, return_sequences=True)
    assert layer(np.zeros((2, 0, 3), "float32")).shape == (2, 0, 4)
    assert not calls


@pytest.mark.skipif(BACKEND != "jax", reason="elsewhere cuDNN is faster")
def test_on_jax_cudnn_runs_on_demand(monkeypatch, rng):
    monkeypatch.setattr(fused, "cudnn_loop", lambda kind, sequences=None: "there is one")
    assert kar.LSTM(4)._cudnn() is None
    assert kar.LSTM(4, use_cudnn=True)._cudnn() == "there is one"
    with pytest.raises(ValueError, match=r"cannot run with `use_cudnn=True`: JAX has no GRU on cuDNN"):
        kar.GRU(4, use_cudnn=True)(rng.normal(size=(2, 6, 3)))


def test_quantized_weights_run_in_a_loop(calls):
    layer, x = kar.LSTM(4), np.zeros((2, 6, 3), "float32")
    layer(x)
    layer.cell.kernel_map.quantize("int8")
    layer(x)
    assert len(calls) == 1


def test_without_a_gpu_nothing_is_called(rng):
    if fused.cudnn_loop("lstm") is not None:
        pytest.skip("there is a GPU")
    with pytest.raises(ValueError, match=r"cannot run with `use_cudnn=True`: Keras has no cuDNN here"):
        kar.LSTM(4, use_cudnn=True)(rng.normal(size=(2, 6, 3)))


@pytest.mark.skipif(BACKEND != "tensorflow", reason="XLA on TensorFlow compiles no operation of cuDNN")
def test_tensorflow_does_not_compile_it_with_xla(calls):
    assert not kar.LSTM(4).supports_jit
    assert kar.LSTM(4, use_cudnn=False).supports_jit
    assert kar.LSTM(4, tied_gates=True).supports_jit
