"""Low-rank passthrough GRU and LSTM: each recurrent matrix is low-rank, plus an optional diagonal."""

import keras

from keras_adaptive_rnn import _arguments, maps
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._types import Initializer
from keras_adaptive_rnn.cells.bases.gated import GatedCell
from keras_adaptive_rnn.cells.gru import GRUCell
from keras_adaptive_rnn.cells.lstm import LSTMCell


class LowRankGatedCell(GatedCell):
    """A gated cell whose recurrent map is `keras_adaptive_rnn.maps.LowRank`. A subclass names its carry gate."""

    carry_gate = None
    fixed_arguments = ("recurrent_map",)

    def __init__(
        self,
        units: int,
        rank: int | None = None,
        *,
        diagonal: bool = True,
        tied: bool = False,
        carry_bias: float = 0.0,
        weight_normalization: bool = False,
        diagonal_initializer: Initializer = "zeros",
        kernel_map: str | maps.LinearMap = "full",
        **kwargs,
    ):
        units, rank = _arguments.integer("units", units), _arguments.integer("rank", rank, optional=True)
        _arguments.check(rank is None or rank <= units, f"Argument `rank` must be at most `units`, {units}", rank=rank)
        _arguments.boolean("weight_normalization", weight_normalization)
        if kernel_map == "full":
            kernel_map = maps.Full(weight_normalization=weight_normalization)
        fits = not weight_normalization or getattr(kernel_map, "weight_normalization", True)
        rule = "Argument `kernel_map` must have weight_normalization=True if the cell does"
        _arguments.check(fits, rule, kernel_map=kernel_map, weight_normalization=weight_normalization)
        recurrent_map = maps.LowRank(
            max(1, units // 4) if rank is None else rank,
            diagonal=diagonal,
            tied=tied,
            diagonal_initializer=diagonal_initializer,
            weight_normalization=weight_normalization,
        )
        super().__init__(units, kernel_map=kernel_map, recurrent_map=recurrent_map, **kwargs)
        self.rank, self.diagonal, self.tied = rank, recurrent_map.diagonal, recurrent_map.tied
        self.diagonal_initializer = recurrent_map.diagonal_initializer
        self.weight_normalization = weight_normalization
        self.carry_bias = _arguments.number("carry_bias", carry_bias)

    def bias_initializers(self):
        carry = keras.initializers.Constant(self.carry_bias)
        return [carry if gate == self.carry_gate else self.bias_initializer for gate in self.gates]


@export
class LowRankGRUCell(LowRankGatedCell, GRUCell):
    r"""A GRU whose recurrent matrices are products of two thin matrices, plus a diagonal.

    $$U_g = R_g L_g + \mathrm{diag}(d_g), \qquad R_g: [n, d],\; L_g: [d, n]$$
    $$z = \sigma(x W_z + h_{t-1} U_z + b_z), \qquad r = \sigma(x W_r + h_{t-1} U_r + b_r)$$
    $$h_t = z \odot h_{t-1} + (1 - z) \odot \phi(x W_h + (r \odot h_{t-1}) U_h + b_h)$$

    With `reset_after`, the last line has $r \odot (h_{t-1} U_h + b'_h)$. The paper's update gate $u$, which carries the
    state, is $z$ here. The paper's matrices are transposed: its $\theta^{(R)}$ is $L^T$.

    Weights, in order, gates concatenated as z, r, h: `kernel_map` $W$ `[inputs, 3 units]`, `right` $R$
    `[3, units, rank]` (`[units, rank]` if `tied`), `left` $L$ `[3, rank, units]`, the diagonals `[3 units]`, with
    `weight_normalization` the norms of the columns of $W$ and $L$ after each, and `bias` `[3 units]`, or
    `[2, 3 units]` with `reset_after`.

    Args:
        units: Positive integer $n$, dimensionality of the output space.
        rank: Positive integer $d$, at most `units`. Defaults to `None`: a quarter of `units`, and at least one.
        diagonal: Whether to add the diagonals ("LRD" in the paper). Defaults to `True`.
        tied: Whether the gates share one $R$. Defaults to `False`.
        reset_after: Whether to apply the reset gate after the recurrent product (equation 7) or before it (equation 6).
            Defaults to `False`.
        carry_bias: Number, initial bias of $z$; the paper uses 4 and 5. Defaults to `0.0`.
        weight_normalization: Whether to normalize $W$, $L$ and $R$, the latter without trained norms (appendix A.2).
            Defaults to `False`.
        diagonal_initializer: Initializer of the diagonals. Defaults to `"zeros"`; the authors' code draws them from
            `keras.initializers.RandomUniform(-0.01, 0.01)`.
        kernel_initializer: Initializer of $W$, all gates together. Defaults to `"glorot_uniform"`; the authors' code
            applies it to each gate, so that its bound is $\sqrt{6 / (inputs + units)}$.
        recurrent_initializer: Initializer of each $R$ and $L$. Defaults to `"orthogonal"`; the authors' code has
            `"glorot_uniform"`.
        recurrent_constraint: Constraint of each $R$ and $L$, `None` by default. For the paper's bound on the norms of
            rows, which are columns here, use `keras.constraints.MaxNorm(10)`.
        trainable_initial_state: As in `keras_adaptive_rnn.cells.Cell`. The paper trains it.
        **kwargs: As in `keras_adaptive_rnn.GRUCell`, except `recurrent_map`.

    States: $h$ `[batch, units]`.

    Example:

    >>> cell = keras_adaptive_rnn.LowRankGRUCell(128, rank=50, carry_bias=4.0)
    >>> cell.build((None, 10))
    >>> cell.recurrent_map.count_params() + 3 * 128  # as in section 3.0.1 of the paper
    39168

    Reference: Miceli Barone, Low-rank passthrough neural networks (2016), sections 2 and 3, equations 6 and 7, appendix
    A.2.
    """

    carry_gate = "z"

    def __init__(self, units: int, rank: int | None = None, *, reset_after: bool = False, **kwargs):
        super().__init__(units, rank, reset_after=reset_after, **kwargs)


@export
class LowRankLSTMCell(LowRankGatedCell, LSTMCell):
    r"""An LSTM whose recurrent matrices are products of two thin matrices, plus a diagonal.

    $$U_g = R_g L_g + \mathrm{diag}(d_g), \qquad R_g: [n, d],\; L_g: [d, n], \qquad g \in \{i, f, c, o\}$$

    in the equations of `keras_adaptive_rnn.LSTMCell`.

    Weights, in order, gates concatenated as i, f, c, o: `kernel_map` $W$ `[inputs, 4 units]`, `right` $R$
    `[4, units, rank]` (`[units, rank]` if `tied`), `left` $L$ `[4, rank, units]`, the diagonals `[4 units]`, with
    `weight_normalization` the norms of the columns of $W$ and $L$ after each, and `bias` `[4 units]`.

    Args:
        units: Positive integer $n$, size of the memory.
        carry_bias: Number, initial bias of the forget gate. Defaults to `1.0`.
        rank, diagonal, tied, weight_normalization, diagonal_initializer, recurrent_constraint: As in
            `keras_adaptive_rnn.LowRankGRUCell`.
        per_gate_dropout: As in `keras_adaptive_rnn.cells.GatedCell`. The authors' code has `True`.
        **kwargs: As in `keras_adaptive_rnn.LSTMCell`, except `recurrent_map` and `unit_forget_bias`.

    States: $h$ and $c$, each `[batch, units]`.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.LowRankLSTMCell(8, rank=2, tied=True))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Miceli Barone, Low-rank passthrough neural networks (2016), section 3, equations 8 and 9.
    """

    carry_gate = "f"
    fixed_arguments = ("unit_forget_bias",)

    def __init__(self, units: int, rank: int | None = None, *, carry_bias: float = 1.0, **kwargs):
        super().__init__(units, rank, carry_bias=carry_bias, **kwargs)
