"""A cell that shows all of its states, and whose gradient goes back a limited number of steps."""

from typing import Any

from keras_adaptive_rnn.cells.bases.container import ContainerCell

class StatesOutput(ContainerCell):
    """A cell whose output is all that another cell remembers: its states, one after the other.

    With `truncate`, no gradient passes the states after every $k$-th step: counted from 0, step $t$ with
    $t \\bmod k = 0$ and $t > 0$ reads $\\mathrm{stop\\_gradient}(s_{t-1})$. So a loss at the end of a block of $k$ steps
    reaches back exactly to the beginning of the block.

    Weights: the weights of the cell.

    Args:
        cell: The cell; its first state must be its output. States that are bookkeeping, such as the step count of
            `keras_adaptive_rnn.ZoneoutCell`, are not put out.
        truncate: Positive integer $k$, or `None` (default): the gradient reaches back to the first step.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of the output, `[batch, output_size]`, which is not read; the states of the cell; with `truncate`,
            the step count `[batch, 3]`, as digits of base 128.
        training: Whether dropout of the cell is on.

    Returns: `output, states`; the output is the first state.

    Raises:
        ValueError: `cell` is not a cell, or `truncate` is not positive.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> cell = keras_adaptive_rnn.StatesOutput(keras_adaptive_rnn.LSTMCell(4))
    >>> tuple(keras_adaptive_rnn.layers.RNN(cell, return_sequences=True)(np.ones((2, 5, 3))).shape)  # h and c.
    (2, 5, 8)

    Reference: Williams and Peng, An Efficient Gradient-Based Algorithm for On-Line Training of Recurrent Network
    Trajectories (1990), for the truncated gradient.
    """

    fixed_arguments: Any
    own_states_before: int
    reads_output: bool
    cell: Any
    truncate: int | None
    output_size: Any
    state_size: Any
    memory_index: Any
    seed: int | None
    trainable_initial_state: bool

    def __init__(
        self,
        cell: Any,
        truncate: int | None = None,
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
