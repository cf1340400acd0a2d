"""Irregular gaps: a signal sampled at random times, with the gaps as a second input.

A damped oscillation of unknown frequency and phase is sampled at random times. The model reads the samples so far and
predicts the next one. With the time to the next sample, `dt`, as a second input, it can; without `dt`, it must guess
how far the oscillation will have moved.
"""

import keras
import numpy as np

from examples.tasks import _task
from keras_adaptive_rnn.layers import LSTM, Mogrifier


def draw(count, length, rng):
    """Returns values and gaps to the next sample, `[count, length, 2]`, and the next values."""
    gaps = rng.exponential(0.35, size=(count, length + 1)) + 0.05
    times = np.cumsum(gaps, axis=1)
    frequency, phase = rng.uniform(0.8, 2, size=(count, 1)), rng.uniform(0, 2 * np.pi, size=(count, 1))
    values = np.sin(frequency * times + phase) * np.exp(-0.03 * times)
    return np.stack([values[:, :-1], gaps[:, 1:]], axis=-1), values[:, 1:, None]


def main(small=False):
    length, count, epochs, units = (8, 128, 4, 8) if small else (40, 3000, 25, 32)
    rng = np.random.default_rng(0)
    (x, y), (x_test, y_test) = draw(count, length, rng), draw(500, length, rng)
    lstm = _task.lstm_units(Mogrifier(units, rounds=4), 2)
    rows = {"repeat the last value": {"MSE": float(np.mean((x_test[..., :1] - y_test) ** 2))}}
    losses = {}
    for name, make, features in (
        ("Mogrifier with dt", lambda: Mogrifier(units, rounds=4, return_sequences=True), 2),
        ("LSTM with dt", lambda: LSTM(lstm, return_sequences=True), 2),
        ("Mogrifier without dt", lambda: Mogrifier(units, rounds=4, return_sequences=True), 1),
    ):
        layer = make()
        model = keras.Sequential([keras.Input((None, features)), layer, keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(0.01, clipnorm=1.0), "mse")
        losses[name] = _task.fit(name, model, x[..., :features], y, batch_size=64, epochs=epochs)["loss"]
        rows[name] = {"weights": layer.count_params(), "MSE": model.evaluate(x_test[..., :features], y_test, verbose=0)}
    return _task.Results(rows, losses["Mogrifier with dt"], _task.curves(losses, "MSE, training", log=True))


if __name__ == "__main__":
    _task.run(main)
