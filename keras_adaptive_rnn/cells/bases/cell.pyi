"""What every cell shares: the protocol, the noise of a sequence, the initial state and the config."""

from typing import Any

import keras

from keras_adaptive_rnn._keras import DropoutRNNCell

class Cell(DropoutRNNCell, keras.layers.Layer):
    """A recurrent cell in two parts: what needs no state, and the rest.

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

    reads_output: bool
    memory_index: int
    aux_size: int
    adds_loss: bool
    dropout: float
    recurrent_dropout: float
    seed: int | None
    trainable_initial_state: bool
    seed_generator: Any
    input_size: Any
    initial_state: Any

    def __init__(
        self,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        *,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool | None = None,
    ) -> None:
        """A recurrent cell in two parts: what needs no state, and the rest.

        Args:
            dropout: Float in `[0, 1)`, share of the inputs to drop; one mask a sequence. Defaults to `0.0`.
            recurrent_dropout: Float in `[0, 1)`, share of the recurrent state to drop; one mask a sequence.
                Defaults to `0.0`.
            seed: Integer seed of the masks, or `None` (default).
            trainable_initial_state: Whether the state before the first step is trained, one vector a state,
                shared by the batch, zero at the start of training. Defaults to `False`: zeros.
            name: As in `keras.layers.Layer`.
            dtype: As in `keras.layers.Layer`.
            trainable: As in `keras.layers.Layer`.
        """

    def __init_subclass__(cls, **kwargs: Any) -> None: ...
    @classmethod
    def accepted_arguments(cls) -> Any:
        """Returns the parameters of the class by name, and of the cells that it makes."""

    def project(self, inputs: Any, training: bool | None = False) -> Any: ...
    def step(self, projected: Any, states: Any, training: bool | None = False) -> None: ...
    def call(self, inputs: Any, states: Any, training: bool | None = False) -> Any: ...
    def sow(self, **values: Any) -> None:
        """Shows named values of a step, its gates, to `keras_adaptive_rnn.analysis.trace` while that looks on."""

    def emit_aux(self, *values: Any) -> None:
        """Hands `aux_size` tensors `[batch, 1]` of a step to the layer, our `RNN`, where that collects them."""

    def sequence_loss(self, recorded: Any, counted: Any) -> None:
        """Returns what the decisions of each sequence add to the loss, `[batch]`; asked where `adds_loss`.

        Args:
            recorded: Float32 tensor `[batch, time, aux_size]`, zero at masked steps.
            counted: Float32 tensor `[batch, time]`, one where a step counts, zero where it is masked.
        """

    def build(self, input_shape: Any) -> None:
        """Records the input size and makes the trained initial state; a subclass calls this last."""

    @property
    def noise_sizes(self) -> Any:
        """The size of each mask, an integer or a tuple of them, by the name of its rate."""

    @property
    def step_noise_sizes(self) -> Any:
        """The size of each noise that differs from step to step, by the name of its rate."""

    def drop(self, x: Any, name: Any, training: bool | None) -> Any:
        """Returns `x` times the sequence's mask of the rate called `name`; `x` itself in inference.

        A mask of size `(n, size)` makes `[..., n, size]` of `[..., size]`: every one of the n is dropped by itself.
        """

    def uniform(self, name: Any, digits: Any) -> Any:
        """Returns uniform numbers in [0, 1), `[batch, step_noise_sizes[name]]`, new ones at each count."""

    def parts(self) -> Any:
        """Returns the maps of the cell, and the cells in it, which draw and prepare for a sequence with it."""

    def start_sequence(self, batch_size: Any, training: bool | None) -> None:
        """Draws the noise of a sequence, and prepares the weights.

        Args:
            batch_size: Integer or scalar tensor.
            training: Whether the sequence is one of training; `None` if that is not known yet (plain
                `keras.layers.RNN` does not say), which draws the noise and prepares nothing.
        """

    def end_sequence(self) -> None:
        """Forgets the noise and the prepared weights."""

    def get_dropout_mask(self, step_input: Any) -> None: ...
    def get_recurrent_dropout_mask(self, step_input: Any) -> None:
        """Nothing is left to draw: `get_dropout_mask` has drawn all."""

    def reset_dropout_mask(self) -> None: ...
    def reset_recurrent_dropout_mask(self) -> None:
        """Nothing is left to forget: `reset_dropout_mask` has forgotten all."""

    @property
    def memory_states(self) -> Any:
        """For each state, whether it is memory; else it is book-keeping, such as a count, which nobody may change."""

    def get_initial_state(self, batch_size: Any = None) -> Any: ...
    @property
    def has_trainable_initial_state(self) -> Any:
        """Whether any part of the initial state is trained."""

    def get_config(self) -> dict[str, Any]: ...

class Watched:
    """Where a cell shows the values of a step; a plain object, so that Keras does not track them."""

    values: Any

    def __init__(self) -> None: ...

class Recorded:
    """What a cell records of a step, in a list while a layer collects it; a plain object, as tracers pass through."""

    values: Any

    def __init__(self) -> None: ...
