"""Base classes of cells that decide how much to compute."""

from typing import Any

from keras_adaptive_rnn._types import Initializer
from keras_adaptive_rnn.cells.bases.cell import Cell

def cast(x: Any, dtype: str = "float32") -> Any:
    """Returns `x` as `dtype`. On PyTorch, `ops.cast` takes longer than a small product even if it has nothing to do."""

def straight_through(value: Any, estimate: Any) -> Any:
    """Returns exactly `value`, with the gradient of `estimate`."""

def cond_rows(chosen: Any, function: Any, otherwise: Any, tensors: Any) -> Any:
    """Returns `function(*tensors)` for the chosen rows and `otherwise(*tensors)` for the others.

    `function` runs on none, a quarter, half, three quarters or all of the rows, whichever is just enough for the chosen
    ones. `otherwise`, which should be cheap, runs on all rows. For a single row, only one of the two runs.

    Args:
        chosen: Boolean tensor `[batch, 1]`.
        function, otherwise: Functions that take tensors and return a list of tensors.
        tensors: List of tensors `[batch, ...]`.

    Returns: List of tensors `[batch, ...]`.
    """

class AdaptiveComputationCell(Cell):
    """A cell that decides in each step how much to compute, by an affine map of its inputs and state in float32.

    It passes the decision of each step to `emit_aux`: one for a step that is computed in full, zero for one that is
    not. If the decisions add to the loss (`adds_loss`), `keras_adaptive_rnn.layers.RNN` adds `sequence_loss` once per
    sequence. `keras.layers.RNN` cannot do that, so the cell refuses to run in it.

    Args:
        decision_initializer: Initializer of the kernel of the map. Defaults to `"glorot_uniform"`.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.
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
        trainable: bool = True,
    ) -> None: ...
    def build_decision(self, inputs: Any, outputs: Any, bias: str = "zeros") -> None:
        """Creates the map from `inputs` to `outputs` entries; `bias` is the initializer of its bias."""

    def decision(self, *read: Any) -> Any:
        """Applies the map, in float32, to tensors `[batch, size]`, concatenated."""

    def prepare_sequence(self, kept: Any, batch_size: Any, training: bool | None) -> None: ...
    @property
    def skips_unneeded(self) -> Any:
        """Whether this step may skip computation whose result is unused."""

class ScheduledCell(Cell):
    """A cell with hyperparameters that a callback changes from epoch to epoch, listed in `scheduled_names`.

    Each is initialized to the argument of that name. It is a non-trainable weight, because compiled training would bake
    a Python float in as a constant.

    Args:
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.
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
        trainable: bool = True,
    ) -> None: ...
    def build(self, input_shape: Any) -> None: ...
    def set_value(self, name: Any, value: Any) -> None:
        """Sets a scheduled value. The attribute of that name keeps the constructor argument."""
