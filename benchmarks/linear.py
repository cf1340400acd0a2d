"""Train steps and predictions of linear cells and those of xLSTM beside our LSTM, of as many units or weights.

    KERAS_BACKEND=jax python -m benchmarks.linear --json FILE

All cells of one size take turns in one process. `benchmarks/README.md` says what is measured.
"""

import argparse
import bisect
import itertools
import os
import pathlib
import statistics

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np

import keras_adaptive_rnn as kar
from benchmarks.contenders import device
from benchmarks.rows import add
from benchmarks.time_loop import alternate, environment

LAYERS = {
    "MinGRU": kar.MinGRU,
    "MinLSTM": kar.MinLSTM,
    "RGLRU": kar.RGLRU,
    "AdaptiveLinear": kar.AdaptiveLinear,
    "SLSTM": kar.SLSTM,
    "MLSTM": kar.MLSTM,
    "GatedDeltaNet": kar.GatedDeltaNet,
}
KEY = ("backend", "device", "units", "batch", "steps", "equal", "what")


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", nargs="+", choices=LAYERS, default=list(LAYERS))
    parser.add_argument("--units", type=int, default=256, help="of the LSTM and the inputs; default: 256")
    parser.add_argument("--batch", type=int, default=20)
    parser.add_argument("--steps", type=int, nargs="+", default=[35, 500, 4000])
    parser.add_argument("--equal", nargs="+", choices=["units", "weights"], default=["units", "weights"])
    parser.add_argument("--repeats", type=int, default=7, help="runs of each cell")
    parser.add_argument("--seconds", type=float, default=60.0, help="no new round after these")
    parser.add_argument("--json", type=pathlib.Path, help="a file to add the rows to, of all backends")
    return parser.parse_args(argv)


def equal_weights(make, units, inputs):
    """Returns the units at which a layer has as many weights as our LSTM, or nearly."""
    target = count(kar.LSTM(units), inputs)
    # MLSTM and GatedDeltaNet have four heads.
    sizes = range(8, 16 * units, 8)
    larger = bisect.bisect_left(sizes, target, key=lambda n: count(make(n), inputs))
    return min(sizes[max(0, larger - 1) : larger + 1], key=lambda n: abs(count(make(n), inputs) - target))


def count(layer, inputs):
    layer.build((None, None, inputs))
    return layer.count_params()


def actions(layers, inputs, batch, steps):
    """Returns the train step and the prediction of each layer, by name."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(batch, steps, inputs)).astype("float32")

    def of_layer(layer):
        model = keras.Sequential([keras.Input((steps, inputs), batch_size=batch), layer])
        y = np.zeros((batch, steps, layer.units), "float32")
        model.compile("adam", "mse")
        return {"train": lambda: model.train_on_batch(x, y), "predict": lambda: model.predict_on_batch(x)}

    return {name: of_layer(layer) for name, layer in layers.items()}


def measure(arguments, steps, equal):
    units = dict.fromkeys(arguments.cells, arguments.units)
    if equal == "weights":
        units = {name: equal_weights(LAYERS[name], arguments.units, arguments.units) for name in units}
    layers = {"LSTM": kar.LSTM(arguments.units, return_sequences=True)}
    layers |= {name: LAYERS[name](n, return_sequences=True) for name, n in units.items()}
    found = actions(layers, arguments.units, arguments.batch, steps)
    common = {"backend": keras.backend.backend(), "device": device(), "units": arguments.units}
    rows = []
    for what in ("train", "predict"):
        rounds = alternate({name: each[what] for name, each in found.items()}, arguments.repeats, arguments.seconds)
        rows.append(
            {
                **common,
                "batch": arguments.batch,
                "steps": steps,
                "equal": equal,
                "what": what,
                "units_of": units,
                "weights": {name: layer.count_params() for name, layer in layers.items()},
                "seconds": {name: statistics.median(r[name] for r in rounds) for name in layers},
                # How many times as fast as the LSTM.
                "ratios": {name: statistics.median(r["LSTM"] / r[name] for r in rounds) for name in units},
                "rounds": len(rounds),
                "environment": environment(),
            }
        )
    return rows


def main(argv=None):
    arguments = parse(argv)
    for equal, steps in itertools.product(arguments.equal, arguments.steps):
        keras.utils.clear_session()
        rows = measure(arguments, steps, equal)
        for row in rows:
            ratios = ", ".join(f"{name} {ratio:.2f}" for name, ratio in row["ratios"].items())
            print(f"{row['backend']}, {steps} steps, equal {equal}, {row['what']}, times as fast as LSTM: {ratios}")
        if arguments.json:
            add(arguments.json, KEY, rows)


if __name__ == "__main__":
    main()
