"""The Mogrifier: input and state gate each other before the step."""

from typing import Any

from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.core_wrapper import CoreWrapperCell
from keras_adaptive_rnn.maps.base import LinearMap

MAXIMUM_ROUNDS: int

class MogrifierCell(CoreWrapperCell):
    """A cell whose input and state gate each other, in turn, before the step.

    With $x^{-1} = x_t$ and $h^0 = h_{t-1}$, for $i = 1, \\dots, r$:

    $$x^i = 2 \\sigma(h^{i-1} Q^i) \\odot x^{i-2} \\;\\text{ for odd } i, \\qquad
      h^i = 2 \\sigma(x^{i-1} R^i) \\odot h^{i-2} \\;\\text{ for even } i$$

    and the core then takes a step from the last $x$ and $h$: $h_t, c_t = \\mathrm{LSTM}(x^\\uparrow, h^\\uparrow,
    c_{t-1})$. With `rounds=0` it is the core itself; with $Q = R = 0$ the gates are exactly one.

    Weights, in order: those of the core, then `gates`, one map a round, $Q^1, R^2, Q^3, \\dots$, `[units, inputs]` or
    `[inputs, units]`, each in two factors with `rank` (`right` `[., rank]`, `left` `[rank, .]`), each followed by its
    bias with `gate_bias`.

    Args:
        units: Positive integer, size of the output. Not given where `cell` is.
        rounds: Integer from 0 to 100, $r$. Defaults to `5`.
        rank: Positive integer, rank of $Q$ and $R$, at most inputs and units; `None` (default) for full matrices.
        zigzag: Whether each gate reads what the other has become; `False` has every gate read the original $x$ and
            $h$ (section 4 of the paper, where it does worse). Defaults to `True`.
        gate_bias: Whether the gates have a bias, as in the authors' code; the paper has none. Defaults to `False`.
        core: `"lstm"` (default), `"gru"` or `"elman"`, the cell of `units` that takes the step. It takes the further
            arguments, such as `tied_gates=True`; those of the authors' code are `cap_input_gate=True` and
            `gate_bias=True`.
        cell: A cell object to use in place of `units` and `core`, such as `keras.layers.GRUCell(64)`; its first state
            must be its output.
        gate_initializer: Initializer of each $Q$ and $R$, or of each of their factors. Defaults to
            `"glorot_uniform"`.
        gate_regularizer, gate_constraint: Regularizer and constraint of each $Q$ and $R$, `None` by default.
        dropout, recurrent_dropout: Float in `[0, 1)`, share of $x_t$ and of $h_{t-1}$ to drop before the first round,
            one mask a sequence, as in the authors' code. Default to `0.0`.
        seed, trainable_initial_state: As in `keras_adaptive_rnn.cells.Cell`.
        **kwargs: Arguments of the core.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of the core's states, for the LSTM $h$ and $c$, each `[batch, units]`.
        training: Whether dropout is on.

    Returns: `output, states`; the output is $h$.

    Raises:
        ValueError: both `units` and `cell` are given, or neither, or an argument is out of its range.
        TypeError: an argument is unknown, or of the wrong type.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.MogrifierCell(8, rounds=4, rank=2))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    >>> layer = keras.layers.RNN(keras_adaptive_rnn.MogrifierCell(cell=keras.layers.GRUCell(8), rounds=4))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Melis, Kocisky, Blunsom, Mogrifier LSTM (2020), section 2, equations 1 and 2.
    """

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
        trainable: bool | None = None,
    ) -> None:
        """A cell whose input and state gate each other, in turn, before the step.

        Args:
            units: Positive integer, size of the output. Not given where `cell` is.
            rounds: Integer from 0 to 100, $r$. Defaults to `5`.
            rank: Positive integer, rank of $Q$ and $R$, at most inputs and units; `None` (default) for full
                matrices.
            zigzag: Whether each gate reads what the other has become; `False` has every gate read the original
                $x$ and $h$ (section 4 of the paper, where it does worse). Defaults to `True`.
            gate_bias: Whether the gates have a bias, as in the authors' code; the paper has none. Defaults to
                `False`.
            core: `"lstm"` (default), `"gru"` or `"elman"`, the cell of `units` that takes the step. It takes the
                further arguments, such as `tied_gates=True`; those of the authors' code are `cap_input_gate=True`
                and `gate_bias=True`.
            cell: A cell object to use in place of `units` and `core`, such as `keras.layers.GRUCell(64)`; its
                first state must be its output.
            gate_initializer: Initializer of each $Q$ and $R$, or of each of their factors. Defaults to
                `"glorot_uniform"`.
            gate_regularizer: Regularizer and constraint of each $Q$ and $R$, `None` by default.
            gate_constraint: Regularizer and constraint of each $Q$ and $R$, `None` by default.
            dropout: Float in `[0, 1)`, share of $x_t$ and of $h_{t-1}$ to drop before the first round, one mask a
                sequence, as in the authors' code. Default to `0.0`.
            recurrent_dropout: Float in `[0, 1)`, share of $x_t$ and of $h_{t-1}$ to drop before the first round,
                one mask a sequence, as in the authors' code. Default to `0.0`.
            seed: Integer seed of the masks, or `None` (default).
            trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the
                batch, initialized to zero. Defaults to `False`: zeros.
            activation: Activation of the new content. Defaults to `"tanh"`.
            recurrent_activation: $\\sigma$. Defaults to `"sigmoid"`.
            unit_forget_bias: Whether $b_f$ starts at one. Defaults to `True`.
            tied_gates: Whether $i = 1 - f$. Defaults to `False`.
            cap_input_gate: Whether $i$ is capped, $\\min(i, 1 - f)$, so that $c$ stays bounded. Defaults to
                `False`.
            projection_units: Positive integer, size of a linear projection of $h$, which is then the output and
                the recurrent state; `None` (default) for none.
            cell_clip: Positive number; the stored $c$ is clipped to `[-cell_clip, cell_clip]` ($h$ is computed
                from the unclipped $c$, as in the code of Melis et al.). `None` (default) for no clipping.
            update_dropout: Float in `[0, 1)`, share of the update $j$ to drop, one mask a sequence; the memory
                itself is never dropped. Defaults to `0.0`.
            use_bias: Whether to add a bias. Defaults to `True`.
            kernel_initializer: Of $W$ and $V$. Default to `"orthogonal"`, which is semi-orthogonal over the
                joined gates, as in the authors' code.
            recurrent_initializer: Of $W$ and $V$. Default to `"orthogonal"`, which is semi-orthogonal over the
                joined gates, as in the authors' code.
            bias_initializer: Initializers of $W$, $U$, $b$. Default to `"glorot_uniform"`, `"orthogonal"` and
                `"zeros"`.
            kernel_regularizer: Regularizers, `None` by default.
            recurrent_regularizer: Regularizers, `None` by default.
            bias_regularizer: Regularizers, `None` by default.
            kernel_constraint: Constraints, `None` by default.
            recurrent_constraint: Constraints, `None` by default.
            bias_constraint: Constraints, `None` by default.
            kernel_map: The linear maps $W$ and $U$: `"full"` (default) or an object of `keras_adaptive_rnn.maps`,
                such as `LowRank(rank=24, diagonal=True)`.
            recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
                `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
            layer_normalization: Whether to normalise $x W$ and $h U$, each over all its gates together, with a
                gain and no centre, before they are added. Defaults to `False`.
            per_gate_dropout: Whether each gate drops its inputs and state by masks of its own; `False` (default)
                for one mask that the gates share.
            reset_after: Whether the reset gate acts after the recurrent product (as in Keras and cuDNN) or before
                it. Defaults to `True`.
            name: As in `keras.layers.Layer`.
            dtype: As in `keras.layers.Layer`.
            trainable: As in `keras.layers.Layer`.
        """

    def build(self, input_shape: Any) -> None: ...
    def project(self, inputs: Any, training: bool | None = False) -> Any: ...
    def step(self, projected: Any, states: Any, training: bool | None = False) -> Any: ...
