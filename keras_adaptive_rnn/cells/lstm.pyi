"""The LSTM, with the options that later papers added to it."""

from typing import Any

from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.bases.gated import GatedCell
from keras_adaptive_rnn.maps.base import LinearMap

class LSTMCell(GatedCell):
    """The long short-term memory cell.

    $$i = \\sigma(x W_i + h_{t-1} U_i + b_i), \\quad f = \\sigma(x W_f + h_{t-1} U_f + b_f), \\quad
      o = \\sigma(x W_o + h_{t-1} U_o + b_o)$$
    $$j = \\phi(x W_c + h_{t-1} U_c + b_c)$$
    $$c_t = f \\odot c_{t-1} + i \\odot j, \\qquad h_t = o \\odot \\phi(c_t)$$

    Weights, as in `keras.layers.LSTMCell`, gates concatenated as i, f, c, o: kernel `[inputs, 4 units]`, recurrent
    kernel `[output, 4 units]`, bias `[4 units]`. With `tied_gates` there are three gates, f, c, o. A projection adds a
    kernel `[units, projection_units]` after these, and layer normalization its gains.

    Args:
        units: Positive integer, size of the memory $c$.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of $W$. Defaults to `"glorot_uniform"`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        unit_forget_bias: Whether to initialize $b_f$ to one. Defaults to `True`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        tied_gates: Whether to tie the input gate to the forget gate, $i = 1 - f$. Defaults to `False`.
        cap_input_gate: Whether to cap the input gate, $\\min(i, 1 - f)$, so that $c$ stays bounded. Defaults to
            `False`.
        projection_units: Positive integer, size of a linear projection of $h$, which becomes the output and the
            recurrent state; `None` (default) for no projection.
        cell_clip: Positive number; the stored $c$ is clipped to `[-cell_clip, cell_clip]` ($h$ is computed from the
            unclipped $c$, as in the code of Melis et al.). `None` (default) for no clipping.
        update_dropout: Float in `[0, 1)`, fraction of the update $j$ to drop, with one mask per sequence; the
            memory itself is never dropped. Defaults to `0.0`.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`. The LSTM also normalizes $c$ inside $o \\odot
            \\phi(c)$, with gain and offset.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask.
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of two tensors, $h$ `[batch, units]` (or `[batch, projection_units]`) and $c$ `[batch, units]`.
        training: Whether dropout is on.

    Returns: `output, [h, c]`; the output is $h$.

    Raises:
        ValueError: An argument is out of range, or both `tied_gates` and `cap_input_gate` are set.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> cell = keras_adaptive_rnn.LSTMCell(8, tied_gates=True, projection_units=4)
    >>> output, h, c = keras.layers.RNN(cell, return_state=True)(np.ones((2, 5, 3)))
    >>> tuple(output.shape), tuple(h.shape), tuple(c.shape)
    ((2, 4), (2, 4), (2, 8))

    Reference: Hochreiter and Schmidhuber, Long Short-Term Memory (1997); tied and capped gates, projection: Melis,
    Dyer, Blunsom, On the State of the Art of Evaluation in Neural Language Models (2018), section 3; update dropout:
    Semeniuta, Severyn, Barth, Recurrent Dropout without Memory Loss (2016).
    """

    positional_arguments_of: Any
    ignored_arguments: Any
    recurrent_activation: Any
    unit_forget_bias: bool
    tied_gates: bool
    cap_input_gate: bool
    projection_units: int | None
    cell_clip: float | None
    update_dropout: float
    output_size: Any
    state_size: Any
    projection: Any
    memory_index: int
    is_affine: bool
    cell_norm: Any
    units: int
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
    dropout: float
    recurrent_dropout: float
    seed: int | None
    kernel_map: Any
    recurrent_map: Any
    layer_normalization: bool
    per_gate_dropout: bool
    trainable_initial_state: bool

    def __init__(
        self,
        units: int,
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        *,
        tied_gates: bool = False,
        cap_input_gate: bool = False,
        projection_units: int | None = None,
        cell_clip: float | None = None,
        update_dropout: float = 0.0,
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        trainable_initial_state: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    @property
    def gates(self) -> Any: ...
    @property
    def noise_sizes(self) -> Any: ...
    def bias_initializers(self) -> Any: ...
    def build(self, input_shape: Any) -> None: ...
    def update(self, a: Any, states: Any, training: bool | None) -> Any: ...
