"""Cells one above the other, as one cell with flat states."""

from typing import Any

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.cells.bases.any_cell import as_list, memory_index, output_size, project, step, validate_cell
from keras_adaptive_rnn.cells.bases.container import ContainerCell

CONNECTIONS = ("skip", "residual")


@export
class StackedCells(ContainerCell):
    r"""Cells one above the other: each reads the output of the one below it in the same time step.

    With $h^0_t = x_t$ and $h^l_t$ the output of cell $l = 1, \dots, L$:

    - `connection=None`: cell $l$ reads $h^{l-1}_t$, and the output is $h^L_t$.
    - `connection="skip"`: the same, and the output is $\sum_l h^l_t$.
    - `connection="residual"`: above the first cell, what the next one reads is $h^l_t$ plus what cell $l$ has read, and
      the output is what a cell above the last would read.

    In contrast to `keras.layers.StackedRNNCells` the states are flat and the first is the output, so that a modulator
    can hold the stack, and masks repeat the right output on every backend.

    Weights: those of the cells, from the lowest to the highest.

    Args:
        cells: List of cells, the lowest first. Each one's first state must be its output.
        connection: `None` (default), `"skip"` or `"residual"`. `"skip"` needs cells of one output size, `"residual"`
            too, and the first cell may have inputs of any size.
        dropout, recurrent_dropout: Not taken; give them to the cells.
        seed, trainable_initial_state: As in `keras_adaptive_rnn.cells.Cell`.
        name, dtype, trainable: As in `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of the states of the cells, those of the highest first; with a connection, the output before them.
        training: Whether the cells drop.

    Returns: `output, states`.

    Raises:
        ValueError: `cells` is not a list of cells, holds one twice, or their sizes do not fit the connection.

    Example:

    >>> cells = [keras_adaptive_rnn.LSTMCell(8, tied_gates=True, projection_units=4) for _ in range(3)]
    >>> stack = keras_adaptive_rnn.StackedCells(cells, connection="skip")
    >>> tuple(keras_adaptive_rnn.layers.RNN(stack)(np.ones((2, 5, 3))).shape)
    (2, 4)

    Reference: Melis, Dyer, Blunsom, On the State of the Art of Evaluation in Neural Language Models (2018), section 3,
    for the skip connections.
    """

    fixed_arguments = ("dropout", "recurrent_dropout")

    def __init__(self, cells: list[Any], connection: str | None = None, **kwargs):
        super().__init__(**kwargs)
        if not isinstance(cells, (list, tuple)) or not cells or len({id(cell) for cell in cells}) < len(cells):
            raise ValueError(
                "Argument `cells` must be a list of recurrent cells, each there once, so that each has its own "
                f"weights. Received: cells={cells!r}"
            )
        self.cells = [validate_cell("cells", cell) for cell in cells]
        self.connection = None if connection is None else _arguments.choice("connection", connection, CONNECTIONS)
        sizes = [output_size(cell) for cell in self.cells]
        if self.connection and len(set(sizes)) > 1:
            raise ValueError(
                f"Argument `connection` must be None where the cells have outputs of several sizes, here {sizes}. "
                f"Received: connection={connection!r}"
            )
        # The output of a connection is a state of its own: it is none of any cell's.
        own = [] if self.connection is None else [sizes[-1]]
        self.own_states_before = len(own)
        self.state_size = own + [size for cell in reversed(self.cells) for size in as_list(cell.state_size)]
        self.output_size = sizes[-1]
        self.memory_index = len(own) + memory_index(self.cells[-1])
        self.reads_output = self.connection is None and getattr(self.cells[-1], "reads_output", True)

    def inner_cells(self):
        return self.cells[::-1]

    def build(self, input_shape):
        batch_size, size = input_shape
        for cell in self.cells:
            self.build_inner(cell, (batch_size, size))
            size = output_size(cell)
        super().build(input_shape)

    def project(self, inputs, training=False):
        return project(self.cells[0], inputs, training, self.compute_dtype)

    def step(self, projected, states, training=False):
        states = self.divide_states(states)[::-1]
        outputs, read = [], None
        for k, cell in enumerate(self.cells):
            if k > 0:
                projected = project(cell, read, training, self.compute_dtype)
            h, states[k] = step(cell, projected, states[k], training, self.compute_dtype)
            read = h + read if k > 0 and self.connection == "residual" else h
            outputs.append(h)
        output = sum(outputs) if self.connection == "skip" else read
        new = [state for of_cell in reversed(states) for state in of_cell]
        return output, new if self.connection is None else [output, *new]
