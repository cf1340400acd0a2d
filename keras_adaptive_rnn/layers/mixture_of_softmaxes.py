"""An output layer that mixes several softmaxes."""

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, engine, initializers
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._precision import precise, precise_dtype
from keras_adaptive_rnn._types import Initializer
from keras_adaptive_rnn.layers.tied_embedding import TiedEmbedding
from keras_adaptive_rnn.layers.vocabulary_output import VocabularyOutput


@export
class MixtureOfSoftmaxes(VocabularyOutput):
    r"""Computes the log-probabilities of a mixture of $K$ softmaxes, whose rank is not bounded by their size.

    $$\pi = \mathrm{softmax}(h W_\pi), \qquad c_k = \tanh(h W_k + b_k), \qquad
      p = \sum_{k=1}^K \pi_k\, \mathrm{softmax}(t\, (c_k E^\top + b))$$

    It returns $\log p$, computed from logarithms. They are logits as well: losses and metrics with `from_logits=True`,
    and samplers, work unchanged. In mixed precision, they are in single precision. In training, dropout acts on the
    joined $c$, with one mask for all steps of a row.

    Weights, in order: those of the embedding; the kernel of $\pi$, `[inputs, experts]`; the kernels of $c$,
    `[inputs, experts * size]`, one expert after the other, and their bias.

    Args:
        experts: Positive integer, the number $K$ of softmaxes.
        embedding: $E$ and $b$: a `keras_adaptive_rnn.layers.TiedEmbedding`, which may be that of the inputs, or an
            integer, the size of the vocabulary, for one of the layer's own with vectors as large as the inputs.
        dropout: Float in `[0, 1)`, fraction of $c$ to drop. Defaults to `0.0`.
        temperature: Positive number $t$, which multiplies the logits of each expert (an inverse temperature, as in the
            code of Melis et al.). Defaults to `1.0`.
        epsilon: Non-negative number that is added to $p$ before the logarithm. Defaults to `0.0`, as in the code of
            Melis et al.; in that of Yang et al. it is `1e-8`.
        kernel_initializer: Initializer of the kernels. Defaults to `"glorot_uniform"`.
        seed: Non-negative integer seed of the dropout, or `None` (default).
        **kwargs: As in `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor `[batch, ..., inputs]`, $h$.
        training: Whether dropout is on.

    Output shape: `[batch, ..., vocabulary_size]`.

    Example:

    >>> embedding = keras_adaptive_rnn.layers.TiedEmbedding(10, 4)
    >>> mixture = keras_adaptive_rnn.layers.MixtureOfSoftmaxes(3, embedding)
    >>> log_p = mixture(np.ones((2, 5, 8), "float32"))
    >>> tuple(log_p.shape)
    (2, 5, 10)

    Reference: Yang, Dai, Salakhutdinov and Cohen, Breaking the Softmax Bottleneck (2018), section 2.3.
    """

    noise_rates = ("dropout",)

    def __init__(
        self,
        experts: int,
        embedding: TiedEmbedding | int,
        dropout: float = 0.0,
        temperature: float = 1.0,
        *,
        epsilon: float = 0.0,
        kernel_initializer: Initializer = "glorot_uniform",
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.experts = _arguments.integer("experts", experts)
        self.set_embedding(embedding)
        self.dropout = _arguments.rate("dropout", dropout)
        self.temperature = _arguments.number("temperature", temperature, positive=True)
        self.epsilon = _arguments.number("epsilon", epsilon, minimum=0)
        self.kernel_initializer = _arguments.resolve("kernel_initializer", kernel_initializer, initializers.get)
        self.seed = _arguments.integer("seed", seed, minimum=0, optional=True)
        self.seed_generator = engine.SeedGenerator(self.seed)

    def build(self, input_shape):
        self.build_embedding(_arguments.known_features(self, input_shape))
        self.prior = self.dense("prior", self.experts, use_bias=False)
        self.latent = self.dense("latent", self.experts * self.embedding.units, activation="tanh")
        for layer in (self.prior, self.latent):
            layer.build(input_shape)

    def call(self, inputs, training=False):
        latent = self.latent(inputs)
        if training and self.dropout:
            latent = latent * self.draw_factors(ops.shape(latent))
        log_priors = ops.log_softmax(precise(self.prior(inputs)), axis=-1)
        # One expert after the other: all at once would need `experts` times the memory of the output.
        mixed = None
        for k, expert in enumerate(ops.split(latent, self.experts, axis=-1)):
            logits = self.temperature * precise(self.embedding(expert, reverse=True))
            log_p = ops.log_softmax(logits, axis=-1) + log_priors[..., k : k + 1]
            mixed = log_p if mixed is None else log_add_exp(mixed, log_p)
        return ops.log(ops.exp(mixed) + self.epsilon) if self.epsilon else mixed

    def draw_factors(self, shape):
        """Returns the factors of latent vectors of a shape; the axes between rows and features have size 1."""
        shape = (shape[0], *(1 for _ in shape[1:-1]), shape[-1])
        return keras.random.dropout(ops.ones(shape, dtype=self.compute_dtype), self.dropout, seed=self.seed_generator)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.vocabulary_size)

    def compute_output_spec(self, inputs, training=False):
        return keras.KerasTensor(self.compute_output_shape(inputs.shape), dtype=precise_dtype(self.compute_dtype))


def log_add_exp(a, b):
    r"""Returns $\log(e^a + e^b)$ by operations that a file in ONNX can hold; `ops.logaddexp` has others."""
    greatest = ops.stop_gradient(ops.maximum(a, b))
    return greatest + ops.log(ops.exp(a - greatest) + ops.exp(b - greatest))
