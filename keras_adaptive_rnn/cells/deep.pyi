"""Deep stacks of vanilla recurrent layers, with skip connections and stochastic depth."""

from typing import Any

from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.bases.gated import GatedCell
from keras_adaptive_rnn.maps.base import LinearMap

class DeepRNNCell(GatedCell):
    """A stack of Elman layers as one cell, to 144 layers and more.

    With $x_1 = x_t$ and $x_i = h_{i-1}(t)$ above it, for $i = 1, \\dots, L$:

    $$h_i(t) = f(x_i(t) U_i + h_i(t-1) W_i + b_i) \\; (+ \\; \\alpha h_{i-k}(t) \\;\\text{ for } i = k, 2k, 3k, \\dots)$$

    The output is $h_L$. For $i = k$ the skip connection comes from $x_t$, if that has `units` features; else there is
    none. With `block_dropout`, a block of $k$ layers may be left out of a step: its states stay as they are, and it
    puts out what it reads.

    Weights, in order: `kernel_map` $U_1$ `[inputs, units]`, `recurrent_map` $W$ `[units, depth * units]`, block
    after block those of the layers, `inner_map` $U_2, \\dots, U_L$ `[units, (depth - 1) * units]`, `bias`
    `[depth, units]` (without the first axis if `depth` is one).

    Args:
        units: Positive integer, size of every layer.
        depth: Positive integer, $L$.
        activation: $f$. Defaults to `"belu"`, the bipolar ELU.
        skip_every: Positive integer, $k$; `None` for no skip connections. Defaults to `4`.
        skip_scale: Number, $\\alpha$. Defaults to `0.99`, so that a layer whose output has unit variance has something
            left to add.
        dropout: Float in `[0, 1)`, share of each $x_i$ to drop, anew in every step. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, share of each $h_i(t-1)$ to drop where it is read, one mask a sequence and
            layer (rnnDrop). Defaults to `0.0`.
        block_dropout: Float in `[0, 1)`, probability that a block of `skip_every` layers is left out of a step, drawn
            for every sample and step. Nothing is rescaled in inference. The lowest block is never left out where it
            reads inputs of another size. Defaults to `0.0`.
        **kwargs: As in `keras_adaptive_rnn.cells.GatedCell`, but for `layer_normalization` and `per_gate_dropout`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of $h_L, \\dots, h_1$, each `[batch, units]`; with `block_dropout` the output before them, which the
            next step does not read; with `dropout` or `block_dropout` a count of the steps, `[batch, 3]`, after them.
        training: Whether anything is dropped.

    Returns: `output, states`; the output is $h_L$.

    Raises:
        ValueError: an argument is out of its range, or `block_dropout` is given without `skip_every`.
        TypeError: an argument is unknown, or of the wrong type.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.DeepRNNCell(8, depth=12))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Eidnes, Nokland, Shifting Mean Activation Towards Zero with Bipolar Activation Functions (2018),
    section 3, equations 3 and 4, and section 4.1. In the authors' code a dropped block adds its skip connection to what
    it passes on, and is drawn for the whole batch; this is the paper's form.
    """

    gates: Any
    fixed_arguments: Any
    depth: int
    skip_every: int | None
    skip_scale: float
    block_dropout: float
    inner_map: Any
    reads_output: Any
    state_size: Any
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
    dropout: float
    recurrent_dropout: float
    seed: int | None
    trainable_initial_state: bool

    def __init__(
        self,
        units: int,
        *,
        depth: int,
        activation: Activation = "belu",
        skip_every: int | None = 4,
        skip_scale: float = 0.99,
        block_dropout: float = 0.0,
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
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool | None = None,
    ) -> None:
        """A stack of Elman layers as one cell, to 144 layers and more.

        Args:
            units: Positive integer, size of every layer.
            depth: Positive integer, $L$.
            activation: $f$. Defaults to `"belu"`, the bipolar ELU.
            skip_every: Positive integer, $k$; `None` for no skip connections. Defaults to `4`.
            skip_scale: Number, $\\alpha$. Defaults to `0.99`, so that a layer whose output has unit variance has
                something left to add.
            block_dropout: Float in `[0, 1)`, probability that a block of `skip_every` layers is left out of a
                step, drawn for every sample and step. Nothing is rescaled in inference. The lowest block is never
                left out where it reads inputs of another size. Defaults to `0.0`.
            use_bias: Whether to add a bias. Defaults to `True`.
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
            dropout: Float in `[0, 1)`, share of each $x_i$ to drop, anew in every step. Defaults to `0.0`.
            recurrent_dropout: Float in `[0, 1)`, share of each $h_i(t-1)$ to drop where it is read, one mask a
                sequence and layer (rnnDrop). Defaults to `0.0`.
            seed: Integer seed of the masks, or `None` (default).
            trainable_initial_state: Whether the state before the first step is trained, one vector a state,
                shared by the batch, zero at the start of training. Defaults to `False`: zeros.
            name: As in `keras.layers.Layer`.
            dtype: As in `keras.layers.Layer`.
            trainable: As in `keras.layers.Layer`.
        """

    def build_maps(self) -> None: ...
    @property
    def bias_rows(self) -> Any: ...
    @property
    def memory_states(self) -> Any: ...
    @property
    def noise_sizes(self) -> Any: ...
    @property
    def step_noise_sizes(self) -> Any: ...
    def project(self, inputs: Any, training: bool | None = False) -> Any: ...
    def step(self, projected: Any, states: Any, training: bool | None = False) -> Any: ...
    def recurrent_products(self, h: Any, training: bool | None) -> Any:
        """Returns $h_i W_i$ for all layers: one batched product, as all the states are known."""

    def kept_blocks(self, digits: Any, training: bool | None) -> Any:
        """Returns for each block whether it is kept, `[batch, 1]`, or `None` if none is dropped."""
