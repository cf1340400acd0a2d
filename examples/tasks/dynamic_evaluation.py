"""Dynamic evaluation: a model that keeps learning while it is tested.

A character model is trained on Python's language reference, in lowercase. It is tested on the end of that text, once
as it is and once in a cipher, unknown to the model, that swaps letters (e and t, a and o, ...).
`evaluation.dynamic_evaluate` lets it learn from each segment after predicting it, at three learning rates. This helps
a little on the known text and a lot on the cipher; too large a rate spoils both, so tune it on other text.
"""

import keras
import numpy as np

from examples.tasks import _task
from keras_adaptive_rnn import evaluation
from keras_adaptive_rnn.layers import Mogrifier

PAIRS = str.maketrans("etaoinsh", "teoanihs")


def main(small=False):
    letters, tested, rows_at_once, steps, epochs, units = (
        (2000, 40, 4, 10, 3, 12) if small else (200_000, 3000, 16, 50, 6, 96)
    )
    text = _task.reference_text()[:letters].lower()
    alphabet = sorted(set(text))
    known, cipher = (np.searchsorted(alphabet, list(each)) for each in (text, text.translate(PAIRS)))
    train = known[:-tested]
    keep = (len(train) - 1) // (rows_at_once * steps) * steps
    x, y = (
        train[k : k + rows_at_once * keep].reshape(rows_at_once, -1, steps).swapaxes(0, 1).reshape(-1, steps)
        for k in (0, 1)
    )
    model = keras.Sequential(
        [
            keras.Input(batch_shape=(rows_at_once, None), dtype="int32"),
            keras.layers.Embedding(len(alphabet), 32),
            Mogrifier(units, rounds=4, rank=12, return_sequences=True, stateful=True),
            keras.layers.Dense(len(alphabet)),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.005, clipnorm=1.0), loss)
    fit = {"batch_size": rows_at_once, "shuffle": False, "epochs": epochs}
    losses = _task.fit("Mogrifier", model, x, y, **fit)["loss"]

    counts = np.bincount(train, minlength=len(alphabet)) + 1
    learn = {"statistics": train[: 400 if small else 40_000], "statistics_batch_size": 20, "verbose": False}
    rows = {}
    for name, ids in (("the known text", known[-tested:]), ("in a cipher", cipher[-tested:])):
        row = {
            "bits, frequencies": float(-np.log2(counts[ids[1:]] / counts.sum()).mean()),
            "static": evaluation.evaluate(model, ids, verbose=False).bits,
        }
        for rate in (1e-3,) if small else (3e-5, 3e-4, 3e-3):
            row[f"dynamic, {rate:g}"] = evaluation.dynamic_evaluate(model, ids, learning_rate=rate, **learn).bits
        rows[name] = row
    return _task.Results(rows, losses)


if __name__ == "__main__":
    _task.run(main)
