"""Two models that read only part of their input, each on a task that needs no more.

    python examples/jump_and_skim.py jump
    python examples/jump_and_skim.py skim
    python examples/jump_and_skim.py skim --decide network

`jump` compares LSTM-Jump on number prediction, where the first token is the position of the answer, with an LSTM that
reads all tokens. `skim` classifies sequences, most of which are told apart by their words and the others by the order
of two words: a bag of words answers the former, and an LSTM reads the latter. Each task takes a few minutes on a CPU
core, prints a table, and leaves `results.json` and a plot in `runs/jump_and_skim`. Both run on every backend of Keras
(`KERAS_BACKEND=jax`, `tensorflow` or `torch`).

References: Yu, Lee and Le, Learning to Skim Text (2017), section 3.1; Johansen and Socher, Learning When to Skim and
When to Read (2017). The second task, and all sizes, are choices of this example.
"""

import argparse
import json
import os
import pathlib
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # Silences TensorFlow's list of missing devices.

# For `examples`, where this file is run as a script.
sys.path.append(str(pathlib.Path(__file__).parents[1]))

import keras
import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

import keras_adaptive_rnn as kar
from examples import plots, synthetic

JUMPERS = ("LSTM-Jump", "LSTM")


def compiled(model: keras.Model, rate: float) -> keras.Model:
    model.compile(keras.optimizers.Adam(rate), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def train_jumper(name: str, arguments: argparse.Namespace) -> tuple[keras.Model, np.ndarray, np.ndarray, dict]:
    """Trains an LSTM-Jump or an LSTM; returns it, the test sequences, which tokens it reads, and its results."""
    length, tests = arguments.length or 20, arguments.samples // 10
    x, y = synthetic.number_prediction(arguments.samples + tests, length=length, seed=arguments.seed)
    if name == "LSTM-Jump":
        model = kar.models.LSTMJump(
            vocabulary_size=length,
            embedding_units=32,
            classes=length - 1,
            units=64,
            read=1,
            max_jump=length,
            max_jumps=1,
            seed=arguments.seed,
        )
    else:
        model = keras.Sequential(
            [
                keras.Input((length,), dtype="int32"),
                keras.layers.Embedding(length, 32),
                kar.LSTM(64),
                keras.layers.Dense(length - 1, activation="softmax"),
            ]
        )
    history = compiled(model, 0.005).fit(
        x[tests:],
        y[tests:],
        batch_size=100,
        epochs=arguments.epochs or 5,
        validation_data=(x[:tests], y[:tests]),
        verbose=arguments.verbose,
    )
    accuracies = [float(value) for value in history.history["val_accuracy"]]
    x = x[:tests]
    is_read = model.read_positions(x).positions if name == "LSTM-Jump" else np.ones(x.shape, bool)
    tokens_read = float(is_read.sum(axis=1).mean())
    return model, x, is_read, {"accuracy": accuracies[-1], "tokens_read": tokens_read, "accuracies": accuracies}


def jump(arguments: argparse.Namespace, console: Console) -> tuple[dict, Figure]:
    """Trains an LSTM-Jump and an LSTM; returns the results and a plot of where the LSTM-Jump reads."""
    trained = {name: train_jumper(name, arguments) for name in JUMPERS}
    results = {name: row for name, (*_, row) in trained.items()}
    _, x, is_read, _ = trained["LSTM-Jump"]
    length = x.shape[1]
    table = Table(title=f"Number prediction, {length} tokens; chance is {1 / (length - 1):.1%}")
    for column in ("model", "test accuracy", "tokens read"):
        table.add_column(column)
    for name, row in results.items():
        table.add_row(name, f"{row['accuracy']:.1%}", f"{row['tokens_read']:.2f} of {length}")
    console.print(table)

    figure = Figure(figsize=(9, 3.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for name, row in results.items():
        left.plot(np.arange(1, len(row["accuracies"]) + 1), row["accuracies"], "o-", markersize=3, label=name)
    left.set(xlabel="epoch", ylabel="test accuracy")
    left.grid(alpha=0.3)
    left.legend()
    shares = [is_read[x[:, 0] == first].mean(axis=0) for first in range(1, length)]
    right.imshow(shares, cmap="Reds", aspect="auto", vmin=0, vmax=1, extent=(-0.5, length - 0.5, length - 0.5, 0.5))
    right.set(xlabel="position", ylabel="first token", title="LSTM-Jump: share of readings")
    return results, figure


def train_skimmer(arguments: argparse.Namespace) -> tuple[keras.Model, kar.models.ReadingCurve]:
    """Trains a model that skims or reads; returns it and its curve."""
    tests = arguments.samples // 10
    x, y, _ = synthetic.mixed_difficulty(arguments.samples + tests, length=arguments.length or 20, seed=arguments.seed)
    model = kar.models.SkimOrRead(
        vocabulary_size=20, embedding_units=16, classes=2, units=32, decide=arguments.decide, seed=arguments.seed
    )
    compiled(model, 0.005)
    epochs = arguments.epochs or 5
    phases = {"skim": epochs, "read": epochs}
    if arguments.decide == "network":
        # It trains on a fifth of the data only, so its epochs are shorter.
        phases["decide"] = 4 * epochs
    for phase, count in phases.items():
        model.fit(
            x[tests:],
            y[tests:],
            batch_size=50,
            epochs=count,
            verbose=arguments.verbose,
            validation_data=(x[:tests], y[:tests]),
            phases=[phase],
        )
    return model, model.curve(x[:tests], y[:tests])


def skim(arguments: argparse.Namespace, console: Console) -> tuple[dict, Figure]:
    """Trains a model that skims or reads; returns the results and a plot of its curve."""
    _, curve = train_skimmer(arguments)
    table = Table(title=f"Skim or read, decided by {arguments.decide}")
    for column in ("threshold", "share that is read", "test accuracy"):
        table.add_column(column, justify="right")
    for threshold, share, accuracy in zip(curve.thresholds, curve.shares, curve.accuracies, strict=True):
        table.add_row(f"{threshold:.4f}", f"{share:.0%}", f"{accuracy:.1%}")
    console.print(table)
    figure = Figure(figsize=(5, 3.5), layout="constrained")
    plots.reading_curve(figure.subplots(), {arguments.decide: curve})
    keys = ("thresholds", "shares", "accuracies")
    return {key: [float(value) for value in getattr(curve, key)] for key in keys}, figure


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("task", choices=("jump", "skim"))
    parser.add_argument(
        "--decide", choices=("threshold", "network"), default="threshold", help="how skim decides what to read"
    )
    parser.add_argument("--samples", type=int, default=20_000, help="training sequences")
    parser.add_argument("--length", type=int, help="tokens per sequence; 20 if not given")
    parser.add_argument("--epochs", type=int, help="epochs; 5 if not given")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--verbose", type=int, choices=(0, 1, 2), default=1, help="as in Keras's fit")
    parser.add_argument("--output", type=pathlib.Path, default=pathlib.Path("runs/jump_and_skim"))
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> None:
    arguments, console = parse(argv), Console()
    keras.utils.set_random_seed(arguments.seed)
    results, figure = {"jump": jump, "skim": skim}[arguments.task](arguments, console)
    arguments.output.mkdir(parents=True, exist_ok=True)
    name = arguments.task if arguments.task == "jump" else f"skim_{arguments.decide}"
    figure.savefig(arguments.output / f"{name}.png", dpi=150)
    path = arguments.output / "results.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**known, name: results}, indent=1) + "\n")
    console.print(f"Results and plot: {arguments.output}")


if __name__ == "__main__":
    main()
