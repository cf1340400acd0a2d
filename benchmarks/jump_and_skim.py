"""Times the models that read a part of their input against an LSTM that reads it all, side by side in one process.

    KERAS_BACKEND=jax python benchmarks/jump_and_skim.py --json benchmarks/jump_and_skim.json

`LSTMJump` gets weights that read 20 tokens and jump over 60, again and again: a quarter of the tokens. `SkimOrRead`
gets a threshold that sends 30 % of the inputs to its LSTM. Both are compared with Keras's `Sequential` of an embedding,
`keras_adaptive_rnn.LSTM` and a dense layer, of the same sizes. Of both sides it times `predict`, and
`predict_on_batch`, which has less around the network; at batch 1 `SkimOrRead` gets inputs one by one, of which 30 % are
read. It prints the medians and the median ratio of neighbours, the LSTM's time over the model's: above 1, reading less
is faster. With `--json FILE` it puts its rows into the file.
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

VOCABULARY, EMBEDDING, READ, SKIP = 5000, 128, 20, 60
STREAM = 20


def full_lstm(units):
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(VOCABULARY, EMBEDDING, mask_zero=True),
            kar.LSTM(units),
            keras.layers.Dense(2, activation="softmax"),
        ]
    )


def jumping(units, x):
    model = kar.models.LSTMJump(
        vocabulary_size=VOCABULARY,
        embedding_units=EMBEDDING,
        classes=2,
        units=units,
        read=READ,
        max_jump=SKIP + 1,
        max_jumps=x.shape[1],
    )
    model.build(x.shape)
    kernel, bias = model.jump.get_weights()
    model.jump.set_weights([0 * kernel, np.eye(len(bias))[-1]])
    share = model.read_positions(x[:1]).counts.mean() / x.shape[1]
    return model, share


def skimming(units, x):
    model = kar.models.SkimOrRead(vocabulary_size=VOCABULARY, embedding_units=EMBEDDING, classes=2, units=units)
    confidence = model.look(x)[1]
    model.threshold = float(np.quantile(keras.ops.convert_to_numpy(keras.ops.stop_gradient(confidence)), 0.3))
    return model, model.needs_reading(x).mean()


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
    parser.add_argument("--units", type=int, nargs="+", default=[256])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()

    backend = keras.backend.backend()
    table = Table(title=f"{backend}: {arguments.steps} tokens, median of {arguments.repeats}")
    table.add_column("model")
    for column in ("units", "batch", "share read", "timed", "model, ms", "LSTM, ms", "LSTM / model"):
        table.add_column(column, justify="right")
    rows = []
    x = np.random.default_rng(0).integers(1, VOCABULARY, size=(64, arguments.steps))
    jobs = [(u, b, m) for u in arguments.units for b in (1, 64) for m in (jumping, skimming)]
    for units, batch, make in track(jobs, description=backend):
        ours, share = make(units, x[:STREAM] if batch == 1 else x)
        # One input says nothing of a share of the inputs: a stream of them does.
        count = (STREAM if make is skimming else 1) if batch == 1 else 1
        batches = [x[k * batch : (k + 1) * batch] for k in range(count)]
        for how in ("predict", "predict_on_batch"):
            row = compare({"ours": ours, "full": full_lstm(units)}, how, batches, arguments.repeats)
            name = type(ours).__name__
            described = {"backend": backend, "model": name, "units": units, "batch": batch, "timed": how}
            rows.append({**described, "share": float(share), **row})
            times = (f"{1000 * row[key]:.1f}" for key in ("ours", "full"))
            table.add_row(name, str(units), str(batch), f"{share:.0%}", how, *times, f"{row['ratio']:.2f}")
    Console().print(table)
    if arguments.json:
        known = json.loads(arguments.json.read_text()) if arguments.json.exists() else []
        kept = [row for row in known if row["backend"] != backend]
        arguments.json.write_text(json.dumps(kept + rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
