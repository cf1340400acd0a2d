"""The protocol of a cell, and what every cell shares: noise, the initial state and the config."""

from typing import Any

import keras

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._keras import DropoutRNNCell

class Cell(_arguments.Declared, DropoutRNNCell, keras.layers.Layer):
    """A recurrent cell whose step is split into a part that does not need the state and the rest.

    A subclass writes the equations of one time step in two methods:

    - `project(inputs, training)` computes everything that does not depend on the state, for any leading axes. Our
      `keras_adaptive_rnn.layers.RNN` calls it once for the whole sequence, `[time, batch, features]`, outside the loop.
      It may return any structure of tensors. The default is the identity.
    - `step(projected, states, training)` computes the rest and returns `output, [output, ...]`. The first state is the
      output, every state is `[batch, size]`, and the states come back in the order in which they went in.
      `self.sow(f=f)` makes a gate visible to `keras_adaptive_rnn.analysis.trace`.

    Both are traced: on every backend, a loop may call `step` once and replay its operations for all other steps. They
    must therefore be pure functions of tensors.

    `call` is `step(project(...))`, so that `keras.layers.RNN` takes the cell as it is. A subclass sets `state_size` (a
    list) and `output_size`, and creates its weights in `build`, which ends with `super().build(...)`. A subclass that
    overrides `call` runs like a cell of another package: by `call`, step by step, and without being traced on PyTorch.

    Dropout masks are drawn once per sequence and named after their rate: `self.drop(x, "dropout", training)` applies
    the mask of `self.dropout`. A subclass with a mask of its own adds the size to `noise_sizes`. A subclass that needs
    new noise in every step lists it in `step_noise_sizes`, keeps a step count in a state of `noise.DIGITS` entries
    (`cells/bases/noise.py`), and calls `self.uniform(name, digits)`. So all noise of a cell
    is known to `keras_adaptive_rnn.evaluation`, which scales its rates, except for `fixed_noise_rates`.

    A cell that decides how much to compute emits its decision with `emit_aux` (see `aux_size`, `sequence_loss`).

    Args:
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.
    """

    reads_output: bool
    memory_index: int
    fixed_noise_rates: tuple[str, ...]
    shares_noise: bool
    divided_weights: dict[str, int | None]
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
        *,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def project(self, inputs: Any, training: bool | None = False) -> Any: ...
    def step(self, projected: Any, states: Any, training: bool | None = False) -> None: ...
    def call(self, inputs: Any, states: Any, training: bool | None = False) -> Any: ...
    def sow(self, **values: Any) -> None:
        """Makes values of a step visible, by name, to `keras_adaptive_rnn.analysis.trace`."""

    def emit_aux(self, *values: Any) -> None:
        """Passes `aux_size` tensors `[batch, 1]` of a step to the layer, our `RNN`, if it collects them."""

    def sequence_loss(self, emitted: Any, counted: Any) -> None:
        """Returns what the decisions of each sequence add to the loss, `[batch]`. Called if `adds_loss`.

        Args:
            emitted: Float32 tensor `[batch, time, aux_size]`, zero at masked steps.
            counted: Float32 tensor `[batch, time]`, one if a step counts, zero if it is masked.
        """

    def build(self, input_shape: Any) -> None:
        """Records the input size and creates the trained initial state. A subclass calls this last."""

    @property
    def noise_sizes(self) -> Any:
        """The size of each mask, an integer or a tuple of integers, by the name of its rate."""

    @property
    def step_noise_sizes(self) -> Any:
        """The size of each noise that changes from step to step, by the name of its rate."""

    @property
    def noise_rates(self) -> Any:
        """The attributes that hold the rates of its noise. A layer that is no cell has a tuple of them."""

    def drop(self, x: Any, name: Any, training: bool | None) -> Any:
        """Applies the sequence's mask of the rate called `name` to `x`; returns `x` itself in inference.

        A mask of size `(n, size)` maps `[..., size]` to `[..., n, size]`: each of the n copies has a mask of its own.
        """

    def uniform(self, name: Any, digits: Any) -> Any:
        """Returns uniform numbers in [0, 1), `[batch, step_noise_sizes[name]]`, new ones at each count."""

    def prepare_sequence(self, kept: Any, batch_size: Any, training: bool | None) -> None:
        """Draws the noise of a sequence. The cells and maps inside the cell prepare themselves.

        Args:
            kept: Dict to fill, which `_sequence.kept_by(self)` returns for as long as the sequence lasts.
            batch_size: Integer or scalar tensor.
            training: Whether the sequence is a training sequence; `None` if it is not known, in plain
                `keras.layers.RNN`.
        """

    def get_dropout_mask(self, step_input: Any) -> None: ...
    def get_recurrent_dropout_mask(self, step_input: Any) -> None:
        """Does nothing: `get_dropout_mask` has drawn all noise."""

    def reset_dropout_mask(self) -> None: ...
    def reset_recurrent_dropout_mask(self) -> None:
        """Does nothing: `reset_dropout_mask` has dropped all noise."""

    @property
    def memory_states(self) -> Any:
        """For each state, whether it is memory. The others are bookkeeping, such as a step count."""

    def get_initial_state(self, batch_size: Any = None) -> Any: ...
    @property
    def has_trainable_initial_state(self) -> Any:
        """Whether any part of the initial state is trained, here or in a cell inside this one."""
