"""Exports every layer and model in every format, runs the files, and writes the results to `docs/tables/`.

    python -m benchmarks.exports
    python -m benchmarks.exports --rows mogrifier skip --backends tensorflow --formats onnx --again

The rows are the layers and models of `tests/table.py`, some of them in `keras.layers.Bidirectional`, in a stack and
behind a mask, and `keras.layers.LSTM` for comparison. A file passes if its own runtime computes what `predict` does, to
a relative and absolute tolerance of 1e-5, for two batch sizes and, where it takes any length, for two lengths.

Each cell of the table runs in a process of its backend, which is ended if it takes too long, and started again if it
crashes. Results are kept in `benchmarks/exports.json` as they come, so that a run that was stopped goes on. At the end,
it prints the versions for `docs/exports.md`.
"""

import argparse
import importlib.metadata
import itertools
import multiprocessing
import os
import pathlib
import re
import tempfile

from rich.progress import track

from benchmarks import rows as files

KEY = ("row", "backend", "format", "length")
BATCHES, LENGTHS, FEATURES, TOLERANCE = (2, 3), (5, 8), 4, 1e-5
FORMATS = {
    "tensorflow": ["tf_saved_model", "onnx", "litert", "openvino"],
    "jax": ["tf_saved_model", "onnx", "openvino"],
    "torch": ["onnx", "openvino", "torch", "tf_saved_model"],
}
# What Keras writes for none of our layers, nor for its own: two rows show it.
FOR_NO_LAYER, SHOWN = [("jax", "openvino"), ("torch", "tf_saved_model")], ("keras.layers.LSTM", "mogrifier")
# Whose nodes are counted: files for a known length, of five steps, differ on PyTorch alone.
LOOPS = [*((backend, "unknown") for backend in FORMATS), ("torch", "fixed")]
PACKAGES = {
    "keras": "Keras",
    "tensorflow": "TensorFlow",
    "jax": "JAX",
    "torch": "PyTorch",
    "onnxruntime": "ONNX Runtime",
    "tf2onnx": "tf2onnx",
    "jax2onnx": "jax2onnx",
    "onnxscript": "ONNX Script",
    "openvino": "OpenVINO",
    "ai-edge-litert": "LiteRT",
}


def makers():
    """Returns functions that make the layers or the model of each row, by name."""
    import keras

    import keras_adaptive_rnn as kar
    from tests.table import LAYERS, MODELS

    class Block(keras.layers.Layer):
        """A `GridLSTMBlock` on the mean and the maximum of a sequence."""

        def __init__(self):
            super().__init__()
            self.block = kar.GridLSTMBlock(FEATURES)

        def build(self, shape):
            self.block.build(*[[(None, FEATURES)] * 2] * 2)

        def call(self, x):
            mean, greatest = keras.ops.mean(x, axis=1), keras.ops.max(x, axis=1)
            hidden, memory = self.block([mean, greatest], [greatest, mean])
            return keras.ops.concatenate([*hidden, *memory], axis=-1)

    return {
        "keras.layers.LSTM": lambda: [keras.layers.LSTM(4, return_sequences=True)],
        **{name: lambda make=make: [make()] for name, make in LAYERS.items()},
        "bidirectional": lambda: [keras.layers.Bidirectional(kar.Mogrifier(4, return_sequences=True))],
        "stack": lambda: [kar.LSTM([4] * 3, connection="skip", return_sequences=True)],
        "masking": lambda: [keras.layers.Masking(), kar.GRU(4, return_sequences=True), kar.Mogrifier(4)],
        "skip_sequences": lambda: [kar.Skip(kar.GRUCell(4), return_sequences=True)],
        "fixed_embedding": lambda: [kar.FixedEmbedding(9, 4)],
        "grid_lstm_block": lambda: [Block()],
        **{f"models.{name}": make for name, make in MODELS.items()},
    }


