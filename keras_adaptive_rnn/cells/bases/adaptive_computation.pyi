"""What cells that decide how much to compute share."""

from typing import Any

from keras_adaptive_rnn._types import Initializer
from keras_adaptive_rnn.cells.bases.cell import Cell

def cast(x: Any, dtype: str = "float32") -> Any:
    """Returns `ops.cast(x, dtype)`, which on PyTorch takes longer than a small product also for what is so already."""

def straight_through(value: Any, estimate: Any) -> Any:
    """Returns `value` exactly, whose gradient is that of `estimate`."""

def cond_rows(chosen: Any, function: Any, otherwise: Any, tensors: Any) -> Any:
    """Returns `function(*tensors)` in the rows that are chosen, and `otherwise(*tensors)` in the others.

    It runs `function` over none, a quarter, a half, three quarters or all of the rows, whichever just holds the chosen,
    and `otherwise`, which should be cheap, over all of them; of a single row, one of the two.

    Args:
        chosen: Boolean tensor `[batch, 1]`.
        function, otherwise: Functions of tensors, which return a list of tensors.
        tensors: List of tensors `[batch, ...]`.
    """

class AdaptiveComputationCell(Cell):
    """A cell that decides in each step how much to compute, by an affine map in float32 of what it reads.

    It hands the decision of each step to `emit_aux`: one for a step computed in full, zero for one that is not. Where
    it adds to the loss (`adds_loss`), `keras_adaptive_rnn.layers.RNN` does so once a sequence with `sequence_loss`, and
    `keras.layers.RNN`, which cannot, is refused.

    Args:
        decision_initializer: Initializer of the map. Defaults to `"glorot_uniform"`.
        **kwargs: As in `keras_adaptive_rnn.cells.Cell`.
    """

    aux_size: int
    decision_initializer: Any
    dropout: float
    recurrent_dropout: float
    seed: int | None
    trainable_initial_state: bool

    def __init__(
        self,
        *,
        decision_initializer: Initializer = "glorot_uniform",
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool | None = None,
    ) -> None:
        """A cell that decides in each step how much to compute, by an affine map in float32 of what it reads.

        Args:
            decision_initializer: Initializer of the map. Defaults to `"glorot_uniform"`.
            dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to
                `0.0`.
            recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per
                sequence. Defaults to `0.0`.
            seed: Integer seed of the masks, or `None` (default).
            trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the
                batch, initialized to zero. Defaults to `False`: zeros.
            name: As in `keras.layers.Layer`.
            dtype: As in `keras.layers.Layer`.
            trainable: As in `keras.layers.Layer`.
        """

    def build_decision(self, inputs: Any, outputs: Any, bias: str = "zeros") -> None:
        """Makes the map of `inputs` entries to `outputs`, `bias` being the initializer of its bias."""

    def decision(self, *read: Any) -> Any:
        """Returns the map, of float32, of tensors `[batch, size]`, joined."""

    def prepare_sequence(self, kept: Any, batch_size: Any, training: bool | None) -> None: ...
    @property
    def skips_unneeded(self) -> Any:
        """Whether this step may skip computation whose result is unused."""

    def loss_arguments(self) -> Any:
        """Returns the arguments by which it adds to the loss, in words."""

class ScheduledCell(Cell):
    """A cell with numbers that a callback changes from epoch to epoch, those in `scheduled_names`.

    Each starts as the argument of its name, and is a weight that is not trained: compiled training reads variables
    anew, and takes floats for constants.
    """

    scheduled_names: Any
    scheduled_values: Any
    dropout: float
    recurrent_dropout: float
    seed: int | None
    trainable_initial_state: bool

    def __init__(
        self,
        *,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool | None = None,
    ) -> None:
        """A cell with numbers that a callback changes from epoch to epoch, those in `scheduled_names`.

        Args:
            dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to
                `0.0`.
            recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per
                sequence. Defaults to `0.0`.
            seed: Integer seed of the masks, or `None` (default).
            trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the
                batch, initialized to zero. Defaults to `False`: zeros.
            name: As in `keras.layers.Layer`.
            dtype: As in `keras.layers.Layer`.
            trainable: As in `keras.layers.Layer`.
        """

    def build(self, input_shape: Any) -> None: ...
    def set_value(self, name: Any, value: Any) -> None:
        """Sets a number of the cell; its attribute stays what it was made with."""
