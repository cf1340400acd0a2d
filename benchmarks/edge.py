"""Files of 8 bits beside files of 32: what they cost in accuracy, and which cell is right most often for its bytes.

    KERAS_BACKEND=tensorflow python -m benchmarks.edge --json benchmarks/edge.json

Each cell of 64 units is trained on three tasks of the gallery (`examples/tasks`): digits, read as 40 rows of 40 pixels;
the state of a machine, after each sample of its sensor; and the next letter of a text. A single time step of the model
is written to LiteRT files of 32 and of 8 bits, calibrated on training data, and both read the test data. It takes
`pip install ai-edge-litert`, and one seed is trained. `--report` writes the rows to `docs/tables/`.
"""

import argparse
import os
import pathlib
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
from rich.progress import track

import keras_adaptive_rnn as kar
from benchmarks.rows import add, read, write_tables
from examples.tasks import _task, sequential_digits, streaming_sensor
from keras_adaptive_rnn._command_line import without_logs
from tests import runtimes

KEY = ("task", "cell")
CELLS = {name: getattr(kar, name) for name in ("LSTM", "GRU", "LowRankGRU", "Mogrifier", "MinGRU", "Elman")}
# Sequences of the training data from which the converter learns ranges.
CALIBRATION = 20
EMBEDDING = 16


def layer(cell, units, features, **kwargs):
    """Returns a layer; what has low rank has that of an eighth of the units."""
    rank = max(1, units // 8)
    if cell == "LowRankGRU":
        kwargs |= {"rank": rank, **({"kernel_map": kar.maps.LowRank(rank)} if features > rank else {})}
    if cell == "Mogrifier":
        kwargs["rank"] = min(rank, features)
    return CELLS[cell](units, **kwargs)


def digits(small):
    """Returns inputs, targets, test inputs and test targets."""
    size, count, faces = (8, 64, 1) if small else (40, 6000, 6)
    rng = np.random.default_rng(0)
    kinds = [(f"DejaVu {family}", weight) for family in ("Sans", "Serif", "Sans Mono") for weight in ("normal", "bold")]
    glyphs = np.array([[sequential_digits.glyph(digit, *kind) for kind in kinds[:faces]] for digit in range(10)])
    (x, y), (x_test, y_test) = (sequential_digits.draw(n, size, glyphs, rng) for n in (count, count // 6))
    x, x_test = (each.reshape(-1, size, size).astype("float32") for each in (x, x_test))
    return x, y, x_test, y_test


def sensor(small):
    rng = np.random.default_rng(0)
    signal, states = streaming_sensor.record(4000 if small else 60_000, rng)
    return divided(signal.reshape(-1, 100, 1).astype("float32"), states.reshape(-1, 100))


def letters(small):
    text = _task.reference_text()[: 6000 if small else 250_000]
    ids = np.unique(list(text), return_inverse=True)[1].astype("int32")
    return divided(*(ids[k : k + (len(ids) - 1) // 50 * 50].reshape(-1, 50) for k in (0, 1)))


def divided(x, y):
    last = len(x) // 10
    return x[:-last], y[:-last], x[-last:], y[-last:]


# The data of a task, and the epochs of training.
TASKS = {"digits": (digits, 15), "sensor": (sensor, 15), "letters": (letters, 6)}


def trained(cell, x, y, units, epochs):
    """Returns a trained model of sequences."""
    keras.utils.set_random_seed(0)
    reads_tokens = x.ndim == 2
    features = EMBEDDING if reads_tokens else x.shape[-1]
    model = keras.Sequential(
        [
            keras.Input((None, *x.shape[2:]), dtype=x.dtype.name),
            *([keras.layers.Embedding(int(x.max()) + 1, EMBEDDING)] if reads_tokens else []),
            layer(cell, units, features, return_sequences=y.ndim == 2),
            keras.layers.Dense(int(y.max()) + 1, activation="softmax"),
        ]
    )
    optimizer = keras.optimizers.Adam(
        keras.optimizers.schedules.CosineDecay(0.005, epochs * (len(x) // 32)), clipnorm=1.0
    )
    model.compile(optimizer, "sparse_categorical_crossentropy")
    model.fit(x, y, batch_size=32, epochs=epochs, verbose=0)
    return model


def right(run, states, x, y):
    """Returns the share of right answers of a file that reads one step of one sequence at a time."""
    said = np.concatenate([runtimes.read(run, each[None], states)["output"] for each in x])
    return float(np.mean((said if y.ndim == 2 else said[:, -1]).argmax(axis=-1) == y))


def measured(task, cell, units=64, small=False):
    """Returns the row of a cell on a task."""
    make, epochs = TASKS[task]
    x, y, x_test, y_test = make(small)
    model = trained(cell, x, y, units, 1 if small else epochs)
    states = runtimes.zero_states(kar.step_model(model))
    said = model.predict(x_test, verbose=0).argmax(axis=-1)
    row = {"task": task, "cell": cell, "weights": model.count_params(), "predict": float(np.mean(said == y_test))}
    for name, calibration in (("float32", None), ("int8", x[:CALIBRATION])):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "step.tflite"
            with without_logs():
                kar.export_step(model, path, "litert", calibration=calibration, verbose=False)
            row[name] = {
                "bytes": path.stat().st_size,
                "right": right(runtimes.load(path, "litert"), states, x_test, y_test),
            }
    return row


def tables(rows):
    """Returns the table of the rows: for each task, the cells by the size of their files of 8 bits."""
    lines = [["task", "cell", "float32: kB", "float32: right", "int8: kB", "int8: right"]]
    for row in sorted(rows.values(), key=lambda row: (list(TASKS).index(row["task"]), row["int8"]["bytes"])):
        line = [row["task"], f"`{row['cell']}`"]
        for name in ("float32", "int8"):
            line += [f"{row[name]['bytes'] / 1000:.1f}", f"{100 * row[name]['right']:.1f} %"]
        lines.append(line)
    return {"edge": lines}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--cells", nargs="+", choices=CELLS, default=list(CELLS))
    parser.add_argument("--small", action="store_true", help="small models and data, which say nothing")
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--json", type=pathlib.Path)
    options = parser.parse_args(arguments)
    if options.report:
        return write_tables(tables(read(options.json, KEY)))
    for task, cell in track([(task, cell) for task in options.tasks for cell in options.cells], "Training"):
        row = measured(task, cell, 8 if options.small else 64, options.small)
        print(row, flush=True)
        if options.json is not None:
            add(options.json, KEY, [row])


if __name__ == "__main__":
    main()
