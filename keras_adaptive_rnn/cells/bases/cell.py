"""What every cell shares: the protocol, the noise of a sequence, the initial state and the config."""

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, maps
from keras_adaptive_rnn._keras import DropoutRNNCell
from keras_adaptive_rnn.cells.bases.noise import Noise, uniform


class Cell(_arguments.Declared, DropoutRNNCell, keras.layers.Layer):
    r"""A recurrent cell in two parts: what needs no state, and the rest.

    A subclass writes the equations of one time step in

    - `project(inputs, training)`: all that does not depend on the state, for any leading axes. Our
      `keras_adaptive_rnn.layers.RNN` calls it once for a whole sequence, `[time, batch, features]`, outside the loop.
      It may return any structure of tensors. Identity by default.
    - `step(projected, states, training)`: the rest, for one time step; returns `output, [output, ...]`. The first
      state is the output, every state is `[batch, size]`, and the list comes back as it went in. `self.sow(f=f)`
      names a gate for those who want to look at it.

    Both are traced: a loop may call `step` once and repeat its operations in all other steps, on every backend. So they
    compute with tensors and change nothing else.

    A cell that decides how much to compute says so in `emit_aux` (`aux_size`, `sequence_loss`).

    `call = step(project(.))` makes it a Keras cell, which `keras.layers.RNN` takes as it is. A subclass sets
    `state_size` (a list) and `output_size`, and makes its weights in `build`, which ends with `super().build(...)`.

    Noise is drawn once a sequence and named after its rate: `self.drop(x, "dropout", training)` multiplies by the mask
    of `self.dropout`. A subclass that wants another mask adds its size to `noise_sizes`. One that wants new noise in
    every step lists it in `step_noise_sizes`, keeps a count in a state of `noise.DIGITS` entries
    (`cells/bases/noise.py`), and calls `self.uniform(name, digits)`.

    Cells and maps that a cell holds as attributes, or in lists, start and end their sequences with it.

    Args:
        dropout: Float in `[0, 1)`, share of the inputs to drop; one mask a sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, share of the recurrent state to drop; one mask a sequence. Defaults to
            `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the state before the first step is trained, one vector a state, shared by the
            batch, zero at the start of training. Defaults to `False`: zeros.
        name, dtype, trainable: As in `keras.layers.Layer`.
    """

    # Whether the first state, the output, is read by the next step. Where it is not, nothing can be done to the state
    # through it, and the modulators that would refuse the cell.
    reads_output = True
    # Which state is the memory: of an LSTM c, not h.
    memory_index = 0
    # How many numbers a cell that decides how much to compute records in a step, its decision first.
    aux_size = 0
    # Whether its decisions add to the loss.
    adds_loss = False

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
        self.seed_generator = keras.random.SeedGenerator(seed)
        self.input_size = None
        self._noise = Noise()
        self._watched = Watched()
        self._recorded = Recorded()

    # The equations.

    def project(self, inputs, training=False):
        return inputs

    def step(self, projected, states, training=False):
        raise NotImplementedError

    def call(self, inputs, states, training=False):
        return self.step(self.project(inputs, training), states, training)

    def sow(self, **values):
        """Shows named values of a step, its gates, to `keras_adaptive_rnn.analysis.trace` while that looks on."""
        if self._watched.values is not None:
            self._watched.values.update(values)

    def emit_aux(self, *values):
        """Hands `aux_size` tensors `[batch, 1]` of a step to the layer, our `RNN`, where that collects them."""
        if self._recorded.values is not None:
            self._recorded.values[:] = values

    def sequence_loss(self, recorded, counted):
        """Returns what the decisions of each sequence add to the loss, `[batch]`; asked where `adds_loss`.

        Args:
            recorded: Float32 tensor `[batch, time, aux_size]`, zero at masked steps.
            counted: Float32 tensor `[batch, time]`, one where a step counts, zero where it is masked.
        """
        raise NotImplementedError

    # Weights.

    def build(self, input_shape):
        """Records the input size and makes the trained initial state; a subclass calls this last."""
        self._set_input_size(input_shape)
        if self.trainable_initial_state:
            self.initial_state = [
                self.add_weight(name=f"initial_state_{k}", shape=(size,), initializer="zeros")
                for k, size in enumerate(self.state_size)
                if self.memory_states[k]
            ]

    def _set_input_size(self, input_shape):
        if len(input_shape) != 2 or input_shape[-1] is None:
            raise ValueError(
                f"{type(self).__name__} takes inputs of shape (batch, features) with known features. "
                f"Received: input_shape={tuple(input_shape)}"
            )
        self.input_size = input_shape[-1]
        self.input_spec = keras.layers.InputSpec(ndim=2, axes={-1: self.input_size})

    # Noise, drawn once a sequence.

    @property
    def noise_sizes(self):
        """The size of each mask, an integer or a tuple of them, by the name of its rate."""
        return {"dropout": self.input_size, "recurrent_dropout": self.state_size[0]}

    @property
    def step_noise_sizes(self):
        """The size of each noise that differs from step to step, by the name of its rate."""
        return {}

    def drop(self, x, name, training):
        """Returns `x` times the sequence's mask of the rate called `name`; `x` itself in inference.

        A mask of size `(n, size)` makes `[..., n, size]` of `[..., size]`: every one of the n is dropped by itself.
        """
        if not training or not self._is_drawn(name):
            return x
        mask = self._noise.drawn.get(name)
        if mask is None:
            # Called without a sequence around it (a cell by itself): a mask for this call.
            mask = self._draw(name, ops.shape(x)[-2])
        return (ops.expand_dims(x, -2) if len(mask.shape) == 3 else x) * ops.cast(mask, x.dtype)

    def uniform(self, name, digits):
        """Returns uniform numbers in [0, 1), `[batch, step_noise_sizes[name]]`, new ones at each count."""
        keys = self._noise.drawn.get(name)
        return uniform(self._draw_keys(name, ops.shape(digits)[0]) if keys is None else keys, digits)

    def _is_drawn(self, name):
        return getattr(self, name) > 0 or name in self._noise.given

    def _draw_keys(self, name, batch_size):
        if name in self._noise.given:
            return ops.convert_to_tensor(self._noise.given[name], dtype="int32")
        shape = (batch_size, self.step_noise_sizes[name])
        return keras.random.randint(shape, 0, 2**31 - 1, dtype="int32", seed=self.seed_generator)

    def _draw(self, name, batch_size):
        if name in self._noise.given:
            return ops.convert_to_tensor(self._noise.given[name], dtype=self.compute_dtype)
        size = self.noise_sizes[name]
        ones = ops.ones((batch_size, *(size if isinstance(size, tuple) else (size,))), dtype=self.compute_dtype)
        return keras.random.dropout(ones, getattr(self, name), seed=self.seed_generator)

    def parts(self):
        """Returns the maps of the cell, and the cells in it, which draw and prepare for a sequence with it."""
        own = self._flatten_layers(include_self=False, recursive=False)
        return (
            [part for part in own if isinstance(part, (maps.LinearMap, maps.Bias))],
            [part for part in own if isinstance(part, Cell)],
        )

    def start_sequence(self, batch_size, training):
        """Draws the noise of a sequence, and prepares the weights.

        Args:
            batch_size: Integer or scalar tensor.
            training: Whether the sequence is one of training; `None` if that is not known yet (plain
                `keras.layers.RNN` does not say), which draws the noise and prepares nothing.
        """
        if training is not False:
            for name in self.noise_sizes:
                if self._is_drawn(name):
                    self._noise.drawn[name] = self._draw(name, batch_size)
            for name in self.step_noise_sizes:
                self._noise.drawn[name] = self._draw_keys(name, batch_size)
        own_maps, own_cells = self.parts()
        for part in own_maps:
            part.start_sequence(training)
        for cell in own_cells:
            cell.start_sequence(batch_size, training)

    def end_sequence(self):
        """Forgets the noise and the prepared weights."""
        self._noise.drawn = {}
        for part in [*self.parts()[0], *self.parts()[1]]:
            part.end_sequence()

    # The hooks by which `keras.layers.RNN` says that a sequence begins and ends.

    def get_dropout_mask(self, step_input):
        self.start_sequence(ops.shape(step_input)[0], training=None)

    def get_recurrent_dropout_mask(self, step_input):
        """Nothing is left to draw: `get_dropout_mask` has drawn all."""

    def reset_dropout_mask(self):
        self.end_sequence()

    def reset_recurrent_dropout_mask(self):
        """Nothing is left to forget: `reset_dropout_mask` has forgotten all."""

    # States and config.

    @property
    def memory_states(self):
        """For each state, whether it is memory; else it is book-keeping, such as a count, which nobody may change."""
        return [True] * len(self.state_size)

    def get_initial_state(self, batch_size=None):
        states = [ops.zeros((batch_size, size), dtype=self.compute_dtype) for size in self.state_size]
        if self.trainable_initial_state:
            # A product, not a broadcast: PyTorch cannot assign to a tensor whose rows share memory.
            ones = ops.ones((batch_size, 1), dtype=self.compute_dtype)
            rows = iter(self.initial_state)
            for k, is_memory in enumerate(self.memory_states):
                if is_memory:
                    states[k] = ones * ops.cast(ops.convert_to_tensor(next(rows)), self.compute_dtype)
        return states

    @property
    def has_trainable_initial_state(self):
        """Whether any part of the initial state is trained."""
        return self.trainable_initial_state


class Watched:
    """Where a cell shows the values of a step; a plain object, so that Keras does not track them."""

    def __init__(self):
        self.values = None


class Recorded:
    """What a cell records of a step, in a list while a layer collects it; a plain object, as tracers pass through."""

    def __init__(self):
        self.values = None
