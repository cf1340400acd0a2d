"""Train steps of deep stacks with each schedule of our `RNN`, and how long each compiles.

`python -m benchmarks.deep_stack --help` says what can be chosen; `benchmarks/README.md` what is measured.
"""

import argparse
import itertools
import pathlib
import statistics
import time

import keras
import numpy as np

import keras_adaptive_rnn as kar
from benchmarks.contenders import JIT
from benchmarks.rows import add

STACKS = {
    "DeepRNN": lambda units, depth: kar.DeepRNNCell(units, depth=depth),
    "Elman": lambda units, depth: kar.StackedCells([kar.ElmanCell(units) for _ in range(depth)]),
    "LSTM": lambda units, depth: kar.StackedCells([kar.LSTMCell(units) for _ in range(depth)]),
    "Mogrifier": lambda units, depth: kar.StackedCells([kar.MogrifierCell(units) for _ in range(depth)]),
}
# Keras's layers that compute the same as the layers of a stack; a `DeepRNN` has skip connections that Keras has not.
LAYERS = {
    "Elman": keras.layers.SimpleRNN,
    "LSTM": keras.layers.LSTM,
    "Mogrifier": lambda units, **kwargs: keras.layers.RNN(kar.MogrifierCell(units), **kwargs),
}
SCHEDULES = ["layers", "steps", "wavefront"]
KERAS = {"Keras": "Keras's `RNN` over the whole stack", "Keras layers": "a Keras layer each"}
KEY = ("backend", "jit", "stack", "units", "depth", "batch", "steps")


def measure(stack, units, depth, batch, steps, jit, schedules, repeats, seconds):
    """Returns the seconds of the first train step and the median of later ones, by schedule."""
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=(batch, steps, units)).astype("float32") for _ in range(2))

    def compiled(name):
        if name == "Keras layers":
            layers = [LAYERS[stack](units, return_sequences=True) for _ in range(depth)]
        elif name == "Keras":
            layers = [keras.layers.RNN(STACKS[stack](units, depth), return_sequences=True)]
        else:
            layers = [kar.RNN(STACKS[stack](units, depth), return_sequences=True, schedule=name)]
        model = keras.Sequential([keras.Input((steps, units), batch_size=batch), *layers])
        model.compile("adam", "mse", jit_compile=JIT[jit])
        return lambda: model.train_on_batch(x, y)

    contenders, first = {}, {}
    for name in schedules:
        contenders[name] = compiled(name)
        first[name] = _seconds(contenders[name])
        contenders[name]()
    times = {name: [] for name in schedules}
    start = time.perf_counter()
    for k in range(repeats):
        for name in list(schedules)[:: -1 if k % 2 else 1]:
            times[name].append(_seconds(contenders[name]))
        if k >= 2 and time.perf_counter() - start > seconds:
            break
    return {
        name: {
            "first": first[name],
            "step": statistics.median(times[name]),
            "times_first": statistics.median(a / b for a, b in zip(times[name], times[schedules[0]], strict=True)),
            "rounds": len(times[name]),
        }
        for name in schedules
    }


def _seconds(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stacks", nargs="+", choices=STACKS, default=["DeepRNN"])
    parser.add_argument("--units", nargs="+", type=int, default=[256])
    parser.add_argument("--depth", nargs="+", type=int, default=[36, 144])
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--steps", type=int, default=50)
    beside = "; ".join(f"`{name}`: {what}" for name, what in KERAS.items())
    parser.add_argument(
        "--schedules", nargs="+", choices=[*SCHEDULES, *KERAS], default=SCHEDULES, help=f"of ours; {beside}"
    )
    parser.add_argument("--jit", choices=JIT, default="auto", help="Keras's jit_compile")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=60, help="no more rounds after so long, but 3 at least")
    parser.add_argument("--json", type=pathlib.Path, help="a file to add the rows to")
    options = parser.parse_args(arguments)
    if "Keras layers" in options.schedules and set(options.stacks) - set(LAYERS):
        parser.error(f'"Keras layers" are there for {", ".join(LAYERS)}. Received: --stacks {" ".join(options.stacks)}')
    for stack, units, depth in itertools.product(options.stacks, options.units, options.depth):
        job = {"stack": stack, "units": units, "depth": depth, "batch": options.batch, "steps": options.steps}
        found = measure(
            **job, jit=options.jit, schedules=options.schedules, repeats=options.repeats, seconds=options.seconds
        )
        row = {"backend": keras.backend.backend(), "jit": options.jit, **job, "schedules": found}
        what = f"{stack} {depth} x {units}, batch {options.batch}, {options.steps} steps"
        print(f"{row['backend']}, jit {options.jit}: {what}")
        for name, of in found.items():
            ratio = f"{of['times_first']:.2f} times {options.schedules[0]}"
            print(
                f"  {name:14}{of['step'] * 1000:7.0f} ms a train step ({ratio}), the first {of['first']:.1f} s",
                flush=True,
            )
        if options.json:
            add(options.json, KEY, [row])


if __name__ == "__main__":
    main()
