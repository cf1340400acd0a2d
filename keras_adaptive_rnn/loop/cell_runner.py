"""The link between a layer and the engine, which runs a cell over a sequence."""

import functools

import keras
from keras import ops, tree

from keras_adaptive_rnn import _run, engine, maps
from keras_adaptive_rnn._keras import AutocastScope
from keras_adaptive_rnn.cells.bases.any_cell import (
    as_list,
    initial_states,
    is_traceable,
    leaves,
    output_size,
    parts_of,
    project,
    step,
)
from keras_adaptive_rnn.cells.bases.cell import Cell, runs_in_parts
from keras_adaptive_rnn.loop import decisions, layer_by_layer, linear, native, resetting
from keras_adaptive_rnn.loop.skipped_steps import scan_taken_steps, scans_taken_steps


class CellRunner:
    """Runs a cell over a sequence, or for a single step.

    `keras_adaptive_rnn.layers.RNN` has one as its attribute `runner`. The cell may be one of this package, of Keras or
    of a user. `start` starts a run over a sequence: it draws the noise and prepares the weights. `scan` runs all steps,
    `project` and `step_projected` one of them, and `step` is a run of a single step.

    A plain object, so that Keras does not track the cell twice.

    Args:
        cell: A recurrent cell. It is inspected once, so make another runner after building the cell.
        dtype: The dtype of inputs, outputs and states. Defaults to the compute dtype of the cell.
        graphs: As in `RNN`. Defaults to `False`.

    Attributes:
        parts: List of the layers inside the cell, the cell first; empty if it is not a layer.
        deciding: List of the cells that decide how much to compute, the outermost first.
        is_traceable: Whether every step runs the same operations.
    """

    def __init__(self, cell, dtype=None, graphs=False):
        self.cell = cell
        self._dtype = dtype
        self.parts = parts_of(cell)
        self.deciding = _deciding(self.parts)
        self.is_traceable = is_traceable(cell)
        self._graphs = engine.Graphs(graphs)
        self._nested_deciding = [inner for outer in self.deciding for inner in _deciding(parts_of(outer))[1:]]
        self._drawing_own_masks = list(filter(_run.draws_own_masks, self.parts))

    @property
    def dtype(self):
        return self._dtype or self.cell.compute_dtype

    @property
    def variables(self):
        """The variables that a step may read."""
        return getattr(self.cell, "weights", [])

    @functools.cached_property
    def stack_depth(self):
        """The number of layers of a deep cell that can be run one by one, else 0."""
        return layer_by_layer.stack_depth(self.cell)

    @functools.cached_property
    def is_linear(self):
        """Whether the cell is linear, or a stack with a linear cell, whose cells run over the sequence one by one."""
        return linear.is_linear(self.cell)

    @functools.cached_property
    def has_own_maps_only(self):
        """Whether every map is one of this package, whose products support layers folded into the batch axis."""
        map_classes = [type(part) for part in self.parts if isinstance(part, maps.LinearMap)]
        return all(cls.__module__.startswith(maps.__name__) for cls in map_classes)

    @functools.cached_property
    def has_own_cells_only(self):
        """Whether every part of the cell is one of this package, whose steps read nothing but what the engine knows."""
        package = __name__.partition(".")[0]
        return bool(self.parts) and all(type(part).__module__.split(".")[0] == package for part in self.parts)

    def may_skip(self, collected, resets=None):
        """Returns whether inference steps may skip computation whose result is unused; arguments are as in `scan`."""
        if not self.deciding:
            return False
        if not engine.supports_switch() and not (resets is None and all(map(scans_taken_steps, self.deciding))):
            return False
        # The pass would run twice, and draw twice: JAX compiles it with and without skipping.
        if any(map(_run.draws_in_inference, self.parts)):
            return False
        # Decisions that are computed only for some rows cannot be collected.
        return not any(cell is inner for cell in collected for inner in self._nested_deciding)

    # States, inputs and outputs.

    def initial_states(self, batch_size):
        """Returns the states before the first step, nested like the cell's `state_size`, in plain lists."""
        return self.nest(leaves(initial_states(self.cell, batch_size, self.dtype)))

    def nest(self, states):
        """Nests a flat list of states like the cell's `state_size`, in plain lists."""
        left = list(states)

        def nest(size):
            is_list = isinstance(size, (list, tuple)) and not _is_array(left[0], size)
            return [nest(each) for each in size] if is_list else left.pop(0)

        return [nest(size) for size in as_list(self.cell.state_size)]

    def check_states(self, states, batch_size, where):
        """Returns `states`, nested like `state_size` and in the cell's dtype, or raises if their shapes do not fit."""
        states, state_size = as_list(states), as_list(self.cell.state_size)
        sizes, received = leaves(state_size), leaves(states)
        shapes = [tuple(state.shape) if hasattr(state, "shape") else state for state in received]
        if len(states) == len(state_size) and any(map(_is_array, states, state_size)):
            sizes = state_size
        expected = [(batch_size, *as_list(size)) for size in sizes]
        fits = len(shapes) == len(expected) and all(
            isinstance(shape, tuple)
            and shape[1:] == other[1:]
            and (None in (shape[0], batch_size) or shape[0] == batch_size)
            for shape, other in zip(shapes, expected, strict=True)
        )
        if not fits:
            raise ValueError(f"{where} expected states of shapes {expected}. Received: {shapes}")
        return self.nest([ops.cast(state, self.dtype) for state in received])

    def cast_inputs(self, inputs):
        # As in Keras, integers stay integers for a cell from elsewhere, which may look them up in an embedding.
        is_float = keras.backend.is_float_dtype(keras.backend.standardize_dtype(inputs.dtype))
        return ops.cast(inputs, self.dtype) if is_float or isinstance(self.cell, Cell) else inputs

    def first_output(self, states):
        """Returns the output before the first step: the first state, if that is the output, else zeros."""
        size, cell = output_size(self.cell), self.cell
        while isinstance(cell, keras.layers.StackedRNNCells):
            cell, states = cell.cells[-1], as_list(states[-1])
        state = tree.flatten(states)[0]
        return state if state.shape[-1] == size else ops.zeros((ops.shape(state)[0], size), dtype=state.dtype)

    # Steps.

    def start(self, batch_size, training=False, **fields):
        """Returns a new `Run` with these fields, for which noise is drawn and weights are prepared."""
        return _run.start(self.parts, batch_size, training, self.dtype, **fields)

    def project(self, inputs, run):
        """Returns the part of a step that needs no state, for inputs with any leading axes."""
        with AutocastScope(self.dtype):
            return project(self.cell, inputs, run, self.dtype)

    def step_projected(self, projected, states, run):
        """Returns `output, states` of one step from the result of `project`."""
        with AutocastScope(self.dtype):
            return step(self.cell, projected, states, run, self.dtype)

    def step(self, inputs, states, **fields):
        """Returns `output, states` of one step of inference, which is a `Run` by itself, with these fields."""
        # Of all parts, only Keras's cells prepare what a single step needs.
        run = _run.start(self._drawing_own_masks, inputs.shape[0], False, self.dtype, **fields)
        return self.step_projected(self.project(self.cast_inputs(inputs), run), states, run)

    def scan(
        self,
        sequences,
        states,
        mask=None,
        resets=None,
        *,
        run=None,
        training=False,
        skips_unneeded=False,
        schedule="steps",
        collected=(),
        **options,
    ):
        """Runs all steps.

        Args:
            sequences: Tensor `[time, batch, features]`.
            states: List of states, nested like `state_size`.
            mask: Boolean tensor `[time, batch, 1]`, or `None` (default).
            resets: Boolean tensor `[time, batch, 1]`, whether the states are reset before a step, or `None` (default).
            run: The result of `start`, or `None` (default) to start a run.
            training, skips_unneeded: Those of the run that starts. Both default to `False`.
            schedule: As in `RNN`, other than `"auto"`. Defaults to `"steps"`.
            collected: List of the cells whose decisions are collected. Defaults to none.
            **options: `return_sequences`, `zero_output_for_mask`, `unroll` and `recompute`, as in `RNN`, and
                `any_length`, as in `engine.Options`.

        Returns:
            `(last_output, outputs, states, emitted)`: the results of `engine.scan`, and `None` or the decisions of the
            collected cells, float32 `[time, batch, sizes]`.
        """
        if run is None:
            run = self.start(ops.shape(sequences)[1], training, skips_unneeded=skips_unneeded)
        options = engine.Options(
            **options,
            persistent=schedule == "persistent",
            variables=self.variables,
            is_traceable=self.is_traceable,
        )
        function = functools.partial(self._scan, schedule, collected, options)
        arguments = [sequences, states, mask, resets]
        key, parts = (schedule, *collected), self.parts or [self.cell]
        return self._graphs.run(function, run, arguments, options, key, parts)

    def _scan(self, schedule, collected, options, run, sequences, states, mask, resets):
        if resets is not None:
            resets = resetting.Resets.at(resets, mask, self.initial_states(ops.shape(sequences)[1]))
        elif run.skips_unneeded and scans_taken_steps(self.cell):
            return scan_taken_steps(self.cell, run, sequences, states, mask, options, bool(collected))
        else:
            results = native.scan(self.cell, run, sequences, states, mask, options)
            if results is not None:
                return *results, None
        output, emitted = self.first_output(states), None
        if schedule in linear.SCHEDULES:
            scan = functools.partial(linear.scan, associative=schedule == "associative")
            with AutocastScope(self.dtype):
                results = scan(self.cell, run, sequences, states, output, mask, options, resets)
        elif schedule in layer_by_layer.SCHEDULES and not run.skips_unneeded:
            scan = functools.partial(layer_by_layer.scan, wavefront=schedule == "wavefront")
            results = scan(self.cell, run, sequences, states, output, mask, options, resets)
        else:
            loop = resetting.restarting(*self._steps(run, sequences, options), resets)
            if collected:
                *results, emitted = decisions.scan(collected, *loop, states, output, mask, options)
            else:
                results = engine.scan(*loop, states, output, mask, options)
        if resets is not None and resets.fresh is not None:
            results = resets.restarted(*results, self.first_output(resets.states), options.zero_output_for_mask)
        return *results, emitted

    def _steps(self, run, sequences, options):
        """Returns the first arguments of `engine.scan`: `step`, `run`, and the inputs, projected if that is faster."""
        hoists = (
            not run.skips_unneeded
            and runs_in_parts(self.cell)
            and (
                options.persistent or engine.should_hoist(self.cell.count_params(), known_rows(sequences), run.training)
            )
        )
        if hoists and self.cell.compute_dtype == self.dtype:
            return self.cell.step, run, self.project(sequences, run)

        def whole_step(inputs, states, run):
            return step(self.cell, project(self.cell, inputs, run, self.dtype), states, run, self.dtype)

        return whole_step, run, sequences


def known_rows(sequences):
    """Returns the batch size of `[time, batch, ...]`, or `None`; while a model is exported, it may be a symbol."""
    return sequences.shape[1] if isinstance(sequences.shape[1], int) else None


def _deciding(parts):
    return [part for part in parts if isinstance(part, Cell) and part.aux_size]


def _is_array(state, size):
    """Returns whether the size `(n, m)` of a cell from elsewhere is that of a single state `[batch, n, m]`."""
    return isinstance(size, (list, tuple)) and len(getattr(state, "shape", ())) == 1 + len(size) > 2
