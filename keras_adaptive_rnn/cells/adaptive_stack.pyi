"""Stacks of adaptive cells whose policies read each other."""

from typing import Any

from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.bases.composite import CompositeCell
from keras_adaptive_rnn.maps.base import LinearMap

class StackedAdaptiveCells(CompositeCell):
    """A stack of adaptive cells in the hybrid wiring. A subclass names the class of the cells.

    Args:
        units: Positive integer, dimensionality of the output space.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
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
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.
    """

    takes_arguments_of: Any
    fixed_arguments: Any
    units: list[int]
    cells: Any
    memory_index: Any
    state_size: Any
    output_size: Any
    seed: int | None
    trainable_initial_state: bool

    def __init__(
        self,
        units: list[int],
        *,
        seed: int | None = None,
        trainable_initial_state: bool = False,
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
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def first_part(self) -> Any: ...
    def build(self, input_shape: Any) -> None: ...
    def project(self, inputs: Any, training: bool | None = False) -> Any: ...
    def step(self, projected: Any, states: Any, training: bool | None = False) -> Any: ...

class StackedAdaptiveLSTMCells(StackedAdaptiveCells):
    """A stack of adaptive LSTMs in the hybrid wiring: each policy reads the policy below it.

    In layer $l = 1, \\dots, L$ the policy reads

    $$v^l_t = [h^{l-1}_t;\\; h^l_{t-1};\\; z^{l-1}_t], \\qquad h^0_t = x_t, \\quad z^0_t = z^L_{t-1}$$

    and $z^l_t = \\mathrm{LSTM}(v^l_t, z^l_{t-1})$, so the lowest policy reads the latent of the highest policy from
    the previous step. The rest is as in `keras_adaptive_rnn.AdaptiveLSTMCell`. With `policy="static"`, which has no
    memory, the policies read only inputs and states.

    Weights: the weights of the cells, the lowest cell first.

    Args:
        units: List of positive integers, the size of each layer, the lowest first.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
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
        dropout: Float in `[0, 1)`, fraction of $x_t$ to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of each $h^l$ to drop, with one mask per sequence. As in the
            authors' code, the same mask applies when layer $l$ reads it in the next step and when layer $l + 1$
            reads it in the same step. Defaults to `0.0`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of the states of the cells, the highest cell first: $h$, $c$, $z$ and the policy's memory for
            each.
        training: Whether dropout is on.

    Returns: `output, states`; the output is $h^L$.

    Raises:
        ValueError: An argument is out of range.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> cell = keras_adaptive_rnn.StackedAdaptiveLSTMCells([8, 6], policy_units=4)
    >>> tuple(keras.layers.RNN(cell)(np.ones((2, 5, 3))).shape)
    (2, 6)

    Reference: Flennerhag, Yin, Keane, Elliot, Breaking the Activation Function Bottleneck through Adaptive
    Parameterization (2018), section 3, equation 10.
    """

    takes_arguments_of: Any

    def __init__(
        self,
        units: list[int],
        *,
        seed: int | None = None,
        trainable_initial_state: bool = False,
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
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...

class StackedAdaptiveRNNCells(StackedAdaptiveCells):
    """A stack of adaptive Elman cells in the hybrid wiring of `keras_adaptive_rnn.StackedAdaptiveLSTMCells`.

    $$v^l_t = [h^{l-1}_t;\\; h^l_{t-1};\\; z^{l-1}_t], \\qquad h^0_t = x_t, \\quad z^0_t = z^L_{t-1}$$

    Weights: the weights of the cells, the lowest cell first.

    Args:
        units: List of positive integers, the size of each layer, the lowest first.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
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
        dropout: Float in `[0, 1)`, fraction of $x_t$ to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of each $h^l$ to drop, with one mask per sequence. As in the
            authors' code, the same mask applies when layer $l$ reads it in the next step and when layer $l + 1$
            reads it in the same step. Defaults to `0.0`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of the states of the cells, the highest cell first: $h$, $z$ and the policy's memory for each.
        training: Whether dropout is on.

    Returns: `output, states`; the output is $h^L$.

    Raises:
        ValueError: An argument is out of range.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> cell = keras_adaptive_rnn.StackedAdaptiveRNNCells([8, 6], policy_units=4)
    >>> tuple(keras.layers.RNN(cell)(np.ones((2, 5, 3))).shape)
    (2, 6)

    Reference: Flennerhag, Yin, Keane, Elliot, Breaking the Activation Function Bottleneck through Adaptive
    Parameterization (2018), section 3, equation 10, with the Elman cell.
    """

    takes_arguments_of: Any

    def __init__(
        self,
        units: list[int],
        *,
        seed: int | None = None,
        trainable_initial_state: bool = False,
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
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
