"""Grid LSTM: one LSTM along each dimension of a grid, reading the hidden vectors of all dimensions."""

from typing import Any

import keras

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.bases.composite import CompositeCell
from keras_adaptive_rnn.maps.base import LinearMap

def grid_block(cells: Any, hidden: Any, memory: Any, training: bool | None) -> Any:
    """Returns the hidden and memory vectors that leave a block, which has one LSTM per dimension.

    The paper's $LSTM(H, m_k, W_k)$ is an LSTM cell whose state is $h_k$ and whose inputs are the other $h$. The rows of
    its matrices $W$ and $U$ are the rows of $W_k$.
    """

class GridLSTMCell(CompositeCell):
    """One LSTM along time and one along depth, at every point of a grid.

    The input is projected to the vectors that enter the depth dimension, $[h^0; m^0] = x_t W$. In layer
    $l = 1, \\dots, L$, with $\\hat h^l, \\hat m^l$ the vectors along time:

    $$H = [\\hat h^l_{t-1}; h^{l-1}_t]$$
    $$\\hat h^l_t, \\hat m^l_t = \\mathrm{LSTM}(H, \\hat m^l_{t-1}, \\hat W^l), \\qquad
      h^l_t, m^l_t = \\mathrm{LSTM}(H, m^{l-1}_t, W^l)$$

    The output is $h^L_t$.

    Weights, in order: the LSTMs along time, the lowest layer first; the LSTMs along depth, likewise; `kernel_map` $W$
    `[inputs, 2 units]`. Each LSTM has the weights of `keras_adaptive_rnn.LSTMCell`: its kernel holds the rows of the
    paper's matrix for the other dimension's vector, and its recurrent kernel the rows for its own.

    Args:
        units: Positive integer, size of every vector.
        depth: Positive integer, $L$.
        tied: Whether all layers share their weights. Defaults to `False`.
        dropout: Float in `[0, 1)`, fraction of $x_t$ to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of each $\\hat h^l_{t-1}$ to drop, with one mask per sequence,
            shared by all layers. Defaults to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
        unit_forget_bias: Whether to initialize $b_f$ to one. Defaults to `True`.
        tied_gates: Whether to tie the input gate to the forget gate, $i = 1 - f$. Defaults to `False`.
        cap_input_gate: Whether to cap the input gate, $\\min(i, 1 - f)$, so that $c$ stays bounded. Defaults to
            `False`.
        cell_clip: Positive number; the stored $c$ is clipped to `[-cell_clip, cell_clip]` ($h$ is computed from the
            unclipped $c$, as in the code of Melis et al.). `None` (default) for no clipping.
        update_dropout: Float in `[0, 1)`, fraction of the update $j$ to drop, with one mask per sequence; the
            memory itself is never dropped. Defaults to `0.0`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of $W$ and of the kernels of the LSTMs. Defaults to `"glorot_uniform"`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`. The LSTM also normalizes $c$ inside $o \\odot
            \\phi(c)$, with gain and offset.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of tensors `[batch, units]`: the output, which the next step does not read, then $\\hat h$ and
            $\\hat m$ for each layer, the lowest first.
        training: Whether dropout is on.

    Returns: `output, states`; the output is $h^L$.

    Raises:
        ValueError: An argument is out of range.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.GridLSTMCell(8, depth=2))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Kalchbrenner, Danihelka, Graves, Grid Long Short-Term Memory (2015), section 3.
    """

    takes_arguments_of: Any
    refused_arguments: Any
    reads_output: bool
    divided_weights: Any
    units: int
    depth: int
    tied: bool
    time_cells: Any
    depth_cells: Any
    kernel_map: Any
    state_size: Any
    output_size: Any
    dropout: float
    recurrent_dropout: float
    seed: int | None
    trainable_initial_state: bool

    def __init__(
        self,
        units: int,
        depth: int,
        *,
        tied: bool = False,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        unit_forget_bias: bool = True,
        tied_gates: bool = False,
        cap_input_gate: bool = False,
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
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def first_part(self) -> Any: ...
    @property
    def memory_states(self) -> Any: ...
    @property
    def noise_sizes(self) -> Any: ...
    def build(self, input_shape: Any) -> None: ...
    def project(self, inputs: Any, training: bool | None = False) -> Any: ...
    def step(self, projected: Any, states: Any, training: bool | None = False) -> Any: ...

class GridLSTMBlock(_arguments.Declared, keras.layers.Layer):
    """An N-dimensional grid LSTM block: one LSTM per dimension, each of which reads all hidden vectors.

    $$H = [h_1; \\dots; h_N], \\qquad h'_k, m'_k = \\mathrm{LSTM}(H, m_k, W_k) \\;\\text{ for } k = 1, \\dots, N$$

    Weights: the N LSTMs in order, each with the weights of `keras_adaptive_rnn.LSTMCell`: its kernel holds the rows of
    $W_k$ for the other dimensions' vectors, in order, and its recurrent kernel the rows for its own.

    Args:
        units: Positive integer, size of every vector.
        dimensions: Integer, at least 2, the number N of dimensions. Defaults to `2`.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
        unit_forget_bias: Whether to initialize $b_f$ to one. Defaults to `True`.
        tied_gates: Whether to tie the input gate to the forget gate, $i = 1 - f$. Defaults to `False`.
        cap_input_gate: Whether to cap the input gate, $\\min(i, 1 - f)$, so that $c$ stays bounded. Defaults to
            `False`.
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
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`. The LSTM also normalizes $c$ inside $o \\odot
            \\phi(c)$, with gain and offset.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        hidden: List of N tensors `[batch, units]`, $h_1, \\dots, h_N$.
        memory: List of N tensors `[batch, units]`, $m_1, \\dots, m_N$.
        training: Whether dropout is on.

    Returns: `hidden, memory`, lists of N tensors `[batch, units]`.

    Raises:
        ValueError: An argument is out of range, or a list does not hold N tensors of `units` entries.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> block = keras_adaptive_rnn.GridLSTMBlock(4, dimensions=3)
    >>> hidden, memory = block([np.ones((2, 4))] * 3, [np.zeros((2, 4))] * 3)
    >>> len(hidden), tuple(memory[0].shape)
    (3, (2, 4))

    Reference: Kalchbrenner, Danihelka, Graves, Grid Long Short-Term Memory (2015), section 3.1.
    """

    takes_arguments_of: Any
    refused_arguments: Any
    units: int
    dimensions: int
    cells: Any

    def __init__(
        self,
        units: int,
        dimensions: int = 2,
        *,
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        unit_forget_bias: bool = True,
        tied_gates: bool = False,
        cap_input_gate: bool = False,
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
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def first_part(self) -> Any: ...
    def build(self, hidden_shape: Any, memory_shape: Any) -> None: ...
    def call(self, hidden: Any, memory: Any, training: bool | None = False) -> Any: ...
    def compute_output_shape(self, hidden_shape: Any, memory_shape: Any) -> Any: ...
