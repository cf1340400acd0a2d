"""Access to private APIs of Keras, in this file alone, with the reason for each.

Where a version of Keras lacks a name, something else takes its place.
"""

import contextlib
import functools
import inspect
import io
import sys
import threading

import keras

from keras_adaptive_rnn._private import optional

# A cell may have another dtype policy than the layer around it. Keras opens this scope in `Layer.__call__`, which the
# time loop skips for speed.
AutocastScope = optional(
    "keras.src.backend.common.variables.AutocastScope",
    "cells of other libraries may compute in float32 under a mixed policy",
    contextlib.nullcontext,
)
# Keras exports the scope, but not whether it is open. If it always is, nothing is compiled and no other is opened.
in_stateless_scope = optional(
    "keras.src.backend.common.stateless_scope.in_stateless_scope", "everything runs slower", lambda: True
)
_stateless_scope = optional(
    "keras.src.backend.common.stateless_scope.get_stateless_scope",
    "steps that read variables other than the weights of their cell may read old values on JAX",
    lambda: None,
)
# TensorFlow compiles with XLA what `compile(jit_compile="auto")` would.
model_supports_jit = optional(
    "keras.src.trainers.trainer.model_supports_jit", "`step` is slower on TensorFlow", lambda model: False
)
# Returns the mask of a tensor, or `None`. On JAX a tensor cannot hold it while it is traced, so Keras keeps a table.
get_mask = optional(
    "keras.src.backend.common.masking.get_keras_mask",
    "masks of tensors that JAX traces may be lost",
    lambda tensor: getattr(tensor, "_keras_mask", None),
)
# Keras notes here that it saves or loads a model, whose layers share objects, and which layer it is inside of.
_global_attribute = optional(
    "keras.src.backend.common.global_state.get_global_attribute",
    "layers inside a frozen layer of Keras may train, the config of a shared cell says so outside a model, too, a "
    "`Bidirectional` may lose masks, and a cell in `keras.layers.RNN` prepares its weights in every step",
    lambda name: (),
)
# `keras.layers.RNN` prepares and resets noise only for instances of this mix-in: a cell that draws noise without it
# leaks tracers on JAX, and keeps one mask forever on PyTorch.
DropoutRNNCell = {cls.__name__: cls for cls in keras.layers.LSTMCell.__mro__}.get("DropoutRNNCell") or optional(
    "keras.src.layers.rnn.dropout_rnn_cell.DropoutRNNCell",
    "Keras's cells draw noise in each step",
    type("DropoutRNNCell", (), {}),
)


class FileInMemory(io.BytesIO):
    """A file in memory that Keras writes as one on the disk: what it is to hold, Keras sees by its name.

    Keras does so for archives and for remote paths, but does not say that its public functions take it.
    """

    def __init__(self, name):
        super().__init__()
        self._name = name

    def __str__(self):
        return self._name


def layer_test_case():
    """Returns a Keras `TestCase`, whose `run_layer_test` checks a layer."""
    # Imported here: Keras's test utilities need packages that a user who only trains does not have.
    from keras.src.testing import TestCase

    return TestCase()


def stateless_values():
    """Returns what the innermost stateless scope holds in place of variables: a dict of values by the variable's id."""
    return dict(getattr(_stateless_scope(), "state_mapping", {}))


def shares_objects():
    """Returns whether Keras is saving a model, in whose config a shared object has one ID."""
    return _global_attribute("shared_objects/id_to_config_map") is not None


def flatten_layers(layer, include_self=True, recursive=True):
    """Returns a layer, or a cell that is none, and the layers inside it, each once, the outermost first."""
    if hasattr(layer, "_flatten_layers"):
        return layer._flatten_layers(include_self=include_self, recursive=recursive)
    layers, left = {id(layer): layer}, [layer]
    while left:
        held = keras.tree.flatten(list(vars(left.pop(0)).values()))
        new = {id(part): part for part in held if isinstance(part, keras.Layer) and id(part) not in layers}
        layers |= new
        left += new.values() if recursive else []
    return list(layers.values())[0 if include_self else 1 :]


def enclosing_layers():
    """Returns the layers that are being built or called in this thread, the outermost first."""
    scopes = _global_attribute("name_scope_stack") or []
    return [scope.caller for scope in scopes if isinstance(scope.caller, keras.Layer)]


def enclosing_call():
    """Returns the object that Keras holds while the outermost layer of this thread is called, or `None`."""
    return _global_attribute("current_call_ctx") or None


def rematerializes(layer):
    """Returns whether Keras computes the calls of a layer again for their gradient, from their arguments alone."""
    return getattr(layer, "_remat_mode", None) is not None


