"""Tagging with `Bidirectional`: which letters of a real text were capitals?

The text of Python's language reference is lowercased, and the model tags each letter that was a capital: beginnings of
sentences, names, constants. Much of the evidence comes after the letter, so a bidirectional model does a little
better. F1 counts capitals only; the baseline predicts a capital after a full stop and a space.
"""

import keras
import numpy as np

from examples.tasks import _task
from keras_adaptive_rnn.layers import Mogrifier

ALPHABET = "\n abcdefghijklmnopqrstuvwxyz0123456789.,;:()[]{}\"'`*_=+-/<>#@"


def cut(text, length):
    """Returns the small letters as numbers, and where capitals were, `[count, length]`."""
    text = text[: len(text) // length * length]
    letters = np.array([ALPHABET.find(letter.lower()) + 1 for letter in text])
    return letters.reshape(-1, length), np.array([letter.isupper() for letter in text]).reshape(-1, length)


def f1(said, truth):
    right = (said & truth).sum()
    return float(2 * right / max(1, said.sum() + truth.sum()))


def main(small=False):
    length, size, epochs, units = (30, 6000, 2, 8) if small else (80, 400_000, 8, 48)
    x, y = cut(_task.reference_text()[:size], length)
    last = len(x) // 10
    x, x_test, y, y_test = x[:-last], x[-last:], y[:-last], y[-last:]

    stop, letter = ALPHABET.find(".") + 1, (x_test >= ALPHABET.find("a") + 1) & (x_test <= ALPHABET.find("z") + 1)
    after_stop = np.roll(x_test == stop, 2, axis=1) & np.roll(x_test <= ALPHABET.find(" ") + 1, 1, axis=1) & letter
    rows = {"after a full stop and a space": {"F1": f1(after_stop, y_test)}}
    losses = {}
    for name, make in (
        ("forwards", lambda: Mogrifier(round(1.45 * units), rounds=2, return_sequences=True)),
        ("both directions", lambda: keras.layers.Bidirectional(Mogrifier(units, rounds=2, return_sequences=True))),
    ):
        model = keras.Sequential(
            [
                keras.Input((None,), dtype="int32"),
                keras.layers.Embedding(len(ALPHABET) + 1, 24),
                make(),
                keras.layers.Dense(1, activation="sigmoid"),
            ]
        )
        model.compile(keras.optimizers.Adam(0.005, clipnorm=1.0), "binary_crossentropy")
        losses[name] = _task.fit(name, model, x, y[..., None], batch_size=64, epochs=epochs)["loss"]
        said = model.predict(x_test, verbose=0)[..., 0] > 0.5
        rows[name] = {"weights": model.count_params(), "F1": f1(said, y_test)}
    return _task.Results(rows, losses["both directions"])


if __name__ == "__main__":
    _task.run(main)
