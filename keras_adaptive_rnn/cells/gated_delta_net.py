"""Gated DeltaNet: a matrix memory that decays, and corrects what it has stored under a key."""

import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._precision import precise
from keras_adaptive_rnn._products import plain_matmul
from keras_adaptive_rnn._seeds import fold_in
from keras_adaptive_rnn.cells.bases.matrix_memory import NEVER, MatrixMemoryCell, cumulative_sum
from keras_adaptive_rnn.initializers import Drawn

# Added to the squared norms of queries and keys, as in the authors' code.
UNIT_EPSILON = 1e-6
# The ranges of the initial rates $\exp(A)$ and widths softplus(b) of steps.
RATES, WIDTHS = (1.0, 16.0), (0.001, 0.1)


@export
class GatedDeltaNetCell(MatrixMemoryCell):
    r"""The recurrence of Gated DeltaNet, a matrix memory with a decay and the delta rule.

    $$q_t, k_t = \frac{\mathrm{silu}(x_t W_{q, k})}{\lVert \mathrm{silu}(x_t W_{q, k}) \rVert}, \qquad
      v_t = \mathrm{silu}(x_t W_v), \qquad g_t = \mathrm{silu}(x_t W_g)$$
    $$\alpha_t = \exp(-e^A \, \mathrm{softplus}(x_t w_\alpha + \delta)), \qquad
      \beta_t = \sigma(x_t w_\beta)$$
    $$S_t = \alpha_t (I - \beta_t k_t^\top k_t) S_{t-1} + \beta_t k_t^\top v_t, \qquad
      h_t = g_t \odot \mathrm{norm}(s \, q_t S_t)$$

    for each head, whose $\alpha_t, \beta_t$ are numbers. $\mathrm{norm}$ divides by the root of the mean square plus
    $\epsilon$, and multiplies by a gain that all heads share. With `negative_eigenvalues`, $\beta_t$ is twice as large,
    so that the matrix that multiplies $S_{t-1}$ can reverse a direction, as it must to count modulo two. This is the
    recurrence of the paper's block, which also has short convolutions before $\mathrm{silu}$ and a linear layer after
    $h$.

    The paper does not scale queries. The authors' package (`fla`) multiplies them by $d^{-1/2}$, where $d$ is the size
    of a head, and so does Qwen3-Next, whose $\epsilon$ is $10^{-6}$. After the norm this shows only where little is
    read: at initialization, for normal inputs, outputs differ by a median of 0.1 % with heads of 4 units and 12 % with
    heads of 64. For the weights of such a model, pass `query_scale=head_size**-0.5`.

    Nothing depends on $h_{t-1}$: `keras_adaptive_rnn.layers.RNN` computes the gates of all steps at once, and the
    memory in chunks of 32 steps, a few matrix products each (`schedule="scan"`).

    Weights, in order, gates concatenated as q, k, v, g, and alpha, beta: `rate` $A$ and `width` $\delta$, each
    `[num_heads]`; `gain` `[units / num_heads]`; `kernel_map` `[inputs, 4 units]`; `gate_map` `[inputs, 2 num_heads]`;
    with `use_bias`, `bias` `[4 units]` and `gate_bias` `[2 num_heads]`. As in Mamba-2, $e^A$ is drawn uniformly between
    1 and 16 (in the authors' code, between 0 and 16), and softplus of $\delta$ between 0.001 and 0.1, its logarithm
    uniformly.

    Args:
        units: Positive integer, dimensionality of the output space, a multiple of `num_heads`.
        negative_eigenvalues: Whether $\beta_t$ lies in $[0, 2]$ instead of $[0, 1]$. Defaults to `False`.
        query_scale: Positive number $s$ by which queries are multiplied. Defaults to `1.0`, as in the paper.
        epsilon: Positive number $\epsilon$. Defaults to `1e-5`, as in the authors' code.
        use_bias: Whether to add biases to $x W$ and $x w$. Defaults to `False`, as in the paper.
        **kwargs: As in `keras_adaptive_rnn.cells.MatrixMemoryCell`. Those of $W$ and $b$ hold for the gates, too,
            except for `kernel_map`.

    States: $h$ `[batch, units]`, which is not read; $S$ of all heads, flattened, `[batch, units^2 / num_heads]`.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.GatedDeltaNetCell(8, num_heads=2))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Yang, Kautz, Hatamizadeh, Gated Delta Networks: Improving Mamba2 with Delta Rule (2024), section 3;
    negative eigenvalues: Grazzi et al., Unlocking State-Tracking in Linear RNNs Through Negative Eigenvalues (2024).
    """

    gates = ("q", "k", "v", "g")
    head_gates = ("alpha", "beta")
    neutral = (None, None, None, 0.0, 0.0)

    def __init__(
        self,
        units: int,
        *,
        negative_eigenvalues: bool = False,
        query_scale: float = 1.0,
        epsilon: float = 1e-5,
        use_bias: bool = False,
        **kwargs,
    ):
        super().__init__(units, use_bias=use_bias, **kwargs)
        self.negative_eigenvalues = _arguments.boolean("negative_eigenvalues", negative_eigenvalues)
        self.query_scale = _arguments.number("query_scale", query_scale, positive=True)
        self.epsilon = _arguments.number("epsilon", epsilon, positive=True)

    @property
    def chunk_size(self):
        # Training with 15 numbers a head, 16 steps take half the time of 32; with 64 numbers, 1.1 to 1.4 times it.
        return 16 if self.head_size < 32 else 32

    def build(self, input_shape):
        super().build(input_shape)
        rates = Drawn(RATES, np.log, fold_in(self.seed, "rate"))
        widths = Drawn(WIDTHS, softplus_inverse, fold_in(self.seed, "width"), logarithmic=True)
        self.rate = self.add_weight(name="rate", shape=(self.num_heads,), initializer=rates)
        self.width = self.add_weight(name="width", shape=(self.num_heads,), initializer=widths)
        self.gain = self.add_weight(name="gain", shape=(self.head_size,), initializer="ones")

    def project(self, inputs, run):
        q, k, v, g = self.split(ops.silu(self.affine(inputs, run)))
        alpha, beta = self.affine_of_heads(inputs, run)
        log_alpha = -ops.exp(ops.cast(self.rate, q.dtype)) * ops.softplus(alpha + ops.cast(self.width, q.dtype))
        beta = (2 if self.negative_eigenvalues else 1) * ops.sigmoid(beta)
        run.sow(self, alpha=ops.exp(log_alpha), beta=beta, g=g)
        return [_unit(self.heads(q)), _unit(self.heads(k)), self.heads(v), log_alpha, beta], [g]

    def recur_heads(self, coefficients, memories):
        (q, k, v, log_alpha, beta), (s,) = coefficients, memories
        s = ops.exp(log_alpha)[..., None, None] * s
        written = beta[..., None] * (v - plain_matmul(k[..., None, :], s)[..., 0, :])
        s = s + k[..., :, None] * written[..., None, :]
        return plain_matmul(q[..., None, :], s)[..., 0, :], [s]

    def recur_chunk(self, coefficients, memories, pieces):
        q, k, v, log_alpha, beta = coefficients
        b = cumulative_sum(log_alpha, pieces.seen)
        kept = ops.exp(b)[..., None]
        # The share that step t sees of what step s has written.
        seen = ops.exp(ops.where(pieces.seen, b[..., :, None] - b[..., None, :], NEVER))
        k_transposed = ops.swapaxes(k, -1, -2)
        # Each step writes what depends on the steps before it: a triangular system.
        among = ops.where(pieces.before, beta[..., None] * seen * plain_matmul(k, k_transposed), 0.0)
        known = kept * pieces.from_start(lambda s: plain_matmul(k, s), memories)
        written = plain_matmul(inverse_of_one_plus(among), beta[..., None] * (v - known))
        read = kept * pieces.from_start(lambda s: plain_matmul(q, s), memories)
        read = read + plain_matmul(seen * plain_matmul(q, k_transposed), written)
        (s,) = pieces.last_start(memories)
        s = kept[..., -1:, :] * s + plain_matmul(k_transposed * seen[..., -1:, :], written)
        return read, [s]

    def read_out(self, h, g, run):
        h = precise(self.heads(h))
        # The scale of the query is that of the read, and all of it but this is lost in the norm.
        epsilon = self.epsilon / self.query_scale**2
        # Not `ops.mean`, which returns float32 for float64.
        mean_square = _sum_of_squares(h, epsilon) / self.head_size
        h = h * ops.rsqrt(mean_square) * ops.cast(self.gain, h.dtype)
        return g * ops.reshape(ops.cast(h, g.dtype), ops.shape(g))


