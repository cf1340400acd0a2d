"""The time loop and the gradients of each backend, under one interface.

The only package that imports jax, tensorflow or torch, and only the one that Keras runs on. Each backend's file has

- `scan(step, inputs, states, output, mask, options)`: runs `step` over time;
- `ragged_scan(step, inputs, states, times, ends, collect)`: a loop in which each row is at its own place;
- `while_loop(condition, body, tensors, maximum_iterations, is_traceable)`: a loop over what has no time axis;
- `switch(index, functions, operands)`: one of several functions, where the others are not computed;
- `value_with_gradient_of(short, whole)`: the value of one function, the gradient of another;
- `scan_layers(layer, flow, states, tensors)`: runs alike layers one after the other, compiled once;
- `should_hoist(weights, rows, training)`: whether one product before the loop beats many small ones in it;
- `preferred_schedules(depth, weights, rows)`: in which orders a deep cell is better run than step by step;
- `inference()`: a context in which nothing is kept for a gradient;
- `outside_compilers(function, *args)`: calls a function that PyTorch's compiler is to leave alone;
- `compiled(function, layer, is_traceable)`: the function, as fast as the backend runs it many times;
- `gradients(function, variables, tensors)`: the value of a scalar function and its gradients.
"""

import importlib

import keras

from keras_adaptive_rnn.engine.options import Options

__all__ = [
    "Options",
    "compiled",
    "gradients",
    "inference",
    "outside_compilers",
    "preferred_schedules",
    "ragged_scan",
    "scan",
    "scan_layers",
    "should_hoist",
    "switch",
    "value_with_gradient_of",
    "while_loop",
]


def _backend():
    name = keras.backend.backend()
    try:
        return importlib.import_module(f"keras_adaptive_rnn.engine.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"keras_adaptive_rnn.engine.{name}":
            raise
        raise NotImplementedError(
            f"keras_adaptive_rnn runs on the Keras backends jax, tensorflow and torch. Received: {name}"
        ) from None


def scan(step, inputs, states, output, mask, options):
    """Runs `step` over the first axis of `inputs`.

    Args:
        step: Function of `(inputs of one step, list of states)`, which returns `output, list of states`.
        inputs: Structure of tensors `[time, batch, ...]`.
        states: List (nested or not) of tensors `[batch, size]`, the states before the first step.
        output: Tensor `[batch, size]`, the output before the first step, which a masked first step repeats.
        mask: Boolean tensor `[time, batch, 1]`, or `None`. A masked step keeps every state.
        options: `engine.Options`.

    Returns:
        `(last_output, outputs, states)`; `outputs` is `[time, batch, size]`, or `None` without `return_sequences`.
    """
    return _backend().scan(step, inputs, states, output, mask, options)


def ragged_scan(step, inputs, states, times, ends, collect):
    """Lets each row of a batch go through its sequence at its own pace.

    Args:
        step: Function of `(inputs [batch, size], states)`, which returns `states, ahead`: by how many steps each row
            goes on, int32 `[batch]`, at least one.
        inputs: Tensor `[time, batch, size]`.
        states: List of tensors `[batch, size]`.
        times: Int32 tensor `[batch]`, the time of each row's first visit.
        ends: Int32 tensor `[batch]`: from its end on a row stays as it is.
        collect: Whether to return the path.

    Returns:
        `(states, times, path)`: the last ones, and `None` or `(outputs, visited)`, both with an entry for what was
        before the first visit, one for each visit, and maybe more: what the first state then was,
        `[entries, batch, size]`, and which time was visited, int32 `[entries, batch]`, `time` where none was.
    """
    return _backend().ragged_scan(step, inputs, states, times, ends, collect)


def while_loop(condition, body, tensors, maximum_iterations, is_traceable):
    """Returns what `body` makes of tensors, again and again while `condition(*tensors)`, `limit` times at most.

    Args:
        condition: Function of tensors that returns a boolean scalar.
        body: Function of tensors that returns as many, alike in shapes and dtypes.
        tensors: List of tensors.
        maximum_iterations: Integer or scalar tensor.
        is_traceable: As in `Options`, of `body`.
    """
    return _backend().while_loop(condition, body, tensors, maximum_iterations, is_traceable)


def switch(index, functions, operands):
    """Returns `functions[index](*operands)` without what the others compute.

    Args:
        index: Scalar tensor of int32.
        functions: List of functions of tensors that return lists of tensors, alike in shapes and dtypes. All that is
            not the same in every step comes as an operand.
        operands: List of tensors.
    """
    return _backend().switch(index, functions, operands)


def value_with_gradient_of(short, whole):
    """Returns what `short()` returns, a structure of tensors, with the gradient of `whole()`, which gives the same.

    PyTorch and TensorFlow, which know when a gradient can be asked for, then run `whole` alone.
    """
    return _backend().value_with_gradient_of(short, whole)


def scan_layers(layer, flow, states, tensors):
    """Runs `layer` over the first axis of `states` and `tensors`, which all have the same length.

    Args:
        layer: Function of `(flow, states of one layer, tensors of one layer)`, which returns `flow, states`. It may
            call `scan`.
        flow: List of tensors, what comes to the first layer. Each keeps its shape from layer to layer.
        states: List of tensors `[layers, ...]`.
        tensors: List of tensors `[layers, ...]`.

    Returns:
        `(flow, states)`, after the last layer, and of all layers, `[layers, ...]`.
    """
    return _backend().scan_layers(layer, flow, states, tensors)


def should_hoist(weights, rows, training):
    """Returns whether a cell of so many weights is faster with what needs no state computed before the loop.

    Args:
        weights: Number of the cell's weights.
        rows: Number of rows of the batch; `None` if it is not known.
        training: Whether the steps are those of training.
    """
    return _backend().should_hoist(weights, rows, training)


def preferred_schedules(depth, weights, rows):
    """Returns in which orders a deep cell was measured to be faster than step by step, the fastest first.

    Args:
        depth: Integer, layers.
        weights: Integer, weights of all layers.
        rows: Integer, size of a batch; `None` where it is not known.
    """
    return _backend().preferred_schedules(depth, weights, rows)


def inference():
    """Returns a context in which nothing is kept for a gradient: a loop over steps must not grow a graph."""
    return _backend().inference()


def outside_compilers(function, *args, **kwargs):
    """Returns `function(*args, **kwargs)`, which `torch.compile` leaves as it is."""
    return _backend().outside_compilers(function, *args, **kwargs)


def compiled(function, layer, is_traceable):
    """Returns a function of tensors that gives what `function` gives, and takes less time from the second call on.

    Inside a function that is being compiled, and in a `keras.StatelessScope`, it is `function` itself.

    Args:
        function: Function of structures of tensors that returns one.
        layer: The layer whose variables it reads, anew at every call.
        is_traceable: Whether it is known to do the same to its tensors every time. PyTorch runs others as they are.
    """
    return _backend().compiled(function, layer, is_traceable)


def gradients(function, variables, tensors, compiled=False):
    """Returns `(value, gradients of variables, gradients of tensors)` of a scalar function, as NumPy arrays.

    Args:
        function: Function of `*tensors` that returns a scalar tensor and may read `variables`.
        variables: List of Keras variables.
        tensors: List of arrays.
        compiled: Whether TensorFlow lays the function out in a graph, as `fit` does; JAX always does.
    """
    value, by_variable, by_tensor = _backend().gradients(function, variables, tensors, compiled)
    to_numpy = keras.ops.convert_to_numpy
    return (
        to_numpy(value),
        [None if g is None else to_numpy(g) for g in by_variable],
        [None if g is None else to_numpy(g) for g in by_tensor],
    )
