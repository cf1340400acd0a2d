"""Deep cells as stacks of layers, which can run over the sequence one after the other."""

import inspect
import re

import keras
from keras import ops, tree

from keras_adaptive_rnn import _arguments, maps
from keras_adaptive_rnn._run import tensors_of, with_tensors
from keras_adaptive_rnn.cells.bases.any_cell import as_list, parts_of, project, step
from keras_adaptive_rnn.cells.bases.cell import Cell, runs_in_parts

# Arguments that have no part in the equations of a step.
OF_TRAINING = re.compile("name|dtype|trainable|seed|trainable_initial_state|.*(initializers?|regularizer|constraint)")


class LayerStack:
    """The layers of a deep cell: the lowest one, and those above it, which have the same equations.

    The tensors that flow from each layer to the next are called the carry. A subclass defines:

    - `depth_of(cell)`, a class method: the number of layers of `cell`, or 0 if they cannot run one by one.
    - `layer_runs(run)`: the run of the lowest layer and `UpperRuns`, from the run of the cell.
    - `project(carry, run)`: what the steps of a layer read, for any leading axes.
    - `step(projected, states, run)`: `output, states` of one step of a layer.
    - `to_next_layer(carry, output, run)`: the carry to the next layer, given that to this one, for any leading axes.
    - `split(states)`: the step count, the states of the lowest layer, and those of the upper layers, `[layers, ...]`.
    - `join(output, step_count, lowest, above)`: the states of the cell, given its output; the inverse of `split`.

    Args:
        cell: The deep cell.
    """

    def __init__(self, cell):
        self.cell = cell

    def output(self, carry):
        """Returns the output of the cell, given the carry from the highest layer."""
        return carry[0]

    def advance(self, step_count, run):
        """Advances the states that depend on nothing but time, such as the step count, which follow the inputs."""
        return step_count


class UpperRuns:
    """The runs of the layers above the lowest, one by one or all at once.

    Args:
        run_of: Function that makes a run of one dict, of kernels and rows.
        kernels: Dict of structures of tensors: the prepared weights of these layers, stacked along the first axis.
            Matrices are multiplied, vectors are added.
        rows: Dict of structures of tensors, stacked likewise, with one entry for each row of the batch, or one number
            for each layer.
    """

    def __init__(self, run_of, kernels, rows):
        self._run_of, self._kernels, self._rows = run_of, kernels, rows
        self.tensors = tensors_of((kernels, rows))

    def of_layer(self, tensors):
        """Returns the run of one layer, given its slices of `self.tensors`."""
        kernels, rows = with_tensors((self._kernels, self._rows), tensors)
        return self._run_of({**kernels, **rows})

    def folded(self, batch_size):
        """Returns the run of all layers at once, with the layers folded into the batch axis."""

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

        return self._run_of({**map_tensors(kernel, self._kernels), **map_tensors(row, self._rows)})


def fold_layers_into_batch(tensor):
    """Reshapes `[layers, batch, ...]` to `[layers * batch, ...]`."""
    return ops.reshape(tensor, (-1, *tensor.shape[2:]))


class CellStack(LayerStack):
    """The layers of a `StackedCells` whose upper cells are alike.

    One of the upper cells runs all of them: in a run with the noise and prepared weights of another.
    """

    @classmethod
    def depth_of(cls, cell):
        upper = cell.cells[1:]
        if len(upper) < 2 or not all(map(_is_plain, upper)) or not _agree(_shapes, upper):
            return 0
        return len(cell.cells) if cell.repeats or _agree(_equations, upper) else 0

    def layer_runs(self, run):
        lowest, *upper = self.cell.cells
        prepared = [[(part, run.prepared_by(part)) for part in parts_of(cell)] for cell in upper]
        parts = [part for part, _ in prepared[0]]
        kernels, rows = {}, {}
        for k, part in enumerate(parts):
            stacked = tree.map_structure(
                lambda *values: ops.stack(values) if ops.is_tensor(values[0]) else values[0],
                *(of_cell[k][1] for of_cell in prepared),
            )
            (rows if isinstance(part, Cell) else kernels)[k] = stacked

        def run_of(layer):
            return run.changed(prepared={part: layer[k] for k, part in enumerate(parts)})

        lowest_run = run.changed(prepared={part: run.prepared_by(part) for part in parts_of(lowest)})
        return lowest_run, UpperRuns(run_of, kernels, rows)

    def _is_lowest(self, run):
        return self.cell.cells[0] in run.prepared

    def _cell(self, run):
        return self.cell.cells[0 if self._is_lowest(run) else 1]

    def project(self, carry, run):
        return project(self._cell(run), carry[0], run, self.cell.compute_dtype)

    def step(self, projected, states, run):
        return step(self._cell(run), projected, states, run, self.cell.compute_dtype)

    def to_next_layer(self, carry, output, run):
        if self.cell.connection is None:
            return [output]
        if self.cell.connection == "residual":
            return [output if self._is_lowest(run) else output + carry[0]]
        return [output, output if self._is_lowest(run) else output + carry[1]]

    def output(self, carry):
        return carry[-1]

    def split(self, states):
        states = states if self.cell.connection is None else states[1:]
        count = len(self.cell.cells[1].state_size)
        end = count * (len(self.cell.cells) - 1)
        # The highest cell's states come first.
        return [], list(states[end:]), [ops.stack(states[k:end:count][::-1]) for k in range(count)]

    def join(self, output, step_count, lowest, above):
        above = [state[k] for k in reversed(range(len(self.cell.cells) - 1)) for state in above]
        return [*([] if self.cell.connection is None else [output]), *above, *as_list(lowest)]


def _agree(describe, cells):
    first, *others = map(describe, cells)
    return all(other == first for other in others)


def _is_plain(cell):
    """Returns whether a step of `cell` only reads inputs, states, and what its parts prepare for the sequence."""
    if not runs_in_parts(cell):
        return False
    parts = parts_of(cell)
    own_cells = [part for part in parts if isinstance(part, Cell)]
    known = [w for part in parts if isinstance(part, (maps.LinearMap, maps.Bias)) for w in part.weights]
    known += [w for part in own_cells for w in getattr(part, "initial_state", [])]
    return {id(weight) for weight in cell.weights} <= {id(weight) for weight in known} and all(
        runs_in_parts(part) and type(part).prepare_sequence is Cell.prepare_sequence for part in own_cells
    )


def _shapes(cell):
    return [tuple(weight.shape) for weight in cell.weights]


def _equations(cell):
    """Returns what determines the equations of a cell: classes, dtypes and arguments."""
    return [(type(part), part.compute_dtype, part.variable_dtype, _arguments_of(part)) for part in parts_of(cell)]


def _arguments_of(part):
    is_ours = isinstance(part, (Cell, maps.LinearMap, maps.Bias))
    values = {n: getattr(part, n, None) for n in _arguments.parameters(type(part))} if is_ours else part.get_config()
    return {name: _comparable(value) for name, value in values.items() if not OF_TRAINING.fullmatch(name)}


def _comparable(value):
    if isinstance(value, (list, tuple)):
        return list(map(_comparable, value))
    if isinstance(value, keras.layers.Layer):
        # Its arguments are compared as those of a part.
        return type(value)
    # Two functions may share a name, and not every function has a config.
    return value if inspect.isroutine(value) else _arguments.serialize(value)
