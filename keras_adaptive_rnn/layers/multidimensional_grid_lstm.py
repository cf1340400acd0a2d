"""Grid LSTM over data of two or more dimensions, such as images."""

import itertools
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.cells.grid import WaveCell
from keras_adaptive_rnn.loop.cell_runner import CellRunner


@export
class MultidimensionalGridLSTM(_arguments.DeclaredArguments, keras.layers.Layer):
    r"""One LSTM along each dimension of the data, such as the rows and columns of an image, and one along depth.

    The grid has $n$ dimensions of the data and one of depth. At the point $p$ of the data, the input is projected to
    the vectors that enter the depth dimension, $[h^0; m^0] = x_p W$. In layer $l = 1, \dots, L$, with $\hat h^l_k,
    \hat m^l_k$ the vectors along dimension $k = 1, \dots, n$, and $p - e_k$ the point before $p$ in that dimension:

    $$H = [\hat h^l_{1, p - e_1}; \dots; \hat h^l_{n, p - e_n}; h^{l-1}_p]$$
    $$\hat h^l_{k, p}, \hat m^l_{k, p} = \mathrm{LSTM}(H, \hat m^l_{k, p - e_k}, \hat W^l_k), \qquad
      h^l_p, m^l_p = \mathrm{LSTM}(H, m^{l-1}_p, W^l)$$

    The vectors that enter the grid along a dimension of the data are zero. The output is $h^L_p$.

    All points whose places add up to the same number are computed at once, so a grid of $d_1 \times \dots \times d_n$
    points takes $1 + \sum_k (d_k - 1)$ steps, in one loop. The sizes of the data must be known; that of the batch need
    not be. Masks are refused. For a single dimension, use `keras_adaptive_rnn.layers.GridLSTM`; to read images from
    several corners, flip them.

    Weights, in order: the LSTMs, the lowest layer first, in each layer one per dimension of the data, in order, and
    then the one along depth; `kernel_map` $W$ `[inputs, 2 units]`. Each LSTM has the weights of
    `keras_adaptive_rnn.LSTMCell`: its kernel holds the rows of the paper's matrix for the vectors of the other
    dimensions, in order, and its recurrent kernel the rows for its own.

    Args:
        dimensions: Integer, at least 2, the number $n$ of dimensions of the data. Defaults to `2`.
        depth: Positive integer, $L$. Defaults to `1`.
        return_sequences: Whether to return the output at every point. Defaults to `False`: only at the last one.
        dropout: Float in `[0, 1)`, fraction of $x_p$ to drop, with one mask per sample. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of each $\hat h$ to drop, with one mask per sample, shared by all
            dimensions and layers. Defaults to `0.0`.
        **kwargs: Arguments of the LSTMs, as in `keras_adaptive_rnn.LSTMCell`, except `projection_units`,
            `update_dropout` and `trainable_initial_state`.

    Call arguments:
        inputs: Tensor `[batch, d_1, ..., d_n, features]`.
        mask: Must be `None`.
        training: Whether dropout is on.

    Output shape: `[batch, units]`, or `[batch, d_1, ..., d_n, units]` with `return_sequences`.

    Example:

    >>> layer = keras_adaptive_rnn.layers.MultidimensionalGridLSTM(8, return_sequences=True)
    >>> tuple(layer(np.ones((2, 5, 6, 3))).shape)
    (2, 5, 6, 8)

    Reference: Kalchbrenner, Danihelka, Graves, Grid Long Short-Term Memory (2015), section 3.
    """

    takes_arguments_of = WaveCell
    is_time_distributed = False

    def __init__(self, units: int, dimensions: int = 2, *, return_sequences: bool = False, **kwargs):
        of_layer, of_cell = _arguments.split_arguments(type(self), keras.layers.Layer, kwargs)
        super().__init__(**of_layer)
        self.cell = WaveCell(units, dimensions, dtype=self.dtype_policy, **of_cell)
        self.units, self.dimensions = self.cell.units, self.cell.dimensions
        self.return_sequences = _arguments.boolean("return_sequences", return_sequences)

    def first_part(self):
        return self.cell

    def build(self, input_shape):
        if len(input_shape) != self.dimensions + 2 or not all(input_shape[1:]):
            raise ValueError(
                f"Layer '{self.name}' with dimensions={self.dimensions} expected inputs of shape (batch, "
                f"{', '.join(f'd_{k + 1}' for k in range(self.dimensions))}, features), all but the batch of a known "
                f"size of at least 1. Received: input shape {tuple(input_shape)}"
            )
        *sizes, features = input_shape[1:]
        self.input_spec = keras.layers.InputSpec(shape=(None, *sizes, features))
        self.cell.sizes = tuple(sizes[1:])
        self.cell.build((None, features))
        self._runner, self._waves = CellRunner(self.cell), Waves.of(sizes)

    def call(self, inputs, mask=None, training=False):
        if mask is not None:
            raise ValueError(
                f"Layer '{self.name}' takes no mask, as each point of its grid reads those before it in every "
                f"dimension. Received: a mask of shape {tuple(mask.shape)}"
            )
        batch_size, sizes = ops.shape(inputs)[0], inputs.shape[1:-1]
        waves, rows = self._waves, (len(self._waves.is_point), -1)
        order, places = (ops.convert_to_tensor(each, dtype="int32") for each in (waves.points, waves.places))
        # Points first, then the batch. Matrices, as PyTorch's exporter takes no rows of other tensors.
        points = ops.reshape(ops.moveaxis(inputs, 0, -2), (len(waves.places), -1))
        sequences = ops.reshape(ops.take(points, order, axis=0), (*rows, inputs.shape[-1]))
        is_point = ops.reshape(ops.tile(ops.expand_dims(waves.is_point, -1), (1, 1, batch_size)), (*rows, 1))

        count = waves.is_point.shape[1] * batch_size
        last, outputs, _, _ = self._runner.scan(
            self._runner.cast_inputs(sequences),
            self._runner.initial_states(count),
            # It holds the zeros before the first point of a row.
            is_point,
            training=bool(training),
            return_sequences=self.return_sequences,
        )
        if not self.return_sequences:
            return ops.reshape(last, (waves.is_point.shape[1], batch_size, self.units))[-1]
        outputs = ops.take(ops.reshape(outputs, (len(waves.points), -1)), places, axis=0)
        return ops.moveaxis(ops.reshape(outputs, (*sizes, batch_size, self.units)), -2, 0)

    def compute_output_shape(self, input_shape):
        sizes = input_shape[1:-1] if self.return_sequences else ()
        return (input_shape[0], *sizes, self.units)


class Waves(NamedTuple):
    """The order in which the points of a grid are computed, as arrays.

    Attributes:
        points: Integers `[waves * rows]`, the point that each row of a wave computes, all points numbered in order.
        is_point: Booleans `[waves, rows]`, whether there is such a point.
        places: Integers `[points]`, the place of each point in `points`.
    """

    points: np.ndarray
    is_point: np.ndarray
    places: np.ndarray

    @classmethod
    def of(cls, sizes):
        """Returns the waves of a grid; a row stays at its place along all dimensions but the first."""
        first, *inner = sizes
        row_starts = np.array([sum(place) for place in itertools.product(*map(range, inner))])
        rows = np.arange(len(row_starts))
        along_first = np.arange(first + row_starts.max())[:, None] - row_starts
        is_point = (along_first >= 0) & (along_first < first)
        points = np.clip(along_first, 0, first - 1) * len(rows) + rows
        places = (np.arange(first)[:, None] + row_starts) * len(rows) + rows
        return cls(points.reshape(-1).astype("int32"), is_point, places.reshape(-1).astype("int32"))
