"""Operations of `keras.ops` that are made of simpler ones, so that files need only these."""

import itertools
import math

import keras
import numpy as np
from keras import ops


def unsupported(operation):
    """Returns an error that names an operation, or one with these options."""
    return ValueError(
        "Argument `model` must consist of operations that format='c99' can write. Received: a model with the operation "
        f"{operation}"
    )


def _axes(x, axis):
    axes = range(len(x.shape)) if axis is None else np.atleast_1d(axis)
    return [int(each) % len(x.shape) for each in axes]


def _along(x, vector, axis):
    """Returns a vector, or a tensor over several axes, with axes of size one for the others of `x`."""
    kept = _axes(x, axis)
    return ops.reshape(vector, [size if k in kept else 1 for k, size in enumerate(x.shape)])


def _mean(x, axis=None, keepdims=False):
    count = math.prod(x.shape[each] for each in _axes(x, axis))
    return ops.sum(ops.cast(x, keras.backend.result_type(x.dtype, float)), axis, keepdims) / count


def _variance(x, axis=None, keepdims=False):
    return _mean(ops.square(x - _mean(x, axis, keepdims=True)), axis, keepdims)


def _log_sum_exp(x, axis=None, keepdims=False):
    highest = ops.max(x, axis, keepdims=True)
    total = ops.log(ops.sum(ops.exp(x - highest), axis, keepdims=True)) + highest
    return total if keepdims else ops.squeeze(total, tuple(_axes(x, axis)))


def _softmax(x, axis=-1):
    powers = ops.exp(x - ops.max(x, axis, keepdims=True))
    return powers / ops.sum(powers, axis, keepdims=True)


def _layer_norm(x, gamma=None, beta=None, axis=-1, epsilon=None, rms_scaling=False):
    epsilon = keras.backend.epsilon() if epsilon is None else epsilon
    centered = x if rms_scaling else x - _mean(x, axis, keepdims=True)
    y = centered * ops.rsqrt(_mean(ops.square(centered), axis, keepdims=True) + epsilon)
    y = y if gamma is None else y * _along(x, gamma, axis)
    return y if beta is None else y + _along(x, beta, axis)


def _batch_norm(x, mean, variance, offset=None, scale=None, axis=-1, epsilon=1e-3):
    factor = ops.rsqrt(ops.add(variance, epsilon))
    factor = factor if scale is None else ops.multiply(factor, scale)
    y = (x - _along(x, mean, axis)) * _along(x, factor, axis)
    return y if offset is None else y + _along(x, offset, axis)


def _normalize(x, axis=-1, order=2, epsilon=None):
    if order != 2:
        raise unsupported(f"`Normalize` of {order=}")
    epsilon = keras.backend.epsilon() if epsilon is None else epsilon
    return x * ops.rsqrt(ops.maximum(ops.sum(ops.square(x), axis, keepdims=True), epsilon**2))


def _relu(x, negative_slope=0.0, max_value=None, threshold=0.0):
    is_plain = negative_slope == threshold == 0
    y = ops.relu(x) if is_plain else ops.where(x > threshold, x, negative_slope * (x - threshold))
    return y if max_value is None else ops.minimum(y, max_value)


def _softplus(x):
    return ops.maximum(x, 0) + ops.log1p(ops.exp(-ops.abs(x)))


def _gelu(x, approximate=True):
    if approximate:
        return 0.5 * x * (1 + ops.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))
    return 0.5 * x * (1 + ops.erf(x / math.sqrt(2)))


def _glu(x, axis=-1):
    value, gate = ops.split(x, 2, axis)
    return value * ops.sigmoid(gate)


def _one_hot(x, num_classes, axis=-1):
    x = ops.expand_dims(x, axis)
    classes = np.arange(num_classes, dtype="int32")
    return ops.equal(x, ops.reshape(classes, [num_classes if k in _axes(x, axis) else 1 for k in range(len(x.shape))]))


