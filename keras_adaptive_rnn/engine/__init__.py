"""The time loop and the gradients of each backend, under one interface.

The only package that imports jax, tensorflow or torch, and it imports only the backend of Keras. `base` documents each
function, with a plain form for every backend; the file of a backend overrides those that it computes faster. `tuning`
holds the thresholds, and `_*_internals` private names of the backends.

The functions are thread-safe: they share no state, and contexts are context variables.
"""

import keras

from keras_adaptive_rnn._seeds import resolve_seed
from keras_adaptive_rnn.engine.base import *
from keras_adaptive_rnn.engine.options import Options

if keras.backend.backend() == "jax":
    from keras_adaptive_rnn.engine.jax import *
elif keras.backend.backend() == "tensorflow":
    from keras_adaptive_rnn.engine.tensorflow import *
elif keras.backend.backend() == "torch":
    from keras_adaptive_rnn.engine.torch import *

__all__ = ["Options", "SeedGenerator", "gradients"]


class SeedGenerator(keras.random.SeedGenerator):
    """Keras's `SeedGenerator`, whose noise differs between the replicas of a model; that of the first is Keras's."""

    def __init__(self, seed=None, **kwargs):
        # With a seed of its own: Keras's dropout on PyTorch ignores the state of a generator without one.
        super().__init__(resolve_seed(seed), **kwargs)

    def next(self, ordered=True):
        seed, number = super().next(ordered), replica_id()
        if isinstance(number, int) and number == 0:
            return seed
        # On PyTorch, Keras adds the number of earlier draws to the seed, so the seeds of replicas are far apart.
        return seed + keras.ops.cast(number, seed.dtype) * keras.ops.convert_to_tensor([7_368_787, 0], seed.dtype)


def gradients(function, variables, tensors, compiled=False):
    """Returns `(value, gradients of variables, gradients of tensors)` of a scalar function, as NumPy arrays.

    Args:
        function: Function of `*tensors` that returns a scalar tensor and may read `variables`.
        variables: List of Keras variables.
        tensors: List of arrays.
        compiled: Whether TensorFlow runs the function in a graph, as `fit` does; JAX always compiles. Defaults to
            `False`.
    """
    results = value_and_gradients(function, variables, tensors, compiled)
    return keras.tree.map_structure(lambda x: None if x is None else keras.ops.convert_to_numpy(x), tuple(results))
