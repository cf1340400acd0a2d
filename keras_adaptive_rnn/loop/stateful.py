"""The states of stateful layers."""

import itertools

import keras
from keras import ops, tree

from keras_adaptive_rnn.cells.bases.any_cell import has_trainable_initial_state


class Stateful:
    """Mixin of `RNN`, whose `_stateful_states` are among the variables of the layer and in its files."""

    @property
    def variables(self):
        # The states are not weights, but on JAX, the trainer only keeps the variables that it knows.
        return super().variables + self._stateful_states.variables

    def save_own_variables(self, store):
        super().save_own_variables(store)
        self._stateful_states.save(store)

    def load_own_variables(self, store):
        names = [name for name in list(store.keys()) if not name.startswith("carried_")]
        super().load_own_variables({name: store[name] for name in names})
        self._stateful_states.load(self, store)


class StatefulStates:
    """The states that a stateful layer keeps between batches. A plain object, which Keras does not track."""

    def __init__(self):
        self.states, self.variables = [], []
        self.batch_size = self.is_fresh = None

    def create(self, layer, batch_size):
        """Creates the variables for batches of `batch_size`."""
        self.batch_size = batch_size
        # Names differ, as PyTorch's `state_dict` holds one tensor a name. No autocast: in mixed precision
        # on PyTorch, Keras would assign to a cast copy, and the states would be lost.
        places = itertools.count()
        self.states = tree.map_structure(
            # Copied, as PyTorch cannot assign to a tensor whose rows share memory.
            lambda value: keras.Variable(
                ops.copy(value),
                trainable=False,
                dtype=layer.variable_dtype,
                autocast=False,
                name=f"state_{next(places)}",
            ),
            layer.get_initial_state(batch_size),
        )
        if has_trainable_initial_state(layer.cell):
            # Before the first batch, a trained initial state is read from its weight, so the weight gets a gradient.
            self.is_fresh = keras.Variable(1.0, trainable=False, dtype="float32", autocast=False, name="is_fresh")
        # Flattened once: Keras asks for the variables of a model several times a batch.
        self.variables = tree.flatten(self.states) + ([] if self.is_fresh is None else [self.is_fresh])

    def check_batch(self, layer, shape):
        """Raises an error if a batch has another size than the states."""
        if shape[0] not in (None, self.batch_size):
            raise ValueError(
                f"Layer '{layer.name}' is stateful, with a batch size of {self.batch_size}. "
                f"Received: input shape {tuple(shape)}"
            )

    def reset(self, layer):
        """Sets the states to the initial state of the cell."""
        if self.states:
            self.write(layer.get_initial_state(self.batch_size), is_fresh=True)

    def read(self, layer, batch_size):
        """Returns the states from which the next batch starts."""
        # PyTorch assigns in place, which must not change the graph of the pass that read the old value.
        states = tree.map_structure(
            lambda variable: ops.cast(ops.copy(variable.value), layer.compute_dtype), self.states
        )
        if self.is_fresh is None:
            return states
        fresh = ops.cast(self.is_fresh.value, "bool")
        initial = tree.map_structure(lambda s: ops.cast(s, layer.variable_dtype), layer.get_initial_state(batch_size))
        return tree.map_structure(lambda new, old: ops.where(fresh, new, old), initial, states)

    def write(self, states, is_fresh=False):
        """Stores the states in which a batch has ended."""
        for variable, state in zip(tree.flatten(self.states), tree.flatten(states), strict=True):
            variable.assign(ops.stop_gradient(ops.cast(state, variable.dtype)))
        if self.is_fresh is not None:
            self.is_fresh.assign(float(is_fresh))

    def save(self, store):
        for k, variable in enumerate(self.variables):
            store[f"carried_{k}"] = variable

    def load(self, layer, store):
        count = sum(name.startswith("carried_") for name in list(store.keys()))
        if count == 0:
            # A file written with `keras.layers.RNN` holds no states: the layer keeps its initial ones.
            return
        if count != len(self.variables):
            raise ValueError(
                f"Layer '{layer.name}' is stateful and has {len(self.variables)} states. Received: a file with {count}"
            )
        # By number, as the file lists `carried_10` before `carried_2`.
        for k, variable in enumerate(self.variables):
            variable.assign(store[f"carried_{k}"])


def carried_states(layer):
    """Returns the variables of the states that a layer carries from batch to batch, or an empty list."""
    if not getattr(layer, "stateful", False) or not hasattr(layer, "reset_state"):
        return []
    stateful_states = getattr(layer, "_stateful_states", None)
    states = getattr(layer, "states", None) if stateful_states is None else stateful_states.states
    return [state for state in tree.flatten(states) if isinstance(state, keras.Variable)]


def carried_variables(layer):
    """Returns all variables on which the first states of the next batch depend."""
    stateful_states = getattr(layer, "_stateful_states", None)
    return stateful_states.variables if stateful_states is not None and layer.stateful else carried_states(layer)
