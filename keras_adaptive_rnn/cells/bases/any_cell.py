"""Functions that treat every cell alike: cells of this package, of Keras and of the user."""

import itertools

import keras
from keras import ops, tree

from keras_adaptive_rnn import _arguments, _run, initializers, maps
from keras_adaptive_rnn._keras import flatten_layers, takes_training
from keras_adaptive_rnn._seeds import fold_in
from keras_adaptive_rnn.cells.bases.cell import Cell, runs_in_parts

KERAS_CELLS = keras.layers.SimpleRNNCell, keras.layers.GRUCell, keras.layers.LSTMCell
# Packages whose cells are pure, so their steps can be traced.
TRACEABLE_PACKAGES = ("keras", __name__.split(".")[0])


def leaves(states):
    """Returns what nested lists of states hold, as `keras.tree.flatten` does, which takes longer than a small step."""
    return [x for each in states for x in (leaves(each) if isinstance(each, (list, tuple)) else [each])]


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
    return all(runs_in_parts(part) or type(part).__module__.split(".")[0] in TRACEABLE_PACKAGES for part in parts)


# One step of a cell.


def _in_parts(cell, dtype):
    # A cell from another library or with another dtype policy goes through its `__call__`, which casts.
    return runs_in_parts(cell) and cell.compute_dtype == dtype


def project(cell, inputs, run, dtype):
    """Returns what `cell`, inside a cell that computes in `dtype`, computes without its state."""
    return cell.project(inputs, run) if _in_parts(cell, dtype) else inputs


def step(cell, projected, states, run, dtype):
    """Returns `output, states` of one step, the states as a list, from the result of `project`."""
    if _in_parts(cell, dtype):
        return cell.step(projected, states, run)
    kwargs = {"training": run.training} if takes_training(cell) else {}
    with _run.entered(run):
        # A list, as in `keras.layers.RNN`, also of a single state.
        returned, new = cell(projected, list(states), **kwargs)
    output = ops.cast(returned, dtype)
    # Keras allows a cell to return its states as a tuple, as a tensor, or, from a stack of one, unwrapped.
    new = [output if state is returned else ops.cast(state, dtype) for state in tree.flatten(new)]
    return output, tree.pack_sequence_as(list(states), new)


def step_states(cell, projected, states, run, dtype):
    """Returns the states after one step, for a caller to whom the first one is the output, or raises an error."""
    output, states = step(cell, projected, states, run, dtype)
    if output is not states[0]:
        raise ValueError(
            f"Cell '{getattr(cell, 'name', type(cell).__name__)}' must return its output as its first state, too, for "
            "the cell around it, which changes the states and so must know which of them is the output. "
            f"Received: a {type(cell).__name__} whose step returns two different tensors"
        )
    return states


def initial_states(cell, batch_size, dtype):
    """Returns the states of `cell` before the first step, a list of tensors of `dtype`, nested like `state_size`."""
    if hasattr(cell, "get_initial_state"):
        states = as_list(cell.get_initial_state(batch_size=batch_size))
        if not any(isinstance(state, (list, tuple)) for state in states):
            return [ops.cast(state, dtype) for state in states]
        return tree.map_structure(lambda state: ops.cast(state, dtype), states)
    return [ops.zeros((batch_size, size), dtype=dtype) for size in as_list(cell.state_size)]


def has_trainable_initial_state(cell):
    """Returns whether the states of `cell` before the first step may be trained."""
    if isinstance(cell, keras.layers.StackedRNNCells):
        return any(map(has_trainable_initial_state, cell.cells))
    if isinstance(cell, Cell):
        return cell.has_trainable_initial_state
    # Those of Keras are zeros; those of a user may be anything.
    return hasattr(cell, "get_initial_state") and type(cell).__module__.split(".")[0] != "keras"


def memory_states(cell):
    """Returns, for each state, whether it is memory. The others are bookkeeping."""
    return cell.memory_states if isinstance(cell, Cell) else [True] * len(as_list(cell.state_size))


def memory_index(cell):
    """Returns the index of the state that holds the memory: c for an LSTM, the output for other cells."""
    return cell.memory_index if isinstance(cell, Cell) else int(isinstance(cell, keras.layers.LSTMCell))


def split_states(states, cells, start=0):
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


def check_is_cell(name, cell):
    """Raises an error if `cell` is not a recurrent cell, such as a class, or a whole layer."""
    if isinstance(cell, keras.layers.RNN):
        raise ValueError(
            f"Argument `{name}` must be a recurrent cell, and `{type(cell).__name__}` is a layer, which runs its cell "
            f"over a sequence. Use the layer itself, or pass a cell, such as `{type(cell.cell).__name__}`. "
            f"Received: {name}={cell!r}"
        )
    fits = callable(cell) and not isinstance(cell, type) and getattr(cell, "state_size", None) is not None
    rule = f"Argument `{name}` must be a recurrent cell: an object that is callable and has a `state_size`"
    _arguments.check(fits, rule, **{name: cell})


def validate_cell(name, cell):
    """Returns `cell` if a cell of this package can contain it; otherwise raises an error that says why not."""
    if isinstance(cell, dict):
        cell = keras.saving.deserialize_keras_object(cell)
    check_is_cell(name, cell)
    size = cell.state_size
    sizes = as_list(size)
    rule = (
        f"Argument `{name}` must have a flat `state_size`, an integer or a list of them; stack cells in "
        "`keras_adaptive_rnn.StackedCells`"
    )
    _arguments.check(sizes and all(isinstance(s, int) for s in sizes), rule, **{name: cell}, state_size=size)
    rule = f"Argument `{name}` must be a cell whose first state is its output"
    _arguments.check(
        output_size(cell) == sizes[0], rule, **{name: cell}, state_size=size, output_size=output_size(cell)
    )
    return cell


def sibling(cls, arguments, index):
    """Returns the arguments of the `index`-th of several cells of a class, from those of all of them.

    It has maps and random numbers of its own.
    """
    # Initializers are made here even if they are not given, as a config gives them: a copy draws the same numbers.
    defaults = {
        name: parameter.default
        for name, parameter in cls.accepted_arguments().items()
        if name.endswith("_initializer") and isinstance(parameter.default, str)
    }

    def vary(name, value):
        if isinstance(value, dict) and "class_name" in value:
            # Without the ID that makes Keras create one object for all cells.
            unshared = {key: part for key, part in value.items() if key != "shared_object_id"}
            value = keras.saving.deserialize_keras_object(unshared)
        if name in defaults:
            value = _arguments.resolve(name, value, initializers.get)
        if index == 0:
            return value
        if name == "seed":
            return fold_in(value, cls.__name__, index)
        if isinstance(value, keras.initializers.Initializer):
            return initializers.reseeded(value, cls.__name__, index)
        if isinstance(value, maps.LinearMap):
            return value.like(cls.__name__, index)
        return value

    return {name: vary(name, value) for name, value in {**defaults, **arguments}.items()}
