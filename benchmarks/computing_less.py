"""Times what decides how much to compute against the same without skipping, side by side in one process.

    KERAS_BACKEND=jax python -m benchmarks.computing_less --json benchmarks/computing_less.json

Every contender is a model of an embedding, something recurrent over 400 tokens, and a dense layer, with weights that
make it leave out a known share:

- `SkipCell` around an LSTM of 256 units skips half of the steps, at places that differ from row to row;
- `SkimCell` of an LSTM of 512 units and one of 8 skims four tokens in five, drawn at random;
- `VariableComputationCell`, a GRU of 512 units, uses a quarter of its dimensions;
- `LSTMJump` reads 20 tokens and jumps over 60, with 256 units;
- `SkimOrRead` sends 30 % of the inputs to its LSTM of 256 units; at batch 1 it gets them one by one.

The other side is Keras's `Sequential` of the same sizes around `keras_adaptive_rnn.LSTM` (the big one), or around a
`VariableComputationCell` that uses all dimensions. Of both sides it times `predict`, and `predict_on_batch`, which has
less around the network. It prints the medians and the median ratio of neighbours, the other side's time over that of
the contender: above 1, computing less is faster. With `--jit` both are compiled with `jit_compile=True`, which JAX does
anyway. With `--json FILE` it puts its rows into the file, in the place of those of the same contenders.
"""

import argparse
import pathlib
import statistics
import time

import keras
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import keras_adaptive_rnn as kar
from benchmarks.rows import add

VOCABULARY, EMBEDDING, READ, SKIP = 5000, 128, 20, 60
STREAM = 20
KEY = ("backend", "jit", "model", "batch", "timed")


def around(*layers):
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(VOCABULARY, EMBEDDING, mask_zero=True),
            *layers,
            keras.layers.Dense(2, activation="softmax"),
        ]
    )


def share_of(model, x):
    """Returns the share of the steps, or of the dimensions, that the recurrent layer of a model computes."""
    embedding, layer, _ = model.layers
    looking = kar.RNN(layer.cell, return_decisions=True)
    return float(np.mean(keras.ops.convert_to_numpy(looking(embedding(x))[1])))


def skipping(x):
    cell = kar.SkipCell(kar.LSTMCell(256))
    model = around(kar.RNN(cell))
    cell.decision_kernel.assign(3 * np.random.default_rng(0).normal(size=cell.decision_kernel.shape))
    # An increment of about 0.4, which wanders with the state, makes two steps of one.
    shares = {}
    for bias in np.linspace(-0.8, 0, 9):
        cell.decision_bias.assign([bias])
        shares[bias] = share_of(model, x)
    bias = min(shares, key=lambda bias: abs(shares[bias] - 0.5))
    cell.decision_bias.assign([bias])
    return model, shares[bias], around(kar.LSTM(256))


def skimming(x):
    cell = kar.SkimCell(kar.LSTMCell(512), kar.LSTMCell(8))
    model = around(kar.RNN(cell))
    # The first entry of its vector decides whether a token is read.
    table = model.layers[0].get_weights()[0]
    kernel = np.zeros(cell.decision_kernel.shape)
    kernel[0, 0] = 1
    cell.decision_kernel.assign(kernel)
    cell.decision_bias.assign([-np.quantile(table[:, 0], 0.8), 0])
    return model, share_of(model, x), around(kar.LSTM(512))


def narrowing(x):
    def model_with(share):
        cell = kar.VariableComputationCell(512, core="gru", decision_initializer="zeros")
        model = around(kar.RNN(cell))
        cell.decision_bias.assign([share])
        return model

    # Just under a quarter: the mask has one dimension more.
    model = model_with(-np.log(1 / 0.247 - 1))
    return model, share_of(model, x), model_with(20)


def jumping(x):
    model = kar.models.LSTMJump(
        vocabulary_size=VOCABULARY,
        embedding_units=EMBEDDING,
        classes=2,
        units=256,
        read=READ,
        max_jump=SKIP + 1,
        max_jumps=x.shape[1],
    )
    model.build(x.shape)
    kernel, bias = model.jump.get_weights()
    model.jump.set_weights([0 * kernel, np.eye(len(bias))[-1]])
    return model, model.read_positions(x[:1]).counts.mean() / x.shape[1], around(kar.LSTM(256))


def choosing(x):
    model = kar.models.SkimOrRead(vocabulary_size=VOCABULARY, embedding_units=EMBEDDING, classes=2, units=256)
    confidence = model.look(x)[1]
    model.threshold = float(np.quantile(keras.ops.convert_to_numpy(keras.ops.stop_gradient(confidence)), 0.3))
    return model, model.needs_reading(x).mean(), around(kar.LSTM(256))


CONTENDERS = {
    "SkipCell": skipping,
    "SkimCell": skimming,
    "VariableComputationCell": narrowing,
    "LSTMJump": jumping,
    "SkimOrRead": choosing,
}


def seconds(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def action(model, how, batches):
    """Returns a function that predicts every batch."""
    if how == "predict":
        return lambda: [model.predict(batch, batch_size=len(batch), verbose=0) for batch in batches]
    return lambda: [model.predict_on_batch(batch) for batch in batches]


def compare(models, how, batches, repeats):
    actions = {name: action(model, how, batches) for name, model in models.items()}
    for act in actions.values():
        act(), act()
    times = [{name: seconds(act) for name, act in actions.items()} for _ in range(repeats)]
    medians = {name: statistics.median(t[name] for t in times) / len(batches) for name in actions}
    return {**medians, "ratio": statistics.median(t["full"] / t["ours"] for t in times)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=CONTENDERS, default=list(CONTENDERS))
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 64])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--jit", action="store_true", help="compile the models with `jit_compile=True`")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()

    backend = keras.backend.backend()
    table = Table(title=f"{backend}: {arguments.steps} tokens, median of {arguments.repeats}")
    table.add_column("model")
    for column in ("batch", "computed", "timed", "ours, ms", "all, ms", "all / ours"):
        table.add_column(column, justify="right")
    rows = []
    x = np.random.default_rng(0).integers(1, VOCABULARY, size=(64, arguments.steps))
    jobs = [(name, batch) for name in arguments.models for batch in arguments.batch]
    for name, batch in track(jobs, description=backend):
        # One input says nothing of a share of the inputs: a stream of them does.
        count = STREAM if (name, batch) == ("SkimOrRead", 1) else 1
        ours, share, full = CONTENDERS[name](x[: count * batch])
        if arguments.jit:
            for model in (ours, full):
                model.compile(loss="sparse_categorical_crossentropy", jit_compile=True)
        batches = [x[k * batch : (k + 1) * batch] for k in range(count)]
        for how in ("predict", "predict_on_batch"):
            row = compare({"ours": ours, "full": full}, how, batches, arguments.repeats)
            of = {"backend": backend, "jit": arguments.jit, "model": name, "batch": batch, "timed": how}
            rows.append({**of, "share": float(share), **row})
            times = (f"{1000 * row[key]:.1f}" for key in ("ours", "full"))
            table.add_row(name, str(batch), f"{share:.0%}", how, *times, f"{row['ratio']:.2f}")
    Console().print(table)
    if arguments.json:
        add(arguments.json, KEY, rows)


if __name__ == "__main__":
    main()
