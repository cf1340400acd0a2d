"""An output layer that mixes several softmaxes."""

from typing import Any

from keras_adaptive_rnn._types import Initializer, Regularizer
from keras_adaptive_rnn.layers.feed_forward import FeedForward
from keras_adaptive_rnn.layers.tied_embedding import TiedEmbedding

class MixtureOfSoftmaxes(FeedForward):
    """Computes the log-probabilities of a mixture of $K$ softmaxes, whose rank is not bounded by their size.

    $$\\pi = \\mathrm{softmax}(h W_\\pi), \\qquad c_k = \\tanh(h W_k + b_k), \\qquad
      p = \\sum_{k=1}^K \\pi_k\\, \\mathrm{softmax}(t\\, (c_k E^\\top + b))$$

    It returns $\\log p$, computed from logarithms. They are logits as well: losses and metrics with `from_logits=True`,
    and samplers, work unchanged. In training, dropout acts on the joined $c$, with one mask for all steps of a row.

    Weights, in order: the kernel of $\\pi$, `[inputs, experts]`; the kernels of $c$, `[inputs, experts * size]`, one
    expert after the other, and their bias; then those of the embedding.

    Args:
        experts: Positive integer, the number $K$ of softmaxes.
        embedding: $E$ and $b$: a `keras_adaptive_rnn.layers.TiedEmbedding`, which may be that of the inputs, or an
            integer, the size of the vocabulary, for one of the layer's own with vectors as large as the inputs.
        dropout: Float in `[0, 1)`, fraction of $c$ to drop. Defaults to `0.0`.
        temperature: Positive number $t$, which multiplies the logits of each expert (an inverse temperature, as in
            the code of Melis et al.). Defaults to `1.0`.
        epsilon: Non-negative number that is added to $p$ before the logarithm. Defaults to `0.0`, as in the code of
            Melis et al.; in that of Yang et al. it is `1e-8`.
        kernel_initializer: Initializer of the kernels. Defaults to `"glorot_uniform"`.
        seed: Non-negative integer seed of the dropout, or `None` (default).
        activity_regularizer: Regularizer of the output. Defaults to `None`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[batch, ..., inputs]`, $h$.
        training: Whether dropout is on.

    Output shape: `[batch, ..., vocabulary_size]`.

    Raises:
        ValueError: An argument is out of range, or the feature size of the inputs is unknown.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> embedding = keras_adaptive_rnn.layers.TiedEmbedding(10, 4)
    >>> mixture = keras_adaptive_rnn.layers.MixtureOfSoftmaxes(3, embedding)
    >>> log_p = mixture(np.ones((2, 5, 8), "float32"))
    >>> tuple(log_p.shape)
    (2, 5, 10)

    Reference: Yang, Dai, Salakhutdinov and Cohen, Breaking the Softmax Bottleneck (2018), section 2.3.
    """

    noise_rates: Any
    experts: int
    embedding: Any
    dropout: float
    temperature: float
    epsilon: float
    kernel_initializer: Any
    seed: int | None
    seed_generator: Any
    prior: Any
    latent: Any
    activity_regularizer: Any

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
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def given(self, name: Any) -> Any: ...
    def build(self, input_shape: Any) -> None: ...
    def call(self, inputs: Any, training: bool | None = False) -> Any: ...
    def draw_factors(self, shape: Any) -> Any:
        """Returns the factors of latent vectors of a shape; the axes between rows and features have size 1."""

    def compute_output_shape(self, input_shape: Any) -> Any: ...

def log_add_exp(a: Any, b: Any) -> Any:
    """Returns $\\log(e^a + e^b)$ by operations that a file in ONNX can hold; `ops.logaddexp` has others."""
