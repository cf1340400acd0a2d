"""The additive part of an affine map."""

import itertools

import keras
from keras import ops

from keras_adaptive_rnn._keras import AutocastScope, entry_elsewhere
from keras_adaptive_rnn._saving import StoredByCell
from keras_adaptive_rnn._types import Constraint, Regularizer
from keras_adaptive_rnn.initializers import reseeded
from keras_adaptive_rnn.maps.base import narrow_blocks


class Bias(StoredByCell, keras.layers.Layer):
    """Adds a bias `[blocks * units]`, or one row of a bias `[rows, blocks * units]`.

    It is a layer, not a weight of the cell, so that the weights of a cell are in Keras's order: kernel, recurrent
    kernel, bias.

    Args:
        units: Size of one block.
        initializers: List of initializers, one for each block; for several rows, a list of such lists.
        regularizer, constraint: Regularizer and constraint of the whole bias.
    """

    # For `step_model`: it reads the last axis alone.
    is_time_distributed = True

    def __init__(
        self, units: int, initializers: list, regularizer: Regularizer = None, constraint: Constraint = None, **kwargs
    ):
        super().__init__(**kwargs)
        self.units = units
        self.row_initializers = initializers if isinstance(initializers[0], list) else [initializers]
        self.rows = len(self.row_initializers)
        self.regularizer = regularizer
        self.constraint = constraint

    def build(self, input_shape=None):
        size = self.units * len(self.row_initializers[0])
        self.bias = self.add_weight(
            name="bias",
            shape=(size,) if self.rows == 1 else (self.rows, size),
            initializer=self._draw,
            regularizer=self.regularizer,
            constraint=self.constraint,
        )

    def _draw(self, shape, dtype=None):
        first = self.row_initializers[0][0]
        if all(initializer is first for row in self.row_initializers for initializer in row):
            # As in Keras's cells.
            return first(shape, dtype=dtype)
        rows = [self._draw_row(row, k, dtype) for k, row in enumerate(self.row_initializers)]
        return ops.reshape(ops.stack(rows), shape)

    def _draw_row(self, row, k, dtype):
        pieces = [list(equal) for _, equal in itertools.groupby(row, key=id)]
        drawn = [reseeded(piece[0], "row", k)((len(piece) * self.units,), dtype=dtype) for piece in pieces]
        return ops.concatenate(drawn)

    def load_own_variables(self, store):
        # In files of version 0.1, it is in the cell's attribute `bias`.
        super().load_own_variables(entry_elsewhere(store, lambda place: place.removesuffix("_layer")) or store)

    def quantize(self, mode=None, type_check=True, config=None):
        """Does nothing: as in Keras's layers, a bias stays as it is."""

    def prepare_sequence(self, batch_size, run):
        return {"rows": self._values()} if run.prepares_weights else {}

    def narrowed(self, inputs, units, run):
        """See `LinearMap.narrowed`; `inputs` is ignored."""
        rows = run.prepared_by(self)["rows"]
        return {"rows": [narrow_blocks(row[None], 1, self.units, units)[0] for row in rows]}

    def value(self, run, row=0):
        """Returns one row, `[blocks * units]`."""
        rows = run.prepared_by(self).get("rows")
        return (self._values() if rows is None else rows)[row]

    def _values(self):
        with AutocastScope(self.compute_dtype):
            values = ops.cast(self.bias, self.compute_dtype)
        return [values] if self.rows == 1 else ops.unstack(values)

    def __call__(self, inputs, run, row=0):
        return inputs + self.value(run, row)


def no_bias(inputs, run, row=0):
    """The identity, used when `use_bias=False`.

    Args:
        inputs: Tensor, which is returned.
        run: Ignored.
        row: Ignored. Defaults to `0`.
    """
    return inputs
