"""Skip RNN: a gate decides in which steps the state is updated."""

from typing import Any

from keras_adaptive_rnn._types import Initializer
from keras_adaptive_rnn.cells.bases.adaptive_computation import AdaptiveComputationCell
from keras_adaptive_rnn.cells.bases.wrapper import WrapperCell

class SkipCell(AdaptiveComputationCell, WrapperCell):
    """A cell that skips steps: a binary gate either lets the inner cell $S$ update the state or copies it.

    $$u_t = \\mathrm{round}(\\hat u_t), \\qquad s_t = u_t\\, S(s_{t-1}, x_t) + (1 - u_t)\\, s_{t-1}$$
    $$\\Delta \\hat u_t = \\sigma(s_t W_p + b_p), \\qquad
      \\hat u_{t+1} = u_t \\Delta \\hat u_t + (1 - u_t)(\\hat u_t + \\min(\\Delta \\hat u_t, 1 - \\hat u_t))$$

    with $\\hat u_1 = 1$, so that the first step is an update, and with one half rounded to zero. The gradient of the
    rounding is one (straight through). $W_p$ reads the memory of the cell: $c$ for an LSTM, $h$ for other cells, and
    the memory of the highest cell for a stack, whose cells are all updated by the same gate. The authors' code
    computes $\\Delta \\hat u$ only in updated steps and holds it in skipped ones (`held_increment=True`): the results are
    the same, but the gradient does not flow through skipped states.

    In `keras_adaptive_rnn.layers.RNN`, `cost_weight` adds $\\lambda \\sum_t u_t$ to the loss, averaged over the batch,
    without masked steps. With `return_decisions=True`, that layer also returns the gates.

    In inference, `keras_adaptive_rnn.layers.RNN` computes only the updated steps, each row of a batch at its own pace:
    if half of the steps are skipped, `predict` takes about half the time. On PyTorch and TensorFlow, this takes a cell
    large enough to outweigh the overhead of a step. Inside another cell, and in half precision, the layer runs all
    steps but computes only the rows that are updated. If a gradient may be needed (in PyTorch unless gradients are
    off, in TensorFlow under a tape), it computes everything. The results are the same unless a $\\hat u$ is within
    rounding error of one half.

    The probabilities are computed in float32, but the two states that hold them have the compute dtype. In bfloat16, a
    $\\Delta \\hat u$ below 0.001 is lost when it is added to a $\\hat u$ above one quarter, and the cell then skips
    forever.

    Weights, in order: $W_p$ `[size, 1]`, $b_p$ `[1]`, a trained initial state, then the weights of the inner cell.

    Args:
        cell: A cell object, such as `keras.layers.LSTMCell(64)` or a `keras_adaptive_rnn.StackedCells`; its first
            state must be its output.
        update_bias: Number, initial value of $b_p$. Defaults to `1.0`.
        cost_weight: Non-negative number $\\lambda$, the cost of an updated step. Defaults to `0.0`. If it is
            positive, the cell does not run in `keras.layers.RNN`, which cannot add the loss.
        held_increment: Whether to hold $\\Delta \\hat u$ in skipped steps, as in the authors' code. Defaults to
            `False`.
        decision_initializer: Initializer of $W_p$. Defaults to `"glorot_uniform"`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state of the inner cell is trained. Defaults to `False`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of the inner cell's states, each `[batch, size]`, then $\\Delta \\hat u$ from the previous step,
            `[batch, 1]`, initially one, and $\\hat u$ from the previous step, `[batch, 1]`, zero if that step was an
            update.
        training: Whether dropout of the inner cell is on.

    Returns: `output, states`; the output is the first state.

    Raises:
        ValueError: `cell` is not a recurrent cell, an argument is out of range, or a cell with a cost runs in
            `keras.layers.RNN`.
        TypeError: An argument is unknown or of the wrong type.

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
        trainable: bool = True,
    ) -> None: ...
    @property
    def adds_loss(self) -> Any: ...
    def build(self, input_shape: Any) -> None: ...
    def get_initial_state(self, batch_size: Any = None) -> Any: ...
    def project(self, inputs: Any, training: bool | None = False) -> Any: ...
    def step(self, projected: Any, states: Any, training: bool | None = False) -> Any: ...
    def update(self, inputs: Any, states: Any) -> Any:
        """Returns the states after one updated step of inference."""

    def skip(self, states: Any, steps: Any) -> Any:
        """Returns the states after `steps` skipped steps, int32 `[batch, 1]`."""

    def skipped_steps(self, states: Any) -> Any:
        """Returns how many of the next steps will be skipped, which the states determine.

        $$\\left\\lfloor (\\tfrac{1}{2} - \\hat u) / \\Delta \\hat u \\right\\rfloor$$

        If $\\hat u$ is within rounding error of one half, a loop that adds step by step may differ by one.

        Args:
            states: List of the cell's states, returned by a step or by `get_initial_state`.

        Returns: Int32 tensor `[batch, 1]`, at most $2^{30}$.
        """

    def sequence_loss(self, recorded: Any, counted: Any) -> Any: ...
