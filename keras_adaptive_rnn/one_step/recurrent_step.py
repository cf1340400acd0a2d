"""A recurrent layer that reads one time step and takes its states as inputs."""

import keras
from keras import ops, tree

from keras_adaptive_rnn.cells.bases.any_cell import KERAS_CELLS, has_trainable_initial_state
from keras_adaptive_rnn.cells.bases.cell import Cell
from keras_adaptive_rnn.engine.masking import masked, where_rows
from keras_adaptive_rnn.loop.rnn import RNN


@keras.saving.register_keras_serializable(package="keras_adaptive_rnn")
class RecurrentStep(keras.layers.Wrapper):
    """One step of a `keras.layers.RNN`, with its weights: returns a list of what it returns, and the next states.

    Inputs, mask and resets are a sequence of one step. States are a flat list of differences from the initial states of
    the layer, so the first ones are zeros, whatever was trained. Only a cell that `outputs_its_state` takes a mask.
    """

    def __init__(self, layer, **kwargs):
        # The states have the dtype of the cell, which may be another one than that of the layer.
        kwargs.setdefault("dtype", getattr(layer.cell, "dtype_policy", layer.dtype_policy))
        super().__init__(layer, **kwargs)
        self.supports_masking = True

    def build(self, inputs_shape, states_shape=None):
        super().build(inputs_shape)
        cell, initial = self.layer.cell, tree.flatten(self._loop().get_initial_state(1))
        is_trained = has_trainable_initial_state(cell)
        self.starts_at_zero = not is_trained and not any(ops.convert_to_numpy(state).any() for state in initial)

    def _loop(self):
        return self.layer if isinstance(self.layer, RNN) else RNN(self.layer.cell)

    def zero_states(self, batch_size):
        """Returns the states before the first step."""
        return tree.map_structure(ops.zeros_like, tree.flatten(self._loop().get_initial_state(batch_size)))

    def call(self, inputs, states, mask=None, resets=None):
        layer, loop = self.layer, self._loop()
        if resets is not None:
            states = [where_rows(ops.cast(resets, "bool"), ops.zeros_like(state), state) for state in states]
        if not self.starts_at_zero:
            initial = tree.flatten(loop.get_initial_state(inputs.shape[0]))
            states = [state + first for state, first in zip(states, initial, strict=True)]
        nested, emitted = loop.runner.nest(states), {}
        new = loop.runner.step(ops.squeeze(inputs, axis=1), nested, emitted=emitted)
        old = loop.runner.first_output(nested), nested
        output, states = masked(mask, new, old, layer.zero_output_for_mask)
        output, states = ops.cast(output, layer.compute_dtype), tree.flatten(states)
        returned = [ops.cast(state, layer.compute_dtype) for state in states] if layer.return_state else []
        if getattr(layer, "return_decisions", False):
            decided = [ops.cast(emitted[cell][0], layer.compute_dtype) for cell in layer.runner.deciding]
            returned += decided if mask is None else [ops.where(mask, each, 0) for each in decided]
        if not self.starts_at_zero:
            states = [state - first for state, first in zip(states, initial, strict=True)]
        return [ops.expand_dims(output, 1) if layer.return_sequences else output, *returned], states

    def compute_mask(self, inputs, previous_mask):
        return previous_mask if self.layer.return_sequences else None


def outputs_its_state(cell):
    """Returns whether the first state of a cell, or of the highest cell in Keras's stack, is known to be its output."""
    if isinstance(cell, keras.layers.StackedRNNCells):
        return outputs_its_state(cell.cells[-1])
    return isinstance(cell, Cell) or type(cell) in KERAS_CELLS
