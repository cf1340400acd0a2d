"""One matrix that embeds tokens and predicts them."""

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, engine
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._products import plain_matmul
from keras_adaptive_rnn._types import Constraint, Initializer, Regularizer
from keras_adaptive_rnn.layers.feed_forward import FeedForward


@export
class TiedEmbedding(FeedForward):
    r"""Maps tokens to vectors, and vectors to the logits of tokens, with the same matrix.

    $$x = m_w E_w, \qquad \text{logits} = z E^\top + b$$

    In training, $m_w$ is $0$ with probability `word_dropout` and $1 / (1 - \text{word\_dropout})$ otherwise: one number
    for each word of the vocabulary and each call, the same in all rows and steps. It does not touch the logits.

    Weights, in order: `embeddings`, `[vocabulary_size, units]`; with `use_bias`, `bias`, `[vocabulary_size]`.

    Args:
        vocabulary_size: Positive integer, the number of tokens. Tokens must be smaller.
        units: Positive integer, size of the vectors.
        word_dropout: Float in `[0, 1)`, fraction of the words to drop. Defaults to `0.0`.
        use_bias: Whether to add $b$ to the logits. Defaults to `True`.
        embeddings_initializer: Initializer of $E$. Defaults to `"uniform"`, that of `keras.layers.Embedding`; AWD-LSTM
            starts from `keras.initializers.RandomUniform(-0.1, 0.1)`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        embeddings_regularizer, bias_regularizer: Regularizers, `None` by default.
        embeddings_constraint, bias_constraint: Constraints, `None` by default.
        seed: Non-negative integer seed of the dropped words, or `None` (default).
        **kwargs: As in `keras.layers.Layer`.

    Call arguments:
        inputs: Integer tensor of any shape; with `reverse`, tensor `[..., units]`.
        reverse: Whether to return logits. Defaults to `False`.
        training: Whether words are dropped.

    Output shape: `[..., units]`, with one more axis than the inputs; with `reverse`, `[..., vocabulary_size]`.

    Example:

    >>> embedding = keras_adaptive_rnn.layers.TiedEmbedding(10, 4, word_dropout=0.1)
    >>> x = embedding(np.array([[1, 2, 3]]))
    >>> tuple(x.shape), tuple(embedding(x, reverse=True).shape)
    ((1, 3, 4), (1, 3, 10))

    Reference: Press and Wolf, Using the Output Embedding to Improve Language Models (2017); dropped words: Gal and
    Ghahramani, A Theoretically Grounded Application of Dropout in Recurrent Neural Networks (2016), and Merity, Keskar
    and Socher, Regularizing and Optimizing LSTM Language Models (2018), section 4.3.
    """

    noise_rates = ("word_dropout",)
    shares_noise = True

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
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.vocabulary_size = _arguments.integer("vocabulary_size", vocabulary_size)
        self.units = _arguments.integer("units", units)
        self.word_dropout = _arguments.rate("word_dropout", word_dropout)
        self.use_bias = _arguments.boolean("use_bias", use_bias)
        self.set_resolved(
            embeddings_initializer=embeddings_initializer,
            bias_initializer=bias_initializer,
            embeddings_regularizer=embeddings_regularizer,
            bias_regularizer=bias_regularizer,
            embeddings_constraint=embeddings_constraint,
            bias_constraint=bias_constraint,
        )
        self.seed = _arguments.integer("seed", seed, minimum=0, optional=True)
        self.seed_generator = engine.SeedGenerator(self.seed)
        # Tokens passed as floats must not lose digits to half precision.
        self.autocast = False

    def build(self, input_shape=None):
        def add(name, shape):
            return self.add_weight(name=name, shape=shape, **self.arguments_of(name))

        self.embeddings = add("embeddings", (self.vocabulary_size, self.units))
        self.bias = add("bias", (self.vocabulary_size,)) if self.use_bias else None

    def call(self, inputs, reverse=False, training=False):
        if not reverse:
            tokens = ops.cast(inputs, "int32")
            vectors = ops.cast(ops.take(self.embeddings, tokens, axis=0), self.compute_dtype)
            if training and self.word_dropout:
                vectors = vectors * ops.expand_dims(ops.take(self.draw_factors(), tokens, axis=0), -1)
            return vectors
        self.compute_output_shape(inputs.shape, reverse=True)  # Raises if the size is wrong.
        logits = plain_matmul(
            ops.cast(inputs, self.compute_dtype), ops.transpose(ops.cast(self.embeddings, self.compute_dtype))
        )
        return logits if self.bias is None else logits + ops.cast(self.bias, self.compute_dtype)

    def draw_factors(self):
        """Returns the factor of each word in one call, `[vocabulary_size]`."""
        ones = ops.ones((self.vocabulary_size,), dtype=self.compute_dtype)
        return keras.random.dropout(ones, self.word_dropout, seed=self.seed_generator)

    def compute_output_shape(self, input_shape, reverse=False):
        if not reverse:
            return (*input_shape, self.units)
        if input_shape[-1] != self.units:
            raise ValueError(
                f"Layer '{self.name}' with reverse=True expected inputs of shape (..., {self.units}). "
                f"Received: {tuple(input_shape)}"
            )
        return (*input_shape[:-1], self.vocabulary_size)

    def compute_output_spec(self, inputs, reverse=False, training=False):
        return keras.KerasTensor(self.compute_output_shape(inputs.shape, reverse), dtype=self.compute_dtype)
