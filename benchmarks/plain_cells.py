"""Times what a user would have without this package: a cell written by hand for `keras.layers.RNN`, and Keras's layers.

    KERAS_BACKEND=jax python -m benchmarks.plain_cells --json benchmarks/plain_cells.json

In each row, our layer takes turns with the others, as in `benchmarks.time_loop`: for the Mogrifier, the same cell as
one writes it down with `keras.ops`, and our own cell, both in `keras.layers.RNN`; for the LSTM and the GRU, Keras's
layers, and our own cells in `keras.layers.RNN`. All have the same weights. A ratio is a time over that of our layer:
above 1, ours is faster. `--report` shows what a file holds, and the sentence of the README.
"""

import argparse
import gc
import itertools
import pathlib
import statistics

import keras
import numpy as np
from keras import ops

import keras_adaptive_rnn as kar
from benchmarks.contenders import device
from benchmarks.rows import add, read
from benchmarks.time_loop import alternate, environment, markdown, number

KEY = ("backend", "device", "cell", "units", "batch", "steps", "what")


class PlainMogrifierCell(keras.Layer):
    """The Mogrifier LSTM, as one writes it for `keras.layers.RNN`; its weights are in the order of ours."""

    def __init__(self, units, rounds=5, rank=64, **kwargs):
        super().__init__(**kwargs)
        self.units, self.rounds, self.rank = units, rounds, rank
        self.state_size, self.output_size = [units, units], units

    def build(self, input_shape):
        inputs = input_shape[-1]
        self.kernel = self.add_weight(shape=(inputs, 4 * self.units), name="kernel")
        self.recurrent_kernel = self.add_weight(shape=(self.units, 4 * self.units), name="recurrent_kernel")
        self.bias = self.add_weight(shape=(4 * self.units,), initializer="zeros", name="bias")
        self.gates = []
        for i in range(self.rounds):
            of, to = (inputs, self.units) if i % 2 else (self.units, inputs)
            right = self.add_weight(shape=(of, self.rank), name=f"right_{i}")
            self.gates.append((right, self.add_weight(shape=(self.rank, to), name=f"left_{i}")))

    def call(self, inputs, states, training=False):
        x, (h, c) = inputs, states
        for i, (right, left) in enumerate(self.gates):
            if i % 2:
                h = 2 * ops.sigmoid(x @ right @ left) * h
            else:
                x = 2 * ops.sigmoid(h @ right @ left) * x
        i, f, g, o = ops.split(x @ self.kernel + h @ self.recurrent_kernel + self.bias, 4, axis=-1)
        c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
        h = ops.sigmoid(o) * ops.tanh(c)
        return h, [h, c]


def rank(units):
    return min(64, units)


# By cell, what makes each contender, of a number of units.
LAYERS = {
    "Mogrifier": {
        "ours": lambda units: kar.Mogrifier(units, rank=rank(units), return_sequences=True),
        "plain": lambda units: in_loop_of_keras(PlainMogrifierCell(units, rank=rank(units))),
        "our cell": lambda units: in_loop_of_keras(kar.MogrifierCell(units, rank=rank(units))),
    },
    "LSTM": {
        "ours": lambda units: kar.LSTM(units, return_sequences=True),
        "Keras": lambda units: keras.layers.LSTM(units, return_sequences=True),
        "our cell": lambda units: in_loop_of_keras(kar.LSTMCell(units)),
    },
    "GRU": {
        "ours": lambda units: kar.GRU(units, return_sequences=True),
        "Keras": lambda units: keras.layers.GRU(units, return_sequences=True),
        "our cell": lambda units: in_loop_of_keras(kar.GRUCell(units)),
    },
}


def in_loop_of_keras(cell):
    return keras.layers.RNN(cell, return_sequences=True)


