"""`keras.layers.RNN` with a time loop of its own, and the same arguments, weights and files."""

import functools
from typing import Any

import keras
from keras import ops, tree

from keras_adaptive_rnn import _arguments, engine
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._keras import get_mask, let_masks_through
from keras_adaptive_rnn._types import Regularizer, Tensor
from keras_adaptive_rnn.engine.masking import without_masked
from keras_adaptive_rnn.loop import checks, decisions, resetting, schedules
from keras_adaptive_rnn.loop.cell_config import CellConfig, note_layer, with_shared_cell
from keras_adaptive_rnn.loop.cell_runner import CellRunner, known_rows
from keras_adaptive_rnn.loop.stateful import Stateful, StatefulStates
from keras_adaptive_rnn.loop.streaming import Stepper


@export
class RNN(Stateful, _arguments.DeclaredArguments, CellConfig, keras.layers.RNN):
    """Runs a cell over a sequence, like `keras.layers.RNN`, but faster and with the same results on every backend.

    It accepts any cell that `keras.layers.RNN` accepts. For cells of this package, it prepares the weights once,
    computes whatever does not depend on the state (`cell.project`) for the whole sequence at once where that is faster,
    and runs only `cell.step` in the loop. Weights and `.keras` files are those of `keras.layers.RNN`.

    It differs from Keras 3.15 on purpose:
        - A masked step repeats the previous output on every backend, and a masked first step the first initial state
          (in Keras on JAX, any masked step repeats the first state, even where that is not the output).
        - `unroll` treats masks like the loop, on every backend.
        - Masked steps may hold anything: with NaN in them, gradients are as with zeros (in Keras, they are NaN).
        - With `stateful`, the states are kept between batches in `fit` and `predict` on JAX and in mixed precision on
          PyTorch, too, and are saved in the `.keras` file. `reset_state()` restores the cell's initial state, which
          remains trained if it is a weight, even in a stack.
        - Noise is drawn only in training, so inference does not advance the seed.
        - Initial states, or a mask, of a wrong shape raise an error.
        - The cells of a list may compute in different dtypes: states and outputs are cast to that of the list.
        - A mask also reaches the layer if `initial_state` is passed.

    Args:
        cell: A recurrent cell, or a list of cells to stack.
        return_sequences: Whether to return the output of every step. Defaults to `False`: only the last one.
        return_state: Whether to return the last states in addition to the output. Defaults to `False`.
        go_backwards: Whether to process the sequence backwards; outputs are in that order. Defaults to `False`.
        stateful: Whether each sample of a batch starts from the last states of the sample at the same index in the
            previous batch. Needs a known batch size. Defaults to `False`.
        unroll: Whether to unroll the loop: faster for few steps, slow to compile for many. Needs a known number of
            steps. Defaults to `False`.
        zero_output_for_mask: Whether a masked step outputs zeros instead of the previous output. Defaults to `False`.
        recompute: Whether to store only every sixteenth state for the gradient and to recompute the steps in between.
            This saves memory for long sequences, for about a third more arithmetic. Defaults to `False`.
        schedule: The order in which the layers of a deep cell (`DeepRNNCell`, or `StackedCells` whose cells above the
            lowest are alike) run: `"steps"` runs all layers at one step before the next step; `"layers"` runs one layer
            over all steps before the next layer; `"wavefront"` runs layer $l$ at step $s - l$ for all $l$ at once. For
            a linear cell (`MinGRUCell`, `MLSTMCell`, ...) or a stack with such a cell, `"scan"` runs each cell over all
            steps before the next cell: it computes the coefficients of all steps at once, and then one state after the
            other, or chunks of steps if the memory is a matrix. `"associative"` does the same with all states in one
            associative scan. On JAX, `"persistent"` runs all steps in one kernel of a GPU; its speed is not known yet.
            `"auto"` (default) picks the one measured to be fastest. The results are the same.
        graphs: Whether PyTorch, on a GPU, captures the pass over a sequence and its gradient as CUDA graphs, which
            launch all operations at once. `"auto"` does so from the eighth call with the same shapes on, for cells
            whose steps always apply the same operations, if half of the GPU's memory is free. `True` does so from the
            first call on, also for cells of other packages, whose Python code a graph does not run again, and warns
            where a graph is impossible, such as for a cell that waits for the GPU. Each of at most four graphs holds
            the memory of a pass. The results are the same. Defaults to `False`, as no GPU has run it yet.
        return_decisions: Whether to also return, after the output and the states, the decisions of each cell in `cell`
            that decides how much to compute (`SkipCell`, `SkimCell`, `VariableComputationCell`), the outermost first:
            `[batch, time]`, one for a step computed in full, zero for a step that is skipped, skimmed or masked, in the
            order of processing. Inside `keras.layers.Bidirectional`, this needs `return_state=True`. Defaults to
            `False`.
        name, trainable, activity_regularizer: As in `keras.layers.Layer`.
        dtype: As in `keras.layers.Layer`. As in Keras, it does not apply to `cell`.

    Call arguments:
        sequences: Tensor `[batch, time, features]`.
        initial_state: List of the cell's states, each `[batch, size]`, or `None` (default).
        mask: Boolean tensor `[batch, time]`. `False` masks a step: it changes no state.
        training: Whether dropout is on.
        resets: Boolean tensor `[batch, time]`, or `None` (default). `True` where a new episode or document begins: the
            cell's own initial state takes the place of what came before, so that the results, and the gradients, are
            those of the pieces apart. The pieces of a row share its dropout masks.

    Output shape: `[batch, output_size]`, or `[batch, time, output_size]` with `return_sequences`. With `return_state`,
        a tuple of the output and each state; with `return_decisions`, also `[batch, time]` for each cell that decides.

    Raises:
        TypeError: The sequences have unequal lengths, like a `tf.RaggedTensor`; the message says how to pad and mask.
        ValueError: `return_decisions` is set but no cell decides, the cell cannot run with the given `schedule`, the
            input does not have rank 3, its feature size has changed, `initial_state` or `mask` does not fit, or the
            batch size of a stateful layer is unknown or has changed.

    Example:

    >>> layer = keras_adaptive_rnn.layers.RNN(keras_adaptive_rnn.MogrifierCell(8), return_sequences=True)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 5, 8)
    """

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
        graphs: bool | str = False,
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
        }
        for name, value in flags.items():
            _arguments.boolean(name, value)
        self.recompute = _arguments.boolean("recompute", recompute)
        fits = isinstance(graphs, bool) or graphs == "auto"
        _arguments.check(fits, "Argument `graphs` must be 'auto', True or False", graphs=graphs)
        self.graphs = graphs
        checks.check_cells(cell)
        super().__init__(cell, **flags, activity_regularizer=activity_regularizer, **kwargs)
        self.supports_masking = True
        self._stateful_states = StatefulStates()
        self.runner = self._make_runner()
        self._built_length = None
        self._stepper = Stepper(self)
        if self.runner.parts:
            note_layer(self)
        self.return_decisions = _arguments.boolean("return_decisions", return_decisions)
        checks.check_decisions(self)
        self.schedule = _arguments.choice("schedule", schedule, schedules.SCHEDULES)
        schedules.check(self)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        checks.check_subclass(cls)

    def build(self, sequences_shape, initial_state_shape=None):
        checks.check_rank(self, sequences_shape)
        _arguments.known_features(self, sequences_shape)
        checks.check_length(self, sequences_shape)
        batch_size, self._built_length, *axes = sequences_shape
        if isinstance(self.cell, keras.layers.Layer) and not self.cell.built:
            self.cell.build((batch_size, *axes))
        self.runner = self._make_runner()
        schedules.check(self)
        self.input_spec = keras.layers.InputSpec(ndim=len(sequences_shape), axes={-1: axes[-1]})
        if self.stateful and not self._stateful_states.states:
            checks.check_batch_size(self, sequences_shape)
            self._stateful_states.create(self, batch_size)

    def _make_runner(self):
        # As in Keras, a cell that is no layer computes in the dtype of the layer.
        return CellRunner(self.cell, None if hasattr(self.cell, "compute_dtype") else self.compute_dtype, self.graphs)

    def get_initial_state(self, batch_size):
        """Returns the states before the first step, a list in the order of the cell."""
        return self.runner.initial_states(batch_size)

    def reset_state(self) -> None:
        """Resets the states of a stateful layer to the cell's initial state."""
        self._stateful_states.reset(self)

    def __call__(self, sequences, *args, **kwargs):
        checks.check_sequences(self, sequences, has_lengths="lengths" in kwargs)
        if len(args) < 2 and kwargs.get("mask") is None and not isinstance(sequences, keras.KerasTensor):
            # Keras only fills in the mask if the sequence is the single tensor argument, and what is rematerialized on
            # PyTorch gets copies of the tensors, without their masks.
            kwargs["mask"] = get_mask(sequences)
        return engine.outside_compilers(super().__call__, sequences, *args, **kwargs)

    def rematerialized_call(self, layer_call, *args, **kwargs):
        fixed = [variable for variable in self.variables if not variable.trainable]
        return super().rematerialized_call(engine.repeatable(layer_call, fixed), *args, **kwargs)

    def call(self, sequences, initial_state=None, mask=None, training=False, resets=None):
        let_masks_through(self)
        checks.check_length(self, sequences.shape)
        checks.check_export(self, sequences, self._built_length)
        if self.stateful:
            self._stateful_states.check_batch(self, sequences.shape)
        batch_size = ops.shape(sequences)[0]
        if initial_state is not None:
            states = initial_state
        elif self.stateful:
            states = self._stateful_states.read(self, batch_size)
        else:
            states = self.get_initial_state(batch_size)
        states = self.runner.check_states(states, sequences.shape[0], f"Layer '{self.name}'")
        mask = _arguments.mask(self, get_mask(sequences) if mask is None else mask, sequences)
        resets = _arguments.mask(self, resets, sequences, "resets")
        if mask is not None:
            sequences = without_masked(sequences, mask)

        last_output, outputs, states, decided = self._run(sequences, states, mask, resets, bool(training))

        output = ops.cast(outputs if self.return_sequences else last_output, self.compute_dtype)
        if self.stateful or self.return_state:
            states = tree.map_structure(lambda state: ops.cast(state, self.compute_dtype), states)
        if self.stateful:
            self._stateful_states.write(states)
        result = (output, *(states if self.return_state else ()), *(decided if self.return_decisions else ()))
        return result if len(result) > 1 else output

    def compute_output_shape(self, sequences_shape, initial_state_shape=None):
        # A symbolic call of a `Bidirectional` asks for nothing else.
        let_masks_through(self)
        shape = super().compute_output_shape(sequences_shape, initial_state_shape)
        if not self.return_decisions:
            return shape
        of_decisions = [tuple(sequences_shape[:2])] * len(self.runner.deciding)
        return (*(shape if self.return_state else (shape,)), *of_decisions)

    def compute_mask(self, sequences, mask):
        found = super().compute_mask(sequences, mask)
        if not self.return_decisions:
            return found
        return [*(found if self.return_state else [found]), *([None] * len(self.runner.deciding))]

    def _run(self, sequences, initial_state, mask, resets, training):
        """Returns `(last output, outputs, states, decisions)`, batch first, and adds the losses of the decisions."""
        any_length = checks.is_of_any_length(sequences, self._built_length)
        sequences = ops.swapaxes(self.runner.cast_inputs(sequences), 0, 1)
        if self.go_backwards:
            sequences = ops.flip(sequences, axis=0)
            mask = None if mask is None else ops.flip(mask, axis=1)
        step_mask = None if mask is None else ops.expand_dims(ops.transpose(mask), -1)
        if resets is not None:
            resets = ops.expand_dims(ops.transpose(resetting.in_order(resets, self.go_backwards)), -1)
        collected = self.collected_cells()
        scan = functools.partial(
            self.runner.scan,
            training=training,
            schedule="steps" if any_length else self.running_schedule(known_rows(sequences), training),
            collected=collected,
            return_sequences=self.return_sequences,
            zero_output_for_mask=self.zero_output_for_mask,
            unroll=self.unroll,
            recompute=self.recompute,
            any_length=any_length,
        )
        tensors = [sequences, initial_state, step_mask, resets]
        if not training and self.runner.may_skip(collected, resets):
            short = functools.partial(scan, skips_unneeded=True)
            results = engine.value_with_gradient_of(short, scan, tensors, self.runner.variables)
        else:
            results = scan(*tensors)
        last_output, outputs, states, emitted = results
        decided = decisions.add_losses(self, collected, emitted, mask, training) if collected else []
        return last_output, None if outputs is None else ops.transpose(outputs, (1, 0, 2)), states, decided

    def collected_cells(self):
        """Returns the cells whose decisions are returned, add to the loss or are drawn."""
        cells = self.runner.deciding
        return cells if self.return_decisions else [cell for cell in cells if cell.adds_loss or cell.draws_decisions]

    def running_schedule(self, batch_size: int | None, training: bool = True) -> str:
        """Returns the schedule with which the layer runs, one of those of the argument `schedule`.

        With `schedule="auto"`, that is the one measured to be fastest for the backend, the cell and the batch size.

        Args:
            batch_size: Integer, or `None` if it is unknown.
            training: Whether the layer runs in training. Defaults to `True`.
        """
        return schedules.fastest(self, batch_size, training) if self.schedule == "auto" else self.schedule

    def step(self, inputs: Tensor, states: list | None = None, resets: Tensor | None = None) -> tuple[Tensor, list]:
        """Runs one step of inference, for loops of your own, such as streaming or text generation.

        The layer keeps nothing: pass the returned states to the next call. Stepping through a sequence gives the same
        results as one call on the whole sequence.

        Args:
            inputs: Tensor `[batch, features]`.
            states: List of the cell's states, each `[batch, size]`; `None` (default) for the initial states.
            resets: Boolean tensor `[batch]`: rows where it is true start from the initial states. `None` (default) for
                none.

        Returns:
            `output, states`: a tensor `[batch, output_size]` and a list of tensors `[batch, size]`.

        Raises:
            ValueError: The layer is not built, or the shape of an argument does not fit.

        Example:

        >>> layer = keras_adaptive_rnn.layers.Mogrifier(8)
        >>> layer.build((None, None, 3))
        >>> states = None
        >>> for x in np.ones((5, 1, 3), dtype="float32"):
        ...     output, states = layer.step(x, states)
        >>> tuple(output.shape)
        (1, 8)
        """
        return self._stepper(inputs, states, resets)

    def get_config(self):
        return with_shared_cell(self, super().get_config())
