"""Private names of TensorFlow that the engine uses, each with a fallback."""

from keras_adaptive_rnn._private import optional

optimization_barrier = optional(
    "tensorflow.compiler.tf2xla.python.xla.optimization_barrier", "training with XLA is slower", lambda x: [x]
)
# Returns whether a gradient tape watches, or a `tf.custom_gradient` is being recorded.
could_possibly_record = optional(
    "tensorflow.python.eager.record.could_possibly_record", "adaptive inference is slower", lambda: True
)
# `tf.__internal__` is exported, for Keras, but not documented.
enclosing_xla_context = optional(
    "tensorflow.__internal__.get_enclosing_xla_context", "training with XLA is slower", lambda: None
)
# Returns whether a SavedModel is being written, which traces all gradients.
in_save_context = optional(
    "tensorflow.python.saved_model.save_context.in_save_context", "adaptive cells cannot be exported", lambda: False
)
FuncGraph = optional("tensorflow.__internal__.FuncGraph", "training is slower")
