"""Deep cells as layers one above the other, of which each can read a whole sequence before the next one does."""

import contextlib
import inspect

import keras
from keras import ops, tree

from keras_adaptive_rnn import _arguments, _sequence, maps
from keras_adaptive_rnn.cells.bases.any_cell import as_list, parts_of, project, step
from keras_adaptive_rnn.cells.bases.cell import Cell


class LayerStack:
    """The layers of a deep cell in a sequence that has started: the lowest, and those above it, which are alike.

    Three functions compute a layer: `project` and `to_next_layer` take any leading axes, `step` takes one time step.
    Their argument `layer` is `None` for the lowest layer, what `unpack` returns for one above it, and what `vectorized`
    returns for all layers above it at once. They must be called within `with_weights_of(layer)`. What flows from each
    layer to the next is the carry, a list of tensors.

    Args:
        kernels: Dict of structures, in which each tensor holds, along its first axis, what each of the layers above the
            lowest multiplies by, or the vector that it adds.
        rows: Dict of structures of the same, of tensors with an entry for each row of the batch, and of numbers.
    """

    def __init__(self, kernels, rows):
        self._kernels, self._rows = kernels, rows
        self._leaves = tree.flatten((kernels, rows))
        self.tensors = [leaf for leaf in self._leaves if ops.is_tensor(leaf)]

    def unpack(self, tensors):
        """Returns one dict of what one layer has, from its share of `self.tensors`."""
        tensors = iter(tensors)
        leaves = [next(tensors) if ops.is_tensor(leaf) else leaf for leaf in self._leaves]
        kernels, rows = tree.pack_sequence_as((self._kernels, self._rows), leaves)
        return {**kernels, **rows}

    def vectorized(self, batch_size):
        """Returns the same of all layers above the lowest at once; what each has for a row of the batch, below it."""

        def repeated(value):
            return fold_layers_into_batch(ops.broadcast_to(value, (value.shape[0], batch_size, value.shape[-1])))

        def kernel(value):
            if len(value.shape) == 2:
                return repeated(value[:, None])
            return value if len(value.shape) == 3 else fold_layers_into_batch(value)

        def row(value):
            return repeated(value[:, None, None]) if len(value.shape) == 1 else fold_layers_into_batch(value)

        def map_tensors(function, structure):
            return tree.map_structure(lambda leaf: function(leaf) if ops.is_tensor(leaf) else leaf, structure)

        return {**map_tensors(kernel, self._kernels), **map_tensors(row, self._rows)}

    @classmethod
    def depth_of(cls, cell):
        """Returns the number of layers of `cell`, or 0 if they cannot be run one by one."""
        raise NotImplementedError

    def with_weights_of(self, layer):
        """Returns a context in which the functions below compute `layer`; by default they need none."""
        return contextlib.nullcontext()

    def project(self, carry, layer):
        """Returns what the steps of a layer read of what has come from below."""
        raise NotImplementedError

    def step(self, projected, states, layer):
        """Returns `output, states` of a layer."""
        raise NotImplementedError

    def to_next_layer(self, carry, output, layer):
        """Returns what comes to the next layer; `carry` is what has come to this one."""
        raise NotImplementedError

    def output(self, carry):
        """Returns the output of the cell from what the highest layer has handed on."""
        return carry[0]

    def advance(self, step_count):
        """Returns the next of those states that go on by themselves; they come to the lowest layer after the inputs."""
        return step_count

    def divide(self, states):
        """Returns the states of the step_count, of the lowest layer, and of those above it, `[layers, ...]`."""
        raise NotImplementedError

    def join(self, output, step_count, lowest, above):
        """Returns the states of the cell from its output and the parts of `divide`."""
        raise NotImplementedError


def fold_layers_into_batch(of_layers):
    """Returns `[layers * batch, ...]` of `[layers, batch, ...]`."""
    return ops.reshape(of_layers, (-1, *of_layers.shape[2:]))


