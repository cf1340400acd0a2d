"""A cell made of several cells of one class."""

from typing import Any

from keras_adaptive_rnn.cells.bases.cell import Cell

class CompositeCell(Cell):
    """A cell that creates several cells of one class and takes their arguments in addition to its own.

    A subclass names the class in `takes_arguments_of` and creates the cells with `self.make(index, units)`.
    `first_part` returns the cell that represents all of them in the config.

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
    def make(self, index: Any, units: Any, **changes: Any) -> Any:
        """Creates the `index`-th cell."""
