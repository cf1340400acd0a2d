"""A cell around another cell."""

from typing import Any

from keras_adaptive_rnn.cells.bases.container import ContainerCell

class WrapperCell(ContainerCell):
    """A cell around one inner cell: ours, Keras's or the user's.

    Its states are a flat list: the states of the inner cell, the output first, followed by states of its own, whose
    sizes a subclass lists in `own_state_size`. A subclass implements `step`, which calls
    `self.inner(inputs, states, training)`.

    Args:
        cell: The inner cell, with `state_size`; its first state must be its output.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
            They apply to what the wrapper reads.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`. They apply to what the wrapper reads.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros. The states of the inner cell are included.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.
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
        trainable: bool = True,
    ) -> None: ...
    def inner_cells(self) -> Any: ...
    def build(self, input_shape: Any) -> None: ...
    def inner(self, inputs: Any, states: Any, training: bool | None) -> Any:
        """Returns `output, states` of one step of the inner cell; `states` is a list."""

    def inner_project(self, inputs: Any, training: bool | None) -> Any:
        """Returns what the inner cell computes without its state."""

    def inner_step(self, projected: Any, states: Any, training: bool | None) -> Any:
        """Returns `output, states` of one step of the inner cell from the result of `inner_project`."""

    def inner_states(self, projected: Any, states: Any, training: bool | None) -> Any:
        """Returns the states alone, the first of which is the output, or raises an error if the output is another."""

    @property
    def reads_output(self) -> Any: ...
    @property
    def memory_index(self) -> Any: ...
