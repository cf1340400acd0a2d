"""The additive part of an affine map."""

import keras
from keras import ops

from keras_adaptive_rnn._keras import AutocastScope
from keras_adaptive_rnn.maps.base import Sequence, narrow_blocks


class Bias(keras.layers.Layer):
    """Adds a bias, `[blocks * units]`, or one of two where a cell has two (`rows=2`: `[2, blocks * units]`).

    A layer of its own rather than a weight of the cell, so that a cell's weights come in Keras's order: kernel,
    recurrent kernel, bias.

    Args:
        units: Entries of one block.
        initializers: One initializer for each block.
        rows: How many biases. Defaults to 1.
        regularizer, constraint: Of the whole bias.
    """

    def __init__(self, units, initializers, rows=1, regularizer=None, constraint=None, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.initializers = initializers
        self.rows = rows
        self.regularizer = regularizer
        self.constraint = constraint
        self._sequence = Sequence()

    def build(self, input_shape=None):
        def draw(shape, dtype=None):
            row = ops.concatenate([initializer((self.units,), dtype=dtype) for initializer in self.initializers])
            return row if self.rows == 1 else ops.stack([row] * self.rows)

        size = self.units * len(self.initializers)
        self.bias = self.add_weight(
            name="bias",
            shape=(size,) if self.rows == 1 else (self.rows, size),
            initializer=draw,
            regularizer=self.regularizer,
            constraint=self.constraint,
        )

    def start_sequence(self, training):
        if training is not None:
            self._sequence.prepared = self._values()

    def prepare_narrow(self, sizes):
        """As of `LinearMap`; the inputs of each size say nothing here."""
        rows = self._sequence.prepared
        self._sequence.narrow = [
            [narrow_blocks(row[None], 1, self.units, units)[0] for row in rows] for _, units in sizes
        ]

    def end_sequence(self):
        self._sequence.clear()

    def value(self, row=0):
        """Returns one bias, `[blocks * units]`."""
        prepared = self._sequence.prepared
        return (self._values() if prepared is None else prepared)[row]

    def _values(self):
        with AutocastScope(self.compute_dtype):
            values = ops.cast(self.bias, self.compute_dtype)
        return [values] if self.rows == 1 else ops.unstack(values)

    def __call__(self, inputs, row=0):
        return inputs + self.value(row)


def no_bias(inputs, row=0):
    """Stands where a cell has no bias."""
    return inputs
