"""The time loop and the gradients of each backend, under one interface.

The only package that imports jax, tensorflow or torch, and it imports only the backend of Keras. Each backend's file
defines the functions of `Engine`, and `engine.scan` is the `scan` of the backend in use. `tuning` holds their
thresholds, and `_*_internals` what they use beyond public APIs.

Any thread may call them: a call keeps what it needs to itself, and contexts are context variables.
"""

import importlib
from typing import Protocol

import keras

from keras_adaptive_rnn.engine.options import Options
from keras_adaptive_rnn.initializers import drawn_seed

__all__ = ["Engine", "Options", "SeedGenerator", "gradients"]


class Engine(Protocol):
    """The functions of this module, which each backend's file defines."""

    def scan(self, step, inputs, states, output, mask, options):
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

    def ragged_scan(self, step, inputs, states, times, ends, collect):
        """Runs `step` over the sequences of a batch, of which each row skips steps of its own.

        Args:
            step: Function of `(inputs [batch, size], states)`, which returns `states, ahead`: by how many steps each
                row advances, int32 `[batch]`, at least one.
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

    def while_loop(self, condition, body, tensors, maximum_iterations, is_traceable):
        """Applies `body` to tensors while `condition(*tensors)` is true, and returns the last ones.

        Args:
            condition: Function of tensors that returns a boolean scalar.
            body: Function of tensors that returns as many, of the same shapes and dtypes.
            tensors: List of tensors.
            maximum_iterations: Integer or scalar tensor.
            is_traceable: Whether `body` may be traced, as in `Options`.
        """

    def switch(self, index, functions, operands):
        """Returns `functions[index](*operands)` without computing the other functions.

        Args:
            index: Int32 scalar tensor.
            functions: List of functions of tensors that return lists of tensors of the same shapes and dtypes. Whatever
                changes from step to step must be an operand.
            operands: List of tensors.
        """

    def repeatable(self, function, variables):
        """Returns `function`, which PyTorch may call again for a gradient: the same noise, and no variable changes.

        Args:
            function: Function that may read and assign `variables`.
            variables: List of variables that are not trained: counters of noise, carried states.
        """

    def value_with_gradient_of(self, short, whole):
        """Returns the structure of tensors `short()` with the gradient of `whole()`, whose value is the same.

        PyTorch and TensorFlow know when a gradient can be asked for, and then run `whole` alone.
        """

    def may_choose(self):
        """Returns whether the steps of a loop may use `switch`; on TensorFlow, a loop in an ONNX file may not."""

    def may_flatten(self):
        """Returns whether leading axes may be one for a while; from JAX, those of unknown size in ONNX may not."""

    def scan_layers(self, layer, carry, states, tensors):
        """Runs `layer` over the first axis of `states` and `tensors`, which all have the same length.

        Args:
            layer: Function of `(carry, states of one layer, tensors of one layer)`, which returns `carry, states`. It
                may call `scan`.
            carry: List of tensors, the inputs of the first layer. Their shapes stay the same from layer to layer.
            states: List of tensors `[layers, ...]`.
            tensors: List of tensors `[layers, ...]`.

        Returns:
            `(carry, states)`: the carry after the last layer, and the states of all layers, `[layers, ...]`.
        """

    def should_hoist(self, weights, rows, training):
        """Returns whether a cell is faster with everything that needs no state computed before the loop.

        Args:
            weights: Number of the cell's weights.
            rows: Size of the batch, or `None` if it is not known.
            training: Whether the cell runs in training.
        """

    def preferred_schedules(self, depth, weights, rows, training):
        """Returns the schedules, the fastest first, in which a deep cell was measured to be faster than step by step.

        Args:
            depth: Number of layers.
            weights: Number of weights of all layers.
            rows: Size of the batch, or `None` if it is not known.
            training: Whether the loop runs in training.
        """

    def exported_steps(self, sequences):
        """Returns how many steps a file holds to which a model is being exported, which is every step on PyTorch.

        `None` if no model is being exported, or if the file holds a loop; 0 if the number is unknown.

        Args:
            sequences: Tensor `[batch, time, features]`.
        """

    def inference(self):
        """Returns a context in which nothing is kept for a gradient, so that a loop over steps grows no graph."""

    def eager(self):
        """Returns a context in which operations on constants have values, also while a function is being traced."""

    def replica(self):
        """Returns the number of the replica that runs this, an integer or a scalar tensor; 0 if there is only one.

        Replicas are those of `tf.distribute` and the processes of `torch.distributed`. On JAX, one program draws the
        noise of the whole batch.
        """

    def how_to_pad(self, sequences):
        """Returns the lines that turn sequences `x` of unequal lengths into a padded `x` and its `mask`.

        `None` if `sequences` is no tensor of unequal lengths, such as a `tf.RaggedTensor`.
        """

    def outside_compilers(self, function, *args, **kwargs):
        """Returns `function(*args, **kwargs)`, which `torch.compile` does not compile."""

    def without_autograph(self, function):
        """Returns `function`, which TensorFlow does not rewrite before it traces it: that takes seconds."""

    def compiled(self, function, layer, is_traceable):
        """Returns `function`, faster from the second call on. Threads may share it.

        Inside a function that is being compiled, and in a `keras.StatelessScope`, it calls `function` itself.

        Args:
            function: Function of structures of tensors that returns one.
            layer: The layer whose variables it reads, anew in every call.
            is_traceable: Whether it is known to apply the same operations every time. If not, PyTorch runs it as it is.
        """

    def litert_builtins(self):
        """Returns the arguments of `keras.Model.export` for LiteRT files of builtin operations."""


def __getattr__(name):
    if name not in vars(Engine):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_backend(), name)


def _backend():
    name = keras.backend.backend()
    if name not in ("jax", "tensorflow", "torch"):
        raise NotImplementedError(
            f"keras_adaptive_rnn runs on the Keras backends jax, tensorflow and torch. Received: {name}"
        )
    return importlib.import_module(f"keras_adaptive_rnn.engine.{name}")


class SeedGenerator(keras.random.SeedGenerator):
    """Keras's `SeedGenerator`, whose noise differs between the replicas of a model; that of the first is Keras's."""

    def __init__(self, seed=None, **kwargs):
        # With a seed of its own: Keras's dropout on PyTorch ignores the state of a generator without one.
        super().__init__(drawn_seed(seed), **kwargs)

    def next(self, ordered=True):
        seed, replica = super().next(ordered), _backend().replica()
        if isinstance(replica, int) and replica == 0:
            return seed
        # On PyTorch, Keras adds the number of earlier draws to the seed, so the seeds of replicas are far apart.
        return seed + keras.ops.cast(replica, seed.dtype) * keras.ops.convert_to_tensor([7_368_787, 0], seed.dtype)


def gradients(function, variables, tensors, compiled=False):
    """Returns `(value, gradients of variables, gradients of tensors)` of a scalar function, as NumPy arrays.

    Args:
        function: Function of `*tensors` that returns a scalar tensor and may read `variables`.
        variables: List of Keras variables.
        tensors: List of arrays.
        compiled: Whether TensorFlow runs the function in a graph, as `fit` does; JAX always compiles. Defaults to
            `False`.
    """
    found = _backend().gradients(function, variables, tensors, compiled)
    return keras.tree.map_structure(lambda x: None if x is None else keras.ops.convert_to_numpy(x), tuple(found))
