"""Skip RNN: steps in which the whole state is copied."""

from typing import Any

from keras_adaptive_rnn._types import Initializer
from keras_adaptive_rnn.cells.bases.adaptive_computation import AdaptiveComputationCell
from keras_adaptive_rnn.cells.bases.wrapper import WrapperCell

class SkipCell(AdaptiveComputationCell, WrapperCell):
    """A cell that skips steps: a binary gate copies the whole state or lets the inner cell $S$ update it.

    $$u_t = \\mathrm{round}(\\hat u_t), \\qquad s_t = u_t\\, S(s_{t-1}, x_t) + (1 - u_t)\\, s_{t-1}$$
    $$\\Delta \\hat u_t = \\sigma(s_t W_p + b_p), \\qquad
      \\hat u_{t+1} = u_t \\Delta \\hat u_t + (1 - u_t)(\\hat u_t + \\min(\\Delta \\hat u_t, 1 - \\hat u_t))$$

    with $\\hat u_1 = 1$, so that the first step is taken, and a half rounds to zero. The gradient of the rounding is one
    (straight through). $W_p$ reads the memory of the cell: $c$ of an LSTM, $h$ of others, of the highest cell in a
    stack, all of which the one gate updates. The authors' code computes $\\Delta \\hat u$ in the steps alone that are
    taken, and holds on to it in those that are skipped: the same numbers, and a gradient that does not go through the
    skipped states (`held_increment=True`).

    In `keras_adaptive_rnn.layers.RNN`, `cost_weight` adds $\\lambda \\sum_t u_t$ to the loss, averaged over the batch and
    without masked steps; with `return_decisions=True` that layer also returns the gates.

    In inference `keras_adaptive_rnn.layers.RNN` computes the steps alone that are taken, each row of a batch at its own
    place: `predict` over half of the steps takes about half of the time, which on PyTorch and TensorFlow needs a cell
    large enough to outweigh what a step costs anyway. Inside another cell, and in half precision, it goes through all
    steps and computes the rows that are taken. Where a gradient may be asked for (in PyTorch unless it is off, in
    TensorFlow under a tape) it computes everything. The numbers are the same, unless a $\\hat u$ comes within
    rounding of one half.

    The probabilities are computed in float32 and their two states stored in the compute dtype: in bfloat16 a
    $\\Delta \\hat u$ below 0.001 is lost when it is added to an $\\hat u$ above a quarter, and the cell then skips for
    ever.

    Weights, in order: $W_p$ `[size, 1]`, $b_p$ `[1]`, a trained initial state, then those of the inner cell.

    Args:
        cell: A cell object, such as `keras.layers.LSTMCell(64)` or a `keras_adaptive_rnn.StackedCells`; its first state
            must be its output.
        update_bias: Number, $b_p$ at the start of training. Defaults to `1.0`.
        cost_weight: Non-negative number, $\\lambda$, what an updated step costs. Defaults to `0.0`. If it is positive,
            the cell does not run in `keras.layers.RNN`, which cannot add the loss.
        held_increment: Whether $\\Delta \\hat u$ is held in skipped steps, as in the authors' code. Defaults to `False`.
        decision_initializer: Initializer of $W_p$. Defaults to `"glorot_uniform"`.
        seed: As in `keras_adaptive_rnn.cells.Cell`.
        trainable_initial_state: Whether the initial state of the inner cell is trained. Defaults to `False`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of the inner cell's states, each `[batch, size]`, then $\\Delta \\hat u$ of the step before,
            `[batch, 1]`, one before the first step, and its $\\hat u$, `[batch, 1]`, zero where that step was taken.
        training: Whether the inner cell drops.

    Returns: `output, states`; the output is the first state.

    Raises:
        ValueError: `cell` is no recurrent cell, an argument is out of its range, or a cell with a cost runs in
            `keras.layers.RNN`.
        TypeError: an argument is unknown, or of the wrong type.

    Example:

    >>> cell = keras_adaptive_rnn.SkipCell(keras.layers.LSTMCell(8), cost_weight=1e-4)
    >>> layer = keras_adaptive_rnn.layers.RNN(cell, return_decisions=True)
    >>> output, updates = layer(np.ones((2, 5, 3)))
    >>> tuple(output.shape), tuple(updates.shape), len(layer.losses)
    ((2, 8), (2, 5), 1)

    Reference: Campos, Jou, Giro-i-Nieto, Torres, Chang, Skip RNN: Learning to Skip State Updates in Recurrent Neural
    Networks (2018), section 3, equations 2 to 6.
    """

    own_state_size: Any
    changes_output_state: bool
    fixed_arguments: Any
    renamed_arguments: Any
    update_bias: float
    cost_weight: float
    held_increment: bool
    decision_initializer: Any
    seed: int | None
    trainable_initial_state: bool

    def __init__(
        self,
        cell: Any,
        *,
        update_bias: float = 1.0,
        cost_weight: float = 0.0,
        held_increment: bool = False,
        decision_initializer: Initializer = "glorot_uniform",
        seed: int | None = None,
        trainable_initial_state: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool | None = None,
    ) -> None:
        """A cell that skips steps: a binary gate copies the whole state or lets the inner cell $S$ update it.

        Args:
            cell: A cell object, such as `keras.layers.LSTMCell(64)` or a `keras_adaptive_rnn.StackedCells`; its
                first state must be its output.
            update_bias: Number, $b_p$ at the start of training. Defaults to `1.0`.
            cost_weight: Non-negative number, $\\lambda$, what an updated step costs. Defaults to `0.0`. If it is
                positive, the cell does not run in `keras.layers.RNN`, which cannot add the loss.
            held_increment: Whether $\\Delta \\hat u$ is held in skipped steps, as in the authors' code. Defaults to
                `False`.
            decision_initializer: Initializer of $W_p$. Defaults to `"glorot_uniform"`.
            seed: Integer seed of the masks, or `None` (default).
            trainable_initial_state: Whether the initial state of the inner cell is trained. Defaults to `False`.
            name: As in `keras.layers.Layer`.
            dtype: As in `keras.layers.Layer`.
            trainable: As in `keras.layers.Layer`.
        """

    @property
    def adds_loss(self) -> Any: ...
    def build(self, input_shape: Any) -> None: ...
    def get_initial_state(self, batch_size: Any = None) -> Any: ...
    def project(self, inputs: Any, training: bool | None = False) -> Any: ...
    def step(self, projected: Any, states: Any, training: bool | None = False) -> Any: ...
    def update(self, inputs: Any, states: Any) -> Any:
        """Returns the states after one step of inference that is taken."""

    def skip(self, states: Any, steps: Any) -> Any:
        """Returns the states after so many steps that are skipped, int32 `[batch, 1]`."""

    def skipped_steps(self, states: Any) -> Any:
        """Returns how many of the coming steps are skipped, known from the states alone.

        $$\\left\\lfloor (\\tfrac{1}{2} - \\hat u) / \\Delta \\hat u \\right\\rfloor$$

        Where $\\hat u$ comes within rounding of one half, the loop, which adds step by step, may differ by one.

        Args:
            states: List of the cell's states, as steps or `get_initial_state` have made them.

        Returns: Tensor `[batch, 1]` of int32, at most $2^{30}$.
        """

    def sequence_loss(self, recorded: Any, counted: Any) -> Any: ...
