"""`keras.layers.RNN` with a time loop of its own, and the same arguments, weights and files."""

import functools
import weakref
from typing import Any

import keras
import numpy as np
from keras import ops, tree

from keras_adaptive_rnn import _arguments, engine
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._keras import enclosing_layers, get_mask, let_masks_through, shares_objects
from keras_adaptive_rnn._precision import HALF
from keras_adaptive_rnn._types import Regularizer, Tensor
from keras_adaptive_rnn.cells.bases.any_cell import as_list, check_is_cell
from keras_adaptive_rnn.cells.bases.cell import Cell
from keras_adaptive_rnn.engine.masking import where_rows, without_masked
from keras_adaptive_rnn.loop import decisions, linear, resetting, schedules
from keras_adaptive_rnn.loop.cell_runner import CellRunner, known_rows
from keras_adaptive_rnn.loop.stateful import StatefulStates

# The layers around each cell, as two layers may share one.
_layers_of = weakref.WeakKeyDictionary()


class _OwnConfig:
    """Leaves the config of `RNN` to `DeclaredArguments`.

    `keras.layers.RNN` would serialize the cell once more, and Keras takes what is serialized twice for shared: within
    `load_model`, the two layers of a `Bidirectional` would get the same cell.
    """

    def get_config(self):
        return keras.layers.Layer.get_config(self)

    @classmethod
    def from_config(cls, config, custom_objects=None):
        cell = config["cell"]
        if isinstance(cell, dict):
            cell = keras.saving.deserialize_keras_object(cell, custom_objects=custom_objects)
        return cls(**{**config, "cell": cell})


def _padding_recipe(sequences):
    """Returns the lines that turn a list `x` of sequences of unequal lengths into a padded `x` and its `mask`."""
    is_list = isinstance(sequences, (list, tuple)) or str(getattr(sequences, "dtype", "")) == "object"
    if not is_list or len({len(each) for each in sequences if hasattr(each, "__len__")}) < 2:
        return None
    return [
        "lengths = [len(each) for each in x]",
        "x = keras.utils.pad_sequences(x, padding='post', dtype='float32')",
        "mask = keras.ops.arange(x.shape[1]) < keras.ops.reshape(lengths, (-1, 1))",
    ]


