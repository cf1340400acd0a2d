"""What cells made of several alike cells share."""

from typing import Any

from keras_adaptive_rnn.cells.bases.cell import Cell

class CompositeCell(Cell):
    """A cell that makes several cells of one class, whose arguments it takes beside its own.

    A subclass names the class, `part_class`, and makes the parts by `self.make(index, units)`; the first of them stands
    for all in the config.
    """

    part_class: Any
    refused_arguments: Any
    dropout: float
    recurrent_dropout: float
    seed: int | None
    trainable_initial_state: bool

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
        """A cell that makes several cells of one class, whose arguments it takes beside its own.

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

    @classmethod
    def accepted_arguments(cls) -> Any: ...
    @classmethod
    def part_arguments(cls) -> Any:
        """Returns the parameters of the parts that are none of this class, by name."""

    def make(self, index: Any, units: Any, **changes: Any) -> Any:
        """Returns the `index`-th part."""

    def first_part(self) -> None: ...
    def get_config(self) -> dict[str, Any]: ...
