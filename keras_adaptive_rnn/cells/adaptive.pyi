"""Adaptive cells: a small policy network rescales the linear maps of a gated cell in every step."""

from typing import Any

from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.bases.gated import GatedCell
from keras_adaptive_rnn.cells.elman import ElmanCell
from keras_adaptive_rnn.cells.lstm import LSTMCell
from keras_adaptive_rnn.maps.base import LinearMap

POLICIES: Any
ADAPTATIONS: Any

class AdaptiveGatedCell(GatedCell):
    """A gated cell whose linear maps are rescaled in every step by a policy.

    $$a = D^{x,2} W D^{x,1} x_t + D^{h,2} V D^{h,1} h_{t-1} + D^b b, \\qquad D^k = \\mathrm{diag}(\\tanh(z_t U^k))$$

    Args:
        units: Positive integer, dimensionality of the output space.
        policy_units: Positive integer, size of $z$. Defaults to `100`.
        policy: `"recurrent"` (default), equation 8, or `"static"` (equation 7).
        adaptation: `"io"` (default), `"input"`, `"output"` or `"sva"`.
        tied: Whether the gates share the first $D$ (with `"sva"`, $R$ and $D$), which takes half the time. Defaults
            to `True`.
        rank: Positive integer, the number of singular values with `"sva"`; `None` (default) for the maximum.
        policy_dropout: Float in `[0, 1)`, fraction of $z$ to drop wherever it is read, with one mask per sequence.
            Defaults to `0.0`.
        policy_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        kernel_initializer: Initializers of $W$ and $V$. Default to `"orthogonal"`, which makes the concatenated
            gates semi-orthogonal, as in the authors' code.
        activation: Activation function of the candidate state. Defaults to `"tanh"`.
        use_bias: Whether to use a bias. Defaults to `True`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
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

    fixed_arguments: Any
    is_affine: bool
    divided_weights: Any
    policy_units: int
    policy: str
    adaptation: str
    tied: bool
    rank: int | None
    policy_dropout: float
    policy_initializer: Any
    core_state_size: Any
    context_size: int
    policy_cell: Any
    state_size: Any
    policy_map: Any
    policy_bias: Any
    bases: Any
    units: int
    kernel_initializer: Any
    activation: Any
    use_bias: bool
    recurrent_initializer: Any
    bias_initializer: Any
    kernel_regularizer: Any
    recurrent_regularizer: Any
    bias_regularizer: Any
    kernel_constraint: Any
    recurrent_constraint: Any
    bias_constraint: Any
    kernel_map: Any
    recurrent_map: Any
    dropout: float
    recurrent_dropout: float
    seed: int | None
    trainable_initial_state: bool

    def __init__(
        self,
        units: int,
        *,
        policy_units: int = 100,
        policy: str = "recurrent",
        adaptation: str = "io",
        tied: bool = True,
        rank: int | None = None,
        policy_dropout: float = 0.0,
        policy_initializer: Initializer = "orthogonal",
        kernel_initializer: Initializer = "orthogonal",
        activation: Activation = "tanh",
        use_bias: bool = True,
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def build_maps(self) -> None: ...
    @property
    def noise_sizes(self) -> Any: ...
    def project(self, inputs: Any, training: bool | None = False) -> Any: ...
    def step(self, projected: Any, states: Any, training: bool | None = False, context: Any = ()) -> Any:
        """Returns `output, states`; `context` is a list of further tensors that the policy reads."""

    def latent(self, v: Any, states: Any, training: bool | None) -> Any:
        """Returns the policy latent $z_t$ for the summary $v_t$, and the states of the policy."""

    def sub_policies_of(self, z: Any, training: bool | None) -> Any:
        """Returns the diagonals $D^k$ as vectors, by name: `x1`, `h1`, `x2`, `h2`, `b`."""

class AdaptiveLSTMCell(AdaptiveGatedCell, LSTMCell):
    """An LSTM whose matrices and biases are rescaled in every step by a small policy network.

    A latent $z_t$ of `policy_units` entries is computed from $v_t = [x_t; h_{t-1}]$, by a static policy,
    $z_t = \\mathrm{ReLU}(v_t W_z + b_z)$, or a recurrent one, $z_t = \\mathrm{LSTM}(v_t, z_{t-1})$. Each sub-policy is
    $\\pi^k = \\tanh(z_t U^k)$, $D^k = \\mathrm{diag}(\\pi^k)$, and with IO-adaptation, for each gate
    $s \\in \\{i, f, c, o\\}$:

    $$u^s = D^{s,x,2} W^s D^{s,x,1} x_t + D^{s,h,2} V^s D^{s,h,1} h_{t-1} + D^{s,b} b^s$$
    $$c_t = \\sigma(u^f) \\odot c_{t-1} + \\sigma(u^i) \\odot \\phi(u^c), \\qquad h_t = \\sigma(u^o) \\odot \\phi(c_t)$$

    `adaptation="input"` omits the second $D$, and `"output"` the first. `"sva"` (singular value adaptation) uses
    $L^s D^{s,x} R^s x_t$ instead of $D W D x_t$, and likewise for $h$.

    Weights, in order, gates concatenated as i, f, c, o: `kernel_map` $W$ `[inputs, 4 units]`; `recurrent_map` $V$
    `[units, 4 units]`; the weights of the policy, an LSTM or a dense layer; with `"sva"`, where the first two are $L$,
    the bases $R$ `[inputs, rank]` and `[units, rank]`; `sub_policies` $U$ `[policy_units, size]`, concatenated as x1,
    h1, x2, h2, b, with a size of inputs + 13 units for tied IO-adaptation; `bias` `[4 units]`.

    Args:
        units: Positive integer, dimensionality of the output space.
        policy_units: Positive integer, size of $z$. Defaults to `100`.
        policy: `"recurrent"` (default), equation 8, or `"static"` (equation 7).
        adaptation: `"io"` (default), `"input"`, `"output"` or `"sva"`.
        tied: Whether the gates share the first $D$ (with `"sva"`, $R$ and $D$), which takes half the time. Defaults
            to `True`.
        rank: Positive integer, the number of singular values with `"sva"`; `None` (default) for the maximum.
        policy_dropout: Float in `[0, 1)`, fraction of $z$ to drop wherever it is read, with one mask per sequence.
            Defaults to `0.0`.
        policy_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        kernel_initializer: Initializers of $W$ and $V$. Default to `"orthogonal"`, which makes the concatenated
            gates semi-orthogonal, as in the authors' code.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
        unit_forget_bias: Whether to initialize $b_f$ to one. Defaults to `True`.
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
        recurrent_initializer: Initializers of $W$ and $V$. Default to `"orthogonal"`, which makes the concatenated
            gates semi-orthogonal, as in the authors' code.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        dropout, recurrent_dropout: Float in `[0, 1)`, fraction of $x_t$ and of $h_{t-1}$ to drop wherever they are
            read, with one mask per sequence. Default to `0.0`. The paper also drops the output of the top layer;
            the layer `keras_adaptive_rnn.layers.AdaptiveLSTM` has an argument for that.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of tensors: $h$ and $c$, each `[batch, units]`; with a recurrent policy also $z$ and the policy's
            own memory, each `[batch, policy_units]`.
        training: Whether dropout is on.

    Returns: `output, states`; the output is $h$.

    Raises:
        ValueError: An argument is out of range, or `rank` is given without `adaptation="sva"`.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> cell = keras_adaptive_rnn.AdaptiveLSTMCell(8, policy_units=4)
    >>> tuple(keras.layers.RNN(cell)(np.ones((2, 5, 3))).shape)
    (2, 8)
    >>> cell.sub_policies.units == 3 + 13 * 8
    True

    Reference: Flennerhag, Yin, Keane, Elliot, Breaking the Activation Function Bottleneck through Adaptive
    Parameterization (2018), section 3, equations 6 to 9. The authors' code splits the policy vector in other places;
    this cell follows the paper.
    """

    def __init__(
        self,
        units: int,
        *,
        policy_units: int = 100,
        policy: str = "recurrent",
        adaptation: str = "io",
        tied: bool = True,
        rank: int | None = None,
        policy_dropout: float = 0.0,
        policy_initializer: Initializer = "orthogonal",
        kernel_initializer: Initializer = "orthogonal",
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        unit_forget_bias: bool = True,
        tied_gates: bool = False,
        cap_input_gate: bool = False,
        projection_units: int | None = None,
        cell_clip: float | None = None,
        update_dropout: float = 0.0,
        use_bias: bool = True,
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...

class AdaptiveRNNCell(AdaptiveGatedCell, ElmanCell):
    """An Elman cell whose matrices and bias are rescaled in every step by a small policy network.

    $$h_t = \\phi(D^{x,2} W D^{x,1} x_t + D^{h,2} V D^{h,1} h_{t-1} + D^b b)$$

    with the policies and adaptations of `keras_adaptive_rnn.AdaptiveLSTMCell`.

    Weights: as in `keras_adaptive_rnn.AdaptiveLSTMCell`, with one gate instead of four.

    Args:
        units: Positive integer, dimensionality of the output space.
        policy_units: Positive integer, size of $z$. Defaults to `100`.
        policy: `"recurrent"` (default), equation 8, or `"static"` (equation 7).
        adaptation: `"io"` (default), `"input"`, `"output"` or `"sva"`.
        tied: Whether the gates share the first $D$ (with `"sva"`, $R$ and $D$), which takes half the time. Defaults
            to `True`. It makes no difference with one gate.
        rank: Positive integer, the number of singular values with `"sva"`; `None` (default) for the maximum.
        policy_dropout: Float in `[0, 1)`, fraction of $z$ to drop wherever it is read, with one mask per sequence.
            Defaults to `0.0`.
        policy_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        kernel_initializer: Initializer of $W$. Defaults to `"orthogonal"`.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        use_bias: Whether to use a bias. Defaults to `True`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
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
        states: List of tensors: $h$ `[batch, units]`; with a recurrent policy also $z$ and the policy's own memory,
            each `[batch, policy_units]`.
        training: Whether dropout is on.

    Returns: `output, states`; the output is $h$.

    Raises:
        ValueError: An argument is out of range, or `rank` is given without `adaptation="sva"`.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> cell = keras_adaptive_rnn.AdaptiveRNNCell(8, policy_units=4, policy="static")
    >>> tuple(keras.layers.RNN(cell)(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Flennerhag, Yin, Keane, Elliot, Breaking the Activation Function Bottleneck through Adaptive
    Parameterization (2018), section 3, with the Elman cell, as in the authors' code.
    """

    def __init__(
        self,
        units: int,
        *,
        policy_units: int = 100,
        policy: str = "recurrent",
        adaptation: str = "io",
        tied: bool = True,
        rank: int | None = None,
        policy_dropout: float = 0.0,
        policy_initializer: Initializer = "orthogonal",
        kernel_initializer: Initializer = "orthogonal",
        activation: Activation = "tanh",
        use_bias: bool = True,
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
