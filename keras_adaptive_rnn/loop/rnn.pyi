"""`keras.layers.RNN` with a time loop of its own, and the same arguments, weights and files."""

from typing import Any, Self

import keras

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._types import Regularizer, Tensor

class _OwnConfig:
    """Leaves the config of `RNN` to `Declared`.

    `keras.layers.RNN` would serialize the cell once more, and Keras takes what is serialized twice for shared: within
    `load_model`, the two layers of a `Bidirectional` would get the same cell.
    """

    def get_config(self) -> dict[str, Any]: ...
    @classmethod
    def from_config(cls, config: Any, custom_objects: Any = None) -> Self: ...

class RNN(_arguments.Declared, _OwnConfig, keras.layers.RNN):
    """Runs a cell over a sequence, like `keras.layers.RNN`, but faster and with the same results on every backend.

    It accepts any cell that `keras.layers.RNN` accepts. For cells of this package, it computes whatever does not depend
    on the state (`cell.project`) for the whole sequence at once, prepares the weights once, and runs only `cell.step`
    in the loop. (On JAX on a CPU, `project` stays in the loop unless the cell is wide, since two small products of one
    step run in parallel there.) Weights and `.keras` files are those of `keras.layers.RNN`.

    It differs from Keras 3.15 on purpose:
        - A masked first step repeats the first initial state on every backend (in Keras, on JAX only).
        - `unroll` treats masks like the loop, on every backend.
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
        go_backwards: Whether to process the sequence backwards. The outputs are in the order of processing.
            Defaults to `False`.
        stateful: Whether each sample of a batch starts from the last states of the sample at the same index in the
            previous batch. Needs a known batch size. Defaults to `False`.
        unroll: Whether to unroll the loop: faster for few steps, slow to compile for many. Needs a known number of
            steps. Defaults to `False`.
        zero_output_for_mask: Whether a masked step outputs zeros instead of the previous output. Defaults to
            `False`.
        recompute: Whether to store only every sixteenth state for the gradient and to recompute the steps in
            between. This saves memory for long sequences and takes about a third more arithmetic. The results are
            the same. Defaults to `False`.
        return_decisions: Whether to also return, after the output and the states, the decisions of each cell in
            `cell` that decides how much to compute (`SkipCell`, `SkimCell`, `VariableComputationCell`), the
            outermost first: `[batch, time]`, one for a step computed in full, zero for a step that is skipped,
            skimmed or masked, in the order of processing. Inside `keras.layers.Bidirectional`, this needs
            `return_state=True`. Defaults to `False`.
        schedule: The order in which the layers of a deep cell (`DeepRNNCell`, or `StackedCells` whose cells above
            the lowest are alike) run: `"steps"` runs all layers at one step before the next step; `"layers"` runs
            one layer over all steps before the next layer; `"wavefront"` runs layer $l$ at step $s - l$ for all $l$
            at once; `"auto"` (default) picks the one measured to be fastest. The results are the same.
        activity_regularizer: Regularizer of the output. Defaults to `None`.
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
            As in Keras, it does not apply to `cell`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        sequences: Tensor `[batch, time, features]`.
        initial_state: List of the cell's states, each `[batch, size]`, or `None` (default).
        mask: Boolean tensor `[batch, time]`. `False` masks a step: it changes no state.
        training: Whether dropout is on.

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

    recompute: bool
    supports_masking: bool
    return_decisions: bool
    schedule: str
    input_spec: Any
    return_sequences: bool
    return_state: bool
    go_backwards: bool
    stateful: bool
    unroll: bool
    zero_output_for_mask: bool
    activity_regularizer: Any

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
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def __init_subclass__(cls, **kwargs: Any) -> None: ...
    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None: ...
    def get_initial_state(self, batch_size: Any) -> Any:
        """Returns the states before the first step, a list in the order of the cell."""

    @property
    def variables(self) -> Any: ...
    def reset_state(self) -> None:
        """Resets the states of a stateful layer to the cell's initial state."""

    def save_own_variables(self, store: Any) -> None: ...
    def load_own_variables(self, store: Any) -> None: ...
    def __call__(self, sequences: Any, *args: Any, **kwargs: Any) -> Any: ...
    def rematerialized_call(self, layer_call: Any, *args: Any, **kwargs: Any) -> Any: ...
    def call(
        self, sequences: Any, initial_state: Any = None, mask: Any = None, training: bool | None = False
    ) -> Any: ...
    def compute_output_shape(self, sequences_shape: Any, initial_state_shape: Any = None) -> Any: ...
    def compute_mask(self, sequences: Any, mask: Any) -> Any: ...
    def running_schedule(self, batch_size: int | None, training: bool | None = True) -> str:
        """Returns the schedule with which the layer runs: `"steps"`, `"layers"` or `"wavefront"`.

        With `schedule="auto"`, this is the one measured to be fastest on two CPU cores: `"layers"` for deep cells with
        three or more layers (twelve on TensorFlow); on PyTorch `"wavefront"` for eight or more small layers, and
        `"steps"` for fewer small layers in inference. With `unroll` or `recompute`, it is `"steps"`.

        Args:
            batch_size: Integer, or `None` if it is unknown.
            training: Whether the layer runs in training. Defaults to `True`.
        """

    def step(self, inputs: Tensor, states: list | None = None) -> tuple[Tensor, list]:
        """Runs one step of inference, for loops of your own, such as streaming or text generation.

        The layer keeps nothing: pass the returned states to the next call. Stepping through a sequence gives the same
        results as one call on the whole sequence.

        Args:
            inputs: Tensor `[batch, features]`.
            states: List of the cell's states, each `[batch, size]`; `None` (default) for the initial states.

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

    def step_uncompiled(self, inputs: Any, states: Any) -> Any:
        """Runs `step` without compiling it, and without skipping unneeded computation."""

    def get_config(self) -> dict[str, Any]: ...
