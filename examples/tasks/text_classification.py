"""Text classification: which chapter of Python's language reference are these 20 words from?

Six long chapters are cut into pieces of 20 words. The last fifth of each chapter is the test set; it is hard, as
chapters move on to other subjects. A bidirectional Mogrifier is compared with an LSTM with about as many weights, and
both with naive Bayes, which counts words and ignores their order.
"""

import collections
import itertools
import re

import keras
import numpy as np

from examples.tasks import _task
from keras_adaptive_rnn.layers import LSTM, Mogrifier


def pieces(length, size):
    """Returns word ids `[pieces, length]`, chapters `[pieces]`, and which pieces are for the test."""
    from pydoc_data.topics import topics

    chapters = sorted(topics, key=lambda name: -len(topics[name]))[:6]
    words = [re.findall(r"[a-z_]+|[^a-z_\s]", topics[name].lower()) for name in chapters]
    ids = {
        word: k + 2 for k, (word, _) in enumerate(collections.Counter(itertools.chain(*words)).most_common(size - 2))
    }
    x, y, is_test = [], [], []
    for chapter, text in enumerate(words):
        cut = np.array([ids.get(word, 1) for word in text[: len(text) // length * length]]).reshape(-1, length)
        x.append(cut)
        y.append(np.full(len(cut), chapter))
        is_test.append(np.arange(len(cut)) >= 0.8 * len(cut))
    return np.concatenate(x), np.concatenate(y), np.concatenate(is_test)


def naive_bayes(x, y, x_test, size):
    counts = np.ones((6, size))
    np.add.at(counts, (np.repeat(y, x.shape[1]), x.ravel()), 1)
    log_p = np.log(counts / counts.sum(axis=1, keepdims=True))
    return (log_p[:, x_test].sum(axis=-1) + np.log(np.bincount(y, minlength=6))[:, None]).argmax(axis=0)


def main(small=False):
    size, epochs, units, every = (200, 2, 8, 40) if small else (2000, 10, 32, 1)
    x, y, is_test = (each[::every] for each in pieces(20, size))
    x_test, y_test, x, y = x[is_test], y[is_test], x[~is_test], y[~is_test]
    rows = {
        "largest chapter": {"right": float(np.mean(y_test == np.bincount(y).argmax()))},
        "naive Bayes": {"right": float(np.mean(naive_bayes(x, y, x_test, size) == y_test))},
    }
    losses = {}
    lstm = _task.lstm_units(Mogrifier(units, rounds=4), 32)
    for name, layer in (("Mogrifier", Mogrifier(units, rounds=4, dropout=0.3)), ("LSTM", LSTM(lstm, dropout=0.3))):
        model = keras.Sequential(
            [
                keras.Input((None,), dtype="int32"),
                keras.layers.Embedding(size, 32),
                keras.layers.Dropout(0.3),
                keras.layers.Bidirectional(layer),
                keras.layers.Dropout(0.3),
                keras.layers.Dense(6, activation="softmax"),
            ]
        )
        optimizer = keras.optimizers.Adam(0.003, clipnorm=1.0)
        model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
        losses[name] = _task.fit(name, model, x, y, batch_size=32, epochs=epochs)["loss"]
        rows[name] = {"weights": model.count_params(), "right": model.evaluate(x_test, y_test, verbose=0)[1]}
    return _task.Results(rows, losses["Mogrifier"])


if __name__ == "__main__":
    _task.run(main)
