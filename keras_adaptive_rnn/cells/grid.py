"""Grid LSTM: one LSTM along each dimension of a grid, reading the hidden vectors of all dimensions."""

import math

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, _run, initializers, maps
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.cells.bases.any_cell import sibling
from keras_adaptive_rnn.cells.bases.composite import CompositeCell
from keras_adaptive_rnn.cells.lstm import LSTMCell


def grid_block(cells, hidden, memory, run):
    """Returns the hidden and memory vectors that leave a block, which has one LSTM per dimension.

    The paper's $LSTM(H, m_k, W_k)$ is an LSTM cell whose state is $h_k$ and whose inputs are the other $h$. The rows of
    its matrices $W$ and $U$ are the rows of $W_k$.
    """
    pairs = []
    for k, cell in enumerate(cells):
        others = ops.concatenate([h for j, h in enumerate(hidden) if j != k], axis=-1)
        pairs.append(cell.step(cell.project(others, run), [hidden[k], memory[k]], run)[1])
    return [h for h, _ in pairs], [m for _, m in pairs]


class GridCell(CompositeCell):
    r"""A cell of LSTMs whose input is projected to the vectors that enter depth, $[h; m] = x W$."""

    takes_arguments_of = LSTMCell
    reads_output = False
    divided_weights = {"kernel_map/kernel": 1}

    def __init__(self, units: int, *, depth: int, tied: bool = False, **kwargs):
        super().__init__(**kwargs)
        self.units = _arguments.integer("units", units)
        self.depth = _arguments.integer("depth", depth)
        self.tied = _arguments.boolean("tied", tied)

    def place(self, dimensions):
        """Creates the map of the inputs, and lists the states: two vectors for each layer along each dimension."""
        initializer = initializers.reseeded(self.first_part().kernel_initializer, "inputs")
        self.kernel_map = maps.Full().bind(self, "kernel_map", self.units, initializer)
        self.state_size = [self.units] * (1 + 2 * dimensions * self.depth)
        self.output_size = self.units

    @property
    def memory_states(self):
        return [False] + [True] * (len(self.state_size) - 1)

    def build_cells(self, input_shape, cells, size):
        """Builds the cell, whose LSTMs read vectors of this size."""
        self._set_input_size(input_shape)
        self.kernel_map.build_blocks((2,), self.input_size)
        for cell in cells:
            cell.build((None, size))

    def project(self, inputs, run):
        return self.kernel_map(self.drop(inputs, "dropout", run), run)


@export
class GridLSTMCell(GridCell):
    r"""One LSTM along time and one along depth, at every point of a grid.

    The input is projected to the vectors that enter the depth dimension, $[h^0; m^0] = x_t W$. In layer
    $l = 1, \dots, L$, with $\hat h^l, \hat m^l$ the vectors along time:

    $$H = [\hat h^l_{t-1}; h^{l-1}_t]$$
    $$\hat h^l_t, \hat m^l_t = \mathrm{LSTM}(H, \hat m^l_{t-1}, \hat W^l), \qquad
      h^l_t, m^l_t = \mathrm{LSTM}(H, m^{l-1}_t, W^l)$$

    The output is $h^L_t$.

    Weights, in order: the LSTMs along time, the lowest layer first; the LSTMs along depth, likewise; `kernel_map` $W$
    `[inputs, 2 units]`. Each LSTM has the weights of `keras_adaptive_rnn.LSTMCell`: its kernel holds the rows of the
    paper's matrix for the other dimension's vector, and its recurrent kernel the rows for its own.

    Args:
        units: Positive integer, size of every vector.
        depth: Positive integer, $L$.
        tied: Whether all layers share their weights. Defaults to `False`.
        kernel_initializer: Initializer of $W$ and of the kernels of the LSTMs. Defaults to `"glorot_uniform"`.
        dropout: Float in `[0, 1)`, fraction of $x_t$ to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of each $\hat h^l_{t-1}$ to drop, with one mask per sequence,
            shared by all layers. Defaults to `0.0`.
        **kwargs: Arguments of the LSTMs, as in `keras_adaptive_rnn.LSTMCell`, except `projection_units`.

    States: each `[batch, units]`, the output, which the next step does not read, then $\hat h$ and $\hat m$
    for each layer, the lowest first.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.GridLSTMCell(8, depth=2))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Kalchbrenner, Danihelka, Graves, Grid Long Short-Term Memory (2015), section 3.
    """

    refused_arguments = ("projection_units",)

    def __init__(self, units: int, depth: int, **kwargs):
        super().__init__(units, depth=depth, **kwargs)
        layers = 1 if self.tied else self.depth
        self.time_cells = [self.make(2 * k, self.units) for k in range(layers)]
        self.depth_cells = [self.make(2 * k + 1, self.units) for k in range(layers)]
        self.place(dimensions=1)

    def first_part(self):
        return self.time_cells[0]

    @property
    def noise_sizes(self):
        return {**super().noise_sizes, "recurrent_dropout": self.units}

    def build(self, input_shape):
        self.build_cells(input_shape, [*self.time_cells, *self.depth_cells], self.units)
        super().build(input_shape)

    def step(self, projected, states, run):
        h, m = ops.split(projected, 2, axis=-1)
        along_time = []
        for layer in range(self.depth):
            h_time = self.drop(states[1 + 2 * layer], "recurrent_dropout", run)
            m_time = states[2 + 2 * layer]
            cells = [along[0 if self.tied else layer] for along in (self.time_cells, self.depth_cells)]
            (h_time, h), (m_time, m) = grid_block(cells, [h_time, h], [m_time, m], run)
            along_time += [h_time, m_time]
        return h, [h, *along_time]


