"""Runs the same cells wherever they can run, and measures microseconds, bytes and errors.

    KERAS_BACKEND=torch python -m benchmarks.platforms --json benchmarks/platforms.json

LSTM, GRU, Mogrifier and MinGRU of 64 and 256 units, which read as many numbers, for 1 and 32 rows: a sequence of 100
steps, and a single step. Each runs in Keras on the backend, in `torch.nn` on PyTorch, and from each kind of file that
the backend writes, in the runtime of that file, on one thread where the runtime has that setting (not in OpenVINO and
TensorFlow). The error is the largest difference from `predict`. `--json` puts the rows into the file, in the place of
those of the same key, and a row says so where a runtime fails; `--report` writes them to `docs/tables/platforms.csv`.
"""

import argparse
import itertools
import pathlib
import statistics
import tempfile
import time

import keras
import numpy as np

import keras_adaptive_rnn as kar
from benchmarks.contenders import CELLS
from benchmarks.one_step import perturbed, size_of
from benchmarks.rows import add, read, write_tables
from keras_adaptive_rnn import engine
from keras_adaptive_rnn.one_step.file import FORMATS
from tests import exporting, runtimes

KEY = ("cell", "units", "batch", "what", "backend", "where")
NAMES, UNITS, BATCHES, STEPS = ("LSTM", "GRU", "Mogrifier", "MinGRU"), (64, 256), (1, 32), 100
TITLES = {
    "keras": "Keras",
    "torch.nn": "`torch.nn`",
    "onnx": "ONNX Runtime",
    "openvino": "OpenVINO",
    "litert": "LiteRT",
    "executorch": "ExecuTorch",
    "torch": "`torch.export`",
    "tf_saved_model": "SavedModel",
    "c99": "C",
}
BACKENDS = {"jax": "JAX", "tensorflow": "TensorFlow", "torch": "PyTorch"}


def microseconds(call, seconds):
    """Returns the median time of a call."""
    times, end = [], time.perf_counter() + seconds
    call()
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times)


def error(found, expected):
    return float(np.abs(np.asarray(found) - expected).max())


# What runs a sequence or a step in one place: each returns a row and the call to time.


def keras_sequence(model, x, expected):
    return {"error": 0.0}, lambda: model.predict_on_batch(x)


def keras_step(model, x, expected):
    layer = model.layers[-1]
    first, states = x[:, 0], layer.get_initial_state(len(x))

    def step():
        with engine.inference():
            return keras.ops.convert_to_numpy(layer.step(first, states)[0])

    return {"error": error(step(), expected[:, 0])}, step


def torch_outputs(name, model, x, expected):
    """Of the layer of `torch.nn` with the same weights, without Keras, which takes any length."""
    import torch

    module = torch_layer(name, model)

    def outputs():
        with torch.inference_mode():
            return module(torch.from_numpy(x))[0].numpy()

    return {"error": error(outputs(), expected[:, : x.shape[1]])}, outputs


def torch_layer(name, model):
    """Returns a `torch.nn.LSTM` or `GRU` with the weights of a model of one layer."""
    import torch

    kernel, recurrent, bias = model.get_weights()
    units = recurrent.shape[0]
    # PyTorch puts the reset gate of a GRU first, and keeps what Keras's update gate keeps.
    order = [1, 0, 2] if name == "GRU" else [0, 1, 2, 3]

    def gates(weight):
        return np.concatenate([np.split(weight, len(order), axis=-1)[k] for k in order], axis=-1)

    module = getattr(torch.nn, name)(kernel.shape[0], units, batch_first=True)
    biases = gates(bias) if bias.ndim == 2 else np.stack([gates(bias), np.zeros_like(bias)])
    values = [gates(kernel).T, gates(recurrent).T, *biases]
    for parameter, value in zip(module.parameters(), values, strict=True):
        parameter.data = torch.tensor(np.ascontiguousarray(value))
    return module


def file_of_sequence(model, x, expected, format, folder):
    path = folder / f"model{exporting.SUFFIXES[format]}"
    exporting.export(model, path, format, x.shape)
    run = exporting.load(path, format)
    return {"bytes": size_of(path), "error": error(run(x), expected)}, lambda: run(x)


