"""MNIST with singular value adaptation: Table 1 of the adaptive parameterization paper, with the paper's numbers.

A single adaptive layer is a logistic regression whose matrix depends on the image. It is compared to a plain logistic
regression, a feed-forward network of three layers, and three adaptive layers, all trained alike:

    python examples/mnist_sva.py
    python examples/mnist_sva.py --rows logistic sva_8k --steps 5000
    python examples/mnist_sva.py --data mnist.npz

The run prints a table and leaves `results.json` and `mnist.png` in `runs/mnist_sva`. It works on every backend of Keras
(`KERAS_BACKEND=jax`, `tensorflow` or `torch`).

Reference: Flennerhag et al., Breaking the Activation Function Bottleneck through Adaptive Parameterization (2018),
section 5.2. It gives sizes, rate, batch and steps. The widths, linear policies without an adapted bias, standardised
pixels and the activation of the networks of three layers are choices of this example.
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

PIXELS, CLASSES = 784, 10
# Name, and size, training and test accuracy in the paper's Table 1.
ROWS = {
    "logistic": ("Logistic regression", "8K", 92.00, 92.14),
    "feed_forward_100k": ("3-layer feed-forward", "100K", 97.57, 97.01),
    "sva_8k": ("1-layer SVA", "8K", 94.05, 93.86),
    "sva_100k": ("1-layer SVA", "100K", 98.62, 97.14),
    "sva_3_100k": ("3-layer SVA", "100K", 99.99, 97.65),
}


def read_parts(path: str | None) -> tuple[tuple, tuple]:
    """Returns images `[count, 784]`, from 0 to 255, and labels, of the training part and of the test part."""
    if path is None:
        parts = keras.datasets.mnist.load_data()
    else:
        try:
            with np.load(path) as file:
                parts = (file["x_train"], file["y_train"]), (file["x_test"], file["y_test"])
        except (OSError, KeyError, ValueError) as error:
            raise ValueError(f"cannot read MNIST from {path}: {error}") from None
    return tuple((x.reshape(-1, PIXELS).astype("float32"), y.astype("int32")) for x, y in parts)


def read_data(path: str | None) -> tuple[tuple, tuple]:
    """Returns the same with standardised images."""
    parts = read_parts(path)
    mean, deviation = parts[0][0].mean(dtype="float64"), parts[0][0].std(dtype="float64")
    return tuple((((x - mean) / deviation).astype("float32"), y) for x, y in parts)


def sva(units: int, rank: int, activation: str | None = None) -> kar.layers.AdaptiveDense:
    # An adapted bias would add as many policy weights as units, which is more than half of a small model.
    return kar.layers.AdaptiveDense(units, adaptation="sva", rank=rank, activation=activation, use_bias=False)


def make_model(row: str) -> keras.Model:
    if row == "logistic":
        layers = [keras.layers.Dense(CLASSES)]
    elif row == "feed_forward_100k":
        layers = [*(keras.layers.Dense(110, activation="relu") for _ in range(2)), keras.layers.Dense(CLASSES)]
    elif row == "sva_8k":
        layers = [sva(CLASSES, rank=5)]
    elif row == "sva_100k":
        layers = [sva(CLASSES, rank=62)]
    else:
        layers = [sva(32, rank=58, activation="relu"), sva(32, rank=32, activation="relu"), sva(CLASSES, rank=32)]
    return keras.Sequential([keras.Input((PIXELS,)), *layers])


class Record(keras.callbacks.Callback):
    """Advances a progress bar, and records the test accuracy of each epoch."""

    def __init__(self, test: tuple, advance):
        super().__init__()
        self.test, self.advance, self.accuracies = test, advance, []

    def on_epoch_end(self, epoch, logs=None):
        self.accuracies.append(accuracy(self.model, *self.test))
        self.advance()


def accuracy(model: keras.Model, x: np.ndarray, y: np.ndarray) -> float:
    """Returns the accuracy in percent."""
    return 100 * float(np.mean(model.predict(x, batch_size=5000, verbose=0).argmax(axis=1) == y))


def train(row: str, training: tuple, test: tuple, args: argparse.Namespace, advance) -> dict:
    keras.utils.set_random_seed(args.seed)
    model = make_model(row)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    # TensorFlow and JAX can run many steps in one call; PyTorch cannot.
    at_once = 1 if keras.backend.backend() == "torch" else args.at_once
    model.compile(keras.optimizers.SGD(args.rate, momentum=args.momentum), loss, steps_per_execution=at_once)
    record = Record(test, advance)
    epochs, count = schedule(len(training[0]), args)
    x, y = (part[:count] for part in training)
    model.fit(x, y, batch_size=args.batch, epochs=epochs, verbose=0, callbacks=[record])
    return {
        "weights": model.count_params(),
        "steps": epochs * -(-count // args.batch),
        "train": accuracy(model, *training),
        "test": record.accuracies[-1],
        "curve": record.accuracies,
    }


def schedule(count: int, args: argparse.Namespace) -> tuple[int, int]:
    """Returns the number of whole epochs, and of samples in each, that come closest to `args.steps`."""
    in_an_epoch = -(-count // args.batch)
    return max(1, round(args.steps / in_an_epoch)), min(count, args.steps * args.batch)


def make_table(results: dict) -> Table:
    table = Table(title=f"Table 1: accuracies on MNIST ({keras.backend.backend()})")
    table.add_column("model")
    for column in ("size", "weights", "train", "paper's train", "test", "paper's test"):
        table.add_column(column, justify="right")
    for row, r in results.items():
        name, size, train, test = ROWS[row]
        numbers = f"{r['train']:.2f} %", f"{train:.2f} %", f"{r['test']:.2f} %", f"{test:.2f} %"
        table.add_row(name, size, f"{r['weights']:,}", *numbers)
    return table


def plot(results: dict, path: pathlib.Path):
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    for k, (row, r) in enumerate(results.items()):
        name, size, _, test = ROWS[row]
        steps = r["steps"] / len(r["curve"]) * np.arange(1, len(r["curve"]) + 1)
        axes.plot(steps, 100 - np.array(r["curve"]), color=f"C{k}", label=f"{name}, {size}")
        axes.axhline(100 - test, color=f"C{k}", linestyle=":", linewidth=1)
    axes.set_yscale("log")
    axes.set_title("MNIST; dotted: final error in the paper")
    axes.set_xlabel("steps")
    axes.set_ylabel("test error (%)")
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    figure.savefig(path, dpi=150)


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--data", help="a local mnist.npz; downloaded by Keras by default")
    add("--rows", nargs="+", choices=ROWS, default=list(ROWS), help="rows of the table; all by default")
    add("--steps", type=int, default=50_000, help="training steps, rounded to whole epochs (%(default)s)")
    add("--batch", type=int, default=128, help="batch size (%(default)s)")
    add("--rate", type=float, default=0.001, help="learning rate of SGD (%(default)s)")
    add("--momentum", type=float, default=0.0, help="momentum of SGD (%(default)s)")
    add("--seed", type=int, default=0, help="seed of the weights and of the order (%(default)s)")
    add("--at-once", type=int, default=67, help="steps compiled into one call (%(default)s)")
    add("--output", default="runs/mnist_sva", help="folder for the results (%(default)s)")
    args = parser.parse_args(argv)
    for name in ("steps", "batch", "rate", "at_once"):
        if not getattr(args, name) > 0:
            parser.error(f"--{name.replace('_', '-')} must be positive")
    return args


def main(argv: list[str] | None = None):
    args = parse(argv)
    try:
        training, test = read_data(args.data)
    except ValueError as error:
        sys.exit(f"error: {error}")
    folder = pathlib.Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    results = {}
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns) as progress:
        for row in args.rows:
            task = progress.add_task(f"{row}, epochs", total=schedule(len(training[0]), args)[0])
            results[row] = train(row, training, test, args, lambda task=task: progress.advance(task))

    plot(results, folder / "mnist.png")
    about = {"backend": keras.backend.backend(), "keras": keras.__version__, **vars(args)}
    (folder / "results.json").write_text(json.dumps({**about, "models": results}, indent=1), encoding="utf-8")
    Console().print(make_table(results))
    print(f"All results are in {folder}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nInterrupted; the run is not saved.")
