"""ResNet-110 without batch normalization, with bipolar ELUs and LSUV.

The run measures the output variance of every convolution and of the classifier, for one batch of images, with Keras's
initialization and after LSUV, and trains a few steps from both:

    python examples/resnet_lsuv.py
    python examples/resnet_lsuv.py --data cifar10 --steps 500
    python examples/resnet_lsuv.py --data my_images.npz --depth 56 --width 8

It prints a table and leaves `results.json` and `variance.png` in `runs/resnet_lsuv`. Without `--data`, the images are
synthetic. It works on every backend of Keras (`KERAS_BACKEND=jax`, `tensorflow` or `torch`).

Reference: Eidnes and Nøkland, Shifting Mean Activation Towards Zero with Bipolar Activation Functions (2018),
section 4.3.
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
from keras_adaptive_rnn.callbacks import LSUV, Scaled, lsuv

CLASSES, SIZE = 10, 32
ACTIVATIONS = ("belu", "brelu", "elu", "relu")
LEARNING_RATE = 0.01  # As in the paper.


def read_data(source: str | None, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Returns up to `count` images, normalized to mean 0 and variance 1, and their classes."""
    if source is None:
        print("No --data: the images are synthetic, noise with a random pattern per class.")
        rng = np.random.default_rng(0)
        y = rng.integers(CLASSES, size=count)
        x = rng.normal(size=(CLASSES, SIZE, SIZE, 3))[y] + rng.normal(size=(count, SIZE, SIZE, 3))
    elif source == "cifar10":
        (x, y), _ = keras.datasets.cifar10.load_data()
    else:
        try:
            with np.load(source) as file:
                x, y = file["x_train"], file["y_train"]
        except (OSError, ValueError, KeyError) as error:
            raise ValueError(f"cannot read x_train and y_train from {source}: {error}") from None
    x, y = np.asarray(x[:count], "float32"), np.asarray(y[:count], "int32").reshape(-1)
    if x.ndim != 4 or len(x) != len(y):
        raise ValueError(f"the images must be [images, height, width, channels] with a class each, not {x.shape}")
    return (x - x.mean()) / x.std(), y


def make_model(shape: tuple, classes: int, args: argparse.Namespace) -> keras.Model:
    """Returns a ResNet of `depth` layers in three stages; each doubles the channels and halves the size."""
    keras.utils.set_random_seed(args.seed)
    activation = kar.activations.get(args.activation)

    def conv(filters, name, size=3, strides=1, activation=None):
        arguments = {"padding": "same", "kernel_initializer": "he_normal", "data_format": "channels_last"}
        return keras.layers.Conv2D(filters, size, strides, activation=activation, name=name, **arguments)

    inputs = keras.Input(shape)
    x = conv(args.width, "stem", activation=activation)(inputs)
    for stage in range(3):
        filters = args.width * 2**stage
        for block in range((args.depth - 2) // 6):
            name = f"stage{stage + 1}_{block + 1}"
            strides = 2 if stage > 0 and block == 0 else 1
            y = conv(filters, f"{name}a", strides=strides, activation=activation)(x)
            y = conv(filters, f"{name}b")(y)
            if strides > 1:
                x = conv(filters, f"{name}_shortcut", size=1, strides=strides)(x)
            x = keras.layers.Activation(activation)(keras.layers.Add()([x, y]))
    x = keras.layers.GlobalAveragePooling2D(data_format="channels_last")(x)
    model = keras.Model(inputs, keras.layers.Dense(classes, name="classifier")(x))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.SGD(LEARNING_RATE, momentum=0.9, clipnorm=1.0), loss)
    return model


class Progressing(keras.callbacks.Callback):
    """Advances a progress bar, and records the loss of each step."""

    def __init__(self, advance):
        super().__init__()
        self.advance, self.means = advance, []

    def on_train_batch_end(self, batch, logs=None):
        self.means.append(float(logs["loss"]))
        self.advance()

    @property
    def losses(self):
        """The loss of each step, from the running means that Keras logs."""
        sums = np.arange(1, len(self.means) + 1) * np.array(self.means)
        return np.diff(sums, prepend=0.0).tolist()


