"""What dynamic and Monte Carlo evaluation cost beside their own arithmetic.

    python -m benchmarks.evaluation [--backends jax torch]

One model of four million weights, two LSTM layers and 5,000 words, reads 2,000 words in segments of 5 (dynamic, one
row), or 7,000 in segments of 35 (Monte Carlo, ten rows, twenty samples). Beside each evaluation stands the barest loop
that its backend allows around the same arithmetic:

- `dynamic`: for each segment, one compiled function that computes the gradient and steps along it, six passes over the
  weights: two for the gradient, four to read and write what the step needs;
- `monte-carlo`: for each segment, one compiled forward pass, without dropout, twenty times the segments of a text.

What a call of dynamic evaluation costs before its first segment, compilation and the gradients of a short training
text, is measured by a call of four segments, and taken off. The times are the smallest of three, after a first call
that compiles. Each backend runs in a process of its own, and both sides of a pair take turns. Rows are written to
`benchmarks/evaluation.json`.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import time

from benchmarks import rows

PATH = pathlib.Path(__file__).with_suffix(".json")
KEY = ("backend", "method")
VOCABULARY, SAMPLES, REPEATS = 5000, 20, 3
TOKENS = {"dynamic": 2000, "monte-carlo": 7000}
STEPS = {"dynamic": 5, "monte-carlo": 35}
ROWS = 10


def make_model(batch_size):
    import keras

    from keras_adaptive_rnn.layers import LSTM

    return keras.Sequential(
        [
            keras.Input(batch_shape=(batch_size, None), dtype="int32"),
            keras.layers.Embedding(VOCABULARY, 224),
            LSTM(448, return_sequences=True, stateful=True, dropout=0.2),
            LSTM(224, return_sequences=True, stateful=True, dropout=0.2),
            keras.layers.Dense(VOCABULARY),
        ]
    )


def jax_loops(model, rate):
    import jax
    import keras

    def loss(trainable, others, x, y):
        logits, others = model.stateless_call(trainable, others, x, training=False)
        return keras.ops.mean(keras.losses.sparse_categorical_crossentropy(y, logits, from_logits=True)), others

    @jax.jit
    def forward(trainable, others, x, y):
        return loss(trainable, others, x, y)

    def step(trainable, others, fixed, x, y):
        (value, others), gradients = jax.value_and_grad(loss, has_aux=True)(trainable, others, x, y)
        triples = zip(trainable, fixed, gradients, strict=True)
        return value, [kept * w + returned - rates * g for w, (kept, returned, rates), g in triples], others

    step = jax.jit(step, donate_argnums=(0, 1))

    def values(variables):
        return [v.value + 0 for v in variables]

    def learn(xs, ys):
        trainable, others = values(model.trainable_variables), values(model.non_trainable_variables)
        fixed = [(0.998 + 0 * w, 0.002 * w, rate + 0 * w) for w in trainable]
        jax.block_until_ready((trainable, fixed))
        start = time.perf_counter()
        for x, y in zip(xs, ys, strict=True):
            value, trainable, others = step(trainable, others, fixed, x, y)
        jax.block_until_ready((value, trainable))
        return time.perf_counter() - start

    def read(xs, ys):
        trainable, others = values(model.trainable_variables), values(model.non_trainable_variables)
        start = time.perf_counter()
        for x, y in zip(xs, ys, strict=True):
            value, others = forward(trainable, others, x, y)
        jax.block_until_ready(value)
        return time.perf_counter() - start

    return learn, read


def tensorflow_loops(model, rate):
    import keras
    import tensorflow as tf

    weights = [v.value for v in model.trainable_variables]
    before = [w.numpy() for w in weights]
    fixed = [tuple(map(tf.Variable, (0.998 + 0 * w, 0.002 * w, rate + 0 * w))) for w in before]

    def loss(x, y):
        return tf.reduce_mean(
            keras.losses.sparse_categorical_crossentropy(y, model(x, training=False), from_logits=True)
        )

    forward = tf.function(loss, reduce_retracing=True)

    @tf.function(reduce_retracing=True)
    def step(x, y):
        with tf.GradientTape() as tape:
            value = loss(x, y)
        for w, (kept, returned, rates), g in zip(weights, fixed, tape.gradient(value, weights), strict=True):
            w.assign(kept * w + returned - rates * tf.convert_to_tensor(g))
        return value

    def timed(function):
        def run(xs, ys):
            for w, value in zip(weights, before, strict=True):
                w.assign(value)
            batches = [(tf.constant(x), tf.constant(y)) for x, y in zip(xs, ys, strict=True)]
            start = time.perf_counter()
            for x, y in batches:
                value = function(x, y)
            value.numpy()
            return time.perf_counter() - start

        return run

    return timed(step), timed(forward)


def torch_loops(model, rate):
    import torch

    weights = [v.value for v in model.trainable_variables]
    before = [w.detach().clone() for w in weights]
    fixed = [(0.998 + 0 * w, 0.002 * w, rate + 0 * w) for w in before]

    def loss(x, y):
        return torch.nn.functional.cross_entropy(model(x, training=False).flatten(0, 1), y.flatten())

    def step(x, y):
        value = loss(x, y)
        gradients = torch.autograd.grad(value, weights)
        with torch.no_grad():
            for w, (kept, returned, rates), g in zip(weights, fixed, gradients, strict=True):
                w.mul_(kept).add_(returned).addcmul_(rates, g, value=-1)
        return value

    def forward(x, y):
        with torch.no_grad():
            return loss(x, y)

    def timed(function):
        def run(xs, ys):
            with torch.no_grad():
                for w, value in zip(weights, before, strict=True):
                    w.copy_(value)
            batches = [(torch.tensor(x), torch.tensor(y).long()) for x, y in zip(xs, ys, strict=True)]
            start = time.perf_counter()
            for x, y in batches:
                value = function(x, y)
            value.item()
            return time.perf_counter() - start

        return run

    return timed(step), timed(forward)


def cut(ids, batch_size, steps):
    """Returns inputs and targets `[segments, batch_size, steps]`."""
    import numpy as np

    length = (len(ids) // batch_size - 1) // steps * steps
    table = ids[: len(ids) // batch_size * batch_size].reshape(batch_size, -1)
    return (
        np.ascontiguousarray(table[:, k : k + length].reshape(batch_size, -1, steps).swapaxes(0, 1)) for k in (0, 1)
    )


def measure(methods):
    """Prints the rows of this process's backend, as JSON."""
    import json

    import keras
    import numpy as np

    from keras_adaptive_rnn import evaluation

    keras.utils.set_random_seed(0)
    backend = keras.backend.backend()
    loops = {"jax": jax_loops, "tensorflow": tensorflow_loops, "torch": torch_loops}[backend]
    random = np.random.default_rng(0)
    texts = {name: random.integers(0, VOCABULARY, size=count + 1).astype("int32") for name, count in TOKENS.items()}
    models = {"dynamic": make_model(1), "monte-carlo": make_model(ROWS)}
    segments = {
        "dynamic": list(cut(texts["dynamic"], 1, STEPS["dynamic"])),
        "monte-carlo": [
            np.tile(part, (SAMPLES, 1, 1)) for part in cut(texts["monte-carlo"], ROWS, STEPS["monte-carlo"])
        ],
    }
    short = texts["dynamic"][: 4 * STEPS["dynamic"] + 1]

    def dynamic(text):
        start = time.perf_counter()
        evaluation.dynamic_evaluate(
            models["dynamic"], text, short, STEPS["dynamic"], statistics_batch_size=1, verbose=False
        )
        return time.perf_counter() - start

    def monte_carlo(samples):
        start = time.perf_counter()
        evaluation.evaluate(
            models["monte-carlo"], texts["monte-carlo"], ROWS, STEPS["monte-carlo"], samples, seed=0, verbose=False
        )
        return time.perf_counter() - start

    learn, _ = loops(models["dynamic"], 5e-5)
    _, read = loops(models["monte-carlo"], 0.0)
    pairs = {
        "dynamic": (lambda: dynamic(texts["dynamic"]), lambda: dynamic(short), lambda: learn(*segments["dynamic"])),
        "monte-carlo": (lambda: monte_carlo(SAMPLES), None, lambda: read(*segments["monte-carlo"])),
    }
    for method in methods:
        whole, start_up, bare = pairs[method]
        times = {"whole": [], "start_up": [], "bare": []}
        for _ in range(REPEATS + 1):
            times["whole"].append(whole())
            times["start_up"].append(start_up() if start_up else 0.0)
            times["bare"].append(bare())
        seconds, start, arithmetic = (min(values[1:]) for values in times.values())
        row = {
            "backend": backend,
            "method": method,
            "segments": len(segments[method][0]),
            "seconds": round(seconds, 3),
            "start_up_seconds": round(start, 3),
            "arithmetic_seconds": round(arithmetic, 3),
            "ratio": round((seconds - start) / arithmetic, 3),
            "weights": models[method].count_params(),
        }
        print("row " + json.dumps(row), flush=True)


def main(argv=None):
    import json

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backends", nargs="+", default=["jax", "tensorflow", "torch"])
    parser.add_argument("--methods", nargs="+", choices=STEPS, default=[*STEPS])
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.measure:
        return measure(args.methods)
    for backend in args.backends:
        command = [sys.executable, "-m", "benchmarks.evaluation", "--measure", "--methods", *args.methods]
        environment = {**os.environ, "KERAS_BACKEND": backend}
        done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
        found = [json.loads(line[4:]) for line in done.stdout.splitlines() if line.startswith("row ")]
        rows.add(PATH, KEY, found)
        for row in found:
            print("{backend:12}{method:14}{seconds:9} s, bare {arithmetic_seconds:9} s, ratio {ratio}".format(**row))


if __name__ == "__main__":
    main()
