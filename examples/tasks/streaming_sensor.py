"""Streaming: a network trained on windows watches a sensor, one sample at a time.

A machine is at rest, runs, or runs unevenly, and a noisy sensor records it. The network tells which of the three after
each sample. `RNN.step` takes a sample and the states and returns the next states, so nothing is read twice; the
predictions match those of `predict` on the whole recording. The baseline uses the energy of the last 20 samples.
"""

import keras
import numpy as np
from matplotlib.figure import Figure

from examples.tasks import _task
from keras_adaptive_rnn.layers import Mogrifier


def record(length, rng):
    """Returns a recording and the state of the machine in each step: 0 rests, 1 runs, 2 runs unevenly."""
    states = np.zeros(length, int)
    start = 0
    while start < length:
        end = start + rng.integers(40, 120)
        states[start:end] = rng.integers(3)
        start = end
    phase = np.cumsum(np.where(states == 2, 0.8 + 0.5 * np.sin(np.arange(length) / 5), 0.8))
    return (states > 0) * np.sin(phase) + rng.normal(0, 0.6, length), states


def main(small=False):
    length, window, epochs, units = (800, 40, 4, 8) if small else (40_000, 100, 15, 32)
    rng = np.random.default_rng(0)
    signal, states = record(length, rng)
    x, y = signal.reshape(-1, window, 1), states.reshape(-1, window)
    layer, head = Mogrifier(units, rounds=4, return_sequences=True), keras.layers.Dense(3, activation="softmax")
    model = keras.Sequential([keras.Input((None, 1)), layer, head])
    model.compile(keras.optimizers.Adam(0.005, clipnorm=1.0), "sparse_categorical_crossentropy")
    losses = _task.fit("Mogrifier", model, x, y, batch_size=32, epochs=epochs)["loss"]

    signal, truth = record(200 if small else 2000, rng)
    said, carried = [], None
    for sample in signal.astype("float32"):
        output, carried = layer.step(sample.reshape(1, 1), carried)
        said.append(keras.ops.convert_to_numpy(head(output))[0])
    said = np.stack(said)
    whole = model.predict(signal[None, :, None], verbose=0)[0]

    energy = np.convolve(signal**2, np.ones(20) / 20)[: len(signal)]
    rows = {
        "energy of 20 samples": {"right": float(np.mean((energy > 0.6) == truth))},
        "Mogrifier, step by step": {
            "right": float(np.mean(said.argmax(axis=-1) == truth)),
            "distance from `predict`": float(np.abs(said - whole).max()),
        },
    }
    figure = Figure(figsize=(7, 3), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True)
    top.plot(signal[:400], "k", lw=0.5)
    top.set(ylabel="sensor")
    bottom.stackplot(np.arange(len(said[:400])), said[:400].T, labels=["rests", "runs", "runs unevenly"], alpha=0.6)
    bottom.plot(truth[:400] / 2, "k", lw=1, label="truth")
    bottom.set(ylabel="probability", xlabel="samples")
    bottom.legend(loc="upper right", fontsize="small")
    return _task.Results(rows, losses, figure)


if __name__ == "__main__":
    _task.run(main)
