"""Layers that create their own cell and take the arguments of both the cell and `RNN`."""

from typing import Any, Self

from keras_adaptive_rnn import cells
from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.loop.rnn import RNN
from keras_adaptive_rnn.maps.base import LinearMap

class CellLayer(RNN):
    """An `RNN` that creates its own cell or stack of cells. A subclass names the class: `cell_class=MogrifierCell`.

    Every argument of the cell is also an attribute of the layer, except `cell`: `layer.cell` is the layer's own cell.
    For a stack, `units` is a list, and the other attributes are the arguments of the lowest cell.

    Args:
        connection: Connection of a stack: `None` (default), `"skip"` or `"residual"`, as in
            `keras_adaptive_rnn.StackedCells`.
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
    """

    cell_class: Any
    fixed_arguments: Any
    connection: str | None
    return_sequences: bool
    return_state: bool
    go_backwards: bool
    stateful: bool
    unroll: bool
    zero_output_for_mask: bool
    recompute: bool
    return_decisions: bool
    schedule: str
    activity_regularizer: Any

    def __init__(
        self,
        *args: Any,
        connection: str | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
        **kwargs: Any,
    ) -> None: ...
    def __init_subclass__(cls, cell_class: type | None = None, **kwargs: Any) -> None: ...
    @classmethod
    def accepted_arguments(cls) -> Any: ...
    def make_cell(self, units: Any = None, **kwargs: Any) -> Any:
        """Creates the cell, or the stack of cells, from the arguments."""

    def first_part(self) -> Any: ...
    def get_config(self) -> dict[str, Any]: ...
    @classmethod
    def from_config(cls, config: Any, custom_objects: Any = None) -> Self: ...

class CuDNNArgument(CellLayer):
    """A layer that accepts `use_cudnn` and `implementation`, like the Keras layer of the same name.

    Args:
        use_cudnn: `"auto"` (default) or `False`, for compatibility with Keras. It has no effect, since this package
            never calls cuDNN. With `True`, the layer raises a `ValueError` when it is built, as in Keras where
            cuDNN is not available.
        connection: Connection of a stack: `None` (default), `"skip"` or `"residual"`, as in
            `keras_adaptive_rnn.StackedCells`.
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
    """

    ignored_arguments: Any
    use_cudnn: bool | str
    connection: str | None
    return_sequences: bool
    return_state: bool
    go_backwards: bool
    stateful: bool
    unroll: bool
    zero_output_for_mask: bool
    recompute: bool
    return_decisions: bool
    schedule: str
    activity_regularizer: Any

    def __init__(
        self,
        *args: Any,
        use_cudnn: bool | str = "auto",
        connection: str | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
        **kwargs: Any,
    ) -> None: ...
    def build(self, sequences_shape: Any, initial_state_shape: Any = None) -> None: ...

