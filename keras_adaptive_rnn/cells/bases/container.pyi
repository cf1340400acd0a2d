"""A cell that contains other cells."""

from typing import Any

from keras_adaptive_rnn.cells.bases.cell import Cell

class ContainerCell(Cell):
    """A cell that contains other cells: ours, Keras's or the user's.

    Its states are a flat list: `own_states_before` states of its own, the states of the inner cells, and further states
    of its own. Its own states are bookkeeping and not memory.

    A subclass returns its inner cells from `inner_cells`, in the order of their states. They must be attributes too.

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

    own_states_before: int

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
    def inner_cells(self) -> None:
        """Returns the inner cells. A method, because Keras saves what a property lists."""

    def build_inner(self, cell: Any, input_shape: Any) -> None:
        """Builds an inner cell unless it is built already, or is no layer."""

    def divide_states(self, states: Any) -> Any:
        """Returns the states of each inner cell, a list of lists."""

    @property
    def memory_states(self) -> Any: ...
    def get_initial_state(self, batch_size: Any = None) -> Any: ...
    @property
    def has_trainable_initial_state(self) -> Any: ...
