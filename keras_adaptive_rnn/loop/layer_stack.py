"""Deep cells as stacks of layers, which can run over the sequence one after the other."""

import contextlib
import inspect

import keras
from keras import ops, tree

from keras_adaptive_rnn import _arguments, _sequence, maps
from keras_adaptive_rnn.cells.bases.any_cell import as_list, parts_of, project, runs_in_parts, step
from keras_adaptive_rnn.cells.bases.cell import Cell


class LayerStack:
    """The layers of a deep cell within a sequence: the lowest layer, and the layers above it, which are alike.

    Three methods compute a layer: `project` and `to_next_layer` take any leading axes, `step` takes one time step.
    Their argument `layer` is `None` for the lowest layer, the result of `unpack` for a layer above it, and the result
    of `vectorized` for all layers above it at once. They must be called within `with_weights_of(layer)`. The tensors
    that flow from each layer to the next are called the carry.

    Args:
        kernels: Dict of structures of tensors: the prepared weights of the layers above the lowest, stacked along the
            first axis. Matrices are multiplied, vectors are added.
        rows: Dict of structures of tensors, stacked likewise, with one entry for each row of the batch, or one number
            for each layer.
    """

    def __init__(self, kernels, rows):
        self._kernels, self._rows = kernels, rows
        self._leaves = tree.flatten((kernels, rows))
        self.tensors = [leaf for leaf in self._leaves if ops.is_tensor(leaf)]

    def unpack(self, tensors):
        """Returns the kernels and rows of one layer as one dict, given its slices of `self.tensors`."""
        tensors = iter(tensors)
        leaves = [next(tensors) if ops.is_tensor(leaf) else leaf for leaf in self._leaves]
        kernels, rows = tree.pack_sequence_as((self._kernels, self._rows), leaves)
        return {**kernels, **rows}

    def vectorized(self, batch_size):
        """Returns the kernels and rows of all upper layers at once, with the layers folded into the batch axis."""

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

    def with_weights_of(self, layer):
        """Returns a context in which the methods below compute `layer`; by default they need none."""
        return contextlib.nullcontext()

    def project(self, carry, layer):
        """Returns what the steps of a layer read, given the carry from below."""

    def step(self, projected, states, layer):
        """Returns `output, states` of one step of a layer."""

    def to_next_layer(self, carry, output, layer):
        """Returns the carry to the next layer; `carry` is the carry to this one."""

    def output(self, carry):
        """Returns the output of the cell, given the carry from the highest layer."""
        return carry[0]

    def advance(self, step_count):
        """Advances the states that depend on nothing but time, such as the step count, which follow the inputs."""
        return step_count

    def split(self, states):
        """Returns the step count, the states of the lowest layer, and those of the upper layers, `[layers, ...]`."""

    def join(self, output, step_count, lowest, above):
        """Returns the states of the cell, given its output and what `split` returns: its inverse."""


def fold_layers_into_batch(tensor):
    """Reshapes `[layers, batch, ...]` to `[layers * batch, ...]`."""
    return ops.reshape(tensor, (-1, *tensor.shape[2:]))


class CellStack(LayerStack):
    """The layers of a `StackedCells` whose upper cells are alike.

    One of the upper cells runs all of them: within `with_weights_of`, it has the noise and prepared weights of another.
    """

    def __init__(self, stack, training):
        self.cells = [stack.cells[0], stack.cells[1]]
        self.above = len(stack.cells) - 1
        self.connection = stack.connection
        self.dtype = stack.compute_dtype
        self.training = training
        prepared = [[(part, _sequence.prepared_by(part)) for part in parts_of(cell)] for cell in stack.cells[1:]]
        self._parts = [part for part, _ in prepared[0]]
        kernels, rows = {}, {}
        for k, part in enumerate(self._parts):
            stacked = tree.map_structure(
                lambda *values: ops.stack(values) if ops.is_tensor(values[0]) else values[0],
                *(of_cell[k][1] for of_cell in prepared),
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
        return _sequence.changed(prepared={**_sequence.current().prepared, **of_layer})

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

    def split(self, states):
        states = states if self.connection is None else states[1:]
        count = len(self.cells[1].state_size)
        end = count * self.above
        # The highest cell's states come first.
        return [], list(states[end:]), [ops.stack(states[k:end:count][::-1]) for k in range(count)]

    def join(self, output, step_count, lowest, above):
        above = [state[k] for k in reversed(range(self.above)) for state in above]
        return [*([] if self.connection is None else [output]), *above, *as_list(lowest)]


def are_alike(cells):
    """Returns whether each of these cells can run as any other, given the weights and noise of the other."""
    return all(runs_in_parts(cell) and _is_plain(cell) for cell in cells) and all(
        _equations(cell) == _equations(cells[0]) for cell in cells[1:]
    )


def _is_plain(cell):
    """Returns whether a step of `cell` only reads inputs, states, and what its parts keep for the sequence."""
    parts = parts_of(cell)
    own_cells = [part for part in parts if isinstance(part, Cell)]
    known = [w for part in parts if isinstance(part, (maps.LinearMap, maps.Bias)) for w in part.weights]
    known += [w for part in own_cells for w in getattr(part, "initial_state", [])]
    return {id(weight) for weight in cell.weights} <= {id(weight) for weight in known} and all(
        runs_in_parts(part) and type(part).prepare_sequence is Cell.prepare_sequence for part in own_cells
    )


def _equations(cell):
    """Returns what determines the equations of a cell: classes, dtypes, arguments and shapes of weights."""
    shapes = [tuple(weight.shape) for weight in cell.weights]
    return shapes, [
        (type(part), part.compute_dtype, part.variable_dtype, _arguments_of(part)) for part in parts_of(cell)
    ]


_TRAINING_ONLY = ("name", "dtype", "trainable", "seed", "trainable_initial_state")
_TRAINING_ONLY_SUFFIXES = ("initializer", "initializers", "regularizer", "constraint")


def _arguments_of(part):
    is_ours = isinstance(part, (Cell, maps.LinearMap, maps.Bias))
    values = {n: getattr(part, n, None) for n in _arguments.parameters(type(part))} if is_ours else part.get_config()
    return {
        name: _value(value)
        for name, value in values.items()
        if name not in _TRAINING_ONLY and not name.endswith(_TRAINING_ONLY_SUFFIXES)
    }


def _value(value):
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (list, tuple)):
        return [_value(each) for each in value]
    # A layer is itself a part, so its class suffices here. A function is compared by identity, not by its name.
    is_layer = isinstance(value, keras.layers.Layer)
    return type(value) if is_layer else value if inspect.isroutine(value) else _arguments.serialize(value)
