"""Quantization: what 8 and 4 bits per weight cost.

A Mogrifier predicts the next letter of Python's language reference. Its matrices are then quantized to 8-bit integers,
and those of a copy to 4-bit integers. The table shows the size of the `.keras` file and the bits per letter on
held-out text; the baseline knows how frequent each letter is.
"""

import pathlib
import tempfile

import keras
import numpy as np

from examples.tasks import _task
from keras_adaptive_rnn.layers import Mogrifier


def size_of_file(model):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.keras"
        model.save(path)
        return path.stat().st_size


def main(small=False):
    steps, letters, epochs, units = (20, 4000, 2, 16) if small else (50, 250_000, 6, 128)
    text = _task.reference_text()[:letters]
    alphabet = sorted(set(text))
    ids = np.searchsorted(alphabet, list(text))
    x, y = (ids[k : k + (len(ids) - 1) // steps * steps].reshape(-1, steps) for k in (0, 1))
    last = len(x) // 10
    counts = np.bincount(ids, minlength=len(alphabet)) / len(ids)
    rows = {"frequencies": {"bits per letter": float(-np.log2(counts[y[-last:]]).mean())}}

    def make():
        return keras.Sequential(
            [
                keras.Input((None,), dtype="int32"),
                keras.layers.Embedding(len(alphabet), 32),
                Mogrifier(units, rounds=4, rank=16, return_sequences=True),
                keras.layers.Dense(len(alphabet)),
            ]
        )

    model = make()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.005, clipnorm=1.0), loss)
    losses = _task.fit("Mogrifier", model, x[:-last], y[:-last], batch_size=32, epochs=epochs)["loss"]
    for bits in ("float32", "int8", "int4"):
        quantized = make()
        quantized.set_weights(model.get_weights())
        if bits != "float32":
            quantized.quantize(bits, filters="map|dense|embedding")
        size = size_of_file(quantized)
        quantized.compile(loss=loss)
        bits_per_letter = quantized.evaluate(x[-last:], y[-last:], verbose=0) / np.log(2)
        rows[bits] = {"file, bytes": size, "bits per letter": float(bits_per_letter)}
    return _task.Results(rows, losses)


if __name__ == "__main__":
    _task.run(main)