def outcome(name, format, length):
    """Returns what came of one cell of the table: a dict of the result, a note, and for ONNX the number of nodes."""
    import keras
    import numpy as np

    from tests import exporting

    keras.utils.set_random_seed(0)
    rng, made = np.random.default_rng(0), makers()[name]()
    is_model = isinstance(made, keras.Model)
    reads_tokens = is_model or name == "fixed_embedding"
    dtype, features = ("int32", ()) if reads_tokens else ("float32", (FEATURES,))
    steps, lengths = (None, LENGTHS) if length == "unknown" else (LENGTHS[0], LENGTHS[:1])
    # A file in LiteRT holds a batch of one size, like that of `keras.layers.LSTM`.
    batches = BATCHES if format == "litert" else [None]

    def inputs(batch, steps):
        x = rng.integers(0, 9, (batch, steps)) if reads_tokens else rng.normal(size=(batch, steps, FEATURES))
        x[0, :2] = 0
        return x.astype(dtype)

    model = made if is_model else keras.Sequential([keras.Input((steps, *features), dtype=dtype), *made])
    if is_model:
        model(inputs(2, LENGTHS[0]))
    model.set_weights([0.5 * rng.normal(size=w.shape) for w in model.weights])
    difference, nodes = 0, {}

    def results(result, note):
        return {"result": result, "note": short(note), **nodes}

    with tempfile.TemporaryDirectory() as folder:
        for size in batches:
            path = os.path.join(folder, f"model_{size}{exporting.SUFFIXES[format]}")
            try:
                exporting.export(model, path, format, (size, steps, *features), dtype)
            except Exception as error:
                # Our own errors say where to export instead.
                refused = "and export it there" in str(error)
                return results("refused" if refused else "fails", f"{type(error).__name__}: {error}")
            if format == "onnx":
                nodes = {"nodes": exporting.count_nodes(path)}
            for batch, steps_now in itertools.product(BATCHES if size is None else [size], lengths):
                x = inputs(batch, steps_now)
                try:
                    found = exporting.run(path, format, x)
                except Exception as error:
                    return results("fails", f"in its runtime, for {list(x.shape)}: {type(error).__name__}: {error}")
                expected = model.predict(x, verbose=0)
                if found.shape != expected.shape:
                    return results("wrong", f"of shape {list(found.shape)} for {list(x.shape)}")
                error = np.abs(found - expected) / (1 + np.abs(expected))
                difference = max(difference, float(error.max(initial=0)))
    return results("passes" if difference <= TOLERANCE else "wrong", f"{difference:.1e}")


def work(connection):
    while (job := connection.recv()) is not None:
        connection.send(outcome(*job))


class Worker:
    """A process of a backend that runs one cell of the table at a time."""

    def __init__(self, backend):
        self.backend, self.process = backend, None

    def start(self):
        os.environ.update(KERAS_BACKEND=self.backend, TF_CPP_MIN_LOG_LEVEL="3")
        context = multiprocessing.get_context("spawn")
        self.connection, other = context.Pipe()
        self.process, self.count = context.Process(target=work, args=(other,), daemon=True), 0
        self.process.start()
        other.close()

    def run(self, job, seconds):
        if self.process is None:
            self.start()
        self.connection.send(job)
        try:
            is_done = self.connection.poll(seconds)
            result = self.connection.recv() if is_done else {"result": "fails", "note": f"no end in {seconds} s"}
        except EOFError:
            result = {"result": "fails", "note": "the process crashed"}
        self.count += 1
        # What is compiled stays in memory for ever.
        if "process" in result["note"] or "no end" in result["note"] or self.count == 40:
            self.stop()
        return result

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


def jobs(arguments):
    for length, backend, name in itertools.product(arguments.lengths, arguments.backends, arguments.rows or makers()):
        for format in FORMATS[backend]:
            if format in arguments.formats and ((backend, format) not in FOR_NO_LAYER or name in SHOWN):
                yield name, backend, format, length


