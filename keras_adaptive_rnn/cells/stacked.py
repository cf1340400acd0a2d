"""A stack of cells as one cell with flat states."""

from typing import Any

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.cells.bases.any_cell import as_list, memory_index, output_size, project, step, validate_cell
from keras_adaptive_rnn.cells.bases.container import ContainerCell

CONNECTIONS = ("skip", "residual")


@export
class StackedCells(ContainerCell):
    r"""A stack of cells: each cell reads the output of the cell below it in the same time step.

    With $h^0_t = x_t$ and $h^l_t$ the output of cell $l = 1, \dots, L$:

    - `connection=None`: cell $l$ reads $h^{l-1}_t$, and the output is $h^L_t$.
    - `connection="skip"`: cell $l$ reads $h^{l-1}_t$, and the output is $\sum_l h^l_t$.
    - `connection="residual"`: $r^1_t = h^1_t$ and $r^l_t = h^l_t + r^{l-1}_t$ for $l > 1$; cell $l$ reads $r^{l-1}_t$,
      and the output is $r^L_t$.

    Unlike in `keras.layers.StackedRNNCells`, the states are flat and the first state is the output, so that other cells
    can wrap the stack, and masked steps repeat the right output on every backend.

    Weights: the weights of the cells, the lowest cell first.

    Args:
        cells: List of cells, the lowest first. The first state of each cell must be its output.
        connection: `None` (default), `"skip"` or `"residual"`. Both connections need cells of equal output sizes; the
            input size of the first cell is free.
        dropout, recurrent_dropout: Not accepted; pass them to the cells instead.
        **kwargs: As in `keras_adaptive_rnn.cells.Cell`.

    States: the states of the cells, the highest cell first; with a connection, the output precedes them.

    Example:

    >>> cells = [keras_adaptive_rnn.LSTMCell(8, tied_gates=True, projection_units=4) for _ in range(3)]
    >>> stack = keras_adaptive_rnn.StackedCells(cells, connection="skip")
    >>> tuple(keras_adaptive_rnn.layers.RNN(stack)(np.ones((2, 5, 3))).shape)
    (2, 4)

    Reference: Melis, Dyer, Blunsom, On the State of the Art of Evaluation in Neural Language Models (2018), section 3,
    for the skip connections.
    """

    fixed_arguments = ("dropout", "recurrent_dropout")
    # Whether the maker of the stack declares that its cells differ only in weights and random numbers.
    repeats = False

    def __init__(self, cells: list[Any], connection: str | None = None, **kwargs):
        super().__init__(**kwargs)
        fits = isinstance(cells, (list, tuple)) and 0 < len(cells) == len({id(cell) for cell in cells})
        rule = "Argument `cells` must be a list of distinct recurrent cells, so that each has its own weights"
        _arguments.check(fits, rule, cells=cells)
        self.cells = [validate_cell("cells", cell) for cell in cells]
        self.connection = None if connection is None else _arguments.choice("connection", connection, CONNECTIONS)
        sizes = [output_size(cell) for cell in self.cells]
        rule = f"Argument `connection` must be None if the cells have different output sizes, here {sizes}"
        _arguments.check(self.connection is None or len(set(sizes)) == 1, rule, connection=connection)
        # With a connection, the output is no state of any cell, so the stack has a state for it.
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

    def project(self, inputs, run):
        return project(self.cells[0], inputs, run, self.compute_dtype)

    def step(self, projected, states, run):
        states = self.split_states(states)[::-1]
        outputs, read = [], None
        for k, cell in enumerate(self.cells):
            if k > 0:
                projected = project(cell, read, run, self.compute_dtype)
            h, states[k] = step(cell, projected, states[k], run, self.compute_dtype)
            read = h + read if k > 0 and self.connection == "residual" else h
            outputs.append(h)
        output = sum(outputs) if self.connection == "skip" else read
        new = [state for cell_states in reversed(states) for state in cell_states]
        return output, new if self.connection is None else [output, *new]
