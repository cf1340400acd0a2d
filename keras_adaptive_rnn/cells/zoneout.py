"""Zoneout: in each step, random units keep their previous value."""

from typing import Any

from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.cells.bases.any_cell import split_sizes
from keras_adaptive_rnn.cells.bases.noise import DIGITS, next_digits
from keras_adaptive_rnn.cells.core_wrapper import CoreWrapperCell


@export
class ZoneoutCell(CoreWrapperCell):
    r"""A cell in which random units, drawn anew in every step, keep their previous state.

    With $\tilde s_t$ the state that the inner cell computes from $s_{t-1}$, for each of its states:

    $$s_t = d_t \odot s_{t-1} + (1 - d_t) \odot \tilde s_t, \qquad d_t \sim \mathrm{Bernoulli}(z)$$

    and in inference the expectation, $s_t = z\, s_{t-1} + (1 - z)\, \tilde s_t$. The output is the first state.
    The last state counts the steps, so that every step has new noise, also in `keras.layers.RNN`.

    Weights: the weights of the inner cell.

    Args:
        units: Positive integer, dimensionality of the output space. Must be omitted if `cell` is given.
        zoneout: Float in `[0, 1)`, $z$ for all states, or a list of floats, one for each memory state of the inner
            cell, such as `[0.05, 0.5]` for $h$ and $c$ of an LSTM. Defaults to `0.1`.
        core: Name of the cell to wrap: `"lstm"` (default), `"gru"` or `"elman"`. Further arguments are passed to it.
        cell: A cell object to wrap instead of `units` and `core`; its first state must be its output.
        **kwargs: Arguments of the wrapped cell.

    States: the inner cell's states, each `[batch, units]`, and the step count `[batch, 3]`, as digits of base 128.
    Noise is drawn in training alone.

    Example:

    >>> cell = keras_adaptive_rnn.ZoneoutCell(8, zoneout=[0.05, 0.5])
    >>> tuple(keras_adaptive_rnn.layers.RNN(cell)(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Krueger et al., Zoneout: Regularizing RNNs by Randomly Preserving Hidden Activations (2017), section 3,
    equations 2 to 4.
    """

    own_state_size = (DIGITS,)
    fixed_noise_rates = ("zoneout",)
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
        rule = f"Argument `zoneout` must be one rate, or a list with one rate for each of the {memories} states"
        _arguments.check(len(rates) == memories, rule, zoneout=zoneout)
        self.zoneout = list(self._rates) if isinstance(zoneout, (list, tuple)) else self._rates[0]

    @property
    def step_noise_sizes(self):
        sizes = zip(self.state_size, self.memory_states, strict=True)
        return {"zoneout": sum(size for size, is_memory in sizes if is_memory)} if any(self._rates) else {}

    def project(self, inputs, run):
        return self.inner_project(inputs, run)

    def step(self, projected, states, run):
        *old, digits = states
        new = self.inner_states(projected, old, run)
        memory = [k for k, is_memory in enumerate(self.memory_states) if is_memory]
        kept = self._kept([old[k].shape[-1] for k in memory], digits, run)
        for k, z in zip(memory, kept, strict=True):
            new[k] = z * old[k] + (1 - z) * new[k]
            run.sow(self, **{f"kept_{k}": z})
        return new[0], [*new, next_digits(digits) if run.training else digits]

    def _kept(self, sizes, digits, run):
        """Returns how much of each state is kept: for each unit all or nothing in training, the rate in inference."""
        if not run.training or not any(self._rates):
            return self._rates
        drawn = split_sizes(self.uniform("zoneout", digits, run), sizes)
        return [ops.cast(u < z, self.compute_dtype) for u, z in zip(drawn, self._rates, strict=True)]
