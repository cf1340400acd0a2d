"""A model of one time step, made of the layers of a model of sequences."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import keras
from keras import ops, tree

from keras_adaptive_rnn import _arguments, layers
from keras_adaptive_rnn.cells.bases.any_cell import PURE
from keras_adaptive_rnn.one_step.recurrent_step import RecurrentStep

# Layers that compute each time step by itself, unless they work along the axis of time.
BY_STEP = (
    keras.layers.Activation,
    keras.layers.ActivityRegularization,
    keras.layers.Add,
)


def step_model(model: keras.Model, batch_size: int = 1, *, time_distributed: Sequence[Any] = ()) -> keras.Model:
    batch_size = _arguments.integer("batch_size", batch_size)
    functional = _flat(model)
    calls, inputs, outputs = _calls_of(functional)
    sequences = _sequences(calls)
    for call in calls:
        _check(call, sequences, time_distributed)
    ...


@dataclasses.dataclass
class Call:
    """A call of a layer, or of an operation such as `x + y`, in a functional model."""

    operation: Any
    args: tuple
    kwargs: dict
    outputs: Any

    @property
    def tensors(self):
        return [x for x in tree.flatten((self.args, self.kwargs, self.outputs)) if isinstance(x, keras.KerasTensor)]
