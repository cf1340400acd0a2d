"""State tracking: swap two of four cups, again and again, and track their order.

Each input is one of six swaps. Swaps compose like permutations, so the order matters, and one mistake spoils the
rest. After each swap, the network tells which of 24 orders the cups are in. In a multiplicative LSTM, each input has
its own transition, as it does in the task. All models are trained on 12 swaps and tested on 12 and on 24.
"""

import itertools

import keras
import numpy as np

from examples.tasks import _task
from keras_adaptive_rnn.layers import LSTM, Mogrifier, MultiplicativeLSTM

CUPS = np.array(list(itertools.permutations(range(4))))
SWAPS = CUPS[(np.arange(4) != CUPS).sum(axis=1) == 2]
AFTER = np.array([[np.flatnonzero((cups[swap] == CUPS).all(axis=1))[0] for swap in SWAPS] for cups in CUPS])


def draw(count, length, rng):
    """Returns one-hot swaps, `[count, length, 6]`, and how the cups stand after each, `[count, length]`."""
    swaps, stand = rng.integers(6, size=(count, length)), np.zeros((count, length + 1), int)
    for t in range(length):
        stand[:, t + 1] = AFTER[stand[:, t], swaps[:, t]]
    return np.eye(6)[swaps], stand[:, 1:]


def main(small=False):
    length, count, epochs, units = (4, 128, 4, 8) if small else (12, 4000, 20, 32)
    rng = np.random.default_rng(0)
    (x, y), tests = draw(count, length, rng), [draw(500, length * times, rng) for times in (1, 2)]
    mlstm = MultiplicativeLSTM(units, return_sequences=True)
    layers = {
        "MultiplicativeLSTM": mlstm,
        "Mogrifier": Mogrifier(round(1.03 * units), rounds=4, return_sequences=True),
        "LSTM": LSTM(_task.lstm_units(mlstm, 6), return_sequences=True),
    }
    rows, losses = {"guess": {f"right, {len(x[0])} swaps": 1 / 24 for x, _ in tests}}, {}
    for name, layer in layers.items():
        model = keras.Sequential([keras.Input((None, 6)), layer, keras.layers.Dense(24, activation="softmax")])
        optimizer = keras.optimizers.Adam(0.005, clipnorm=1.0)
        model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
        losses[name] = _task.fit(name, model, x, y, batch_size=64, epochs=epochs)["loss"]
        right = {f"right, {len(x[0])} swaps": model.evaluate(x, y, verbose=0)[1] for x, y in tests}
        rows[name] = {"weights": layer.count_params(), **right}
    return _task.Results(rows, losses["MultiplicativeLSTM"], _task.curves(losses, "loss, training", log=True))


if __name__ == "__main__":
    _task.run(main)
