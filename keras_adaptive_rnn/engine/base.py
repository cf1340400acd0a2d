"""The functions of an engine, in a plain form for every backend: loops in `keras.ops`.

On backends without a file of their own, such as NumPy and OpenVINO, this is the engine.
"""

import contextlib
import warnings

import keras
from keras import ops, tree

from keras_adaptive_rnn._keras import AutocastScope
from keras_adaptive_rnn.engine.masking import masked

__all__ = [
    "Graphs",
    "compiled",
    "exported_steps",
    "exports_loop",
    "inference",
    "linear_scan",
    "litert_options",
    "litert_tensors",
    "native_scan",
    "on_accelerator",
    "outside_compilers",
    "outside_graph",
    "padding_recipe",
    "preferred_linear_schedule",
    "preferred_schedules",
    "prefers_native",
    "prefers_persistent",
    "ragged_scan",
    "repeatable",
    "replica_id",
    "scan",
    "scan_layers",
    "should_hoist",
    "supports_axis_merging",
    "supports_switch",
    "switch",
    "value_and_gradients",
    "value_with_gradient_of",
    "while_loop",
    "without_autograph",
]


def scan(step, run, inputs, states, output, mask, options):
    """Runs `step` over the first axis of `inputs`.

    Args:
        step: Function of `(inputs of one step, list of states, run)`, which returns `output, list of states`. It reads
            nothing else but `options.variables`, and multiplies by what is prepared with `run.matmul`. A step that does
            read something else gets the same results and gradients, but not as fast. Each call opens a scope for the
            dtype of the run, as a gradient may run a step again after the layer has returned.
        run: `Run`. The engine may give the step another one, with other tensors and a `matmul_impl`.
        inputs: Structure of tensors `[time, batch, ...]`.
        states: List (nested or not) of tensors `[batch, size]`, the states before the first step.
        output: Tensor `[batch, size]`, the output before the first step, which a masked first step repeats.
        mask: Boolean tensor `[time, batch, 1]`, or `None`. A masked step keeps every state.
        options: `engine.Options`.

    Returns:
        `(last_output, outputs, states)`; `outputs` is `[time, batch, size]`, or `None` without `return_sequences`.
    """
    outputs = []
    for t in range(tree.flatten(inputs)[0].shape[0]):
        with AutocastScope(run.dtype):
            new = step(tree.map_structure(lambda x, t=t: x[t], inputs), states, run)
        output, states = masked(None if mask is None else mask[t], new, (output, states), options.zero_output_for_mask)
        outputs.append(output)
    if not options.return_sequences:
        return output, None, states
    return output, ops.stack(outputs) if outputs else output[None][:0], states


class Graphs:
    """Runs passes of a layer over a sequence, on PyTorch and a GPU as CUDA graphs. Copies of it have no graphs.

    Args:
        wanted: The argument `graphs` of `RNN`.
    """

    def __init__(self, wanted):
        self.wanted = wanted
        self._warnings = set()

    def __reduce__(self):
        return type(self), (self.wanted,)

    def run(self, function, run, arguments, options, key, parts):
        """Returns `function(run, *arguments)`, a structure of tensors.

        Args:
            function: Function of a run and tensors, which reads nothing else but `options.variables`.
            run: `Run`.
            arguments: List of structures of tensors, the sequences `[time, batch, ...]` first.
            options: `Options` of the loop.
            key, parts: Whatever else the operations of `function` depend on: a tuple, and a list of layers, on the
                attributes of which they do.
        """
        self.refuse(f"only PyTorch runs them, and the Keras backend is {keras.backend.backend()}")
        return function(run, *arguments)

    def refuse(self, reason):
        """Warns that the loop runs, once for each reason, if graphs were asked for."""
        if self.wanted is True and reason not in self._warnings:
            self._warnings.add(reason)
            warnings.warn(f"With `graphs=True`, a layer runs in its loop, not as a CUDA graph: {reason}.", stacklevel=2)


def prefers_native(operation, inputs, states, mask, options):
    """Returns whether the backend has the recurrent operation, and is faster with it than with `scan`.

    Args:
        operation, inputs, states, mask, options: As in `native_scan`. Of `inputs`, those of the lowest cell of a stack
            may stand for those of the others.
    """
    return False