def file_of_step(model, x, expected, format, folder):
    path = folder / f"step{exporting.SUFFIXES[format]}"
    if format == "executorch":
        kar.export_step(model, path.with_suffix(".pt2"), "torch", len(x), verbose=False)
        runtimes.to_executorch(path.with_suffix(".pt2"))
    else:
        kar.export_step(model, path, format, len(x), verbose=False)
    run = runtimes.load(path, format)
    feeds = {"inputs": x[:, 0].copy(), **runtimes.zero_states(kar.step_model(model, len(x)))}
    return {"bytes": size_of(path), "error": error(run(feeds)["output"], expected[:, 0])}, lambda: run(feeds)


def ways(name, model, x, folder):
    """Returns by `(where, what)` functions that return a row and the call to time."""
    backend, given = keras.backend.backend(), (model, x, model.predict(x, verbose=0))
    found = {("keras", "sequence"): lambda: keras_sequence(*given), ("keras", "step"): lambda: keras_step(*given)}
    if backend == "torch" and name in ("LSTM", "GRU"):
        first = (model, x[:, :1].copy(), given[-1])
        found["torch.nn", "sequence"] = lambda: torch_outputs(name, *given)
        found["torch.nn", "step"] = lambda: torch_outputs(name, *first)
    for format in [*FORMATS[backend], *(["executorch"] if backend == "torch" else [])]:
        if format in TITLES and not exporting.missing(format):
            if format not in ("executorch", "c99"):  # These hold single steps.
                found[format, "sequence"] = lambda format=format: file_of_sequence(*given, format, folder)
            found[format, "step"] = lambda format=format: file_of_step(*given, format, folder)
    return found


def measured(way, seconds):
    """Returns the figures of one way, or what went wrong in its runtime."""
    try:
        row, call = way()
        return {**row, "microseconds": microseconds(call, seconds)}
    except Exception as failure:
        return {"fails": f"{type(failure).__name__}: {failure}"[:300]}


def tables(rows):
    """Returns the table: a line for each cell, size and kind of run, a column for each place."""
    columns = list(dict.fromkeys((where, backend) for *_, backend, where in rows))
    columns.sort(key=lambda column: list(TITLES).index(column[0]))
    header = ["cell", "units", "rows", "", *(f"{TITLES[where]}, {BACKENDS[backend]}" for where, backend in columns)]
    lines = [header]
    for name, units, batch, what in itertools.product(NAMES, UNITS, BATCHES, ("step", "sequence")):
        found = [rows.get((name, units, batch, what, backend, where)) for where, backend in columns]
        if any(found):
            kind = "one step" if what == "step" else f"{STEPS} steps"
            lines.append([f"`{name}`", str(units), str(batch), kind, *map(shown, found)])
    return {"platforms": lines}


def shown(row):
    """Returns a row as text: microseconds, bytes of a file, and the error."""
    if row is None or "fails" in row:
        return "fails" if row else ""
    size = [f"{row['bytes'] / 1000:,.0f} kB"] if "bytes" in row else []
    return ", ".join([f"{row['microseconds']:,.0f} µs", *size, f"{row['error']:.0e}"])


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--units", nargs="+", type=int, default=UNITS)
    parser.add_argument("--batches", nargs="+", type=int, default=BATCHES)
    parser.add_argument("--where", nargs="+", choices=TITLES, default=[*TITLES], help="only these runtimes")
    parser.add_argument("--seconds", type=float, default=1, help="that a row is timed for (%(default)s)")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args(arguments)
    if options.report:
        return write_tables(tables(read(options.json, KEY)))
    rng = np.random.default_rng(0)
    for name, units, batch in itertools.product(options.cells, options.units, options.batches):
        layer = kar.RNN(CELLS[name](units), return_sequences=True)
        model = perturbed(keras.Sequential([keras.Input((STEPS, units), batch_size=batch), layer]), rng)
        x = rng.normal(size=(batch, STEPS, units)).astype("float32")
        common = {"cell": name, "units": units, "batch": batch, "backend": keras.backend.backend()}
        with tempfile.TemporaryDirectory() as folder:
            for (where, what), way in ways(name, model, x, pathlib.Path(folder)).items():
                if where not in options.where:
                    continue
                row = {**common, "what": what, "where": where, **measured(way, options.seconds)}
                print(row, flush=True)
                if options.json:
                    add(options.json, KEY, [row])


if __name__ == "__main__":
    main()
