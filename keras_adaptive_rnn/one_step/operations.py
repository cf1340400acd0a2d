"""The operations of `keras.ops` that a model applies to its inputs, on every backend the same."""

import dataclasses
import inspect

import keras
import numpy as np
from keras import ops, tree

from keras_adaptive_rnn._keras import SymbolicCalls, call_that_returned
from keras_adaptive_rnn.one_step.composed import COMPOSED
from keras_adaptive_rnn.one_step.recurrent_step import RecurrentStep

# Operations that return their argument, in inference.
UNCHANGED = ("ConvertToTensor", "Copy", "StopGradient")


@dataclasses.dataclass
class Operation:
    """An operation of `keras.ops` with its arguments.

    Args:
        name: Name of its class in Keras, such as `"Matmul"`.
        options: Dict of what it was made with, such as `axis`.
        args: List of its arguments: symbolic tensors, NumPy arrays for all that is constant, and anything else.
        outputs: List of symbolic tensors.
    """

    name: str
    options: dict
    args: list
    outputs: list


def operations_of(model):
    """Returns `inputs, operations, outputs` of a model whose inputs and outputs are dicts, and whose sizes are known.

    Inputs are a dict of symbolic tensors, and outputs one of these or NumPy arrays; operations are in an order in which
    they can be computed. What depends on weights alone has been computed: it is a constant.
    """
    for name, x in model.input.items():
        if None in x.shape:
            raise ValueError(
                "Argument `model` must have inputs of known sizes for format='c99'. Received: a model whose step has "
                f"the input '{name}' of shape {tuple(x.shape)}"
            )
    inputs = {name: keras.Input(batch_shape=x.shape, dtype=x.dtype, name=name) for name, x in model.input.items()}
    with SymbolicCalls(model) as calls:
        try:
            outputs = model(inputs)
        except Exception as error:
            failed = calls.failed or model
            failed = failed.layer if isinstance(failed, RecurrentStep) else failed
            raise ValueError(
                "Argument `model` must compute with `keras.ops` alone for format='c99'. Received: a model whose layer "
                f"'{failed.name}', of type {type(failed).__name__}, calls other functions, or reads numbers out of "
                "tensors"
            ) from error
        graph = _Graph(inputs, calls.returned)
        outputs = {name: graph.value(x) for name, x in outputs.items()}
    return inputs, graph.operations, outputs


class _Graph:
    """Walks from results back to the inputs of a graph, and collects the operations in between."""

    def __init__(self, inputs, returned):
        self.operations = []
        self._returned = returned
        # Tensors stay alive here, so that no other one gets their ID.
        self._values = {id(x): (x, x) for x in inputs.values()}

    def value(self, tensor):
        """Returns what a tensor is in the list of operations: a symbolic tensor, or an array if it is constant."""
        if not isinstance(tensor, keras.KerasTensor):
            is_tensor = ops.is_tensor(tensor) or isinstance(tensor, keras.Variable)
            return np.asarray(ops.convert_to_numpy(tensor)) if is_tensor else tensor
        waiting = [tensor]
        # A loop, as long chains of operations exceed the depth of Python's recursion.
        while waiting:
            x = waiting[-1]
            needed = [] if id(x) in self._values else [y for y in self._needs(x) if id(y) not in self._values]
            if not needed:
                waiting.pop()
                if id(x) not in self._values:
                    self._add(x)
            waiting += needed
        return self._values[id(tensor)][1]

    def _needs(self, x):
        if id(x) in self._returned:
            inner = self._returned[id(x)][1]
            return [inner] if isinstance(inner, keras.KerasTensor) else []
        return call_that_returned(x)[3]

    def _add(self, x):
        if id(x) in self._returned:
            self._values[id(x)] = x, self.value(self._returned[id(x)][1])
            return
        operation, args, kwargs, _, outputs = call_that_returned(x)
        args, kwargs = tree.map_structure(self.value, (args, kwargs))
        options = {name: value for name, value in vars(operation).items() if not name.startswith("_")}
        name = type(operation).__name__
        if not any(isinstance(x, keras.KerasTensor) for x in tree.flatten((args, kwargs))):
            results = list(map(self.value, tree.flatten(operation.call(*args, **kwargs))))
        elif name in COMPOSED:
            results = COMPOSED[name](*args, **{**accepted(COMPOSED[name], options), **kwargs})
            results = [
                self.value(ops.cast(y, old.dtype)) for y, old in zip(tree.flatten(results), outputs, strict=True)
            ]
        elif name in UNCHANGED or (name == "Cast" and args[0].dtype == outputs[0].dtype):
            results = [args[0]]
        else:
            results = outputs
            self.operations.append(Operation(name, options, [*args, *kwargs.values()], outputs))
        self._values |= {id(old): (old, new) for old, new in zip(outputs, results, strict=True)}


def accepted(function, options):
    """Returns the options that a function takes."""
    names = inspect.signature(function).parameters
    return {name: value for name, value in options.items() if name in names}
