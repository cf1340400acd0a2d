"""Skip RNN: a signal with long pauses, where some time steps need not be computed.

Short bursts of one of four rhythms lie between long pauses, and the network names the rhythm of the last burst. A Skip
RNN pays a little for each time step that updates its state. It learns to skip about every third one, and `predict`
does not compute what it skips. The picture shows where it updates; a higher cost saves more, until it misses bursts.
"""

import keras
import numpy as np
from matplotlib.figure import Figure

from examples.tasks import _task
from keras_adaptive_rnn import GRUCell
from keras_adaptive_rnn.layers import GRU, Skip


def draw(count, length, rng):
    signal, rhythm = rng.normal(0, 0.02, size=(count, length)), np.zeros(count, int)
    for row in range(count):
        for start in (rng.integers(0, length // 2 - 15), rng.integers(length // 2, length - 15)):
            rhythm[row] = rng.integers(4)
            signal[row, start : start + 15] += np.sin(np.arange(15) * (0.5, 0.9, 1.4, 2.1)[rhythm[row]])
    return signal[..., None], rhythm


def main(small=False):
    length, count, epochs, units = (40, 64, 4, 8) if small else (120, 3000, 8, 32)
    rng = np.random.default_rng(0)
    (x, y), (x_test, y_test) = draw(count, length, rng), draw(500, length, rng)
    rows, losses = {"guess": {"right": 0.25}}, []

    def train(name, layer, head, epochs, rate):
        inputs = keras.Input((None, 1))
        outputs = layer(inputs)
        outputs, *decisions = outputs if isinstance(outputs, (list, tuple)) else [outputs]
        model = keras.Model(inputs, head(outputs))
        optimizer = keras.optimizers.Adam(rate, clipnorm=1.0)
        model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
        losses.append(_task.fit(name, model, x, y, batch_size=64, epochs=epochs)["loss"])
        updates = (
            keras.Model(inputs, decisions[0]).predict(x_test, verbose=0) if decisions else np.ones(x_test.shape[:2])
        )
        rows[name] = {"right": model.evaluate(x_test, y_test, verbose=0)[1], "steps computed": float(updates.mean())}
        return updates

    train("GRU", GRU(units), keras.layers.Dense(4, activation="softmax"), epochs, 0.005)
    layer, head = (
        Skip(GRUCell(units), return_decisions=True),
        keras.layers.Dense(4, activation="softmax"),
    )
    train("Skip GRU, updates are free", layer, head, epochs, 0.005)
    layer.cell.cost_weight = 0.002  # From now on, each update costs.
    updates = train("Skip GRU, updates cost", layer, head, 2 * epochs, 0.001)

    figure = Figure(figsize=(7, 2.5), layout="constrained")
    axes = figure.subplots()
    axes.plot(x_test[0, :, 0], "k", lw=1, label="signal")
    axes.vlines(np.flatnonzero(updates[0] > 0), -1.5, -1.2, lw=1, label="updates")
    axes.set(xlabel="steps")
    axes.legend()
    return _task.Results(rows, losses[1], figure)


if __name__ == "__main__":
    _task.run(main)
