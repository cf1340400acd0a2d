"""A layer in one kernel for all steps beside the same one in a loop."""

import contextlib
import functools
import random

import jax
import keras
import numpy as np
from jax import numpy as jnp

import keras_adaptive_rnn as kar
from keras_adaptive_rnn.testing.case import Case
from tests.table import CELLS, OPTIONS

DECIDING = ("ski", "variable_computation")
MAKERS = {name: make for name, make in {**CELLS, **OPTIONS}.items() if not name.startswith(DECIDING)}


def case_of(name):
    """Returns a `Case` of a row of the table, and whether it computes in float64, if that is on."""
    case = Case(MAKERS[name](), (3, 4, 4))
    # Keras's layer normalization computes means in float32.
    return case, not getattr(case.original, "layer_normalization", False)


@contextlib.contextmanager
def float64():
    jax.config.update("jax_enable_x64", True)
    keras.config.set_dtype_policy("float64")
    try:
        yield
    finally:
        keras.config.set_dtype_policy("float32")
        jax.config.update("jax_enable_x64", False)


def loss_of(case, training=False, **options):
    """Returns the loss of a layer, a function of its weights, inputs and states, and these arguments."""
    call = {key: options.pop(key) for key in ("mask", "resets") if key in options}
    # All layers draw the same noise.
    random.seed(0)
    layer = case.layer(kar.RNN, **options)
    dtype = layer.cell.variable_dtype
    others = [variable.value for variable in layer.non_trainable_variables]

    def loss(weights, inputs, states):
        call_it = functools.partial(layer.stateless_call, weights, others, inputs, training=training, **call)
        results = jax.tree.leaves(call_it(initial_state=states)[0])
        # No two entries have the same weight.
        parts = [jnp.sum(r.astype(dtype) * jnp.cos(jnp.arange(r.size)).reshape(r.shape)) for r in results]
        return sum(parts), results

    def cast(tensor):
        return jnp.asarray(tensor, dtype if np.issubdtype(tensor.dtype, np.floating) else tensor.dtype)

    weights = [variable.value for variable in layer.trainable_variables]
    args = weights, *jax.tree.map(cast, (case.inputs, case.states))
    return jax.value_and_grad(loss, argnums=(0, 1, 2), has_aux=True), args


def outcome(case, **options):
    """Returns `(results, gradients)` of a layer, lists of arrays."""
    function, args = loss_of(case, **options)
    # What is interpreted once need not be fast.
    (_, results), gradients = jax.jit(function).lower(*args).compile({"xla_backend_optimization_level": 0})(*args)
    return [[np.asarray(x, "float64") for x in jax.tree.leaves(each)] for each in (results, gradients)]


def outcomes(case, **options):
    """Returns two lists of pairs, of results and of gradients: an array of the loop, and one of the kernels."""
    of_loop, of_kernels = (outcome(case, schedule=schedule, **options) for schedule in ("steps", "persistent"))
    return [list(zip(*pair, strict=True)) for pair in zip(of_loop, of_kernels, strict=True)]
