"""The additive part of an affine map."""

from typing import Any

import keras

from keras_adaptive_rnn._saving import StoredByCell

class Bias(StoredByCell, keras.layers.Layer):
    """Adds a bias `[blocks * units]`, or one row of a bias `[rows, blocks * units]`.

    It is a layer, not a weight of the cell, so that the weights of a cell are in Keras's order: kernel, recurrent
    kernel, bias.

    Args:
        units: Size of one block.
        initializers: List of initializers, one for each block; for several rows, a list of such lists.
        regularizer, constraint: Regularizer and constraint of the whole bias. Defaults to `None`.
    """

    units: Any
    row_initializers: Any
    rows: Any
    regularizer: Any
    constraint: Any
    bias: Any
    initializers: Any

    def __init__(
        self,
        units: Any,
        initializers: Any,
        regularizer: Any = None,
        constraint: Any = None,
        *,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def build(self, input_shape: Any = None) -> None: ...
    def load_own_variables(self, store: Any) -> Any: ...
    def quantize(self, mode: Any = None, type_check: bool = True, config: Any = None) -> None:
        """Does nothing: as in Keras's layers, a bias stays as it is."""

    def prepare_sequence(self, kept: Any, batch_size: Any, training: bool | None) -> None: ...
    def narrowed(self, inputs: Any, units: Any) -> Any:
        """See `LinearMap.narrowed`; `inputs` is ignored."""

    def value(self, row: int = 0) -> Any:
        """Returns one row, `[blocks * units]`."""

    def __call__(self, inputs: Any, row: int = 0) -> Any: ...

def no_bias(inputs: Any, row: int = 0) -> Any:
    """The identity, used when `use_bias=False`.

    Args:
        inputs: Tensor, which is returned.
        row: As in a call of `keras_adaptive_rnn.maps.Bias`, without effect. Defaults to `0`.
    """
