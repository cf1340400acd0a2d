"""Training that is resumed ends where training that was not stopped ends."""

import os
import signal
import subprocess
import sys
import warnings

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import callbacks, layers, maps
from tests.backends import alternating

pytestmark = alternating

X = np.random.default_rng(0).normal(size=(12, 3, 5)).astype("float32")
Y = X[:, 0, :1]


def compiled(*parts, batch_size=None):
    model = keras.Sequential([keras.Input((3, 5), batch_size=batch_size), *parts, keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.05), "mse")
    return model


def fit(model, **kwargs):
    model.fit(X, Y, batch_size=4, shuffle=False, verbose=0, **kwargs)


def assert_same_weights(ours, theirs):
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a, b)


NOISY = {
    "cell_in_keras_rnn": lambda: keras.layers.RNN(kar.ZoneoutCell(4, recurrent_dropout=0.3)),
    "bidirectional": lambda: keras.layers.Bidirectional(layers.LSTM(3, recurrent_map=maps.DropConnect(0.4))),
    "layer_with_noise": lambda: layers.AdaptiveRNN(3, policy_units=2, dropout=0.2, output_dropout=0.4),
}


@pytest.mark.parametrize("make", NOISY.values(), ids=NOISY)
def test_noise_goes_on_after_loading(make, tmp_path):
    model = compiled(make())
    fit(model)
    model.save(tmp_path / "model.keras")
    model.save_weights(tmp_path / "model.weights.h5")
    fit(model)
    loaded = keras.models.load_model(tmp_path / "model.keras")
    fit(loaded)
    assert_same_weights(loaded.get_weights(), model.get_weights())
    # Weights alone, in a model whose generators have other seeds.
    other = compiled(make())
    other.optimizer.build(other.trainable_variables)
    other.load_weights(tmp_path / "model.weights.h5")
    fit(other)
    assert_same_weights(other.get_weights(), model.get_weights())


class Kill(keras.callbacks.Callback):
    """Ends the process as if its machine had gone, in the middle of the second epoch."""

    def __init__(self):
        super().__init__()
        self.epoch = 0

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch

    def on_train_batch_begin(self, batch, logs=None):
        if (self.epoch, batch) == (1, 2):
            os.kill(os.getpid(), signal.SIGKILL)


def train(folder, seed, *others):
    """Trains for three epochs, from the backup in `folder` if there is one, and returns the weights."""
    keras.utils.set_random_seed(seed)
    cell = kar.SkimCell(kar.GRUCell(4, dropout=0.3), kar.GRUCell(2))
    model = compiled(layers.RNN(cell, stateful=True, return_sequences=True), layers.Elman(3), batch_size=4)
    anneal = callbacks.Annealing("temperature", lambda epoch: 0.8**epoch)
    backup = keras.callbacks.BackupAndRestore(folder)
    fit(model, epochs=3, callbacks=[backup, callbacks.LSUV(X[:4], seed=0, tolerance=0.1), anneal, *others])
    states = [keras.ops.convert_to_numpy(v) for v in model.layers[0].variables]
    return model.get_weights() + states


def test_a_killed_run_ends_like_one_that_was_not(tmp_path):
    command = "import sys; from tests.test_resume import Kill, train; train(sys.argv[1], 0, Kill())"
    killed = subprocess.run([sys.executable, "-c", command, tmp_path / "killed"], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert list((tmp_path / "killed").iterdir())
    # What the resumed run draws before it restores the backup does not matter.
    resumed = train(tmp_path / "killed", 1)
    assert_same_weights(resumed, train(tmp_path / "whole", 0))


def test_damaged_files_load_nothing(tmp_path):
    model = compiled(layers.Mogrifier(4))
    model.save(tmp_path / "model.keras")
    whole = (tmp_path / "model.keras").read_bytes()
    for name, content in {
        "cut": whole[: len(whole) // 2],
        "flipped": whole[:2000] + bytes(b ^ 255 for b in whole[2000:2100]) + whole[2100:],
        "empty": b"",
    }.items():
        (tmp_path / f"{name}.keras").write_bytes(content)
        with pytest.raises(Exception, match=r"(?i)zip|file|crc|decode|json"):
            keras.models.load_model(tmp_path / f"{name}.keras")


def test_hostile_files_run_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("KAR_RAN", "")
    run = lambda x: [x, __import__("os").environ.update(KAR_RAN="yes")][0]  # noqa: E731 - Keras saves its code.
    path = tmp_path / "model.keras"
    policy = keras.Sequential([keras.layers.Dense(5 + 4 + 4), keras.layers.Lambda(run)])
    model = keras.Sequential([keras.Input((3, 5)), layers.AdaptiveDense(4, policy=policy)])
    model.save(path)
    os.environ["KAR_RAN"] = ""
    with pytest.raises(TypeError, match=r"`safe_mode=False`"):
        keras.models.load_model(path)
    assert not os.environ["KAR_RAN"]
    # It would have run.
    keras.models.load_model(path, safe_mode=False)(X)
    assert os.environ["KAR_RAN"]
    # In the place of a cell.
    config = keras.saving.serialize_keras_object(layers.RNN(kar.SkipCell(kar.GRUCell(4))))
    config["config"]["cell"]["config"]["cell"] = keras.saving.serialize_keras_object(policy)
    with pytest.raises(TypeError, match=r"`safe_mode=False`"):
        keras.saving.deserialize_keras_object(config)
    # Activations are never loaded from code, whatever `safe_mode` is.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras advises against it.
        config = keras.saving.serialize_keras_object(kar.ElmanCell(4, activation=run))
    with pytest.raises(TypeError, match=r"argument `activation`"):
        keras.saving.deserialize_keras_object(config, safe_mode=False)
