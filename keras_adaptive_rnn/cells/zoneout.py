"""Zoneout: units that keep their value of the step before, at random."""

from typing import Any

from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.cells.bases.any_cell import split_sizes
from keras_adaptive_rnn.cells.bases.noise import DIGITS, next_digits
from keras_adaptive_rnn.cells.core_wrapper import CoreWrapperCell


@export
class ZoneoutCell(CoreWrapperCell):
    r"""A cell some of whose units keep their state of the step before, drawn anew in every step.

    With $\tilde s_t$ the state that the inner cell computes from $s_{t-1}$, for each of its states:

    $$s_t = d_t \odot s_{t-1} + (1 - d_t) \odot \tilde s_t, \qquad d_t \sim \mathrm{Bernoulli}(z)$$

    and in inference the expectation, $s_t = z\, s_{t-1} + (1 - z)\, \tilde s_t$. The output is the first state. A last
    state counts the steps, so that the noise of each step is new, also in `keras.layers.RNN`.

    Weights: those of the inner cell.

    Args:
        units: Positive integer, size of the core. Not given where `cell` is.
        zoneout: Float in `[0, 1)`, $z$ of every state; or a list of them, one for each state of the inner cell that is
            memory: `[0.05, 0.5]` for $h$ and $c$ of an LSTM. Defaults to `0.1`.
        core: `"lstm"` (default), `"gru"` or `"elman"`; it takes the further arguments.
        cell: A cell object to use in place of `units` and `core`; its first state must be its output.
        seed, trainable_initial_state: As in `keras_adaptive_rnn.cells.Cell`.
        **kwargs: Arguments of the core.

    Call arguments:
        inputs: Tensor `[batch, features]`.
        states: List of the inner cell's states, each `[batch, units]`, and the count `[batch, 3]`, digits of base 128.
        training: Whether states are kept at random.

    Returns: `output, states`; the output is the first state.

    Raises:
        ValueError: both `units` and `cell` are given, or neither, a rate is out of its range, or there are not as many
            rates as states.
        TypeError: an argument is unknown, or of the wrong type.

    Example:

    >>> cell = keras_adaptive_rnn.ZoneoutCell(8, zoneout=[0.05, 0.5])
    >>> tuple(keras_adaptive_rnn.layers.RNN(cell)(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Krueger et al., Zoneout: Regularizing RNNs by Randomly Preserving Hidden Activations (2017), section 3,
    equations 2 to 4.
    """

    own_state_size = (DIGITS,)
    fixed_arguments = ("dropout", "recurrent_dropout")

    def __init__(
        self,
        units: int | None = None,
        zoneout: float | list[float] = 0.1,
        *,
        core: str = "lstm",
        cell: Any = None,
        **kwargs,
    ):
        super().__init__(units, core=core, cell=cell, **kwargs)
        memories = sum(self.memory_states)
        rates = zoneout if isinstance(zoneout, (list, tuple)) else [zoneout] * memories
        self._rates = [_arguments.rate("zoneout", rate) for rate in rates]
        if len(rates) != memories:
            raise ValueError(
                f"Argument `zoneout` must be one rate, or one for each of the {memories} states of the inner cell. "
                f"Received: zoneout={zoneout!r}"
            )
        self.zoneout = list(self._rates) if isinstance(zoneout, (list, tuple)) else self._rates[0]

    @property
    def step_noise_sizes(self):
        sizes = zip(self.state_size, self.memory_states, strict=True)
        return {"zoneout": sum(size for size, is_memory in sizes if is_memory)} if any(self._rates) else {}

    def project(self, inputs, training=False):
        return self.inner_project(inputs, training)

    def step(self, projected, states, training=False):
        *old, digits = states
        _, new = self.inner_step(projected, old, training)
        memory = [k for k, is_memory in enumerate(self.memory_states) if is_memory]
        kept = self._kept([old[k].shape[-1] for k in memory], digits, training)
        for k, z in zip(memory, kept, strict=True):
            new[k] = z * old[k] + (1 - z) * new[k]
            self.sow(**{f"kept_{k}": z})
        return new[0], [*new, next_digits(digits) if training else digits]

    def _kept(self, sizes, digits, training):
        """Returns for each state how much of it is kept: all or nothing in training, the expectation in inference."""
        if not training or not any(self._rates):
            return self._rates
        drawn = split_sizes(self.uniform("zoneout", digits), sizes)
        return [ops.cast(u < z, self.compute_dtype) for u, z in zip(drawn, self._rates, strict=True)]
