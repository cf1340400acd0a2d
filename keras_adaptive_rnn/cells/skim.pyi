"""Skim-RNN: a big cell reads what matters, and a small cell skims the rest."""

from typing import Any

from keras_adaptive_rnn._types import Initializer
from keras_adaptive_rnn.cells.bases.adaptive_computation import AdaptiveComputationCell, ScheduledCell
from keras_adaptive_rnn.cells.bases.container import ContainerCell

class SkimCell(ScheduledCell, AdaptiveComputationCell, ContainerCell):
    """A cell that reads each token with a big cell $f$, or skims it with a small cell $f'$ of $d'$ units.

    $$p_t = \\mathrm{softmax}([x_t; h_{t-1}] W + b), \\qquad h^1_t = f(x_t, h_{t-1}), \\qquad
      h^2_t = [f'(x_t, h_{t-1});\\; h_{t-1}[d' + 1 : d]]$$

    In inference, $h_t = h^1_t$ (read) if $p^1_t \\ge p^2_t$, otherwise $h_t = h^2_t$ (skim). In training, the two are
    mixed,

    $$h_t = \\sum_i r^i_t h^i_t, \\qquad
      r^i_t = \\frac{\\exp((\\log p^i_t + g^i_t) / \\tau)}{\\sum_j \\exp((\\log p^j_t + g^j_t) / \\tau)}, \\qquad
      g^i_t \\sim \\mathrm{Gumbel}(0, 1)$$

    with new noise in every step. The memory $c$ of an LSTM is treated like $h$. In inference, the gradient of the
    choice is the gradient of $p_t$ (straight through). $f'$ is any cell of $d'$ units: its state is the first $d'$
    entries of $h_{t-1}$, and it reads the other entries along with $x_t$, so it sees all of $h_{t-1}$.

    If the two cells are of different kinds, their memory states are paired in order. Further memory states of the big
    cell are kept when a token is skimmed. Further memory states of the small cell become additional states, which are
    kept when a token is read.

    In inference, `keras_adaptive_rnn.layers.RNN` computes $f$ only for the rows that are read: for a batch of one, in
    the steps that are read; for a larger batch, on a quarter, half, three quarters or all of its rows. It computes
    everything in training, if a gradient may be needed (in PyTorch unless gradients are off, in TensorFlow under a
    tape), and if the big cell counts its steps, like a `ZoneoutCell`. The results are the same.

    In `keras_adaptive_rnn.layers.RNN`, `skim_loss` adds $\\gamma \\frac{1}{T} \\sum_t -\\log p^2_t$ to the loss, averaged
    over the batch, without masked steps. With `return_decisions=True`, that layer also returns the decisions: $r^1_t$
    in training; in inference, one if a token is read and zero if it is skimmed.

    $p$ and $r$ are computed in float32 under every dtype policy.

    Weights, in order: $W$ `[inputs + d, 2]`, with the columns read and skim; $b$ `[2]`; a trained initial state; $\\tau$
    `[]`, which is not trained; the weights of the big cell and of the small cell.

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
        name: String, name of the layer. Defaults to `None`: one made from the name of the class.
        dtype: Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.
        trainable: Whether the variables are trained. Defaults to `True`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of the big cell's states, then the unpaired states of the small cell, each `[batch, size]`, and the
            step count `[batch, 3]`, as digits of base 128.
        training: Whether the choice is soft and random.

    Returns: `output, states`; the output is the first state.

    Raises:
        ValueError: An argument is not a recurrent cell or is out of range, the small cell is larger than the big one,
            or a cell with a loss runs in `keras.layers.RNN`.
        TypeError: An argument is unknown or of the wrong type.

    Example:

    >>> cell = keras_adaptive_rnn.SkimCell(keras.layers.LSTMCell(8), keras.layers.LSTMCell(2), skim_loss=0.01)
    >>> layer = keras_adaptive_rnn.layers.RNN(cell, return_decisions=True)
    >>> output, read = layer(np.ones((2, 5, 3)))
    >>> tuple(output.shape), tuple(read.shape), len(layer.losses)
    ((2, 8), (2, 5), 1)

    Reference: Seo, Min, Farhadi, Hajishirzi, Neural Speed Reading via Skim-RNN (2018), section 3.
    """

    aux_size: int
    scheduled_names: Any
    fixed_arguments: Any
    temperature: float
    skim_loss: float
    small_cell: Any
    decision_initializer: Any
    seed: int | None
    trainable_initial_state: bool

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
        name: str | None = None,
        dtype: Any = None,
        trainable: bool = True,
    ) -> None: ...
    def inner_cells(self) -> Any: ...
    @property
    def adds_loss(self) -> Any: ...
    @property
    def skips_unneeded(self) -> Any: ...
    @property
    def memory_index(self) -> Any: ...
    @property
    def memory_states(self) -> Any: ...
    @property
    def step_noise_sizes(self) -> Any: ...
    def build(self, input_shape: Any) -> None: ...
    def get_initial_state(self, batch_size: Any = None) -> Any: ...
    def project(self, inputs: Any, training: bool | None = False) -> Any: ...
    def step(self, projected: Any, states: Any, training: bool | None = False) -> Any: ...
    def log_probabilities(self, inputs: Any, states: Any) -> Any:
        """Returns the log probabilities of reading and of skimming, float32 `[batch, 2]`."""

    def read(self, inputs: Any, states: Any, training: bool | None = False) -> Any:
        """Returns the states after the big cell has read one token."""

    def skim(self, inputs: Any, states: Any, training: bool | None = False) -> Any:
        """Returns the states after the small cell has skimmed one token."""

    def sequence_loss(self, recorded: Any, counted: Any) -> Any: ...
