"""Long memory: recall the first of 100 symbols, with low-rank recurrent matrices and a diagonal.

The first of 100 symbols, one of eight, is the answer; the rest is noise. A low-rank GRU has few weights for many units,
and with a diagonal, each unit can keep what it holds. The baselines are the same cell without the diagonal and a full
GRU with about as many weights; all update gates initially favor keeping the state. Guessing is right one time in eight.
"""

import keras
import numpy as np

from examples.tasks import _task
from keras_adaptive_rnn.layers import GRU, LowRankGRU


def main(small=False):
    length, count, epochs, units, full = (6, 128, 4, 16, 8) if small else (100, 2000, 12, 128, 60)
    rng = np.random.default_rng(0)
    x, x_test = (np.eye(8)[rng.integers(8, size=(rows, length))] for rows in (count, 500))
    y, y_test = (each[:, 0].argmax(axis=-1) for each in (x, x_test))
    gru = GRU(full)
    gru.build((None, None, 8))
    *matrices, bias = gru.get_weights()
    bias[0, :full] = 4  # That of the update gate, as `carry_bias` in the others.
    gru.set_weights([*matrices, bias])
    layers = {
        "low-rank GRU, diagonal": LowRankGRU(units, rank=12, carry_bias=4.0),
        "low-rank GRU": LowRankGRU(units, rank=12, diagonal=False, carry_bias=4.0),
        "GRU": gru,
    }
    rows, losses = {"guess": {"right": 1 / 8}}, {}
    for name, layer in layers.items():
        model = keras.Sequential([keras.Input((None, 8)), layer, keras.layers.Dense(8, activation="softmax")])
        optimizer = keras.optimizers.Adam(0.003, clipnorm=1.0)
        model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
        losses[name] = _task.fit(name, model, x, y, batch_size=64, epochs=epochs)["loss"]
        right = model.evaluate(x_test, y_test, verbose=0)[1]
        rows[name] = {"units": layer.cell.units, "weights": layer.count_params(), "right": right}
    return _task.Results(rows, losses["low-rank GRU, diagonal"], _task.curves(losses, "loss, training"))


if __name__ == "__main__":
    _task.run(main)
