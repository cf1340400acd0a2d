"""Adding problem: remember two numbers out of fifty.

A sequence holds numbers and marks, and the target is the sum of the two marked numbers. Always predicting the mean
gives a mean squared error of 0.167. The Mogrifier and an LSTM with as many weights both get far below it; the curves
show when.
"""

import keras
import numpy as np

from examples.tasks import _task
from keras_adaptive_rnn.layers import LSTM, Mogrifier


def draw(count, length, rng):
    numbers, marks = rng.uniform(size=(count, length)), np.zeros((count, length))
    for low, high in ((0, length // 2), (length // 2, length)):
        marks[np.arange(count), rng.integers(low, high, count)] = 1
    return np.stack([numbers, marks], axis=-1), (numbers * marks).sum(axis=1, keepdims=True)


def main(small=False):
    length, count, epochs, units = (8, 128, 3, 8) if small else (50, 4000, 30, 32)
    rng = np.random.default_rng(0)
    x, y = draw(count, length, rng)
    x_test, y_test = draw(1000, length, rng)
    mogrifier = Mogrifier(units, rounds=4)
    layers = {"Mogrifier": mogrifier, "LSTM": LSTM(_task.lstm_units(mogrifier, 2))}
    rows = {"guess the mean": {"MSE": float(np.var(y_test))}}
    losses = {}
    for name, layer in layers.items():
        model = keras.Sequential([keras.Input((None, 2)), layer, keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(0.01, clipnorm=1.0), "mse")
        losses[name] = _task.fit(name, model, x, y, batch_size=64, epochs=epochs)["loss"]
        rows[name] = {"weights": layer.count_params(), "MSE": model.evaluate(x_test, y_test, verbose=0)}
    return _task.Results(rows, losses["Mogrifier"], _task.curves(losses, "MSE, training", log=True))


if __name__ == "__main__":
    _task.run(main)