def stages(variances: dict[str, float]) -> dict[str, list[float]]:
    """Returns the variances of the layers by stage."""
    found = {}
    for name, variance in variances.items():
        found.setdefault(name.split("_")[0], []).append(variance)
    return found


def by_name(scaled: list[Scaled]) -> dict[str, float]:
    return {layer.name.split("/")[-1]: layer.variance for layer in scaled}


def make_table(results: dict) -> Table:
    table = Table("stage", title=f"Variance of the layers' outputs ({keras.backend.backend()})")
    for column in ("layers", "as Keras initializes", "after LSUV"):
        table.add_column(column, justify="right")
    runs = {name: stages(run["variances"]) for name, run in results.items()}
    for stage, variances in runs["plain"].items():
        spreads = [f"{min(v):.4g} to {max(v):.4g}" for v in (variances, runs["LSUV"][stage])]
        table.add_row(stage, str(len(variances)), *spreads)
    table.add_section()
    for what, index in (("loss, first step", 0), ("loss, last step", -1)):
        table.add_row(what, "", *(f"{results[name]['losses'][index]:.4g}" for name in ("plain", "LSUV")))
    return table


def plot(results: dict, path: pathlib.Path):
    """Plots the variance of each layer, and the loss of each step."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    left, right = figure.subplots(1, 2)
    for (name, run), color in zip(results.items(), ("tab:red", "tab:blue"), strict=True):
        left.plot(list(run["variances"].values()), color=color, marker=".", label=name)
        right.plot(range(1, len(run["losses"]) + 1), run["losses"], color=color, marker=".", label=name)
    for ax, x, y in ((left, "layer", "variance"), (right, "step", "loss")):
        ax.set(xlabel=x, ylabel=y, yscale="log")
        ax.grid(alpha=0.3)
        ax.legend()
    figure.savefig(path, dpi=150)


def parse(argv: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--data", help="'cifar10', or an .npz file with x_train and y_train; synthetic images without it")
    add("--depth", type=int, default=110, help="layers, 6 n + 2 (%(default)s)")
    add("--width", type=int, default=16, help="channels of the first stage (%(default)s)")
    add("--activation", choices=ACTIVATIONS, default="belu", help="activation (%(default)s)")
    add("--steps", type=int, default=20, help="training steps (%(default)s)")
    add("--batch", type=int, default=64, help="batch size, also for LSUV (%(default)s)")
    add("--seed", type=int, default=0, help="seed of the weights (%(default)s)")
    add("--output", default="runs/resnet_lsuv", help="folder for the results (%(default)s)")
    args = parser.parse_args(argv)
    for name in ("width", "steps", "batch"):
        if not getattr(args, name) > 0:
            parser.error(f"--{name} must be positive")
    if args.depth < 8 or args.depth % 6 != 2:
        parser.error("--depth must be 8, 14, 20, ..., 110, ...: two layers per block, three stages, and two more")
    return args


def main(argv: list[str] | None = None):
    args = parse(argv)
    try:
        x, y = read_data(args.data, args.steps * args.batch)
    except ValueError as error:
        sys.exit(f"Error: {error}")
    folder = pathlib.Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    sample, results = x[: args.batch], {}
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns) as progress:
        for name in ("plain", "LSUV"):
            model = make_model(x.shape[1:], int(y.max()) + 1, args)
            task = progress.add_task(f"training, {name}", total=-(-len(x) // args.batch))
            training = Progressing(lambda task=task: progress.advance(task))
            initialization = LSUV(sample, activated=True)
            if name == "plain":
                # Zero iterations only measure.
                scaled = lsuv(model, sample, activated=True, orthogonal=False, max_iterations=0)
            callbacks = [training] if name == "plain" else [initialization, training]
            model.fit(x, y, batch_size=args.batch, shuffle=False, verbose=0, callbacks=callbacks)
            scaled = initialization.scaled or scaled
            results[name] = {"variances": by_name(scaled), "losses": training.losses}

    plot(results, folder / "variance.png")
    about = {"backend": keras.backend.backend(), "keras": keras.__version__, **vars(args)}
    (folder / "results.json").write_text(json.dumps({**about, "models": results}, indent=1), encoding="utf-8")
    Console().print(make_table(results))
    print(f"All results are in {folder}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nInterrupted; the run is not saved.")
