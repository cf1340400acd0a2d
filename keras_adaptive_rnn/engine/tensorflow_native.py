"""Recurrent operations in the files of ONNX that `tf2onnx` writes."""

import functools
import json

import tensorflow as tf

from keras_adaptive_rnn._keras import is_exporting
from keras_adaptive_rnn.engine import onnx

# Begins the token of an operation that stands for a node of ONNX.
PREFIX = "keras_adaptive_rnn:"


def prefers_native(operation, inputs, states, mask, options):
    return not tf.executing_eagerly() and states[0].dtype == "float32" and is_exporting("onnx")


def native_scan(operation, inputs, states, mask, options):
    return onnx.scan(_node, operation, inputs, states, mask, options)


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
