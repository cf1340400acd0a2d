"""Class selectivity of units, and accuracy as units are ablated."""

import dataclasses
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._keras import flatten_layers, replaced
from keras_adaptive_rnn.analysis.hooks import check_built, loop_of, output_hook
from keras_adaptive_rnn.models.arrays import as_array, class_indices


def selectivity(activations: Any, labels: Any) -> np.ndarray:
    r"""Returns how much more each unit is active for its favourite class than for the others.

    $$\frac{\mu_{max} - \mu_{-max}}{\mu_{max} + \mu_{-max}}$$

    $\mu_{max}$ is the largest of the mean activations by class, and $\mu_{-max}$ the mean of those of the other
    classes. The index is 0 for a unit that is as active for every class, or never, and 1 for one that is active for one
    class only.

    Args:
        activations: Array `[samples, ..., units]`, at least 0 on average, as they are after a ReLU. Axes between the
            first and the last, such as time, are averaged. Of units with a sign, such as those of an LSTM, pass the
            size: `np.abs(h)`.
        labels: Integers `[samples]`, the classes.

    Returns: Array `[units]` of numbers in `[0, 1]`.

    Example:

    >>> activations = np.array([[2.0, 1.0, 3.0], [2.0, 1.0, 3.0], [0.0, 1.0, 1.0]])
    >>> keras_adaptive_rnn.analysis.selectivity(activations, [0, 0, 1]).tolist()
    [1.0, 0.0, 0.5]

    Reference: Morcos et al., On the importance of single directions for generalization (2018), section 2.3, equation 1.
    """
    activations, labels = as_array("activations", activations).astype("float64"), as_array("labels", labels, rank=1)
    if activations.ndim < 2 or len(labels) != len(activations):
        raise ValueError(
            "Argument `activations` must have shape (samples, ..., units), and `labels` (samples,). Received: "
            f"{activations.shape} and {labels.shape}"
        )
    classes = np.unique(labels)
    if len(classes) < 2:
        raise ValueError(f"Argument `labels` must hold at least two classes. Received: {classes.tolist()}")
    by_sample = activations.mean(axis=tuple(range(1, activations.ndim - 1)))
    means = np.stack([by_sample[labels == c].mean(axis=0) for c in classes])
    if (means < 0).any():
        raise ValueError(
            "Argument `activations` must have no class with a negative mean, as after a ReLU; for units with a sign, "
            f"such as tanh, pass `np.abs(activations)`. Received: a mean of {means.min():.4g}"
        )
    largest = means.max(axis=0)
    others = (means.sum(axis=0) - largest) / (len(classes) - 1)
    both = largest + others
    return np.divide(largest - others, both, out=np.zeros_like(both), where=both > 0)


@dataclasses.dataclass(frozen=True)
class AblationCurve:
    """The accuracy of a model over the share of a layer's units that are ablated.

    Attributes:
        counts: Integers `[points]`, units that are ablated, from 0 to all.
        shares: Array `[points]`, the same as a share of the units.
        accuracies: Array `[repeats, points]`, the share of the samples that are classified correctly.
    """

    counts: np.ndarray
    shares: np.ndarray
    accuracies: np.ndarray

    @property
    def area(self):
        """The area under the curve, the mean accuracy over all shares; it is large for a robust network."""
        mean = self.accuracies.mean(axis=0)
        return float(np.sum((mean[1:] + mean[:-1]) / 2 * np.diff(self.shares)))


class _Clamped(keras.Model):
    """A model in which the units of a layer are held at given values where a mask is zero, at every time step."""

    def __init__(self, model, layer, values=None):
        super().__init__(name="clamped")
        self.model, self.layer, self.values = model, layer, values
        self.built = True

    def call(self, inputs, training=None):
        seen = []

        def clamp(output):
            if self.values is None:
                # Behind the output, a recurrent layer may return its states.
                seen.append(output[0] if isinstance(output, (list, tuple)) else output)
                return output
            mask = ops.cast(inputs["mask"], output.dtype)
            mask = ops.reshape(mask, (-1, *[1] * (len(output.shape) - 2), mask.shape[-1]))
            return output * mask + ops.cast(self.values, output.dtype) * (1 - mask)

        if self.values is not None and isinstance(self.layer, keras.layers.RNN):
            # In the loop, so that the next step reads the clamped state.
            return self._clamped_in_the_loop(inputs["x"], clamp)
        call = self.layer.call
        with replaced(self.layer, call=lambda *args, **kwargs: clamp(call(*args, **kwargs))):
            output = self.model(inputs["x"], training=False)
        if self.values is None:
            units = seen[0].shape[-1]
            return ops.mean(ops.reshape(seen[0], (ops.shape(seen[0])[0], -1, units)), axis=1)
        return output

    def _clamped_in_the_loop(self, x, clamp):
        # Layers of Keras may run a fused kernel without steps: their cells run in our loop instead.
        loop = loop_of(self.layer)
        loop.return_state = self.layer.return_state
        methods = {} if loop is self.layer else {"call": lambda *args, **kwargs: loop(*args, **kwargs)}
        with output_hook(self.layer.cell, lambda level, output: clamp(output)), replaced(self.layer, **methods):
            return self.model(x, training=False)


