"""Anomaly detection: find what a model of the normal signal did not expect.

A Mogrifier learns to predict the next sample of a normal signal with two rhythms. Then the signal has short faults: a
flat line, a faster rhythm, a reversed one. None of their values is unusual, so a threshold on values finds nothing;
the prediction error, averaged over a few steps, finds most. The metric is the area under the ROC curve, 0.5 by
chance.
"""

import keras
import numpy as np
from matplotlib.figure import Figure

from examples.tasks import _task
from keras_adaptive_rnn.layers import Mogrifier


def normal(length, rng):
    t = np.arange(length)
    return np.sin(t / 4) + 0.6 * np.sin(t / 2.5 + 1) + rng.normal(0, 0.05, length)


def with_faults(length, rng):
    """Returns a signal and where it is faulty: every 150 steps, for 25."""
    signal, faulty = normal(length, rng), np.zeros(length, bool)
    for k, start in enumerate(range(100, length - 50, 150)):
        part, t = slice(start, start + 25), np.arange(25)
        faulty[part] = True
        flat = np.full(25, signal[start])
        fast = np.sin((start + t) / 1.7) + 0.6 * np.sin((start + t) / 2.5)
        signal[part] = (flat, fast, signal[part][::-1].copy())[k % 3] + rng.normal(0, 0.05, 25)
    return signal, faulty


def smooth(values, steps=9):
    return np.convolve(values, np.ones(steps) / steps, mode="same")


def area_under_roc(scores, truth):
    ranks = np.argsort(np.argsort(scores)) + 1
    positive, negative = truth.sum(), (~truth).sum()
    return float((ranks[truth].sum() - positive * (positive + 1) / 2) / (positive * negative))


def main(small=False):
    length, window, epochs, units = (600, 20, 4, 8) if small else (6000, 50, 40, 32)
    rng = np.random.default_rng(0)
    train = normal(length, rng)[:, None]
    x, y = (train[k : k + length - window].reshape(-1, window, 1) for k in (0, 1))
    layer = Mogrifier(units, rounds=4, return_sequences=True)
    model = keras.Sequential([keras.Input((None, 1)), layer, keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.005, clipnorm=1.0), "mse")
    losses = _task.fit("Mogrifier", model, x, y, batch_size=16, epochs=epochs)["loss"]

    signal, faulty = with_faults(length // 2, rng)
    predicted = model.predict(signal[None, :-1, None], verbose=0)[0, :, 0]
    errors = smooth(np.abs(predicted - signal[1:]))
    values = smooth(np.abs(signal[1:] - train.mean()))
    rows = {
        "unusual values": {"area under ROC": area_under_roc(values, faulty[1:])},
        "unusual changes": {"area under ROC": area_under_roc(smooth(np.abs(np.diff(signal))), faulty[1:])},
        "unexpected by the Mogrifier": {"area under ROC": area_under_roc(errors, faulty[1:])},
    }

    figure = Figure(figsize=(7, 3), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True)
    shown = slice(0, 600)
    top.plot(signal[1:][shown], "k", lw=1)
    top.set(ylabel="signal")
    bottom.plot(errors[shown], lw=1)
    bottom.set(ylabel="error", xlabel="steps")
    for axes in (top, bottom):
        axes.fill_between(
            np.arange(600)[: length // 2 - 1], *axes.get_ylim(), where=faulty[1:][shown], alpha=0.2, color="r"
        )
    return _task.Results(rows, losses, figure)


if __name__ == "__main__":
    _task.run(main)
