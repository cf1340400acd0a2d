"""Skim-RNN: read the words that matter with a large cell, and skim the rest with a small one.

In each text of 60 words, the word after a mark says what the text is about; the rest is noise. A Skim-RNN has a
GRU of 48 units to read and one of 4 units to skim. It learns to read near the mark; `predict` then computes the large
cell only there. The baseline is a GRU that reads everything.
"""

import keras
import numpy as np

from examples.tasks import _task
from keras_adaptive_rnn import GRUCell, callbacks
from keras_adaptive_rnn.layers import GRU, Skim


def draw(count, length, rng):
    """Returns words 2 to 21, in which word 1 marks the one behind it, and which that is."""
    words, place = rng.integers(2, 22, size=(count, length)), rng.integers(0, length - 1, size=count)
    words[np.arange(count), place] = 1
    return words, words[np.arange(count), place + 1] - 2


def main(small=False):
    length, count, epochs, units = (8, 256, 4, 16) if small else (60, 4000, 15, 48)
    rng = np.random.default_rng(0)
    (x, y), (x_test, y_test) = draw(count, length, rng), draw(1000, length, rng)
    rows, losses = {"guess": {"right": 1 / 20}}, {}
    for name, layer in (
        ("GRU", GRU(units)),
        ("Skim-GRU", Skim(GRUCell(units), GRUCell(4), temperature=1.0, skim_loss=0.05, return_decisions=True)),
    ):
        words = keras.Input((None,), dtype="int32")
        output = layer(keras.layers.Embedding(22, 16, embeddings_initializer="random_normal")(words))
        output, *decisions = output if name == "Skim-GRU" else [output]
        model = keras.Model(words, keras.layers.Dense(20, activation="softmax")(output))
        optimizer = keras.optimizers.Adam(0.005, clipnorm=1.0)
        model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
        cooler = [callbacks.Annealing("temperature", lambda epoch: max(0.5, 0.95**epoch))] if decisions else []
        losses[name] = _task.fit(name, model, x, y, batch_size=64, epochs=epochs, callbacks=cooler)["loss"]
        rows[name] = {"right": model.evaluate(x_test, y_test, verbose=0)[1], "words read": 1.0}
        if decisions:
            read = keras.Model(words, decisions[0]).predict(x_test, verbose=0)
            marked = np.roll(x_test == 1, 1, axis=1)
            rows[name] |= {"words read": float(read.mean()), "of those marked": float(read[marked].mean())}
    return _task.Results(rows, losses["Skim-GRU"])


if __name__ == "__main__":
    _task.run(main)
