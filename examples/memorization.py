"""Does a network lean on single units? Ablation curves of one that has learned MNIST, and of one that memorized it.

Two networks are trained until they know every training image: one with the true labels, the other with random ones,
which it can only memorize. Then units are held at zero, at random, more and more:

    python examples/memorization.py --data mnist.npz
    python examples/memorization.py --data mnist.npz --images 5000 --units 256

The run prints a table and leaves `curves.png` in `runs/memorization`. The network that memorized falls earlier, as in
the paper's figure 1. It works on every backend of Keras (`KERAS_BACKEND=jax`, `tensorflow` or `torch`).

Reference: Morcos et al., On the importance of single directions for generalization (2018), sections 2.1, 3.1 and 3.3.
It trains on all of MNIST with 2 layers of 2000 units; sizes and optimizer are choices of this example.
"""

import argparse
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

from examples import plots
from keras_adaptive_rnn import analysis


def read_data(path: str | None, images: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns the first images `[images, 784]`, from 0 to 1, and labels of the training part."""
    if path is None:
        x, y = keras.datasets.mnist.load_data()[0]
    else:
        try:
            with np.load(path) as file:
                x, y = file["x_train"], file["y_train"]
        except (OSError, KeyError, ValueError) as error:
            raise SystemExit(f"cannot read MNIST from {path}: {error}") from None
    return x[:images].reshape(-1, 784).astype("float32") / 255, y[:images].astype("int32")


class UntilKnown(keras.callbacks.Callback):
    """Stops training once every image is known."""

    def on_epoch_end(self, epoch, logs=None):
        if logs["accuracy"] >= 1:
            self.model.stop_training = True


def random_labels(y: np.ndarray, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 10, len(y))


def train(
    x: np.ndarray, y: np.ndarray, units: int, epochs: int, verbose: int, batch_normalization: bool = False
) -> keras.Model:
    model = keras.Sequential([keras.Input((784,))])
    for name in ("lower", "hidden"):
        model.add(keras.layers.Dense(units))
        if batch_normalization:
            # The moving averages must follow a training of a few hundred steps.
            model.add(keras.layers.BatchNormalization(momentum=0.9))
        model.add(keras.layers.Activation("relu", name=name))
    model.add(keras.layers.Dense(10))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-3), loss, metrics=["accuracy"])
    model.fit(x, y, batch_size=100, epochs=epochs, verbose=verbose, callbacks=[UntilKnown()])
    return model


def judge(model: keras.Model, x: np.ndarray, y: np.ndarray, repeats: int, seed: int, verbose: bool = True):
    """Returns the ablation curve, and the selectivity of each hidden unit."""
    curve = analysis.ablation_curve(model, "hidden", x, y, repeats=repeats, seed=seed, verbose=verbose)
    hidden = keras.Model(model.inputs, model.get_layer("hidden").output)
    return curve, analysis.selectivity(hidden.predict(x, verbose=0), y)


def main(arguments: list[str] | None = None) -> dict[str, analysis.AblationCurve]:
    """Returns the curve of each network."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", help="MNIST as `.npz`, as Keras stores it; by default it is downloaded")
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--units", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=200, help="how long to train at most")
    parser.add_argument("--repeats", type=int, default=10, help="random orders of ablation")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", default="runs/memorization")
    options = parser.parse_args(arguments)

    keras.utils.set_random_seed(options.seed)
    x, y = read_data(options.data, options.images)
    curves, table = {}, Table("labels", "training accuracy", "area under the curve", "mean selectivity")
    for name, labels in (("true", y), ("random", random_labels(y, options.seed))):
        model = train(x, labels, options.units, options.epochs, verbose=2)
        curve, index = judge(model, x, labels, options.repeats, options.seed)
        table.add_row(name, f"{curve.accuracies[0, 0]:.1%}", f"{curve.area:.3f}", f"{index.mean():.3f}")
        curves[f"{name} labels"] = curve
    Console().print(table)
    folder = pathlib.Path(options.output)
    folder.mkdir(parents=True, exist_ok=True)
    figure = Figure(layout="constrained")
    plots.ablation_curve(figure.subplots(), curves)
    figure.savefig(folder / "curves.png")
    return curves


if __name__ == "__main__":
    main()
