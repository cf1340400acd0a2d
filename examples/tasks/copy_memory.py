"""Copy memory: remember eight symbols through a long silence, then repeat them.

The network reads eight symbols, then blanks, then a mark, at which it must write the symbols in order. Guessing costs
2.08 nats per symbol and is right one time in eight. Three cells with about as many weights get the same training;
the curves show how long each takes to find out what the blanks are for.
"""

import keras
import numpy as np

from examples.tasks import _task
from keras_adaptive_rnn.layers import GRU, LSTM, Mogrifier


def draw(count, symbols, silence, rng):
    """Returns tokens `[count, 2 symbols + silence]`, 8 a blank and 9 the mark, and the symbols to write."""
    said = rng.integers(8, size=(count, symbols))
    x = np.full((count, 2 * symbols + silence), 8)
    x[:, :symbols], x[:, symbols + silence] = said, 9
    return x, said


def main(small=False):
    symbols, silence, count, epochs, units = (2, 3, 128, 4, 12) if small else (8, 20, 6000, 25, 48)
    rng = np.random.default_rng(0)
    (x, y), (x_test, y_test) = draw(count, symbols, silence, rng), draw(500, symbols, silence, rng)
    options = {"return_sequences": True}
    mogrifier = Mogrifier(units, rounds=4, **options)
    lstm = _task.lstm_units(mogrifier, 10)
    layers = {"Mogrifier": mogrifier, "LSTM": LSTM(lstm, **options), "GRU": GRU(round(1.16 * lstm), **options)}
    rows, losses = {"guess": {"loss": float(np.log(8)), "symbols right": 1 / 8}}, {}
    for name, layer in layers.items():
        inputs = keras.Input((None,), dtype="int32")
        one_hot = keras.layers.CategoryEncoding(10, output_mode="one_hot")(keras.ops.expand_dims(inputs, -1))
        outputs = keras.layers.Dense(8)(layer(one_hot)[:, -symbols:])
        model = keras.Model(inputs, outputs)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(0.003, clipnorm=1.0), loss, metrics=["accuracy"])
        losses[name] = _task.fit(name, model, x, y, batch_size=64, epochs=epochs)["loss"]
        value, right = model.evaluate(x_test, y_test, verbose=0)
        rows[name] = {"weights": layer.count_params(), "loss": value, "symbols right": right}
    return _task.Results(rows, losses["Mogrifier"], _task.curves(losses, "loss, training"))


if __name__ == "__main__":
    _task.run(main)
