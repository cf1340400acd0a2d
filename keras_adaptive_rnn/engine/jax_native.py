"""Recurrent operations in the files of ONNX that `jax2onnx` writes."""

import functools

import jax
import numpy as np
from jax.extend.core import Primitive

from keras_adaptive_rnn._keras import is_exporting
from keras_adaptive_rnn.engine import onnx


def prefers_native(operation, inputs, states, mask, options):
    # Only what is traced can be written to a file.
    return isinstance(inputs, jax.core.Tracer) and states[0].dtype == "float32" and is_exporting("onnx")


def native_scan(operation, inputs, states, mask, options):
    return onnx.scan(_node, operation, inputs, states, mask, options, _arranged)


def _arranged(weight, gates):
    # The file holds the result, not the operations, of what is known.
    is_known = not isinstance(weight, jax.core.Tracer)
    return onnx.arrange(np.asarray(weight), gates, np) if is_known else onnx.arrange(weight, gates)


def _node(kind, tensors, attributes, shapes):
    _register()
    places = tuple(k for k, tensor in enumerate(tensors) if tensor is not None)
    attributes = tuple((name, tuple(v) if isinstance(v, list) else v) for name, v in attributes.items())
    given = [tensors[k] for k in places]
    return _primitive.bind(*given, kind=kind, places=places, attributes=attributes, shapes=tuple(shapes))


# A node of ONNX, which no device runs.
_primitive = Primitive("onnx_node")
_primitive.multiple_results = True
_primitive.def_abstract_eval(
    lambda *tensors, shapes, **_: [jax.core.ShapedArray(shape, tensors[0].dtype) for shape in shapes]
)


@functools.cache
def _register():
    """Shows `jax2onnx` how to write a node."""
    from jax2onnx.plugins import plugin_system

    @plugin_system.register_primitive(jaxpr_primitive=_primitive.name)
    class _Node(plugin_system.PrimitiveLeafPlugin):
        def lower(self, ctx, eqn):
            inputs = [None] * (1 + max(eqn.params["places"]))
            for place, variable in zip(eqn.params["places"], eqn.invars, strict=True):
                inputs[place] = ctx.get_value_for_var(variable)
            wanted = [ctx.get_value_for_var(variable) for variable in eqn.outvars]
            add = getattr(ctx.builder, eqn.params["kind"])
            found = add(*inputs, **dict(eqn.params["attributes"]), _outputs=[value.name for value in wanted])
            for variable, value, like in zip(eqn.outvars, found if len(wanted) > 1 else [found], wanted, strict=True):
                value.type, value.shape = like.type, like.shape
                ctx.bind_value_for_var(variable, value)
