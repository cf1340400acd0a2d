"""The calls of a model, in order, and its tensors with an axis of time."""

import dataclasses
from typing import Any

import keras
from keras import tree

from keras_adaptive_rnn._keras import calls_in, get_mask
from keras_adaptive_rnn.cells.bases.any_cell import TRACEABLE_PACKAGES
from keras_adaptive_rnn.one_step.time_distributed import is_time_distributed


@dataclasses.dataclass
class Call:
    """A call of a layer, or of an operation such as `x + y`."""

    operation: Any
    args: tuple
    kwargs: dict
    results: Any

    @property
    def is_recurrent(self):
        return isinstance(self.operation, keras.layers.RNN)

    @property
    def inputs(self):
        return _tensors(self.args) + _tensors(self.kwargs)

    @property
    def outputs(self):
        return _tensors(self.results)

    def arguments(self, values):
        """Returns `args, kwargs` with the values of the tensors, a dict by their IDs."""
        return tree.map_structure(
            lambda x: values[id(x)] if isinstance(x, keras.KerasTensor) else x, (self.args, self.kwargs)
        )

    def values(self, results, timed):
        """Returns the outputs in one step by the IDs of those in a sequence, or raises an error if a shape is wrong."""
        for old, new in zip(self.outputs, tree.flatten(results), strict=True):
            expected = (new.shape[0], 1, *old.shape[2:]) if id(old) in timed else (new.shape[0], *old.shape[1:])
            if tuple(new.shape) != expected:
                raise self.refused(f"returns the shape {tuple(new.shape)} for one time step")
        return {id(old): new for old, new in zip(self.outputs, tree.flatten(results), strict=True)}

    def check(self, timed, declared):
        """Raises an error if the call cannot run one step at a time, by `timed_tensors` and what the user declared."""
        operation = self.operation
        if self.is_recurrent:
            self._check_recurrent()
        elif isinstance(operation, keras.layers.Bidirectional):
            raise self.refused("reads the sequence backwards too")
        elif timed.isdisjoint(map(id, self.inputs + self.outputs)):
            return
        elif not self._has_one_time():
            raise self.refused("joins tensors of which not all have the same axis of time")
        elif not (
            any(operation is each or (isinstance(each, type) and isinstance(operation, each)) for each in declared)
            or is_time_distributed(operation, len(self.inputs[0].shape))
        ):
            raise self.refused(
                "is not known to compute each time step by itself; if it does, pass it in `time_distributed`, or set "
                "`is_time_distributed = True` in its class"
            )

    def _has_one_time(self):
        ranks = {len(x.shape) for x in _tensors(self.args)}
        lengths = {x.shape[1] for x in self.inputs}
        # A single step would be broadcast to all others.
        return len(ranks) == 1 and (len(lengths) == 1 or (len(lengths - {None}) == 1 and 1 not in lengths))

    def _check_recurrent(self):
        layer = self.operation
        if layer.stateful:
            raise self.refused(
                "is stateful, while the states of a step go in and out; set its attribute `stateful` to False first"
            )
        if layer.go_backwards:
            raise self.refused("reads the sequence backwards")
        if len(self.args[0].shape) != 3 or type(layer).call.__module__.split(".")[0] not in TRACEABLE_PACKAGES:
            raise self.refused("is recurrent in a way of its own")
        if any(x is not None for x in (*self.args[1:], self.kwargs.get("initial_state"))):
            raise self.refused(
                "is called with `initial_state`; build the model without it, from the same layers, and pass these "
                "states to the first step"
            )
        if self.kwargs.get("training"):
            raise self.refused("is called with `training=True`, and a step computes inference")

    def refused(self, reason):
        """Returns an error that names the layer."""
        kind = "layer" if isinstance(self.operation, keras.Layer) else "operation"
        return ValueError(
            "Argument `model` must run one time step at a time. Received: a model whose "
            f"{kind} '{self.operation.name}', of type {type(self.operation).__name__}, {reason}."
        )


def _tensors(structure):
    return [x for x in tree.flatten(structure) if isinstance(x, keras.KerasTensor)]


def calls_of(model):
    """Returns the inputs of a model, its calls in order, those of models inside it included, and its outputs."""
    if not hasattr(model, "inputs"):
        raise ValueError(
            "Argument `model` must be a `keras.Sequential` or functional model whose input shape is known, by "
            f"`keras.Input` or a call. Received: model={model!r}"
        )
    calls = []
    outputs = _collect(model, model.inputs, calls)
    needed, live = set(map(id, outputs)), []
    for call in reversed(calls):
        if not needed.isdisjoint(map(id, call.outputs)):
            needed |= set(map(id, call.inputs))
            live.append(call)
    return model.inputs, live[::-1], outputs


def _collect(model, inputs, calls):
    """Appends the calls of a model to `calls`, and returns its outputs; each call has tensors of its own."""
    functional = keras.Model(model.inputs, model.outputs)
    if type(model).call not in (type(functional).call, keras.Sequential.call):
        raise ValueError(
            "Argument `model` must be a `keras.Sequential` or functional model, without a `call` of its own. "
            f"Received: model={model!r}"
        )
    values = dict(zip(map(id, functional.inputs), inputs, strict=True))
    for operation, args, kwargs, outputs in calls_in(functional):
        if not args:
            raise Call(operation, args, kwargs, outputs).refused(
                "takes its input by name; pass it as the first argument"
            )
        if tree.flatten(kwargs.get("mask")) == tree.flatten(tree.map_structure(get_mask, args[0])):
            # Keras passes the mask of a tensor; it will do so again.
            kwargs = {name: value for name, value in kwargs.items() if name != "mask"}
        call = Call(operation, args, kwargs, [keras.KerasTensor(x.shape, x.dtype) for x in outputs])
        call.args, call.kwargs = call.arguments(values)
        if isinstance(operation, (keras.Sequential, type(functional))):
            call.results = _collect(operation, call.inputs, calls)
        else:
            calls.append(call)
        values |= zip(map(id, outputs), call.results, strict=True)
    return [values[id(x)] for x in functional.outputs]


def timed_tensors(calls):
    """Returns the IDs of the tensors with an axis of time: what recurrent layers read, and all that is joined to it."""
    timed = set()
    while True:
        count = len(timed)
        for call in calls:
            outputs = call.outputs
            if call.is_recurrent:
                layer = call.operation
                decisions = len(layer.runner.deciding) if getattr(layer, "return_decisions", False) else 0
                outputs = outputs[: int(layer.return_sequences)] + outputs[len(outputs) - decisions :]
            elif timed.isdisjoint(map(id, call.inputs + outputs)):
                continue
            timed |= set(map(id, call.inputs + outputs))
        if len(timed) == count:
            return timed
