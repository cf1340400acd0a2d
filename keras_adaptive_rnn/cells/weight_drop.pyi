"""The LSTM of AWD-LSTM: DropConnect on the recurrent matrix."""

from typing import Any

from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.lstm import LSTMCell
from keras_adaptive_rnn.maps.base import LinearMap

class WeightDropLSTMCell(LSTMCell):
    """An LSTM that drops entries of its recurrent matrix in training.

    $$a = x W + h_{t-1} (U \\odot M) + b, \\qquad M_{ij} \\in \\{0, 1 / (1 - p)\\}$$

    in the equations of `keras_adaptive_rnn.LSTMCell`. One $M$ is drawn for each batch and holds for the whole sequence;
    inference uses $U$ itself. Any other gated cell does the same with
    `recurrent_map=keras_adaptive_rnn.maps.DropConnect(p)`.

    Weights: as in `keras_adaptive_rnn.LSTMCell`.

    Args:
        units: Positive integer, dimensionality of the output space.
        recurrent_weight_dropout: Float in `[0, 1)`, fraction $p$ of the entries of $U$ to drop. Defaults to `0.5`.
        variational: Whether to drop whole columns of $U$, each of which holds the weights of one gate of one unit.
            Defaults to `False`. (With this option, the authors' code also drops in inference; this cell does not.)
        seed: Integer seed of the masks, or `None` (default).
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
        kernel_map: The linear maps $W$ and $U$: `"full"` (default) or an object of `keras_adaptive_rnn.maps`, such
            as `LowRank(rank=24, diagonal=True)`.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`. The LSTM also normalizes $c$ inside $o \\odot
            \\phi(c)$, with gain and offset.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
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
        ValueError: An argument is out of range.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.WeightDropLSTMCell(8, recurrent_weight_dropout=0.5))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Merity, Keskar, Socher, Regularizing and Optimizing LSTM Language Models (2018), section 2.
    """

    fixed_arguments: Any
    units: int
    recurrent_weight_dropout: float
    variational: bool
    seed: int | None
    activation: Any
    recurrent_activation: Any
    unit_forget_bias: bool
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
    kernel_map: Any
    layer_normalization: bool
    per_gate_dropout: bool
    dropout: float
    recurrent_dropout: float
    trainable_initial_state: bool

    def __init__(
        self,
        units: int,
        recurrent_weight_dropout: float = 0.5,
        *,
        variational: bool = False,
        seed: int | None = None,
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
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        trainable_initial_state: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
