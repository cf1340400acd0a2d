"""The Mogrifier: input and state gate each other before each step."""

from typing import Any

from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.core_wrapper import CoreWrapperCell
from keras_adaptive_rnn.maps.base import LinearMap

MAXIMUM_ROUNDS: int

class MogrifierCell(CoreWrapperCell):
    """A cell whose input and state gate each other in turn before the step.

    With $x^{-1} = x_t$ and $h^0 = h_{t-1}$, for $i = 1, \\dots, r$:

    $$x^i = 2 \\sigma(h^{i-1} Q^i) \\odot x^{i-2} \\;\\text{ for odd } i, \\qquad
      h^i = 2 \\sigma(x^{i-1} R^i) \\odot h^{i-2} \\;\\text{ for even } i$$

    and the inner cell then takes a step from the last $x$ and $h$: $h_t, c_t = \\mathrm{LSTM}(x^\\uparrow, h^\\uparrow,
    c_{t-1})$. With `rounds=0`, this is the inner cell itself; with $Q = R = 0$, all gates are exactly one.

    Weights, in order: the weights of the inner cell, then `gates`, one map per round, $Q^1, R^2, Q^3, \\dots$,
    `[units, inputs]` or `[inputs, units]`. With `rank`, each map has two factors, `right` `[., rank]` and `left`
    `[rank, .]`. With `gate_bias`, each is followed by its bias.

    Args:
        units: Positive integer, dimensionality of the output space. Must be omitted if `cell` is given. Defaults to
            `None`.
        rounds: Integer from 0 to 100, the number $r$ of rounds. Defaults to `5`.
        rank: Positive integer, rank of $Q$ and $R$, at most the size of the inputs and of the state; `None`
            (default) for full matrices.
        zigzag: Whether each gate reads the result of the previous round; with `False`, every gate reads the
            original $x$ or $h$ (section 4 of the paper, where it does worse). Defaults to `True`.
        gate_bias: Whether the gates have a bias, as in the authors' code; the paper has none. Defaults to `False`.
        core: Name of the cell to wrap: `"lstm"` (default), `"gru"` or `"elman"`. Further arguments, such as
            `tied_gates=True`, are passed to it. The authors' code corresponds to `cap_input_gate=True` and
            `gate_bias=True`.
        cell: A cell object to wrap instead of `units` and `core`, such as `keras.layers.GRUCell(64)`; its first
            state must be its output. Defaults to `None`.
        gate_initializer: Initializer of each $Q$ and $R$, or of each of their factors. Defaults to
            `"glorot_uniform"`.
        gate_regularizer: Regularizer of each $Q$ and $R$, `None` by default.
        gate_constraint: Constraint of each $Q$ and $R$, `None` by default.
        dropout, recurrent_dropout: Float in `[0, 1)`, fraction of $x_t$ and of $h_{t-1}$ to drop before the first
            round, with one mask per sequence, as in the authors' code. Default to `0.0`.
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
        reset_after: Whether to apply the reset gate after the recurrent product (as in Keras and cuDNN) or before
            it. Defaults to `True`.
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

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.MogrifierCell(8, rounds=4, rank=2))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    >>> layer = keras.layers.RNN(keras_adaptive_rnn.MogrifierCell(cell=keras.layers.GRUCell(8), rounds=4))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Melis, Kocisky, Blunsom, Mogrifier LSTM (2020), section 2, equations 1 and 2.
    """

    divided_weights: Any
    rounds: int
    rank: int | None
    zigzag: bool
    gate_bias: bool
    gate_initializer: Any
    gate_regularizer: Any
    gate_constraint: Any
    core: str
    dropout: float
    recurrent_dropout: float
    seed: int | None
    trainable_initial_state: bool

    def __init__(
        self,
        units: int | None = None,
        *,
        rounds: int = 5,
        rank: int | None = None,
        zigzag: bool = True,
        gate_bias: bool = False,
        core: str = "lstm",
        cell: Any = None,
        gate_initializer: Initializer = "glorot_uniform",
        gate_regularizer: Regularizer = None,
        gate_constraint: Constraint = None,
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
        reset_after: bool = True,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def build(self, input_shape: Any) -> None: ...
    def project(self, inputs: Any, training: bool | None = False) -> Any: ...
    def step(self, projected: Any, states: Any, training: bool | None = False) -> Any: ...
