"""The diagonal matrix: units that each see themselves alone."""

from keras import ops

from keras_adaptive_rnn._products import multiply
from keras_adaptive_rnn.maps.base import LinearMap


class Diagonal(LinearMap):
    r"""A diagonal matrix for each block: $y_g = x \odot d_g$.

    Weights: `diagonal_kernel`, `[blocks * units]`.

    Args:
        units, blocks, initializer: As in `keras_adaptive_rnn.maps.LinearMap`.
    """

    def build(self, input_shape):
        super().build(input_shape)
        self.diagonal_kernel = self.add_weight(
            name="diagonal_kernel", shape=(sum(self.blocks) * self.units,), initializer=self.initializer
        )

    def prepare(self, run):
        return self.by_group(ops.cast(self.diagonal_kernel, self.compute_dtype)[None])

    def product(self, inputs, prepared, run):
        return multiply(ops.concatenate([inputs] * (prepared.shape[-1] // self.units), axis=-1), prepared)
