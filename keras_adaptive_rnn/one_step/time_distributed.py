"""The layers and operations that compute each time step by itself."""

import keras

from keras_adaptive_rnn._keras import flatten_layers

# Those of Keras; other layers say so in an attribute, `is_time_distributed`. Those with an axis do unless it is that of
# time or of the batch.
LAYERS = (
    "Activation ActivityRegularization Add AlphaDropout Average BatchNormalization Concatenate Conv1D Dense "
    "Discretization Dropout ELU Embedding GaussianDropout GaussianNoise Identity LayerNormalization LeakyReLU Masking "
    "Maximum Minimum Multiply Normalization PReLU RMSNormalization ReLU Rescaling Softmax SpatialDropout1D Subtract "
    "TimeDistributed UnitNormalization"
)
KERAS_LAYERS = {getattr(keras.layers, name) for name in LAYERS.split()}
# Classes of `keras.ops`, as called on the tensors of a functional model: `x + y` is an `Add`.
OPERATIONS = (
    "Abs Absolute Add All Any Cast Clip Concatenate Divide Elu Equal Exp ExpandDims Gelu Glu Greater GreaterEqual "
    "HardSigmoid HardSilu HardTanh LeakyRelu Less LessEqual Log LogSigmoid LogSoftmax LogicalAnd LogicalNot "
    "LogicalOr Max Maximum Mean Min Minimum Multiply Negative Normalize NotEqual OnesLike Power Reciprocal Relu "
    "Relu6 Round Rsqrt Selu Sigmoid Sign Silu Softmax Softplus Softsign Split Sqrt Square StopGradient Subtract "
    "Sum Tanh TrueDivide Where ZerosLike"
)


def is_time_distributed(operation, rank):
    """Returns whether a layer or operation is known to compute each step of a tensor of this rank by itself."""
    if not isinstance(operation, keras.Layer):
        is_known = type(operation).__module__.startswith("keras.") and type(operation).__name__ in OPERATIONS.split()
        return is_known and _keeps_axes(operation, rank)
    if type(operation) is keras.layers.TimeDistributed:
        return True
    parts = [part for part in flatten_layers(operation) if not isinstance(part, keras.Sequential)]
    return all(_says_so(part) and _keeps_axes(part, rank) for part in parts)


def _says_so(layer):
    # A subclass of a layer of Keras may do anything.
    return getattr(layer, "is_time_distributed", type(layer) in KERAS_LAYERS)


def _keeps_axes(operation, rank):
    if isinstance(operation, keras.layers.PReLU):
        return 1 in (operation.shared_axes or [])
    if isinstance(operation, keras.layers.Conv1D):
        return operation.kernel_size == operation.strides == (1,) and operation.data_format == "channels_last"
    if not hasattr(operation, "axis"):
        return True
    if type(operation).__name__ == "ExpandDims":
        rank += 1
    axes = operation.axis if isinstance(operation.axis, (list, tuple)) else [operation.axis]
    return all(axis is not None and axis % rank > 1 for axis in axes)