def short(message):
    """Returns the part of a message that says what is wrong, on one line and without the names of layers."""
    # Keras adds the arguments, and the names of temporary files differ from run to run.
    text = re.sub(r"\x1b\[\dm|Arguments received by.*|/tmp/\S+", "", message, flags=re.DOTALL)
    text = re.sub(r".*(?=Layer '\w+' (needs|is stateful)|On PyTorch, )", "", text, flags=re.DOTALL)
    text = re.sub(r"(?<=Layer ')\w+|(?<=_)\d+\b", "...", " ".join(text.split()))
    return text if len(text) < 300 else f"{text[:300]} ..."


def tables(results):
    """Returns a table of results for each kind of length, one of notes, for each kind of failure, and one of nodes."""
    notes, found = {}, {}
    columns = [(backend, format) for backend, formats in FORMATS.items() for format in formats]
    for name, length in (("exports_fixed_length", "fixed"), ("exports_any_length", "unknown")):
        lines = [["layer or model", *(f"{backend}, {format}" for backend, format in columns)]]
        # In the order of the rows, whenever they were run.
        for layer in makers():
            rows = [results.get((layer, *column, length)) for column in columns]
            if any(rows):
                lines.append([f"`{layer}`", *(shown(row, notes) for row in rows)])
        found[name] = lines
    found["exports_nodes"] = [["layer or model", *(f"{backend}, {length}" for backend, length in LOOPS)]]
    for layer in makers():
        rows = [results.get((layer, backend, "onnx", length), {}) for backend, length in LOOPS]
        if any(rows):
            found["exports_nodes"].append([f"`{layer}`", *(str(row.get("nodes", "")) for row in rows)])
    found["exports_notes"] = [["note", "message"], *([str(number), note] for note, number in notes.items())]
    return found


def shown(row, notes):
    """Returns the result of a row, with the number of the note that says why it does not pass."""
    if row is None or row["result"] == "passes":
        return row["result"] if row else ""
    return f"{row['result']} [{notes.setdefault(row['note'], len(notes) + 1)}]"


def versions(results):
    """Returns a sentence with the versions that the rows ran with, some of which may be installed no more."""
    found = {package: {version(package)} - {None} for package in PACKAGES if package not in FORMATS}
    for row in results.values():
        found.setdefault(row["backend"], set()).add(row["version"])
    listed = [f"{PACKAGES[p]} {' or '.join(sorted(found[p]))}" for p in PACKAGES if found.get(p)]
    return f"Run with {', '.join(listed)}."


def version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", help="names of layers and models; all by default")
    parser.add_argument("--backends", nargs="+", choices=FORMATS, default=list(FORMATS))
    every = sorted(set(itertools.chain(*FORMATS.values())))
    parser.add_argument("--formats", nargs="+", choices=every, default=every)
    parser.add_argument("--lengths", nargs="+", choices=["unknown", "fixed"], default=["unknown", "fixed"])
    parser.add_argument("--seconds", type=float, default=240, help="after which a cell of the table has failed")
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("benchmarks/exports.json"))
    parser.add_argument("--again", action="store_true", help="run what has a result, too")
    arguments = parser.parse_args(arguments)
    known = {} if arguments.again else files.read(arguments.json, KEY)
    left = [job for job in jobs(arguments) if job not in known]
    workers = {backend: Worker(backend) for backend in FORMATS}
    for name, backend, format, length in track(left, description="Exports"):
        row = dict(zip(KEY, (name, backend, format, length), strict=True))
        row |= workers[backend].run((name, format, length), arguments.seconds)
        row |= {"version": version(backend)}
        files.add(arguments.json, KEY, [row])
    for worker in workers.values():
        worker.stop()
    results = files.read(arguments.json, KEY)
    files.write_tables(tables(results))
    print(versions(results))


if __name__ == "__main__":
    main()
