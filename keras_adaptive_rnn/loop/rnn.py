"""`keras.layers.RNN` with the same arguments, weights and file, and a time loop of our own."""

import weakref
from typing import Any

import keras
import numpy as np
from keras import ops, tree

from keras_adaptive_rnn import _arguments, _sequence, engine
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._keras import AutocastScope, get_mask, takes_training
from keras_adaptive_rnn._types import Regularizer, Tensor
from keras_adaptive_rnn.cells.bases.any_cell import as_list, output_size
from keras_adaptive_rnn.cells.bases.cell import Cell
from keras_adaptive_rnn.loop import decisions, schedules
from keras_adaptive_rnn.loop.cell_tree import CellTree
from keras_adaptive_rnn.loop.skipped_steps import scan_taken_steps, scans_taken_steps
from keras_adaptive_rnn.loop.stateful import Carried

# The layers of each cell: two layers may share one.
_layers_of = weakref.WeakKeyDictionary()


@export
class RNN(_arguments.Declared, keras.layers.RNN):
    """Runs a cell over a sequence: `keras.layers.RNN`, faster and the same on every backend.

    It takes any cell that `keras.layers.RNN` takes. For the cells of this package it computes everything that needs no
    state (`cell.project`) for the whole sequence at once, prepares the weights once, and runs `cell.step` alone
    inside the loop (on JAX on a CPU only for wide cells, as two small products of one step run side by side there).
    Weights and `.keras` files are those of `keras.layers.RNN`.

    What differs from Keras 3.15, on purpose:
        - A masked first step repeats the first initial state on every backend (in Keras, on JAX only).
        - `unroll` treats masks as the loop does, on every backend.
        - With `stateful`, the states are carried by `fit` and `predict` on JAX too, `reset_state()` goes back to the
          cell's initial state, which stays trained if it is a weight, stacks included, and the states are in the
          `.keras` file.
        - Noise is drawn while training only, so inference does not advance the seed.
        - Initial states of a wrong number or shape raise.
        - A mask also reaches the layer when `initial_state` is passed.

    Args:
        cell: A recurrent cell, or a list of cells, which is stacked.
        return_sequences: Whether to return the output of every step. Defaults to `False`: the last one.
        return_state: Whether to return the last states as well. Defaults to `False`.
        go_backwards: Whether to read the sequence from its end; the outputs come in the order of reading. Defaults to
            `False`.
        stateful: Whether a batch starts from the states in which the last one ended, sample by sample. Needs a known
            batch size. Defaults to `False`.
        unroll: Whether to lay the loop out in the graph: faster for few steps, slow to compile for many. Needs a known
            number of steps. Defaults to `False`.
        zero_output_for_mask: Whether a masked step puts out zeros; else it repeats the output before it. Defaults to
            `False`.
        recompute: Whether the gradient keeps the states before every sixteenth step alone and computes the steps again:
            a fraction of the memory, for long sequences, and about a third more arithmetic. The numbers are the same.
            Defaults to `False`.
        schedule: The order in which the layers of a deep cell (`DeepRNNCell`, or `StackedCells` whose cells above the
            lowest are alike) take the steps: `"steps"` runs all layers at one step before the next step; `"layers"`
            runs one layer over all steps before the next layer; `"wavefront"` runs layer $l$ at step $s - l$ for all
            $l$ at once; `"auto"` (default) picks the fastest measured. The numbers are the same.
        return_decisions: Whether to return, after the output and the states, what each deciding cell (`SkipCell`,
            `SkimCell`, `VariableComputationCell`) in `cell` has decided, `[batch, time]` for each, the outermost first:
            one for a step computed in full, zero for one that is skipped, skimmed or masked; with `go_backwards` in the
            order of reading. Inside `keras.layers.Bidirectional` it needs `return_state=True`. Defaults to `False`.
        name, dtype, trainable, activity_regularizer: As in `keras.layers.Layer`. As in Keras, `dtype` does not apply to
            `cell`.

    Call arguments:
        sequences: Tensor `[batch, time, features]`.
        initial_state: List of the cell's states, each `[batch, size]`, or `None` (default).
        mask: Boolean tensor `[batch, time]`; a step whose entry is `False` is skipped.
        training: Whether dropout is on.

    Output shape: `[batch, output_size]`, `[batch, time, output_size]` with `return_sequences`; with `return_state`
        a list of it and each state; with `return_decisions` also `[batch, time]` for each cell that decides.

    Raises:
        ValueError: `return_decisions` is given and no cell decides, the cell cannot run in the given `schedule`, the
            input is not of rank 3, its feature size has changed, `initial_state` does not fit, or the batch size of a
            stateful layer is unknown or has changed.

    Example:

    >>> layer = keras_adaptive_rnn.layers.RNN(keras_adaptive_rnn.MogrifierCell(8), return_sequences=True)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 5, 8)
    """

    renamed_arguments = {"order": "schedule"}

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        *,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        activity_regularizer: Regularizer = None,
        **kwargs,
    ):
        flags = {
            "return_sequences": return_sequences,
            "return_state": return_state,
            "go_backwards": go_backwards,
            "stateful": stateful,
            "unroll": unroll,
            "zero_output_for_mask": zero_output_for_mask,
            "recompute": recompute,
        }
        for name, value in flags.items():
            _arguments.boolean(name, value)
        if not isinstance(cell, (list, tuple)) and not (callable(cell) and hasattr(cell, "state_size")):
            raise ValueError(
                "Argument `cell` must be a recurrent cell, callable and with `state_size`, or a list of cells. "
                f"Received: cell={cell!r}"
            )
        if isinstance(cell, (list, tuple)) and len({id(each) for each in cell}) < len(cell):
            raise ValueError(
                "Argument `cell` must hold each cell once, so that each has its own weights; make a new one for every "
                f"layer of the stack. Received: cell={cell!r}"
            )
        self.recompute = flags.pop("recompute")
        super().__init__(cell, **flags, activity_regularizer=activity_regularizer, **kwargs)
        self.supports_masking = True
        self.input_spec = keras.layers.InputSpec(ndim=3)
        self._carried = Carried()
        self._tree = CellTree(self.cell)
        if self._tree.parts:
            _layers_of.setdefault(self.cell, weakref.WeakSet()).add(self)
        # It is not known what a cell that is no layer reads.
        is_layer = isinstance(self.cell, keras.layers.Layer)
        short = self._short_step
        self._fast_step = engine.compiled(short, self.cell, self._tree.is_traceable) if is_layer else short
        self.return_decisions = _arguments.boolean("return_decisions", return_decisions)
        if return_decisions and not self._tree.deciding:
            raise ValueError(
                "Argument `return_decisions` must be False where no cell decides how much to compute, as `SkipCell` "
                f"does. Received: return_decisions=True, cell={cell!r}"
            )
        self.schedule = _arguments.choice("schedule", schedule, schedules.ORDERS)
        self._check_order()

    def build(self, sequences_shape, initial_state_shape=None):
        batch_size, _, features = sequences_shape
        if features is None:
            raise ValueError(
                f"Layer '{self.name}' needs a known feature size, the last axis of its input. "
                f"Received: input shape {tuple(sequences_shape)}"
            )
        self._check_length(sequences_shape)
        if isinstance(self.cell, keras.layers.Layer) and not self.cell.built:
            self.cell.build((batch_size, features))
        self._tree = CellTree(self.cell)
        self._check_order()
        self.input_spec = keras.layers.InputSpec(ndim=3, axes={-1: features})
        if self.stateful and not self._carried.states:
            if batch_size is None:
                raise ValueError(
                    f"Layer '{self.name}' is stateful and needs a known batch size: give `batch_size` or "
                    f"`batch_shape` to `keras.Input`. Received: input shape {tuple(sequences_shape)}"
                )
            self._carried.make(self, batch_size)

    def _check_length(self, shape):
        if self.unroll and shape[1] is None:
            raise ValueError(
                f"Layer '{self.name}' has unroll=True and needs a known number of steps. "
                f"Received: input shape {tuple(shape)}"
            )

    # States.

    def get_initial_state(self, batch_size):
        """Returns the states before the first step, a list as the cell orders them."""
        if hasattr(self.cell, "get_initial_state"):
            states = self.cell.get_initial_state(batch_size=batch_size)
        else:
            states = [ops.zeros((batch_size, size), dtype=self._cell_dtype) for size in self.state_size]
        return as_list(states)

    @property
    def _cell_dtype(self):
        return getattr(self.cell, "compute_dtype", self.compute_dtype)

    @property
    def variables(self):
        # The carried states are no weights, but the trainer must know them: JAX keeps only the variables it knows.
        return super().variables + self._carried.variables

    def reset_state(self) -> None:
        """Sets the states of a stateful layer back to the cell's initial state."""
        self._carried.reset(self)

    def save_own_variables(self, store):
        super().save_own_variables(store)
        self._carried.save(store)

    def load_own_variables(self, store):
        self._carried.load(self, store)

    def _nest(self, states):
        """Returns a flat list of states as plain lists, nested as the cell's `state_size`."""
        states = iter(states)
        return [
            [next(states) for _ in size] if isinstance(size, (list, tuple)) else next(states)
            for size in self.state_size
        ]

    def _check_states(self, states, batch_size):
        """Returns `states` as nested as the cell's and in its dtype, or raises an error that says what was expected."""
        states = as_list(states)
        sizes, received = tree.flatten(self.state_size), tree.flatten(states)
        shapes = [tuple(state.shape) for state in received]
        fits = len(shapes) == len(sizes) and all(
            len(shape) == 2 and shape[1] == size and (None in (shape[0], batch_size) or shape[0] == batch_size)
            for shape, size in zip(shapes, sizes, strict=False)
        )
        if not fits:
            raise ValueError(
                f"Layer '{self.name}' expected states of shapes {[(batch_size, size) for size in sizes]}. "
                f"Received: {shapes}"
            )
        return self._nest([ops.cast(state, self._cell_dtype) for state in received])

    # The pass over a sequence.

    def __call__(self, *args, **kwargs):
        return engine.outside_compilers(super().__call__, *args, **kwargs)

    def call(self, sequences, initial_state=None, mask=None, training=False):
        self._check_length(sequences.shape)
        batch_size = ops.shape(sequences)[0]
        if self.stateful and sequences.shape[0] not in (None, self._carried.batch_size):
            raise ValueError(
                f"Layer '{self.name}' is stateful and was built for batches of {self._carried.batch_size}. "
                f"Received: input shape {tuple(sequences.shape)}"
            )
        if initial_state is not None:
            states = initial_state
        elif self.stateful:
            states = self._carried.read(self, batch_size)
        else:
            states = self.get_initial_state(batch_size)
        states = self._check_states(states, sequences.shape[0])
        if mask is None:
            # Keras fills in the mask only where the sequence is the single tensor argument.
            mask = get_mask(sequences)

        last_output, outputs, states, decided = self._run(sequences, states, mask, bool(training))

        output = ops.cast(outputs if self.return_sequences else last_output, self.compute_dtype)
        states = tree.map_structure(lambda state: ops.cast(state, self.compute_dtype), states)
        if self.stateful:
            self._carried.write(states)
        result = (output, *(states if self.return_state else ()), *(decided if self.return_decisions else ()))
        return result if len(result) > 1 else output

    def compute_output_shape(self, sequences_shape, initial_state_shape=None):
        shape = super().compute_output_shape(sequences_shape, initial_state_shape)
        if not self.return_decisions:
            return shape
        of_decisions = [tuple(sequences_shape[:2])] * len(self._tree.deciding)
        return (*(shape if self.return_state else (shape,)), *of_decisions)

    def compute_mask(self, sequences, mask):
        found = super().compute_mask(sequences, mask)
        if not self.return_decisions:
            return found
        return [*(found if self.return_state else [found]), *([None] * len(self._tree.deciding))]

    def _run(self, sequences, initial_state, mask, training):
        """Returns `(last output, outputs, states, decisions)`, batch first, and adds the losses of the decisions."""
        time_first = ops.transpose(ops.cast(sequences, self._cell_dtype), (1, 0, 2))
        if mask is not None:
            mask = ops.cast(ops.reshape(mask, ops.shape(sequences)[:2]), "bool")
            mask = ops.flip(mask, axis=1) if self.go_backwards else mask
        if self.go_backwards:
            time_first = ops.flip(time_first, axis=0)
        mask_first = None if mask is None else ops.expand_dims(ops.transpose(mask), -1)
        with AutocastScope(self._cell_dtype):
            if training or not self._may_skip_unneeded():
                results = self._scan(time_first, initial_state, mask_first, training)
            else:
                results = engine.value_with_gradient_of(
                    lambda: self._short_scan(time_first, initial_state, mask_first),
                    lambda: self._scan(time_first, initial_state, mask_first, training),
                )
        last_output, outputs, states, emitted = results
        decided = []
        if emitted is not None:
            losses, decided = decisions.losses_and_decisions(self._collected_cells(), emitted, mask)
            if losses:
                self.add_loss(ops.mean(sum(losses)))
            decided = [ops.cast(each, self.compute_dtype) for each in decided]
        return last_output, None if outputs is None else ops.transpose(outputs, (1, 0, 2)), states, decided

    def _scan(self, sequences, states, mask, training, differentiable=True):
        """Returns `(last output, outputs, states, emitted)` of all steps, time first."""
        dtype, collected = self._cell_dtype, self._collected_cells()
        with _sequence.started(self._tree.parts, ops.shape(sequences)[1], training) as sequence:
            options = engine.Options(
                return_sequences=self.return_sequences,
                zero_output_for_mask=self.zero_output_for_mask,
                unroll=self.unroll,
                training=training,
                differentiable=differentiable,
                recompute=self.recompute,
                variables=getattr(self.cell, "variables", []),
                resume=lambda: _sequence.resumed(sequence, dtype),
                is_traceable=self._tree.is_traceable,
            )
            if not differentiable and scans_taken_steps(self.cell):
                return scan_taken_steps(self.cell, sequences, states, mask, options, bool(collected))
            first_output = self._first_output(states)
            order = self.running_order(sequences.shape[1]) if differentiable else "steps"
            if order != "steps":
                stack = schedules.layer_stack(self.cell, training)
                arguments = (stack, sequences, states, first_output, mask, options)
                return *schedules.scan(*arguments, order == "wavefront"), None
            hoist = (
                differentiable
                and isinstance(self.cell, Cell)
                and engine.should_hoist(self.cell.count_params(), sequences.shape[1], training)
            )
            inputs, step = self._split_cell(sequences, training, hoist)
            return decisions.scan(collected, step, inputs, states, first_output, mask, options)

    def _short_scan(self, sequences, states, mask):
        """Returns what `_scan` returns in inference, skipping unneeded computation, and without a gradient."""
        with _sequence.changed(skips_unneeded=True):
            return self._scan(sequences, states, mask, False, differentiable=False)

    def _collected_cells(self):
        """Returns the cells whose decisions are returned or add to the loss."""
        cells = self._tree.deciding
        return cells if self.return_decisions else [cell for cell in cells if cell.adds_loss]

    def _may_skip_unneeded(self):
        """Returns whether inference steps may skip computation whose result is unused."""
        if not self._tree.deciding or _sequence.current().intermediates is not None:
            return False
        # What is computed for some rows only cannot be collected.
        nested = self._tree.nested_deciding
        return not any(cell is inner for cell in self._collected_cells() for inner in nested)

    def running_order(self, batch_size: int | None) -> str:
        """Returns the order in which the layers of the cell take the steps: `"steps"`, `"layers"` or `"wavefront"`.

        Where `schedule="auto"`, what was measured to be the fastest on two cores: `"layers"` for deep cells of three
        layers and more, on TensorFlow of twelve; on PyTorch `"wavefront"` for eight layers and more that multiply
        little. With `unroll` or `recompute` it is `"steps"`.
        """
        if self.schedule != "auto":
            return self.schedule
        possible = self._possible_orders()
        if len(possible) == 1 or self.recompute:
            return "steps"
        preferred = engine.preferred_schedules(self._tree.stack_depth, self.cell.count_params(), batch_size)
        return next((order for order in preferred if order in possible), "steps")

    def _possible_orders(self):
        if self.unroll or self._collected_cells() or not self._tree.stack_depth:
            return ["steps"]
        return [
            "steps",
            *([] if self.recompute else ["layers"]),
            *(["wavefront"] if self._tree.has_own_maps_only else []),
        ]

    def _check_order(self):
        if self.schedule in ("auto", "steps"):
            return
        possible = self._possible_orders()
        if self.schedule not in possible:
            raise ValueError(
                f"Argument `schedule` must be one of {', '.join(map(repr, ['auto', *possible]))} for this cell, with "
                f"unroll={self.unroll} and recompute={self.recompute}: the other orders are for `DeepRNNCell`, and for "
                "`StackedCells` of three cells and more, of which those above the lowest are alike. "
                f"Received: schedule={self.schedule!r}, cell={self.cell!r}"
            )

    def _split_cell(self, sequences, training, hoist):
        """Returns what the loop runs over, and the step that it runs."""
        cell = self.cell
        if isinstance(cell, Cell):
            if hoist:
                return cell.project(sequences, training), lambda inputs, states: cell.step(inputs, states, training)
            return sequences, lambda inputs, states: cell.call(inputs, states, training)
        kwargs = {"training": training} if takes_training(cell) else {}

        def step(inputs, states):
            output, states = cell(inputs, states[0] if self.single_state else states, **kwargs)
            # Keras allows a cell to return its states as a tuple, a tensor, or, from a stack of one, unwrapped.
            return output, self._nest(tree.flatten(states))

        return sequences, step

    def _first_output(self, states):
        """Returns the output before the first step: the first state, if that is the output, else zeros."""
        size = output_size(self.cell)
        last_cell = states[-1] if isinstance(states[-1], (list, tuple)) else states
        state = last_cell[0]
        return state if state.shape[-1] == size else ops.zeros((ops.shape(state)[0], size), dtype=state.dtype)

    def step(self, inputs: Tensor, states: list | None = None) -> tuple[Tensor, list]:
        """Takes one step of inference, for a loop of the user's own: streaming, or text generation.

        Nothing is kept in the layer: give the returned states to the next call. The steps of a sequence give what one
        pass over it gives.

        Args:
            inputs: Tensor `[batch, features]`.
            states: List of the cell's states, each `[batch, size]`; `None` (default) for the initial ones.

        Returns:
            `output, states`: tensor `[batch, output_size]`, list.

        Raises:
            ValueError: the layer is not built, or the shape of an argument does not fit.

        Example:

        >>> layer = keras_adaptive_rnn.layers.Mogrifier(8)
        >>> layer.build((None, None, 3))
        >>> states = None
        >>> for x in np.ones((5, 1, 3), dtype="float32"):
        ...     output, states = layer.step(x, states)
        >>> tuple(output.shape)
        (1, 8)
        """
        if not self.built:
            raise ValueError(f"Layer '{self.name}' must be built before `step`: call it once, or `build(input_shape)`.")
        # A compiled function takes an array in less time than Keras converts it.
        inputs = inputs if isinstance(inputs, np.ndarray) else ops.convert_to_tensor(inputs)
        features = self.input_spec.axes[-1]
        if len(inputs.shape) != 2 or inputs.shape[-1] != features:
            raise ValueError(
                f"Layer '{self.name}' expected inputs of shape (batch, {features}) in `step`. "
                f"Received: {tuple(inputs.shape)}"
            )
        if states is None:
            states = self.get_initial_state(inputs.shape[0])
        with engine.inference():
            return self._fast_step(inputs, as_list(states))

    def _short_step(self, inputs, states):
        with _sequence.changed(skips_unneeded=self._may_skip_unneeded()):
            return self.step_uncompiled(inputs, states)

    def step_uncompiled(self, inputs, states):
        """Returns what `step` does, not compiled, and with all that the cell could leave out."""
        # The shapes of states are checked once where the step is compiled.
        states = self._check_states(states, inputs.shape[0])
        with AutocastScope(self._cell_dtype):
            inputs, step = self._split_cell(ops.cast(inputs, self._cell_dtype), False, hoist=False)
            return step(inputs, states)

    # Config.

    def get_config(self):
        config = super().get_config()
        if "cell" in config and len(_layers_of.get(self.cell, ())) > 1:
            # Keras marks a shared object in the last config that holds it, and loads the others as further objects.
            config["cell"]["shared_object_id"] = id(self.cell)
        return config
