"""The recurrent highway network: several highway layers per time step."""

from typing import Any

from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.bases.gated import GatedCell
from keras_adaptive_rnn.maps.base import LinearMap

class RecurrentHighwayCell(GatedCell):
    """A recurrent cell whose step consists of `depth` highway layers.

    With $s^0 = s_{t-1}$, for $l = 1, \\dots, L$, where only the first layer reads the input:

    $$h^l = \\phi(x_t W_h [l = 1] + s^{l-1} U^l_h + b^l_h), \\qquad
      t^l = \\sigma(x_t W_t [l = 1] + s^{l-1} U^l_t + b^l_t)$$
    $$s^l = h^l \\odot t^l + s^{l-1} \\odot c^l, \\qquad c^l = 1 - t^l$$

    and $s_t = s^L$. With `coupled=False`, the carry gate is independent:
    $c^l = \\sigma(x_t W_c [l = 1] + s^{l-1} U^l_c + b^l_c)$.

    Weights, in order, gates concatenated as h, t(, c): `kernel_map` $W$ `[inputs, gates * units]`; `recurrent_map` $U$
    `[units, depth * gates * units]`, layer after layer; `bias` `[depth, gates * units]` (without the first axis if
    `depth` is one).

    Args:
        units: Positive integer, dimensionality of the state and of the output space.
        depth: Positive integer, the number $L$ of layers. Defaults to `5`.
        coupled: Whether to couple the gates, $c = 1 - t$. Defaults to `True`.
        transform_bias: Number, initial bias of $t$. The bias of an independent carry gate is initialized to its
            negative, so that $c = 1 - t$ for zero inputs. Defaults to `-2.0`, which carries most of the state.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
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
            Defaults to `0.0`. The mask applies to what each layer multiplies by $U$, but not to what it carries.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of one tensor, $s$ `[batch, units]`.
        training: Whether dropout is on.

    Returns: `output, [s]`, each `[batch, units]`; the output is $s$.

    Raises:
        ValueError: An argument is out of range.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.RecurrentHighwayCell(8, depth=3))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Zilly, Srivastava, Koutnik, Schmidhuber, Recurrent Highway Networks (2017), section 4, equations 6 to 9.
    """

    depth: int
    coupled: bool
    transform_bias: float
    recurrent_activation: Any
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
        depth: int = 5,
        *,
        coupled: bool = True,
        transform_bias: float = -2.0,
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
    def init_groups(self) -> Any: ...
    @property
    def bias_rows(self) -> Any: ...
    def bias_initializers(self) -> Any: ...
    def step(self, projected: Any, states: Any, training: bool | None = False) -> Any: ...
