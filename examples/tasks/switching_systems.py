"""Switching systems: an input says which of four laws of motion applies.

A state of two numbers moves by one of four damped rotations, named by an input. The network reads the name and a push,
and predicts the position. In an adaptive LSTM, a small policy that sees the input rescales the matrices at each time
step; an LSTM with as many weights must make do with one set. The error is relative to the variance of the position.
"""

import keras
import numpy as np

from examples.tasks import _task
from keras_adaptive_rnn.layers import LSTM, AdaptiveLSTM


def draw(count, length, rng):
    """Returns laws and pushes, `[count, length, 6]`, and positions, `[count, length, 2]`."""
    angles, damping = np.array([0.3, -0.5, 1.0, 0.0]), np.array([0.98, 0.95, 0.9, 0.7])
    turn = np.stack([np.cos(angles), -np.sin(angles), np.sin(angles), np.cos(angles)], axis=-1).reshape(4, 2, 2)
    laws = np.repeat(rng.integers(4, size=(count, -(-length // 5))), 5, axis=1)[:, :length]
    pushes, positions = rng.normal(0, 0.5, size=(count, length, 2)), np.zeros((count, length + 1, 2))
    for t in range(length):
        law = laws[:, t]
        moved = np.einsum("bij,bj->bi", turn[law], positions[:, t])
        positions[:, t + 1] = damping[law, None] * moved + pushes[:, t]
    return np.concatenate([np.eye(4)[laws], pushes], axis=-1), positions[:, 1:]


def main(small=False):
    length, count, epochs, units = (8, 128, 4, 8) if small else (40, 2000, 25, 24)
    rng = np.random.default_rng(0)
    (x, y), (x_test, y_test) = draw(count, length, rng), draw(500, length, rng)
    adaptive = AdaptiveLSTM(units, policy_units=8, return_sequences=True)
    layers = {"AdaptiveLSTM": adaptive, "LSTM": LSTM(_task.lstm_units(adaptive, 6), return_sequences=True)}
    rows, losses = {"guess the mean": {"error": 1.0}}, {}
    for name, layer in layers.items():
        model = keras.Sequential([keras.Input((None, 6)), layer, keras.layers.Dense(2)])
        model.compile(keras.optimizers.Adam(0.005, clipnorm=1.0), "mse")
        losses[name] = _task.fit(name, model, x, y, batch_size=64, epochs=epochs)["loss"]
        error = model.evaluate(x_test, y_test, verbose=0) / np.var(y_test)
        rows[name] = {"weights": layer.count_params(), "error": float(error)}
    return _task.Results(rows, losses["AdaptiveLSTM"], _task.curves(losses, "MSE, training", log=True))


if __name__ == "__main__":
    _task.run(main)