class Elman(CellLayer, cell_class=cells.ElmanCell):
    """The Elman network as a layer: `RNN(ElmanCell(...))`, a drop-in replacement for `keras.layers.SimpleRNN`.

    `keras_adaptive_rnn.ElmanCell` has the equations.

    Args:
        units: Positive integer, units of the cell; or a list of them, which stacks cells of these sizes, the lowest
            first, in a `keras_adaptive_rnn.StackedCells`. They differ only in size and random numbers.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of $W$. Defaults to `"glorot_uniform"`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        activity_regularizer: Regularizer of the output. Defaults to `None`.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        return_sequences: Whether to return the output of every step. Defaults to `False`: only the last one.
        return_state: Whether to return the last states in addition to the output. Defaults to `False`.
        go_backwards: Whether to process the sequence backwards. The outputs are in the order of processing.
            Defaults to `False`.
        stateful: Whether each sample of a batch starts from the last states of the sample at the same index in the
            previous batch. Needs a known batch size. Defaults to `False`.
        unroll: Whether to unroll the loop: faster for few steps, slow to compile for many. Needs a known number of
            steps. Defaults to `False`.
        seed: Integer seed of the masks, or `None` (default).
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask.
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        connection: Connection of a stack: `None` (default), `"skip"` or `"residual"`, as in
            `keras_adaptive_rnn.StackedCells`.
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

    Example:

    >>> layer = keras_adaptive_rnn.layers.Elman(8, activation="relu", recurrent_initializer="identity")  # an IRNN
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    positional_arguments_of: Any

    @property
    def units(self) -> int | list[int]: ...
    @property
    def activation(self) -> Any: ...
    @property
    def use_bias(self) -> bool: ...
    @property
    def kernel_initializer(self) -> Any: ...
    @property
    def recurrent_initializer(self) -> Any: ...
    @property
    def bias_initializer(self) -> Any: ...
    @property
    def kernel_regularizer(self) -> Any: ...
    @property
    def recurrent_regularizer(self) -> Any: ...
    @property
    def bias_regularizer(self) -> Any: ...
    @property
    def kernel_constraint(self) -> Any: ...
    @property
    def recurrent_constraint(self) -> Any: ...
    @property
    def bias_constraint(self) -> Any: ...
    @property
    def dropout(self) -> float: ...
    @property
    def recurrent_dropout(self) -> float: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def kernel_map(self) -> Any: ...
    @property
    def recurrent_map(self) -> Any: ...
    @property
    def layer_normalization(self) -> bool: ...
    @property
    def per_gate_dropout(self) -> bool: ...
    @property
    def trainable_initial_state(self) -> bool: ...
    def __init__(
        self,
        units: int | list[int],
        activation: Activation = "tanh",
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        activity_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        seed: int | None = None,
        *,
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        trainable_initial_state: bool = False,
        connection: str | None = None,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...

class GRU(CuDNNArgument, cell_class=cells.GRUCell):
    """The gated recurrent unit as a layer: `RNN(GRUCell(...))`, a drop-in replacement for `keras.layers.GRU`.

    `keras_adaptive_rnn.GRUCell` has the equations.

    Args:
        units: Positive integer, units of the cell; or a list of them, which stacks cells of these sizes, the lowest
            first, in a `keras_adaptive_rnn.StackedCells`. They differ only in size and random numbers.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of $W$. Defaults to `"glorot_uniform"`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        activity_regularizer: Regularizer of the output. Defaults to `None`.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        return_sequences: Whether to return the output of every step. Defaults to `False`: only the last one.
        return_state: Whether to return the last states in addition to the output. Defaults to `False`.
        go_backwards: Whether to process the sequence backwards. The outputs are in the order of processing.
            Defaults to `False`.
        stateful: Whether each sample of a batch starts from the last states of the sample at the same index in the
            previous batch. Needs a known batch size. Defaults to `False`.
        unroll: Whether to unroll the loop: faster for few steps, slow to compile for many. Needs a known number of
            steps. Defaults to `False`.
        reset_after: Whether to apply the reset gate after the recurrent product (as in Keras and cuDNN) or before
            it. Defaults to `True`.
        use_cudnn: `"auto"` (default) or `False`, for compatibility with Keras. It has no effect, since this package
            never calls cuDNN. With `True`, the layer raises a `ValueError` when it is built, as in Keras where
            cuDNN is not available.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask.
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        connection: Connection of a stack: `None` (default), `"skip"` or `"residual"`, as in
            `keras_adaptive_rnn.StackedCells`.
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

    Example:

    >>> layer = keras_adaptive_rnn.layers.GRU(8, layer_normalization=True)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    compared: Any
    positional_arguments_of: Any

    @property
    def units(self) -> int | list[int]: ...
    @property
    def activation(self) -> Any: ...
    @property
    def recurrent_activation(self) -> Any: ...
    @property
    def use_bias(self) -> bool: ...
    @property
    def kernel_initializer(self) -> Any: ...
    @property
    def recurrent_initializer(self) -> Any: ...
    @property
    def bias_initializer(self) -> Any: ...
    @property
    def kernel_regularizer(self) -> Any: ...
    @property
    def recurrent_regularizer(self) -> Any: ...
    @property
    def bias_regularizer(self) -> Any: ...
    @property
    def kernel_constraint(self) -> Any: ...
    @property
    def recurrent_constraint(self) -> Any: ...
    @property
    def bias_constraint(self) -> Any: ...
    @property
    def dropout(self) -> float: ...
    @property
    def recurrent_dropout(self) -> float: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def reset_after(self) -> bool: ...
    @property
    def kernel_map(self) -> Any: ...
    @property
    def recurrent_map(self) -> Any: ...
    @property
    def layer_normalization(self) -> bool: ...
    @property
    def per_gate_dropout(self) -> bool: ...
    @property
    def trainable_initial_state(self) -> bool: ...
    def __init__(
        self,
        units: int | list[int],
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        activity_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        reset_after: bool = True,
        use_cudnn: bool | str = "auto",
        *,
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        trainable_initial_state: bool = False,
        connection: str | None = None,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...

class LSTM(CuDNNArgument, cell_class=cells.LSTMCell):
    """The long short-term memory as a layer: `RNN(LSTMCell(...))`, a drop-in replacement for `keras.layers.LSTM`.

    `keras_adaptive_rnn.LSTMCell` has the equations.

    Args:
        units: Positive integer, units of the cell; or a list of them, which stacks cells of these sizes, the lowest
            first, in a `keras_adaptive_rnn.StackedCells`. They differ only in size and random numbers.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of $W$. Defaults to `"glorot_uniform"`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        unit_forget_bias: Whether to initialize $b_f$ to one. Defaults to `True`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        activity_regularizer: Regularizer of the output. Defaults to `None`.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        return_sequences: Whether to return the output of every step. Defaults to `False`: only the last one.
        return_state: Whether to return the last states in addition to the output. Defaults to `False`.
        go_backwards: Whether to process the sequence backwards. The outputs are in the order of processing.
            Defaults to `False`.
        stateful: Whether each sample of a batch starts from the last states of the sample at the same index in the
            previous batch. Needs a known batch size. Defaults to `False`.
        unroll: Whether to unroll the loop: faster for few steps, slow to compile for many. Needs a known number of
            steps. Defaults to `False`.
        use_cudnn: `"auto"` (default) or `False`, for compatibility with Keras. It has no effect, since this package
            never calls cuDNN. With `True`, the layer raises a `ValueError` when it is built, as in Keras where
            cuDNN is not available.
        tied_gates: Whether to tie the input gate to the forget gate, $i = 1 - f$. Defaults to `False`.
        cap_input_gate: Whether to cap the input gate, $\\min(i, 1 - f)$, so that $c$ stays bounded. Defaults to
            `False`.
        projection_units: Positive integer, size of a linear projection of $h$, which becomes the output and the
            recurrent state; `None` (default) for no projection.
        cell_clip: Positive number; the stored $c$ is clipped to `[-cell_clip, cell_clip]` ($h$ is computed from the
            unclipped $c$, as in the code of Melis et al.). `None` (default) for no clipping.
        update_dropout: Float in `[0, 1)`, fraction of the update $j$ to drop, with one mask per sequence; the
            memory itself is never dropped. Defaults to `0.0`.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`. The LSTM also normalizes $c$ inside $o \\odot
            \\phi(c)$, with gain and offset.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask.
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        connection: Connection of a stack: `None` (default), `"skip"` or `"residual"`, as in
            `keras_adaptive_rnn.StackedCells`.
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

    Example:

    >>> layer = keras_adaptive_rnn.layers.LSTM(8, tied_gates=True, projection_units=4)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 4)
    """

    compared: Any
    positional_arguments_of: Any

    @property
    def units(self) -> int | list[int]: ...
    @property
    def activation(self) -> Any: ...
    @property
    def recurrent_activation(self) -> Any: ...
    @property
    def use_bias(self) -> bool: ...
    @property
    def kernel_initializer(self) -> Any: ...
    @property
    def recurrent_initializer(self) -> Any: ...
    @property
    def bias_initializer(self) -> Any: ...
    @property
    def unit_forget_bias(self) -> bool: ...
    @property
    def kernel_regularizer(self) -> Any: ...
    @property
    def recurrent_regularizer(self) -> Any: ...
    @property
    def bias_regularizer(self) -> Any: ...
    @property
    def kernel_constraint(self) -> Any: ...
    @property
    def recurrent_constraint(self) -> Any: ...
    @property
    def bias_constraint(self) -> Any: ...
    @property
    def dropout(self) -> float: ...
    @property
    def recurrent_dropout(self) -> float: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def tied_gates(self) -> bool: ...
    @property
    def cap_input_gate(self) -> bool: ...
    @property
    def projection_units(self) -> int | None: ...
    @property
    def cell_clip(self) -> float | None: ...
    @property
    def update_dropout(self) -> float: ...
    @property
    def kernel_map(self) -> Any: ...
    @property
    def recurrent_map(self) -> Any: ...
    @property
    def layer_normalization(self) -> bool: ...
    @property
    def per_gate_dropout(self) -> bool: ...
    @property
    def trainable_initial_state(self) -> bool: ...
    def __init__(
        self,
        units: int | list[int],
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        activity_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        use_cudnn: bool | str = "auto",
        *,
        tied_gates: bool = False,
        cap_input_gate: bool = False,
        projection_units: int | None = None,
        cell_clip: float | None = None,
        update_dropout: float = 0.0,
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        trainable_initial_state: bool = False,
        connection: str | None = None,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...

class Mogrifier(CellLayer, cell_class=cells.MogrifierCell):
    """The Mogrifier (Melis et al., 2020) as a layer: `RNN(MogrifierCell(...))`.

    `keras_adaptive_rnn.MogrifierCell` has the equations.

    Args:
        units: Positive integer, units of the cell; or a list of them, which stacks cells of these sizes, the lowest
            first, in a `keras_adaptive_rnn.StackedCells`. They differ only in size and random numbers. Defaults to
            `None`.
        rounds: Integer from 0 to 100, the number $r$ of rounds. Defaults to `5`.
        rank: Positive integer, rank of $Q$ and $R$, at most the size of the inputs and of the state; `None`
            (default) for full matrices.
        zigzag: Whether each gate reads the result of the previous round; with `False`, every gate reads the
            original $x$ or $h$ (section 4 of the paper, where it does worse). Defaults to `True`.
        gate_bias: Whether the gates have a bias, as in the authors' code; the paper has none. Defaults to `False`.
        core: Name of the cell to wrap: `"lstm"` (default), `"gru"` or `"elman"`. Further arguments, such as
            `tied_gates=True`, are passed to it. The authors' code corresponds to `cap_input_gate=True` and
            `gate_bias=True`.
        cell: A cell object to wrap instead of `units` and `core`, such as `keras.layers.GRUCell(64)`; its first
            state must be its output. Defaults to `None`.
        gate_initializer: Initializer of each $Q$ and $R$, or of each of their factors. Defaults to
            `"glorot_uniform"`.
        gate_regularizer: Regularizer of each $Q$ and $R$, `None` by default.
        gate_constraint: Constraint of each $Q$ and $R$, `None` by default.
        dropout, recurrent_dropout: Float in `[0, 1)`, fraction of $x_t$ and of $h_{t-1}$ to drop before the first
            round, with one mask per sequence, as in the authors' code. Default to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
        unit_forget_bias: Whether to initialize $b_f$ to one. Defaults to `True`.
        tied_gates: Whether to tie the input gate to the forget gate, $i = 1 - f$. Defaults to `False`.
        cap_input_gate: Whether to cap the input gate, $\\min(i, 1 - f)$, so that $c$ stays bounded. Defaults to
            `False`.
        projection_units: Positive integer, size of a linear projection of $h$, which becomes the output and the
            recurrent state; `None` (default) for no projection.
        cell_clip: Positive number; the stored $c$ is clipped to `[-cell_clip, cell_clip]` ($h$ is computed from the
            unclipped $c$, as in the code of Melis et al.). `None` (default) for no clipping.
        update_dropout: Float in `[0, 1)`, fraction of the update $j$ to drop, with one mask per sequence; the
            memory itself is never dropped. Defaults to `0.0`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of $W$. Defaults to `"glorot_uniform"`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`. The LSTM also normalizes $c$ inside $o \\odot
            \\phi(c)$, with gain and offset.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask.
        reset_after: Whether to apply the reset gate after the recurrent product (as in Keras and cuDNN) or before
            it. Defaults to `True`.
        connection: Connection of a stack: `None` (default), `"skip"` or `"residual"`, as in
            `keras_adaptive_rnn.StackedCells`.
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

    Example:

    >>> layer = keras_adaptive_rnn.layers.Mogrifier(8, rounds=5, rank=2, return_sequences=True)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 5, 8)
    >>> stack = keras_adaptive_rnn.layers.Mogrifier([8] * 4, connection="skip")
    >>> tuple(stack(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    compared: Any

    @property
    def units(self) -> int | list[int] | None: ...
    @property
    def rounds(self) -> int: ...
    @property
    def rank(self) -> int | None: ...
    @property
    def zigzag(self) -> bool: ...
    @property
    def gate_bias(self) -> bool: ...
    @property
    def core(self) -> str: ...
    @property
    def gate_initializer(self) -> Any: ...
    @property
    def gate_regularizer(self) -> Any: ...
    @property
    def gate_constraint(self) -> Any: ...
    @property
    def dropout(self) -> float: ...
    @property
    def recurrent_dropout(self) -> float: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def trainable_initial_state(self) -> bool: ...
    def __init__(
        self,
        units: int | list[int] | None = None,
        *,
        rounds: int = 5,
        rank: int | None = None,
        zigzag: bool = True,
        gate_bias: bool = False,
        core: str = "lstm",
        cell: Any = None,
        gate_initializer: Initializer = "glorot_uniform",
        gate_regularizer: Regularizer = None,
        gate_constraint: Constraint = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        unit_forget_bias: bool = True,
        tied_gates: bool = False,
        cap_input_gate: bool = False,
        projection_units: int | None = None,
        cell_clip: float | None = None,
        update_dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        reset_after: bool = True,
        connection: str | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...

class MultiplicativeLSTM(CellLayer, cell_class=cells.MultiplicativeLSTMCell):
    """The multiplicative LSTM (Krause et al., 2016) as a layer: `RNN(MultiplicativeLSTMCell(...))`.

    `keras_adaptive_rnn.MultiplicativeLSTMCell` has the equations.

    Args:
        units: Positive integer, units of the cell; or a list of them, which stacks cells of these sizes, the lowest
            first, in a `keras_adaptive_rnn.StackedCells`. They differ only in size and random numbers. Defaults to
            `None`.
        core: Name of the cell to wrap: `"lstm"` (default) or `"elman"`. Further arguments, such as
            `tied_gates=True`, are passed to it.
        cell: A cell object to wrap instead of `units` and `core`; its first state must be its output. Defaults to
            `None`.
        factor_bias: Whether both factors of $m$ have a bias, as in some implementations; the paper has none.
            Defaults to `False`.
        dropout, recurrent_dropout: Float in `[0, 1)`, fraction of $x_t$ and of $h_{t-1}$ to drop, with one mask per
            sequence. Default to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
        unit_forget_bias: Whether to initialize $b_f$ to one. Defaults to `True`.
        tied_gates: Whether to tie the input gate to the forget gate, $i = 1 - f$. Defaults to `False`.
        cap_input_gate: Whether to cap the input gate, $\\min(i, 1 - f)$, so that $c$ stays bounded. Defaults to
            `False`.
        projection_units: Positive integer, size of a linear projection of $h$, which becomes the output and the
            recurrent state; `None` (default) for no projection.
        cell_clip: Positive number; the stored $c$ is clipped to `[-cell_clip, cell_clip]` ($h$ is computed from the
            unclipped $c$, as in the code of Melis et al.). `None` (default) for no clipping.
        update_dropout: Float in `[0, 1)`, fraction of the update $j$ to drop, with one mask per sequence; the
            memory itself is never dropped. Defaults to `0.0`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of $W$. Defaults to `"glorot_uniform"`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`. The LSTM also normalizes $c$ inside $o \\odot
            \\phi(c)$, with gain and offset.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask.
        connection: Connection of a stack: `None` (default), `"skip"` or `"residual"`, as in
            `keras_adaptive_rnn.StackedCells`.
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

    Example:

    >>> layer = keras_adaptive_rnn.layers.MultiplicativeLSTM(8)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    compared: Any

    @property
    def units(self) -> int | list[int] | None: ...
    @property
    def core(self) -> str: ...
    @property
    def factor_bias(self) -> bool: ...
    @property
    def dropout(self) -> float: ...
    @property
    def recurrent_dropout(self) -> float: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def trainable_initial_state(self) -> bool: ...
    def __init__(
        self,
        units: int | list[int] | None = None,
        *,
        core: str = "lstm",
        cell: Any = None,
        factor_bias: bool = False,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        unit_forget_bias: bool = True,
        tied_gates: bool = False,
        cap_input_gate: bool = False,
        projection_units: int | None = None,
        cell_clip: float | None = None,
        update_dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        connection: str | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...

class LowRankGRU(CellLayer, cell_class=cells.LowRankGRUCell):
    """The low-rank passthrough GRU (Miceli Barone, 2016) as a layer: `RNN(LowRankGRUCell(...))`.

    `keras_adaptive_rnn.LowRankGRUCell` has the equations.

    Args:
        units: Positive integer, units of the cell; or a list of them, which stacks cells of these sizes, the lowest
            first, in a `keras_adaptive_rnn.StackedCells`. They differ only in size and random numbers.
        rank: Positive integer $d$, at most `units`.
        reset_after: Whether to apply the reset gate after the recurrent product (equation 7) or before it (equation
            6). Defaults to `False`.
        diagonal: Whether to add the diagonals ("LRD" in the paper). Defaults to `True`.
        tied: Whether the gates share one $R$. Defaults to `False`.
        carry_bias: Number, initial bias of $z$; the paper uses 4 and 5. Defaults to `0.0`.
        weight_normalization: Whether to normalize $W$, $L$ and $R$, the latter without trained norms (appendix
            A.2). Defaults to `False`.
        diagonal_initializer: Initializer of the diagonals. Defaults to `"zeros"`; the authors' code draws them from
            `keras.initializers.RandomUniform(-0.01, 0.01)`.
        kernel_map: The linear maps $W$ and $U$: `"full"` (default) or an object of `keras_adaptive_rnn.maps`, such
            as `LowRank(rank=24, diagonal=True)`.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of $W$, all gates together. Defaults to `"glorot_uniform"`; the authors'
            code applies it to each gate, so that its bound is $\\sqrt{6 / (inputs + units)}$.
        recurrent_initializer: Initializer of each $R$ and $L$. Defaults to `"orthogonal"`; the authors' code has
            `"glorot_uniform"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        recurrent_constraint: Constraint of each $R$ and $L$, `None` by default. For the paper's bound on the norms
            of rows, which are columns here, use `keras.constraints.MaxNorm(10)`.
        bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros. The paper trains it.
        connection: Connection of a stack: `None` (default), `"skip"` or `"residual"`, as in
            `keras_adaptive_rnn.StackedCells`.
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

    Example:

    >>> layer = keras_adaptive_rnn.layers.LowRankGRU(8, rank=2, carry_bias=4.0)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    compared: Any

    @property
    def units(self) -> int | list[int]: ...
    @property
    def rank(self) -> int: ...
    @property
    def reset_after(self) -> bool: ...
    @property
    def diagonal(self) -> bool: ...
    @property
    def tied(self) -> bool: ...
    @property
    def carry_bias(self) -> float: ...
    @property
    def weight_normalization(self) -> bool: ...
    @property
    def diagonal_initializer(self) -> Any: ...
    @property
    def kernel_map(self) -> Any: ...
    @property
    def activation(self) -> Any: ...
    @property
    def recurrent_activation(self) -> Any: ...
    @property
    def use_bias(self) -> bool: ...
    @property
    def kernel_initializer(self) -> Any: ...
    @property
    def recurrent_initializer(self) -> Any: ...
    @property
    def bias_initializer(self) -> Any: ...
    @property
    def kernel_regularizer(self) -> Any: ...
    @property
    def recurrent_regularizer(self) -> Any: ...
    @property
    def bias_regularizer(self) -> Any: ...
    @property
    def kernel_constraint(self) -> Any: ...
    @property
    def recurrent_constraint(self) -> Any: ...
    @property
    def bias_constraint(self) -> Any: ...
    @property
    def layer_normalization(self) -> bool: ...
    @property
    def per_gate_dropout(self) -> bool: ...
    @property
    def dropout(self) -> float: ...
    @property
    def recurrent_dropout(self) -> float: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def trainable_initial_state(self) -> bool: ...
    def __init__(
        self,
        units: int | list[int],
        rank: int,
        *,
        reset_after: bool = False,
        diagonal: bool = True,
        tied: bool = False,
        carry_bias: float = 0.0,
        weight_normalization: bool = False,
        diagonal_initializer: Initializer = "zeros",
        kernel_map: str | LinearMap = "full",
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        connection: str | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...

class LowRankLSTM(CellLayer, cell_class=cells.LowRankLSTMCell):
    """The low-rank passthrough LSTM (Miceli Barone, 2016) as a layer: `RNN(LowRankLSTMCell(...))`.

    `keras_adaptive_rnn.LowRankLSTMCell` has the equations.

    Args:
        units: Positive integer, units of the cell; or a list of them, which stacks cells of these sizes, the lowest
            first, in a `keras_adaptive_rnn.StackedCells`. They differ only in size and random numbers.
        rank: Positive integer $d$, at most `units`.
        carry_bias: Number, initial bias of the forget gate. Defaults to `1.0`.
        diagonal: Whether to add the diagonals. Defaults to `True`.
        tied: Whether the gates share one $R$. Defaults to `False`.
        weight_normalization: Whether to normalize $W$, $L$ and $R$, the latter without trained norms (appendix
            A.2). Defaults to `False`.
        diagonal_initializer: Initializer of the diagonals. Defaults to `"zeros"`; the authors' code draws them from
            `keras.initializers.RandomUniform(-0.01, 0.01)`.
        kernel_map: The linear maps $W$ and $U$: `"full"` (default) or an object of `keras_adaptive_rnn.maps`, such
            as `LowRank(rank=24, diagonal=True)`.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
        tied_gates: Whether to tie the input gate to the forget gate, $i = 1 - f$. Defaults to `False`.
        cap_input_gate: Whether to cap the input gate, $\\min(i, 1 - f)$, so that $c$ stays bounded. Defaults to
            `False`.
        projection_units: Positive integer, size of a linear projection of $h$, which becomes the output and the
            recurrent state; `None` (default) for no projection.
        cell_clip: Positive number; the stored $c$ is clipped to `[-cell_clip, cell_clip]` ($h$ is computed from the
            unclipped $c$, as in the code of Melis et al.). `None` (default) for no clipping.
        update_dropout: Float in `[0, 1)`, fraction of the update $j$ to drop, with one mask per sequence; the
            memory itself is never dropped. Defaults to `0.0`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of $W$. Defaults to `"glorot_uniform"`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        recurrent_constraint: Constraint of each $R$ and $L$, `None` by default. For the paper's bound on the norms
            of rows, which are columns here, use `keras.constraints.MaxNorm(10)`.
        bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`. The LSTM also normalizes $c$ inside $o \\odot
            \\phi(c)$, with gain and offset.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask. The authors' code has `True`.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        connection: Connection of a stack: `None` (default), `"skip"` or `"residual"`, as in
            `keras_adaptive_rnn.StackedCells`.
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

    Example:

    >>> layer = keras_adaptive_rnn.layers.LowRankLSTM(8, rank=2)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    compared: Any

    @property
    def units(self) -> int | list[int]: ...
    @property
    def rank(self) -> int: ...
    @property
    def carry_bias(self) -> float: ...
    @property
    def diagonal(self) -> bool: ...
    @property
    def tied(self) -> bool: ...
    @property
    def weight_normalization(self) -> bool: ...
    @property
    def diagonal_initializer(self) -> Any: ...
    @property
    def kernel_map(self) -> Any: ...
    @property
    def activation(self) -> Any: ...
    @property
    def recurrent_activation(self) -> Any: ...
    @property
    def tied_gates(self) -> bool: ...
    @property
    def cap_input_gate(self) -> bool: ...
    @property
    def projection_units(self) -> int | None: ...
    @property
    def cell_clip(self) -> float | None: ...
    @property
    def update_dropout(self) -> float: ...
    @property
    def use_bias(self) -> bool: ...
    @property
    def kernel_initializer(self) -> Any: ...
    @property
    def recurrent_initializer(self) -> Any: ...
    @property
    def bias_initializer(self) -> Any: ...
    @property
    def kernel_regularizer(self) -> Any: ...
    @property
    def recurrent_regularizer(self) -> Any: ...
    @property
    def bias_regularizer(self) -> Any: ...
    @property
    def kernel_constraint(self) -> Any: ...
    @property
    def recurrent_constraint(self) -> Any: ...
    @property
    def bias_constraint(self) -> Any: ...
    @property
    def layer_normalization(self) -> bool: ...
    @property
    def per_gate_dropout(self) -> bool: ...
    @property
    def dropout(self) -> float: ...
    @property
    def recurrent_dropout(self) -> float: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def trainable_initial_state(self) -> bool: ...
    def __init__(
        self,
        units: int | list[int],
        rank: int,
        *,
        carry_bias: float = 1.0,
        diagonal: bool = True,
        tied: bool = False,
        weight_normalization: bool = False,
        diagonal_initializer: Initializer = "zeros",
        kernel_map: str | LinearMap = "full",
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        tied_gates: bool = False,
        cap_input_gate: bool = False,
        projection_units: int | None = None,
        cell_clip: float | None = None,
        update_dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        connection: str | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...

class RecurrentHighway(CellLayer, cell_class=cells.RecurrentHighwayCell):
    """The recurrent highway network (Zilly et al., 2017) as a layer: `RNN(RecurrentHighwayCell(...))`.

    `keras_adaptive_rnn.RecurrentHighwayCell` has the equations.

    Args:
        units: Positive integer, units of the cell; or a list of them, which stacks cells of these sizes, the lowest
            first, in a `keras_adaptive_rnn.StackedCells`. They differ only in size and random numbers.
        depth: Positive integer, the number $L$ of layers. Defaults to `5`.
        coupled: Whether to couple the gates, $c = 1 - t$. Defaults to `True`.
        transform_bias: Number, initial bias of $t$. The bias of an independent carry gate is initialized to its
            negative, so that $c = 1 - t$ for zero inputs. Defaults to `-2.0`, which carries most of the state.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of $W$. Defaults to `"glorot_uniform"`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`. The mask applies to what each layer multiplies by $U$, but not to what it carries.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        connection: Connection of a stack: `None` (default), `"skip"` or `"residual"`, as in
            `keras_adaptive_rnn.StackedCells`.
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

    Example:

    >>> layer = keras_adaptive_rnn.layers.RecurrentHighway(8, depth=3)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    compared: Any

    @property
    def units(self) -> int | list[int]: ...
    @property
    def depth(self) -> int: ...
    @property
    def coupled(self) -> bool: ...
    @property
    def transform_bias(self) -> float: ...
    @property
    def activation(self) -> Any: ...
    @property
    def recurrent_activation(self) -> Any: ...
    @property
    def use_bias(self) -> bool: ...
    @property
    def kernel_initializer(self) -> Any: ...
    @property
    def recurrent_initializer(self) -> Any: ...
    @property
    def bias_initializer(self) -> Any: ...
    @property
    def kernel_regularizer(self) -> Any: ...
    @property
    def recurrent_regularizer(self) -> Any: ...
    @property
    def bias_regularizer(self) -> Any: ...
    @property
    def kernel_constraint(self) -> Any: ...
    @property
    def recurrent_constraint(self) -> Any: ...
    @property
    def bias_constraint(self) -> Any: ...
    @property
    def kernel_map(self) -> Any: ...
    @property
    def recurrent_map(self) -> Any: ...
    @property
    def layer_normalization(self) -> bool: ...
    @property
    def per_gate_dropout(self) -> bool: ...
    @property
    def dropout(self) -> float: ...
    @property
    def recurrent_dropout(self) -> float: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def trainable_initial_state(self) -> bool: ...
    def __init__(
        self,
        units: int | list[int],
        depth: int = 5,
        *,
        coupled: bool = True,
        transform_bias: float = -2.0,
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        connection: str | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...

class GridLSTM(CellLayer, cell_class=cells.GridLSTMCell):
    """The grid LSTM over depth and time (Kalchbrenner et al., 2015) as a layer: `RNN(GridLSTMCell(...))`.

    `keras_adaptive_rnn.GridLSTMCell` has the equations.

    Args:
        units: Positive integer, units of the cell; or a list of them, which stacks cells of these sizes, the lowest
            first, in a `keras_adaptive_rnn.StackedCells`. They differ only in size and random numbers.
        depth: Positive integer, $L$.
        tied: Whether all layers share their weights. Defaults to `False`.
        dropout: Float in `[0, 1)`, fraction of $x_t$ to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of each $\\hat h^l_{t-1}$ to drop, with one mask per sequence,
            shared by all layers. Defaults to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
        unit_forget_bias: Whether to initialize $b_f$ to one. Defaults to `True`.
        tied_gates: Whether to tie the input gate to the forget gate, $i = 1 - f$. Defaults to `False`.
        cap_input_gate: Whether to cap the input gate, $\\min(i, 1 - f)$, so that $c$ stays bounded. Defaults to
            `False`.
        cell_clip: Positive number; the stored $c$ is clipped to `[-cell_clip, cell_clip]` ($h$ is computed from the
            unclipped $c$, as in the code of Melis et al.). `None` (default) for no clipping.
        update_dropout: Float in `[0, 1)`, fraction of the update $j$ to drop, with one mask per sequence; the
            memory itself is never dropped. Defaults to `0.0`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of $W$ and of the kernels of the LSTMs. Defaults to `"glorot_uniform"`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`. The LSTM also normalizes $c$ inside $o \\odot
            \\phi(c)$, with gain and offset.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask.
        connection: Connection of a stack: `None` (default), `"skip"` or `"residual"`, as in
            `keras_adaptive_rnn.StackedCells`.
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

    Example:

    >>> layer = keras_adaptive_rnn.layers.GridLSTM(8, depth=2)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    @property
    def units(self) -> int | list[int]: ...
    @property
    def depth(self) -> int: ...
    @property
    def tied(self) -> bool: ...
    @property
    def dropout(self) -> float: ...
    @property
    def recurrent_dropout(self) -> float: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def trainable_initial_state(self) -> bool: ...
    def __init__(
        self,
        units: int | list[int],
        depth: int,
        *,
        tied: bool = False,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        unit_forget_bias: bool = True,
        tied_gates: bool = False,
        cap_input_gate: bool = False,
        cell_clip: float | None = None,
        update_dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        connection: str | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...

class DeepRNN(CellLayer, cell_class=cells.DeepRNNCell):
    """A deep stack of vanilla layers (Eidnes and Nokland, 2018) as a layer: `RNN(DeepRNNCell(...))`.

    `keras_adaptive_rnn.DeepRNNCell` has the equations.

    Args:
        units: Positive integer, units of the cell; or a list of them, which stacks cells of these sizes, the lowest
            first, in a `keras_adaptive_rnn.StackedCells`. They differ only in size and random numbers.
        depth: Positive integer, $L$.
        activation: $f$. Defaults to `"belu"`, the bipolar ELU.
        skip_every: Positive integer, $k$; `None` for no skip connections. Defaults to `4`.
        skip_scale: Number, $\\alpha$. Defaults to `0.99`: below one, so that the layer itself can contribute to an
            output of unit variance.
        block_dropout: Float in `[0, 1)`, probability that a block of `skip_every` layers is skipped for a step,
            drawn per sample and step. Nothing is rescaled in inference. The lowest block is never skipped if its
            inputs do not have `units` features. Defaults to `0.0`.
        kernel_initializer, recurrent_initializer: Initializers of $U_i$ and $W_i$. Default to `"unit_variance"`,
            which is scaled by $g_i$; any other initializer is used as it is.
        use_bias: Whether to use a bias. Defaults to `True`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        dropout: Float in `[0, 1)`, fraction of each $x_i$ to drop, with a new mask in every step. Defaults to
            `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of each $h_i(t-1)$ to drop in the product with $W_i$, with
            one mask per sequence and layer (rnnDrop). Defaults to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        connection: Connection of a stack: `None` (default), `"skip"` or `"residual"`, as in
            `keras_adaptive_rnn.StackedCells`.
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

    Example:

    >>> layer = keras_adaptive_rnn.layers.DeepRNN(8, depth=12)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    @property
    def units(self) -> int | list[int]: ...
    @property
    def depth(self) -> int: ...
    @property
    def activation(self) -> Any: ...
    @property
    def skip_every(self) -> int | None: ...
    @property
    def skip_scale(self) -> float: ...
    @property
    def block_dropout(self) -> float: ...
    @property
    def kernel_initializer(self) -> Any: ...
    @property
    def recurrent_initializer(self) -> Any: ...
    @property
    def use_bias(self) -> bool: ...
    @property
    def bias_initializer(self) -> Any: ...
    @property
    def kernel_regularizer(self) -> Any: ...
    @property
    def recurrent_regularizer(self) -> Any: ...
    @property
    def bias_regularizer(self) -> Any: ...
    @property
    def kernel_constraint(self) -> Any: ...
    @property
    def recurrent_constraint(self) -> Any: ...
    @property
    def bias_constraint(self) -> Any: ...
    @property
    def kernel_map(self) -> Any: ...
    @property
    def recurrent_map(self) -> Any: ...
    @property
    def dropout(self) -> float: ...
    @property
    def recurrent_dropout(self) -> float: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def trainable_initial_state(self) -> bool: ...
    def __init__(
        self,
        units: int | list[int],
        depth: int,
        *,
        activation: Activation = "belu",
        skip_every: int | None = 4,
        skip_scale: float = 0.99,
        block_dropout: float = 0.0,
        kernel_initializer: Initializer = "unit_variance",
        recurrent_initializer: Initializer = "unit_variance",
        use_bias: bool = True,
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        connection: str | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...

class WeightDropLSTM(CellLayer, cell_class=cells.WeightDropLSTMCell):
    """The LSTM of AWD-LSTM (Merity et al., 2018) as a layer: `RNN(WeightDropLSTMCell(...))`.

    `keras_adaptive_rnn.WeightDropLSTMCell` has the equations.

    Args:
        units: Positive integer, units of the cell; or a list of them, which stacks cells of these sizes, the lowest
            first, in a `keras_adaptive_rnn.StackedCells`. They differ only in size and random numbers.
        recurrent_weight_dropout: Float in `[0, 1)`, fraction $p$ of the entries of $U$ to drop. Defaults to `0.5`.
        variational: Whether to drop whole columns of $U$, each of which holds the weights of one gate of one unit.
            Defaults to `False`. (With this option, the authors' code also drops in inference; this cell does not.)
        seed: Integer seed of the masks, or `None` (default).
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
        unit_forget_bias: Whether to initialize $b_f$ to one. Defaults to `True`.
        tied_gates: Whether to tie the input gate to the forget gate, $i = 1 - f$. Defaults to `False`.
        cap_input_gate: Whether to cap the input gate, $\\min(i, 1 - f)$, so that $c$ stays bounded. Defaults to
            `False`.
        projection_units: Positive integer, size of a linear projection of $h$, which becomes the output and the
            recurrent state; `None` (default) for no projection.
        cell_clip: Positive number; the stored $c$ is clipped to `[-cell_clip, cell_clip]` ($h$ is computed from the
            unclipped $c$, as in the code of Melis et al.). `None` (default) for no clipping.
        update_dropout: Float in `[0, 1)`, fraction of the update $j$ to drop, with one mask per sequence; the
            memory itself is never dropped. Defaults to `0.0`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of $W$. Defaults to `"glorot_uniform"`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        kernel_map: The linear maps $W$ and $U$: `"full"` (default) or an object of `keras_adaptive_rnn.maps`, such
            as `LowRank(rank=24, diagonal=True)`.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`. The LSTM also normalizes $c$ inside $o \\odot
            \\phi(c)$, with gain and offset.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        connection: Connection of a stack: `None` (default), `"skip"` or `"residual"`, as in
            `keras_adaptive_rnn.StackedCells`.
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

    Example:

    >>> layer = keras_adaptive_rnn.layers.WeightDropLSTM(8, recurrent_weight_dropout=0.5)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    @property
    def units(self) -> int | list[int]: ...
    @property
    def recurrent_weight_dropout(self) -> float: ...
    @property
    def variational(self) -> bool: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def activation(self) -> Any: ...
    @property
    def recurrent_activation(self) -> Any: ...
    @property
    def unit_forget_bias(self) -> bool: ...
    @property
    def tied_gates(self) -> bool: ...
    @property
    def cap_input_gate(self) -> bool: ...
    @property
    def projection_units(self) -> int | None: ...
    @property
    def cell_clip(self) -> float | None: ...
    @property
    def update_dropout(self) -> float: ...
    @property
    def use_bias(self) -> bool: ...
    @property
    def kernel_initializer(self) -> Any: ...
    @property
    def recurrent_initializer(self) -> Any: ...
    @property
    def bias_initializer(self) -> Any: ...
    @property
    def kernel_regularizer(self) -> Any: ...
    @property
    def recurrent_regularizer(self) -> Any: ...
    @property
    def bias_regularizer(self) -> Any: ...
    @property
    def kernel_constraint(self) -> Any: ...
    @property
    def recurrent_constraint(self) -> Any: ...
    @property
    def bias_constraint(self) -> Any: ...
    @property
    def kernel_map(self) -> Any: ...
    @property
    def layer_normalization(self) -> bool: ...
    @property
    def per_gate_dropout(self) -> bool: ...
    @property
    def dropout(self) -> float: ...
    @property
    def recurrent_dropout(self) -> float: ...
    @property
    def trainable_initial_state(self) -> bool: ...
    def __init__(
        self,
        units: int | list[int],
        recurrent_weight_dropout: float = 0.5,
        *,
        variational: bool = False,
        seed: int | None = None,
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        unit_forget_bias: bool = True,
        tied_gates: bool = False,
        cap_input_gate: bool = False,
        projection_units: int | None = None,
        cell_clip: float | None = None,
        update_dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        kernel_map: str | LinearMap = "full",
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        trainable_initial_state: bool = False,
        connection: str | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...

class Zoneout(CellLayer, cell_class=cells.ZoneoutCell):
    """A recurrent network with zoneout (Krueger et al., 2017) as a layer: `RNN(ZoneoutCell(...))`.

    `keras_adaptive_rnn.ZoneoutCell` has the equations.

    Args:
        units: Positive integer, units of the cell; or a list of them, which stacks cells of these sizes, the lowest
            first, in a `keras_adaptive_rnn.StackedCells`. They differ only in size and random numbers. Defaults to
            `None`.
        zoneout: Float in `[0, 1)`, $z$ for all states, or a list of floats, one for each memory state of the inner
            cell, such as `[0.05, 0.5]` for $h$ and $c$ of an LSTM. Defaults to `0.1`.
        core: Name of the cell to wrap: `"lstm"` (default), `"gru"` or `"elman"`. Further arguments are passed to
            it.
        cell: A cell object to wrap instead of `units` and `core`; its first state must be its output. Defaults to
            `None`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
        unit_forget_bias: Whether to initialize $b_f$ to one. Defaults to `True`.
        tied_gates: Whether to tie the input gate to the forget gate, $i = 1 - f$. Defaults to `False`.
        cap_input_gate: Whether to cap the input gate, $\\min(i, 1 - f)$, so that $c$ stays bounded. Defaults to
            `False`.
        projection_units: Positive integer, size of a linear projection of $h$, which becomes the output and the
            recurrent state; `None` (default) for no projection.
        cell_clip: Positive number; the stored $c$ is clipped to `[-cell_clip, cell_clip]` ($h$ is computed from the
            unclipped $c$, as in the code of Melis et al.). `None` (default) for no clipping.
        update_dropout: Float in `[0, 1)`, fraction of the update $j$ to drop, with one mask per sequence; the
            memory itself is never dropped. Defaults to `0.0`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of $W$. Defaults to `"glorot_uniform"`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`. The LSTM also normalizes $c$ inside $o \\odot
            \\phi(c)$, with gain and offset.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        reset_after: Whether to apply the reset gate after the recurrent product (as in Keras and cuDNN) or before
            it. Defaults to `True`.
        connection: Connection of a stack: `None` (default), `"skip"` or `"residual"`, as in
            `keras_adaptive_rnn.StackedCells`.
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

    Example:

    >>> layer = keras_adaptive_rnn.layers.Zoneout(8, zoneout=[0.05, 0.5])
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    @property
    def units(self) -> int | list[int] | None: ...
    @property
    def zoneout(self) -> float | list[float]: ...
    @property
    def core(self) -> str: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def trainable_initial_state(self) -> bool: ...
    def __init__(
        self,
        units: int | list[int] | None = None,
        zoneout: float | list[float] = 0.1,
        *,
        core: str = "lstm",
        cell: Any = None,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        unit_forget_bias: bool = True,
        tied_gates: bool = False,
        cap_input_gate: bool = False,
        projection_units: int | None = None,
        cell_clip: float | None = None,
        update_dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        reset_after: bool = True,
        connection: str | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...

class Skip(CellLayer, cell_class=cells.SkipCell):
    """The Skip RNN (Campos et al., 2018) as a layer: `RNN(SkipCell(...))`.

    `keras_adaptive_rnn.SkipCell` has the equations.

    Args:
        cell: A cell object, such as `keras.layers.LSTMCell(64)` or a `keras_adaptive_rnn.StackedCells`; its first
            state must be its output.
        update_bias: Number, initial value of $b_p$. Defaults to `1.0`.
        cost_weight: Non-negative number $\\lambda$, the cost of an updated step. Defaults to `0.0`. If it is
            positive, the cell does not run in `keras.layers.RNN`, which cannot add the loss.
        held_increment: Whether to hold $\\Delta \\hat u$ in skipped steps, as in the authors' code. Defaults to
            `False`.
        decision_initializer: Initializer of $W_p$. Defaults to `"glorot_uniform"`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state of the inner cell is trained. Defaults to `False`.
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

    Example:

    >>> layer = keras_adaptive_rnn.layers.Skip(keras_adaptive_rnn.GRUCell(8), cost_weight=1e-4, return_decisions=True)
    >>> output, updates = layer(np.ones((2, 5, 3)))
    >>> tuple(output.shape), tuple(updates.shape)
    ((2, 8), (2, 5))
    """

    fixed_arguments: Any

    @property
    def update_bias(self) -> float: ...
    @property
    def cost_weight(self) -> float: ...
    @property
    def held_increment(self) -> bool: ...
    @property
    def decision_initializer(self) -> Any: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def trainable_initial_state(self) -> bool: ...
    def __init__(
        self,
        cell: Any,
        *,
        update_bias: float = 1.0,
        cost_weight: float = 0.0,
        held_increment: bool = False,
        decision_initializer: Initializer = "glorot_uniform",
        seed: int | None = None,
        trainable_initial_state: bool = False,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...

class Skim(CellLayer, cell_class=cells.SkimCell):
    """The Skim-RNN (Seo et al., 2018) as a layer: `RNN(SkimCell(...))`.

    `keras_adaptive_rnn.SkimCell` has the equations.

    Args:
        cell: The big cell, a cell object; its first state, of size $d$, must be its output.
        small_cell: The small cell, a cell object of any kind. No state of it may be larger than the state of the
            big cell with which it is paired.
        temperature: Positive number, $\\tau$ at the start of training. Defaults to `0.5`. If
            `keras_adaptive_rnn.callbacks.Annealing` changes it from epoch to epoch, the weight holds the last
            value.
        skim_loss: Non-negative number, $\\gamma$. Defaults to `0.0`. If it is positive, the cell does not run in
            `keras.layers.RNN`, which cannot add the loss.
        decision_initializer: Initializer of $W$. Defaults to `"glorot_uniform"`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
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

    Example:

    >>> big, small = keras_adaptive_rnn.LSTMCell(8), keras_adaptive_rnn.LSTMCell(2)
    >>> layer = keras_adaptive_rnn.layers.Skim(big, small, skim_loss=0.01, return_sequences=True)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 5, 8)
    """

    fixed_arguments: Any

    @property
    def small_cell(self) -> Any: ...
    @property
    def temperature(self) -> float: ...
    @property
    def skim_loss(self) -> float: ...
    @property
    def decision_initializer(self) -> Any: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def trainable_initial_state(self) -> bool: ...
    def __init__(
        self,
        cell: Any,
        small_cell: Any,
        *,
        temperature: float = 0.5,
        skim_loss: float = 0.0,
        decision_initializer: Initializer = "glorot_uniform",
        seed: int | None = None,
        trainable_initial_state: bool = False,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...

class VariableComputation(CellLayer, cell_class=cells.VariableComputationCell):
    """The VCRNN and VCGRU (Jernite et al., 2017) as a layer: `RNN(VariableComputationCell(...))`.

    `keras_adaptive_rnn.VariableComputationCell` has the equations.

    Args:
        units: Positive integer, units of the cell; or a list of them, which stacks cells of these sizes, the lowest
            first, in a `keras_adaptive_rnn.StackedCells`. They differ only in size and random numbers.
        core: `"rnn"` (default) for the VCRNN or `"gru"` for the VCGRU.
        sharpness: Positive number, $\\lambda$ at the start of training. Defaults to `0.1`. If
            `keras_adaptive_rnn.callbacks.Annealing` changes it from epoch to epoch, the weight holds the last
            value.
        epsilon: Number in `[0, 0.5)`, $\\epsilon$. Defaults to `0.01`.
        cost_weight: Non-negative number, $\\beta$. Defaults to `0.0`. If it is positive, the cell does not run in
            `keras.layers.RNN`, which cannot add the loss.
        target: Number in `[0, 1)`, the fraction $\\bar m$ that costs nothing. Defaults to `0.0`.
        soft_inference: Whether to use the soft mask in inference too. Defaults to `False`.
        decision_initializer: Initializer of $[v; u]$. Defaults to `"glorot_uniform"`.
        activation: Activation function of the candidate state. Defaults to `"tanh"`.
        use_bias: Whether to use a bias. Defaults to `True`.
        kernel_initializer: Initializer of $W$. Defaults to `"glorot_uniform"`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        layer_normalization: Whether to normalize $x W$ and $h U$, each over all gates together, with a gain but no
            offset, before they are added. Defaults to `False`.
        per_gate_dropout: Whether each gate has dropout masks of its own. Defaults to `False`: the gates share one
            mask.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        connection: Connection of a stack: `None` (default), `"skip"` or `"residual"`, as in
            `keras_adaptive_rnn.StackedCells`.
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

    Example:

    >>> layer = keras_adaptive_rnn.layers.VariableComputation(8, core="gru", cost_weight=0.1, target=0.25)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    @property
    def units(self) -> int | list[int]: ...
    @property
    def core(self) -> str: ...
    @property
    def sharpness(self) -> float: ...
    @property
    def epsilon(self) -> float: ...
    @property
    def cost_weight(self) -> float: ...
    @property
    def target(self) -> float: ...
    @property
    def soft_inference(self) -> bool: ...
    @property
    def decision_initializer(self) -> Any: ...
    @property
    def activation(self) -> Any: ...
    @property
    def use_bias(self) -> bool: ...
    @property
    def kernel_initializer(self) -> Any: ...
    @property
    def recurrent_initializer(self) -> Any: ...
    @property
    def bias_initializer(self) -> Any: ...
    @property
    def kernel_regularizer(self) -> Any: ...
    @property
    def recurrent_regularizer(self) -> Any: ...
    @property
    def bias_regularizer(self) -> Any: ...
    @property
    def kernel_constraint(self) -> Any: ...
    @property
    def recurrent_constraint(self) -> Any: ...
    @property
    def bias_constraint(self) -> Any: ...
    @property
    def kernel_map(self) -> Any: ...
    @property
    def recurrent_map(self) -> Any: ...
    @property
    def layer_normalization(self) -> bool: ...
    @property
    def per_gate_dropout(self) -> bool: ...
    @property
    def dropout(self) -> float: ...
    @property
    def recurrent_dropout(self) -> float: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def trainable_initial_state(self) -> bool: ...
    def __init__(
        self,
        units: int | list[int],
        *,
        core: str = "rnn",
        sharpness: float = 0.1,
        epsilon: float = 0.01,
        cost_weight: float = 0.0,
        target: float = 0.0,
        soft_inference: bool = False,
        decision_initializer: Initializer = "glorot_uniform",
        activation: Activation = "tanh",
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        layer_normalization: bool = False,
        per_gate_dropout: bool = False,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        connection: str | None = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...

class AdaptiveLayer(CellLayer, cell_class=cells.AdaptiveLSTMCell):
    """The layer of an adaptive cell or a stack of adaptive cells.

    Args:
        units: Positive integer, units of the cell; or a list of them, which stacks cells of these sizes, the lowest
            first, in a `keras_adaptive_rnn.StackedCells`. They differ only in size and random numbers.
        policy_units: Positive integer, size of $z$. Defaults to `100`.
        policy: `"recurrent"` (default), equation 8, or `"static"` (equation 7).
        adaptation: `"io"` (default), `"input"`, `"output"` or `"sva"`.
        tied: Whether the gates share the first $D$ (with `"sva"`, $R$ and $D$), which takes half the time. Defaults
            to `True`.
        rank: Positive integer, the number of singular values with `"sva"`; `None` (default) for the maximum.
        policy_dropout: Float in `[0, 1)`, fraction of $z$ to drop wherever it is read, with one mask per sequence.
            Defaults to `0.0`.
        policy_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        kernel_initializer: Initializers of $W$ and $V$. Default to `"orthogonal"`, which makes the concatenated
            gates semi-orthogonal, as in the authors' code.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
        unit_forget_bias: Whether to initialize $b_f$ to one. Defaults to `True`.
        tied_gates: Whether to tie the input gate to the forget gate, $i = 1 - f$. Defaults to `False`.
        cap_input_gate: Whether to cap the input gate, $\\min(i, 1 - f)$, so that $c$ stays bounded. Defaults to
            `False`.
        projection_units: Positive integer, size of a linear projection of $h$, which becomes the output and the
            recurrent state; `None` (default) for no projection.
        cell_clip: Positive number; the stored $c$ is clipped to `[-cell_clip, cell_clip]` ($h$ is computed from the
            unclipped $c$, as in the code of Melis et al.). `None` (default) for no clipping.
        update_dropout: Float in `[0, 1)`, fraction of the update $j$ to drop, with one mask per sequence; the
            memory itself is never dropped. Defaults to `0.0`.
        use_bias: Whether to use a bias. Defaults to `True`.
        recurrent_initializer: Initializers of $W$ and $V$. Default to `"orthogonal"`, which makes the concatenated
            gates semi-orthogonal, as in the authors' code.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        dropout, recurrent_dropout: Float in `[0, 1)`, fraction of $x_t$ and of $h_{t-1}$ to drop wherever they are
            read, with one mask per sequence. Default to `0.0`. The paper also drops the output of the top layer;
            the layer `keras_adaptive_rnn.layers.AdaptiveLSTM` has an argument for that.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        output_dropout: Float in `[0, 1)`, fraction of the output to drop, with one mask per sequence. Defaults to
            `0.0`.
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
    """

    noise_rates: Any
    stack_class: Any
    fixed_arguments: Any
    output_dropout: float
    output_noise: Any

    @property
    def units(self) -> int | list[int]: ...
    @property
    def policy_units(self) -> int: ...
    @property
    def policy(self) -> str: ...
    @property
    def adaptation(self) -> str: ...
    @property
    def tied(self) -> bool: ...
    @property
    def rank(self) -> int | None: ...
    @property
    def policy_dropout(self) -> float: ...
    @property
    def policy_initializer(self) -> Any: ...
    @property
    def kernel_initializer(self) -> Any: ...
    @property
    def activation(self) -> Any: ...
    @property
    def recurrent_activation(self) -> Any: ...
    @property
    def unit_forget_bias(self) -> bool: ...
    @property
    def tied_gates(self) -> bool: ...
    @property
    def cap_input_gate(self) -> bool: ...
    @property
    def projection_units(self) -> int | None: ...
    @property
    def cell_clip(self) -> float | None: ...
    @property
    def update_dropout(self) -> float: ...
    @property
    def use_bias(self) -> bool: ...
    @property
    def recurrent_initializer(self) -> Any: ...
    @property
    def bias_initializer(self) -> Any: ...
    @property
    def kernel_regularizer(self) -> Any: ...
    @property
    def recurrent_regularizer(self) -> Any: ...
    @property
    def bias_regularizer(self) -> Any: ...
    @property
    def kernel_constraint(self) -> Any: ...
    @property
    def recurrent_constraint(self) -> Any: ...
    @property
    def bias_constraint(self) -> Any: ...
    @property
    def kernel_map(self) -> Any: ...
    @property
    def recurrent_map(self) -> Any: ...
    @property
    def dropout(self) -> float: ...
    @property
    def recurrent_dropout(self) -> float: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def trainable_initial_state(self) -> bool: ...
    return_sequences: bool
    return_state: bool
    go_backwards: bool
    stateful: bool
    unroll: bool
    zero_output_for_mask: bool
    recompute: bool
    return_decisions: bool
    schedule: str
    activity_regularizer: Any

    def __init__(
        self,
        *,
        units: int | list[int],
        policy_units: int = 100,
        policy: str = "recurrent",
        adaptation: str = "io",
        tied: bool = True,
        rank: int | None = None,
        policy_dropout: float = 0.0,
        policy_initializer: Initializer = "orthogonal",
        kernel_initializer: Initializer = "orthogonal",
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        unit_forget_bias: bool = True,
        tied_gates: bool = False,
        cap_input_gate: bool = False,
        projection_units: int | None = None,
        cell_clip: float | None = None,
        update_dropout: float = 0.0,
        use_bias: bool = True,
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        output_dropout: float = 0.0,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def make_cell(self, units: Any = None, **kwargs: Any) -> Any: ...
    def call(
        self, sequences: Any, initial_state: Any = None, mask: Any = None, training: bool | None = False
    ) -> Any: ...

class AdaptiveLSTM(AdaptiveLayer, cell_class=cells.AdaptiveLSTMCell):
    """The adaptive LSTM (Flennerhag et al., 2018) as a layer, with one cell or a stack of cells.

    `keras_adaptive_rnn.AdaptiveLSTMCell` has the equations.

    Args:
        units: Positive integer for `RNN(AdaptiveLSTMCell(units, ...))`, or a list of the sizes of a stack, the
            lowest layer first, for `RNN(StackedAdaptiveLSTMCells(units, ...))`.
        policy_units: Positive integer, size of $z$. Defaults to `100`.
        policy: `"recurrent"` (default), equation 8, or `"static"` (equation 7).
        adaptation: `"io"` (default), `"input"`, `"output"` or `"sva"`.
        tied: Whether the gates share the first $D$ (with `"sva"`, $R$ and $D$), which takes half the time. Defaults
            to `True`.
        rank: Positive integer, the number of singular values with `"sva"`; `None` (default) for the maximum.
        policy_dropout: Float in `[0, 1)`, fraction of $z$ to drop wherever it is read, with one mask per sequence.
            Defaults to `0.0`.
        policy_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        kernel_initializer: Initializers of $W$ and $V$. Default to `"orthogonal"`, which makes the concatenated
            gates semi-orthogonal, as in the authors' code.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\\sigma$ of the gates. Defaults to `"sigmoid"`.
        unit_forget_bias: Whether to initialize $b_f$ to one. Defaults to `True`.
        tied_gates: Whether to tie the input gate to the forget gate, $i = 1 - f$. Defaults to `False`.
        cap_input_gate: Whether to cap the input gate, $\\min(i, 1 - f)$, so that $c$ stays bounded. Defaults to
            `False`.
        projection_units: Positive integer, size of a linear projection of $h$, which becomes the output and the
            recurrent state; `None` (default) for no projection.
        cell_clip: Positive number; the stored $c$ is clipped to `[-cell_clip, cell_clip]` ($h$ is computed from the
            unclipped $c$, as in the code of Melis et al.). `None` (default) for no clipping.
        update_dropout: Float in `[0, 1)`, fraction of the update $j$ to drop, with one mask per sequence; the
            memory itself is never dropped. Defaults to `0.0`.
        use_bias: Whether to use a bias. Defaults to `True`.
        recurrent_initializer: Initializers of $W$ and $V$. Default to `"orthogonal"`, which makes the concatenated
            gates semi-orthogonal, as in the authors' code.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        dropout, recurrent_dropout: Float in `[0, 1)`, fraction of $x_t$ and of $h_{t-1}$ to drop wherever they are
            read, with one mask per sequence. Default to `0.0`. The paper also drops the output of the top layer;
            the layer `keras_adaptive_rnn.layers.AdaptiveLSTM` has an argument for that.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        output_dropout: Float in `[0, 1)`, fraction of the output to drop in training, with one mask per sequence.
            The states are not dropped. The paper uses it together with `dropout`, `recurrent_dropout` and
            `policy_dropout`. Defaults to `0.0`.
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

    Example:

    >>> layer = keras_adaptive_rnn.layers.AdaptiveLSTM([8, 6], policy_units=4, output_dropout=0.6)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 6)
    """

    compared: Any
    stack_class: Any

    @property
    def units(self) -> int | list[int]: ...
    @property
    def policy_units(self) -> int: ...
    @property
    def policy(self) -> str: ...
    @property
    def adaptation(self) -> str: ...
    @property
    def tied(self) -> bool: ...
    @property
    def rank(self) -> int | None: ...
    @property
    def policy_dropout(self) -> float: ...
    @property
    def policy_initializer(self) -> Any: ...
    @property
    def kernel_initializer(self) -> Any: ...
    @property
    def activation(self) -> Any: ...
    @property
    def recurrent_activation(self) -> Any: ...
    @property
    def unit_forget_bias(self) -> bool: ...
    @property
    def tied_gates(self) -> bool: ...
    @property
    def cap_input_gate(self) -> bool: ...
    @property
    def projection_units(self) -> int | None: ...
    @property
    def cell_clip(self) -> float | None: ...
    @property
    def update_dropout(self) -> float: ...
    @property
    def use_bias(self) -> bool: ...
    @property
    def recurrent_initializer(self) -> Any: ...
    @property
    def bias_initializer(self) -> Any: ...
    @property
    def kernel_regularizer(self) -> Any: ...
    @property
    def recurrent_regularizer(self) -> Any: ...
    @property
    def bias_regularizer(self) -> Any: ...
    @property
    def kernel_constraint(self) -> Any: ...
    @property
    def recurrent_constraint(self) -> Any: ...
    @property
    def bias_constraint(self) -> Any: ...
    @property
    def kernel_map(self) -> Any: ...
    @property
    def recurrent_map(self) -> Any: ...
    @property
    def dropout(self) -> float: ...
    @property
    def recurrent_dropout(self) -> float: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def trainable_initial_state(self) -> bool: ...
    def __init__(
        self,
        units: int | list[int],
        *,
        policy_units: int = 100,
        policy: str = "recurrent",
        adaptation: str = "io",
        tied: bool = True,
        rank: int | None = None,
        policy_dropout: float = 0.0,
        policy_initializer: Initializer = "orthogonal",
        kernel_initializer: Initializer = "orthogonal",
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        unit_forget_bias: bool = True,
        tied_gates: bool = False,
        cap_input_gate: bool = False,
        projection_units: int | None = None,
        cell_clip: float | None = None,
        update_dropout: float = 0.0,
        use_bias: bool = True,
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        output_dropout: float = 0.0,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...

class AdaptiveRNN(AdaptiveLayer, cell_class=cells.AdaptiveRNNCell):
    """The adaptive Elman network (Flennerhag et al., 2018) as a layer, with one cell or a stack of cells.

    `keras_adaptive_rnn.AdaptiveRNNCell` has the equations.

    Args:
        units: Positive integer for `RNN(AdaptiveRNNCell(units, ...))`, or a list of the sizes of a stack, the
            lowest layer first, for `RNN(StackedAdaptiveRNNCells(units, ...))`.
        policy_units: Positive integer, size of $z$. Defaults to `100`.
        policy: `"recurrent"` (default), equation 8, or `"static"` (equation 7).
        adaptation: `"io"` (default), `"input"`, `"output"` or `"sva"`.
        tied: Whether the gates share the first $D$ (with `"sva"`, $R$ and $D$), which takes half the time. Defaults
            to `True`. It makes no difference with one gate.
        rank: Positive integer, the number of singular values with `"sva"`; `None` (default) for the maximum.
        policy_dropout: Float in `[0, 1)`, fraction of $z$ to drop wherever it is read, with one mask per sequence.
            Defaults to `0.0`.
        policy_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        kernel_initializer: Initializer of $W$. Defaults to `"orthogonal"`.
        activation: Activation function $\\phi$. Defaults to `"tanh"`.
        use_bias: Whether to use a bias. Defaults to `True`.
        recurrent_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        bias_initializer: Initializer of $b$. Defaults to `"zeros"`.
        kernel_regularizer, recurrent_regularizer, bias_regularizer: Regularizers of $W$, $U$, $b$, `None` by
            default.
        kernel_constraint, recurrent_constraint, bias_constraint: Constraints of $W$, $U$, $b$, `None` by default.
        kernel_map, recurrent_map: The linear maps $W$ and $U$: `"full"` (default) or an object of
            `keras_adaptive_rnn.maps`, such as `LowRank(rank=24, diagonal=True)`.
        dropout: Float in `[0, 1)`, fraction of the inputs to drop, with one mask per sequence. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of the recurrent state to drop, with one mask per sequence.
            Defaults to `0.0`.
        seed: Integer seed of the masks, or `None` (default).
        trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the batch,
            initialized to zero. Defaults to `False`: zeros.
        output_dropout: Float in `[0, 1)`, fraction of the output to drop in training, with one mask per sequence.
            The states are not dropped. The paper uses it together with `dropout`, `recurrent_dropout` and
            `policy_dropout`. Defaults to `0.0`.
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

    Example:

    >>> layer = keras_adaptive_rnn.layers.AdaptiveRNN(8, policy_units=4)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    stack_class: Any

    @property
    def units(self) -> int | list[int]: ...
    @property
    def policy_units(self) -> int: ...
    @property
    def policy(self) -> str: ...
    @property
    def adaptation(self) -> str: ...
    @property
    def tied(self) -> bool: ...
    @property
    def rank(self) -> int | None: ...
    @property
    def policy_dropout(self) -> float: ...
    @property
    def policy_initializer(self) -> Any: ...
    @property
    def kernel_initializer(self) -> Any: ...
    @property
    def activation(self) -> Any: ...
    @property
    def use_bias(self) -> bool: ...
    @property
    def recurrent_initializer(self) -> Any: ...
    @property
    def bias_initializer(self) -> Any: ...
    @property
    def kernel_regularizer(self) -> Any: ...
    @property
    def recurrent_regularizer(self) -> Any: ...
    @property
    def bias_regularizer(self) -> Any: ...
    @property
    def kernel_constraint(self) -> Any: ...
    @property
    def recurrent_constraint(self) -> Any: ...
    @property
    def bias_constraint(self) -> Any: ...
    @property
    def kernel_map(self) -> Any: ...
    @property
    def recurrent_map(self) -> Any: ...
    @property
    def dropout(self) -> float: ...
    @property
    def recurrent_dropout(self) -> float: ...
    @property
    def seed(self) -> int | None: ...
    @property
    def trainable_initial_state(self) -> bool: ...
    def __init__(
        self,
        units: int | list[int],
        *,
        policy_units: int = 100,
        policy: str = "recurrent",
        adaptation: str = "io",
        tied: bool = True,
        rank: int | None = None,
        policy_dropout: float = 0.0,
        policy_initializer: Initializer = "orthogonal",
        kernel_initializer: Initializer = "orthogonal",
        activation: Activation = "tanh",
        use_bias: bool = True,
        recurrent_initializer: Initializer = "orthogonal",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        recurrent_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        recurrent_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        kernel_map: str | LinearMap = "full",
        recurrent_map: str | LinearMap = "full",
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        trainable_initial_state: bool = False,
        output_dropout: float = 0.0,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        zero_output_for_mask: bool = False,
        recompute: bool = False,
        return_decisions: bool = False,
        schedule: str = "auto",
        activity_regularizer: Regularizer = None,
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
