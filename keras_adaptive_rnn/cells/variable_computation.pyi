"""Variable computation: each step uses and updates only the first dimensions of input and state."""

from typing import Any

from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.bases.adaptive_computation import AdaptiveComputationCell, ScheduledCell
from keras_adaptive_rnn.cells.bases.gated import GatedCell
from keras_adaptive_rnn.maps.base import LinearMap

CORES: Any

class VariableComputationCell(ScheduledCell, AdaptiveComputationCell, GatedCell):
    """A recurrent cell that decides in every step how many dimensions of its input and state to use.

    With $D$ units, a scheduler chooses which fraction $m_t$ of them to use:

    $$m_t = \\sigma(h_{t-1} u + x_t v + b), \\qquad
      (e_t)_i = \\mathrm{Thres}_\\epsilon(\\sigma(\\lambda (m_t D - i))), \\quad i = 1, \\dots, D$$

    where $\\mathrm{Thres}_\\epsilon$ rounds values above $1 - \\epsilon$ to one and values below $\\epsilon$ to zero. With
    $\\bar h = e_t \\odot h_{t-1}$ and $\\bar x = e_t \\odot x_t$, the VCRNN (`core="rnn"`) is

    $$h_t = e_t \\odot \\phi(\\bar x W + \\bar h U + b) + (1 - e_t) \\odot h_{t-1}$$

    and the VCGRU (`core="gru"`), with the keep gate $k$ and the reset gate $r$, is

    $$z_t = e_t \\odot (1 - \\sigma(\\bar x W_k + \\bar h U_k + b_k)), \\qquad r_t = \\sigma(\\bar x W_r + \\bar h U_r + b_r)$$
    $$h_t = z_t \\odot \\phi(\\bar x W_h + (r_t \\odot \\bar h) U_h + b_h) + (1 - z_t) \\odot h_{t-1}$$

    These equations have the soft mask used in training. In inference, exactly the first $\\lceil m_t D \\rceil$
    dimensions are used and updated: $(e_t)_i = 1$ for $i < m_t D + 1$ and zero otherwise, with the gradient of the soft
    mask (straight through). If the input and the state differ in size, the same fraction of each is used. The smaller
    $\\lambda$, the more inference differs from training, so raise it from epoch to epoch.

    In inference, `keras_adaptive_rnn.layers.RNN` computes with the first quarter, half, three quarters or all of the
    dimensions, whichever is just enough for every row of the batch. It uses all of them with layer normalization, with
    a map of the user's own that does not implement `narrow`, and if a gradient may be needed (in PyTorch unless
    gradients are off, in TensorFlow under a tape). The results are the same.

    In `keras_adaptive_rnn.layers.RNN`, `cost_weight` adds $\\beta \\frac{1}{T} \\sum_t |m_t - \\bar m|$ to the loss,
    averaged over the batch, without masked steps. With `return_decisions=True`, that layer also returns the cost of
    each step, the fraction of the dimensions used, $\\lceil m_t D \\rceil / D$.

    $m$ and $e$ are computed in float32 under every dtype policy.

    Weights, in order: the scheduler's $[v; u]$ `[inputs + units, 1]` and $b$ `[1]`; a trained initial state; $\\lambda$
    `[]`, which is not trained; then the weights of a `keras_adaptive_rnn.ElmanCell`, or of a
    `keras_adaptive_rnn.GRUCell` with `reset_after=False`, gates concatenated as k, r, h.

    Args:
        units: Positive integer $D$, dimensionality of the output space.
        core: `"rnn"` (default) for the VCRNN or `"gru"` for the VCGRU.
        sharpness: Positive number, $\\lambda$ at the start of training. Defaults to `0.1`. If
            `keras_adaptive_rnn.callbacks.Annealing` changes it from epoch to epoch, the weight holds the last
            value.
        epsilon: Number in `[0, 0.5)`, $\\epsilon$. Defaults to `0.01`.
        cost_weight: Non-negative number, $\\beta$. Defaults to `0.0`. If it is positive, the cell does not run in
            `keras.layers.RNN`, which cannot add the loss.
        target: Number in `[0, 1)`, the fraction $\\bar m$ that costs nothing. Defaults to `0.0`.
        soft_inference: Whether to use the soft mask in inference too. Defaults to `False`.
        decision_initializer: Initializer of $[v; u]$. Defaults to `"glorot_uniform"`.
        activation: Activation function of the candidate state. Defaults to `"tanh"`.
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

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of one tensor, $h$ `[batch, units]`.
        training: Whether the mask is soft and dropout is on.

    Returns: `output, [h]`, each `[batch, units]`; the output is $h$.

    Raises:
        ValueError: An argument is out of range, or a cell with a cost runs in `keras.layers.RNN`.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> cell = keras_adaptive_rnn.VariableComputationCell(8, core="gru", cost_weight=0.1, target=0.25)
    >>> layer = keras_adaptive_rnn.layers.RNN(cell, return_decisions=True)
    >>> output, costs = layer(np.ones((2, 5, 3)))
    >>> tuple(output.shape), tuple(costs.shape), len(layer.losses)
    ((2, 8), (2, 5), 1)

    Reference: Jernite, Grave, Joulin, Mikolov, Variable Computation in Recurrent Neural Networks (2017), section 3.
    """

    aux_size: int
    scheduled_names: Any
    core: str
    sharpness: float
    epsilon: float
    cost_weight: float
    target: float
    soft_inference: bool
    units: int
    decision_initializer: Any
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
    kernel_map: Any
    recurrent_map: Any
    layer_normalization: bool
    per_gate_dropout: bool
    dropout: float
    recurrent_dropout: float
    seed: int | None
    trainable_initial_state: bool

    def __init__(
        self,
        units: int,
        *,
        core: str = "rnn",
        sharpness: float = 0.1,
        epsilon: float = 0.01,
        cost_weight: float = 0.0,
        target: float = 0.0,
        soft_inference: bool = False,
        decision_initializer: Initializer = "glorot_uniform",
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
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
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
    @property
    def gates(self) -> Any: ...
    @property
    def groups(self) -> Any: ...
    @property
    def adds_loss(self) -> Any: ...
    def build(self, input_shape: Any) -> None: ...
    def project(self, inputs: Any, training: bool | None = False) -> Any: ...
    def step(self, projected: Any, states: Any, training: bool | None = False) -> Any: ...
    @property
    def skips_unneeded(self) -> Any: ...
    def prepare_sequence(self, kept: Any, batch_size: Any, training: bool | None) -> None: ...
    def mask(self, m: Any, size: Any, training: bool | None = False) -> Any:
        """Returns a mask `[batch, size]` of the first dimensions, for the fraction `m`, `[batch, 1]`."""

    def sequence_loss(self, recorded: Any, counted: Any) -> Any: ...
