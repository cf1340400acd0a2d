"""Quantization of the matrices of maps, as in `keras.layers.Dense`, but of the weights alone."""

import keras
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._keras import delete_variable


class Quantizable:
    """Mixin of a map whose matrices, those in `matrix_shapes`, can be stored as integers."""

    # "int8" or "int4" after `quantize`. Keras keeps the mode in the dtype policy, which is that of the cell here.
    quantization_mode = None
    quantization_config = None

    def quantize(self, mode=None, type_check=True, config=None):
        """Stores the matrices as integers, with a scale for every column; they are no longer trained.

        `keras.Model.quantize` calls it on every map of a model. Products, activations, diagonals and gains stay
        floating-point.

        Args:
            mode: `"int8"` or `"int4"`. Defaults to `None`: that of `config`.
            type_check: Whether to refuse maps of other packages. Defaults to `True`.
            config: A `keras.quantizers.QuantizationConfig`. Only the part for weights is used: `weight_quantizer`, and
                the `block_size` of int4. Defaults to `None`: that of `mode`.

        Raises:
            ValueError: The map is not built, or already quantized, or `mode` is unknown to Keras.
            NotImplementedError: `mode` is another one of Keras's, or the map is of another package.
        """
        rule = f"The map {self.where} is already quantized to '{self.quantization_mode}'"
        _arguments.check(not self.quantization_mode, rule, mode=mode)
        if mode not in ("int8", "int4"):
            raise NotImplementedError(
                f"Argument `mode` must be 'int8' or 'int4' for the map {self.where}. Received: mode={mode!r}"
            )
        if type_check and not type(self).__module__.startswith(__package__):
            raise NotImplementedError(
                f"The map {self.where} is a {type(self).__name__}, which may read its weights in its own way. "
                f"Received: mode={mode!r}, type_check=True"
            )
        values = {name: quantized(getattr(self, name), mode, config) for name in self.matrix_shapes}
        self.quantized_build(values, mode, config)

    def quantized_build(self, values, mode, config=None):
        """Replaces each matrix by the weights `values[name]`, a dict of arrays by suffix."""
        for name in self.matrix_shapes:
            delete_variable(self, name)
            for suffix, value in values[name].items():
                weight = self.add_weight(
                    name=name + suffix,
                    shape=value.shape,
                    dtype=keras.backend.standardize_dtype(value.dtype),
                    initializer="zeros",
                    trainable=False,
                    autocast=False,
                )
                weight.assign(value)
                setattr(self, name + suffix, weight)
        # The quantizer of int8 is not needed again.
        self.quantization_mode, self.quantization_config = mode, config if mode == "int4" else None

    def quantized_call(self, *args, **kwargs):
        # Keras calls this instead of `call`, which reads its matrices dequantized.
        return self.call(*args, **kwargs)

    def dequantized(self, name):
        """Returns the value of a quantized matrix, in float32."""
        rows, columns = self.matrix_shapes[name][-2:]
        values, scale, zero = (getattr(self, name + suffix, None) for suffix in ("", "_scale", "_zero"))
        values, scale = ops.convert_to_tensor(values), ops.convert_to_tensor(scale)
        if self.quantization_mode == "int4":
            values = keras.quantizers.unpack_int4(values, columns, axis=-1)
        values = ops.cast(values, "float32")
        if zero is None:
            return values * scale
        size = self.quantization_config.block_size
        scale, zero = (ops.repeat(each, size, axis=-2)[..., :rows, :] for each in (scale, zero))
        return (values - ops.cast(zero, "float32")) * scale


def quantized(matrix, mode, config=None):
    r"""Returns the weights of a quantized matrix, a dict of tensors by the suffix of their names.

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
