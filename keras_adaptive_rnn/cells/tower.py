"""Deep cells as layers one above the other, of which each can read a whole sequence before the next one does."""

import inspect

import keras
from keras import ops, tree

from keras_adaptive_rnn import _arguments, maps
from keras_adaptive_rnn.cells.base import Cell
from keras_adaptive_rnn.cells.holder import Holder
from keras_adaptive_rnn.cells.inner import as_list, kept_for_sequence, project, replaced, step


class Tower:
    """The layers of a deep cell in a sequence that has started: the lowest, and those above it, which are alike.

    Each layer takes what flows upwards, a list of tensors, and hands on another one, by three functions: `project` and
    `hand_on` for any leading axes, `step` for one time step. Their `layer` is `None` for the lowest; for one above it,
    what `unpack` makes of its share of `tensors`. All three are called within `wearing(layer)`.

    Args:
        structure: Any structure, in which each tensor holds, along its first axis, what each of the layers above the
            lowest has for itself: weights, masks.
    """

    def __init__(self, structure):
        self._structure = structure
        self._leaves = tree.flatten(structure)
        self.tensors = [leaf for leaf in self._leaves if ops.is_tensor(leaf)]

    def unpack(self, tensors):
        """Returns the structure of one layer, from its share of `self.tensors`."""
        tensors = iter(tensors)
        leaves = [next(tensors) if ops.is_tensor(leaf) else leaf for leaf in self._leaves]
        return tree.pack_sequence_as(self._structure, leaves)

    def wearing(self, layer):
        """Returns a context in which the functions below compute `layer`."""
        raise NotImplementedError

    def project(self, flow, layer):
        """Returns what the steps of a layer read of what has come from below."""
        raise NotImplementedError

    def step(self, projected, states, layer):
        """Returns `output, states` of a layer."""
        raise NotImplementedError

    def hand_on(self, flow, output, layer):
        """Returns what comes to the next layer; `flow` is what has come to this one."""
        raise NotImplementedError

    def output(self, flow):
        """Returns the output of the cell from what the highest layer has handed on."""
        return flow[0]

    def tick(self, clock):
        """Returns the next of those states that go on by themselves; they come to the lowest layer after the inputs."""
        return clock

    def divide(self, states):
        """Returns the states of the clock, of the lowest layer, and of those above it, `[layers, ...]`."""
        raise NotImplementedError

    def join(self, output, clock, lowest, above):
        """Returns the states of the cell from its output and the parts of `divide`."""
        raise NotImplementedError


class StackTower(Tower):
    """The tower of `StackedCells` whose cells above the lowest are alike.

    One of those cells takes the steps of all: within `wearing` its noise and prepared weights are another's.
    """

    def __init__(self, stack, training):
        self.cells = [stack.cells[0], stack.cells[1]]
        self.above = len(stack.cells) - 1
        self.connection = stack.connection
        self.dtype = stack.compute_dtype
        self.training = training
        self._lowest, self._second, *_ = kept = [kept_for_sequence(cell) for cell in stack.cells]
        values = [[attributes for _, attributes in of_cell] for of_cell in kept[1:]]
        super().__init__(tree.map_structure(lambda *of: ops.stack(of) if ops.is_tensor(of[0]) else of[0], *values))

    def _cell(self, layer):
        return self.cells[0 if layer is None else 1]

    def wearing(self, layer):
        if layer is None:
            return replaced(self._lowest)
        return replaced([(holder, attributes) for (holder, _), attributes in zip(self._second, layer, strict=True)])

    def project(self, flow, layer):
        return project(self._cell(layer), flow[0], self.training, self.dtype)

    def step(self, projected, states, layer):
        return step(self._cell(layer), projected, states, self.training, self.dtype)

    def hand_on(self, flow, output, layer):
        if self.connection is None:
            return [output]
        if self.connection == "residual":
            return [output if layer is None else output + flow[0]]
        return [output, output if layer is None else output + flow[1]]

    def output(self, flow):
        return flow[-1]

    def divide(self, states):
        states = states if self.connection is None else states[1:]
        count = len(self.cells[1].state_size)
        end = count * self.above
        # The highest cell's states come first.
        return [], list(states[end:]), [ops.stack(states[k:end:count][::-1]) for k in range(count)]

    def join(self, output, clock, lowest, above):
        above = [state[k] for k in reversed(range(self.above)) for state in above]
        return [*([] if self.connection is None else [output]), *above, *as_list(lowest)]


def are_alike(cells):
    """Returns whether one of these cells, with the weights and the noise of another, can take the steps of that."""
    return all(isinstance(cell, Cell) and _is_plain(cell) for cell in cells) and all(
        _equations(cell) == _equations(cells[0]) for cell in cells[1:]
    )


def _is_plain(cell):
    """Returns whether all that `cell` reads in a step, but its inputs and states, is in `kept_for_sequence`."""
    parts = cell._flatten_layers()
    own_cells = [part for part in parts if isinstance(part, Cell)]
    known = [w for part in parts if isinstance(part, (maps.LinearMap, maps.Bias)) for w in part.weights]
    known += [w for part in own_cells for w in getattr(part, "initial_state", [])]
    return {id(weight) for weight in cell.weights} <= {id(weight) for weight in known} and all(
        type(part).start_sequence in (Cell.start_sequence, Holder.start_sequence) for part in own_cells
    )


def _equations(cell):
    """Returns what a cell and its parts compute: their classes, dtypes, arguments, and the shapes of the weights."""
    shapes = [tuple(weight.shape) for weight in cell.weights]
    return shapes, [
        (type(part), part.compute_dtype, part.variable_dtype, _arguments_of(part)) for part in cell._flatten_layers()
    ]


_OF_TRAINING = ("name", "dtype", "trainable", "seed", "trainable_initial_state")
_ENDS_OF_TRAINING = ("initializer", "initializers", "regularizer", "constraint")


def _arguments_of(part):
    own = isinstance(part, (Cell, maps.LinearMap, maps.Bias))
    values = {n: getattr(part, n, None) for n in _arguments.parameters(type(part))} if own else part.get_config()
    return {
        name: _value(value)
        for name, value in values.items()
        if name not in _OF_TRAINING and not name.endswith(_ENDS_OF_TRAINING)
    }


def _value(value):
    if isinstance(value, (list, tuple)):
        return [_value(each) for each in value]
    # A layer is a part, whose arguments are compared by themselves. Functions of one name have one config.
    is_layer = isinstance(value, keras.layers.Layer)
    return type(value) if is_layer else value if inspect.isroutine(value) else _arguments.serialize(value)
