"""The one file that reaches into `keras.src`, and why it must.

- `DropoutRNNCell`: `keras.layers.RNN` prepares and resets noise only for cells that are instances of this mix-in, and
  Keras does not export it. Without it a cell that draws noise leaks tracers on JAX and keeps one mask for ever on
  PyTorch.
- `AutocastScope`: a cell may have another dtype policy than the layer around it. Keras opens this scope in
  `Layer.__call__`, which our time loop skips for speed, so the loop opens it itself.
- `in_stateless_scope`: the JAX loop must know whether a stateless scope is open already; Keras exports the scope only.
- `get_keras_mask`: where a tensor is a tracer, Keras keeps its mask in a table and not in an attribute.
- `model_supports_jit`: what TensorFlow compiles with XLA is decided as in `compile(jit_compile="auto")`.
- `layer_test_case`: Keras's own conformance routine for layers, which `testing.check_cell` runs.
"""

from keras.src.backend import AutocastScope
from keras.src.backend.common.masking import get_keras_mask
from keras.src.backend.common.stateless_scope import in_stateless_scope
from keras.src.layers.rnn.dropout_rnn_cell import DropoutRNNCell
from keras.src.trainers.trainer import model_supports_jit

__all__ = [
    "AutocastScope",
    "DropoutRNNCell",
    "get_keras_mask",
    "in_stateless_scope",
    "layer_test_case",
    "model_supports_jit",
]


def layer_test_case():
    """Returns a Keras `TestCase`, whose `run_layer_test` checks a layer."""
    # Imported here: Keras's test utilities need packages that a user who only trains does not have.
    from keras.src.testing import TestCase

    return TestCase()
