"""The time loop on TensorFlow: one `tf.while_loop`, in the graph and under XLA alike."""

import contextlib

import tensorflow as tf
from keras import tree

from keras_adaptive_rnn.engine.masking import masked


def scan(step, inputs, states, output, mask, return_sequences, zero_output_for_mask, unroll):
    step = masked(step, zero_output_for_mask)
    first = tree.flatten(inputs)[0]
    length = first.shape[0] if first.shape[0] is not None else tf.shape(first)[0]

    if unroll:
        outputs = []
        for t in range(length):
            now = tree.map_structure(lambda x, t=t: x[t], inputs)
            output, states = step(now, None if mask is None else mask[t], output, states)
            outputs.append(output)
        return output, tf.stack(outputs) if return_sequences else None, states

    def unstack(x):
        return tf.TensorArray(x.dtype, size=length, element_shape=x.shape[1:]).unstack(x)

    inputs_of = tree.map_structure(unstack, inputs)
    mask_of = None if mask is None else unstack(mask)
    # Written once a step, and read by nothing inside the loop, so the loop's gradient need not keep it.
    outputs = tf.TensorArray(output.dtype, size=length if return_sequences else 0, element_shape=output.shape)

    def body(t, output, states, outputs):
        now = tree.map_structure(lambda array: array.read(t), inputs_of)
        new_output, new_states = step(now, None if mask is None else mask_of.read(t), output, states)
        # `where` and custom steps may lose a static size that the loop needs to find again.
        new_output.set_shape(output.shape)
        tree.map_structure(lambda new, old: new.set_shape(old.shape), new_states, states)
        if return_sequences:
            outputs = outputs.write(t, new_output)
        return t + 1, new_output, new_states, outputs

    _, output, states, outputs = tf.while_loop(
        lambda t, *_: t < length,
        body,
        (tf.constant(0), output, states, outputs),
        maximum_iterations=length,
        parallel_iterations=32,
        swap_memory=True,
    )
    return output, outputs.stack() if return_sequences else None, states


def hoists(weights):
    return True


inference = contextlib.nullcontext


def gradients(function, variables, tensors):
    tensors = [tf.convert_to_tensor(t) for t in tensors]
    values = [v.value for v in variables]
    with tf.GradientTape() as tape:
        for t in tensors:
            tape.watch(t)
        value = function(*tensors)
    found = tape.gradient(value, values + tensors)
    return value, found[: len(variables)], found[len(variables) :]
