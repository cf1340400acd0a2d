"""RG-LRU, the recurrence of Griffin: real, diagonal and gated."""

import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments, activations, initializers, maps
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._precision import precise
from keras_adaptive_rnn.cells.bases.linear import LinearCell

# The exponent $c$ of the paper.
EXPONENT = 8.0
# The smallest $t$, about a quarter of $1 - a^2$, that half precision distinguishes from zero.
LEAST = 6e-8


def _parameter(decay):
    r"""Returns $\Lambda$ for $\sigma(\Lambda)^c$."""
    a = decay ** (1 / EXPONENT)
    return np.log(a) - np.log1p(-a)


@export
class RGLRUCell(LinearCell):
    r"""The real-gated linear recurrent unit (RG-LRU) of Griffin.

    $$u_t = x_t W + b, \qquad r_t = \sigma(u_t W_r + b_r), \qquad i_t = \sigma(u_t W_i + b_i)$$
    $$a_t = \sigma(\Lambda)^{8 r_t}, \qquad
      h_t = a_t \odot h_{t-1} + \sqrt{1 - a_t^2} \odot (i_t \odot u_t)$$

    $u_t$ is the linear layer before the unit in Griffin's recurrent block, which also has a convolution. The authors'
    code has blocks on the diagonals of $W_r$ and $W_i$: `gate_map=maps.BlockDiagonal(num_blocks)`.

    Weights, in order: `decay` $\Lambda$ `[units]`; `kernel_map` $W$ `[inputs, units]`; `gate_map` $W_r, W_i$,
    `[units, 2 units]` if full; `bias` $b$ `[units]`; `gate_bias` $b_r, b_i$ `[2 units]`.

    Args:
        units: Positive integer, dimensionality of the output space.
        min_decay: Number in $(0, 1)$, the least that $\sigma(\Lambda)^8$ is drawn from, uniformly. A coefficient $a_t$
            is never below $\sigma(\Lambda)^8$. Defaults to `0.9`.
        max_decay: Number of at least `min_decay` and below 1, the most. Defaults to `0.999`.
        gate_map: The linear map $W_r, W_i$: `"full"` (default) or an object of `keras_adaptive_rnn.maps`.
        **kwargs: As in `keras_adaptive_rnn.cells.LinearCell`. Those of $W$ and $b$ hold for the gates, too, except for
            `kernel_map`.

    States: $h$ `[batch, units]`.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.RGLRUCell(4))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 4)

    Reference: De et al., Griffin: Mixing Gated Linear Recurrences with Local Attention for Efficient Language Models
    (2024), section 2.4.
    """

    gates = ("u",)
    divided_weights = {"kernel_map/kernel": 1, "gate_map/kernel": 1}

    def __init__(
        self,
        units: int,
        *,
        min_decay: float = 0.9,
        max_decay: float = 0.999,
        gate_map: str | maps.LinearMap = "full",
        **kwargs,
    ):
        super().__init__(units, **kwargs)
        self.min_decay = _arguments.number("min_decay", min_decay, positive=True, below=1)
        self.max_decay = _arguments.number("max_decay", max_decay, minimum=self.min_decay, below=1)
        self.gate_map = self.bind_gate_map(gate_map, self.units)
        self.gate_bias = maps.no_bias

    def build(self, input_shape):
        super().build(input_shape)
        self.gate_map.build_blocks((2,), self.units)
        if self.use_bias:
            self.gate_bias = self.make_bias(self.units, [self.bias_initializer] * 2, name="gate_bias")
        decays = initializers.Drawn((self.min_decay, self.max_decay), _parameter, self.seed)
        self.decay = self.add_weight(name="decay", shape=(self.units,), initializer=decays, autocast=False)

    def coefficients(self, inputs, run):
        u = self.affine(inputs, run)
        r, i = ops.split(ops.sigmoid(precise(self.gate_bias(self.gate_map(u, run), run))), 2, axis=-1)
        run.sow(self, r=r, i=i)
        # 1 - a^2 = (1 + a)^2 t keeps its digits where a is near one.
        t = activations.tanh(-EXPONENT / 2 * r * ops.log_sigmoid(ops.cast(self.decay, r.dtype)))
        a = (1 - t) / (1 + t)
        # The gradient of the root is infinite at zero.
        return a, (1 + a) * ops.sqrt(ops.where(t > LEAST, t, LEAST)) * i * precise(u)
