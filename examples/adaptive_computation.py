"""Networks that learn to skip computation: Skip RNN on the adding task, Skim-RNN on marked tokens.

A Skip RNN reads 50 pairs of a number and a mark, and must add the two marked numbers. After it has learned that, each
update of its state costs a little, so it learns to skip. A Skim-RNN reads 40 symbols, one of which is marked, and must
name the marked one; skimming costs less than reading:

    python examples/adaptive_computation.py
    python examples/adaptive_computation.py --tasks skip --budget 0.0001

The run prints a table and leaves `results.json` and `curves.png` in `runs/adaptive_computation`. It works on every
backend of Keras (`KERAS_BACKEND=jax`, `tensorflow` or `torch`).

References: Campos et al., Skip RNN (2018), section 4.1; Seo et al., Neural Speed Reading via Skim-RNN (2018).
"""

import argparse
import json
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # Silences TensorFlow's list of missing devices.

import keras
import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

import keras_adaptive_rnn as kar

TASKS = ("skip", "skim")
LENGTH, TOKENS, SYMBOLS = 50, 40, 8


def adding(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Returns numbers and marks, `[count, LENGTH, 2]`, and the sums of the two marked numbers.

    As in the paper, one mark is in the first tenth of a sequence and one in its second half.
    """
    numbers, marks = rng.uniform(size=(count, LENGTH)), np.zeros((count, LENGTH))
    for low, high in ((0, LENGTH // 10), (LENGTH // 2, LENGTH)):
        marks[np.arange(count), rng.integers(low, high, count)] = 1
    targets = (numbers * marks).sum(axis=1, keepdims=True)
    return np.stack([numbers, marks], axis=-1).astype("float32"), targets.astype("float32")


def marked_symbol(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Returns one-hot symbols with a mark, `[count, TOKENS, SYMBOLS + 1]`, and the marked symbols."""
    symbols, place = rng.integers(0, SYMBOLS, (count, TOKENS)), rng.integers(0, TOKENS, count)
    marks = np.zeros((count, TOKENS, 1))
    marks[np.arange(count), place] = 1
    x = np.concatenate([np.eye(SYMBOLS)[symbols], marks], axis=-1)
    return x.astype("float32"), symbols[np.arange(count), place].astype("int32")


def make_models(task: str, args: argparse.Namespace) -> tuple[keras.Model, keras.Model]:
    """Returns the model to train, and a model of the same layers that also returns the decisions."""
    if task == "skip":
        layer = kar.layers.Skip(kar.GRUCell(args.units), held_increment=True, return_decisions=True)
        head, loss, inputs = keras.layers.Dense(1, bias_initializer="ones"), "mse", keras.Input((LENGTH, 2))
    else:
        cells = kar.GRUCell(args.units), kar.GRUCell(args.small_units)
        layer = kar.layers.Skim(*cells, temperature=1.0, skim_loss=args.skim_loss, return_decisions=True)
        head, loss = keras.layers.Dense(SYMBOLS, activation="softmax"), "sparse_categorical_crossentropy"
        inputs = keras.Input((TOKENS, SYMBOLS + 1))
    h, decisions = layer(inputs)
    outputs = head(h)
    model = keras.Model(inputs, outputs)
    model.compile(keras.optimizers.Adam(args.rate, clipnorm=1.0), loss)
    return model, keras.Model(inputs, [outputs, decisions])


class Record(keras.callbacks.Callback):
    """Records error and share of full steps on unseen sequences after each epoch, and stops when both are low."""

    def __init__(self, task: str, observer: keras.Model, unseen: tuple):
        super().__init__()
        self.task, self.observer, self.unseen, self.curve = task, observer, unseen, []
        self.goal = {"skip": (0.01, 0.55), "skim": (0.02, 0.25)}[task]
        self.may_stop = True

    def on_epoch_end(self, epoch, logs=None):
        x, y = self.unseen
        outputs, decisions = self.observer.predict(x, batch_size=len(x), verbose=0)
        wrong = (outputs - y) ** 2 if self.task == "skip" else outputs.argmax(axis=-1) != y
        marked = decisions[x[..., -1] > 0].mean()
        point = {"error": float(wrong.mean()), "used": float(decisions.mean()), "used_where_marked": float(marked)}
        self.curve.append(point)
        reached = point["error"] < self.goal[0] and point["used"] < self.goal[1]
        self.model.stop_training = self.may_stop and reached


def train(task: str, args: argparse.Namespace) -> list[dict]:
    keras.utils.set_random_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    make = adding if task == "skip" else marked_symbol
    model, observer = make_models(task, args)
    record = Record(task, observer, make(args.unseen, rng))
    callbacks = [record]
    if task == "skim":
        callbacks.append(kar.callbacks.Annealing("temperature", lambda epoch: max(0.5, 0.97**epoch)))
    x, y = make(args.steps_an_epoch * args.batch * 4, rng)
    fit = {"batch_size": args.batch, "steps_per_epoch": args.steps_an_epoch, "verbose": 2 if args.verbose else 0}
    if task == "skip":
        # With a budget from the start, it would learn to skip before it learns to add.
        record.may_stop = False
        model.fit(x, y, epochs=args.free_epochs, callbacks=callbacks, **fit)
        record.may_stop = True
        model.layers[1].cell.cost_weight = args.budget
        # At a constant rate, training oscillates between skipping too much and too little.
        rate = keras.optimizers.schedules.CosineDecay(args.budget_rate, args.epochs * args.steps_an_epoch)
        model.compile(keras.optimizers.Adam(rate, clipnorm=1.0), "mse")
    model.fit(x, y, epochs=args.epochs, callbacks=callbacks, **fit)
    return record.curve


def make_table(results: dict) -> Table:
    table = Table(title=f"Unseen sequences ({keras.backend.backend()})")
    table.add_column("model")
    for column in ("epochs", "error", "by chance", "full steps", "full steps where marked"):
        table.add_column(column, justify="right")
    names = {"skip": ("Skip GRU, adding, MSE", "0.167"), "skim": ("Skim-GRU, marked symbol, wrong answers", "87.5 %")}
    for task, curve in results.items():
        last = curve[-1]
        error = f"{last['error']:.4f}" if task == "skip" else f"{100 * last['error']:.1f} %"
        shares = (f"{100 * last[name]:.1f} %" for name in ("used", "used_where_marked"))
        table.add_row(names[task][0], str(len(curve)), error, names[task][1], *shares)
    return table


def plot(results: dict, path: pathlib.Path):
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    for axes, (task, curve) in zip(np.atleast_1d(figure.subplots(1, len(results))), results.items(), strict=True):
        epochs = np.arange(1, len(curve) + 1)
        axes.plot(epochs, [point["used"] for point in curve], label="share of full steps")
        axes.plot(
            epochs, [point["used_where_marked"] for point in curve], ":", label="share of full steps, where marked"
        )
        axes.plot(epochs, [point["error"] for point in curve], label="MSE" if task == "skip" else "wrong answers")
        axes.set_title("Skip GRU, adding" if task == "skip" else "Skim-GRU, marked symbol")
        axes.set_xlabel("epochs")
        axes.set_ylim(0, 1.05)
        axes.grid(alpha=0.3)
        axes.legend()
    figure.savefig(path, dpi=150)


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--tasks", nargs="+", choices=TASKS, default=list(TASKS), help="tasks to run; both by default")
    add("--units", type=int, default=32, help="units of the cells (%(default)s)")
    add("--small-units", type=int, default=4, help="units of the cell that skims (%(default)s)")
    add("--budget", type=float, default=0.0003, help="cost of an update of the Skip RNN (%(default)s)")
    add("--skim-loss", type=float, default=0.1, help="weight of the loss that rewards skimming (%(default)s)")
    add("--free-epochs", type=int, default=10, help="epochs of the Skip RNN before updates cost (%(default)s)")
    add("--rate", type=float, default=0.01, help="learning rate of Adam (%(default)s)")
    add("--budget-rate", type=float, default=0.003, help="the same once updates cost, at first (%(default)s)")
    add("--batch", type=int, default=64, help="batch size (%(default)s)")
    add("--steps-an-epoch", type=int, default=50, help="training steps per epoch (%(default)s)")
    add("--epochs", type=int, default=60, help="largest number of epochs (%(default)s)")
    add("--unseen", type=int, default=2000, help="number of test sequences (%(default)s)")
    add("--seed", type=int, default=0, help="seed of weights, data and noise (%(default)s)")
    add("--verbose", action="store_true", help="print a line per epoch")
    add("--output", default="runs/adaptive_computation", help="folder for the results (%(default)s)")
    args = parser.parse_args(argv)
    for name in ("units", "small_units", "rate", "budget_rate", "batch", "steps_an_epoch", "epochs", "free_epochs"):
        if not getattr(args, name) > 0:
            parser.error(f"--{name.replace('_', '-')} must be positive")
    if args.small_units > args.units:
        parser.error("--small-units must be at most --units")
    return args


def main(argv: list[str] | None = None):
    args = parse(argv)
    folder = pathlib.Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    results = {}
    for task in dict.fromkeys(args.tasks):
        print(f"training: {task}", flush=True)
        results[task] = train(task, args)
    plot(results, folder / "curves.png")
    about = {"backend": keras.backend.backend(), "keras": keras.__version__, **vars(args)}
    (folder / "results.json").write_text(json.dumps({**about, "curves": results}, indent=1), encoding="utf-8")
    Console().print(make_table(results))
    print(f"All results are in {folder}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nInterrupted; the run is not saved.")