def inverse_of_one_plus(lower):
    """Returns $(I + L)^{-1}$ for strictly lower triangular matrices $L$, `[..., n, n]`.

    By blocks on the diagonal, each of which is made of two of half the size: as exact as substitution, in products
    alone. On a CPU, JAX can hang in `solve_triangular` within a loop, and files cannot hold it.
    """
    n = lower.shape[-1]
    row, column = ops.arange(0, n)[:, None], ops.arange(0, n)[None]
    inverse, size = ops.cast(row == column, lower.dtype), 1
    while size < n:
        is_pair = ops.logical_and(row // (2 * size) == column // (2 * size), row // size != column // size)
        between = ops.where(is_pair, lower, 0.0)
        if size > 1:
            between = plain_matmul(plain_matmul(inverse, between), inverse)
        inverse, size = inverse - between, 2 * size
    return inverse


def softplus_inverse(x):
    return x + np.log(-np.expm1(-x))


def _unit(x):
    wide = precise(x)
    return ops.cast(wide * ops.rsqrt(_sum_of_squares(wide, UNIT_EPSILON / x.shape[-1])), x.dtype)


def _sum_of_squares(x, each):
    # The small number is added to each square, as LiteRT leaves it out where it is added to their sum.
    return ops.sum(ops.square(x) + each, axis=-1, keepdims=True)
