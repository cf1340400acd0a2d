"""Stateful layers: read a long series in short windows, and forget nothing between them.

Rare pulses set the target to +1 or -1, where it stays until the next pulse, about sixty time steps later. The series
is read in windows of ten. With `stateful=True`, a window starts from the states of the one before; without it, most
windows hold no pulse, and the model can only guess.
"""

import keras
import numpy as np
from matplotlib.figure import Figure

from examples.tasks import _task
from keras_adaptive_rnn.layers import Mogrifier


def draw(rows, steps, rng):
    pulses = rng.choice([-1, 0, 1], size=(rows, steps, 1), p=[1 / 120, 118 / 120, 1 / 120])
    pulses[:, 0] = 1
    last = np.maximum.accumulate(np.where(pulses, np.arange(steps)[None, :, None], 0), axis=1)
    return pulses.astype("float32"), np.take_along_axis(pulses, last, axis=1).astype("float32")


def in_windows(series, window):
    """Cuts rows into windows: row r of batch k + 1 goes on where row r of batch k ended."""
    rows, steps, features = series.shape
    cut = series.reshape(rows, steps // window, window, features)
    return cut.swapaxes(0, 1).reshape(-1, window, features)


def main(small=False):
    rows_at_once, steps, window, epochs, units = (4, 40, 5, 4, 8) if small else (16, 1000, 10, 20, 16)
    rng = np.random.default_rng(0)
    train, unseen = draw(rows_at_once, steps, rng), draw(rows_at_once, steps, rng)
    (x, y), (x_test, y_test) = ([in_windows(series, window) for series in pair] for pair in (train, unseen))
    rows = {"guess +1": {"right": float(np.mean(y_test > 0))}}
    predictions, losses = {}, {}
    for name, stateful in (("stateful", True), ("stateless", False)):
        layer = Mogrifier(units, rounds=2, return_sequences=True, stateful=stateful)
        inputs = keras.Input(batch_shape=(rows_at_once, window, 1))
        model = keras.Sequential([inputs, layer, keras.layers.Dense(1, activation="tanh")])
        model.compile(keras.optimizers.Adam(0.01), "mse")
        # Each epoch begins where the series begins.
        reset = keras.callbacks.LambdaCallback(on_epoch_begin=lambda *_, layer=layer: layer.reset_state())
        fit = {"batch_size": rows_at_once, "epochs": epochs, "shuffle": False, "callbacks": [reset]}
        losses[name] = _task.fit(name, model, x, y, **fit)["loss"]
        layer.reset_state()
        predictions[name] = model.predict(x_test, batch_size=rows_at_once, verbose=0)
        rows[name] = {"right": float(np.mean(np.sign(predictions[name]) == y_test))}

    figure = Figure(figsize=(7, 2.5), layout="constrained")
    axes = figure.subplots()
    row = np.abs(unseen[0][:, :300]).sum(axis=(1, 2)).argmax()  # That of most pulses.
    axes.plot(unseen[1][row, :300, 0], "k", lw=3, alpha=0.3, label="target")
    for name, each in predictions.items():
        axes.plot(each[row::rows_at_once].ravel()[:300], lw=1, label=name)
    axes.set(xlabel="steps")
    axes.legend(loc="upper right")
    return _task.Results(rows, losses["stateful"], figure)


if __name__ == "__main__":
    _task.run(main)
