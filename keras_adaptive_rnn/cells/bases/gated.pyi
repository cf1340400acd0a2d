"""The base class of gated cells: a map of the input, a map of the state and a bias."""

from typing import Any

from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.bases.cell import Cell
from keras_adaptive_rnn.maps.base import LinearMap

class GatedCell(Cell):
    """A cell whose gates are affine in input and state: $a = x W + h U + b$, concatenated over the gates.

    A subclass lists its gates in `gates` and implements `update(a, states, training)`, which returns `output, states`
    of a step from $a$.

    If the gates read different vectors, it implements `step` instead. `self.kernel_map` is $W$, `self.recurrent_map` is
    $U$, and `project` has already computed $x W + b$; `self.recurrent(h, training)` returns $h U$. `groups` lists how
    many gates share each recurrent product, and `self.recurrent(h, training, k)` returns the product of group $k$.

    Weights, in order: the weights of `kernel_map`, the weights of `recurrent_map`, `bias`, and the gains of the layer
    normalizations. A trained initial state comes before all of them.

    Args:
        units: Positive integer, dimensionality of the output space and of each gate.
        activation: Activation function of the candidate state. Defaults to `"tanh"`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer, recurrent_initializer, bias_initializer: Initializers of $W$, $U$, $b$. Default to
            `"glorot_uniform"`, `"orthogonal"` and `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers, `None` by default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints, `None` by default.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`.
        dropout, recurrent_dropout, seed, trainable_initial_state: As in `keras_adaptive_rnn.cells.Cell`.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one mask.
        name, dtype, trainable: As in `keras.layers.Layer`.
    """

    gates: Any
    groups: Any
    init_groups: Any
    bias_rows: int
    units: int
    activation: Any
    use_bias: bool
    layer_normalization: bool
    per_gate_dropout: bool
    kernel_map: Any
    recurrent_map: Any
    bias: Any
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
        trainable: bool | None = None,
    ) -> None:
        """A cell whose gates are affine in input and state: $a = x W + h U + b$, concatenated over the gates.

        Args:
            units: Positive integer, dimensionality of the output space and of each gate.
            activation: Activation function of the candidate state. Defaults to `"tanh"`.
            use_bias: Whether to use a bias. Defaults to `True`.
            kernel_initializer: Initializers of $W$, $U$, $b$. Default to `"glorot_uniform"`, `"orthogonal"` and
                `"zeros"`.
            recurrent_initializer: Initializers of $W$, $U$, $b$. Default to `"glorot_uniform"`, `"orthogonal"`
                and `"zeros"`.
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
            layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain
                but no offset, before they are added. Defaults to `False`.
            per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share
                one mask.
            dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to
                `0.0`.
            recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per
                sequence. Defaults to `0.0`.
            seed: Integer seed of the masks, or `None` (default).
            trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the
                batch, initialized to zero. Defaults to `False`: zeros.
            name: As in `keras.layers.Layer`.
            dtype: As in `keras.layers.Layer`.
            trainable: As in `keras.layers.Layer`.
        """

    def build(self, input_shape: Any) -> None: ...
    def build_maps(self) -> None:
        """Creates the weights of $W$ and $U$."""

    def make_norm(self, size: Any, center: bool = False) -> Any:
        """Returns a built layer normalization of `size` entries. The bias of the gates serves as its offset."""

    def bias_initializers(self) -> Any:
        """Returns the initializer of each gate's bias."""

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
