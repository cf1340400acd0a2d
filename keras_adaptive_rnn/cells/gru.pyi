"""The gated recurrent unit, with its reset gate before or after the recurrent product."""

from typing import Any

from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.bases.gated import GatedCell
from keras_adaptive_rnn.maps.base import LinearMap

class GRUCell(GatedCell):
    """The gated recurrent unit.

    $$z = \\sigma(x W_z + h_{t-1} U_z + b_z), \\qquad r = \\sigma(x W_r + h_{t-1} U_r + b_r)$$
    $$\\tilde h = \\phi(x W_h + r \\odot (h_{t-1} U_h + b'_h) + b_h) \\quad\\text{if reset\\_after, else}\\quad
      \\tilde h = \\phi(x W_h + (r \\odot h_{t-1}) U_h + b_h)$$
    $$h_t = z \\odot h_{t-1} + (1 - z) \\odot \\tilde h$$

    Weights, as in `keras.layers.GRUCell`, gates concatenated as z, r, h: kernel `[inputs, 3 units]`, recurrent kernel
    `[units, 3 units]`, bias `[3 units]`, or `[2, 3 units]` with `reset_after` (the second row is $b'$).

    Args:
        units: Positive integer, dimensionality of the output space.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of $W$. Defaults to `"glorot_uniform"`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        reset_after: Whether to apply the reset gate after the recurrent product (as in Keras and cuDNN) or before
            it. Defaults to `True`.
        seed: Integer seed of the masks, or `None` (default).
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask.
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of one tensor, $h$ `[batch, units]`.
        training: Whether dropout is on.

    Returns: `output, [h]`, each `[batch, units]`; the output is $h$.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.GRUCell(4, reset_after=False))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 4)

    Reference: Cho et al., Learning Phrase Representations using RNN Encoder-Decoder (2014).
    """

    gates: Any
    is_affine: bool
    positional_arguments_of: Any
    ignored_arguments: Any
    recurrent_activation: Any
    reset_after: bool
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
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        reset_after: bool = True,
        seed: int | None = None,
        *,
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
    def groups(self) -> Any: ...
    @property
    def bias_rows(self) -> Any: ...
    def bias_row_initializers(self) -> Any: ...
    def step(self, projected: Any, states: Any, training: bool | None = False) -> Any: ...
