"""A cell that shows all of its states, and whose gradient goes back a limited number of steps."""

from typing import Any

from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.cells.bases.any_cell import as_list, memory_states, step_states
from keras_adaptive_rnn.cells.bases.noise import DIGITS, count, next_digits
from keras_adaptive_rnn.cells.bases.wrapper import WrapperCell


@export
class StatesOutput(WrapperCell):
    r"""A cell whose output is all that another cell remembers: its states, one after the other.

    With `truncate`, no gradient passes the states after every $k$-th step: counted from 0, step $t$ with
    $t \bmod k = 0$ and $t > 0$ reads $\mathrm{stop\_gradient}(s_{t-1})$. So a loss at the end of a block of $k$ steps
    reaches back exactly to the beginning of the block.

    Weights: the weights of the cell.

    Args:
        cell: The cell; its first state must be its output. States that are bookkeeping, such as the step count of
            `keras_adaptive_rnn.ZoneoutCell`, are not part of the output.
        truncate: Positive integer $k$, or `None` (default): the gradient reaches back to the first step.
        dropout, recurrent_dropout: Not accepted; pass them to the cell instead.
        **kwargs: As in `keras_adaptive_rnn.cells.Cell`.

    States: the output, `[batch, output_size]`, which is not read; the states of the cell; with `truncate`, the step
    count `[batch, 3]`, as digits of base 128.

    Example:

    >>> cell = keras_adaptive_rnn.StatesOutput(keras_adaptive_rnn.LSTMCell(4))
    >>> tuple(keras_adaptive_rnn.layers.RNN(cell, return_sequences=True)(np.ones((2, 5, 3))).shape)  # h and c.
    (2, 5, 8)

    Reference: Williams and Peng, An Efficient Gradient-Based Algorithm for On-Line Training of Recurrent Network
    Trajectories (1990), for the truncated gradient.
    """

    fixed_arguments = ("dropout", "recurrent_dropout")
    own_states_before = 1
    changes_output_state = False
    reads_output = False

    def __init__(self, cell: Any, truncate: int | None = None, **kwargs):
        super().__init__(cell, **kwargs)
        self.truncate = _arguments.integer("truncate", truncate, optional=True)
        sizes = as_list(self.cell.state_size)
        self.output_size = sum(
            size for size, is_memory in zip(sizes, memory_states(self.cell), strict=True) if is_memory
        )
        self.state_size = [self.output_size, *sizes, *([DIGITS] if self.truncate else [])]

    @property
    def memory_index(self):
        return 1 + super().memory_index

    def project(self, inputs, run):
        return self.inner_project(inputs, run)

    def step(self, projected, states, run):
        (inner,) = self.split_states(states)
        digits = []
        if self.truncate:
            steps = count(states[-1])
            cut = ops.logical_and(steps > 0, steps % self.truncate == 0)
            inner = [ops.where(cut, ops.stop_gradient(state), state) for state in inner]
            digits = [next_digits(states[-1])]
        new = step_states(self.cell, projected, inner, run, self.compute_dtype)
        memory = [state for state, is_memory in zip(new, memory_states(self.cell), strict=True) if is_memory]
        output = ops.concatenate(memory, axis=-1)
        return output, [output, *new, *digits]
