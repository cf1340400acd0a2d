"""The names of TensorFlow that the engine uses and that are not public, `None` where they are gone."""

import tensorflow as tf

from keras_adaptive_rnn._private import missing

try:
    from tensorflow.compiler.tf2xla.python.xla import optimization_barrier
except ImportError:
    optimization_barrier = missing(
        "tensorflow.compiler.tf2xla.python.xla.optimization_barrier", "training with XLA is slower"
    )

try:
    # Whether a gradient tape watches, or a `tf.custom_gradient` is being recorded.
    from tensorflow.python.eager.record import could_possibly_record
except ImportError:
    could_possibly_record = missing(
        "tensorflow.python.eager.record.could_possibly_record", "adaptive inference is slower"
    )

# `tf.__internal__` is exported, for Keras, but not documented.
try:
    FuncGraph = tf.__internal__.FuncGraph
except AttributeError:
    FuncGraph = missing("tensorflow.__internal__.FuncGraph", "training is slower")

try:
    enclosing_xla_context = tf.__internal__.get_enclosing_xla_context
except AttributeError:
    enclosing_xla_context = missing("tensorflow.__internal__.get_enclosing_xla_context", "training with XLA is slower")
