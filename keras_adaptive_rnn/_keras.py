"""The one file that reaches into Keras beyond its public API, and why it must.

Where a version of Keras lacks a name, something slower takes its place.
"""

import contextlib
import functools
import inspect

import keras

from keras_adaptive_rnn._private import missing

__all__ = [
    "AutocastScope",
    "DropoutRNNCell",
    "flatten_layers",
    "get_mask",
    "in_stateless_scope",
    "layer_test_case",
    "model_supports_jit",
    "replaced",
    "takes_training",
]

try:
    # A cell may have another dtype policy than the layer around it. Keras opens this scope in `Layer.__call__`, which
    # the time loop skips for speed.
    from keras.src.backend import AutocastScope
except ImportError:
    missing("keras.src.backend.AutocastScope", "cells of other libraries may compute in float32 under a mixed policy")
    AutocastScope = contextlib.nullcontext

try:
    # Keras exports the scope, but not whether it is open.
    from keras.src.backend.common.stateless_scope import in_stateless_scope
except ImportError:
    missing("keras.src.backend.common.stateless_scope.in_stateless_scope", "everything runs slower")

    def in_stateless_scope():
        # Inside a scope nothing is compiled and no other scope is opened, which is right everywhere.
        return True


try:
    # `keras.layers.RNN` prepares and resets noise only for instances of this mix-in: a cell that draws noise without it
    # leaks tracers on JAX, and keeps one mask forever on PyTorch.
    from keras.src.layers.rnn.dropout_rnn_cell import DropoutRNNCell
except ImportError:
    DropoutRNNCell = {cls.__name__: cls for cls in keras.layers.LSTMCell.__mro__}.get("DropoutRNNCell")
    if DropoutRNNCell is None:
        missing("keras.src.layers.rnn.dropout_rnn_cell.DropoutRNNCell", "Keras's cells draw noise in each step")
        DropoutRNNCell = type("DropoutRNNCell", (), {})

try:
    # TensorFlow compiles with XLA what `compile(jit_compile="auto")` would.
    from keras.src.trainers.trainer import model_supports_jit
except ImportError:
    missing("keras.src.trainers.trainer.model_supports_jit", "`step` is slower on TensorFlow")

    def model_supports_jit(model):
        return False


try:
    # On JAX a tensor cannot hold its mask while it is traced, so Keras keeps the mask in a table.
    from keras.src.backend.common.masking import get_keras_mask as get_mask
except ImportError:

    def get_mask(tensor):
        """Returns the mask that Keras has attached to a tensor, or `None`."""
        return getattr(tensor, "_keras_mask", None)


def layer_test_case():
    """Returns a Keras `TestCase`, whose `run_layer_test` checks a layer."""
    # Imported here: Keras's test utilities need packages that a user who only trains does not have.
    from keras.src.testing import TestCase

    return TestCase()


def flatten_layers(layer, include_self=True, recursive=True):
    """Returns a layer and the layers inside it, each once, the outermost first.

    Args:
        layer: A layer, or a cell that is none.
        include_self: Whether to begin with `layer`. Defaults to `True`.
        recursive: Whether to go into the layers inside. Defaults to `True`.
    """
    if hasattr(layer, "_flatten_layers"):
        return layer._flatten_layers(include_self=include_self, recursive=recursive)
    found = {id(layer): layer}
    _add_layers_inside(layer, found, recursive)
    return list(found.values())[0 if include_self else 1 :]


def _add_layers_inside(value, found, recursive):
    if isinstance(value, dict):
        value = list(value.values())
    for part in value if isinstance(value, (list, tuple)) else list(getattr(value, "__dict__", {}).values()):
        if isinstance(part, (list, tuple, dict)):
            _add_layers_inside(part, found, recursive)
        elif isinstance(part, keras.Layer) and id(part) not in found:
            found[id(part)] = part
            if recursive:
                _add_layers_inside(part, found, recursive)


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


def takes_training(layer):
    """Returns whether a layer takes `training`; as in Keras, an object that is no layer does not."""
    return isinstance(layer, keras.Layer) and _takes_training(type(layer).call)


@functools.lru_cache(maxsize=512)
def _takes_training(function):
    return "training" in inspect.signature(function).parameters
