"""The time loop on JAX: one `lax.scan`."""

import contextlib

import jax
import keras
from jax import lax

from keras_adaptive_rnn._keras import in_stateless_scope
from keras_adaptive_rnn.engine.masking import masked


def scan(step, inputs, states, output, mask, return_sequences, zero_output_for_mask, unroll):
    step = masked(step, zero_output_for_mask)

    def body(carry, inputs):
        output, states = step(*inputs, *carry)
        return (output, states), (output if return_sequences else None)

    # A variable written while the scan is traced would leak a tracer.
    scope = contextlib.nullcontext() if in_stateless_scope() else keras.StatelessScope()
    with scope:
        (output, states), outputs = lax.scan(body, (output, states), (inputs, mask), unroll=True if unroll else 1)
    return output, outputs, states


def hoists(weights):
    # XLA runs the two small products of a step side by side on a CPU, which a product before the loop only beats where
    # the weights outgrow the caches: measured, 2 cores, 20 x 35 steps: 0.77x at 0.5 million weights, 1.6x at 8 million.
    return jax.default_backend() != "cpu" or weights >= 4_000_000


inference = contextlib.nullcontext


def gradients(function, variables, tensors):
    def stateless(values, tensors):
        with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
            return function(*tensors)

    values = [variable.value for variable in variables]
    value, (by_variable, by_tensor) = jax.jit(jax.value_and_grad(stateless, argnums=(0, 1)))(
        values, [keras.ops.convert_to_tensor(t) for t in tensors]
    )
    return value, by_variable, by_tensor