def native_scan(operation, inputs, states, mask, options):
    """Does what `scan` does in one recurrent operation, where `prefers_native`; `None` if a mask does not allow it.

    Args:
        operation: `NativeOperation`.
        inputs, states, mask, options: As in `scan`.
    """
    return None


def linear_scan(a, b, h, associative):
    """Returns $h$ after each step of the recurrence $h_t = a_t h_{t-1} + b_t$, `[time, batch, size]`.

    Args:
        a, b: Tensors `[time, batch, size]`.
        h: Tensor `[batch, size]`, the state before the first step.
        associative: Whether to compute all steps at once, as an associative scan, instead of one after the other.
    """
    states = []
    for t in range(b.shape[0]):
        h = a[t] * h + b[t]
        states.append(h)
    return ops.stack(states) if states else b


def preferred_linear_schedule(training):
    """Returns how a linear recurrence is fastest, in `training` or not: `"steps"`, `"scan"` or `"associative"`."""
    return "scan"


def prefers_persistent(cell, training):
    """Returns whether one kernel for all steps of a `Cell`, in `training` or not, is faster than `scan`."""
    return False


def ragged_scan(step, run, inputs, states, times, ends, collect):
    """Runs `step` over the sequences of a batch, of which each row skips steps of its own.

    Args:
        step: Function of `(inputs [batch, size], states, run)`, which returns `states, stride`: by how many steps each
            row advances, int32 `[batch]`, at least one.
        run: `Run` of inference.
        inputs: Tensor `[time, batch, size]`.
        states: List of tensors `[batch, size]`.
        times: Int32 tensor `[batch]`, the first time that each row visits.
        ends: Int32 tensor `[batch]`, the time from which a row no longer changes.
        collect: Whether to return the path.

    Returns:
        `(states, times, path)`: the last states and times, and `None` or `(outputs, visited)`. Both have an entry
        for the start, one for each visit, and maybe more: the first state, `[entries, batch, size]`, and the time
        that was visited, int32 `[entries, batch]`, or the number of steps if none was.
    """
    raise NotImplementedError("A plain loop skips nothing.")


def while_loop(condition, body, tensors, maximum_iterations, is_traceable):
    """Applies `body` to tensors while `condition(*tensors)` is true, and returns the last ones.

    Args:
        condition: Function of tensors that returns a boolean scalar.
        body: Function of tensors that returns as many, of the same shapes and dtypes.
        tensors: List of tensors.
        maximum_iterations: Integer or scalar tensor.
        is_traceable: Whether `body` may be traced, as in `Options`.
    """
    return ops.while_loop(condition, body, tuple(tensors), maximum_iterations=maximum_iterations)


def switch(index, functions, operands):
    """Returns `functions[index](*operands)` without computing the other functions.

    Args:
        index: Int32 scalar tensor.
        functions: List of functions of tensors that return lists of tensors of the same shapes and dtypes. Whatever
            changes from step to step must be an operand.
        operands: List of tensors.
    """
    # Conditionals alone: files in ONNX, OpenVINO and LiteRT know no other choice.
    if len(functions) == 1:
        return functions[0](*operands)
    half = len(functions) // 2
    return ops.cond(
        index < half,
        lambda: switch(index, functions[:half], operands),
        lambda: switch(index - half, functions[half:], operands),
    )


def scan_layers(layer, carry, states, tensors):
    """Runs `layer` over the first axis of `states` and `tensors`, which all have the same length: layers, or chunks.

    Args:
        layer: Function of `(carry, states of one layer, tensors of one layer)`, which returns `carry, states`. It
            may call `scan`.
        carry: List of tensors, the inputs of the first layer. Their shapes stay the same from layer to layer.
        states: List of tensors `[layers, ...]`.
        tensors: List of tensors `[layers, ...]`.

    Returns:
        `(carry, states)`: the carry after the last layer, and the states of all layers, `[layers, ...]`.
    """
    count, ends = len(states), []
    # Not `x[k]`, of which each has a gradient of the size of `x` on PyTorch.
    for now in zip(*map(ops.unstack, (*states, *tensors)), strict=True):
        carry, end = layer(carry, list(now[:count]), list(now[count:]))
        ends.append(end)
    return carry, [ops.stack(of_layers) for of_layers in zip(*ends, strict=True)]


def repeatable(function, variables):
    """Returns `function`, which PyTorch may call again for a gradient: the same noise, and no variable changes.

    Args:
        function: Function that may read and assign `variables`.
        variables: List of variables that are not trained: counters of noise, carried states.
    """
    return function


