"""The base class of the models, and their common parts."""

from typing import Any

import keras
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._precision import precise
from keras_adaptive_rnn.cells import LSTMCell
from keras_adaptive_rnn.cells.bases import any_cell


class TextClassifier(_arguments.DeclaredArguments, keras.Model):
    """Base class of models that classify a sequence of tokens with a recurrent cell.

    Args:
        vocabulary_size: Positive integer, number of different tokens; inputs are below it.
        embedding_units: Positive integer, size of the embedding of a token.
        classes: Integer of at least 2, number of classes.
        units: Positive integer, units of the LSTM that reads. `None` (default) requires `cell`.
        cell: Recurrent cell to read with instead, from this package or from Keras. `None` (default) means
            `keras_adaptive_rnn.LSTMCell(units)`.
        mask_zero: Whether token 0 is padding. Defaults to `True`.
        name, dtype, trainable: As in `keras.Model`.
    """

    def __init__(
        self,
        vocabulary_size: int,
        embedding_units: int,
        classes: int,
        units: int | None = None,
        *,
        cell: Any = None,
        mask_zero: bool = True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = _arguments.integer("vocabulary_size", vocabulary_size)
        self.embedding_units = _arguments.integer("embedding_units", embedding_units)
        self.classes = _arguments.integer("classes", classes, minimum=2)
        self.units = _arguments.integer("units", units, optional=True)
        rule = "Exactly one of the arguments `units` and `cell` must be given"
        _arguments.check((units is None) != (cell is None), rule, units=units, cell=cell)
        self._given_cell = cell is not None
        self.cell = LSTMCell(units, dtype=self.dtype_policy) if cell is None else any_cell.validate_cell("cell", cell)
        self.mask_zero = _arguments.boolean("mask_zero", mask_zero)
        # In half precision, large tokens that arrive as floats would lose digits.
        self.autocast = False
        self.supports_masking = True

    def tokens_and_mask(self, tokens, mask):
        """Returns the tokens as integers, and a mask that is `False` at padding."""
        tokens = ops.cast(tokens, "int32")
        if len(tokens.shape) != 2:
            raise ValueError(
                f"{type(self).__name__} expects tokens of shape (batch, time). Received: {tuple(tokens.shape)}"
            )
        present = ops.not_equal(tokens, 0) if self.mask_zero else ops.ones_like(tokens, dtype="bool")
        return tokens, present if mask is None else ops.logical_and(present, _arguments.mask(self, mask, tokens))

    def compute_mask(self, inputs, mask=None):
        """Returns `None`: the output has no time axis."""

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.classes)

    def make_dense(self, units, name):
        return keras.layers.Dense(units, name=name, dtype=self.dtype_policy)

    def config_value(self, name):
        return None if name == "cell" and not self._given_cell else super().config_value(name)


class MaskedMean(keras.layers.GlobalAveragePooling1D):
    """Averages over the time steps that are not masked; unlike Keras's layer, returns zero if all of them are."""

    def call(self, inputs, mask=None):
        if mask is None:
            return super().call(inputs)
        weights = ops.expand_dims(ops.cast(_arguments.mask(self, mask, inputs), inputs.dtype), -1)
        return ops.sum(inputs * weights, axis=1) / ops.maximum(ops.sum(weights, axis=1), 1)


def probabilities(logits):
    """Returns the softmax in float32 or better: half precision keeps only two or three digits of a probability."""
    return ops.softmax(precise(logits))
