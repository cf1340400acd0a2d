"""The base class of the models, and what they share."""

from typing import Any

import keras

from keras_adaptive_rnn import _arguments

class TextClassifier(_arguments.Declared, keras.Model):
    """Base class of models that classify a sequence of tokens with a recurrent cell.

    Args:
        vocabulary_size: Positive integer, number of different tokens; inputs are below it.
        embedding_units: Positive integer, size of the embedding of a token.
        classes: Integer of at least 2, number of classes.
        units: Positive integer, units of the LSTM that reads. `None` (default) requires `cell`.
        cell: Recurrent cell to read with instead, from this package or from Keras. `None` (default) means
            `keras_adaptive_rnn.LSTMCell(units)`.
        mask_zero: Whether token 0 is padding. Defaults to `True`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.
    """

    vocabulary_size: int
    embedding_units: int
    classes: int
    units: int | None
    cell: Any
    mask_zero: bool
    autocast: bool
    supports_masking: bool

    def __init__(
        self,
        vocabulary_size: int,
        embedding_units: int,
        classes: int,
        units: int | None = None,
        *,
        cell: Any = None,
        mask_zero: bool = True,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def tokens_and_mask(self, tokens: Any, mask: Any) -> Any:
        """Returns the tokens as integers, and a mask that is `False` at padding."""

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """Returns `None`: the output has no time axis."""

    def compute_output_shape(self, input_shape: Any) -> Any: ...
    def make_dense(self, units: Any, name: Any) -> Any: ...
    def given(self, name: Any) -> Any: ...

class MaskedMean(keras.layers.GlobalAveragePooling1D):
    """Averages over the time steps that are not masked; unlike Keras's layer, returns zero if all of them are."""

    def call(self, inputs: Any, mask: Any = None) -> Any: ...

def probabilities(logits: Any) -> Any:
    """Returns the softmax in float32 or better: half precision keeps only two or three digits of a probability."""