def value_with_gradient_of(short, whole, tensors, variables):
    """Returns the structure of tensors `short(*tensors)` with the gradient of `whole(*tensors)`, of the same value.

    PyTorch and TensorFlow know when a gradient can be asked for, and then run `whole` alone.

    Args:
        short, whole: Functions of structures of tensors. They read nothing else but `variables`.
        tensors: List of structures of tensors.
        variables: List of Keras variables.
    """
    return whole(*tensors)


def supports_switch():
    """Returns whether the steps of a loop may use `switch`; on TensorFlow, a loop in an ONNX file may not."""
    return True


def supports_axis_merging():
    """Returns whether leading axes may be one for a while; from JAX, those of unknown size in ONNX may not."""
    return True


def on_accelerator(tensor):
    """Returns whether operations on a tensor run on a GPU or TPU, or are compiled for one."""
    return False


def should_hoist(weights, rows, training):
    """Returns whether a cell is faster with everything that needs no state computed before the loop.

    Args:
        weights: Number of the cell's weights.
        rows: Size of the batch, or `None` if it is not known.
        training: Whether the cell runs in training.
    """
    return True


def preferred_schedules(depth, weights, rows, training):
    """Returns the schedules, the fastest first, in which a deep cell was measured to be faster than step by step.

    Args:
        depth: Number of layers.
        weights: Number of weights of all layers.
        rows: Size of the batch, or `None` if it is not known.
        training: Whether the loop runs in training.
    """
    return []


def exported_steps(sequences):
    """Returns how many steps a file holds to which a model is being exported, which is every step on PyTorch.

    `None` if no model is being exported, or if the file holds a loop; 0 if the number is unknown.

    Args:
        sequences: Tensor `[batch, time, features]`.
    """
    return None


def exports_loop():
    """Returns whether the file that PyTorch is exporting can hold a loop over sequences of any length."""
    return False


def inference():
    """Returns a context without gradients, in which a loop over steps grows no graph."""
    return contextlib.nullcontext()


def outside_graph():
    """Returns a context in which operations on constants have values, also while a function is being traced."""
    return contextlib.nullcontext()


def replica_id():
    """Returns the number of the replica that runs this, an integer or a scalar tensor; 0 if there is only one.

    Replicas are those of `tf.distribute` and the processes of `torch.distributed`. On JAX, one program draws the
    noise of the whole batch.
    """
    return 0


def padding_recipe(sequences):
    """Returns the lines that turn sequences `x` of unequal lengths into a padded `x` and its `mask`.

    `None` if `sequences` is no tensor of unequal lengths, such as a `tf.RaggedTensor`.
    """
    return None


def outside_compilers(function, *args, **kwargs):
    """Returns `function(*args, **kwargs)`, which `torch.compile` does not compile."""
    return function(*args, **kwargs)


def without_autograph(function):
    """Returns `function`, which TensorFlow does not rewrite before it traces it: that takes seconds."""
    return function


def compiled(function, layer, is_traceable):
    """Returns `function`, faster from the second call on. Threads may share it.

    Inside a function that is being compiled, and in a `keras.StatelessScope`, it calls `function` itself.

    Args:
        function: Function of structures of tensors that returns one.
        layer: The layer whose variables it reads, anew in every call.
        is_traceable: Whether it is known to apply the same operations every time. If not, PyTorch runs it as it is.
    """
    return function


def litert_options(feeds=None):
    """Returns the arguments of `keras.Model.export` for LiteRT files of builtin operations.

    Args:
        feeds: List of dicts of inputs, from which the converter learns the ranges of all numbers; the file computes
            in 8 bits then, wherever LiteRT can.
    """
    raise NotImplementedError(f"The Keras backend {keras.backend.backend()} writes no LiteRT files.")


def litert_tensors(contents):
    """Returns the inputs and the outputs of a LiteRT file: dicts of names and numbers, shapes and dtypes.

    An interpreter without names knows them by these numbers. Two outputs may be one tensor.
    """
    raise NotImplementedError(f"The Keras backend {keras.backend.backend()} reads no LiteRT files.")


def value_and_gradients(function, variables, tensors, compiled):
    """Returns the tensors of `gradients`."""
    raise NotImplementedError(f"The Keras backend {keras.backend.backend()} has no gradients.")
