"""Writes single time steps to files, runs them in their runtimes, and measures bytes and microseconds.

    KERAS_BACKEND=tensorflow python -m benchmarks.one_step --json benchmarks/one_step.json

For each layer of 256 units, which reads 256 features at batch size 1, and each format that the backend writes: the
bytes of the file, the largest difference of its outputs from those of `predict` over `--check-steps` steps, and the
median time of a step over `--steps` steps in a Python loop, on one thread where the runtime has that setting (not in
OpenVINO and TensorFlow). With `--every`, it writes all recurrent layers of `tests/table.py`, small ones, into one file
instead and reports the largest difference. `--json FILE` puts the rows into the file, in the place of those of the same
backend, format and layer. `--report` prints what the file holds in Markdown.
"""

import argparse
import pathlib
import statistics
import tempfile
import time

import keras
import numpy as np

import keras_adaptive_rnn as kar
from benchmarks.rows import add, read
from keras_adaptive_rnn.one_step.file import FORMATS
from tests import exporting, runtimes

KEY = ("backend", "format", "layer")
UNITS = 256
LAYERS = {
    "keras.layers.LSTM(256)": lambda **options: keras.layers.LSTM(UNITS, **options),
    "keras.layers.GRU(256)": lambda **options: keras.layers.GRU(UNITS, **options),
    "Mogrifier(256)": lambda **options: kar.Mogrifier(UNITS, **options),
    "Mogrifier(256, rank=32)": lambda **options: kar.Mogrifier(UNITS, rank=32, **options),
    "MultiplicativeLSTM(256)": lambda **options: kar.MultiplicativeLSTM(UNITS, **options),
    "LowRankLSTM(256, rank=32)": lambda **options: kar.LowRankLSTM(UNITS, rank=32, **options),
    "AdaptiveLSTM(256)": lambda **options: kar.AdaptiveLSTM(UNITS, **options),
    "Skip(GRUCell(256))": lambda **options: kar.Skip(kar.GRUCell(UNITS), **options),
}


def perturbed(model, rng):
    """Moves the weights of a model away from zeros and ones."""
    for weight in model.weights:
        if weight.dtype == "float32":
            weight.assign(keras.ops.convert_to_numpy(weight) + rng.normal(scale=0.05, size=weight.shape))
    return model


def every_layer(rng):
    """Returns a model with every recurrent layer of the tests' table, side by side."""
    from tests.test_export_step import STEPPED, made

    inputs = keras.Input((None, 3))
    return perturbed(keras.Model(inputs, [made(make)(inputs) for make in STEPPED.values()]), rng)


def size_of(path):
    """Returns the bytes of a file, of a folder, or of both files of OpenVINO."""
    files = [path, path.with_suffix(".bin")] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())


def difference(model, run, sequence, states):
    expected = keras.tree.flatten(model.predict(sequence, verbose=0))
    outputs = runtimes.read(run, sequence, states)
    names = ["output"] if len(expected) == 1 else [f"output_{k}" for k in range(len(expected))]
    pairs = [(outputs[name], whole) for name, whole in zip(names, expected, strict=True)]
    return max(float(np.abs((x if x.ndim == y.ndim else x[:, -1]) - y).max()) for x, y in pairs)


def microseconds(run, sequence, states, steps):
    times = []
    for k in range(steps + steps // 10):
        feeds = {"inputs": sequence[:, k % sequence.shape[1]], **states}
        start = time.perf_counter()
        outputs = run(feeds)
        times.append(time.perf_counter() - start)
        states = {name: outputs[f"next_{name}"] for name in states}
    # The first steps warm up.
    return 1e6 * statistics.median(times[steps // 10 :])


def measured(model, format, sequence, steps):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"step{exporting.SUFFIXES[format]}"
        kar.export_step(model, path, format, verbose=False)
        run, states = runtimes.load(path, format), runtimes.zero_states(kar.step_model(model))
        row = {"bytes": size_of(path), "difference": difference(model, run, sequence, states)}
        return row | ({"microseconds": microseconds(run, sequence, states, steps)} if steps else {})


def report(path):
    rows = read(path, KEY)
    columns = list(dict.fromkeys((backend, format) for backend, format, layer in rows if layer in LAYERS))
    print(f"| layer | {' | '.join(f'{format}, {backend}' for backend, format in columns)} |")
    print(f"| --- |{' ---: |' * len(columns)}")
    for layer in LAYERS:
        found = [rows.get((*column, layer)) for column in columns]
        cells = [f"{row['bytes'] / 1000:,.0f} kB, {row['microseconds']:,.0f} µs" if row else "" for row in found]
        print(f"| `{layer}` | {' | '.join(cells)} |")
    for (backend, format, layer), row in rows.items():
        if layer not in LAYERS:
            print(f"{layer}: {format} written on {backend}, {row['difference']:.1e}")
    print(f"largest difference from `predict`: {max(row['difference'] for row in rows.values()):.1e}")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--formats", nargs="+", choices=FORMATS[keras.backend.backend()])
    parser.add_argument("--layers", nargs="+", choices=LAYERS, default=list(LAYERS))
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--check-steps", type=int, default=20)
    parser.add_argument("--every", action="store_true", help="all recurrent layers of the tests, without times")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args(arguments)
    if options.report:
        report(options.json)
        return
    backend = keras.backend.backend()
    rng = np.random.default_rng(0)
    for name in ["every recurrent layer of tests/table.py"] if options.every else options.layers:
        if options.every:
            model, features, steps = every_layer(rng), 3, 0
        else:
            layer = LAYERS[name](return_sequences=True)
            model, features, steps = keras.Sequential([keras.Input((None, UNITS)), layer]), UNITS, options.steps
            perturbed(model, rng)
        sequence = rng.normal(size=(1, options.check_steps, features)).astype("float32")
        for format in options.formats or FORMATS[backend]:
            row = {"backend": backend, "format": format, "layer": name, **measured(model, format, sequence, steps)}
            print(row, flush=True)
            if options.json:
                add(options.json, KEY, [row])


if __name__ == "__main__":
    main()
