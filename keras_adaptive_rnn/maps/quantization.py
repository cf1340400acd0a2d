"""Matrices as integers, and back."""

import keras
from keras import ops


def quantized(matrix, mode, config=None):
    r"""Returns the weights that stand for a matrix, a dict of tensors by the suffix of their names.

    With $q$ the integers, $s$ the scale and $z$ the zero, $W_{ij} \approx (q_{ij} - z_{gj}) \, s_{gj}$, where $g$ is
    the group of row $i$. There is one group of all rows, and $z = 0$, unless `config` has a `block_size`.

    Args:
        matrix: Tensor `[..., rows, columns]`.
        mode: `"int8"`, or `"int4"`, which packs two columns into a byte.
        config: A `keras.quantizers.QuantizationConfig`. Defaults to `None`.
    """
    *leading, rows, columns = matrix.shape
    # Keras quantizes matrices of two axes.
    flat = ops.reshape(ops.moveaxis(ops.cast(matrix, "float32"), -2, 0), (rows, -1))
    block_size = getattr(config, "block_size", None) or -1
    if mode == "int4" and block_size > 0:
        in_blocks = keras.quantizers.abs_max_quantize_grouped_with_zero_point
        values, scale, zero = in_blocks(flat, block_size=block_size, to_numpy=True)
    else:
        value_range = (-8, 7) if mode == "int4" else (-127, 127)
        quantizer = getattr(config, "weight_quantizer", None)
        quantizer = quantizer or keras.quantizers.AbsMaxQuantizer(axis=0, value_range=value_range)
        values, inverse = quantizer(flat)
        scale, zero = 1 / inverse, None

    def shaped(tensor):
        return ops.moveaxis(ops.reshape(tensor, (tensor.shape[0], *leading, columns)), 0, -2)

    values = shaped(values)
    if mode == "int4":
        values, *_ = keras.quantizers.pack_int4(values, axis=-1)
    return {"": values, "_scale": shaped(scale), **({} if zero is None else {"_zero": shaped(zero)})}


def dequantized(values, shape, mode, config, scale, zero=None):
    """Returns the float32 matrix of `shape` for which the weights of `quantized` stand."""
    rows, columns = shape[-2:]
    if mode == "int4":
        values = keras.quantizers.unpack_int4(values, columns, axis=-1)
    values, scale = ops.cast(values, "float32"), ops.convert_to_tensor(scale)
    if zero is None:
        return values * scale
    scale, zero = (ops.repeat(each, config.block_size, axis=-2)[..., :rows, :] for each in (scale, zero))
    return (values - ops.cast(zero, "float32")) * scale
