"""The multiplicative LSTM: the gates read a product of input and state instead of the state."""

from typing import Any

from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.core_wrapper import CoreWrapperCell
from keras_adaptive_rnn.maps.base import LinearMap

class MultiplicativeLSTMCell(CoreWrapperCell):
    """An LSTM whose recurrent transition depends on the input.

    $$m_t = (x_t W_{mx}) \\odot (h_{t-1} W_{mh})$$
    $$h_t, c_t = \\mathrm{LSTM}(x_t, m_t, c_{t-1})$$

    Every gate reads $m_t$ instead of $h_{t-1}$. With `core="elman"`, this is the multiplicative RNN,
    $h_t = \\tanh(x_t W + m_t U + b)$.

    Weights, in order: the weights of the inner cell, `input_factor` $W_{mx}$ `[inputs, units]`, `state_factor` $W_{mh}$
    `[units, units]`, and with `factor_bias` a bias for each.

    Args:
        units: Positive integer, dimensionality of the output space. Must be omitted if `cell` is given. Defaults to
            `None`.
        core: Name of the cell to wrap: `"lstm"` (default) or `"elman"`. Further arguments, such as
            `tied_gates=True`, are passed to it.
        cell: A cell object to wrap instead of `units` and `core`; its first state must be its output. Defaults to
            `None`.
        factor_bias: Whether both factors of $m$ have a bias, as in some implementations; the paper has none.
            Defaults to `False`.
        dropout, recurrent_dropout: Float in `[0, 1)`, fraction of $x_t$ and of $h_{t-1}$ to drop, with one mask per
            sequence. Default to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
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
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of the inner cell's states; for an LSTM $h$ and $c$, each `[batch, units]`.
        training: Whether dropout is on.

    Returns: `output, states`; the output is $h$.

    Raises:
        ValueError: Both `units` and `cell` are given, or neither, or an argument is out of range.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.MultiplicativeLSTMCell(8))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Krause, Lu, Murray, Renals, Multiplicative LSTM for sequence modelling (2016), section 2; Sutskever,
    Martens, Hinton, Generating Text with Recurrent Neural Networks (2011), for the multiplicative RNN.
    """

    cores: Any
    divided_weights: Any
    takes_arguments_of: Any
    factor_bias: bool
    input_factor: Any
    state_factor: Any
    input_bias: Any
    state_bias: Any
    core: str
    dropout: float
    recurrent_dropout: float
    seed: int | None
    trainable_initial_state: bool

    def __init__(
        self,
        units: int | None = None,
        *,
        core: str = "lstm",
        cell: Any = None,
        factor_bias: bool = False,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        unit_forget_bias: bool = True,
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
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def build(self, input_shape: Any) -> None: ...
    def project(self, inputs: Any, training: bool | None = False) -> Any: ...
    def step(self, projected: Any, states: Any, training: bool | None = False) -> Any: ...
