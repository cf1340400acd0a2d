"""Checks of the model to evaluate, its vocabulary, and states of its own."""

import contextlib

import keras
import numpy as np
from keras import ops, tree

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._keras import flatten_layers, replaced
from keras_adaptive_rnn.loop.rnn import RNN
from keras_adaptive_rnn.loop.stateful import StatefulStates


def stateful_layers(model):
    """Returns the stateful recurrent layers of a model, or raises an error if it cannot be evaluated."""
    if not isinstance(model, keras.Model):
        raise TypeError(f"Argument `model` must be a Keras model. Received: model={model!r}")
    if len(tree.flatten(getattr(model, "inputs", None) or [None])) != 1:
        raise ValueError(
            f"Argument `model` must have one input, token ids (batch, time). Received: '{model.name}', which has "
            f"{len(model.inputs)}"
        )
    layers = [layer for layer in flatten_layers(model) if isinstance(layer, keras.layers.RNN) and layer.stateful]
    if not layers:
        raise ValueError(
            f"Argument `model` must have a stateful recurrent layer, so that a segment starts where the last one ended:"
            f" `RNN(cell, stateful=True, return_sequences=True)`. Received: '{model.name}', which has none"
        )
    for layer in layers:
        if not isinstance(layer, RNN):
            raise ValueError(
                f"Argument `model` must have stateful layers of this package, such as "
                f"`keras_adaptive_rnn.RNN(keras.layers.LSTMCell(8), stateful=True)`, which takes any cell of Keras. "
                f"Received: '{model.name}' with layer {layer!r}"
            )
    last = _last_layer(model)
    if isinstance(last, keras.layers.Softmax) or getattr(last, "activation", None) is keras.activations.softmax:
        raise ValueError(
            f"Argument `model` must return logits or log-probabilities. Received: '{model.name}', whose last layer "
            f"'{last.name}' returns probabilities"
        )
    return layers


def _last_layer(model):
    layers = getattr(model, "layers", None)
    last = layers[-1] if layers else None
    last = getattr(last, "layer", last) if isinstance(last, keras.layers.TimeDistributed) else last
    return _last_layer(last) if isinstance(last, keras.Model) else last


class OwnStates(contextlib.ExitStack):
    """A context in which the stateful layers of a model have other states, for `batch_size` rows, initial at first.

    It may be entered many times. The model's own states are as they were when it is left.
    """

    def __init__(self, model, batch_size):
        super().__init__()
        self._states = {layer: StatefulStates() for layer in stateful_layers(model)}
        for layer, states in self._states.items():
            _arguments.check(layer.built, "Argument `model` must be built: call it once", model=model)
            states.create(layer, batch_size)

    @property
    def variables(self):
        return [variable for states in self._states.values() for variable in states.variables]

    def reset(self):
        for layer, states in self._states.items():
            states.reset(layer)

    def values(self):
        """Returns the states as a list of arrays."""
        # Copies: arrays of PyTorch would change with the states.
        return [np.array(ops.convert_to_numpy(variable.value)) for variable in self.variables]

    def start_from(self, values):
        """Starts from the values of another `OwnStates`, repeated to fill the rows."""
        for mine, value in zip(self.variables, values, strict=True):
            mine.assign(np.tile(value, [mine.shape[0] // value.shape[0], 1]) if value.ndim else value)

    def __enter__(self):
        for layer, states in self._states.items():
            self.enter_context(replaced(layer, _stateful_states=states))
        return self


def vocabulary_size(model, states, batch_size, steps):
    """Returns the number of classes that a model predicts, or raises an error if its output has another shape."""
    with states:
        output = model.compute_output_spec(keras.KerasTensor((batch_size, steps), "int32"))
    shape = getattr(output, "shape", None)
    if shape is None or len(shape) != 3 or shape[-1] is None:
        raise ValueError(
            f"Argument `model` must return logits (batch, time, vocabulary): its recurrent layers need "
            f"return_sequences=True. Received: '{model.name}', which returns {shape or type(output).__name__}"
        )
    return shape[-1]
