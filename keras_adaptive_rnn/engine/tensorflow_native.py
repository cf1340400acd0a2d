"""Recurrent operations in the files of ONNX and LiteRT."""

import functools
import json
import uuid

import tensorflow as tf

from keras_adaptive_rnn._keras import is_exporting, is_quantizing_litert
from keras_adaptive_rnn.engine import onnx

# Begins the token of an operation that stands for a node of ONNX.
PREFIX = "keras_adaptive_rnn:"


def prefers_native(operation, inputs, states, mask, options):
    if tf.executing_eagerly() or states[0].dtype != "float32":
        return False
    if is_exporting("litert"):
        # What its converter takes for its own operation. In 8 bits, that was a hundred times less exact than the loop.
        fits = operation.kind == "lstm" and mask is None and inputs.shape.is_fully_defined()
        return fits and not is_quantizing_litert()
    return is_exporting("onnx")


def native_scan(operation, inputs, states, mask, options):
    scan = _litert_scan if is_exporting("litert") else functools.partial(onnx.scan, _node)
    return scan(operation, inputs, states, mask, options)


def _litert_scan(operation, inputs, states, mask, options):
    """Runs an LSTM in a function that LiteRT's converter replaces, unless the last states are used, with one node."""
    kernel, recurrent_kernel, *biases = operation.weights
    bias = sum((each for each in biases if each is not None), tf.zeros(kernel.shape[-1]))
    # The converter knows such a function by these attributes, its arguments and its results. TensorFlow may replace one
    # function by another that implements the same name, so each has a name of its own.
    attributes = {"api_implements": f"lstm_{uuid.uuid4()}", "time_major": True, "go_backwards": False}

    @tf.function(autograph=False, experimental_attributes=attributes)
    def lstm(inputs, h, c, kernel, recurrent_kernel, bias):
        def one(t, h, c, outputs):
            i, f, candidate, o = tf.split(tf.gather(inputs, t) @ kernel + h @ recurrent_kernel + bias, 4, axis=-1)
            c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(candidate)
            h = tf.sigmoid(o) * tf.tanh(c)
            return t + 1, h, c, outputs.write(t, h)

        length, outputs = inputs.shape[0], tf.TensorArray(h.dtype, inputs.shape[0], element_shape=h.shape)
        _, h, c, outputs = tf.while_loop(lambda t, *_: t < length, one, (0, h, c, outputs))
        return h, outputs.stack(), h, c, tf.zeros(())

    last, outputs, h, c, _ = lstm(inputs, *states, kernel, recurrent_kernel, bias)
    return last, outputs if options.return_sequences else None, [h, c]


def _node(kind, tensors, attributes, shapes):
    _register()
    places = [k for k, tensor in enumerate(tensors) if tensor is not None]
    token = PREFIX + json.dumps({"kind": kind, "places": places, "attributes": attributes})
    # TensorFlow has no operation for others to convert. This one takes any tensors, and nobody runs it.
    results = tf.raw_ops.PyFuncStateless(
        input=[tensors[k] for k in places], token=token, Tout=[tf.float32] * len(shapes)
    )
    return [tf.ensure_shape(result, shape) for result, shape in zip(results, shapes, strict=True)]


@functools.cache
def _register():
    """Shows `tf2onnx` how to write a node."""
    try:
        from tf2onnx.handler import tf_op
    except ImportError:
        # Keras says so, with advice, once the model is traced.
        return

    @tf_op("PyFuncStateless")
    class _Node:
        @classmethod
        def version_7(cls, ctx, node, **kwargs):
            token = node.get_attr_value("token").decode()
            if not token.startswith(PREFIX):
                raise ValueError(f"A Python function has no place in an ONNX file. Received: token={token!r}")
            description = json.loads(token.removeprefix(PREFIX))
            inputs = [""] * (1 + max(description["places"]))
            for place, name in zip(description["places"], node.input, strict=True):
                inputs[place] = name
            outputs = node.output
            ctx.remove_node(node.name)
            ctx.make_node(description["kind"], inputs, attr=description["attributes"], outputs=outputs)
