"""Cells one above the other, as one cell with flat states."""

from typing import Any

from keras_adaptive_rnn.cells.bases.container import ContainerCell

CONNECTIONS: Any

class StackedCells(ContainerCell):
    """Cells one above the other: each reads the output of the one below it in the same time step.

    With $h^0_t = x_t$ and $h^l_t$ the output of cell $l = 1, \\dots, L$:

    - `connection=None`: cell $l$ reads $h^{l-1}_t$, and the output is $h^L_t$.
    - `connection="skip"`: the same, and the output is $\\sum_l h^l_t$.
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

    fixed_arguments: Any
    cells: Any
    connection: str | None
    own_states_before: Any
    state_size: Any
    output_size: Any
    memory_index: Any
    reads_output: Any
    seed: int | None
    trainable_initial_state: bool

    def __init__(
        self,
        cells: list[Any],
        connection: str | None = None,
        *,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool | None = None,
    ) -> None:
        """Cells one above the other: each reads the output of the one below it in the same time step.

        Args:
            cells: List of cells, the lowest first. Each one's first state must be its output.
            connection: `None` (default), `"skip"` or `"residual"`. `"skip"` needs cells of one output size,
                `"residual"` too, and the first cell may have inputs of any size.
            seed: Integer seed of the masks, or `None` (default).
            trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the
                batch, initialized to zero. Defaults to `False`: zeros.
            name: As in `keras.layers.Layer`.
            dtype: As in `keras.layers.Layer`.
            trainable: As in `keras.layers.Layer`.
        """

    def inner_cells(self) -> Any: ...
    def build(self, input_shape: Any) -> None: ...
    def project(self, inputs: Any, training: bool | None = False) -> Any: ...
    def step(self, projected: Any, states: Any, training: bool | None = False) -> Any: ...