def _einsum(*operands, subscripts):
    """Multiplies everything, and adds up the axes that the result lacks."""
    sides = subscripts.replace(" ", "").split("->")
    names = sides[0].split(",")
    if "." in subscripts or len(sides) == 1 or any(len(set(each)) < len(each) for each in names):
        raise unsupported(f"`Einsum` of {subscripts=}")
    order = sides[1] + "".join(sorted(set("".join(names)) - set(sides[1])))
    product = None
    for x, axes in zip(operands, names, strict=True):
        x = ops.transpose(x, [axes.index(axis) for axis in order if axis in axes])
        left = iter(x.shape)
        x = ops.reshape(x, [next(left) if axis in axes else 1 for axis in order])
        product = x if product is None else product * x
    return ops.sum(product, tuple(range(len(sides[1]), len(order)))) if len(order) > len(sides[1]) else product


def _conv(inputs, kernel, strides=1, padding="valid", data_format=None, dilation_rate=1):
    """Adds up the products with the kernel at each of its places."""
    sizes, channels = kernel.shape[:-2], kernel.shape[-2]
    if data_format == "channels_first" or padding != "valid" or channels != inputs.shape[-1]:
        raise unsupported(f"`Conv` of {padding=}, {data_format=}, in groups of {channels} channels")
    strides, dilations = (np.broadcast_to(each, len(sizes)).tolist() for each in (strides, dilation_rate))
    total = None
    for place in itertools.product(*map(range, sizes)):
        windows = [
            slice(at * dilation, length - (size - 1 - at) * dilation, stride)
            for at, size, length, stride, dilation in zip(
                place, sizes, inputs.shape[1:-1], strides, dilations, strict=True
            )
        ]
        product = ops.matmul(inputs[(slice(None), *windows)], kernel[place])
        total = product if total is None else total + product
    return total


# By the name of their class in Keras: functions of their arguments and options, up to the dtype of the result.
COMPOSED = {
    "BatchNorm": _batch_norm,
    "Celu": lambda x, alpha=1.0: ops.maximum(x, 0) + alpha * ops.expm1(ops.minimum(x, 0) / alpha),
    "Clip": lambda x, x_min, x_max: ops.minimum(ops.maximum(x, x_min), x_max),
    "Conv": _conv,
    "Einsum": _einsum,
    "Gelu": _gelu,
    "Glu": _glu,
    "HardShrink": lambda x, threshold=0.5: ops.where(ops.abs(x) > threshold, x, 0.0),
    "HardSigmoid": lambda x: ops.clip(x / 6 + 0.5, 0, 1),
    "HardSilu": lambda x: x * ops.clip(x / 6 + 0.5, 0, 1),
    "HardTanh": lambda x: ops.clip(x, -1, 1),
    "LayerNorm": _layer_norm,
    "LogSigmoid": lambda x: -_softplus(-x),
    "LogSoftmax": lambda x, axis=-1: x - _log_sum_exp(x, axis, keepdims=True),
    "Logsumexp": _log_sum_exp,
    "Mean": _mean,
    "Moments": lambda x, axes, keepdims=False: [_mean(x, axes, keepdims), _variance(x, axes, keepdims)],
    "Normalize": _normalize,
    "OneHot": _one_hot,
    "OnesLike": lambda x: ops.ones(x.shape),
    "RMSNorm": lambda x, scale=None, axis=-1, epsilon=None: _layer_norm(x, scale, None, axis, epsilon, True),
    "ReLU": _relu,
    "Relu6": lambda x: ops.clip(x, 0, 6),
    "SoftShrink": lambda x, threshold=0.5: x - ops.clip(x, -threshold, threshold),
    "Softmax": _softmax,
    "Softplus": _softplus,
    "SparsePlus": lambda x: ops.where(x >= 1, x, ops.square(ops.maximum(x + 1, 0)) / 4),
    "SparseSigmoid": lambda x: ops.clip((x + 1) / 2, 0, 1),
    "Squareplus": lambda x, b=4: (x + ops.sqrt(ops.square(x) + b)) / 2,
    "Stack": lambda x, axis=0: ops.concatenate([ops.expand_dims(each, axis) for each in x], axis),
    "Std": lambda x, axis=None, keepdims=False: ops.sqrt(_variance(x, axis, keepdims)),
    "TanhShrink": lambda x: x - ops.tanh(x),
    "Threshold": lambda x, threshold, default_value: ops.where(x > threshold, x, default_value),
    "Var": _variance,
    "ZerosLike": lambda x: ops.zeros(x.shape),
}
