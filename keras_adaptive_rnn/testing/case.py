"""One cell under test: fresh copies of it with known weights, inputs, masks and states."""

import numpy as np
from keras import ops, tree

from keras_adaptive_rnn import _arguments, engine
from keras_adaptive_rnn._keras import takes_training
from keras_adaptive_rnn.cells.bases import any_cell
from keras_adaptive_rnn.cells.bases.any_cell import as_list, memory_states, output_size


class Case:
    """A cell under test.

    Args:
        cell: The cell; it is copied, never changed.
        input_shape: `(batch, time, features)`.
        seed: Seed of the inputs and weights.
    """

    def __init__(self, cell, input_shape, seed=0):
        self.original = cell
        self.input_shape = self.batch, self.time, self.features = tuple(input_shape)
        self.rng = np.random.default_rng(seed)
        self.inputs = self.normal(self.input_shape)
        built = self.copy()
        built.build((self.batch, self.features))
        self.weights = [self.normal(w.shape, scale=0.4) for w in built.weights]
        self.sizes = tree.flatten(built.state_size)
        self.output_size = output_size(built)
        self.states = self._states(built)

    def normal(self, shape, scale=1.0):
        return (scale * self.rng.normal(size=shape)).astype("float32")

    def _states(self, cell):
        """Returns random states; bookkeeping states are those of `initial_states`."""
        initial = as_list(initial_states(cell, self.batch))
        if any(isinstance(state, (list, tuple)) for state in initial):
            return [self.normal(tuple(state.shape), scale=0.5) for state in tree.flatten(initial)]
        return [
            self.normal((self.batch, size), scale=0.5) if is_memory else ops.convert_to_numpy(state)
            for size, is_memory, state in zip(self.sizes, memory_states(cell), initial, strict=True)
        ]

    def copy(self, **changes):
        """Returns a new, unbuilt cell of the same config."""
        config = {**self.original.get_config(), **changes}
        if "dtype" in changes:
            config = with_dtype(config, changes["dtype"])
        return type(self.original).from_config(config)

    def cell(self, **changes):
        """Returns a new built cell with this case's weights."""
        cell = self.copy(**changes)
        cell.build((self.batch, self.features))
        cell.set_weights(self.weights)
        return cell

    def layer(self, rnn, cell=None, **arguments):
        """Returns a built layer of class `rnn` around a new cell, with sequences and states returned."""
        arguments = {"return_sequences": True, "return_state": True, **arguments}
        layer = rnn(self.cell() if cell is None else cell, **arguments)
        layer.build(self.input_shape)
        return layer

    def run(self, layer, inputs=None, states=None, **arguments):
        """Returns the outputs and states of a layer as arrays."""
        if states is not None:
            arguments["initial_state"] = states
        result = layer(self.inputs if inputs is None else inputs, **arguments)
        return [ops.convert_to_numpy(t) for t in tree.flatten(result)]

    def gradients(self, forward, variables):
        """Returns the loss of `forward(inputs, states)` and its gradients by weights, inputs and states."""
        # Every output has a weight of its own: a loss that is symmetric in time would hide steps in the wrong order.
        shape = (self.batch, self.time, self.output_size)
        weight = ops.convert_to_tensor(np.random.default_rng(7).normal(size=shape).astype("float32"))

        def loss(inputs, *states):
            outputs, *last = tree.flatten(forward(inputs, list(states)))
            total = ops.sum(ops.cast(outputs, "float32") * weight)
            return total + sum(ops.sum(ops.square(ops.cast(s, "float32"))) for s in last)

        value, by_variable, by_tensor = engine.gradients(loss, variables, [self.inputs, *self.states])
        return [value, *by_variable, *by_tensor]


def check_input_shape(shape):
    shape = tuple(shape)
    least = (2, 3, 1)
    fits = len(shape) == 3 and all(isinstance(n, int) and n >= m for n, m in zip(shape, least, strict=True))
    rule = f"Argument `input_shape` must be (batch, time, features), integers of at least {least}"
    _arguments.check(fits, rule, input_shape=shape)
    return shape


def initial_states(cell, batch_size):
    """Returns the states that a sequence starts with: zeros, as in Keras, where a cell has no `get_initial_state`."""
    if hasattr(cell, "get_initial_state"):
        return cell.get_initial_state(batch_size=batch_size)
    return any_cell.initial_states(cell, batch_size, cell.compute_dtype)


def call(cell, inputs, states):
    """Returns `output, states` of one step, the states as a list, however the cell returns them."""
    kwargs = {"training": False} if takes_training(cell) else {}
    output, states = cell(inputs, as_list(states), **kwargs)
    return output, as_list(states)


def python_loop(step, inputs, states=None, *flags):
    """Returns the outputs of every step, and the last states, of a plain loop over `step(inputs, states, *flags)`."""
    outputs = []
    for t in range(inputs.shape[1]):
        output, states = step(inputs[:, t], states, *(flag[:, t] for flag in flags))
        outputs.append(output)
    return ops.stack(outputs, axis=1), states


def with_dtype(config, dtype):
    """Returns a config with the policy of every layer in it replaced."""
    if isinstance(config, dict):
        return {key: dtype if key == "dtype" else with_dtype(value, dtype) for key, value in config.items()}
    return [with_dtype(value, dtype) for value in config] if isinstance(config, list) else config
