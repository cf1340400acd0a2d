"""A stack of cells as one cell with flat states."""

from typing import Any

from keras_adaptive_rnn.cells.bases.container import ContainerCell

CONNECTIONS: Any

class StackedCells(ContainerCell):
    """A stack of cells: each cell reads the output of the cell below it in the same time step.

    With $h^0_t = x_t$ and $h^l_t$ the output of cell $l = 1, \\dots, L$:

    - `connection=None`: cell $l$ reads $h^{l-1}_t$, and the output is $h^L_t$.
    - `connection="skip"`: cell $l$ reads $h^{l-1}_t$, and the output is $\\sum_l h^l_t$.
    - `connection="residual"`: $r^1_t = h^1_t$ and $r^l_t = h^l_t + r^{l-1}_t$ for $l > 1$; cell $l$ reads $r^{l-1}_t$,
      and the output is $r^L_t$.

    Unlike in `keras.layers.StackedRNNCells`, the states are flat and the first state is the output, so that other cells
    can wrap the stack, and masked steps repeat the right output on every backend.

    Weights: the weights of the cells, the lowest cell first.

    Args:
        cells: List of cells, the lowest first. The first state of each cell must be its output.
        connection: `None` (default), `"skip"` or `"residual"`. Both connections need cells of equal output sizes;
            the input size of the first cell is free.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of the states of the cells, the highest cell first; with a connection, the output precedes them.
        training: Whether dropout of the cells is on.

    Returns: `output, states`; the output is the first state.

    Raises:
        ValueError: `cells` is not a list of cells, contains a cell twice, or their sizes do not fit the connection.
        TypeError: An argument is unknown or of the wrong type.

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
        trainable: bool = True,
    ) -> None: ...
    def inner_cells(self) -> Any: ...
    def build(self, input_shape: Any) -> None: ...
    def project(self, inputs: Any, training: bool | None = False) -> Any: ...
    def step(self, projected: Any, states: Any, training: bool | None = False) -> Any: ...