def ablation_curve(
    model: keras.Model,
    layer: keras.layers.Layer | str,
    x: Any,
    y: Any,
    order: Any = "random",
    repeats: int = 10,
    to: str = "zero",
    *,
    points: int = 11,
    batch_size: int = 256,
    seed: int = 0,
    verbose: bool = True,
) -> AblationCurve:
    r"""Returns the accuracy of a classifier as more and more units of a layer are ablated.

    A unit is ablated by holding its output at a fixed value. In a recurrent layer, this value is also the state that
    the next step reads (the first one: in an LSTM $h$, and not its cell, which the unit alone reads).

    Networks that have memorized their training data lean on single units, so their curves fall faster than those of
    networks that generalize.

    Do not call the model in another thread while it runs, as it replaces methods of the layer.

    Args:
        model: A Keras model that returns one number for each class.
        layer: The layer whose units are ablated, or its name. Its output is `[batch, ..., units]`; a recurrent layer
            must have a single cell, no stack, and the layer must be called once.
        x: Array `[samples, ...]`, the inputs.
        y: Integers `[samples]`, or one-hot `[samples, classes]`.
        order: In which order units are ablated: `"random"` (default), another one in each repetition, or integers
            `[units]`, such as `np.argsort(-selectivity)`.
        repeats: Positive integer, number of random orders. A given `order` runs once. Defaults to `10`.
        to: The value that a unit is held at: `"zero"` (default), or the `"mean"` of its outputs for `x`.
        points: Integer of at least 2, number of points of the curve, evenly spaced from no unit to all. Defaults to
            `11`.
        batch_size: Positive integer. Defaults to `256`.
        seed: Non-negative integer, of the random orders. Defaults to `0`.
        verbose: Whether to show progress. Defaults to `True`.

    Returns: An `AblationCurve`.

    Example:

    >>> model = keras.Sequential(
    ...     [keras.Input((4,)), keras.layers.Dense(6, "relu", name="hidden"), keras.layers.Dense(3)]
    ... )
    >>> x, y = np.random.default_rng(0).normal(size=(30, 4)), np.arange(30) % 3
    >>> curve = keras_adaptive_rnn.analysis.ablation_curve(model, "hidden", x, y, repeats=2, points=4, verbose=False)
    >>> curve.counts.tolist(), curve.accuracies.shape
    ([0, 2, 4, 6], (2, 4))

    Reference: Morcos et al., On the importance of single directions for generalization (2018), sections 2.2 and 3.1.
    """
    repeats, points = _arguments.integer("repeats", repeats), _arguments.integer("points", points, minimum=2)
    batch_size, seed = _arguments.integer("batch_size", batch_size), _arguments.integer("seed", seed, minimum=0)
    _arguments.choice("to", to, ("zero", "mean"))
    _arguments.boolean("verbose", verbose)
    layer = _layer_of(model, layer)
    x, y = as_array("x", x), as_array("y", y)
    if len(x) != len(y):
        raise ValueError(f"Arguments `x` and `y` must have the same length. Received: {len(x)} and {len(y)}")
    means = np.mean(_Clamped(model, layer).predict({"x": x}, batch_size=batch_size, verbose=0), axis=0)
    units = len(means)
    orders = _orders(order, units, repeats, seed)
    counts = np.unique(np.linspace(0, units, points).round().astype("int64"))
    clamped = _Clamped(model, layer, values=means if to == "mean" else np.zeros_like(means))
    accuracies = np.zeros((len(orders), len(counts)))
    bar = keras.utils.Progbar(accuracies.size, verbose=int(verbose), unit_name="point")
    for place in np.ndindex(accuracies.shape):
        mask = np.ones(units, "float32")
        mask[orders[place[0]][: counts[place[1]]]] = 0
        masks = np.broadcast_to(mask, (len(x), units))
        predicted = np.asarray(clamped.predict({"x": x, "mask": masks}, batch_size=batch_size, verbose=0))
        if predicted.ndim != 2 or predicted.shape[1] < 2:
            raise ValueError(
                "Argument `model` must return one number for each of at least two classes, (samples, classes). "
                f"Received: '{model.name}', which returns {predicted.shape}"
            )
        accuracies[place] = np.mean(predicted.argmax(axis=-1) == class_indices(y, predicted.shape[-1]))
        bar.add(1)
    return AblationCurve(counts, counts / units, accuracies)


def _layer_of(model, layer):
    if not isinstance(model, keras.Model):
        raise TypeError(f"Argument `model` must be a Keras model. Received: model={model!r}")
    layers = [part for part in flatten_layers(model, include_self=False) if layer in (part, part.name)]
    if not layers:
        names = ", ".join(repr(part.name) for part in model.layers)
        raise ValueError(
            f"Argument `layer` must be a layer of the model, or the name of one: {names}. Received: layer={layer!r}"
        )
    check_built(layers[0])
    cell = getattr(layers[0], "cell", None)
    if isinstance(getattr(cell, "cells", None), (list, tuple)):
        raise ValueError(
            f"Argument `layer` must be a recurrent layer with a single cell. Received: a stack, cell={cell!r}"
        )
    return layers[0]


def _orders(order, units, repeats, seed):
    """Returns the orders in which units are ablated, a list of arrays `[units]`."""
    if isinstance(order, str):
        _arguments.choice("order", order, ("random",))
        random = np.random.default_rng(seed)
        return [random.permutation(units) for _ in range(repeats)]
    order = as_array("order", order, rank=1)
    order = order.tolist()
    rule = f"Argument `order` must be 'random', or hold each of the integers 0 to {units - 1} once"
    _arguments.check(sorted(order) == list(range(units)), rule, order=order)
    return [order]
