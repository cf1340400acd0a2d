"""A cell around another cell."""

from typing import Any

from keras_adaptive_rnn.cells.bases.container import ContainerCell

class WrapperCell(ContainerCell):
    """A cell around a cell, of ours, of Keras or of the user.

    It hands on what the inner cell needs of the sequence (noise, prepared weights, initial state) and keeps the states
    flat: the inner cell's first, the output first among them, then its own, whose sizes a subclass
    names in `own_state_size`. A subclass writes `step` and calls `self.inner(inputs, states, training)` in it.

    Args:
        cell: The inner cell, with `state_size`; its first state must be its output.
        dropout, recurrent_dropout, seed, trainable_initial_state: As in `keras_adaptive_rnn.cells.Cell`; the dropout
            is the modulator's, on what it reads, and the initial state covers the inner cell's states.
        name, dtype, trainable: As in `keras.layers.Layer`.
    """

    own_state_size: Any
    changes_output_state: bool
    cell: Any
    state_size: Any
    output_size: Any
    dropout: float
    recurrent_dropout: float
    seed: int | None
    trainable_initial_state: bool

    def __init__(
        self,
        cell: Any,
        *,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool | None = None,
    ) -> None:
        """A cell around a cell, of ours, of Keras or of the user.

        Args:
            cell: The inner cell, with `state_size`; its first state must be its output.
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

    def inner_cells(self) -> Any: ...
    def build(self, input_shape: Any) -> None: ...
    def inner(self, inputs: Any, states: Any, training: bool | None) -> Any:
        """Returns `output, states` of the inner cell for one step; `states` is a list."""

    def inner_project(self, inputs: Any, training: bool | None) -> Any:
        """Returns what the inner cell can compute without its state."""

    def inner_step(self, projected: Any, states: Any, training: bool | None) -> Any:
        """Returns `output, states` of the inner cell's step from what `inner_project` gave."""

    @property
    def reads_output(self) -> Any: ...
    @property
    def memory_index(self) -> Any: ...
