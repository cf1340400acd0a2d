"""Trains language models of characters, and compares them with the same ones, quantized.

    KERAS_BACKEND=jax python -m benchmarks.quantization

Each model has an embedding, one recurrent layer and a dense layer, and reads the Python language reference, which comes
with CPython, for a few epochs. Then its recurrent layer alone is quantized, to int8 and to int4. The benchmark prints
the bytes of the layer's weights and of the `.weights.h5` file, the loss on text that was not trained on, and the times
of `predict` and `RNN.step` over those of float32, as medians of alternating runs.
"""

import argparse
import pathlib
import statistics
import tempfile
import time
import warnings

import keras
import numpy as np
from rich.console import Console
from rich.table import Table

from examples.char_language_model import prepare, read_text
from keras_adaptive_rnn import hub, layers

LAYERS = {
    "LSTM": lambda units: layers.LSTM(units, return_sequences=True, name="recurrent"),
    "Mogrifier, rank 32": lambda units: layers.Mogrifier(units, rank=32, return_sequences=True, name="recurrent"),
    "LowRankGRU, rank 64": lambda units: layers.LowRankGRU(units, rank=64, return_sequences=True, name="recurrent"),
}
MODES = ("float32", "int8", "int4")


def make(name, units, vocabulary):
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(vocabulary, 64),
            LAYERS[name](units),
            keras.layers.Dense(vocabulary),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.003, global_clipnorm=1.0), loss)
    return model


def seconds(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def steps(layer, count=50):
    """Returns a function that takes `count` steps of a single sequence."""
    x = np.random.default_rng(0).normal(size=(count, 1, 64)).astype("float32")

    def run():
        states = None
        for x_t in x:
            _, states = layer.step(x_t, states)
        keras.ops.convert_to_numpy(states[0])

    return run


def ratios(actions, repeats):
    """Returns the median time of each action over that of the first."""
    for action in actions:
        action(), action()
    times = [[seconds(action) for action in actions] for _ in range(repeats)]
    return [statistics.median(row[k] / row[0] for row in times) for k in range(len(actions))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=LAYERS, default=list(LAYERS))
    parser.add_argument("--units", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=11)
    arguments = parser.parse_args()

    tokenizer, parts = prepare(read_text(None), batch=32, steps=64)
    vocabulary = tokenizer.vocabulary_size()
    train, validation = (hub.streams(ids, 32, 64) for ids in parts)
    table = Table(title=f"{keras.backend.backend()}: {arguments.units} units")
    table.add_column("layer")
    for column in ("weights", "layer, kB", "file, kB", "loss", "loss / float", "predict / float", "step / float"):
        table.add_column(column, justify="right")
    for name in arguments.models:
        keras.utils.set_random_seed(0)
        models = [make(name, arguments.units, vocabulary)]
        models[0].fit(*train, batch_size=32, epochs=arguments.epochs, shuffle=False, verbose=2)
        for mode in MODES[1:]:
            other = make(name, arguments.units, vocabulary)
            other.set_weights(models[0].get_weights())
            models.append(quantized(other, mode))
        losses = [model.evaluate(*validation, batch_size=32, verbose=0) for model in models]
        x = validation[0][:64]
        predicting = ratios(
            [lambda m=m, x=x: m.predict(x, batch_size=64, verbose=0) for m in models], arguments.repeats
        )
        stepping = ratios([steps(model.get_layer("recurrent")) for model in models], arguments.repeats)
        for mode, model, loss, predict, step in zip(MODES, models, losses, predicting, stepping, strict=True):
            in_layer = sum(w.nbytes for w in model.get_layer("recurrent").get_weights())
            sizes = (f"{size / 1000:.0f}" for size in (in_layer, bytes_of_file(model)))
            numbers = (f"{number:.4f}" for number in (loss, loss / losses[0]))
            table.add_row(name, mode, *sizes, *numbers, f"{predict:.2f}", f"{step:.2f}")
    Console(width=110).print(table)


def quantized(model, mode):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras warns of each layer that has nothing to quantize.
        model.quantize(mode, filters=lambda layer: "recurrent" in (layer.path or ""))
    model.compile(loss=model.loss)
    return model


def bytes_of_file(model):
    model.compile()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.weights.h5"
        model.save_weights(path)
        return path.stat().st_size


if __name__ == "__main__":
    main()
