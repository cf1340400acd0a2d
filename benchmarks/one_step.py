"""Writes single time steps to files, runs them in their runtimes, and measures bytes and microseconds.

    KERAS_BACKEND=tensorflow python -m benchmarks.one_step --json benchmarks/one_step.json

For each cell of 64 units that reads 40 numbers, such as the bands of a spectrum, at batch size 1, and each format that
the backend writes, and ExecuTorch's where that is installed: the bytes of the file, the largest difference of its
outputs from those of `predict` over `--check-steps` steps, and the median time of a step over `--steps` steps in a
Python loop, on one thread where the runtime has that setting (not in OpenVINO and TensorFlow). With `--every`, it
writes all recurrent layers of `tests/table.py`, small ones, into one file instead and reports the largest difference.
`--json FILE` puts the rows into the file, in the place of those of the same backend, format and layer; with `--check`,
it fails instead where a file is larger or less exact than the rows say. `--report` writes them to `docs/tables/`.
"""

import argparse
import pathlib
import statistics
import sys
import tempfile
import time

import keras
import numpy as np

import keras_adaptive_rnn as kar
from benchmarks.contenders import CELLS
from benchmarks.rows import add, read, worse_than_known, write_tables
from keras_adaptive_rnn.one_step.file import FORMATS
from tests import exporting, runtimes

KEY = ("backend", "format", "layer")
# A version of a format may take a few bytes more, and another processor rounds otherwise.
ALLOWED = {"bytes": (1.02, 0), "difference": (3, 1e-6)}
UNITS, FEATURES = 64, 40
TITLES = {
    "litert": "LiteRT",
    "onnx": "ONNX Runtime",
    "executorch": "ExecuTorch",
    "openvino": "OpenVINO",
    "tf_saved_model": "SavedModel",
    "torch": "`torch.export`",
}
LAYERS = {
    "keras.layers.LSTM": lambda: keras.layers.LSTM(UNITS, return_sequences=True),
    "keras.layers.GRU": lambda: keras.layers.GRU(UNITS, return_sequences=True),
    **{name: lambda make=make: kar.RNN(make(UNITS), return_sequences=True) for name, make in CELLS.items()},
    "Mogrifier": lambda: kar.Mogrifier(UNITS, rank=8, return_sequences=True),
    "LowRankGRU": lambda: kar.LowRankGRU(UNITS, rank=8, return_sequences=True),
    "LowRankLSTM": lambda: kar.LowRankLSTM(UNITS, rank=8, return_sequences=True),
    "Skip": lambda: kar.RNN(kar.SkipCell(kar.GRUCell(UNITS)), return_sequences=True),
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
        if format == "executorch":
            kar.export_step(model, path.with_suffix(".pt2"), "torch", verbose=False)
            runtimes.to_executorch(path.with_suffix(".pt2"))
        else:
            kar.export_step(model, path, format, verbose=False)
        run, states = runtimes.load(path, format), runtimes.zero_states(kar.step_model(model))
        row = {"bytes": size_of(path), "difference": difference(model, run, sequence, states)}
        return row | ({"microseconds": microseconds(run, sequence, states, steps)} if steps else {})


def tables(rows):
    """Returns the table of the rows; a line for each layer."""
    # The first backend that writes a format stands for all; the fastest one comes first.
    by_format = {format: (backend, format) for backend, format, _ in reversed(rows)}
    columns = sorted(by_format.values(), key=lambda column: rows[*column, "LSTM"]["microseconds"])
    lines = [["cell", *(TITLES[format] for _, format in columns), "largest difference"]]
    for layer in LAYERS:
        found = [rows.get((*column, layer)) for column in columns]
        cells = [f"{row['bytes'] / 1000:,.0f} kB, {row['microseconds']:,.0f} µs" if row else "" for row in found]
        differences = [row["difference"] for (_, _, of), row in rows.items() if of == layer]
        lines.append([f"`{layer}`", *cells, f"{max(differences):.1e}"])
    return {"one_step": lines}


def formats():
    """Returns the names of the formats that can be written and run here."""
    found = [format for format in FORMATS[keras.backend.backend()] if format not in ("c", "c99")]
    has_executorch = keras.backend.backend() == "torch" and not exporting.missing("executorch")
    return [*found, *(["executorch"] if has_executorch else [])]


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--formats", nargs="+", choices=formats(), default=formats())
    parser.add_argument("--layers", nargs="+", choices=LAYERS, default=list(LAYERS))
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--check-steps", type=int, default=1000)
    parser.add_argument("--check", action="store_true", help="fail where a file is worse than the rows say")
    parser.add_argument("--every", action="store_true", help="all recurrent layers of the tests, without times")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args(arguments)
    if options.report:
        return write_tables(tables(read(options.json, KEY)))
    backend = keras.backend.backend()
    rng, faults = np.random.default_rng(0), []
    for name in ["every recurrent layer of tests/table.py"] if options.every else options.layers:
        if options.every:
            model, features, steps = every_layer(rng), 3, 0
        else:
            model = perturbed(keras.Sequential([keras.Input((None, FEATURES)), LAYERS[name]()]), rng)
            features, steps = FEATURES, options.steps
        sequence = rng.normal(size=(1, options.check_steps, features)).astype("float32")
        for format in options.formats:
            row = {"backend": backend, "format": format, "layer": name, **measured(model, format, sequence, steps)}
            print(row, flush=True)
            if options.check:
                faults.append(worse_than_known(options.json, KEY, row, ALLOWED))
            elif options.json:
                add(options.json, KEY, [row])
    return "\n".join(filter(None, faults)) or None


if __name__ == "__main__":
    sys.exit(main())
