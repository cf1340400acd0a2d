"""The base class of gated cells: a map of the input, a map of the state and a bias."""

from typing import Any

from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.bases.cell import Cell
from keras_adaptive_rnn.maps.base import LinearMap
from keras_adaptive_rnn.maps.owner import OwnsWeights

class GatedCell(OwnsWeights, Cell):
    """A cell whose gates are affine in input and state: $a = x W + h U + b$, concatenated over the gates.

    A subclass lists its gates in `gates` and implements `update(a, states, training)`, which returns `output, states`
    of a step from $a$.

    If the gates read different vectors, it implements `step` instead. `self.kernel_map` is $W$, `self.recurrent_map` is
    $U$, and `project` has already computed $x W + b$; `self.recurrent(h, training)` returns $h U$. `groups` lists how
    many gates share each recurrent product, and `self.recurrent(h, training, k)` returns the product of group $k$.

    A subclass whose steps use $W$ and $U$ in $a$ alone sets `is_affine`, so that `keras_adaptive_rnn.callbacks.LSUV`
    scales them.

    Weights, in order: the weights of `kernel_map`, the weights of `recurrent_map`, `bias`, and the gains of the layer
    normalizations. A trained initial state comes before all of them.

    Args:
        units: Positive integer, dimensionality of the output space and of each gate.
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
    """

    gates: Any
    groups: Any
    is_affine: bool
    divided_weights: Any
    init_groups: Any
    bias_rows: int
    units: int
    activation: Any
    use_bias: bool
    layer_normalization: bool
    per_gate_dropout: bool
    kernel_map: Any
    recurrent_map: Any
    bias_layer: Any
    kernel_norm: Any
    recurrent_norms: Any
    state_size: Any
    output_size: Any
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
    trainable_initial_state: bool

    def __init__(
        self,
        units: int,
        *,
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
    def build(self, input_shape: Any) -> None: ...
    @property
    def kernel(self) -> Any:
        """$W$, a variable `[inputs, gates * units]`, if `kernel_map` holds it as one weight."""

    @kernel.setter
    def kernel(self, value: Any) -> None: ...
    @property
    def recurrent_kernel(self) -> Any:
        """$U$, a variable `[output, gates * units]`, if `recurrent_map` holds it as one weight."""

    @recurrent_kernel.setter
    def recurrent_kernel(self, value: Any) -> None: ...
    @property
    def bias(self) -> Any:
        """$b$, a variable, or `None` without a bias."""

    @bias.setter
    def bias(self, value: Any) -> None: ...
    def __getattr__(self, name: Any) -> Any: ...
    def save_own_variables(self, store: Any) -> Any: ...
    def load_own_variables(self, store: Any) -> Any: ...
    def build_maps(self) -> None:
        """Creates the weights of $W$ and $U$."""

    def make_norm(self, size: Any, center: bool = False) -> Any:
        """Returns a built layer normalization of `size` entries. The bias of the gates serves as its offset."""

    def bias_initializers(self) -> Any:
        """Returns the initializer of each gate's bias."""

    def bias_row_initializers(self) -> Any:
        """Returns these for each row of the bias."""

    @property
    def noise_sizes(self) -> Any: ...
    def project(self, inputs: Any, training: bool | None = False) -> Any: ...
    def recurrent(self, h: Any, training: bool | None, group: int = 0) -> Any:
        """Returns $h U$ for one group of gates, with dropout and layer normalization."""

    def step(self, projected: Any, states: Any, training: bool | None = False) -> Any: ...
    def update(self, a: Any, states: Any, training: bool | None) -> None:
        """Returns `output, states` from the affine parts of the gates, concatenated."""

    def split(self, a: Any) -> Any:
        """Splits a tensor concatenated over the gates into one piece per gate."""