def is_bare(layer):
    """Returns whether `keras.Layer.__call__` does nothing to the results of a layer, if its inputs need no cast."""
    hooks = ("_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks")
    is_hooked = any(getattr(layer, name, None) for name in hooks)  # PyTorch's.
    is_regularized = layer.activity_regularizer is not None
    return layer.built and not (is_hooked or is_regularized or layer.quantization_mode or rematerializes(layer))


def entry_elsewhere(store, rename):
    """Returns what a weights file holds at another place: at `rename(place)`, if `store` stands at `place`.

    An empty dict if it holds nothing there, or does hold something at `place`.
    """
    place = getattr(store, "_h5_entry_path", None)
    # Older versions of Keras have no `has_path`.
    has_path = getattr(store, "has_path", None) or (lambda path: path in store.h5_file)
    if place is None or has_path(place) or not has_path(rename(place)):
        return {}
    return store.get(rename(place))


def is_functional(layer):
    """Returns whether a layer is a model made of a graph of layers."""
    return hasattr(layer, "_nodes_by_depth")


def calls_in(model):
    """Returns the calls that make up a functional model, in order: `(operation, args, kwargs, list of outputs)`."""
    if not is_functional(model):
        raise NotImplementedError(
            f"The installed version of Keras, {keras.__version__}, does not show a model's graph."
        )
    nodes = [node for depth in sorted(model._nodes_by_depth, reverse=True) for node in model._nodes_by_depth[depth]]
    return [(n.operation, n.arguments.args, n.arguments.kwargs, n.outputs) for n in nodes if not n.is_input]


@contextlib.contextmanager
def replaced(layer, **attributes):
    """Replaces attributes of a layer inside the block, hidden from Keras, which would track them."""
    before = {name: layer.__dict__[name] for name in attributes if name in layer.__dict__}
    layer.__dict__.update(attributes)
    try:
        yield
    finally:
        for name in attributes:
            layer.__dict__.pop(name)
        layer.__dict__.update(before)


def is_exporting(*formats):
    """Returns whether `keras.Model.export` is writing a file of one of the formats."""
    return _exporting(formats) is not None


def is_quantizing_litert():
    """Returns whether `keras.Model.export` is writing a LiteRT file in 8 bits."""
    frame = _exporting(["litert"])
    return frame is not None and bool(frame.f_locals["self"].kwargs.get("optimizations"))


def _exporting(formats):
    frame = sys._getframe()
    while frame is not None:
        if frame.f_globals.get("__name__") in [f"keras.src.export.{name}" for name in formats]:
            return frame
        frame = frame.f_back
    return None


class SymbolicCalls(contextlib.ExitStack):
    """A context in which the layers of a model run their `call` on symbolic tensors.

    Outside, Keras only infers the shapes of what a layer returns. Inside, the operations of `keras.ops` that it applies
    become nodes of the graph, and weights remain weights.

    Args:
        model: A `keras.Model`.

    Attributes:
        returned: Dict of pairs, by the ID of each symbolic tensor that the graph has for the result of a layer: this
            tensor, and what the layer did return, a symbolic tensor or another one.
        failed: The innermost layer whose `call` raised an error, or `None`.
    """

    def __init__(self, model):
        super().__init__()
        self.model, self.returned, self.failed = model, {}, None

    def __enter__(self):
        self.enter_context(_defer_to_symbolic_tensors())
        for layer in flatten_layers(self.model):
            self.enter_context(replaced(layer, symbolic_call=functools.partial(self._call, layer)))
            if type(getattr(layer, "backend", None)).__name__ == "DynamicBackend":
                self.enter_context(replaced(layer, backend=_Operations()))
        return self

    def _call(self, layer, *args, **kwargs):
        try:
            is_quantized = getattr(layer, "quantization_mode", None) is not None
            results = (layer.quantized_call if is_quantized else layer.call)(*args, **kwargs)
        except Exception:
            self.failed = self.failed or layer
            raise
        # Keras makes each tensor that a layer returns a result of this layer, and cells compare them by identity.
        new = {id(x): x for x in keras.tree.flatten(results) if x is not None}
        for key, x in new.items():
            new[key] = keras.KerasTensor(x.shape, keras.backend.standardize_dtype(x.dtype))
            self.returned[id(new[key])] = new[key], x
        return keras.tree.map_structure(lambda x: None if x is None else new[id(x)], results)


