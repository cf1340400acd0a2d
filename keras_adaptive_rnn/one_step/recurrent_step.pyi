"""A recurrent layer that reads one time step and takes its states as inputs."""

from typing import Any

import keras

class RecurrentStep(keras.layers.Wrapper):
    """One step of a recurrent layer, with the weights of the layer.

    States are differences from the initial states of the layer, so the first ones are zeros, whatever was trained.

    Args:
        layer: A `keras.layers.RNN`, such as those of this package.

    Call arguments:
        inputs: Tensor `[batch, 1, features]`.
        states: Flat list of tensors `[batch, size]`, the states of the cell.
        mask: Boolean tensor `[batch, 1]`, or `None` (default). Only for a layer whose cell `outputs_its_state`.

    Returns: `results, states`: a list of what `layer` returns for a sequence of this step, and the next states.
    """

    supports_masking: bool
    starts_at_zero: Any
    layer: Any

    def __init__(self, layer: Any, *, name: str | None = None, dtype: Any = None, trainable: bool = True) -> None: ...
    def build(self, inputs_shape: Any, states_shape: Any = None) -> None: ...
    def zero_states(self, batch_size: Any) -> Any:
        """Returns the states before the first step."""

    def call(self, inputs: Any, states: Any, mask: Any = None) -> Any: ...
    def compute_mask(self, inputs: Any, previous_mask: Any) -> Any: ...

def outputs_its_state(cell: Any) -> Any:
    """Returns whether the first state of a cell, or of the highest cell in Keras's stack, is known to be its output."""
