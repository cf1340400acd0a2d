"""The input switched affine network: each symbol of the input has an affine map of the state."""

from keras import ops

from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.cells.bases.gated import GatedCell


@export
class ISANCell(GatedCell):
    r"""The input switched affine network (ISAN), in which each symbol of the input has an affine map of the state.

    For inputs $x_t$ that are one-hot vectors, $h_t = h_{t-1} W_k + b_k$, where $k$ is the symbol at step $t$. For any
    inputs, the maps of all symbols are weighted:

    $$h_t = \sum_k x_{t, k} (h_{t-1} W_k + b_k)$$

    There are no activation functions, so the contribution of each symbol to an output is known exactly. Nothing
    bounds the state, either. With one-hot inputs and the initial orthogonal maps, a step adds a bias at most.
    Other inputs multiply it: $n$ independent standard normal features, by about $\sqrt n$ a step, which overflows
    single precision after 220 to 330 steps of 3 features, and after 55 of 27.

    A step multiplies by the matrices of all symbols, even if the input is a one-hot vector: it takes
    $\text{inputs} \cdot \text{units}^2$ multiplications, as many as there are weights. This suits characters, not a
    vocabulary of words.

    Weights, in order: `kernel_map` $b$ `[inputs, units]`, one row for each symbol; `recurrent_map` $W$
    `[units, inputs * units]`, symbol after symbol.

    Args:
        units: Positive integer, dimensionality of the state and of the output space.
        kernel_initializer: Initializer of $b$. Defaults to `"glorot_uniform"`.
        recurrent_initializer: Initializer of each $W_k$. Defaults to `"orthogonal"`.
        dropout: Float in `[0, 1)`, fraction of $x_t$ to drop, with one mask per sequence. Defaults to `0.0`.
        **kwargs: As in `keras_adaptive_rnn.cells.GatedCell`, except for activation, bias, layer normalization and
            `per_gate_dropout`.

    States: $h$ `[batch, units]`. The inputs have a feature for each symbol.

    Example:

    >>> symbols = keras.ops.one_hot([[0, 2, 1], [1, 1, 0]], 3)
    >>> tuple(keras.layers.RNN(keras_adaptive_rnn.ISANCell(4))(symbols).shape)
    (2, 4)

    Reference: Foerster, Gilmer, Chorowski, Sohl-Dickstein, Sussillo, Input Switched Affine Networks: An RNN
    Architecture Designed for Interpretability (2017), section 2.
    """

    gates = ("h",)
    # The kernel holds the biases, and any nonlinearity would defeat the purpose of the cell.
    fixed_arguments = (
        *("activation", "use_bias", "bias_initializer", "bias_regularizer", "bias_constraint"),
        *("layer_normalization", "per_gate_dropout"),
    )

    def __init__(self, units: int, **kwargs):
        super().__init__(units, use_bias=False, **kwargs)

    @property
    def groups(self):
        return (self.input_size,)

    @property
    def init_groups(self):
        return (1,) * self.input_size

    def project(self, inputs, run):
        x = self.drop(inputs, "dropout", run)
        return x, self.kernel_map(x, run)

    def step(self, projected, states, run):
        x, b = projected
        product = self.recurrent(states[0], run)
        of_symbols = ops.reshape(product, (*ops.shape(product)[:-1], self.input_size, self.units))
        h = ops.sum(x[..., None] * of_symbols, axis=-2) + b
        return h, [h]
