"""The time loop and the gradients of each backend, under one interface.

The only package that imports jax, tensorflow or torch, and only the one that Keras runs on. Each backend's file has

- `scan(step, inputs, states, output, mask, options)`: runs `step` over time;
- `repeat(step, going, carry, limit)`: runs `step` for as long as there is something to do;
- `shortcut(short, whole)`: the value of one function, the gradient of another;
- `hoists(weights)`: whether one product before the loop beats many small ones in it;
- `inference()`: a context in which nothing is kept for a gradient;
- `gradients(function, variables, tensors)`: the value of a scalar function and its gradients.
"""

import importlib

import keras

from keras_adaptive_rnn.engine.options import Options

__all__ = ["Options", "gradients", "hoists", "inference", "repeat", "scan", "shortcut"]


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


def repeat(step, going, carry, limit):
    """Runs `step` over `carry` while `going(carry)`.

    Args:
        step: Function of the carry, which returns the next one.
        going: Function of the carry, which returns a boolean scalar; false after `limit` steps at the latest.
        carry: List of tensors and of lists of them.
        limit: Integer, or integer scalar tensor.

    Returns:
        `carry, firsts`: the last carry, and what its first entry, a list of tensors, was before the first step and
        after each, `[steps + 1, ...]`; whatever stands behind that repeats the first one.
    """
    return _backend().repeat(step, going, carry, limit)


def shortcut(short, whole):
    """Returns what `short()` returns, a structure of tensors, with the gradient of `whole()`, which gives the same.

    PyTorch and TensorFlow, which know when a gradient can be asked for, then run `whole` alone.
    """
    return _backend().shortcut(short, whole)


def hoists(weights):
    """Returns whether a cell of so many weights is faster with what needs no state computed before the loop."""
    return _backend().hoists(weights)


def inference():
    """Returns a context in which nothing is kept for a gradient: a loop over steps must not grow a graph."""
    return _backend().inference()


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
