"""Extreme tail regression: two adaptive layers of 2 units against three static layers of 10.

Both learn y = (2 x1)^2 - (3 x2)^4 + e, where x1, x2 and e are standard normal: most of the data lies near a plane, but
the target is extreme in the tail. The static network has three and a half times the weights, and fails there:

    python examples/extreme_tail_regression.py
    python examples/extreme_tail_regression.py --seeds 1 --steps 2000

The run prints a table and leaves `results.json` and `tail.png` in `runs/extreme_tail_regression`. It works on every
backend of Keras (`KERAS_BACKEND=jax`, `tensorflow` or `torch`).

Reference: Flennerhag et al., Breaking the Activation Function Bottleneck through Adaptive Parameterization (2018),
section 5.1.
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
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

import keras_adaptive_rnn as kar

TEST = 100_000  # Number of test samples, the same for every seed.
TAIL = 0.01  # The tail is this share of the test samples, with the largest targets.
BATCHES_AT_ONCE = 50  # Steps between two updates of the progress bar.


def sample(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns inputs `[count, 2]` and targets `[count, 1]`."""
    x = rng.normal(size=(count, 2))
    y = (2 * x[:, 0]) ** 2 - (3 * x[:, 1]) ** 4 + rng.normal(size=count)
    return x.astype("float32"), y[:, None].astype("float32")


def make_model(name: str) -> keras.Model:
    if name == "adaptive":
        hidden = [kar.layers.AdaptiveDense(2, adaptation="sva", policy="glu") for _ in range(2)]
    else:
        hidden = [keras.layers.Dense(10, activation="relu") for _ in range(3)]
    return keras.Sequential([keras.Input((2,)), *hidden, keras.layers.Dense(1)])


class Advance(keras.callbacks.Callback):
    """Advances a progress bar."""

    def __init__(self, advance):
        super().__init__()
        self.advance, self.seen = advance, 0

    def on_train_batch_end(self, batch, logs=None):
        self.advance(batch + 1 - self.seen)
        self.seen = batch + 1


def train(name: str, seed: int, args: argparse.Namespace, advance) -> keras.Model:
    """Trains a model on samples that it sees once each."""
    keras.utils.set_random_seed(seed)
    model = make_model(name)
    at_once = BATCHES_AT_ONCE if args.steps % BATCHES_AT_ONCE == 0 else 1
    model.compile(keras.optimizers.Adam(args.rate), "mse", steps_per_execution=at_once)
    x, y = sample(np.random.default_rng(1000 + seed), args.steps * args.batch)
    model.fit(x, y, batch_size=args.batch, shuffle=False, verbose=0, callbacks=[Advance(advance)])
    return model


def measure(model: keras.Model, x: np.ndarray, y: np.ndarray) -> dict:
    """Returns the mean squared error on all samples and on the tail."""
    error = np.square(model.predict(x, batch_size=10_000, verbose=0) - y)[:, 0]
    tail = np.argsort(np.abs(y[:, 0]))[-int(TAIL * len(y)) :]
    return {"weights": model.count_params(), "mse": float(error.mean()), "tail_mse": float(error[tail].mean())}


def ratio(results: dict, key: str) -> float:
    """Returns the ratio of the adaptive to the static model in a number, averaged over the seeds."""
    adaptive, static = (np.mean([run[key] for run in results[name].values()]) for name in ("adaptive", "static"))
    return adaptive / static


def make_table(results: dict) -> Table:
    table = Table("model", title=f"Extreme tail regression ({keras.backend.backend()})")
    for column in ("weights", "seed", "error (MSE)", f"error in the tail, {TAIL:.0%} of the samples"):
        table.add_column(column, justify="right")
    for name, runs in results.items():
        for seed, run in runs.items():
            table.add_row(name, str(run["weights"]), str(seed), f"{run['mse']:,.0f}", f"{run['tail_mse']:,.0f}")
        means = [np.mean([run[key] for run in runs.values()]) for key in ("mse", "tail_mse")]
        table.add_row(name, "", "mean", *(f"{mean:,.0f}" for mean in means), style="bold", end_section=True)
    return table


def plot(models: dict, x: np.ndarray, y: np.ndarray, path: pathlib.Path):
    """Plots the targets and the predictions of each model over x2."""
    figure = Figure(figsize=(10, 4.5), layout="constrained")
    axes = figure.subplots(1, 2, sharey=True)
    x, y = x[:5000], y[:5000]
    for ax, (name, model), color in zip(axes, models.items(), ("tab:blue", "tab:green"), strict=True):
        ax.scatter(x[:, 1], y, s=6, color="black", label="target")
        label = f"{name}, {model.count_params()} weights"
        ax.scatter(x[:, 1], model.predict(x, verbose=0), s=6, color=color, label=label)
        ax.set_yscale("symlog", linthresh=100)
        ax.set_xlabel("x2")
        ax.grid(alpha=0.3)
        ax.legend(loc="lower center")
    axes[0].set_ylabel("y = (2 x1)² - (3 x2)⁴ + e")
    figure.savefig(path, dpi=150)


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--seeds", type=int, default=3, help="runs of each model (%(default)s)")
    add("--steps", type=int, default=10_000, help="training steps (%(default)s)")
    add("--batch", type=int, default=50, help="batch size (%(default)s)")
    add("--rate", type=float, default=0.003, help="learning rate of Adam (%(default)s)")
    add("--output", default="runs/extreme_tail_regression", help="folder for the results (%(default)s)")
    args = parser.parse_args(argv)
    for name in ("seeds", "steps", "batch", "rate"):
        if not getattr(args, name) > 0:
            parser.error(f"--{name} must be positive")
    return args


def main(argv: list[str] | None = None):
    args = parse(argv)
    folder = pathlib.Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    x, y = sample(np.random.default_rng(0), TEST)
    results, last = {}, {}
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns) as progress:
        for name in ("adaptive", "static"):
            results[name] = {}
            for seed in range(args.seeds):
                task = progress.add_task(f"{name}, seed {seed}", total=args.steps)
                last[name] = train(name, seed, args, lambda steps, task=task: progress.advance(task, steps))
                results[name][seed] = measure(last[name], x, y)

    plot(last, x, y, folder / "tail.png")
    about = {"backend": keras.backend.backend(), "keras": keras.__version__, **vars(args)}
    (folder / "results.json").write_text(json.dumps({**about, "models": results}, indent=1), encoding="utf-8")
    Console().print(make_table(results))
    weights, tail = (ratio(results, key) for key in ("weights", "tail_mse"))
    print(f"The adaptive model has {weights:.2f} of the weights and {tail:.4f} of the error in the tail.")
    print(f"All results are in {folder}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nInterrupted; the run is not saved.")
