"""Functions that treat every cell alike: cells of this package, of Keras and of the user."""

import itertools

import keras
from keras import ops, tree

from keras_adaptive_rnn import initializers, maps
from keras_adaptive_rnn._keras import flatten_layers, takes_training
from keras_adaptive_rnn.cells.bases.cell import Cell

# Packages whose cells are pure, so their steps can be traced.
PURE = ("keras", __name__.split(".")[0])


def as_list(states):
    """Returns `states` as a list; in Keras, a cell with one state need not use one."""
    return list(states) if isinstance(states, (list, tuple)) else [states]


def output_size(cell):
    """Returns the size of a cell's output; in Keras, a cell need not define `output_size`."""
    size = getattr(cell, "output_size", None)
    return as_list(cell.state_size)[0] if size is None else size


def parts_of(cell):
    """Returns the layers inside a cell, the cell included; an empty list if it is not a layer."""
    return flatten_layers(cell) if isinstance(cell, keras.layers.Layer) else []


def is_traceable(cell):
    """Returns whether every step of `cell` is known to run the same operations."""
    parts = parts_of(cell) or [cell]
    return all(isinstance(part, Cell) or type(part).__module__.split(".")[0] in PURE for part in parts)


# One step of a cell with flat states.


def _in_parts(cell, dtype):
    # A cell from another library or with another dtype policy goes through its `__call__`, which casts.
    return isinstance(cell, Cell) and cell.compute_dtype == dtype


def project(cell, inputs, training, dtype):
    """Returns what `cell`, inside a cell that computes in `dtype`, computes without its state."""
    return cell.project(inputs, training) if _in_parts(cell, dtype) else inputs


def step(cell, projected, states, training, dtype):
    """Returns `output, states` of one step, the states as a list, from the result of `project`."""
    if _in_parts(cell, dtype):
        return cell.step(projected, states, training)
    kwargs = {"training": training} if takes_training(cell) else {}
    output, states = cell(projected, states if isinstance(cell.state_size, (list, tuple)) else states[0], **kwargs)
    return tree.map_structure(lambda t: ops.cast(t, dtype), (output, as_list(states)))


def initial_states(cell, batch_size, dtype):
    """Returns the states of `cell` before the first step, a list of tensors of `dtype`, nested like `state_size`."""
    if hasattr(cell, "get_initial_state"):
        states = as_list(cell.get_initial_state(batch_size=batch_size))
        return tree.map_structure(lambda state: ops.cast(state, dtype), states)
    return [ops.zeros((batch_size, size), dtype=dtype) for size in as_list(cell.state_size)]


def memory_states(cell):
    """Returns, for each state, whether it is memory. The others are bookkeeping."""
    return cell.memory_states if isinstance(cell, Cell) else [True] * len(as_list(cell.state_size))


def memory_index(cell):
    """Returns the index of the state that holds the memory: c for an LSTM, the output for other cells."""
    return cell.memory_index if isinstance(cell, Cell) else int(isinstance(cell, keras.layers.LSTMCell))


def divide_states(states, cells, start=0):
    """Returns a list of states for each of `cells`, from a flat list that holds them from index `start` on."""
    divided = []
    for cell in cells:
        end = start + len(as_list(cell.state_size))
        divided.append(list(states[start:end]))
        start = end
    return divided


def split_sizes(tensor, sizes):
    """Splits a tensor along its last axis into pieces of these sizes."""
    ends = list(itertools.accumulate(sizes, initial=0))
    return [tensor[..., start:end] for start, end in itertools.pairwise(ends)]


# Cells as arguments.


def validate_cell(name, cell):
    """Returns `cell` if a cell of this package can contain it; otherwise raises an error that says why not."""
    if isinstance(cell, dict):
        cell = keras.saving.deserialize_keras_object(cell)
    size = getattr(cell, "state_size", None)
    if not callable(cell) or size is None:
        raise ValueError(
            f"Argument `{name}` must be a recurrent cell: callable, with `state_size`. Received: {name}={cell!r}"
        )
    sizes = as_list(size)
    if not sizes or any(not isinstance(s, int) for s in sizes):
        raise ValueError(
            f"Argument `{name}` must have a flat `state_size`, an integer or a list of them; stack cells in "
            f"`keras_adaptive_rnn.StackedCells`. Received: a {type(cell).__name__} with state_size={size}"
        )
    if output_size(cell) != sizes[0]:
        raise ValueError(
            f"Argument `{name}` must be a cell whose first state is its output. "
            f"Received: a {type(cell).__name__} with state_size={size} and output_size={cell.output_size}"
        )
    return cell


def sibling(arguments, index):
    """Returns the arguments of the `index`-th of several like cells, with maps and random numbers of its own."""

    def vary(name, value):
        if isinstance(value, dict) and "class_name" in value:
            # Without the ID that makes Keras create one object for all cells.
            unshared = {key: part for key, part in value.items() if key != "shared_object_id"}
            value = keras.saving.deserialize_keras_object(unshared)
        if name == "seed" and value is not None:
            return value + 100 * index
        if isinstance(value, keras.initializers.Initializer):
            return initializers.reseeded(value, 10_000 * index)
        if isinstance(value, maps.LinearMap) and index > 0:
            return type(value).from_config(value.get_config())
        return value

    return {name: vary(name, value) for name, value in arguments.items()}
