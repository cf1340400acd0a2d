"""The additive part of an affine map."""

from typing import Any

import keras

class Bias(keras.layers.Layer):
    """Adds a bias, `[blocks * units]`, or one of two where a cell has two (`rows=2`: `[2, blocks * units]`).

    A layer of its own rather than a weight of the cell, so that a cell's weights come in Keras's order: kernel,
    recurrent kernel, bias.

    Args:
        units: Entries of one block.
        initializers: One initializer for each block.
        rows: How many biases. Defaults to 1.
        regularizer, constraint: Of the whole bias.
    """

    units: Any
    initializers: Any
    rows: Any
    regularizer: Any
    constraint: Any
    bias: Any

    def __init__(
        self,
        units: Any,
        initializers: Any,
        rows: Any = 1,
        regularizer: Any = None,
        constraint: Any = None,
        *,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool | None = None,
    ) -> None:
        """Adds a bias, `[blocks * units]`, or one of two where a cell has two (`rows=2`: `[2, blocks * units]`).

        Args:
            units: Entries of one block.
            initializers: One initializer for each block.
            rows: How many biases. Defaults to 1.
            regularizer: Of the whole bias.
            constraint: Of the whole bias.
            name: As in `keras.layers.Layer`.
            dtype: As in `keras.layers.Layer`.
            trainable: As in `keras.layers.Layer`.
        """

    def build(self, input_shape: Any = None) -> None: ...
    def start_sequence(self, training: bool | None) -> None: ...
    def prepare_narrow(self, sizes: Any) -> None:
        """As of `LinearMap`; the inputs of each size say nothing here."""

    def end_sequence(self) -> None: ...
    def value(self, row: int = 0) -> Any:
        """Returns one bias, `[blocks * units]`."""

    def __call__(self, inputs: Any, row: int = 0) -> Any: ...

def no_bias(inputs: Any, row: int = 0) -> Any:
    """Stands where a cell has no bias."""
