"""What cells that hold cells of any kind share."""

from typing import Any

from keras_adaptive_rnn.cells.bases.cell import Cell

class ContainerCell(Cell):
    """A cell that holds others, of ours, of Keras or of the user.

    It hands on what they need of the sequence: noise, prepared weights, initial states. Its states are a flat list:
    `own_states_before` of its own, those of the cells in the order in which `hold` has received them, and further own
    ones. Own states are book-keeping, not memory.
    """

    own_states_before: int

    def __init__(
        self,
        dropout: float = 0.0,
        *,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool | None = None,
    ) -> None:
        """A cell that holds others, of ours, of Keras or of the user.

        Args:
            dropout: Float in `[0, 1)`, share of the inputs to drop; one mask a sequence. Defaults to `0.0`.
            recurrent_dropout: Float in `[0, 1)`, share of the recurrent state to drop; one mask a sequence.
                Defaults to `0.0`.
            seed: Integer seed of the masks, or `None` (default).
            trainable_initial_state: Whether the state before the first step is trained, one vector a state,
                shared by the batch, zero at the start of training. Defaults to `False`: zeros.
            name: As in `keras.layers.Layer`.
            dtype: As in `keras.layers.Layer`.
            trainable: As in `keras.layers.Layer`.
        """

    def hold(self, cells: Any) -> None:
        """Records the cells that it holds, in the order of their states. They must be attributes too."""

    def build_inner(self, cell: Any, input_shape: Any) -> None:
        """Builds one of the cells that it holds."""

    def divide_states(self, states: Any) -> Any:
        """Returns the states of each cell that it holds, in their order, each a list."""

    @property
    def memory_states(self) -> Any: ...
    def get_initial_state(self, batch_size: Any = None) -> Any: ...
    @property
    def has_trainable_initial_state(self) -> Any: ...
    def start_sequence(self, batch_size: Any, training: bool | None) -> None: ...
    def end_sequence(self) -> None: ...

class Held:
    """The cells that a cell holds; a plain object, so that Keras does not track them twice."""

    cells: Any
    input_sizes: Any

    def __init__(self, cells: Any) -> None: ...
