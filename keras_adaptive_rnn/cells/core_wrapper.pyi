"""A wrapper that creates the cell inside it by name."""

from typing import Any

from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.bases.wrapper import WrapperCell
from keras_adaptive_rnn.maps.base import LinearMap

class CoreWrapperCell(WrapperCell):
    """A wrapper that creates its inner cell by name, or takes a cell object.

    Args:
        units: Positive integer, units of the inner cell. Must be omitted if `cell` is given. Defaults to `None`.
        core: Name of the cell to wrap, a key of `cores`. Defaults to `"lstm"`.
        cell: A cell object, instead of `units` and `core`. Defaults to `None`.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
            They apply to what the wrapper reads.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`. They apply to what the wrapper reads.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros. The states of the inner cell are included.
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
    """

    cores: Any
    takes_arguments_of: Any
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
    @property
    def units(self) -> Any: ...
    def first_part(self) -> Any: ...
    def given(self, name: Any) -> Any: ...
