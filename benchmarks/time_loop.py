"""Times our time loop against Keras's, over the same cell, side by side in one process.

    KERAS_BACKEND=jax python benchmarks/time_loop.py --units 256 1024

For each cell and width it builds one model around `keras_adaptive_rnn.layers.RNN` and one around `keras.layers.RNN`,
gives them the same weights, and times a train step (Adam, loss and update included) and a prediction of both in
alternation. It prints the medians and the median ratio of neighbours, Keras's time over ours: above 1, ours is faster.
With `--json FILE` it adds its rows to the file.
"""

import argparse
import json
import pathlib
import statistics
import time

import keras
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import keras_adaptive_rnn as kar

CELLS = {
    "LSTMCell": lambda units: kar.LSTMCell(units),
    "GRUCell": lambda units: kar.GRUCell(units),
    "MogrifierCell": lambda units: kar.MogrifierCell(units, rounds=5, rank=64),
    "MultiplicativeLSTMCell": lambda units: kar.MultiplicativeLSTMCell(units),
}
LOOPS = {"ours": kar.RNN, "keras": keras.layers.RNN}


def model(rnn, cell, shape):
    made = keras.Sequential([keras.Input(shape[1:], batch_size=shape[0]), rnn(cell, return_sequences=True)])
    made.compile("adam", "mse")
    return made


def seconds(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def compare(make, units, batch, steps, repeats):
    """Returns, for a train step and a prediction, the median seconds of each loop and the median ratio."""
    shape = (batch, steps, units)
    x = np.random.default_rng(0).normal(size=shape).astype("float32")
    models = {name: model(rnn, make(units), shape) for name, rnn in LOOPS.items()}
    models["keras"].set_weights(models["ours"].get_weights())
    rows = {}
    for what in ("train", "predict"):
        actions = {
            # Both return NumPy values, so the time holds the whole computation.
            name: (lambda m=m: m.train_on_batch(x, x)) if what == "train" else (lambda m=m: m.predict_on_batch(x))
            for name, m in models.items()
        }
        for action in actions.values():
            for _ in range(2):
                action()
        times = [{name: seconds(action) for name, action in actions.items()} for _ in range(repeats)]
        rows[what] = {
            **{name: statistics.median(t[name] for t in times) for name in actions},
            "ratio": statistics.median(t["keras"] / t["ours"] for t in times),
        }
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, nargs="+", default=[256, 1024])
    parser.add_argument("--cells", nargs="+", choices=CELLS, default=list(CELLS))
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--steps", type=int, default=35)
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()

    backend = keras.backend.backend()
    table = Table(title=f"{backend}: batch {arguments.batch}, {arguments.steps} steps, median of {arguments.repeats}")
    table.add_column("cell")
    for column in ("units", "", "ours, ms", "Keras, ms", "Keras / ours"):
        table.add_column(column, justify="right")
    rows = []
    jobs = [(name, units) for units in arguments.units for name in arguments.cells]
    for name, units in track(jobs, description=backend):
        result = compare(CELLS[name], units, arguments.batch, arguments.steps, arguments.repeats)
        for what, row in result.items():
            rows.append({"backend": backend, "cell": name, "units": units, "what": what, **row})
            ours, theirs = (f"{1000 * row[loop]:.1f}" for loop in LOOPS)
            table.add_row(name, str(units), what, ours, theirs, f"{row['ratio']:.2f}")
    Console().print(table)
    if arguments.json:
        known = json.loads(arguments.json.read_text()) if arguments.json.exists() else []
        kept = [row for row in known if row["backend"] != backend]
        arguments.json.write_text(json.dumps(kept + rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
