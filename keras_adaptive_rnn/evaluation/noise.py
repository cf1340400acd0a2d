"""The noise of a model, drawn on purpose: which parts have some, and a context that scales and seeds it."""

import contextlib

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._keras import flatten_layers, replaced
from keras_adaptive_rnn._seeds import resolve_seed
from keras_adaptive_rnn.cells.bases.any_cell import TRACEABLE_PACKAGES

# The attributes that hold the rates of noise in layers and cells of Keras. Others list theirs in `noise_rates`.
KERAS_RATES = ("rate", "dropout", "recurrent_dropout")


def noisy_parts(model):
    """Returns the rates of all noise in a model, a list of `(layer, attribute, value)`."""
    parts = []
    for layer in flatten_layers(model):
        for name in getattr(layer, "noise_rates", KERAS_RATES):
            value = vars(layer).get(name)
            values = value if isinstance(value, (list, tuple)) else [value]
            if any(isinstance(v, (int, float)) and not isinstance(v, bool) and 0 < v < 1 for v in values):
                parts.append((layer, name, value))
        if isinstance(layer, keras.layers.GaussianNoise) and layer.stddev > 0:
            parts.append((layer, "stddev", layer.stddev))
    return parts


def rows_are_samples(parts):
    """Returns whether every row of a batch draws noise of its own, from the list of `noisy_parts`."""

    def is_per_row(layer):
        shape = getattr(layer, "noise_shape", None)
        # Layers from elsewhere must declare it.
        known = type(layer).__module__.split(".")[0] in TRACEABLE_PACKAGES
        return not getattr(layer, "shares_noise", not known) and (shape is None or shape[0] != 1)

    return all(is_per_row(layer) for layer, _, _ in parts)


class Noise:
    """The arguments of Monte Carlo dropout, checked; as in `keras_adaptive_rnn.evaluation.evaluate`."""

    def __init__(self, model, samples, average, dropout_scale, seed):
        self.samples = _arguments.integer("samples", samples, minimum=0)
        if isinstance(average, str):
            self.average = _arguments.choice("average", average, ("arithmetic", "geometric"))
        else:
            self.average = _arguments.number("average", average, positive=True)
        self.scale = _arguments.number("dropout_scale", dropout_scale, minimum=0)
        seed = _arguments.integer("seed", seed, minimum=0, optional=True)
        # Once, so that all temperatures see the same noise.
        self.seed = resolve_seed(seed) if self.samples else seed
        self.model, self.parts = model, noisy_parts(model) if self.samples else []
        rule = "Argument `samples` must be 0 for a model without dropout, whose passes are all alike"
        _arguments.check(not self.samples or self.parts, rule, samples=samples, model=model.name)

    @property
    def passes(self):
        """The number of passes that are averaged."""
        return max(1, self.samples)

    @property
    def is_on(self):
        return self.samples > 0 and self.scale > 0

    @contextlib.contextmanager
    def drawn(self):
        """A context in which the rates of the model are scaled and its noise is drawn from the seed.

        Batch normalization stays in inference mode, and the generators are as they were at the end.
        """
        layers = flatten_layers(self.model)
        generators = [g for layer in layers for g in vars(layer).values() if isinstance(g, keras.random.SeedGenerator)]
        random = np.random.default_rng(self.seed)
        with contextlib.ExitStack() as stack:
            for layer, name, value in self.parts:
                if name in getattr(layer, "fixed_noise_rates", ()):
                    continue
                if name != "stddev" and value * self.scale >= 1:
                    raise ValueError(
                        "Argument `dropout_scale` must leave every rate below 1. "
                        f"Received: dropout_scale={self.scale}, with {name}={value} in layer '{layer.name}'"
                    )
                stack.enter_context(replaced(layer, **{name: value * self.scale}))
            for layer in layers:
                if isinstance(layer, keras.layers.BatchNormalization):
                    stack.enter_context(replaced(layer, call=_without_training(layer.call)))
            for generator in generators:
                stack.callback(generator.state.assign, ops.convert_to_numpy(generator.state.value))
                generator.state.assign(np.array([random.integers(2**31), 0]))
            yield


def _without_training(call):
    return lambda inputs, training=None, **kwargs: call(inputs, training=False, **kwargs)
