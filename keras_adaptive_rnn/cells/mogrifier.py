"""The Mogrifier: input and state gate each other before each step."""

from typing import Any

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, activations, initializers, maps
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._types import Activation, Constraint, Initializer, Regularizer
from keras_adaptive_rnn.cells.core_wrapper import CoreWrapperCell

# With more rounds, tracing and compiling a step takes minutes.
MAXIMUM_ROUNDS = 100


@export
class MogrifierCell(CoreWrapperCell):
    r"""A cell whose input and state gate each other in turn before the step.

    With $x^{-1} = x_t$ and $h^0 = h_{t-1}$, for $i = 1, \dots, r$:

    $$x^i = 2 \sigma(h^{i-1} Q^i) \odot x^{i-2} \;\text{ for odd } i, \qquad
      h^i = 2 \sigma(x^{i-1} R^i) \odot h^{i-2} \;\text{ for even } i$$

    and the inner cell then takes a step from the last $x$ and $h$: $h_t, c_t = \mathrm{LSTM}(x^\uparrow, h^\uparrow,
    c_{t-1})$. With `rounds=0`, this is the inner cell itself; with $Q = R = 0$, all gates are exactly one.

    The paper compares this with three variants:

    - With `static_gates`, gates depend on no data but are learned scales (section 4.4): $x^i = 2 \sigma(b^i) \odot
      x^{i-2}$ for odd $i$, $h^i = 2 \sigma(b^i) \odot h^{i-2}$ for even $i$.
    - With another `gate_activation` $\phi$, gates may change a sign (section 4.2, which does not say by which
      function). A gate is $1 + 2 (\phi(a) - \phi(0))$: one at $a = 0$ for every $\phi$, $2 \sigma(a)$ for the sigmoid.
    - With `layer_normalization`, an argument of the inner cell, the gates of the LSTM are normalized (section 4.4).
      Batch normalization is left out: it needs moving averages, and a step, which is a pure function of tensors, cannot
      update them.

    Weights, in order: the weights of the inner cell, then `gates`, one map per round, $Q^1, R^2, Q^3, \dots$,
    `[units, inputs]` or `[inputs, units]`. With `rank`, each map has two factors, `right` `[., rank]` and `left`
    `[rank, .]`. With `gate_bias`, each is followed by its bias. With `static_gates`, there are the biases alone.

    Args:
        units: Positive integer, dimensionality of the output space. Must be omitted if `cell` is given.
        rounds: Integer from 0 to 100, the number $r$ of rounds. Defaults to `5`.
        rank: Positive integer, rank of $Q$ and $R$, at most the size of the inputs and of the state; `None` (default)
            for full matrices.
        zigzag: Whether each gate reads the result of the previous round; with `False`, every gate reads the original
            $x$ or $h$ (section 4 of the paper, where it does worse). Defaults to `True`.
        gate_bias: Whether the gates have a bias, as in the authors' code; the paper has none. Defaults to `False`.
        core: Name of the cell to wrap: `"lstm"` (default), `"gru"` or `"elman"`. Further arguments, such as
            `tied_gates=True`, are passed to it. The authors' code corresponds to `cap_input_gate=True` and
            `gate_bias=True`.
        cell: A cell object to wrap instead of `units` and `core`, such as `keras.layers.GRUCell(64)`; its first state
            must be its output.
        static_gates: Whether the gates are their biases alone. Two rounds then do what more would. Defaults to `False`.
        gate_activation: Activation function $\phi$ of the gates, elementwise. Defaults to `"sigmoid"`. With `"tanh"`,
            gates are between -1 and 3, and training may diverge (`examples/papers/ptb_mogrifier.py`).
        gate_initializer: Initializer of each $Q$ and $R$, or of each of their factors. Defaults to
            `"glorot_uniform"`.
        gate_regularizer: Regularizer of each $Q$ and $R$, `None` by default.
        gate_constraint: Constraint of each $Q$ and $R$, `None` by default.
        dropout, recurrent_dropout: Float in `[0, 1)`, fraction of $x_t$ and of $h_{t-1}$ to drop before the first
            round, with one mask per sequence, as in the authors' code. Default to `0.0`.
        **kwargs: Arguments of the wrapped cell.

    States: the inner cell's states; for an LSTM $h$ and $c$, each `[batch, units]`.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.MogrifierCell(8, rounds=4, rank=2))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    >>> layer = keras.layers.RNN(keras_adaptive_rnn.MogrifierCell(cell=keras.layers.GRUCell(8), rounds=4))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Melis, Kocisky, Blunsom, Mogrifier LSTM (2020), section 2, equations 1 and 2; the variants: section 4.
    """

    # Odd gates have the units of the state as rows, even ones as columns.
    divided_weights = {r"gate_\d*[13579]/kernel": 0, r"gate_\d*[02468]/kernel": 1}

    def __init__(
        self,
        units: int | None = None,
        *,
        rounds: int = 5,
        rank: int | None = None,
        zigzag: bool = True,
        gate_bias: bool = False,
        core: str = "lstm",
        cell: Any = None,
        static_gates: bool = False,
        gate_activation: Activation = "sigmoid",
        gate_initializer: Initializer = "glorot_uniform",
        gate_regularizer: Regularizer = None,
        gate_constraint: Constraint = None,
        **kwargs,
    ):
        super().__init__(units, core=core, cell=cell, **kwargs)
        self.rounds = _arguments.integer("rounds", rounds, minimum=0)
        rule = (
            f"Argument `rounds` must be at most {MAXIMUM_ROUNDS}: every round has its own weights and enlarges the "
            "graph of a step. The paper uses 5 or 6"
        )
        _arguments.check(self.rounds <= MAXIMUM_ROUNDS, rule, rounds=rounds)
        self.rank = _arguments.integer("rank", rank, optional=True)
        rule = f"Argument `rank` must be at most the size of the state, {self.state_size[0]}"
        _arguments.check(self.rank is None or self.rank <= self.state_size[0], rule, rank=rank)
        self.zigzag = _arguments.boolean("zigzag", zigzag)
        self.gate_bias = _arguments.boolean("gate_bias", gate_bias)
        self.static_gates = _arguments.boolean("static_gates", static_gates)
        rule = "Argument `rank` must be None with `static_gates=True`: these gates have no matrices"
        _arguments.check(not self.static_gates or self.rank is None, rule, rank=rank)
        self.gate_activation = _arguments.resolve("gate_activation", gate_activation, activations.get)
        # Zero for the sigmoid.
        self._gate_offset = 1 - 2 * _arguments.resolve("gate_activation", gate_activation, self._at_zero)
        self.gate_initializer = _arguments.resolve("gate_initializer", gate_initializer, initializers.get)
        self.gate_regularizer = _arguments.resolve("gate_regularizer", gate_regularizer, keras.regularizers.get)
        self.gate_constraint = _arguments.resolve("gate_constraint", gate_constraint, keras.constraints.get)
        self.gates, self.gate_biases = [], []

    def build(self, input_shape):
        inputs, units = input_shape[-1], self.state_size[0]
        for i in range(1, self.rounds + 1):
            read, gated = (units, inputs) if i % 2 else (inputs, units)
            if not self.static_gates:
                gate = maps.Full() if self.rank is None else maps.LowRank(self.rank)
                initializer = initializers.reseeded(self.gate_initializer, "gate", i)
                gate.bind(self, f"gate_{i}", gated, initializer, self.gate_regularizer, self.gate_constraint)
                gate.build_blocks((1,), read)
                self.gates.append(gate)
            if self.gate_bias or self.static_gates:
                bias = maps.Bias(gated, [keras.initializers.Zeros()], name=f"gate_bias_{i}", dtype=self.dtype_policy)
                bias.build()
                self.gate_biases.append(bias)
        super().build(input_shape)

    def _at_zero(self, activation):
        """Returns the value of an elementwise activation function at zero, as the cell computes it."""
        value = activations.get(activation)(ops.zeros(1, self.compute_dtype))
        return ops.convert_to_numpy(value).item()

    def project(self, inputs, run):
        return self.drop(inputs, "dropout", run)

    def step(self, projected, states, run):
        x, h = x_0, h_0 = projected, self.drop(states[0], "recurrent_dropout", run)
        for i in range(1, self.rounds + 1):
            if i % 2:
                x = self._gated(i, x, h if self.zigzag else h_0, run)
            else:
                h = self._gated(i, h, x if self.zigzag else x_0, run)
        return self.inner(x, [h, *states[1:]], run)

    def _gated(self, i, gated, read, run):
        a = ops.zeros_like(gated) if self.static_gates else self.gates[i - 1](read, run)
        gate = 2 * self.gate_activation(self.gate_biases[i - 1](a, run) if self.gate_biases else a)
        if self._gate_offset:
            gate = gate + self._gate_offset
        run.sow(self, **{f"gate_{i}": gate})
        return gate * gated
