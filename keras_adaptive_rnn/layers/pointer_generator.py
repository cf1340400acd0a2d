"""An output layer that generates words of a vocabulary, or copies them from a source."""

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, initializers
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._precision import precise, precise_dtype
from keras_adaptive_rnn._types import Initializer
from keras_adaptive_rnn.engine.masking import without_masked
from keras_adaptive_rnn.layers.mixture_of_softmaxes import log_add_exp
from keras_adaptive_rnn.layers.tied_embedding import TiedEmbedding
from keras_adaptive_rnn.layers.vocabulary_output import VocabularyOutput

SCORE_MODES = ("concat", "dot")
# The smallest probability of copying, so that logarithms are finite.
FLOOR = 1e-30


@export
class PointerGenerator(VocabularyOutput):
    r"""Computes the log-probabilities of a decoder that generates words, or copies them from its source.

    In each step, it attends to the states $h_i$ of an encoder, and mixes the words that stand there with those of the
    vocabulary:

    $$e_i = v^\top \tanh(W_h h_i + W_s s_t + b_a), \qquad a = \mathrm{softmax}(e), \qquad c_t = \sum_i a_i h_i$$
    $$P_{vocab} = \mathrm{softmax}\big(E\, (V [s_t; c_t] + b) + b_E\big), \qquad
      p_{gen} = \sigma(w^\top [c_t; s_t; x_t] + b_p)$$
    $$P(y) = p_{gen}\, P_{vocab}(y) + (1 - p_{gen}) \sum_{i:\, y_i = y} a_i$$

    where $s_t$ are the states of the decoder, $x_t$ its inputs and $y_i$ the words of the source. With
    `score_mode="dot"`, $e_i = (W_h h_i)^\top (W_s s_t + b_a)$, which takes less time and memory.

    It returns $\log P$, computed from logarithms. They are logits as well: losses and metrics with `from_logits=True`,
    and `keras_adaptive_rnn.evaluation.beam_search`, work unchanged. They are finite: $10^{-30}$ is the smallest
    probability of copying. In mixed precision, they are in single precision.

    Words of the source outside of the vocabulary can be copied, too. In the source and in the targets, the $k$-th such
    word of a source has the id `vocabulary_size + k`, where $k$ is below `oov_words`; an encoder or decoder reads the
    word for unknown words in its place.

    Weights, in order: those of the embedding; $W_s$, `[states, units]`, and $b_a$; $W_h$, `[encoded, units]`; in
    `"concat"`, $v$, `[units, 1]`; $V$, `[states + encoded, vectors]`, and $b$; $w$, `[encoded + states + inputs, 1]`,
    and $b_p$.

    Args:
        units: Positive integer, size of the space in which states are compared.
        embedding: $E$ and $b_E$: a `keras_adaptive_rnn.layers.TiedEmbedding`, which may be that of the inputs, or an
            integer, the size of the vocabulary, for one of the layer's own with vectors as large as the decoder's
            states.
        oov_words: Non-negative integer, the largest number of words outside of the vocabulary in a source. Defaults to
            `0`.
        score_mode: `"concat"` (default) or `"dot"`, as in `keras.layers.Attention`.
        return_p_gen: Whether to return $p_{gen}$, too. Defaults to `False`.
        kernel_initializer: Initializer of the kernels. Defaults to `"glorot_uniform"`.
        **kwargs: As in `keras.layers.Layer`.

    Call arguments:
        states: Tensor `[batch, time, states]`, $s$.
        encoded: Tensor `[batch, length, encoded]`, $h$.
        source: Integers `[batch, length]`, $y_i$, below `vocabulary_size + oov_words`.
        inputs: Tensor `[batch, time, inputs]`, $x$. `None` (default) leaves it out.
        encoded_mask: Boolean tensor `[batch, length]`, the words of the source that may be attended to. `None`
            (default) for the mask of `encoded`.

    Output shape: `[batch, time, vocabulary_size + oov_words]`; with `return_p_gen`, a pair of it and `[batch, time]`.

    Example:

    >>> source, text = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
    >>> embedding = keras.layers.Embedding(20, 8, mask_zero=True)
    >>> encoded, last = keras_adaptive_rnn.GRU(8, return_sequences=True, return_state=True)(embedding(source))
    >>> states = keras_adaptive_rnn.GRU(8, return_sequences=True)(embedding(text), initial_state=last)
    >>> log_p = keras_adaptive_rnn.layers.PointerGenerator(8, 20)(states, encoded, source)
    >>> model = keras.Model([source, text], log_p)
    >>> model.output_shape
    (None, None, 20)

    Reference: See, Liu and Manning, Get To The Point: Summarization with Pointer-Generator Networks (2017), equations 1
    to 4, 8 and 9, without the coverage of section 2.3.
    """

    is_time_distributed = False

    def __init__(
        self,
        units: int,
        embedding: TiedEmbedding | int,
        oov_words: int = 0,
        score_mode: str = "concat",
        return_p_gen: bool = False,
        *,
        kernel_initializer: Initializer = "glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.units = _arguments.integer("units", units)
        self.set_embedding(embedding)
        self.oov_words = _arguments.integer("oov_words", oov_words, minimum=0)
        self.score_mode = _arguments.choice("score_mode", score_mode, SCORE_MODES)
        self.return_p_gen = _arguments.boolean("return_p_gen", return_p_gen)
        self.kernel_initializer = _arguments.resolve("kernel_initializer", kernel_initializer, initializers.get)
        # Ids passed as floats must not lose digits to half precision.
        self.autocast = False

    def build(self, states_shape, encoded_shape, source_shape, inputs_shape=None):
        shapes = [states_shape, encoded_shape, *([] if inputs_shape is None else [inputs_shape])]
        fit = len(source_shape) == 2 and all(len(shape) == 3 and shape[-1] is not None for shape in shapes)
        if not fit or len({encoded_shape[1], source_shape[1]} - {None}) > 1:
            raise ValueError(
                f"Layer '{self.name}' expected `states` (batch, time, size), `encoded` (batch, length, size) and "
                "`source` (batch, length), and `inputs` (batch, time, size) if any, of known sizes. Received: "
                f"{', '.join(str(tuple(shape)) for shape in (*shapes[:2], source_shape, *shapes[2:]))}"
            )
        states, encoded, *inputs = (shape[-1] for shape in shapes)
        self.build_embedding(states)
        self.query = self.dense("query", self.units)
        self.key = self.dense("key", self.units, use_bias=False)
        self.score = self.dense("score", 1, use_bias=False) if self.score_mode == "concat" else None
        self.latent = self.dense("latent", self.embedding.units)
        self.switch = self.dense("switch", 1)
        for layer, size in (
            (self.query, states),
            (self.key, encoded),
            (self.score, self.units),
            (self.latent, states + encoded),
            (self.switch, encoded + states + sum(inputs)),
        ):
            if layer is not None:
                layer.build((None, None, size))

    def call(self, states, encoded, source, inputs=None, encoded_mask=None):
        states, encoded = (ops.cast(x, self.compute_dtype) for x in (states, encoded))
        if encoded_mask is not None:
            encoded_mask = _arguments.mask(self, encoded_mask, encoded, "encoded_mask")
            encoded = without_masked(encoded, encoded_mask)
        attention = ops.softmax(self._scores(states, encoded, encoded_mask), axis=-1)
        context = ops.matmul(ops.cast(attention, self.compute_dtype), encoded)
        read = [context, states] if inputs is None else [context, states, ops.cast(inputs, self.compute_dtype)]
        switch = precise(self.switch(ops.concatenate(read, axis=-1)))
        logits = self.embedding(self.latent(ops.concatenate([states, context], axis=-1)), reverse=True)

        # A sum over segments would hold less, but not be exported for batches of any size.
        words = ops.one_hot(ops.cast(source, "int32"), self.vocabulary_size + self.oov_words, dtype=attention.dtype)
        generated = ops.log_sigmoid(switch) + ops.log_softmax(precise(logits), axis=-1)
        copied = ops.log_sigmoid(-switch) + ops.log(ops.maximum(ops.matmul(attention, words), FLOOR))
        inside, outside = copied[..., : self.vocabulary_size], copied[..., self.vocabulary_size :]
        log_p = ops.concatenate([log_add_exp(generated, inside), outside], axis=-1)
        return (log_p, ops.sigmoid(switch)[..., 0]) if self.return_p_gen else log_p

    def _scores(self, states, encoded, mask):
        """Returns how well each word of the source fits each step, `[batch, time, length]`."""
        query, key = self.query(states), self.key(encoded)
        if self.score is None:
            scores = ops.matmul(query, ops.swapaxes(key, 1, 2))
        else:
            scores = self.score(ops.tanh(query[:, :, None] + key[:, None]))[..., 0]
        scores = precise(scores)
        if mask is None:
            return scores
        # Finite, as a source may be masked as a whole.
        return ops.where(mask[:, None], scores, -1e9)

    def compute_output_shape(self, states_shape, encoded_shape=None, source_shape=None, inputs_shape=None):
        steps = tuple(states_shape[:-1])
        shape = (*steps, self.vocabulary_size + self.oov_words)
        return (shape, steps) if self.return_p_gen else shape

    def compute_output_spec(self, states, encoded, source, inputs=None, encoded_mask=None):
        shapes = self.compute_output_shape(states.shape)
        if not self.return_p_gen:
            return keras.KerasTensor(shapes, dtype=precise_dtype(self.compute_dtype))
        return tuple(keras.KerasTensor(shape, dtype=precise_dtype(self.compute_dtype)) for shape in shapes)
