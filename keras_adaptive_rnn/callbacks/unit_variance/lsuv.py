"""Layer-sequential unit variance (LSUV): an initialization from a batch of data."""

import contextlib
import dataclasses
import warnings
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import ops, tree

from keras_adaptive_rnn import _arguments, engine
from keras_adaptive_rnn._keras import flatten_layers, replaced, takes_training
from keras_adaptive_rnn.callbacks.unit_variance import cell_scaling
from keras_adaptive_rnn.callbacks.unit_variance.matrices import LayerMatrices, MapMatrices, is_known_map, own_kernels
from keras_adaptive_rnn.maps import LinearMap

# A variance below this share of the mean square is a rounding error.
NOTHING = 1e-12


class Scaled(NamedTuple):
    """The result of `keras_adaptive_rnn.callbacks.lsuv` for one layer.

    Attributes:
        name: String, path of the layer.
        variance: Number, the final variance of its output.
        iterations: Integer, how often it was scaled.
    """

    name: str
    variance: float
    iterations: int


def lsuv(model: keras.Model | keras.layers.Layer, data: Any, **options: Any) -> list[Scaled]:
    r"""Scales the matrices of each layer, from the lowest up, until its output for a batch of data has unit variance.

    Once the layers below it are scaled, a layer with a kernel $W$ is scaled by

    $$W \leftarrow W / \sqrt{\operatorname{Var}(y)} \quad \text{until} \quad |\operatorname{Var}(y) - 1| \le
      \text{tolerance}$$

    where $y$ is the output of the layer before its activation, over all units and samples. A recurrent layer is run for
    a single time step, with $\epsilon \sim \mathcal{N}(0, 1)$ instead of every state, and both its matrices are scaled
    together:

    $$h_i = f(x_i U_i + \epsilon_i W_i + b_i), \qquad U_i \leftarrow U_i / \sqrt{\operatorname{Var}(h_i)}, \qquad
      W_i \leftarrow W_i / \sqrt{\operatorname{Var}(h_i)}$$

    Each time step of the data is a sample of that step; masked steps do not count. If the output of a cell cannot have
    unit variance, because $f$ is bounded by one (tanh) or gated (LSTM, GRU), the preactivations of all its gates
    together get unit variance instead of $h_i$. This rule is not in the papers.

    These trained kernels are scaled: in feed-forward layers, those of Keras's `Dense`, `EinsumDense` and convolutions
    (the kernels of a separable convolution share the factor) and of the layers of this package; in recurrent layers,
    those of Keras's cells, of `ElmanCell`, `GRUCell`, `LSTMCell` and their subclasses, alone, stacked or inside another
    cell, and of each layer of a `DeepRNNCell`. Nothing else changes: biases, embeddings, frozen layers, and cells that
    normalize, adapt or gate their preactivations in another way. Dropout is off. A layer that is called twice is scaled
    in its first call.

    The methods of the layers are replaced during the run, in every thread: do not call the model in another thread at
    the same time.

    Args:
        model: A model, or a layer, such as a `keras_adaptive_rnn.layers.RNN`.
        data, **options: As in `keras_adaptive_rnn.callbacks.LSUV`: orthogonal, activated, tolerance, max_iterations,
            horizon, ddof, seed, verbose.

    Returns: A list of `Scaled(name, variance, iterations)`, one per scaled layer, in their order: the final variance
        (before `horizon`), and how often the layer was scaled.

    Raises:
        ValueError: the output of a layer has no variance or is not finite, the model has nothing to scale, or an
            argument is out of its range.
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
    return LSUV(data, **options).initialize(model)


@dataclasses.dataclass(eq=False, repr=False)
class LSUV(keras.callbacks.Callback):
    r"""Scales each layer to unit variance when `fit` starts: `keras_adaptive_rnn.callbacks.lsuv` as a callback.

    It runs only in the first `fit` that it is passed to, so that a second one resumes training. It does not run either
    if `keras.callbacks.BackupAndRestore` has restored the model. Do not call the model in another thread while it runs.

    Args:
        data: A batch of inputs of the model: an array, or a list, tuple or dict of arrays.
        orthogonal: Whether to replace each matrix by the nearest (semi-)orthogonal one first, gate by gate in a cell.
            Defaults to `True`.
        activated: Whether to measure a feed-forward layer after its activation. Defaults to `False`.
        tolerance: Positive number, largest distance of the variance from 1. Defaults to `0.01`.
        max_iterations: Non-negative integer, how often to scale a layer at most; a layer that needs more causes a
            warning. `0`, with `orthogonal=False`, only measures. Defaults to `40`.
        horizon: Number in `[0, 1]`, $\gamma$, which sets the time horizon (footnote 2 of the paper): the share of
            the variance of a recurrent layer that comes from its state. The larger it is, the longer the dependencies
            that the layer learns. After scaling, $W_i \leftarrow W_i \sqrt{2 \gamma}$ and $U_i \leftarrow U_i \sqrt{2
            (1 - \gamma)}$. `None` (default) leaves both as they are. With `orthogonal=False`, a second run applies the
            factors again.
        ddof: Non-negative integer; the variance is divided by the number of entries minus `ddof`, as in `np.var`.
            Defaults to `0`.
        seed: Integer seed of $\epsilon$, or `None` (default).
        verbose: Whether to show progress and to print a summary. Defaults to `False`.

    Attributes:
        scaled: The list of `Scaled` of `lsuv`; `None` before the first `fit`, and empty if that restored a backup.

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

    data: Any
    _: dataclasses.KW_ONLY
    orthogonal: bool = True
    activated: bool = False
    tolerance: float = 0.01
    max_iterations: int = 40
    horizon: float | None = None
    ddof: int = 0
    seed: int | None = None
    verbose: bool = False
    scaled: Any = dataclasses.field(default=None, init=False)

    def __post_init__(self):
        super().__init__()
        for name in ("orthogonal", "activated", "verbose"):
            _arguments.boolean(name, getattr(self, name))
        _arguments.number("tolerance", self.tolerance, positive=True)
        _arguments.integer("max_iterations", self.max_iterations, minimum=0)
        _arguments.number("horizon", self.horizon, minimum=0, maximum=1, optional=True)
        _arguments.integer("ddof", self.ddof, minimum=0)
        _arguments.integer("seed", self.seed, minimum=0, optional=True)
        self.data = as_batch(self.data)

    def set_model(self, model):
        super().set_model(model)
        # Callbacks get the model before training begins, which is when a backup is restored.
        self._steps_before = self._steps_taken()

    def _steps_taken(self):
        optimizer = getattr(self.model, "optimizer", None)
        return None if optimizer is None else int(keras.ops.convert_to_numpy(optimizer.iterations))

    def on_train_begin(self, logs=None):
        if self.scaled is None:
            is_restored = self._steps_taken() != self._steps_before
            self.scaled = [] if is_restored else self.initialize(self.model)

    def initialize(self, model):
        """Scales the layers of a model and returns the list of `Scaled`."""
        if not isinstance(model, keras.layers.Layer):
            raise TypeError(f"Argument `model` must be a Keras model or layer. Received: model={model!r}")
        with engine.inference():
            if not all(layer.built for layer in flatten_layers(model)):
                # Building needs only shapes: symbolic inputs run nothing.
                model(tree.map_structure(lambda array: keras.KerasTensor(array.shape, array.dtype.name), self.data))
            scaled = LSUVPass(self)(model, self.data)
        if not scaled:
            raise ValueError(
                f"Argument `model` must have layers that can be scaled. Received: '{model.name}', which has none"
            )
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
    """Returns a batch of data as arrays of the same structure, or raises an error."""
    arrays = tree.map_structure(np.asarray, data)
    flat = tree.flatten(arrays)
    if not flat or any(array.dtype.kind not in "biuf" or array.ndim == 0 or array.size == 0 for array in flat):
        raise ValueError(
            "Argument `data` must be a batch of inputs: an array of numbers, or a list, tuple or dict of them. "
            f"Received: a {type(data).__name__}"
        )
    return arrays


