"""The two cells of xLSTM: sLSTM, with a memory of numbers, and mLSTM, with one of matrices."""

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._products import plain_matmul
from keras_adaptive_rnn.cells.bases.gated import GatedCell
from keras_adaptive_rnn.cells.bases.matrix_memory import NEVER, MatrixMemoryCell, cumulative_sum

FORGET_GATES = ("sigmoid", "exponential")
# The initial forget biases of the first and the last head of an mLSTM.
FORGET_BIASES = (3.0, 6.0)
# The lower bound of the denominator.
LEAST = 1e-6


def _forget_biases(shape, dtype=None):
    return ops.cast(ops.convert_to_tensor(np.linspace(*FORGET_BIASES, *shape, dtype="float32")), dtype)


def _log_forget(f, kind):
    return ops.log_sigmoid(f) if kind == "sigmoid" else f


@export
class SLSTMCell(GatedCell):
    r"""The sLSTM cell of xLSTM, an LSTM with exponential gates and a normalizer.

    $$\tilde i = x W_i + h_{t-1} U_i + b_i, \quad \tilde f = x W_f + h_{t-1} U_f + b_f, \quad
      z = \phi(x W_z + h_{t-1} U_z + b_z), \quad o = \sigma(x W_o + h_{t-1} U_o + b_o)$$
    $$i = \exp(\tilde i), \qquad f = \sigma(\tilde f) \ \text{or} \ \exp(\tilde f)$$
    $$c_t = f \odot c_{t-1} + i \odot z, \qquad n_t = f \odot n_{t-1} + i, \qquad h_t = o \odot c_t / n_t$$

    The states hold $c$ and $n$ divided by $\exp(m_t)$, where $m_t = \max(\log f + m_{t-1}, \tilde i)$, so that no
    exponential overflows; $h$ is the same. As $c$, $n$ and $m$ only mean something together, a wrapper such as
    `ZoneoutCell` changes $h$ alone, and `trainable_initial_state` trains $h$ alone.

    Weights, gates concatenated as i, f, z, o: kernel `[inputs, 4 units]`, recurrent kernel `[units, 4 units]`, bias
    `[4 units]`; with `layer_normalization` its gains. This is the cell with one head. The paper's heads are blocks on
    the diagonal of the recurrent kernel: `recurrent_map=maps.BlockDiagonal(num_heads)`.

    Args:
        units: Positive integer, dimensionality of the output space.
        activation: Activation function $\phi$. Defaults to `"tanh"`.
        forget_gate: Form of the forget gate, `"sigmoid"` (default) or `"exponential"`.
        unit_forget_bias: Whether to initialize $b_f$ to one. Defaults to `True`.
        **kwargs: As in `keras_adaptive_rnn.cells.GatedCell`.

    States: $h$, $c$, $n$ and $m$, each `[batch, units]`.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.SLSTMCell(4))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 4)

    Reference: Beck et al., xLSTM: Extended Long Short-Term Memory (2024), section 2.2.
    """

    gates = ("i", "f", "z", "o")

    def __init__(self, units: int, *, forget_gate: str = "sigmoid", unit_forget_bias: bool = True, **kwargs):
        super().__init__(units, **kwargs)
        self.forget_gate = _arguments.choice("forget_gate", forget_gate, FORGET_GATES)
        self.unit_forget_bias = _arguments.boolean("unit_forget_bias", unit_forget_bias)
        self.state_size = [self.units] * 4

    @property
    def memory_states(self):
        return [True, False, False, False]

    def bias_initializers(self):
        ones = keras.initializers.Ones()
        return [ones if g == "f" and self.unit_forget_bias else self.bias_initializer for g in self.gates]

    def update(self, a, states, run):
        _, c, n, m = states
        i, f, z, o = self.split(a)
        z, o = self.activation(z), ops.sigmoid(o)
        # Before the first step there is nothing to keep.
        has_past = n > 0
        ahead = ops.where(has_past, _log_forget(f, self.forget_gate) + m - i, 0.0)
        above = ops.relu(ahead)
        # As `i + above`, whose gradient would be a loop variable in a sum of three: TensorFlow's memory optimizer makes
        # a temporary variable of that, and fails at the second training step on thousands of steps.
        m = i + ops.where(has_past, above, 0.0)
        f, i = ops.where(has_past, ops.exp(ahead - above), 0.0), ops.exp(-above)
        c, n = f * c + i * z, f * n + i
        h = o * c / n
        run.sow(self, i=i, f=f, z=z, o=o)
        return h, [h, c, n, m]