class _Operations:
    """The functions of `keras.ops`, where a layer that preprocesses data, such as `Rescaling`, calls a backend."""

    name = keras.backend.backend()

    def __getattr__(self, name):
        return self if name in ("core", "math", "nn", "numpy") else getattr(keras.ops, name)


OPERATORS = "add sub mul truediv floordiv mod pow matmul and or xor lt le gt ge"
# Other threads may export at the same time.
_deferring = threading.RLock()


@contextlib.contextmanager
def _defer_to_symbolic_tensors():
    """Lets variables, arrays and functions with a gradient of their own take a symbolic tensor, inside the block.

    `variable * tensor` is an error of every backend otherwise, and `array * tensor` one of NumPy and JAX. A symbolic
    tensor knows what to do with each of them.
    """

    def operator(name):
        plain = getattr(keras.Variable, name)
        return lambda self, other: NotImplemented if isinstance(other, keras.KerasTensor) else plain(self, other)

    def custom_gradient(function):
        with_gradient = plain_custom_gradient(function)

        def called(*args, **kwargs):
            is_symbolic = any(isinstance(x, keras.KerasTensor) for x in keras.tree.flatten((args, kwargs)))
            return function(*args, **kwargs)[0] if is_symbolic else with_gradient(*args, **kwargs)

        return called

    plain_custom_gradient = keras.ops.custom_gradient
    changes = [(keras.Variable, name, operator(name)) for name in map("__{}__".format, OPERATORS.split())]
    # NumPy and JAX ask for these attributes before they ask a symbolic tensor.
    changes += [(keras.KerasTensor, "__array_ufunc__", None), (keras.KerasTensor, "__jax_array__", property(_absent))]
    modules = [sys.modules[name] for name in ("keras.ops", "keras.src.ops") if name in sys.modules]
    changes += [(module, "custom_gradient", custom_gradient) for module in modules]
    with _deferring, contextlib.ExitStack() as undo:
        for owner, name, value in changes:
            if name in vars(owner):
                undo.callback(setattr, owner, name, vars(owner)[name])
            else:
                undo.callback(delattr, owner, name)
            setattr(owner, name, value)
        yield


def _absent(self):
    raise AttributeError


def call_that_returned(tensor):
    """Returns the call that made a symbolic tensor.

    Returns: `(operation, args, kwargs, list of symbolic tensors in them, list of outputs)`.
    """
    operation, index, _ = tensor._keras_history
    node = operation._inbound_nodes[index]
    return operation, node.arguments.args, node.arguments.kwargs, node.input_tensors, node.outputs


def cudnn_loop(kind, sequences=None):
    """Returns the function by which a layer of Keras runs cuDNN, or `None` where there is no cuDNN.

    Args:
        kind: `"lstm"` or `"gru"`.
        sequences: The tensor to run over, which PyTorch may hold on a CPU beside a GPU; `None` (default) if there is
            none yet.
    """
    # Older versions, and backends that have no cuDNN, lack the names.
    backend = sys.modules.get("keras.src.backend")
    is_possible, loop = (getattr(backend, name, None) for name in ("cudnn_ok", kind))
    where = getattr(getattr(sequences, "device", None), "type", "cuda")
    if where != "cuda" or is_possible is None or loop is None:
        return None
    return loop if is_possible(keras.activations.tanh, keras.activations.sigmoid, False, True) else None


def let_masks_through(layer):
    """Has the `keras.layers.Bidirectional` that is calling `layer` hand on masks, as Keras 3.16 no longer does.

    Keras's wrapper still computes the mask of its output, and looks only after the call whether to hand it on. It tells
    its layers nothing of itself.
    """
    for wrapper in enclosing_layers():
        if isinstance(wrapper, keras.layers.Bidirectional) and not wrapper.supports_masking:
            wrapper.supports_masking = any(layer is each for each in (wrapper.forward_layer, wrapper.backward_layer))


def register_on_torch(layer):
    """Shows PyTorch the weights of a layer that is built without `build`, after which Keras does so."""
    # A property that makes the list when it is first read.
    getattr(layer, "torch_params", None)


def delete_variable(layer, name):
    """Deletes a variable of a layer, as `delattr` does, but without a pass of the garbage collector for each."""
    if hasattr(layer, "_untrack_variable"):
        layer._untrack_variable(getattr(layer, name))
        object.__delattr__(layer, name)
    else:
        delattr(layer, name)


def takes_training(layer):
    """Returns whether a layer takes `training`; as in Keras, an object that is no layer does not."""
    return isinstance(layer, keras.Layer) and _takes_training(type(layer).call)


@functools.lru_cache(maxsize=512)
def _takes_training(function):
    return "training" in inspect.signature(function).parameters
