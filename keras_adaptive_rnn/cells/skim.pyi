"""Skim-RNN: a big cell for what matters, a small one for the rest."""

from typing import Any

from keras_adaptive_rnn._types import Initializer
from keras_adaptive_rnn.cells.bases.adaptive_computation import AdaptiveComputationCell, ScheduledCell
from keras_adaptive_rnn.cells.bases.container import ContainerCell

class SkimCell(ScheduledCell, AdaptiveComputationCell, ContainerCell):
    """A cell that reads a token in full, with a big cell $f$, or skims it, with a small cell $f'$ of $d'$ units.

    $$p_t = \\mathrm{softmax}([x_t; h_{t-1}] W + b), \\qquad h^1_t = f(x_t, h_{t-1}), \\qquad
      h^2_t = [f'(x_t, h_{t-1});\\; h_{t-1}[d' + 1 : d]]$$

    In inference $h_t = h^1_t$ (read) where $p^1_t \\ge p^2_t$, else $h^2_t$ (skim); in training the two are mixed,

    $$h_t = \\sum_i r^i_t h^i_t, \\qquad
      r^i_t = \\frac{\\exp((\\log p^i_t + g^i_t) / \\tau)}{\\sum_j \\exp((\\log p^j_t + g^j_t) / \\tau)}, \\qquad
      g^i_t \\sim \\mathrm{Gumbel}(0, 1)$$

    with noise of its own in every step. The memory $c$ of an LSTM is treated as $h$ is. The gradient of the choice in
    inference is that of $p_t$ (straight through). $f'$ is any cell of $d'$ units: its state is the first $d'$ entries
    of $h_{t-1}$, and it reads the others beside $x_t$, so that it sees all of $h_{t-1}$.

    Where the cells are of different kinds, the states that are memory are paired in their order; those of the big cell
    that the small one lacks are kept when skimming, those of the small one that the big one lacks are states of their
    own, kept when reading.

    In inference `keras_adaptive_rnn.layers.RNN` computes $f$ in the rows alone that are read: of a single row in the
    steps that are read, of a batch in a quarter, a half, three quarters or all of it. In training, where a gradient may
    be asked for (in PyTorch unless it is off, in TensorFlow under a tape), and where the big cell keeps book of its
    steps, as a `ZoneoutCell` does, it computes everything. The numbers are the same.

    `skim_loss` adds $\\gamma \\frac{1}{T} \\sum_t -\\log p^2_t$ to the loss, the mean over the batch without masked steps,
    where the layer is `keras_adaptive_rnn.layers.RNN`, which also returns the decisions with `return_decisions=True`:
    in training $r^1_t$, in inference one where a token is read, zero where it is skimmed.

    $p$ and $r$ are computed in float32 under every policy.

    Weights, in order: $W$ `[inputs + d, 2]`, columns read and skim, $b$ `[2]`, a trained initial state; $\\tau$ `[]`,
    which is not trained; those of the big and of the small cell.

    Args:
        cell: The big cell, a cell object; its first state, of size $d$, must be its output.
        small_cell: The small cell, a cell object of any kind, none of whose paired states is larger than the big one's.
        temperature: Positive number, $\\tau$ at the start of training. Defaults to `0.5`. Where
            `keras_adaptive_rnn.callbacks.Annealing` changes it from epoch to epoch, the weight holds the last value.
        skim_loss: Non-negative number, $\\gamma$. Defaults to `0.0`. Where it is positive, `keras.layers.RNN`, which
            cannot add the loss, is refused.
        decision_initializer: Initializer of $W$. Defaults to `"glorot_uniform"`.
        seed, trainable_initial_state: As in `keras_adaptive_rnn.cells.Cell`.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of the big cell's states, then those of the small cell that have no place in them, each
            `[batch, size]`, and the count of steps `[batch, 3]`, digits of base 128.
        training: Whether the choice is soft and random.

    Returns: `output, states`; the output is the first state.

    Raises:
        ValueError: an argument is no recurrent cell, or out of its range, the small cell is larger than the big one, or
            a cell with a loss runs in `keras.layers.RNN`.
        TypeError: an argument is unknown, or of the wrong type.

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
        trainable: bool | None = None,
    ) -> None:
        """A cell that reads a token in full, with a big cell $f$, or skims it, with a small cell $f'$ of $d'$ units.

        Args:
            cell: The big cell, a cell object; its first state, of size $d$, must be its output.
            small_cell: The small cell, a cell object of any kind, none of whose paired states is larger than the
                big one's.
            temperature: Positive number, $\\tau$ at the start of training. Defaults to `0.5`. Where
                `keras_adaptive_rnn.callbacks.Annealing` changes it from epoch to epoch, the weight holds the last
                value.
            skim_loss: Non-negative number, $\\gamma$. Defaults to `0.0`. Where it is positive, `keras.layers.RNN`,
                which cannot add the loss, is refused.
            decision_initializer: Initializer of $W$. Defaults to `"glorot_uniform"`.
            seed: Integer seed of the masks, or `None` (default).
            trainable_initial_state: Whether the initial state is trained: one vector per state, shared by the
                batch, initialized to zero. Defaults to `False`: zeros.
            name: As in `keras.layers.Layer`.
            dtype: As in `keras.layers.Layer`.
            trainable: As in `keras.layers.Layer`.
        """

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
        """Returns the logarithms of the probabilities to read and to skim, `[batch, 2]` of float32."""

    def read(self, inputs: Any, states: Any, training: bool | None = False) -> Any:
        """Returns the states after one token read in full, by the big cell alone."""

    def skim(self, inputs: Any, states: Any, training: bool | None = False) -> Any:
        """Returns the states after one token skimmed, by the small cell alone."""

    def sequence_loss(self, recorded: Any, counted: Any) -> Any: ...
