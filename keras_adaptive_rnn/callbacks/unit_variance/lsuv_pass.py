"""One pass of LSUV: each layer is scaled in its first call, on inputs from scaled layers."""

import contextlib
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

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
        """Scales a layer until its output has unit variance.

        Args:
            name: Path of the layer.
            output: Function without arguments that computes the output.
            scale: Function that multiplies the matrices by a number.
        """
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