@export
class RNN(_arguments.DeclaredArguments, _OwnConfig, keras.layers.RNN):
    """Runs a cell over a sequence, like `keras.layers.RNN`, but faster and with the same results on every backend.

    It accepts any cell that `keras.layers.RNN` accepts. For cells of this package, it computes whatever does not depend
    on the state (`cell.project`) for the whole sequence at once, prepares the weights once, and runs only `cell.step`
    in the loop. (On JAX on a CPU, `project` stays in the loop unless the cell is wide, since two small products of one
    step run in parallel there.) Weights and `.keras` files are those of `keras.layers.RNN`.

    It differs from Keras 3.15 on purpose:
        - A masked step repeats the previous output on every backend, and a masked first step the first initial state
          (in Keras on JAX, any masked step repeats the first state, even where that is not the output).
        - `unroll` treats masks like the loop, on every backend.
        - Masked steps may hold anything: with NaN in them, gradients are as with zeros (in Keras, they are NaN).
        - With `stateful`, the states are kept between batches in `fit` and `predict` on JAX, and in mixed precision on
          PyTorch, too. `reset_state()` restores the cell's initial state, which remains trained if it is a weight, even
          in a stack. The states are saved in the `.keras` file.
        - Noise is drawn only in training, so inference does not advance the seed.
        - Initial states with a wrong number or shape raise an error, and so does a mask with a shape other than
          `[batch, time]`.
        - The cells of a list may compute in different dtypes: states and outputs are cast to that of the list.
        - A mask also reaches the layer if `initial_state` is passed.

    Args:
        cell: A recurrent cell, or a list of cells to stack.
        return_sequences: Whether to return the output of every step. Defaults to `False`: only the last one.
        return_state: Whether to return the last states in addition to the output. Defaults to `False`.
        go_backwards: Whether to process the sequence backwards. The outputs are in the order of processing. Defaults to
            `False`.
        stateful: Whether each sample of a batch starts from the last states of the sample at the same index in the
            previous batch. Needs a known batch size. Defaults to `False`.
        unroll: Whether to unroll the loop: faster for few steps, slow to compile for many. Needs a known number of
            steps. Defaults to `False`.
        zero_output_for_mask: Whether a masked step outputs zeros instead of the previous output. Defaults to `False`.
        recompute: Whether to store only every sixteenth state for the gradient and to recompute the steps in between.
            This saves memory for long sequences and takes about a third more arithmetic. The results are the same.
            Defaults to `False`.
        schedule: The order in which the layers of a deep cell (`DeepRNNCell`, or `StackedCells` whose cells above the
            lowest are alike) run: `"steps"` runs all layers at one step before the next step; `"layers"` runs one layer
            over all steps before the next layer; `"wavefront"` runs layer $l$ at step $s - l$ for all $l$ at once. For
            a linear cell (`MinGRUCell`, `MLSTMCell`, ...) or a stack with such a cell, `"scan"` runs each cell over all
            steps before the next cell: it computes the coefficients of all steps at once, and then one state after the
            other, or chunks of steps if the memory is a matrix. `"associative"` does the same with all states in one
            associative scan. `"auto"` (default) picks the one measured to be fastest. The results are the same.
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
        for each in cell if isinstance(cell, (list, tuple)) else [cell]:
            check_is_cell("cell", each)
        if isinstance(cell, (list, tuple)) and not (cell and len({id(each) for each in cell}) == len(cell)):
            raise ValueError(
                "Argument `cell` must be a cell or a list of cells, none of them twice, so that each has its own "
                f"weights; create a new cell for every layer of the stack. Received: cell={cell!r}"
            )
        self.recompute = flags.pop("recompute")
        super().__init__(cell, **flags, activity_regularizer=activity_regularizer, **kwargs)
        self.supports_masking = True
        self._stateful_states = StatefulStates()
        self.runner = self._make_runner()
        self._built_length = None
        self._compiled_step = self._step
        # If the cell is not a layer, its variables are unknown.
        if self.runner.parts:
            self._compiled_step = engine.compiled(self._step, self.cell, self.runner.is_traceable)
            _layers_of.setdefault(self.cell, weakref.WeakSet()).add(self)
        self.return_decisions = _arguments.boolean("return_decisions", return_decisions)
        if return_decisions and not self.runner.deciding:
            raise ValueError(
                "Argument `return_decisions` must be False unless a cell decides how much to compute, like `SkipCell`. "
                f" Received: return_decisions=True, cell={cell!r}"
            )
        self.schedule = _arguments.choice("schedule", schedule, schedules.SCHEDULES)
        self._check_schedule()

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "inner_loop" in vars(cls):
            raise TypeError(
                f"`{cls.__name__}.inner_loop` would never run, as the layer has a time loop of its own: override "
                "`call`, or derive the class from `keras.layers.RNN`."
            )

    def build(self, sequences_shape, initial_state_shape=None):
        self._check_rank(sequences_shape)
        batch_size, self._built_length, *axes = sequences_shape
        features = axes[-1]
        if features is None:
            raise ValueError(
                f"Layer '{self.name}' needs a known feature size, the last axis of its input. "
                f"Received: input shape {tuple(sequences_shape)}"
            )
        self._check_length(sequences_shape)
        if isinstance(self.cell, keras.layers.Layer) and not self.cell.built:
            self.cell.build((batch_size, *axes))
        self.runner = self._make_runner()
        self._check_schedule()
        self.input_spec = keras.layers.InputSpec(ndim=len(sequences_shape), axes={-1: features})
        if self.stateful and not self._stateful_states.states:
            if batch_size is None:
                raise ValueError(
                    f"Layer '{self.name}' is stateful and needs a known batch size: give `batch_size` or "
                    f"`batch_shape` to `keras.Input`. Received: input shape {tuple(sequences_shape)}"
                )
            self._stateful_states.create(self, batch_size)

    def _make_runner(self):
        # As in Keras, a cell that is no layer computes in the dtype of the layer.
        return CellRunner(self.cell, None if hasattr(self.cell, "compute_dtype") else self.compute_dtype)

    def _check_rank(self, shape):
        # A cell from elsewhere may read more than vectors.
        if len(shape) == 3 or (len(shape) > 3 and not isinstance(self.cell, Cell)):
            return
        around = [layer for layer in enclosing_layers() if layer is not self][-1:]
        if len(shape) == 2 and isinstance(*around or [None], (keras.layers.RNN, keras.layers.StackedRNNCells)):
            raise ValueError(
                f"`keras.layers.{type(around[0]).__name__}` takes cells, and `{type(self).__name__}` is a layer, which "
                f"runs its cell over a sequence. Use `{self!r}` itself, or `keras.layers.RNN({self.cell!r})`."
            )
        hint = ""
        if len(shape) == 2:
            hint = (
                " A recurrent layer before this one needs `return_sequences=True`, token IDs need a "
                "`keras.layers.Embedding`, and a feature of its own axis is `x[..., None]`."
            )
        raise ValueError(
            f"Layer '{self.name}' expected sequences of shape (batch, time, features). Received: shape {tuple(shape)}."
            f"{hint}"
        )

    def _check_length(self, shape):
        if self.unroll and shape[1] is None:
            raise ValueError(
                f"Layer '{self.name}' has unroll=True and needs a known number of steps. "
                f"Received: input shape {tuple(shape)}"
            )

    def _check_export(self, sequences):
        steps = engine.exported_steps(sequences)
        if steps is None:
            return
        elsewhere = "save the model as a `.keras` file, load that on TensorFlow or JAX, and export it there"
        if self.stateful:
            raise ValueError(
                f"Layer '{self.name}' is stateful, and a file that PyTorch exports keeps no states. Make the layer "
                f"with stateful=False, or {elsewhere}."
            )
        # Keras traces an unknown length as a single step.
        if not steps or (steps == 1 and self._built_length is None):
            raise ValueError(
                f"Layer '{self.name}' needs a known number of steps to be exported on PyTorch, where a file holds "
                "every step. Give `export` the shape of the input, as in "
                f"`input_signature=[keras.InputSpec(shape=(None, 20, {sequences.shape[2]}), dtype='float32')]`, export "
                f"a single step with `keras_adaptive_rnn.export_step`, or {elsewhere}."
            )

    # States.

    def get_initial_state(self, batch_size):
        """Returns the states before the first step, a list in the order of the cell."""
        return self.runner.initial_states(batch_size)

    @property
    def variables(self):
        # Stateful states are not weights, but on JAX, the trainer only keeps the variables that it knows.
        return super().variables + self._stateful_states.variables

    def reset_state(self) -> None:
        """Resets the states of a stateful layer to the cell's initial state."""
        self._stateful_states.reset(self)

    def save_own_variables(self, store):
        super().save_own_variables(store)
        self._stateful_states.save(store)

    def load_own_variables(self, store):
        names = [name for name in list(store.keys()) if not name.startswith("carried_")]
        super().load_own_variables({name: store[name] for name in names})
        self._stateful_states.load(self, store)

    # The run over a sequence.

    def __call__(self, sequences, *args, **kwargs):
        recipe = engine.padding_recipe(sequences) or _padding_recipe(sequences)
        if recipe or "lengths" in kwargs:
            recipe = recipe or ["mask = keras.ops.arange(x.shape[1]) < keras.ops.reshape(lengths, (-1, 1))"]
            raise TypeError(
                f"Layer '{self.name}' expected a tensor (batch, time, features), and a mask if lengths are unequal. "
                f"Received: {'`lengths`' if 'lengths' in kwargs else type(sequences).__name__}. To pad and mask:\n\n"
                + "".join(f"    {line}\n" for line in [*recipe, "layer(x, mask=mask)"])
            )
        if isinstance(sequences, (list, tuple)):
            raise TypeError(
                f"Layer '{self.name}' expected a tensor (batch, time, features); initial states are the argument "
                f"`initial_state`. Received: a {type(sequences).__name__} of {len(sequences)}, of which "
                "`numpy.asarray(x)` makes a tensor if all have one shape"
            )
        shape = getattr(sequences, "shape", None)
        # TensorFlow does not know every rank while it traces.
        if shape is not None and getattr(shape, "rank", len) is not None:
            self._check_rank(shape)
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
        self._check_length(sequences.shape)
        self._check_export(sequences)
        batch_size = ops.shape(sequences)[0]
        if self.stateful and sequences.shape[0] not in (None, self._stateful_states.batch_size):
            raise ValueError(
                f"Layer '{self.name}' is stateful, with a batch size of {self._stateful_states.batch_size}. "
                f"Received: input shape {tuple(sequences.shape)}"
            )
        if initial_state is not None:
            states = initial_state
        elif self.stateful:
            states = self._stateful_states.read(self, batch_size)
        else:
            states = self.get_initial_state(batch_size)
        states = self.runner.check_states(states, sequences.shape[0], f"Layer '{self.name}'")
        if mask is None:
            mask = get_mask(sequences)
        if mask is not None:
            mask = _arguments.mask(self, mask, sequences)
            sequences = without_masked(sequences, mask)
        if resets is not None:
            resets = _arguments.mask(self, resets, sequences, "resets")

        last_output, outputs, states, decided = self._run(sequences, states, mask, resets, bool(training))

        output = ops.cast(outputs if self.return_sequences else last_output, self.compute_dtype)
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
        sequences = ops.swapaxes(self.runner.cast_inputs(sequences), 0, 1)
        if self.go_backwards:
            sequences = ops.flip(sequences, axis=0)
            mask = None if mask is None else ops.flip(mask, axis=1)
        step_mask = None if mask is None else ops.expand_dims(ops.transpose(mask), -1)
        if resets is not None:
            resets = ops.expand_dims(ops.transpose(resetting.in_order(resets, self.go_backwards)), -1)
        collected, rows = self._collected_cells(), known_rows(sequences)

        def scan(sequences, initial_state, step_mask, resets, skips_unneeded=False):
            return self.runner.scan(
                self.runner.start(ops.shape(sequences)[1], training, skips_unneeded=skips_unneeded),
                sequences,
                initial_state,
                step_mask,
                resets,
                return_sequences=self.return_sequences,
                zero_output_for_mask=self.zero_output_for_mask,
                unroll=self.unroll,
                recompute=self.recompute,
                schedule=self.running_schedule(rows, training),
                collected=collected,
            )

        tensors = [sequences, initial_state, step_mask, resets]
        if not training and self.runner.may_skip(collected, resets):
            short = functools.partial(scan, skips_unneeded=True)
            results = engine.value_with_gradient_of(short, scan, tensors, self.runner.variables)
        else:
            results = scan(*tensors)
        (last_output, outputs, states, emitted), decided = results, []
        if emitted is not None:
            losses, decided, log_likelihoods = decisions.losses_and_decisions(collected, emitted, mask)
            if losses:
                self.add_loss(ops.mean(sum(losses)))
            if log_likelihoods and training:
                decisions.keep_episode(self, log_likelihoods, losses)
            decided = [ops.cast(each, self.compute_dtype) for each in decided]
        return last_output, None if outputs is None else ops.transpose(outputs, (1, 0, 2)), states, decided

    def _collected_cells(self):
        """Returns the cells whose decisions are returned, add to the loss or are drawn."""
        cells = self.runner.deciding
        return cells if self.return_decisions else [cell for cell in cells if cell.adds_loss or cell.draws_decisions]

    def running_schedule(self, batch_size: int | None, training: bool = True) -> str:
        """Returns the schedule with which the layer runs, one of those of the argument `schedule`.

        With `schedule="auto"`, this is the one measured to be fastest on two CPU cores: `"layers"` for deep cells with
        three or more layers (twelve on TensorFlow); on PyTorch `"wavefront"` for eight or more small layers, and
        `"steps"` for fewer small layers in inference. On a GPU, JAX runs deep cells as a `"wavefront"`, which launches
        the fewest kernels. For linear cells and stacks with one it is `"scan"`, but `"steps"` on JAX in inference if
        all states are vectors of linear cells, in single precision at least, and `"associative"` on accelerators, which
        was not measured. With `unroll` or `recompute`, it is `"steps"`.

        Args:
            batch_size: Integer, or `None` if it is unknown.
            training: Whether the layer runs in training. Defaults to `True`.
        """
        if self.schedule != "auto":
            return self.schedule
        possible = self._possible_schedules()
        if len(possible) == 1 or self.recompute:
            return "steps"
        if self.runner.is_linear:
            preferred = engine.preferred_linear_schedule(training)
            # From one step to the next, states in half precision are rounded.
            in_steps = linear.is_elementwise(self.cell) and self.cell.compute_dtype not in HALF
            return preferred if preferred != "steps" or in_steps else "scan"
        preferred = engine.preferred_schedules(self.runner.stack_depth, self.cell.count_params(), batch_size, training)
        return next((schedule for schedule in preferred if schedule in possible), "steps")

    def _possible_schedules(self):
        possible = ["steps"]
        if self.unroll or self._collected_cells():
            return possible
        if self.runner.stack_depth:
            possible += [] if self.recompute else ["layers"]
            possible += ["wavefront"] if self.runner.has_own_maps_only else []
        return [*possible, *(linear.SCHEDULES if self.runner.is_linear and not self.recompute else [])]

    def _check_schedule(self):
        if self.schedule in ("auto", "steps"):
            return
        possible = self._possible_schedules()
        if self.schedule not in possible:
            raise ValueError(
                f"Argument `schedule` must be one of {', '.join(map(repr, ['auto', *possible]))} for this cell with "
                f"unroll={self.unroll} and recompute={self.recompute}: the others are for `DeepRNNCell`, for "
                "`StackedCells` of at least three cells of which all but the lowest are alike, and for linear cells, "
                "such as `MinGRUCell`, and stacks with one. "
                f"Received: schedule={self.schedule!r}, cell={self.cell!r}"
            )

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
        if not self.built:
            raise ValueError(
                f"Layer '{self.name}' must be built before `step`: call it once, or call `build(input_shape)`."
            )
        # A compiled function accepts arrays, and converts them faster than Keras does.
        inputs = inputs if isinstance(inputs, np.ndarray) else ops.convert_to_tensor(inputs)
        features = self.input_spec.axes[-1]
        if len(inputs.shape) != self.input_spec.ndim - 1 or inputs.shape[-1] != features:
            raise ValueError(
                f"Layer '{self.name}' expected inputs of shape (batch, {features}) in `step`. "
                f"Received: {tuple(inputs.shape)}"
            )
        if states is None:
            states = self.get_initial_state(inputs.shape[0])
        if resets is not None:
            resets = ops.cast(ops.convert_to_tensor(resets), "bool")
            if tuple(resets.shape) != (inputs.shape[0],):
                raise ValueError(
                    f"Argument `resets` of layer '{self.name}' must have the shape (batch,) of the inputs, "
                    f"{(inputs.shape[0],)}. Received: shape {tuple(resets.shape)}"
                )
        with engine.inference():
            return self._compiled_step(inputs, as_list(states), *([] if resets is None else [resets]))

    def _step(self, inputs, states, resets=None):
        # Where the step is compiled, the shapes of states are checked once.
        states = self.runner.check_states(states, inputs.shape[0], f"Layer '{self.name}'")
        if resets is not None:
            initial = self.runner.check_states(self.get_initial_state(inputs.shape[0]), inputs.shape[0], self.name)
            states = where_rows(resets[:, None], initial, states)
        return self.runner.step(inputs, states, skips_unneeded=self.runner.may_skip(self._collected_cells()))

    # Config.

    def get_config(self):
        config = super().get_config()
        if "cell" in config and len(_layers_of.get(self.cell, ())) > 1 and shares_objects():
            # Keras only marks the last config of a shared object, and would load the others as separate objects.
            config["cell"]["shared_object_id"] = id(self.cell)
        return config