@export
class MLSTMCell(MatrixMemoryCell):
    r"""The mLSTM cell of xLSTM, whose memory is a matrix per head.

    $$q_t = x_t W_q + b_q, \qquad k_t = (x_t W_k + b_k) / \sqrt d, \qquad v_t = x_t W_v + b_v, \qquad
      o_t = \sigma(x_t W_o + b_o)$$
    $$i_t = \exp(x_t w_i + b_i), \qquad f_t = \sigma(x_t w_f + b_f) \ \text{or} \ \exp(x_t w_f + b_f)$$
    $$C_t = f_t C_{t-1} + i_t k_t^\top v_t, \qquad n_t = f_t n_{t-1} + i_t k_t, \qquad
      h_t = o_t \odot \frac{q_t C_t}{\max(|q_t n_t^\top|, 1)}$$

    for each head of $d$ units, whose gates $i_t, f_t$ are numbers. The states hold $C$ and $n$ divided by $\exp(m_t)$,
    where $m_t = \max(\log f_t + m_{t-1}, \log i_t, 0)$, so that no exponential overflows; $h$ is the same. So divided,
    the denominator is at least $10^{-6}$. The authors' code adds `epsilon=1e-6` to it, which the paper does not.

    With exponential forget gates that stay above one, $\exp(m_t)$ grows until the bound of the denominator vanishes,
    and $h_t$ is large wherever $q_t n_t^\top$ is near zero. There, half precision is far off: over 1,000 steps of
    normal inputs, outputs of 8 untrained units in bfloat16 are off by a median of 0.2 %, but by 60 % of their norm, as
    much as with weights and inputs that are rounded to bfloat16 and all else in float32.

    Nothing depends on $h_{t-1}$: `keras_adaptive_rnn.layers.RNN` computes the gates of all steps at once, and the
    memory in chunks of 64 steps, a few matrix products each (`schedule="scan"`).

    Weights, in order, gates concatenated as q, k, v, o, and i, f: `kernel_map` `[inputs, 4 units]`; `gate_map`
    `[inputs, 2 num_heads]`; `bias` `[4 units]`; `gate_bias` `[2 num_heads]`. As in the authors' code, the $b_f$ of the
    heads start out evenly spaced from 3 to 6.

    Args:
        units: Positive integer, dimensionality of the output space, a multiple of `num_heads`.
        forget_gate: Form of the forget gate, `"sigmoid"` (default) or `"exponential"`.
        epsilon: Non-negative number that is added to the denominator, divided as above. Defaults to `0.0`, as in the
            paper.
        **kwargs: As in `keras_adaptive_rnn.cells.MatrixMemoryCell`. Those of $W$ and $b$ hold for the gates, too,
            except for `kernel_map`.

    States: $h$ `[batch, units]`, which is not read; $C$, $n$ and $m$ of all heads, flattened, `[batch, units^2 /
    num_heads]`, `[batch, units]` and `[batch, num_heads]`.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.MLSTMCell(8, num_heads=2))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Beck et al., xLSTM: Extended Long Short-Term Memory (2024), section 2.3. There, $b_k$ is not divided by
    $\sqrt d$.
    """

    gates = ("q", "k", "v", "o")
    head_gates = ("i", "f")
    neutral = (None, None, None, NEVER, 0.0)

    def __init__(self, units: int, *, forget_gate: str = "sigmoid", epsilon: float = 0.0, **kwargs):
        super().__init__(units, **kwargs)
        self.forget_gate = _arguments.choice("forget_gate", forget_gate, FORGET_GATES)
        self.epsilon = _arguments.number("epsilon", epsilon, minimum=0)

    @property
    def memory_shapes(self):
        return [(self.head_size, self.head_size), (self.head_size,), ()]

    @property
    def memory_states(self):
        return [True, True, True, False]

    def gate_bias_initializers(self):
        return [self.bias_initializer, _forget_biases]

    def project(self, inputs, run):
        q, k, v, o = self.split(self.affine(inputs, run))
        i, f = self.affine_of_heads(inputs, run)
        run.sow(self, i=i, f=f, o=o)
        # Only a neutral step is below. The exponential is zero in any case.
        i = ops.where(i > NEVER / 2, i, NEVER / 2)
        scale = self.head_size**-0.5
        coefficients = [self.heads(q), self.heads(k * scale), self.heads(v), i, _log_forget(f, self.forget_gate)]
        return coefficients, [ops.sigmoid(o)]

    def recur_heads(self, coefficients, memories):
        (q, k, v, i, log_f), (c, n, m) = coefficients, memories
        kept = log_f + m
        positive = ops.relu(i)
        m = positive + ops.relu(kept - positive)
        f, i = ops.exp(kept - m)[..., None], ops.exp(i - m)[..., None]
        c = f[..., None] * c + (i * k)[..., :, None] * v[..., None, :]
        n = f * n + i * k
        return self._normalized(plain_matmul(q[..., None, :], c)[..., 0, :], ops.sum(q * n, axis=-1), m), [c, n, m]

    def recur_chunk(self, coefficients, memories, pieces):
        q, k, v, i, log_f = coefficients
        b = cumulative_sum(log_f, pieces.seen)
        # The maximum over the steps so far, as in a loop of steps. A neutral step leaves it as it is.
        least = ops.where(i < NEVER / 2, i, ops.relu(i))
        most = ops.max(ops.where(pieces.seen, (least - b)[..., None, :], NEVER), axis=-1)
        kept = pieces.from_start(lambda c, n, m: m[..., None], memories)
        m = b + ops.where(kept > most, kept, most)
        kept = ops.exp(b + kept - m)
        # The share that step t sees of what step s has written.
        seen = ops.where(pieces.seen, b[..., :, None] + (i - b)[..., None, :] - m[..., :, None], NEVER)
        seen = ops.exp(seen)
        scores = plain_matmul(q, ops.swapaxes(k, -1, -2)) * seen
        old = pieces.from_start(lambda c, n, m: plain_matmul(q, c), memories)
        read = plain_matmul(scores, v) + kept[..., None] * old
        old = pieces.from_start(lambda c, n, m: plain_matmul(q, n[..., None])[..., 0], memories)
        normalizer = ops.sum(scores, axis=-1) + kept * old
        written, last = k * seen[..., -1, :, None], kept[..., -1:]
        c, n, _ = pieces.last_start(memories)
        c = last[..., None] * c + plain_matmul(ops.swapaxes(written, -1, -2), v)
        n = last * n + ops.sum(written, axis=-2)
        return self._normalized(read, normalizer, m), [c, n, m[..., -1]]

    def _normalized(self, read, normalizer, m):
        least = max(LEAST - self.epsilon, 0)
        least = least + ops.relu(ops.exp(-m) - least)
        denominator = least + ops.relu(ops.abs(normalizer) - least)
        if self.epsilon:
            denominator = denominator + self.epsilon
        return read / denominator[..., None]

    def read_out(self, h, o, run):
        return o * h
