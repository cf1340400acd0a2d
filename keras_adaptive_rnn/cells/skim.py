"""Skim-RNN: a big cell reads what matters, and a small cell skims the rest."""

from typing import Any

from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.cells.bases.adaptive_computation import (
    AdaptiveComputationCell,
    ScheduledCell,
    cond_rows,
    straight_through,
)
from keras_adaptive_rnn.cells.bases.any_cell import (
    as_list,
    initial_states,
    memory_index,
    memory_states,
    project,
    step_states,
    validate_cell,
)
from keras_adaptive_rnn.cells.bases.cell import Cell
from keras_adaptive_rnn.cells.bases.container import ContainerCell
from keras_adaptive_rnn.cells.bases.noise import DIGITS, next_digits


@export
class SkimCell(ScheduledCell, AdaptiveComputationCell, ContainerCell):
    r"""A cell that reads each token with a big cell $f$, or skims it with a small cell $f'$ of $d'$ units.

    $$p_t = \mathrm{softmax}([x_t; h_{t-1}] W + b), \qquad h^1_t = f(x_t, h_{t-1}), \qquad
      h^2_t = [f'(x_t, h_{t-1});\; h_{t-1}[d' + 1 : d]]$$

    In inference, $h_t = h^1_t$ (read) if $p^1_t \ge p^2_t$, otherwise $h_t = h^2_t$ (skim). In training, the two are
    mixed,

    $$h_t = \sum_i r^i_t h^i_t, \qquad
      r^i_t = \frac{\exp((\log p^i_t + g^i_t) / \tau)}{\sum_j \exp((\log p^j_t + g^j_t) / \tau)}, \qquad
      g^i_t \sim \mathrm{Gumbel}(0, 1)$$

    with new noise in every step. With `estimator="reinforce"`, training draws the choice instead, $Q_t \sim p_t$ and
    $h_t = h^{Q_t}$, and `keras_adaptive_rnn.models.Reinforce` around the model trains it.

    The memory $c$ of an LSTM is treated like $h$. In inference, the gradient of the choice is the gradient of $p_t$
    (straight through). $f'$ is any cell of $d'$ units: its state is the first $d'$ entries of $h_{t-1}$, and it reads
    the other entries along with $x_t$, so it sees all of $h_{t-1}$.

    If the two cells are of different kinds, their memory states are paired in order. Further memory states of the big
    cell are kept when a token is skimmed. Further memory states of the small cell become additional states, which are
    kept when a token is read.

    In inference, `keras_adaptive_rnn.layers.RNN` computes $f$ only for the rows that are read: for a batch of one, in
    the steps that are read; for a larger batch, on a quarter, half, three quarters or all of its rows. It computes
    everything in training, if a gradient may be needed (in PyTorch unless gradients are off, in TensorFlow under a
    tape), and if a cell counts its steps, like a `ZoneoutCell`, or has an `SLSTMCell`'s memory. The results are the
    same.

    In `keras_adaptive_rnn.layers.RNN`, `skim_loss` adds $\gamma \frac{1}{T} \sum_t -\log p^2_t$ to the loss, averaged
    over the batch, without masked steps. With `return_decisions=True`, that layer also returns the decisions: $r^1_t$
    in training with `estimator="gumbel_softmax"`; otherwise, one if a token is read and zero if it is skimmed.

    $p$ and $r$ are computed in float32 under every dtype policy.

    Weights, in order: $W$ `[inputs + d, 2]`, with the columns read and skim; $b$ `[2]`; a trained initial state; $\tau$
    `[]`, which is not trained; the weights of the big cell and of the small cell.

    Args:
        cell: The big cell, a cell object; its first state, of size $d$, must be its output.
        small_cell: The small cell, a cell object of any kind. No state of it may be larger than the state of the big
            cell with which it is paired.
        estimator: How the gradient of the choice is estimated: `"gumbel_softmax"` (default), by the mix above, or
            `"reinforce"`, without bias, but with more variance. A cell with `"reinforce"` does not run in
            `keras.layers.RNN`.
        temperature: Positive number, $\tau$ at the start of training. Defaults to `0.5`. If
            `keras_adaptive_rnn.callbacks.Annealing` changes it from epoch to epoch, the weight holds the last value.
        skim_loss: Non-negative number, $\gamma$. Defaults to `0.0`. If it is positive, the cell does not run in
            `keras.layers.RNN`, which cannot add the loss.
        decision_initializer: Initializer of $W$. Defaults to `"glorot_uniform"`.
        **kwargs: As in `keras_adaptive_rnn.cells.Cell`.

    States: the big cell's states, then the unpaired states of the small cell, each `[batch, size]`, and the step
    count `[batch, 3]`, as digits of base 128. In training, the choice is random, and soft unless
    `estimator="reinforce"`.

    Example:

    >>> cell = keras_adaptive_rnn.SkimCell(keras.layers.LSTMCell(8), keras.layers.LSTMCell(2), skim_loss=0.01)
    >>> layer = keras_adaptive_rnn.layers.RNN(cell, return_decisions=True)
    >>> output, read = layer(np.ones((2, 5, 3)))
    >>> tuple(output.shape), tuple(read.shape), len(layer.losses)
    ((2, 8), (2, 5), 1)

    Reference: Seo, Min, Farhadi, Hajishirzi, Neural Speed Reading via Skim-RNN (2018), section 3.
    """

    aux_size = 3
    scheduled_names = ("temperature",)
    fixed_arguments = ("dropout", "recurrent_dropout")

    def __init__(
        self,
        cell: Any,
        small_cell: Any,
        *,
        estimator: str = "gumbel_softmax",
        temperature: float = 0.5,
        skim_loss: float = 0.0,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.cell, self.small_cell = validate_cell("cell", cell), validate_cell("small_cell", small_cell)
        self.estimator = _arguments.choice("estimator", estimator, ("gumbel_softmax", "reinforce"))
        self.temperature = _arguments.number("temperature", temperature, positive=True)
        self.skim_loss = _arguments.number("skim_loss", skim_loss, minimum=0)
        for name, inner in (("cell", self.cell), ("small_cell", self.small_cell)):
            rule = (
                f"Argument `{name}` of SkimCell must be a cell that reads its output in the next step, and "
                f"{type(inner).__name__}, with these arguments, does not"
            )
            _arguments.check(getattr(inner, "reads_output", True), rule, **{name: inner})
        rule = "Arguments `cell` and `small_cell` must be two cells, each with its own weights"
        _arguments.check(self.cell is not self.small_cell, rule, cell=cell, small_cell=small_cell)
        self._place_states()

    def _place_states(self):
        """Assigns each state of the small cell the index of a state of the big cell, or an index after them."""
        sizes, small_sizes = as_list(self.cell.state_size), as_list(self.small_cell.state_size)
        memory = [k for k, is_memory in enumerate(memory_states(self.cell)) if is_memory]
        self._places, unplaced = [], []
        for k, is_memory in enumerate(memory_states(self.small_cell)):
            if is_memory and memory:
                place = memory.pop(0)
                rule = "Argument `small_cell` must not have a state larger than the corresponding state of `cell`"
                _arguments.check(small_sizes[k] <= sizes[place], rule, small_cell=small_sizes, cell=sizes)
            else:
                place = len(sizes) + len(unplaced)
                unplaced.append(k)
            self._places.append(place)
        self._unplaced = unplaced
        self.state_size = [*sizes, *(small_sizes[k] for k in unplaced), DIGITS]
        self.output_size = sizes[0]

    def inner_cells(self):
        return [self.cell, self.small_cell]

    @property
    def adds_loss(self):
        return self.skim_loss > 0

    @property
    def draws_decisions(self):
        return self.estimator == "reinforce"

    def may_skip(self, run):
        # Both cells do their bookkeeping in every step.
        return super().may_skip(run) and all(self.memory_states[:-1])

    @property
    def memory_index(self):
        return memory_index(self.cell)

    @property
    def memory_states(self):
        small = memory_states(self.small_cell)
        return [*memory_states(self.cell), *(small[k] for k in self._unplaced), False]

    @property
    def step_noise_sizes(self):
        return {"skim": 2}

    def build(self, input_shape):
        inputs, units, small_units = input_shape[-1], self.output_size, as_list(self.small_cell.state_size)[0]
        self.build_decision(inputs + units, 2)
        self.build_inner(self.cell, input_shape)
        self.build_inner(self.small_cell, (input_shape[0], inputs + units - small_units))
        super().build(input_shape)

    def get_initial_state(self, batch_size=None):
        states = Cell.get_initial_state(self, batch_size)
        big, small = (initial_states(c, batch_size, self.compute_dtype) for c in (self.cell, self.small_cell))
        for k, state in enumerate([*big, *(small[k] for k in self._unplaced)]):
            if not (self.trainable_initial_state and self.memory_states[k]):
                states[k] = state
        return states

    def project(self, inputs, run):
        return inputs if self.may_skip(run) else [inputs, project(self.cell, inputs, run, self.compute_dtype)]

    def step(self, projected, states, run):
        if self.may_skip(run):
            return self._read_or_skim(projected, states, run)
        x, projected = projected
        log_p = self.log_probabilities(x, states)
        r = self._choice(log_p, states[-1], run)
        run.emit(self, r[:, :1], log_p[:, :1], log_p[:, 1:])
        run.sow(self, read=r[:, :1], skim_probability=ops.exp(log_p[:, 1:]))
        read, skimmed = self._read(projected, states, run), self.skim(x, states, run)
        r = ops.cast(r, self.compute_dtype)
        new = [r[:, :1] * a + r[:, 1:] * b for a, b in zip(read, skimmed, strict=True)]
        # Both cells do their bookkeeping in every step: a mix of two step counts would be meaningless.
        big = len(as_list(self.cell.state_size))
        for k, is_memory in enumerate(self.memory_states):
            if not is_memory:
                new[k] = read[k] if k < big else skimmed[k]
        new[-1] = next_digits(states[-1]) if run.training else states[-1]
        return new[0], new

    def _read_or_skim(self, x, states, run):
        """Computes a step of inference, with the big cell only on the rows that are read."""
        a = self.decision(x, states[0])
        read = a[:, :1] >= a[:, 1:]
        log_p = ops.log_softmax(a, axis=-1)
        run.emit(self, read, log_p[:, :1], log_p[:, 1:])
        new = cond_rows(
            read,
            lambda x, *old: self.read(x, list(old), run),
            lambda x, *old: self.skim(x, list(old), run),
            [x, *states],
        )
        return new[0], new

    def log_probabilities(self, inputs, states):
        """Returns the log probabilities of reading and of skimming, float32 `[batch, 2]`."""
        return ops.log_softmax(self.decision(inputs, states[0]), axis=-1)

    def read(self, inputs, states, run):
        """Returns the states after the big cell has read one token."""
        return self._read(project(self.cell, inputs, run, self.compute_dtype), states, run)

    def skim(self, inputs, states, run):
        """Returns the states after the small cell has skimmed one token."""
        sizes = as_list(self.small_cell.state_size)
        of_small = [states[place][:, :size] for place, size in zip(self._places, sizes, strict=True)]
        inputs = ops.concatenate([inputs, states[0][:, sizes[0] :]], axis=1)
        inputs = project(self.small_cell, inputs, run, self.compute_dtype)
        of_small = step_states(self.small_cell, inputs, of_small, run, self.compute_dtype)
        new = list(states)
        for place, state in zip(self._places, of_small, strict=True):
            new[place] = ops.concatenate([state, states[place][:, state.shape[-1] :]], axis=1)
        return new

    def _read(self, projected, states, run):
        big = len(as_list(self.cell.state_size))
        new = step_states(self.cell, projected, list(states[:big]), run, self.compute_dtype)
        return [*new, *states[big:]]

    def _choice(self, log_p, digits, run):
        """Returns the shares of reading and skimming, `[batch, 2]`: a mix, or one of the two."""
        if run.training:
            # A uniform number of zero would yield a Gumbel number of minus infinity.
            gumbel = -ops.log(-ops.log(ops.maximum(self.uniform("skim", digits, run), 2.0**-25)))
            # The larger of the two sums is a sample of p.
            log_p = log_p + gumbel
            if self.estimator == "gumbel_softmax":
                return ops.softmax(log_p / self.scheduled_values["temperature"], axis=-1)
        read = ops.cast(log_p[:, :1] >= log_p[:, 1:], "float32")
        chosen = ops.concatenate([read, 1 - read], axis=-1)
        return chosen if run.training else straight_through(chosen, ops.exp(log_p), run)

    def sequence_loss(self, emitted, counted):
        steps = ops.maximum(ops.sum(counted, axis=1), 1)
        return -self.skim_loss * ops.sum(emitted[..., 2], axis=1) / steps

    def log_likelihood(self, emitted):
        read, log_p_read, log_p_skim = (emitted[..., k] for k in range(3))
        return ops.sum(read * log_p_read + (1 - read) * log_p_skim, axis=1)
