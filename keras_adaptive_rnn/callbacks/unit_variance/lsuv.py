"""Layer-sequential unit variance: an initialization that measures."""

import contextlib
import dataclasses
import warnings
from typing import Any

import keras
import numpy as np
from keras import tree

from keras_adaptive_rnn import _arguments, engine
from keras_adaptive_rnn.callbacks.unit_variance.run import Run, Scaled


def lsuv(
    model: keras.Model | keras.layers.Layer,
    data: Any,
    orthogonal: bool = True,
    activated: bool = False,
    tolerance: float = 0.01,
    max_iterations: int = 40,
    horizon: float | None = None,
    ddof: int = 0,
    seed: int | None = None,
    verbose: bool = False,
) -> list[Scaled]:
    r"""Scales the matrices of each layer, the lowest first, until its output for a batch of data has unit variance.

    A layer with a kernel $W$, once those below it are done:

    $$W \leftarrow W / \sqrt{\operatorname{Var}(y)} \quad \text{until} \quad |\operatorname{Var}(y) - 1| \le
      \text{tolerance}$$

    where $y$ is what the layer puts out before its activation, all units and samples taken together. A recurrent layer
    is taken in a single time step, with $\epsilon \sim \mathcal{N}(0, 1)$ in the place of every state, and both its
    matrices are scaled together:

    $$h_i = f(x_i U_i + \epsilon_i W_i + b_i), \qquad U_i \leftarrow U_i / \sqrt{\operatorname{Var}(h_i)}, \qquad
      W_i \leftarrow W_i / \sqrt{\operatorname{Var}(h_i)}$$

    Each time step of the data is a sample of that single one; masked steps do not count. Cells whose output cannot have
    unit variance, as $f$ is bounded by one (tanh) or gated (LSTM, GRU), get unit variance before $f$ and in all gates
    together, in place of $h_i$, which is not in the papers.

    It scales the trained kernels of Keras's `Dense`, `EinsumDense` and convolutions (those of a separable one share
    the factor), of the maps in the feed-forward layers of this package, and in recurrent layers those of Keras's cells,
    of `ElmanCell`, `GRUCell`, `LSTMCell` and their kin, also stacked or inside another cell, and of each layer of a
    `DeepRNNCell`. Everything else stays as it is: biases, embeddings, frozen layers, cells that normalise, adapt or
    gate in another way what they compute of input and state. Dropout is off. A layer that the data reaches twice is
    scaled the first time.

    Args:
        model: A model, or a layer, such as a `keras_adaptive_rnn.layers.RNN`.
        data: A batch of inputs, as the model takes them: an array, or a list, tuple or dict of arrays.
        orthogonal: Whether each matrix is first replaced by the (semi-)orthogonal one nearest to it, gate by gate in
            a cell. Defaults to `True`.
        activated: Whether feed-forward layers are measured behind the activation that they hold. Defaults to `False`.
        tolerance: Positive number, how far from 1 the variance may be. Defaults to `0.01`.
        max_iterations: Non-negative integer, how often to scale a layer at most; `0`, with `orthogonal=False`, only
            measures. Defaults to `40`. A layer that needs more is warned of.
        horizon: Number in `[0, 1]`, $\gamma$, the share of the variance that comes from the state of a recurrent layer;
            the larger, the longer the time that it learns over. After the scaling, $W_i \leftarrow W_i \sqrt{2 \gamma}$
            and $U_i \leftarrow U_i \sqrt{2 (1 - \gamma)}$. `None` (default) leaves the two as they are. With
            `orthogonal=False` a second run trades again.
        ddof: Non-negative integer, what the divisor of the variance is short of the number of entries. Defaults to `0`.
        seed: Integer seed of $\epsilon$, or `None` (default).
        verbose: Whether to show progress, in a bar where `rich` is installed, and a line at the end. Defaults to
            `False`.

    Returns: A list of `Scaled(name, variance, iterations)`, one a scaled layer, in their order: the variance at last
        (before `horizon`), and how often it was scaled.

    Raises:
        ValueError: the output of a layer has no variance, or is not finite; the model has nothing to scale; an argument
            is out of its range.
        TypeError: an argument is of the wrong type.

    Example:

    >>> model = keras.Sequential([keras.layers.Dense(8, activation="relu") for _ in range(12)])
    >>> x = np.random.default_rng(0).normal(size=(64, 8))
    >>> scaled = keras_adaptive_rnn.callbacks.lsuv(model, x)
    >>> max(abs(layer.variance - 1) for layer in scaled) <= 0.01
    True
    >>> rnn = keras_adaptive_rnn.layers.DeepRNN(8, depth=6, skip_every=None)
    >>> len(keras_adaptive_rnn.callbacks.lsuv(rnn, x[:, None], horizon=0.8))
    6

    Reference: Mishkin and Matas, All you need is a good init (2016), section 3, algorithm 1; recurrent: Eidnes and
    Nøkland, Shifting Mean Activation Towards Zero with Bipolar Activation Functions (2018), section 3.
    """
    settings = Settings(orthogonal, activated, tolerance, max_iterations, horizon, ddof, seed, verbose)
    return settings.initialize(model, data)


