"""Zoneout: in each step, random units keep their previous value."""

from typing import Any

from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.core_wrapper import CoreWrapperCell
from keras_adaptive_rnn.maps.base import LinearMap

class ZoneoutCell(CoreWrapperCell):
    """A cell in which random units, drawn anew in every step, keep their previous state.

    With $\\tilde s_t$ the state that the inner cell computes from $s_{t-1}$, for each of its states:

    $$s_t = d_t \\odot s_{t-1} + (1 - d_t) \\odot \\tilde s_t, \\qquad d_t \\sim \\mathrm{Bernoulli}(z)$$

    and in inference the expectation, $s_t = z\\, s_{t-1} + (1 - z)\\, \\tilde s_t$. The output is the first state.
    The last state counts the steps, so that every step has new noise, also in `keras.layers.RNN`.

    Weights: the weights of the inner cell.

    Args:
        units: Positive integer, dimensionality of the output space. Must be omitted if `cell` is given. Defaults to
            `None`.
        zoneout: Float in `[0, 1)`, $z$ for all states, or a list of floats, one for each memory state of the inner
            cell, such as `[0.05, 0.5]` for $h$ and $c$ of an LSTM. Defaults to `0.1`.
        core: Name of the cell to wrap: `"lstm"` (default), `"gru"` or `"elman"`. Further arguments are passed to
            it.
        cell: A cell object to wrap instead of `units` and `core`; its first state must be its output. Defaults to
            `None`.
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
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        reset_after: Whether to apply the reset gate after the recurrent product (as in Keras and cuDNN) or before
            it. Defaults to `True`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of the inner cell's states, each `[batch, units]`, and the step count `[batch, 3]`, as digits of
            base 128.
        training: Whether zoneout is random.

    Returns: `output, states`; the output is the first state.

    Raises:
        ValueError: Both `units` and `cell` are given, or neither, a rate is out of range, or the number of rates is not
            the number of memory states.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> cell = keras_adaptive_rnn.ZoneoutCell(8, zoneout=[0.05, 0.5])
    >>> tuple(keras_adaptive_rnn.layers.RNN(cell)(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Krueger et al., Zoneout: Regularizing RNNs by Randomly Preserving Hidden Activations (2017), section 3,
    equations 2 to 4.
    """

    own_state_size: Any
    fixed_noise_rates: Any
    fixed_arguments: Any
    zoneout: float | list[float]
    core: str
    seed: int | None
    trainable_initial_state: bool

    def __init__(
        self,
        units: int | None = None,
        zoneout: float | list[float] = 0.1,
        *,
        core: str = "lstm",
        cell: Any = None,
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
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        reset_after: bool = True,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    @property
    def step_noise_sizes(self) -> Any: ...
    def project(self, inputs: Any, training: bool | None = False) -> Any: ...
    def step(self, projected: Any, states: Any, training: bool | None = False) -> Any: ...
