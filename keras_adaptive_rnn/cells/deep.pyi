"""Deep stacks of vanilla recurrent layers, with skip connections and stochastic depth."""

from typing import Any

from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.bases.gated import GatedCell
from keras_adaptive_rnn.maps.base import LinearMap

class DeepRNNCell(GatedCell):
    """A stack of Elman layers as one cell, up to 144 layers and more.

    With $x_1 = x_t$ and $x_i = h_{i-1}(t)$ for $i > 1$, for $i = 1, \\dots, L$:

    $$h_i(t) = f(x_i(t) U_i + h_i(t-1) W_i + b_i) \\; (+ \\; \\alpha h_{i-k}(t) \\;\\text{ for } i = k, 2k, 3k, \\dots)$$

    The output is $h_L$. The skip connection of layer $k$ comes from $x_t$ if $x_t$ has `units` features; otherwise
    layer $k$ has none. With `block_dropout`, a block of $k$ layers may be skipped for a step: its states are kept, and
    its output is its input.

    By default every $h_i$ starts with unit variance, at any depth. For inputs of unit variance, (semi-)orthogonal
    $U_i$ and $W_i$ with gain $g_i$, and many units, $x_i U_i + h_i W_i$ is close to $s_i z$ with
    $z \\sim \\mathcal{N}(0, 1)$, so that $s_i$ and $g_i$ follow from $f$ and $\\alpha$, the lowest layer first:

    $$\\operatorname{Var}(f(s_i z) \\; (+ \\; \\alpha h_{i-k})) = 1, \\qquad
      g_i = s_i / \\sqrt{\\operatorname{E} x_i^2 + \\operatorname{E} h_i^2}$$

    If $f$ is bounded and cannot reach unit variance, like tanh, $s_i = 1$. $U_i$ and $W_i$ share a gain, so gradients
    flow equally through layers and time, as in the paper. The paper scales by LSUV, measured on data, instead:
    `keras_adaptive_rnn.callbacks.LSUV` does that, with any initializers. States start from zero, so a stack without
    skip connections takes about `depth` steps to reach unit variance.

    Weights, in order: `kernel_map` $U_1$ `[inputs, units]`; `recurrent_map` $W_1, \\dots, W_L$,
    concatenated, `[units, depth * units]`; `inner_map` $U_2, \\dots, U_L$, concatenated, `[units, (depth - 1) * units]`;
    `bias` `[depth, units]` (`[units]` if `depth` is one).

    Args:
        units: Positive integer, size of every layer.
        depth: Positive integer, $L$.
        activation: $f$. Defaults to `"belu"`, the bipolar ELU.
        skip_every: Positive integer, $k$; `None` for no skip connections. Defaults to `4`.
        skip_scale: Number, $\\alpha$. Defaults to `0.99`: below one, so that the layer itself can contribute to an
            output of unit variance.
        block_dropout: Float in `[0, 1)`, probability that a block of `skip_every` layers is skipped for a step,
            drawn per sample and step. Nothing is rescaled in inference. The lowest block is never skipped if its
            inputs do not have `units` features. Defaults to `0.0`.
        kernel_initializer, recurrent_initializer: Initializers of $U_i$ and $W_i$. Default to `"unit_variance"`,
            which is scaled by $g_i$; any other initializer is used as it is.
        use_bias: Whether to use a bias. Defaults to `True`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        dropout: Float in `[0, 1)`, fraction of each $x_i$ to drop, with a new mask in every step. Defaults to
            `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of each $h_i(t-1)$ to drop in the product with $W_i$, with
            one mask per sequence and layer (rnnDrop). Defaults to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of $h_L, \\dots, h_1$, each `[batch, units]`. With `block_dropout` they are preceded by the output,
            which the next step does not read; with `dropout` or `block_dropout` they are followed by a step count,
            `[batch, 3]`.
        training: Whether dropout is on.

    Returns: `output, states`; the output is $h_L$.

    Raises:
        ValueError: An argument is out of range, or `block_dropout` is given without `skip_every`.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.DeepRNNCell(8, depth=12))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Eidnes, Nokland, Shifting Mean Activation Towards Zero with Bipolar Activation Functions (2018),
    section 3, equations 3 and 4, and section 4.1. In the authors' code a dropped block adds its skip connection to its
    output, and blocks are dropped for the whole batch; this cell follows the paper. The initial scale: He et al.,
    Delving Deep into Rectifiers (2015), section 2.2, for any $f$, as in Klambauer et al., Self-Normalizing Neural
    Networks (2017), section 2; the target: Mishkin and Matas, All You Need Is a Good Init (2016).
    """

    gates: Any
    is_affine: bool
    divided_weights: Any
    fixed_arguments: Any
    fixed_noise_rates: Any
    depth: int
    skip_every: int | None
    skip_scale: float
    block_dropout: float
    inner_map: Any
    reads_output: Any
    state_size: Any
    layer_states: Any
    units: int
    activation: Any
    kernel_initializer: Any
    recurrent_initializer: Any
    use_bias: bool
    bias_initializer: Any
    kernel_regularizer: Any
    recurrent_regularizer: Any
    bias_regularizer: Any
    kernel_constraint: Any
    recurrent_constraint: Any
    bias_constraint: Any
    kernel_map: Any
    recurrent_map: Any
    dropout: float
    recurrent_dropout: float
    seed: int | None
    trainable_initial_state: bool

    def __init__(
        self,
        units: int,
        depth: int,
        *,
        activation: Activation = "belu",
        skip_every: int | None = 4,
        skip_scale: float = 0.99,
        block_dropout: float = 0.0,
        kernel_initializer: Initializer = "unit_variance",
        recurrent_initializer: Initializer = "unit_variance",
        use_bias: bool = True,
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def build_maps(self) -> Any: ...
    def skips(self) -> Any:
        """Returns the source and scale of each layer's skip connection, or `None` for a layer without one."""

    @property
    def bias_rows(self) -> Any: ...
    @property
    def memory_states(self) -> Any: ...
    @property
    def noise_sizes(self) -> Any: ...
    @property
    def step_noise_sizes(self) -> Any: ...
    def blocks(self) -> Any:
        """Returns the layers of each block as ranges."""

    def project(self, inputs: Any, training: bool | None = False) -> Any: ...
    def step(self, projected: Any, states: Any, training: bool | None = False) -> Any: ...
    def recurrent_products(self, h: Any, training: bool | None) -> Any:
        """Returns $h_i W_i$ for all layers by one batched product, since all states are known when the step starts."""

    def kept_blocks(self, digits: Any, training: bool | None) -> Any:
        """Returns the mask of each block, `[batch, 1]`, one if it is kept, or `None` without block dropout."""

def mixed(kept: Any, new: Any, old: Any) -> Any:
    """Returns `new` where `kept` is one, and `old` where it is zero."""
