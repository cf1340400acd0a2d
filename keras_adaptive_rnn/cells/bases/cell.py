"""The protocol of a cell, and what every cell shares: noise, the initial state and the config."""

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, _run, engine
from keras_adaptive_rnn._export import PUBLIC
from keras_adaptive_rnn._keras import DropoutRNNCell, flatten_layers, is_bare
from keras_adaptive_rnn._types import Initializer
from keras_adaptive_rnn.cells.bases.noise import uniform


class Cell(_arguments.DeclaredArguments, DropoutRNNCell, keras.layers.Layer):
    r"""A recurrent cell whose step is split into a part that does not need the state and the rest.

    A subclass writes the equations of one time step in two methods:

    - `project(inputs, run)` computes everything that does not depend on the state, for any leading axes. Our
      `keras_adaptive_rnn.layers.RNN` calls it once for the whole sequence, `[time, batch, features]`, outside the loop.
      It may return any structure of tensors. The default is the identity.
    - `step(projected, states, run)` computes the rest and returns `output, [output, ...]`. The first state is the
      output, every state is `[batch, size]`, and the states come back in the order in which they went in.

    `run` is a `keras_adaptive_rnn.cells.Run`: `run.training` tells whether dropout is on, and `run.sow(self, f=f)`
    makes a gate visible to `keras_adaptive_rnn.analysis.trace`. The cells and maps inside the cell need it, too.

    The two methods are traced: on every backend, a loop may call `step` once and replay its operations for all other
    steps. They must therefore be pure functions of tensors.

    `call(inputs, states, training)` is `step(project(...))`, so that `keras.layers.RNN` takes the cell as it is. A
    subclass sets `state_size` (a list) and `output_size`, and creates its weights in `build`, which ends with
    `super().build(...)`. A subclass that overrides `call` runs like a cell of another package: by `call`, step by step,
    and without being traced on PyTorch.

    Dropout masks are drawn once per sequence and named after their rate: `self.drop(x, "dropout", run)` applies
    the mask of `self.dropout`. A subclass with a mask of its own adds the size to `noise_sizes`. A subclass that needs
    new noise in every step lists it in `step_noise_sizes`, keeps a step count in a state of `noise.DIGITS` entries
    (`cells/bases/noise.py`), and calls `self.uniform(name, digits, run)`. `keras_adaptive_rnn.evaluation` scales all
    of these rates, except for `fixed_noise_rates`.

    A cell that decides how much to compute emits its decision with `run.emit` (see `aux_size`, `sequence_loss`).

    Args:
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        **kwargs: As in `keras.layers.Layer`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of tensors `[batch, size]`, the states of the cell, in order.
        training: Whether dropout is on, and other noise of the cell.

    Returns: `output, states`; the output is the first state, too.

    Raises:
        ValueError: An argument is out of range, or arguments exclude each other.
        TypeError: An argument is unknown or of the wrong type.
    """

    # Whether the next step reads the first state, the output. If not, wrappers that modify the output cannot affect the
    # recurrence, so they refuse this cell.
    reads_output = True
    # The index of the state that holds the memory: c for an LSTM, not h.
    memory_index = 0
    # That of a trained initial state.
    initial_state_initializer: Initializer = "zeros"
    # The rates that are none of dropout: at another rate, the cell would be another one.
    fixed_noise_rates: tuple[str, ...] = ()
    # Whether the rows of a batch share the noise.
    shares_noise = False
    # Which weights `distribution.layout_map` divides among devices: the axis that has the units, by a regular
    # expression of the path inside the cell, or `None` for what stays whole. Each class lists its own.
    divided_weights: dict[str, int | None] = {}
    # How many numbers per sample `run.emit` takes in each step, the decision first.
    aux_size = 0
    # Whether the decisions add to the loss.
    adds_loss = False
    # Whether training draws the decisions, and only the model around the layer can train them.
    draws_decisions = False

    def __init__(
        self,
        *,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.dropout = _arguments.rate("dropout", dropout)
        self.recurrent_dropout = _arguments.rate("recurrent_dropout", recurrent_dropout)
        self.seed = _arguments.integer("seed", seed, minimum=0, optional=True)
        self.trainable_initial_state = _arguments.boolean("trainable_initial_state", trainable_initial_state)
        self.seed_generator = engine.SeedGenerator(seed)
        self.input_size = None

    # The equations.

    def project(self, inputs, run):
        return inputs

    def step(self, projected, states, run):
        raise NotImplementedError

    def __call__(self, inputs, states=None, *args, **kwargs):
        self._check_step(inputs, states)
        # Keras's bookkeeping takes longer than a small step.
        call = self.call if self in _run.current().bare else super().__call__
        return call(inputs, states, *args, **kwargs)

    def call(self, inputs, states=None, training=False):
        if states is None:  # `keras.layers.TimeDistributed` calls `call`.
            self._check_step(inputs, states)
        run = _run.current(bool(training))
        return self.step(self.project(inputs, run), states, run)

    def _check_step(self, inputs, states):
        """Raises an error unless `inputs` and `states` are those of a single step."""
        shape, sizes = known_shape(inputs), list(self.state_size)
        if shape is not None and len(shape) != 2:
            needed, received = "from inputs (batch, features)", f"inputs of shape {shape}"
        else:
            listed = states if isinstance(states, (list, tuple)) else [states]
            shapes = [known_shape(state) for state in listed]
            fits = len(shapes) == len(sizes) and all(
                hasattr(state, "shape") and (shape is None or shape[-1:] in ((size,), (None,)))
                for state, shape, size in zip(listed, shapes, sizes, strict=True)
            )
            if fits and listed is states:
                return
            needed = f"and needs `states`, a list of tensors (batch, size), here of sizes {sizes}"
            received = f"states={None if states is None else f'{type(states).__name__} of shapes {shapes}'}"
        raise ValueError(
            f"`{type(self).__name__}` makes a single step, {needed}. {self._for_sequences()} Received: {received}"
        )

    def _for_sequences(self):
        """Returns a sentence about what runs the cell over a sequence."""
        name, own = type(self).__name__, repr(self)
        layer = name.removesuffix("Cell")
        has_layer = type(self) in PUBLIC and layer != name and layer in [cls.__name__ for cls in PUBLIC]
        named = f"`{layer}{own.removeprefix(name)}` or " if has_layer else ""
        return f"For sequences, use {named}`keras_adaptive_rnn.RNN({own})`."

    def sequence_loss(self, emitted, counted):
        """Returns the loss of the decisions of each sequence, `[batch]`. Called if `adds_loss`.

        Args:
            emitted: Float32 tensor `[batch, time, aux_size]`, zero at masked steps.
            counted: Float32 tensor `[batch, time]`, one if a step counts, zero if it is masked.
        """
        raise NotImplementedError

    def log_likelihood(self, emitted):
        """Returns the log-probability of the decisions of each sequence, `[batch]`. Called if `draws_decisions`.

        Args:
            emitted: As in `sequence_loss`.
        """
        raise NotImplementedError

    # Weights.

    def build(self, input_shape):
        """Records the input size and creates the trained initial state. A subclass calls this last."""
        self._set_input_size(input_shape)
        if self.trainable_initial_state:
            self.initial_state = [
                self.add_weight(name=f"initial_state_{k}", shape=(size,), initializer=self.initial_state_initializer)
                for k, size in enumerate(self.state_size)
                if self.memory_states[k]
            ]

    def check_input_shape(self, input_shape):
        """Raises an error unless the inputs of a step have this shape."""
        fits = len(input_shape) == 2 and input_shape[-1] is not None
        rule = f"{type(self).__name__} takes inputs of shape (batch, features) with known features"
        _arguments.check(fits, rule, input_shape=tuple(input_shape))

    def _set_input_size(self, input_shape):
        self.check_input_shape(input_shape)
        self.input_size = input_shape[-1]
        self.input_spec = keras.layers.InputSpec(ndim=2, axes={-1: self.input_size})

    # Noise, drawn once per sequence.

    @property
    def noise_sizes(self):
        """The size of each mask, an integer or a tuple of integers, by the name of its rate."""
        return {"dropout": self.input_size, "recurrent_dropout": self.state_size[0]}

    @property
    def step_noise_sizes(self):
        """The size of each noise that changes from step to step, by the name of its rate."""
        return {}

    @property
    def noise_rates(self):
        """The attributes that hold the rates of its noise. A layer that is no cell has a tuple of them."""
        return (*self.noise_sizes, *self.step_noise_sizes)

    def drop(self, x, name, run):
        """Applies the sequence's mask of the rate called `name` to `x`; returns `x` itself in inference.

        A mask of size `(n, size)` maps `[..., size]` to `[..., n, size]`: each of the n copies has a mask of its own.
        """
        if not run.training or not self._is_drawn(name, run):
            return x
        mask = run.prepared_by(self).get(name)
        if mask is None:
            # The cell is called by itself, outside any sequence: the mask is for this call.
            mask = self._draw(name, ops.shape(x)[-2], run)
        return (ops.expand_dims(x, -2) if len(mask.shape) == 3 else x) * ops.cast(mask, x.dtype)

    def uniform(self, name, digits, run):
        """Returns uniform numbers in [0, 1), `[batch, step_noise_sizes[name]]`, new ones at each count."""
        keys = run.prepared_by(self).get(name)
        return uniform(self._draw_keys(name, ops.shape(digits)[0], run) if keys is None else keys, digits)

    def _is_drawn(self, name, run):
        return getattr(self, name) > 0 or name in run.given_noise.get(self, {})

    def _draw_keys(self, name, batch_size, run):
        given = run.given_noise.get(self, {})
        if name in given:
            return ops.convert_to_tensor(given[name], dtype="int32")
        shape = (batch_size, self.step_noise_sizes[name])
        return keras.random.randint(shape, 0, 2**31 - 1, dtype="int32", seed=self.seed_generator)

    def _draw(self, name, batch_size, run):
        given = run.given_noise.get(self, {})
        if name in given:
            return ops.convert_to_tensor(given[name], dtype=self.compute_dtype)
        size = self.noise_sizes[name]
        ones = ops.ones((batch_size, *(size if isinstance(size, tuple) else (size,))), dtype=self.compute_dtype)
        return keras.random.dropout(ones, getattr(self, name), seed=self.seed_generator)

    def prepare_sequence(self, batch_size, run):
        """Returns what `run.prepared_by(self)` will return: the noise of a sequence, a dict.

        The cells and maps inside the cell prepare themselves, and have done so already.

        Args:
            batch_size: Integer or scalar tensor.
            run: The run that begins. Its `training` is `None` in plain `keras.layers.RNN`, which does not say.
        """
        if run.training is False:
            return {}
        masks = {name: self._draw(name, batch_size, run) for name in self.noise_sizes if self._is_drawn(name, run)}
        return masks | {name: self._draw_keys(name, batch_size, run) for name in self.step_noise_sizes}

    # The hooks of `keras.layers.RNN` at the start and the end of a sequence.

    def get_dropout_mask(self, step_input):
        is_cast = keras.backend.standardize_dtype(step_input.dtype) == self.compute_dtype
        bare = is_cast and runs_in_parts(self) and is_bare(self)
        _run.begin(flatten_layers(self), ops.shape(step_input)[0], bare)

    def get_recurrent_dropout_mask(self, step_input):
        """Does nothing: `get_dropout_mask` has drawn all noise."""

    def reset_dropout_mask(self):
        _run.end(flatten_layers(self))

    def reset_recurrent_dropout_mask(self):
        """Does nothing: `reset_dropout_mask` has dropped all noise."""

    # States and config.

    @classmethod
    def from_config(cls, config, *args, **kwargs):
        if isinstance(config, dict) and "go_backwards" in config:
            # What `keras.layers.Bidirectional` adds to the config of its layer.
            cell = super().from_config({name: value for name, value in config.items() if name != "go_backwards"})
            raise ValueError(
                f"`keras.layers.Bidirectional` takes a layer, and `{cls.__name__}` is a cell, which makes a single "
                f"step. {cell._for_sequences()}"
            )
        return super().from_config(config, *args, **kwargs)

    @property
    def memory_states(self):
        """For each state, whether it is memory. The others are bookkeeping, such as a step count."""
        return [True] * len(self.state_size)

    def get_initial_state(self, batch_size=None):
        states = [ops.zeros((batch_size, size), dtype=self.compute_dtype) for size in self.state_size]
        if self.trainable_initial_state:
            # Not broadcast, as PyTorch cannot assign to a tensor whose rows share memory.
            ones = ops.ones((batch_size, 1), dtype=self.compute_dtype)
            rows = iter(self.initial_state)
            for k, is_memory in enumerate(self.memory_states):
                if is_memory:
                    states[k] = ones * ops.cast(ops.convert_to_tensor(next(rows)), self.compute_dtype)
        return states

    @property
    def has_trainable_initial_state(self):
        """Whether any part of the initial state is trained, here or in a cell inside this one."""
        return self.trainable_initial_state


def runs_in_parts(cell):
    """Returns whether a cell computes `step(project(...))`, as those of this package do unless `call` is overridden."""
    return (
        isinstance(cell, Cell)
        and getattr(cell.call, "__func__", None) is Cell.call
        and type(cell).__call__ is Cell.__call__
    )


def known_shape(tensor):
    """Returns the shape of a tensor as a tuple, or `None` if there is none; TensorFlow may not know it in a graph."""
    shape = getattr(tensor, "shape", None)
    return None if shape is None or getattr(shape, "rank", len) is None else tuple(shape)
