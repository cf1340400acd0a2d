"""What the models share: their arguments, declared once, and the pass over a few tokens."""

from typing import Any

import keras

class TextClassifier(keras.Model):
    """A model that classifies a sequence of tokens with a recurrent cell.

    Args:
        vocabulary_size: Positive integer, how many tokens there are; inputs are below it.
        embedding_units: Positive integer, size of the vector of a token.
        classes: Integer of at least 2, how many classes there are.
        units: Positive integer, units of the LSTM that reads; `None` (default) where `cell` is given.
        cell: Recurrent cell of any kind that reads instead, ours or Keras's; `None` (default) for
            `keras_adaptive_rnn.LSTMCell(units)`.
        mask_zero: Whether token 0 is padding. Defaults to `True`.
        name, dtype, trainable: As in `keras.Model`.
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
        cell: Any = None,
        mask_zero: bool = True,
        *,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool | None = None,
    ) -> None:
        """A model that classifies a sequence of tokens with a recurrent cell.

        Args:
            vocabulary_size: Positive integer, how many tokens there are; inputs are below it.
            embedding_units: Positive integer, size of the vector of a token.
            classes: Integer of at least 2, how many classes there are.
            units: Positive integer, units of the LSTM that reads; `None` (default) where `cell` is given.
            cell: Recurrent cell of any kind that reads instead, ours or Keras's; `None` (default) for
                `keras_adaptive_rnn.LSTMCell(units)`.
            mask_zero: Whether token 0 is padding. Defaults to `True`.
            name: As in `keras.layers.Layer`.
            dtype: As in `keras.layers.Layer`.
            trainable: As in `keras.layers.Layer`.
        """

    def __init_subclass__(cls, **kwargs: Any) -> None: ...
    def tokens_and_mask(self, tokens: Any, mask: Any) -> Any:
        """Returns the tokens as integers, and which of them are no padding."""

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """No time is left that a mask could be of."""

    def make_dense(self, units: Any, name: Any) -> Any: ...
    def get_config(self) -> dict[str, Any]: ...

class MaskedMean(keras.layers.Layer):
    """The mean over time of the vectors that are not masked; zero where all are."""

    supports_masking: bool

    def __init__(self, *, name: str | None = None, dtype: Any = None, trainable: bool | None = None) -> None:
        """The mean over time of the vectors that are not masked; zero where all are.

        Args:
            name: As in `keras.layers.Layer`.
            dtype: As in `keras.layers.Layer`.
            trainable: As in `keras.layers.Layer`.
        """

    def compute_mask(self, inputs: Any, mask: Any = None) -> None: ...
    def call(self, inputs: Any, mask: Any = None) -> Any: ...
    def compute_output_shape(self, input_shape: Any) -> Any: ...

def probabilities(logits: Any) -> Any:
    """Returns the softmax, at least in float32: a probability in half precision has two or three digits."""

def run(cell: Any, vectors: Any, states: Any, mask: Any, training: bool | None, return_sequences: bool = False) -> Any:
    """Runs a cell over vectors `[time, batch, size]` from `states`, inside a sequence that has been started.

    Returns: `(outputs of all steps or None, states)`.
    """
