"""Skip RNN: a gate decides in which steps the state is updated."""

from typing import Any

import keras
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.cells.bases.adaptive_computation import (
    AdaptiveComputationCell,
    cast,
    cond_rows,
    straight_through,
)
from keras_adaptive_rnn.cells.bases.wrapper import WrapperCell


@export
class SkipCell(AdaptiveComputationCell, WrapperCell):
    r"""A cell that skips steps: a binary gate either lets the inner cell $S$ update the state or copies it.

    $$u_t = \mathrm{round}(\hat u_t), \qquad s_t = u_t\, S(s_{t-1}, x_t) + (1 - u_t)\, s_{t-1}$$
    $$\Delta \hat u_t = \sigma(s_t W_p + b_p), \qquad
      \hat u_{t+1} = u_t \Delta \hat u_t + (1 - u_t)(\hat u_t + \min(\Delta \hat u_t, 1 - \hat u_t))$$

    with $\hat u_1 = 1$, so that the first step is an update, and with one half rounded to zero. The gradient of the
    rounding is one (straight through). $W_p$ reads the memory of the cell: $c$ for an LSTM, $h$ for other cells, and
    the memory of the highest cell for a stack, whose cells are all updated by the same gate. The authors' code
    computes $\Delta \hat u$ only in updated steps and holds it in skipped ones (`held_increment=True`): the results are
    the same, but the gradient does not flow through skipped states.

    In `keras_adaptive_rnn.layers.RNN`, `cost_weight` adds $\lambda \sum_t u_t$ to the loss, averaged over the batch,
    without masked steps. With `return_decisions=True`, that layer also returns the gates.

    In inference, `keras_adaptive_rnn.layers.RNN` computes only the updated steps, each row of a batch at its own pace:
    if half of the steps are skipped, `predict` takes about half the time. On PyTorch and TensorFlow, this takes a cell
    large enough to outweigh the overhead of a step. Inside another cell, and in half precision, the layer runs all
    steps but computes only the rows that are updated. If a gradient may be needed (in PyTorch unless gradients are
    off, in TensorFlow under a tape), it computes everything. The results are the same unless a $\hat u$ is within
    rounding error of one half.

    The probabilities are computed in float32, but the two states that hold them have the compute dtype. In bfloat16, a
    $\Delta \hat u$ below 0.001 is lost when it is added to a $\hat u$ above one quarter, and the cell then skips
    forever.

    Weights, in order: $W_p$ `[size, 1]`, $b_p$ `[1]`, a trained initial state, then the weights of the inner cell.

    Args:
        cell: A cell object, such as `keras.layers.LSTMCell(64)` or a `keras_adaptive_rnn.StackedCells`; its first state
            must be its output.
        update_bias: Number, initial value of $b_p$. Defaults to `1.0`.
        cost_weight: Non-negative number $\lambda$, the cost of an updated step. Defaults to `0.0`. If it is positive,
            the cell does not run in `keras.layers.RNN`, which cannot add the loss.
        held_increment: Whether to hold $\Delta \hat u$ in skipped steps, as in the authors' code. Defaults to `False`.
        decision_initializer: Initializer of $W_p$. Defaults to `"glorot_uniform"`.
        trainable_initial_state: Whether the initial state of the inner cell is trained. Defaults to `False`.
        **kwargs: As in `keras_adaptive_rnn.cells.Cell`.

    States: the inner cell's states, each `[batch, size]`, then $\Delta \hat u$ from the previous step, `[batch,
    1]`, initially one, and $\hat u$ from the previous step, `[batch, 1]`, zero if that step was an update.

    Example:

    >>> cell = keras_adaptive_rnn.SkipCell(keras.layers.LSTMCell(8), cost_weight=1e-4)
    >>> layer = keras_adaptive_rnn.layers.RNN(cell, return_decisions=True)
    >>> output, updates = layer(np.ones((2, 5, 3)))
    >>> tuple(output.shape), tuple(updates.shape), len(layer.losses)
    ((2, 8), (2, 5), 1)

    Reference: Campos, Jou, Giro-i-Nieto, Torres, Chang, Skip RNN: Learning to Skip State Updates in Recurrent Neural
    Networks (2018), section 3, equations 2 to 6.
    """

    own_state_size = (1, 1)
    # It copies the output of the inner cell with all other states, no matter what reads it.
    changes_output_state = False
    fixed_arguments = ("dropout", "recurrent_dropout")

    def __init__(
        self, cell: Any, *, update_bias: float = 1.0, cost_weight: float = 0.0, held_increment: bool = False, **kwargs
    ):
        super().__init__(cell=cell, **kwargs)
        self.update_bias = _arguments.number("update_bias", update_bias)
        self.cost_weight = _arguments.number("cost_weight", cost_weight, minimum=0)
        self.held_increment = _arguments.boolean("held_increment", held_increment)

    @property
    def adds_loss(self):
        return self.cost_weight > 0

    def build(self, input_shape):
        self.build_decision(self.state_size[self.memory_index], 1, keras.initializers.Constant(self.update_bias))
        super().build(input_shape)

    def get_initial_state(self, batch_size=None):
        *inner, increment, accumulated = super().get_initial_state(batch_size)
        return [*inner, ops.ones_like(increment), accumulated]

    def project(self, inputs, run):
        return inputs if self.may_skip(run) else self.inner_project(inputs, run)

    def step(self, projected, states, run):
        *old, increment, accumulated = states
        increment, accumulated = cast(increment), cast(accumulated)
        probability = self._probability(increment, accumulated)
        taken = probability > 0.5
        u = straight_through(cast(taken, probability.dtype), probability, run)
        run.emit(self, u)
        run.sow(self, update=u, probability=probability)
        new = self._inner_update(projected, old, taken, run)
        copy = cast(u, self.compute_dtype)
        mixed = [copy * after + (1 - copy) * before for after, before in zip(new, old, strict=True)]
        held = self.held_increment
        increment = u * self._increment(new) + (1 - u) * increment if held else self._increment(mixed)
        accumulated = (1 - u) * probability
        return mixed[0], [*mixed, *(cast(state, self.compute_dtype) for state in (increment, accumulated))]

    def _inner_update(self, projected, old, taken, run):
        """Returns the inner cell's states after a step; they only matter for rows in `taken`."""
        if self.may_skip(run):

            def update(x, *old):
                return self.inner_states(self.inner_project(x, run), list(old), run)

            return cond_rows(taken, update, lambda x, *old: list(old), [projected, *old])
        return self.inner_states(projected, old, run)

    def _probability(self, increment, accumulated):
        # Initial states from the user may be negative.
        return ops.maximum(accumulated + ops.minimum(increment, 1 - accumulated), 0)

    def _increment(self, states):
        return ops.sigmoid(self.decision(states[self.memory_index]))

    # For a loop over the updated steps only.

    def update(self, inputs, states, run):
        """Returns the states after one updated step of inference."""
        new = self.inner_states(self.inner_project(inputs, run), states, run)
        return [
            *new,
            cast(self._increment(new), self.compute_dtype),
            ops.zeros(ops.shape(states[-1]), self.compute_dtype),
        ]

    def settled(self, states):
        """Returns states that go on alike, with the increment that a step leaves: the user may give another."""
        *inner, increment, accumulated = states
        settled = increment if self.held_increment else self._increment(inner)
        return [*inner, settled, self._probability(increment, accumulated) - settled]

    def skip(self, states, steps):
        """Returns the states after `steps` skipped steps, int32 `[batch, 1]`."""
        *kept, increment, accumulated = states
        accumulated = ops.cast(accumulated, "float32") + ops.cast(steps, "float32") * ops.cast(increment, "float32")
        return [*kept, increment, ops.cast(accumulated, self.compute_dtype)]

    def skipped_steps(self, states):
        r"""Returns how many of the next steps will be skipped, which the states determine.

        $$\left\lfloor (\tfrac{1}{2} - \hat u) / \Delta \hat u \right\rfloor$$

        If $\hat u$ is within rounding error of one half, a loop that adds step by step may differ by one.

        Args:
            states: List of the cell's states, returned by a step or by `get_initial_state`.

        Returns: Int32 tensor `[batch, 1]`, at most $2^{30}$.
        """
        increment, accumulated = (cast(state) for state in states[-2:])
        # The cast rounds down.
        return ops.cast(ops.clip((0.5 - accumulated) / (increment + 1e-30), 0, 2**30), "int32")

    def sequence_loss(self, emitted, counted):
        return self.cost_weight * ops.sum(emitted[..., 0], axis=1)