class CellStack(LayerStack):
    """The stack of `StackedCells` whose cells above the lowest are alike.

    One of those cells takes the steps of all: within `with_weights_of` its noise and prepared weights are another's.
    """

    def __init__(self, stack, training):
        self.cells = [stack.cells[0], stack.cells[1]]
        self.above = len(stack.cells) - 1
        self.connection = stack.connection
        self.dtype = stack.compute_dtype
        self.training = training
        kept = [[(part, _sequence.kept_by(part)) for part in parts_of(cell)] for cell in stack.cells[1:]]
        self._parts = [part for part, _ in kept[0]]
        kernels, rows = {}, {}
        for k, part in enumerate(self._parts):
            stacked = tree.map_structure(
                lambda *of_cells: ops.stack(of_cells) if ops.is_tensor(of_cells[0]) else of_cells[0],
                *(of_cell[k][1] for of_cell in kept),
            )
            (rows if isinstance(part, Cell) else kernels)[k] = stacked
        super().__init__(kernels, rows)

    @classmethod
    def depth_of(cls, cell):
        return len(cell.cells) if len(cell.cells) > 2 and are_alike(cell.cells[1:]) else 0

    def _cell(self, layer):
        return self.cells[0 if layer is None else 1]

    def with_weights_of(self, layer):
        if layer is None:
            return contextlib.nullcontext()
        of_layer = {part: layer[k] for k, part in enumerate(self._parts)}
        return _sequence.changed(kept={**_sequence.current().kept, **of_layer})

    def project(self, carry, layer):
        return project(self._cell(layer), carry[0], self.training, self.dtype)

    def step(self, projected, states, layer):
        return step(self._cell(layer), projected, states, self.training, self.dtype)

    def to_next_layer(self, carry, output, layer):
        if self.connection is None:
            return [output]
        if self.connection == "residual":
            return [output if layer is None else output + carry[0]]
        return [output, output if layer is None else output + carry[1]]

    def output(self, carry):
        return carry[-1]

    def divide(self, states):
        states = states if self.connection is None else states[1:]
        count = len(self.cells[1].state_size)
        end = count * self.above
        # The highest cell's states come first.
        return [], list(states[end:]), [ops.stack(states[k:end:count][::-1]) for k in range(count)]

    def join(self, output, step_count, lowest, above):
        above = [state[k] for k in reversed(range(self.above)) for state in above]
        return [*([] if self.connection is None else [output]), *above, *as_list(lowest)]


def are_alike(cells):
    """Returns whether one of these cells, with the weights and the noise of another, can take the steps of that."""
    return all(isinstance(cell, Cell) and _is_plain(cell) for cell in cells) and all(
        _equations(cell) == _equations(cells[0]) for cell in cells[1:]
    )


def _is_plain(cell):
    """Returns whether all that a step of `cell` reads, beside inputs and states, is kept by its parts."""
    parts = parts_of(cell)
    own_cells = [part for part in parts if isinstance(part, Cell)]
    known = [w for part in parts if isinstance(part, (maps.LinearMap, maps.Bias)) for w in part.weights]
    known += [w for part in own_cells for w in getattr(part, "initial_state", [])]
    return {id(weight) for weight in cell.weights} <= {id(weight) for weight in known} and all(
        type(part).prepare_sequence is Cell.prepare_sequence for part in own_cells
    )


def _equations(cell):
    """Returns what a cell and its parts compute: their classes, dtypes, arguments, and the shapes of the weights."""
    shapes = [tuple(weight.shape) for weight in cell.weights]
    return shapes, [
        (type(part), part.compute_dtype, part.variable_dtype, _arguments_of(part)) for part in parts_of(cell)
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
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_value(each) for each in value]
    # A layer is a part, whose arguments are compared by themselves. Functions of one name have one config.
    is_layer = isinstance(value, keras.layers.Layer)
    return type(value) if is_layer else value if inspect.isroutine(value) else _arguments.serialize(value)
