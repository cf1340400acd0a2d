"""The matrices of a layer: how to scale them, and how to make them orthonormal."""

import functools
import math

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import maps
from keras_adaptive_rnn._keras import AutocastScope, flatten_layers

# The names of matrices in Keras's layers. A separable convolution applies two of them in turn.
KERNELS = ("kernel", "depthwise_kernel", "pointwise_kernel", "recurrent_kernel")
TRANSPOSED = keras.layers.Conv1DTranspose, keras.layers.Conv2DTranspose, keras.layers.Conv3DTranspose
DEPTHWISE = keras.layers.DepthwiseConv1D, keras.layers.DepthwiseConv2D


def own_kernels(layer):
    """Returns the trained matrices of a layer itself, without its sublayers."""
    inner = {id(w) for part in flatten_layers(layer, include_self=False) for w in part.weights}
    return [w for w in layer.trainable_weights if w.name in KERNELS and id(w) not in inner]


def is_known_map(linear_map):
    """Returns whether the matrices of a map are trained, and stored in a known way."""
    is_frozen = not linear_map.trainable or linear_map.quantization_mode
    return isinstance(linear_map, (maps.Full, maps.LowRank)) and not is_frozen


class LayerMatrices:
    """The kernels of a Keras layer, which are applied in turn, each with `blocks` matrices side by side."""

    def __init__(self, layer, kernels, blocks=1):
        self.layer, self.kernels = layer, kernels
        self.blocks = blocks * getattr(layer, "groups", 1)

    def scale(self, factor):
        for kernel in self.kernels:
            assign(kernel, lambda w: w * factor ** (1 / len(self.kernels)))

    def make_orthonormal(self):
        if not isinstance(self.layer, keras.layers.EinsumDense):  # Its equation says which axes are the rows.
            for kernel in self.kernels:
                assign(kernel, functools.partial(self._orthonormal, kernel.name))

    def _orthonormal(self, name, w):
        if isinstance(self.layer, DEPTHWISE) or name == "depthwise_kernel":
            # [..., inputs, multiplier]: each input has a matrix of its own.
            return polar(w, math.prod(w.shape[:-2]), w.shape[-2])
        if isinstance(self.layer, TRANSPOSED):  # [..., outputs, inputs].
            return np.moveaxis(polar(np.moveaxis(w, -1, 0), w.shape[-1]), 0, -1)
        return polar(w, math.prod(w.shape[:-1]), self.blocks)


class MapMatrices:
    """The matrices of one of our maps, side by side."""

    def __init__(self, linear_map):
        self.map, self.blocks = linear_map, sum(linear_map.blocks)

    def scale(self, factors):
        """Multiplies all matrices by one number, or each by its own."""
        factors = np.broadcast_to(factors, (self.blocks,))
        low_rank = isinstance(self.map, maps.LowRank)
        weights = [self.map.gain if self.map.weight_normalization else self.map.left if low_rank else self.map.kernel]
        if low_rank and self.map.diagonal:
            weights.append(self.map.diagonal_kernel)
        columns = np.repeat(factors, self.map.units)
        for weight in weights:
            # Blocks are joined along the last axis, or stacked along the first.
            is_joined = weight.shape[-1] == len(columns)
            by_block = columns if is_joined else np.reshape(factors, (-1, *[1] * (len(weight.shape) - 1)))
            assign(weight, functools.partial(np.multiply, by_block))

    def make_orthonormal(self):
        if self.map.weight_normalization:
            return
        if isinstance(self.map, maps.LowRank):
            for factor in (self.map.right, self.map.left):
                assign(factor, polar_factor)
        else:
            assign(self.map.kernel, lambda w: polar(w, len(w), self.blocks))


def assign(variable, function):
    """Replaces the value of a variable by a function of it, in full precision."""
    with AutocastScope(None):
        old = ops.convert_to_numpy(ops.cast(ops.convert_to_tensor(variable), "float32"))
        variable.assign(ops.cast(np.asarray(function(old), "float32"), variable.dtype))


def polar(array, rows, blocks=1):
    """Returns `array` with each of its matrices, blocks of columns of `[rows, columns]`, made semi-orthogonal."""
    matrices = np.swapaxes(np.reshape(array, (rows, blocks, -1)), 0, 1)
    return np.reshape(np.swapaxes(polar_factor(matrices), 0, 1), array.shape)


def polar_factor(matrices):
    """Returns the semi-orthogonal matrix nearest to each matrix."""
    u, _, v = np.linalg.svd(np.asarray(matrices, "float64"), full_matrices=False)
    return u @ v
