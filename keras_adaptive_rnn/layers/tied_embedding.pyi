"""One matrix that embeds tokens and predicts them."""

from typing import Any

from keras_adaptive_rnn._types import Constraint, Initializer, Regularizer
from keras_adaptive_rnn.layers.feed_forward import FeedForward

class TiedEmbedding(FeedForward):
    """Maps tokens to vectors, and vectors to the logits of tokens, with the same matrix.

    $$x = m_w E_w, \\qquad \\text{logits} = z E^\\top + b$$

    In training, $m_w$ is $0$ with probability `word_dropout` and $1 / (1 - \\text{word\\_dropout})$ otherwise: one number
    for each word of the vocabulary and each call, the same in all rows and steps. It does not touch the logits.

    Weights, in order: `embeddings`, `[vocabulary_size, units]`; with `use_bias`, `bias`, `[vocabulary_size]`.

    Args:
        vocabulary_size: Positive integer, the number of tokens. Tokens must be smaller.
        units: Positive integer, size of the vectors.
        word_dropout: Float in `[0, 1)`, fraction of the words to drop. Defaults to `0.0`.
        use_bias: Whether to add $b$ to the logits. Defaults to `True`.
        embeddings_initializer: Initializer of $E$. Defaults to `"uniform"`, that of `keras.layers.Embedding`;
            AWD-LSTM starts from `keras.initializers.RandomUniform(-0.1, 0.1)`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        embeddings_regularizer, bias_regularizer: Regularizers, `None` by default.
        embeddings_constraint, bias_constraint: Constraints, `None` by default.
        seed: Non-negative integer seed of the dropped words, or `None` (default).
        activity_regularizer: Regularizer of the output. Defaults to `None`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Integer tensor of any shape; with `reverse`, tensor `[..., units]`.
        reverse: Whether to return logits. Defaults to `False`.
        training: Whether words are dropped.

    Output shape: `[..., units]`, with one more axis than the inputs; with `reverse`, `[..., vocabulary_size]`.

    Raises:
        ValueError: An argument is out of range; with `reverse`, the last axis of the inputs is not `units`.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> embedding = keras_adaptive_rnn.layers.TiedEmbedding(10, 4, word_dropout=0.1)
    >>> x = embedding(np.array([[1, 2, 3]]))
    >>> tuple(x.shape), tuple(embedding(x, reverse=True).shape)
    ((1, 3, 4), (1, 3, 10))

    Reference: Press and Wolf, Using the Output Embedding to Improve Language Models (2017); dropped words: Gal and
    Ghahramani, A Theoretically Grounded Application of Dropout in Recurrent Neural Networks (2016), and Merity, Keskar
    and Socher, Regularizing and Optimizing LSTM Language Models (2018), section 4.3.
    """

    noise_rates: Any
    shares_noise: bool
    vocabulary_size: int
    units: int
    word_dropout: float
    use_bias: bool
    seed: int | None
    seed_generator: Any
    autocast: bool
    embeddings: Any
    bias: Any
    embeddings_initializer: Any
    bias_initializer: Any
    embeddings_regularizer: Any
    bias_regularizer: Any
    embeddings_constraint: Any
    bias_constraint: Any
    activity_regularizer: Any

    def __init__(
        self,
        vocabulary_size: int,
        units: int,
        word_dropout: float = 0.0,
        use_bias: bool = True,
        embeddings_initializer: Initializer = "uniform",
        *,
        bias_initializer: Initializer = "zeros",
        embeddings_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        embeddings_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        seed: int | None = None,
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def build(self, input_shape: Any = None) -> None: ...
    def call(self, inputs: Any, reverse: bool = False, training: bool | None = False) -> Any: ...
    def draw_factors(self) -> Any:
        """Returns the factor of each word in one call, `[vocabulary_size]`."""

    def compute_output_shape(self, input_shape: Any, reverse: bool = False) -> Any: ...
    def compute_output_spec(self, inputs: Any, reverse: bool = False, training: bool | None = False) -> Any: ...
