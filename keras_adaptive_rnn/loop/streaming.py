"""Single steps of a layer, for streaming."""

import numpy as np
from keras import ops

from keras_adaptive_rnn import engine
from keras_adaptive_rnn.cells.bases.any_cell import as_list
from keras_adaptive_rnn.engine.masking import where_rows


class Stepper:
    """Runs an `RNN` for one step of inference at a time."""

    def __init__(self, layer):
        self._layer = layer
        self._compiled = self._step
        # If the cell is not a layer, its variables are unknown.
        if layer.runner.parts:
            self._compiled = engine.compiled(self._step, layer.cell, layer.runner.is_traceable)

    def __call__(self, inputs, states, resets):
        layer = self._layer
        if not layer.built:
            raise ValueError(
                f"Layer '{layer.name}' must be built before `step`: call it once, or call `build(input_shape)`."
            )
        # A compiled function accepts arrays, and converts them faster than Keras does.
        inputs = inputs if isinstance(inputs, np.ndarray) else ops.convert_to_tensor(inputs)
        features = layer.input_spec.axes[-1]
        if len(inputs.shape) != layer.input_spec.ndim - 1 or inputs.shape[-1] != features:
            raise ValueError(
                f"Layer '{layer.name}' expected inputs of shape (batch, {features}) in `step`. "
                f"Received: {tuple(inputs.shape)}"
            )
        if states is None:
            states = layer.get_initial_state(inputs.shape[0])
        if resets is None:
            resets = []
        else:
            resets = [ops.cast(ops.convert_to_tensor(resets), "bool")]
            if tuple(resets[0].shape) != (inputs.shape[0],):
                raise ValueError(
                    f"Argument `resets` of layer '{layer.name}' must have the shape (batch,) of the inputs, "
                    f"{(inputs.shape[0],)}. Received: shape {tuple(resets[0].shape)}"
                )
        with engine.inference():
            return self._compiled(inputs, as_list(states), *resets)

    def _step(self, inputs, states, resets=None):
        runner, rows = self._layer.runner, inputs.shape[0]
        # Where the step is compiled, the shapes of states are checked once.
        states = runner.check_states(states, rows, f"Layer '{self._layer.name}'")
        if resets is not None:
            states = where_rows(resets[:, None], runner.initial_states(rows), states)
        return runner.step(inputs, states, skips_unneeded=runner.may_skip(self._layer.collected_cells()))
