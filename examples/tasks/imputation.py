"""Imputation: fill the gaps in a signal from both sides, and from a second sensor.

Two sensors follow one hidden signal. The first is missing about a third of its samples, mostly in long gaps. The
model reads both, plus a mask of what is missing as a third feature. A bidirectional cell also sees how the signal
continues. The mean squared error covers the missing samples only; linear interpolation sees only the first sensor.
"""

import keras
import numpy as np
from matplotlib.figure import Figure

from examples.tasks import _task
from keras_adaptive_rnn.layers import Mogrifier


def draw(count, length, rng):
    """Returns the signal, what the sensors say, and which samples of the first are known."""
    t, known = np.arange(length), np.ones((count, length), bool)
    periods = rng.uniform(12, 60, size=(3, count, 1))
    phases, sizes = rng.uniform(0, 2 * np.pi, size=(3, count, 1)), rng.uniform(0.2, 1, size=(3, count, 1))
    signal = (sizes * np.sin(2 * np.pi * t / periods + phases)).sum(axis=0)
    # The second sensor sees changes only.
    second = 4 * np.diff(signal, axis=1, prepend=signal[:, :1]) + rng.normal(0, 0.2, signal.shape)
    for row in known:
        for start in rng.integers(2, length - 14, size=length // 25):
            row[start : start + rng.integers(5, 12)] = False
    return signal, second, known & (rng.uniform(size=known.shape) > 0.1)


def features(signal, second, known):
    return np.stack([np.where(known, signal, 0), second, known], axis=-1)


def interpolated(signal, known):
    t = np.arange(signal.shape[1])
    return np.stack([np.interp(t, t[there], row[there]) for row, there in zip(signal, known, strict=True)])


def main(small=False):
    length, count, epochs, units = (30, 64, 4, 8) if small else (100, 2000, 25, 32)
    rng = np.random.default_rng(0)
    train, unseen = draw(count, length, rng), draw(300, length, rng)
    signal, _, known = unseen
    filled = {"linear interpolation": interpolated(signal, known)}
    losses, sizes = {}, {}
    layer = {"rounds": 4, "return_sequences": True}
    for name, make in (
        ("Mogrifier, forwards", lambda: Mogrifier(round(1.4 * units), **layer)),
        ("Mogrifier, both ways", lambda: keras.layers.Bidirectional(Mogrifier(units, **layer))),
    ):
        model = keras.Sequential([keras.Input((None, 3)), make(), keras.layers.Dense(1)])
        model.compile(keras.optimizers.Adam(0.005, clipnorm=1.0), "mse")
        # The loss counts the missing samples alone.
        data = features(*train), train[0][..., None], (~train[2]).astype("float32")
        losses[name] = _task.fit(name, model, *data[:2], sample_weight=data[2], batch_size=32, epochs=epochs)["loss"]
        filled[name], sizes[name] = model.predict(features(*unseen), verbose=0)[..., 0], model.count_params()
    rows = {name: {"MSE": float(((each - signal)[~known] ** 2).mean())} for name, each in filled.items()}
    rows = {name: {"weights": sizes[name], **row} if name in sizes else row for name, row in rows.items()}

    figure = Figure(figsize=(7, 2.8), layout="constrained")
    axes = figure.subplots()
    axes.plot(signal[0], "k", lw=3, alpha=0.2, label="signal")
    axes.plot(np.where(known[0], signal[0], np.nan), "k.", label="known")
    for name, color in (("linear interpolation", "C1"), ("Mogrifier, both ways", "C0")):
        axes.plot(np.where(known[0], np.nan, filled[name][0]), ".-", color=color, ms=3, lw=1, label=name)
    axes.legend(fontsize="small")
    return _task.Results(rows, losses["Mogrifier, both ways"], figure)


if __name__ == "__main__":
    _task.run(main)