class LSUVPass:
    """One pass over a model; `settings` holds the arguments of `keras_adaptive_rnn.callbacks.lsuv`."""

    def __init__(self, settings):
        self.settings = settings
        self.scaled = []
        self._progress = keras.utils.Progbar(
            None, verbose=int(settings.verbose), stateful_metrics=["variance"], unit_name="layer"
        )
        self.rows = None  # Boolean mask of the samples that count; `None` counts all.
        self._random = np.random.default_rng(settings.seed)
        self._seen = set()
        self._hooks = contextlib.ExitStack()

    def __call__(self, model, data):
        with self._hooks:
            self._hook(model)
            model(data, training=False) if takes_training(model) else model(data)
        self._progress.update(len(self.scaled), finalize=True)
        return self.scaled

    def _hook(self, layer):
        """Makes the first call of `layer`, and of every sublayer, scale it if that is possible."""
        if isinstance(layer, keras.layers.RNN):
            cell_scaling.hook_layer(layer, self)
        elif isinstance(layer, LinearMap):
            if is_known_map(layer):
                self._hook_matrices(layer, MapMatrices(layer))
        else:
            if kernels := own_kernels(layer):
                self._hook_matrices(layer, LayerMatrices(layer, kernels))
            for part in flatten_layers(layer, include_self=False, recursive=False):
                self._hook(part)

    def _hook_matrices(self, layer, matrices):
        call = layer.call
        overrides = {} if self.settings.activated or not hasattr(layer, "activation") else {"activation": lambda x: x}

        def scaled(*args, **kwargs):
            if self.is_first(layer):

                def output():
                    with replaced(layer, **overrides):
                        return call(*args, **kwargs)

                if self.settings.orthogonal:
                    matrices.make_orthonormal()
                self.scale(layer.path or layer.name, output, matrices.scale)
            return call(*args, **kwargs)

        self.replace(layer, call=scaled)

    # Scaling a layer.

    def replace(self, layer, **methods):
        """Replaces methods of a layer until the run ends."""
        self._hooks.enter_context(replaced(layer, **methods))

    def is_first(self, layer):
        """Returns whether this is the first call of `layer` in the run."""
        first = id(layer) not in self._seen
        self._seen.add(id(layer))
        return first

    def normal(self, shape):
        """Returns standard normal numbers, the same on every backend."""
        return self._random.normal(size=shape).astype("float32")

    def scale(self, name, output, scale):
        """Multiplies the matrices of a layer, by `scale(factor)`, until `output()` has unit variance."""
        variance, scalings = self._variance(name, output()), 0
        while abs(variance - 1) > self.settings.tolerance and scalings < self.settings.max_iterations:
            scale(variance**-0.5)
            variance, scalings = self._variance(name, output()), scalings + 1
        self.scaled.append(Scaled(name, variance, scalings))
        self._progress.update(len(self.scaled), [("variance", variance)])

    def _variance(self, name, output):
        y = ops.convert_to_numpy(ops.cast(output, "float32")).astype("float64")
        y = y if self.rows is None else y[self.rows]
        variance = float(np.var(y, ddof=self.settings.ddof)) if y.size > self.settings.ddof else 0.0
        if not np.isfinite(variance) or variance <= NOTHING * np.sum(np.square(y)) / max(y.size, 1):
            what = "is constant" if np.isfinite(variance) else "is not finite"
            raise ValueError(
                f"Layer '{name}' cannot be scaled to unit variance: its output {what}, with a variance of {variance}. "
                "Its inputs, its kernel, its activation or the data may be constant, or too large."
            )
        return variance
