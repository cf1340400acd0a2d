"""One pass of LSUV: the layers are scaled as the data reaches them, so each reads from layers that are scaled."""

import contextlib
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn.callbacks.unit_variance import recurrent
from keras_adaptive_rnn.callbacks.unit_variance.matrices import LayerMatrices, MapMatrices, is_known_map, own_kernels
from keras_adaptive_rnn.maps import LinearMap

# A variance that is this small a share of the mean square is rounding.
NOTHING = 1e-12


class Scaled(NamedTuple):
    """What `keras_adaptive_rnn.callbacks.lsuv` did to a layer: the variance of its output, after so many scalings."""

    name: str
    variance: float
    iterations: int


class Run:
    """One pass over a model; `settings` holds the arguments of `keras_adaptive_rnn.callbacks.lsuv`."""

    def __init__(self, settings, report):
        self.settings, self.report = settings, report
        self.scaled = []
        self.rows = None  # The samples that count, `None` for all of them.
        self._random = np.random.default_rng(settings.seed)
        self._seen = set()
        self._hooks = contextlib.ExitStack()

    def __call__(self, model, data):
        with self._hooks:
            self._watch(model)
            model(data, training=False) if getattr(model, "_call_has_training_arg", False) else model(data)
        return self.scaled

    def _watch(self, layer):
        """Has every layer that can be scaled, here and below, scaled when the data reaches it."""
        if isinstance(layer, keras.layers.RNN):
            recurrent.watch(layer, self)
            return
        if isinstance(layer, LinearMap):
            if is_known_map(layer):
                self._watch_matrices(layer, MapMatrices(layer))
            return
        kernels = own_kernels(layer)
        if kernels:
            self._watch_matrices(layer, LayerMatrices(layer, kernels))
        for part in layer._flatten_layers(include_self=False, recursive=False):
            self._watch(part)

    def _watch_matrices(self, layer, matrices):
        call = layer.call
        held_out = {} if self.settings.activated or not hasattr(layer, "activation") else {"activation": lambda x: x}

        def scaled(*args, **kwargs):
            if self.is_first(layer):

                def output():
                    with replaced(layer, **held_out):
                        return call(*args, **kwargs)

                if self.settings.orthogonal:
                    matrices.make_orthonormal()
                self.scale(layer.path or layer.name, output, matrices.scale)
            return call(*args, **kwargs)

        self.replace(layer, call=scaled)

    # What the layers are scaled with.

    def replace(self, layer, **methods):
        """Replaces methods of a layer until the run ends."""
        self._hooks.enter_context(replaced(layer, **methods))

    def is_first(self, layer):
        """Returns whether the data reaches `layer` for the first time."""
        first = id(layer) not in self._seen
        self._seen.add(id(layer))
        return first

    def normal(self, shape):
        """Returns standard normal numbers, the same on every backend."""
        return self._random.normal(size=shape).astype("float32")

    def scale(self, name, output, scale):
        """Scales a layer until its output has unit variance.

        Args:
            name: Name of the layer.
            output: Function without arguments that returns the output.
            scale: Function that multiplies the matrices by a number.
        """
        variance, scalings = self._variance(name, output()), 0
        while abs(variance - 1) > self.settings.tolerance and scalings < self.settings.max_iterations:
            scale(variance**-0.5)
            variance, scalings = self._variance(name, output()), scalings + 1
        self.scaled.append(Scaled(name, variance, scalings))
        self.report(self.scaled[-1])

    def _variance(self, name, output):
        y = ops.convert_to_numpy(ops.cast(output, "float32")).astype("float64")
        y = y if self.rows is None else y[self.rows]
        variance = float(np.var(y, ddof=self.settings.ddof)) if y.size > self.settings.ddof else 0.0
        if not np.isfinite(variance) or variance <= NOTHING * np.sum(np.square(y)) / max(y.size, 1):
            what = "is always the same" if np.isfinite(variance) else "is not finite"
            raise ValueError(
                f"Layer '{name}' cannot be scaled to unit variance: what it puts out {what}, a variance of {variance}. "
                "Its inputs, its kernel, its activation or the data may be constant, or too large."
            )
        return variance


@contextlib.contextmanager
def replaced(layer, **attributes):
    """Replaces attributes of a layer for a while, out of sight of Keras, which would track them."""
    before = {name: layer.__dict__[name] for name in attributes if name in layer.__dict__}
    layer.__dict__.update(attributes)
    try:
        yield
    finally:
        for name in attributes:
            layer.__dict__.pop(name)
        layer.__dict__.update(before)
