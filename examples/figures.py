"""The figures of docs/figures.md, which reproduce figures of the papers.

    python examples/figures.py all
    python examples/figures.py gradients --output my_figures

The figures are `dynamics`, `gradients`, `means`, `gersgorin`, `policies` and `spectrum`. They need no data and take a
minute or two each on one CPU core. They run on every backend of Keras, and start fastest with `KERAS_BACKEND=torch`.
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
from keras import ops
from matplotlib.figure import Figure

import keras_adaptive_rnn as kar
from examples import plots
from examples.activation_dynamics import activation_dynamics
from keras_adaptive_rnn import analysis
from keras_adaptive_rnn.callbacks import lsuv


def dynamics() -> Figure:
    """Mean and variance under x <- f(x W), plain and bipolar activations, Gaussian and orthogonal W."""
    figure = Figure(figsize=(11, 8), layout="constrained")
    figure.suptitle("x ← f(x W), scaled to unit variance in the first step\n256 units, 50 runs: median and middle 80 %")
    for column, matrix in zip(
        figure.subplots(2, 2, sharex=True, sharey="row").T, ("gaussian", "orthogonal"), strict=True
    ):
        names = ("relu", "brelu", "elu", "belu")
        seen = {f: activation_dynamics(f, 256, 50, runs=50, samples=32, matrix=matrix) for f in names}
        for axes, what in zip(column, ("means", "variances"), strict=True):
            plots.activation_dynamics(axes, seen, what)
            axes.label_outer()
        column[0].set_title(f"{matrix.capitalize()} W")
    return figure


DEPTH, UNITS, STEPS, BATCH, CHARACTERS = 36, 64, 50, 16, 50


def gradients() -> Figure:
    """Gradient norms over layer and time in a deep stack before training, without and with skip connections."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    figure.suptitle(
        f"Gradient of the last step's loss, {DEPTH} layers of {UNITS} bipolar ELUs, LSUV, before training, 10 batches"
    )
    rng = np.random.default_rng(0)
    table = rng.normal(size=(CHARACTERS, UNITS)).astype("float32")  # A fixed N(0, 1) vector for each character.
    for axes, skip in zip(figure.subplots(1, 2), (None, 4), strict=True):
        keras.utils.set_random_seed(0)
        layer = kar.DeepRNN(UNITS, depth=DEPTH, skip_every=skip, return_sequences=True)
        batches = table[rng.integers(CHARACTERS, size=(10, BATCH, STEPS))]
        lsuv(layer, batches[0], seed=0)
        readout = rng.normal(size=(UNITS, CHARACTERS)).astype("float32") / np.sqrt(UNITS)
        flows = []
        for batch in batches:
            target = rng.integers(CHARACTERS, size=BATCH)

            def loss(y, target=target, readout=readout):
                logits = ops.matmul(y, ops.convert_to_tensor(readout))
                return ops.sum(ops.sparse_categorical_crossentropy(target, logits, from_logits=True))

            flows.append(analysis.gradient_flow(layer, batch, loss))
        plots.gradient_flow(axes, np.mean(flows, axis=0))
        axes.set_title("without skip connections" if skip is None else f"skip connection every {skip} layers, 0.99")
    return figure


def remember(rng: np.random.Generator, count: int, steps: int = 12, symbols: int = 8) -> tuple:
    """Returns sequences of one-hot symbols, and at each step the symbol of three steps before."""
    ids = rng.integers(symbols, size=(count, steps))
    return np.eye(symbols, dtype="float32")[ids], np.roll(ids, 3, axis=1)


def means(depth: int = 16, updates: int = 300) -> Figure:
    """Mean and standard deviation of each layer of a trained deep stack, plain and bipolar activations."""
    figure = Figure(figsize=(11, 4.5), layout="constrained")
    rng = np.random.default_rng(0)
    x, y = remember(rng, updates * 32)
    seen = {}
    for activation in ("relu", "brelu", "elu", "belu"):
        keras.utils.set_random_seed(0)
        deep = kar.DeepRNN(48, depth=depth, activation=activation, return_sequences=True)
        model = keras.Sequential([keras.Input(x.shape[1:]), deep, keras.layers.Dense(x.shape[-1])])
        lsuv(deep, x[:64], seed=0)
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        # The first three targets cannot be known, as `np.roll` wraps around, so their weight is zero.
        weights = np.tile((np.arange(x.shape[1]) >= 3) * x.shape[1] / (x.shape[1] - 3), (len(x), 1))
        model.compile(keras.optimizers.Adam(0.0005), loss)
        last = model.fit(x, y, sample_weight=weights, batch_size=32, verbose=0).history["loss"][0]
        seen[f"{activation} (loss {last:.2f})"] = analysis.layer_statistics(deep, x[:64])
    figure.suptitle(
        f"Output of the nonlinearities of {depth} layers of 48 units, skip every 4, LSUV, after {updates} updates\n"
        "(in brackets: mean loss over these updates in nats; guessing is 2.08)"
    )
    for axes, what in zip(figure.subplots(1, 2), ("means", "deviations"), strict=True):
        plots.layer_statistics(axes, seen, what)
        axes.axhline(what != "means", color="black", linestyle="--", linewidth=0.8)
    return figure