class LSUV(keras.callbacks.Callback):
    r"""Scales each layer to unit variance before `fit` trains it: `lsuv` as a callback.

    It does so once: where the callback goes into a second `fit`, that one goes on training. `scaled` is what `lsuv` has
    returned.

    Args:
        data, orthogonal, activated, tolerance, max_iterations, horizon, ddof, seed, verbose: As in
            `keras_adaptive_rnn.callbacks.lsuv`.

    Raises:
        ValueError, TypeError: As in `keras_adaptive_rnn.callbacks.lsuv`.

    Example:

    >>> model = keras.Sequential([keras.layers.Dense(8, activation="elu"), keras.layers.Dense(1)])
    >>> model.compile("sgd", "mse")
    >>> x, y = np.random.default_rng(0).normal(size=(64, 4)), np.zeros((64, 1))
    >>> callback = keras_adaptive_rnn.callbacks.LSUV(x)
    >>> history = model.fit(x, y, verbose=0, callbacks=[callback])
    >>> len(callback.scaled)
    2

    Reference: Mishkin and Matas, All you need is a good init (2016), section 3.
    """

    def __init__(
        self,
        data: Any,
        orthogonal: bool = True,
        activated: bool = False,
        tolerance: float = 0.01,
        max_iterations: int = 40,
        horizon: float | None = None,
        ddof: int = 0,
        seed: int | None = None,
        verbose: bool = False,
    ):
        super().__init__()
        self.settings = Settings(orthogonal, activated, tolerance, max_iterations, horizon, ddof, seed, verbose)
        self.data = as_batch(data)
        self.scaled: Any = None

    def on_train_begin(self, logs=None):
        if self.scaled is None:
            self.scaled = self.settings.initialize(self.model, self.data)


@dataclasses.dataclass(frozen=True)
class Settings:
    """The arguments of `lsuv`."""

    orthogonal: bool
    activated: bool
    tolerance: float
    max_iterations: int
    horizon: float | None
    ddof: int
    seed: int | None
    verbose: bool

    def __post_init__(self):
        for name in ("orthogonal", "activated", "verbose"):
            _arguments.boolean(name, getattr(self, name))
        _arguments.number("tolerance", self.tolerance, positive=True)
        _arguments.integer("max_iterations", self.max_iterations, minimum=0)
        _arguments.integer("ddof", self.ddof, minimum=0)
        _arguments.integer("seed", self.seed, minimum=0, optional=True)
        if _arguments.number("horizon", self.horizon, minimum=0, optional=True) is not None and self.horizon > 1:
            raise ValueError(
                f"Argument `horizon` must be a number in [0, 1], or None. Received: horizon={self.horizon}"
            )

    def initialize(self, model, data):
        """Scales the layers of a model, and says what it did."""
        if not isinstance(model, keras.layers.Layer):
            raise TypeError(f"Argument `model` must be a Keras model or layer. Received: model={model!r}")
        data = as_batch(data)
        with engine.inference(), progress(self.verbose) as report:
            if not all(layer.built for layer in model._flatten_layers()):
                # Symbols suffice to build it, and run nothing.
                model(tree.map_structure(lambda array: keras.KerasTensor(array.shape, array.dtype.name), data))
            scaled = Run(self, report)(model, data)
        if not scaled:
            raise ValueError(f"Argument `model` must have layers to scale. Received: '{model.name}', which has none")
        self._report(scaled)
        return scaled

    def _report(self, scaled):
        variances = [layer.variance for layer in scaled]
        if self.verbose:
            times = sum(layer.iterations for layer in scaled)
            spread = f"variance {min(variances):.4f} to {max(variances):.4f}"
            print(f"LSUV: {len(scaled)} layers, scaled {times} times, {spread}")
        missed = [layer for layer in scaled if not abs(layer.variance - 1) <= self.tolerance]
        if missed and self.max_iterations > 0:
            names = ", ".join(f"'{layer.name}' ({layer.variance:.4g})" for layer in missed[:5])
            warnings.warn(
                f"{len(missed)} of {len(scaled)} layers are not within {self.tolerance} of unit variance after being "
                f"scaled {self.max_iterations} times: {names}{', ...' if len(missed) > 5 else ''}",
                stacklevel=3,
            )


def as_batch(data):
    """Returns a batch of data with arrays for its leaves, or raises an error that says what was expected."""
    arrays = tree.map_structure(np.asarray, data)
    flat = tree.flatten(arrays)
    if not flat or any(array.dtype.kind not in "biuf" or array.ndim == 0 or array.size == 0 for array in flat):
        raise ValueError(
            "Argument `data` must be a batch of inputs: an array of numbers, or a list, tuple or dict of them. "
            f"Received: a {type(data).__name__}"
        )
    return arrays


@contextlib.contextmanager
def progress(verbose):
    """Yields a function that shows a layer that is done."""
    try:
        from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    except ModuleNotFoundError:
        verbose = False
    if not verbose:
        yield lambda layer: None
        return
    text = "LSUV: {task.completed} layers, {task.description}"
    with Progress(SpinnerColumn(), TextColumn(text), TimeElapsedColumn(), transient=True) as shown:
        task = shown.add_task("", total=None)
        yield lambda layer: shown.update(task, advance=1, description=f"{layer.name}: {layer.variance:.3f}")
