"""The base of gated and linear cells: a map of the input, a bias, and gates."""

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, maps
from keras_adaptive_rnn.cells.bases.cell import Cell
from keras_adaptive_rnn.maps.owner import OwnsKernelAndBias


class AffineInputs(OwnsKernelAndBias, Cell):
    r"""A cell that reads its inputs as $x W + b$, concatenated over the gates, which a subclass lists in `gates`."""

    gates: tuple[str, ...] = ()
    bias_rows = 1
    # The part that holds each weight that has a name in Keras's cells.
    held_by = {"kernel": "kernel_map", "bias": "bias_layer"}

    def __init__(self, units: int, *, use_bias: bool = True, kernel_map: str | maps.LinearMap = "full", **kwargs):
        super().__init__(**kwargs)
        self.units = _arguments.integer("units", units)
        self.use_bias = _arguments.boolean("use_bias", use_bias)
        self.kernel_map = self.bind_map("kernel_map", kernel_map, self.units, **self.arguments_of("kernel"))
        self.bias_layer, self.kernel_norm = maps.no_bias, None
        self.state_size, self.output_size = [self.units], self.units

    def build(self, input_shape):
        self._set_input_size(input_shape)
        self.build_maps()
        if self.use_bias:
            self.bias_layer = self.make_bias(self.units, self.bias_row_initializers())
        super().build(input_shape)

    def build_maps(self):
        """Creates the weights of the maps."""
        self.kernel_map.build_blocks((len(self.gates),), self.input_size)

    def bind_map(self, name, linear_map, units, **arguments):
        """Returns the map that is the argument `name`, bound to the cell as by `LinearMap.bind`."""
        return _arguments.resolve(name, linear_map, lambda m: maps.get(m).bind(self, name, units, **arguments))

    # The names that the weights have in Keras's cells.

    @property
    def kernel(self):
        """$W$, a variable `[inputs, gates * units]`, if `kernel_map` holds it as one weight."""
        return self.kernel_map.kernel

    @kernel.setter
    def kernel(self, value):
        self.kernel.assign(value)

    @property
    def bias(self):
        """$b$, a variable, or `None` without a bias."""
        return self.bias_layer.bias if self.use_bias else None

    @bias.setter
    def bias(self, value):
        self.bias.assign(value)

    def __getattr__(self, name):
        # Called where a property has raised `AttributeError`, whose message would be lost.
        held = self.held_by.get(name)
        if held is None:
            find = getattr(super(), "__getattr__", None) or super().__getattribute__
            return find(name)
        if not self.built:
            raise AttributeError(f"{type(self).__name__} has no `{name}` before it is built")
        raise AttributeError(
            f"{type(self).__name__} has no single matrix `{name}`: its weights are those of `{held}`, here "
            f"{', '.join(f'`{weight.name}` {tuple(weight.shape)}' for weight in getattr(self, held).weights)}"
        )

    def make_norm(self, size, center=False, **kwargs):
        """Returns a built layer normalization of `size` entries. The bias of the gates serves as its offset."""
        norm = keras.layers.LayerNormalization(epsilon=1e-9, center=center, dtype=self.dtype_policy, **kwargs)
        norm.build((None, size))
        return norm

    def bias_initializers(self):
        """Returns the initializer of each gate's bias."""
        return [self.bias_initializer] * len(self.gates)

    def bias_row_initializers(self):
        """Returns these for each row of the bias."""
        return [self.bias_initializers()] * self.bias_rows

    def affine(self, inputs, run):
        """Returns $x W + b$, with dropout and layer normalization."""
        product = self._product(self.kernel_map, inputs, "dropout", run)
        return self.bias_layer(product if self.kernel_norm is None else self.kernel_norm(product), run)

    def _product(self, linear_map, x, rate, run, group=0):
        dropped = self.drop(x, rate, run)
        per_block = len(dropped.shape) > len(x.shape)
        if per_block:
            dropped = dropped[..., linear_map.group_slices[group], :]
        return linear_map(dropped, run, group, per_block)

    def split(self, a):
        """Splits a tensor concatenated over the gates into one piece per gate."""
        return ops.split(a, len(self.gates), axis=-1)