def gersgorin() -> Figure:
    """The Gersgorin discs of recurrent matrices, and the largest singular value over training."""
    figure = Figure(figsize=(14, 4.6), layout="constrained")
    axes = figure.subplots(1, 3)
    small = keras.initializers.RandomNormal(stddev=0.02, seed=0)

    def near_identity(shape, dtype=None):
        return ops.eye(shape[0], dtype=dtype) + small(shape, dtype=dtype)

    starts = {"orthogonal": "orthogonal", "identity plus N(0, 0.02²)": near_identity}
    x, y = remember(np.random.default_rng(0), 2000)
    values = {}
    for ax, (name, start) in zip(axes, starts.items(), strict=False):
        keras.utils.set_random_seed(0)
        layer = kar.Elman(24, activation="tanh", recurrent_initializer=start, return_sequences=True)
        model = keras.Sequential([keras.Input(x.shape[1:]), layer, keras.layers.Dense(x.shape[-1])])
        plots.gersgorin_discs(ax, analysis.recurrent_matrix(layer))
        ax.set_title(f"recurrent matrix, {name}, 24 units,\nbefore training")
        callback = analysis.SingularValues(layer)
        model.compile(keras.optimizers.Adam(0.005), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.fit(x, y, epochs=10, batch_size=32, verbose=0, callbacks=[callback])
        values[name] = callback.history["h"]
    plots.singular_values(axes[2], values)
    axes[2].set_title("largest singular value in training\n(task: recall the symbol of 3 steps before)")
    return figure


def policies(size: int = 24) -> Figure:
    """The matrix of an adaptive layer for two inputs, by its adaptation."""
    figure = Figure(figsize=(12, 6.2), layout="constrained")
    figure.suptitle("W(x) for two inputs (rows); one row of a matrix for each input of the layer")
    x = np.random.default_rng(0).normal(size=(2, size)).astype("float32")
    kinds = {"output": "output adaptation", "input": "input adaptation", "io": "IO-adaptation", "sva": "SVA"}
    for axes, (adaptation, title) in zip(figure.subplots(2, len(kinds)).T, kinds.items(), strict=True):
        # A matrix of ones shows the policy alone; the bases of SVA are orthogonal, as before training.
        initializer = "orthogonal" if adaptation == "sva" else "ones"
        keras.utils.set_random_seed(0)
        policy = keras.layers.Dense(2 * size if adaptation == "io" else size, "tanh")
        layer = kar.AdaptiveDense(size, adaptation, policy=policy, use_bias=False, kernel_initializer=initializer)
        layer(x)
        matrices = analysis.adapted_matrices(layer, x)["x"]
        bound = np.abs(matrices).max()
        for ax, matrix in zip(axes, matrices, strict=True):
            image = ax.imshow(matrix, cmap="RdBu", vmin=-bound, vmax=bound)
            ax.set(xticks=[], yticks=[], xlabel="units", ylabel="inputs")
        axes[0].set_title(title)
        figure.colorbar(image, ax=axes, location="bottom", shrink=0.8)
    return figure


def spectrum(updates: int = 10_000) -> Figure:
    """The adaptive singular values of a network trained on the extreme tail regression."""
    figure = Figure(figsize=(14, 4.6), layout="constrained")
    rng = np.random.default_rng(0)

    def sample(count):
        x = rng.normal(size=(count, 2))
        y = (2 * x[:, 0]) ** 2 - (3 * x[:, 1]) ** 4 + rng.normal(size=count)
        return x.astype("float32"), y[:, None].astype("float32")

    keras.utils.set_random_seed(0)
    hidden = [kar.AdaptiveDense(2, adaptation="sva", policy="glu") for _ in range(2)]
    model = keras.Sequential([keras.Input((2,)), *hidden, keras.layers.Dense(1)])
    model.compile(
        keras.optimizers.Adam(0.003), "mse", steps_per_execution=1 if keras.backend.backend() == "torch" else 50
    )
    model.fit(*sample(50 * updates), batch_size=50, shuffle=False, verbose=0)

    x, y = sample(20_000)
    first = analysis.adaptation_spectrum(hidden[0], x)["x"]
    second = analysis.adaptation_spectrum(hidden[1], hidden[0](x))["x"]
    axes = figure.subplots(1, 3)
    axes[0].scatter(x[:, 1], y[:, 0], s=4, color="black", label="target")
    predicted = ops.convert_to_numpy(model(x))[:, 0]
    axes[0].scatter(x[:, 1], predicted, s=4, color="tab:blue", label=f"model, {model.count_params()} weights")
    axes[0].set_yscale("symlog", linthresh=100)
    axes[0].set(title="20,000 new examples", xlabel="x2", ylabel="y = (2 x1)² - (3 x2)⁴ + e")
    axes[0].grid(alpha=0.3)
    axes[0].legend(loc="lower center")
    for ax, values, name in zip(axes[1:], (first, second), ("first", "second"), strict=True):
        plots.adaptation_spectrum(ax, values)
        ax.set_yscale("log")
        ax.set_title(f"adaptive singular values of the {name} layer")
    return figure


FIGURES = {
    "dynamics": (dynamics, "dynamics.png"),
    "gradients": (gradients, "gradient_flow.png"),
    "means": (means, "layer_means.png"),
    "gersgorin": (gersgorin, "gersgorin.png"),
    "policies": (policies, "adaptation_policies.png"),
    "spectrum": (spectrum, "adaptive_spectrum.png"),
}


def main(argv: list[str] | None = None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("figure", choices=[*FIGURES, "all"])
    parser.add_argument("--output", default="docs/images", help="folder for the figures (%(default)s)")
    args = parser.parse_args(argv)
    folder = pathlib.Path(args.output)
    folder.mkdir(parents=True, exist_ok=True)
    for name in FIGURES if args.figure == "all" else [args.figure]:
        make, file = FIGURES[name]
        make().savefig(folder / file, dpi=110)
        print(folder / file, flush=True)


if __name__ == "__main__":
    main()