def contenders(cell, units, batch, steps):
    """Returns by name a train step and a prediction of models with the same weights, as in `benchmarks.contenders`."""
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(batch, steps, units)).astype("float32") for _ in range(2))
    found, weights = {}, None
    for name, make in LAYERS[cell].items():
        model = keras.Sequential([keras.Input((steps, units), batch_size=batch), make(units)])
        model.compile("adam", "mse")
        weights = model.get_weights() if weights is None else weights
        model.set_weights(weights)
        found[name] = {
            "train": lambda model=model: model.train_on_batch(x, y),
            "predict": lambda model=model: model.predict_on_batch(x),
        }
    return found


def measure(cell, units, batch, steps, repeats, seconds):
    """Returns the rows of one cell of one size."""
    actions = contenders(cell, units, batch, steps)
    common = {"backend": keras.backend.backend(), "device": device(), "cell": cell}
    common |= {"units": units, "batch": batch, "steps": steps, "environment": environment()}
    rows = []
    for what in ("train", "predict"):
        rounds = alternate({name: each[what] for name, each in actions.items()}, repeats, seconds)
        medians = {name: statistics.median(r[name] for r in rounds) for name in actions}
        ratios = {name: statistics.median(r[name] / r["ours"] for r in rounds) for name in actions}
        rows.append({**common, "what": what, "seconds": medians, "ratios": ratios, "rounds": len(rounds)})
    return rows


def table(rows):
    """Returns the rows as a table in Markdown."""
    names = list(dict.fromkeys(name for row in rows for name in row["ratios"]))
    header = ["backend", "cell", "units", "batch", "steps", "", *(f"{name}, ms" for name in names)]
    header += [f"{name} / ours" for name in names if name != "ours"]
    lines = [
        [str(row[name]) for name in ("backend", "cell", "units", "batch", "steps", "what")]
        + [number(row["seconds"].get(name), 1000) for name in names]
        + [number(row["ratios"].get(name)) for name in names if name != "ours"]
        for row in rows
    ]
    return markdown("Train steps and predictions", header, lines)


def sentence(rows):
    """Returns what the README says of the rows: how far the ratios go over all backends, cells and sizes."""

    def ranged(contender, what):
        values = [row["ratios"][contender] for row in rows if row["what"] == what and contender in row["ratios"]]
        return f"{min(values):.2f} to {max(values):.2f}"

    units = sorted({row["units"] for row in rows})
    return (
        f"On a CPU with {units[0]} to {units[-1]} units, a Mogrifier written by hand for `keras.layers.RNN` takes "
        f"{ranged('plain', 'train')} times as long as ours to train and {ranged('plain', 'predict')} to predict; "
        f"`keras.layers.LSTM` and `GRU` take {ranged('Keras', 'train')} and {ranged('Keras', 'predict')} times."
    )


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", nargs="+", choices=LAYERS, default=list(LAYERS))
    for name, default in {"units": [128, 256, 512], "batch": [20], "steps": [35]}.items():
        parser.add_argument(f"--{name}", type=int, nargs="+", default=default, help="%(default)s")
    parser.add_argument("--repeats", type=int, default=21, help="rounds of a row (%(default)s)")
    parser.add_argument("--seconds", type=float, default=60, help="no further rounds after these, but 3 at least")
    parser.add_argument("--json", type=pathlib.Path, help="a file to add the rows to, of all backends")
    parser.add_argument("--report", action="store_true", help="measure nothing, and show the rows of --json")
    arguments = parser.parse_args(argv)
    if arguments.report:
        if arguments.json is None:
            parser.error("--report needs --json FILE")
        rows = list(read(arguments.json, KEY).values())
        print(table(rows), sentence(rows), sep="\n")
        return
    rows = []
    for sizes in itertools.product(arguments.cells, arguments.units, arguments.batch, arguments.steps):
        new = measure(*sizes, arguments.repeats, arguments.seconds)
        rows += new
        if arguments.json:
            add(arguments.json, KEY, new)
        keras.utils.clear_session()
        gc.collect()
    print(table(rows))


if __name__ == "__main__":
    main()
