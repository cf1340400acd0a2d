"""`keras.layers.RNN` with the same arguments, weights and file, and a time loop of our own."""

from typing import Any

import keras

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._types import Regularizer, Tensor

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

    renamed_arguments: Any
    recompute: bool
    supports_masking: bool
    input_spec: Any
    return_decisions: bool
    schedule: str
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
        trainable: bool | None = None,
    ) -> None:
        """Runs a cell over a sequence: `keras.layers.RNN`, faster and the same on every backend.

        Args:
            cell: A recurrent cell, or a list of cells, which is stacked.
            return_sequences: Whether to return the output of every step. Defaults to `False`: the last one.
            return_state: Whether to return the last states as well. Defaults to `False`.
            go_backwards: Whether to read the sequence from its end; the outputs come in the order of reading.
                Defaults to `False`.
            stateful: Whether a batch starts from the states in which the last one ended, sample by sample. Needs
                a known batch size. Defaults to `False`.
            unroll: Whether to lay the loop out in the graph: faster for few steps, slow to compile for many.
                Needs a known number of steps. Defaults to `False`.
            zero_output_for_mask: Whether a masked step puts out zeros; else it repeats the output before it.
                Defaults to `False`.
            recompute: Whether the gradient keeps the states before every sixteenth step alone and computes the
                steps again: a fraction of the memory, for long sequences, and about a third more arithmetic. The
                numbers are the same. Defaults to `False`.
            return_decisions: Whether to return, after the output and the states, what each deciding cell
                (`SkipCell`, `SkimCell`, `VariableComputationCell`) in `cell` has decided, `[batch, time]` for
                each, the outermost first: one for a step computed in full, zero for one that is skipped, skimmed
                or masked; with `go_backwards` in the order of reading. Inside `keras.layers.Bidirectional` it
                needs `return_state=True`. Defaults to `False`.
            schedule: The order in which the layers of a deep cell (`DeepRNNCell`, or `StackedCells` whose cells
                above the lowest are alike) take the steps: `"steps"` runs all layers at one step before the next
                step; `"layers"` runs one layer over all steps before the next layer; `"wavefront"` runs layer $l$
                at step $s - l$ for all $l$ at once; `"auto"` (default) picks the fastest measured. The numbers
                are the same.
            activity_regularizer: Regularizer of the output. Defaults to `None`.
            name: As in `keras.layers.Layer`.
            dtype: As in `keras.layers.Layer`.
            trainable: As in `keras.layers.Layer`.
        """

    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None: ...
    def get_initial_state(self, batch_size: Any) -> Any:
        """Returns the states before the first step, a list as the cell orders them."""

    @property
    def variables(self) -> Any: ...
    def reset_state(self) -> None:
        """Sets the states of a stateful layer back to the cell's initial state."""

    def save_own_variables(self, store: Any) -> None: ...
    def load_own_variables(self, store: Any) -> None: ...
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    def call(
        self, sequences: Any, initial_state: Any = None, mask: Any = None, training: bool | None = False
    ) -> Any: ...
    def compute_output_shape(self, sequences_shape: Any, initial_state_shape: Any = None) -> Any: ...
    def compute_mask(self, sequences: Any, mask: Any) -> Any: ...
    def running_order(self, batch_size: int | None) -> str:
        """Returns the order in which the layers of the cell take the steps: `"steps"`, `"layers"` or `"wavefront"`.

        Where `schedule="auto"`, what was measured to be the fastest on two cores: `"layers"` for deep cells of three
        layers and more, on TensorFlow of twelve; on PyTorch `"wavefront"` for eight layers and more that multiply
        little. With `unroll` or `recompute` it is `"steps"`.
        """

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

    def step_uncompiled(self, inputs: Any, states: Any) -> Any:
        """Returns what `step` does, not compiled, and with all that the cell could leave out."""

    def get_config(self) -> dict[str, Any]: ...
