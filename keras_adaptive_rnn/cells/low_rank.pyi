"""Low-rank passthrough GRU and LSTM: each recurrent matrix is low-rank, plus an optional diagonal."""

from typing import Any

from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.bases.gated import GatedCell
from keras_adaptive_rnn.cells.gru import GRUCell
from keras_adaptive_rnn.cells.lstm import LSTMCell
from keras_adaptive_rnn.maps.base import LinearMap

class LowRankGatedCell(GatedCell):
    """A gated cell whose recurrent map is `keras_adaptive_rnn.maps.LowRank`. A subclass names its carry gate.

    Args:
        units: Positive integer $n$, dimensionality of the output space.
        rank: Positive integer $d$, at most `units`.
        diagonal: Whether to add a diagonal to each product. Defaults to `True`.
        tied: Whether the gates share $R$. Defaults to `False`.
        carry_bias: Number, initial bias of the carry gate. Defaults to `0.0`.
        weight_normalization: Whether to normalize the matrices: the columns of $W$ and $L$ have trained norms, and
            the columns of $R$ have norm one. Defaults to `False`.
        diagonal_initializer: Initializer of the diagonals. Defaults to `"zeros"`.
        kernel_map: The linear maps $W$ and $U$: `"full"` (default) or an object of `keras_adaptive_rnn.maps`, such
            as `LowRank(rank=24, diagonal=True)`.
        activation: Activation function of the candidate state. Defaults to `"tanh"`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of $W$. Defaults to `"glorot_uniform"`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.
    """

    carry_gate: Any
    fixed_arguments: Any
    diagonal_initializer: Any
    weight_normalization: bool
    carry_bias: float
    units: int
    rank: int
    diagonal: bool
    tied: bool
    kernel_map: Any
    activation: Any
    use_bias: bool
    kernel_initializer: Any
    recurrent_initializer: Any
    bias_initializer: Any
    kernel_regularizer: Any
    recurrent_regularizer: Any
    bias_regularizer: Any
    kernel_constraint: Any
    recurrent_constraint: Any
    bias_constraint: Any
    layer_normalization: bool
    per_gate_dropout: bool
    dropout: float
    recurrent_dropout: float
    seed: int | None
    trainable_initial_state: bool

    def __init__(
        self,
        units: int,
        rank: int,
        *,
        diagonal: bool = True,
        tied: bool = False,
        carry_bias: float = 0.0,
        weight_normalization: bool = False,
        diagonal_initializer: Initializer = "zeros",
        kernel_map: str | LinearMap = "full",
        activation: Activation = "tanh",
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def bias_initializers(self) -> Any: ...

class LowRankGRUCell(LowRankGatedCell, GRUCell):
    """A GRU whose recurrent matrices are products of two thin matrices, plus a diagonal.

    $$U_g = R_g L_g + \\mathrm{diag}(d_g), \\qquad R_g: [n, d],\\; L_g: [d, n]$$
    $$z = \\sigma(x W_z + h_{t-1} U_z + b_z), \\qquad r = \\sigma(x W_r + h_{t-1} U_r + b_r)$$
    $$h_t = z \\odot h_{t-1} + (1 - z) \\odot \\phi(x W_h + (r \\odot h_{t-1}) U_h + b_h)$$

    With `reset_after`, the last line has $r \\odot (h_{t-1} U_h + b'_h)$. The paper's update gate $u$, which carries the
    state, is $z$ here. The paper's matrices are transposed: its $\\theta^{(R)}$ is $L^T$.

    Weights, in order, gates concatenated as z, r, h: `kernel_map` $W$ `[inputs, 3 units]`, `right` $R$
    `[3, units, rank]` (`[units, rank]` if `tied`), `left` $L$ `[3, rank, units]`, the diagonals `[3 units]`, with
    `weight_normalization` the norms of the columns of $W$ and $L$ after each, and `bias` `[3 units]`, or
    `[2, 3 units]` with `reset_after`.

    Args:
        units: Positive integer $n$, dimensionality of the output space.
        rank: Positive integer $d$, at most `units`.
        reset_after: Whether to apply the reset gate after the recurrent product (equation 7) or before it (equation
            6). Defaults to `False`.
        diagonal: Whether to add the diagonals ("LRD" in the paper). Defaults to `True`.
        tied: Whether the gates share one $R$. Defaults to `False`.
        carry_bias: Number, initial bias of $z$; the paper uses 4 and 5. Defaults to `0.0`.
        weight_normalization: Whether to normalize $W$, $L$ and $R$, the latter without trained norms (appendix
            A.2). Defaults to `False`.
        diagonal_initializer: Initializer of the diagonals. Defaults to `"zeros"`; the authors' code draws them from
            `keras.initializers.RandomUniform(-0.01, 0.01)`.
        kernel_map: The linear maps $W$ and $U$: `"full"` (default) or an object of `keras_adaptive_rnn.maps`, such
            as `LowRank(rank=24, diagonal=True)`.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of $W$, all gates together. Defaults to `"glorot_uniform"`; the authors'
            code applies it to each gate, so that its bound is $\\sqrt{6 / (inputs + units)}$.
        recurrent_initializer: Initializer of each $R$ and $L$. Defaults to `"orthogonal"`; the authors' code has
            `"glorot_uniform"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        recurrent_constraint: Constraint of each $R$ and $L$, `None` by default. For the paper's bound on the norms
            of rows, which are columns here, use `keras.constraints.MaxNorm(10)`.
        bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros. The paper trains it.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of one tensor, $h$ `[batch, units]`.
        training: Whether dropout is on.

    Returns: `output, [h]`, each `[batch, units]`; the output is $h$.

    Raises:
        ValueError: `rank` is larger than `units`, or an argument is out of range.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> cell = keras_adaptive_rnn.LowRankGRUCell(128, rank=50, carry_bias=4.0)
    >>> cell.build((None, 10))
    >>> cell.recurrent_map.count_params() + 3 * 128  # as in section 3.0.1 of the paper
    39168

    Reference: Miceli Barone, Low-rank passthrough neural networks (2016), sections 2 and 3, equations 6 and 7, appendix
    A.2.
    """

    carry_gate: str
    units: int
    rank: int
    reset_after: bool
    diagonal: bool
    tied: bool
    carry_bias: float
    weight_normalization: bool
    diagonal_initializer: Any
    kernel_map: Any
    activation: Any
    recurrent_activation: Any
    use_bias: bool
    kernel_initializer: Any
    recurrent_initializer: Any
    bias_initializer: Any
    kernel_regularizer: Any
    recurrent_regularizer: Any
    bias_regularizer: Any
    kernel_constraint: Any
    recurrent_constraint: Any
    bias_constraint: Any
    layer_normalization: bool
    per_gate_dropout: bool
    dropout: float
    recurrent_dropout: float
    seed: int | None
    trainable_initial_state: bool

    def __init__(
        self,
        units: int,
        rank: int,
        *,
        reset_after: bool = False,
        diagonal: bool = True,
        tied: bool = False,
        carry_bias: float = 0.0,
        weight_normalization: bool = False,
        diagonal_initializer: Initializer = "zeros",
        kernel_map: str | LinearMap = "full",
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...

class LowRankLSTMCell(LowRankGatedCell, LSTMCell):
    """An LSTM whose recurrent matrices are products of two thin matrices, plus a diagonal.

    $$U_g = R_g L_g + \\mathrm{diag}(d_g), \\qquad R_g: [n, d],\\; L_g: [d, n], \\qquad g \\in \\{i, f, c, o\\}$$

    in the equations of `keras_adaptive_rnn.LSTMCell`.

    Weights, in order, gates concatenated as i, f, c, o: `kernel_map` $W$ `[inputs, 4 units]`, `right` $R$
    `[4, units, rank]` (`[units, rank]` if `tied`), `left` $L$ `[4, rank, units]`, the diagonals `[4 units]`, with
    `weight_normalization` the norms of the columns of $W$ and $L$ after each, and `bias` `[4 units]`.

    Args:
        units: Positive integer $n$, size of the memory.
        rank: Positive integer $d$, at most `units`.
        carry_bias: Number, initial bias of the forget gate. Defaults to `1.0`.
        diagonal: Whether to add the diagonals. Defaults to `True`.
        tied: Whether the gates share one $R$. Defaults to `False`.
        weight_normalization: Whether to normalize $W$, $L$ and $R$, the latter without trained norms (appendix
            A.2). Defaults to `False`.
        diagonal_initializer: Initializer of the diagonals. Defaults to `"zeros"`; the authors' code draws them from
            `keras.initializers.RandomUniform(-0.01, 0.01)`.
        kernel_map: The linear maps $W$ and $U$: `"full"` (default) or an object of `keras_adaptive_rnn.maps`, such
            as `LowRank(rank=24, diagonal=True)`.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
        tied_gates: Whether to tie the input gate to the forget gate, $i = 1 - f$. Defaults to `False`.
        cap_input_gate: Whether to cap the input gate, $\\min(i, 1 - f)$, so that $c$ stays bounded. Defaults to
            `False`.
        projection_units: Positive integer, size of a linear projection of $h$, which becomes the output and the
            recurrent state; `None` (default) for no projection.
        cell_clip: Positive number; the stored $c$ is clipped to `[-cell_clip, cell_clip]` ($h$ is computed from the
            unclipped $c$, as in the code of Melis et al.). `None` (default) for no clipping.
        update_dropout: Float in `[0, 1)`, fraction of the update $j$ to drop, with one mask per sequence; the
            memory itself is never dropped. Defaults to `0.0`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of $W$. Defaults to `"glorot_uniform"`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        recurrent_constraint: Constraint of each $R$ and $L$, `None` by default. For the paper's bound on the norms
            of rows, which are columns here, use `keras.constraints.MaxNorm(10)`.
        bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`. The LSTM also normalizes $c$ inside $o \\odot
            \\phi(c)$, with gain and offset.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask. The authors' code has `True`.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of two tensors, $h$ and $c$, each `[batch, units]`.
        training: Whether dropout is on.

    Returns: `output, [h, c]`; the output is $h$.

    Raises:
        ValueError: `rank` is larger than `units`, or an argument is out of range.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.LowRankLSTMCell(8, rank=2, tied=True))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Miceli Barone, Low-rank passthrough neural networks (2016), section 3, equations 8 and 9.
    """

    carry_gate: str
    fixed_arguments: Any
    units: int
    rank: int
    carry_bias: float
    diagonal: bool
    tied: bool
    weight_normalization: bool
    diagonal_initializer: Any
    kernel_map: Any
    activation: Any
    recurrent_activation: Any
    tied_gates: bool
    cap_input_gate: bool
    projection_units: int | None
    cell_clip: float | None
    update_dropout: float
    use_bias: bool
    kernel_initializer: Any
    recurrent_initializer: Any
    bias_initializer: Any
    kernel_regularizer: Any
    recurrent_regularizer: Any
    bias_regularizer: Any
    kernel_constraint: Any
    recurrent_constraint: Any
    bias_constraint: Any
    layer_normalization: bool
    per_gate_dropout: bool
    dropout: float
    recurrent_dropout: float
    seed: int | None
    trainable_initial_state: bool

    def __init__(
        self,
        units: int,
        rank: int,
        *,
        carry_bias: float = 1.0,
        diagonal: bool = True,
        tied: bool = False,
        weight_normalization: bool = False,
        diagonal_initializer: Initializer = "zeros",
        kernel_map: str | LinearMap = "full",
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        tied_gates: bool = False,
        cap_input_gate: bool = False,
        projection_units: int | None = None,
        cell_clip: float | None = None,
        update_dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