class WaveCell(GridCell):
    """The points of a grid that can be computed at once, for `keras_adaptive_rnn.layers.MultidimensionalGridLSTM`.

    A point waits for those before it, one along each dimension. So the points whose places along all dimensions add up
    to $s$ are computed in step $s$, a wave, from the wave before. There is one for each place along the inner
    dimensions, which are all but the first; a step runs over `sizes` places, the batch varying fastest, as its rows.

    Args:
        units: Positive integer, size of every vector.
        dimensions: Integer, at least 2, the number n of dimensions of the data. Defaults to `2`.
        depth: Positive integer, L, the number of layers along depth. Defaults to `1`.
        tied: Whether all layers share their weights. Defaults to `False`.
        kernel_initializer: Initializer of $W$ and of the kernels of the LSTMs. Defaults to `"glorot_uniform"`.
        dropout: Float in `[0, 1)`, fraction of each input to drop, with one mask per sample. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the hidden vectors along the dimensions of the data to drop,
            with one mask per sample. Defaults to `0.0`.
        **kwargs: As in `keras_adaptive_rnn.LSTMCell`.
    """

    # A mask of the LSTMs would be one for each place along the inner dimensions.
    refused_arguments = ("projection_units", "update_dropout", "trainable_initial_state")
    fixed_arguments = ("trainable_initial_state",)

    def __init__(self, units: int, dimensions: int = 2, *, depth: int = 1, **kwargs):
        super().__init__(units, depth=depth, **kwargs)
        self.dimensions = _arguments.integer("dimensions", dimensions, minimum=2)
        count = (self.dimensions + 1) * (1 if self.tied else self.depth)
        self.cells = [self.make(k, self.units) for k in range(count)]
        self.place(self.dimensions)
        self.sizes = None

    def first_part(self):
        return self.cells[0]

    def build(self, input_shape):
        self.build_cells(input_shape, self.cells, self.dimensions * self.units)
        super().build(input_shape)

    def prepare_sequence(self, batch_size, run):
        places = math.prod(self.sizes)
        noise = super().prepare_sequence(batch_size // places, run)
        return {name: ops.tile(mask, (places, 1)) for name, mask in noise.items()}

    def step(self, projected, states, run):
        h, m = ops.split(projected, 2, axis=-1)
        n, left, along_data = self.dimensions, iter(states[1:]), []
        for layer in range(self.depth):
            before = [[self.before(next(left), k), self.before(next(left), k)] for k in range(n)]
            hidden = [self.drop(h_k, "recurrent_dropout", run) for h_k, _ in before]
            first = 0 if self.tied else layer * (n + 1)
            cells = self.cells[first : first + n + 1]
            (*hidden, h), (*memory, m) = grid_block(cells, [*hidden, h], [*(m_k for _, m_k in before), m], run)
            along_data += [vector for pair in zip(hidden, memory, strict=True) for vector in pair]
        return h, [h, *along_data]

    def before(self, vectors, dimension):
        """Returns the vectors of the points before those of a wave, from the vectors of the wave before."""
        if dimension == 0:
            return vectors
        axis = dimension - 1
        grid = ops.reshape(vectors, (*self.sizes, -1, self.units))
        others = (slice(None),) * axis
        grid = ops.concatenate([ops.zeros_like(grid[(*others, slice(1))]), grid[(*others, slice(-1))]], axis=axis)
        return ops.reshape(grid, (-1, self.units))


@export
class GridLSTMBlock(_arguments.DeclaredArguments, keras.layers.Layer):
    r"""An N-dimensional grid LSTM block: one LSTM per dimension, each of which reads all hidden vectors.

    $$H = [h_1; \dots; h_N], \qquad h'_k, m'_k = \mathrm{LSTM}(H, m_k, W_k) \;\text{ for } k = 1, \dots, N$$

    Weights: the N LSTMs in order, each with the weights of `keras_adaptive_rnn.LSTMCell`: its kernel holds the rows of
    $W_k$ for the other dimensions' vectors, in order, and its recurrent kernel the rows for its own.

    Args:
        units: Positive integer, size of every vector.
        dimensions: Integer, at least 2, the number N of dimensions. Defaults to `2`.
        **kwargs: Arguments of the LSTMs, as in `keras_adaptive_rnn.LSTMCell`, except `projection_units` and
            `trainable_initial_state`.

    Call arguments:
        hidden: List of N tensors `[batch, units]`, $h_1, \dots, h_N$.
        memory: List of N tensors `[batch, units]`, $m_1, \dots, m_N$.
        training: Whether dropout is on.

    Returns: `hidden, memory`, lists of N tensors `[batch, units]`.

    Raises:
        ValueError: An argument is out of range, or a list does not hold N tensors of `units` entries.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> block = keras_adaptive_rnn.GridLSTMBlock(4, dimensions=3)
    >>> hidden, memory = block([np.ones((2, 4))] * 3, [np.zeros((2, 4))] * 3)
    >>> len(hidden), tuple(memory[0].shape)
    (3, (2, 4))

    Reference: Kalchbrenner, Danihelka, Graves, Grid Long Short-Term Memory (2015), section 3.1.
    """

    takes_arguments_of = LSTMCell
    refused_arguments = ("projection_units", "trainable_initial_state")

    def __init__(self, units: int, dimensions: int = 2, **kwargs):
        of_layer, of_cells = _arguments.split_arguments(type(self), keras.layers.Layer, kwargs)
        super().__init__(**of_layer)
        self.units = _arguments.integer("units", units)
        self.dimensions = _arguments.integer("dimensions", dimensions, minimum=2)
        self.cells = [
            LSTMCell(self.units, dtype=self.dtype_policy, **sibling(LSTMCell, of_cells, k))
            for k in range(self.dimensions)
        ]

    def first_part(self):
        return self.cells[0]

    def build(self, hidden_shape, memory_shape):
        for name, shapes in (("hidden", hidden_shape), ("memory", memory_shape)):
            sizes = [shape[-1] for shape in shapes] if isinstance(shapes[0], (list, tuple)) else None
            rule = f"Argument `{name}` must be a list of {self.dimensions} tensors of shape (batch, {self.units})"
            _arguments.check(sizes == [self.units] * self.dimensions, rule, shapes=shapes)
        for cell in self.cells:
            cell.build((None, self.units * (self.dimensions - 1)))

    def call(self, hidden, memory, training=False):
        return grid_block(self.cells, hidden, memory, _run.current(bool(training)))

    def compute_output_shape(self, hidden_shape, memory_shape):
        return hidden_shape, memory_shape
