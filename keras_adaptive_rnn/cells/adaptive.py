"""Adaptive cells: a small policy network rescales the linear maps of a gated cell in every step."""

from typing import Any

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, activations, initializers, maps
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._seeds import fold_in
from keras_adaptive_rnn._types import Initializer
from keras_adaptive_rnn.cells.bases import any_cell
from keras_adaptive_rnn.cells.bases.gated import GatedCell
from keras_adaptive_rnn.cells.elman import ElmanCell
from keras_adaptive_rnn.cells.lstm import LSTMCell

POLICIES, POLICY_UNITS = ("static", "recurrent"), 100
ADAPTATIONS = ("io", "input", "output", "sva")


class AdaptiveGatedCell(GatedCell):
    r"""A gated cell whose linear maps are rescaled in every step by a policy.

    $$a = D^{x,2} W D^{x,1} x_t + D^{h,2} V D^{h,1} h_{t-1} + D^b b, \qquad D^k = \mathrm{diag}(\tanh(z_t U^k))$$
    """

    fixed_arguments = ("layer_normalization", "per_gate_dropout")
    is_affine = False
    divided_weights = {"policy/.*": None}

    def __init__(
        self,
        units: int,
        *,
        policy_units: int = POLICY_UNITS,
        policy: str = "recurrent",
        policy_cell: Any = None,
        adaptation: str = "io",
        tied: bool = True,
        rank: int | None = None,
        policy_dropout: float = 0.0,
        policy_initializer: Initializer = "orthogonal",
        kernel_initializer: Initializer = "orthogonal",
        **kwargs,
    ):
        super().__init__(units, kernel_initializer=kernel_initializer, **kwargs)
        self.policy_units = _arguments.integer("policy_units", policy_units)
        self.policy = _arguments.choice("policy", policy, POLICIES)
        self.adaptation = _arguments.choice("adaptation", adaptation, ADAPTATIONS)
        self.tied = _arguments.boolean("tied", tied)
        self.rank = _arguments.integer("rank", rank, optional=True)
        fits = rank is None or adaptation == "sva"
        _arguments.check(fits, "Argument `rank` must be None unless adaptation='sva'", rank=rank, adaptation=adaptation)
        self.policy_dropout = _arguments.rate("policy_dropout", policy_dropout)
        self.policy_initializer = _arguments.resolve("policy_initializer", policy_initializer, initializers.get)
        self.core_state_size = list(self.state_size)
        self.context_size = 0
        self._makes_policy = policy_cell is None
        if not self._makes_policy:
            self.policy_cell = self._checked_policy(policy_cell, policy_units)
            self.policy_units = any_cell.output_size(self.policy_cell)
            self.state_size = [*self.core_state_size, *any_cell.as_list(self.policy_cell.state_size)]
        elif self.policy == "recurrent":
            seed = fold_in(self.seed, "policy")
            self.policy_cell = LSTMCell(self.policy_units, seed=seed, name="policy", dtype=self.dtype_policy)
            self.state_size = [*self.core_state_size, *self.policy_cell.state_size]
        else:
            self.policy_map = maps.Full().bind(self, "policy_map", self.policy_units, "glorot_uniform")
            self.policy_bias = maps.Bias(
                self.policy_units, [keras.initializers.Zeros()], name="policy_bias", dtype=self.dtype_policy
            )

    def _checked_policy(self, cell, policy_units):
        """Returns a cell for the policy, or raises an error."""
        rule = "Argument `policy_cell` must be None unless policy='recurrent'"
        _arguments.check(self.policy == "recurrent", rule, policy_cell=cell, policy=self.policy)
        cell = any_cell.validate_cell("policy_cell", cell)
        size = any_cell.output_size(cell)
        rule = f"Argument `policy_units` must be the size of the output of `policy_cell`, {size}, or not be given"
        _arguments.check(policy_units in (POLICY_UNITS, size), rule, policy_units=policy_units)
        rule = (
            "Argument `policy_cell` must be a cell whose initial state is not trained; with "
            "trainable_initial_state=True, the adaptive cell trains that of the policy, too"
        )
        _arguments.check(not any_cell.has_trainable_initial_state(cell), rule, policy_cell=cell)
        return cell

    def config_value(self, name):
        return None if name == "policy_cell" and self._makes_policy else super().config_value(name)

    # Weights.

    def build_maps(self):
        sizes = {"x": self.input_size, "h": self.state_size[0]}
        self.bases = {}
        if self.adaptation == "sva":
            first = {"x": self.kernel_initializer, "h": self.recurrent_initializer}
            for name, size in sizes.items():
                rank = self.rank or min(size, self.units)
                basis = maps.Full().bind(self, f"{name}_basis", rank, initializers.reseeded(first[name], "basis"))
                basis.build_blocks((1 if self.tied else len(self.gates),), size)
                self.bases[name], sizes[name] = basis, rank
        self.kernel_map.build_blocks((len(self.gates),), sizes["x"], per_block=not self.tied)
        self.recurrent_map.build_blocks((len(self.gates),), sizes["h"], per_block=not self.tied)
        self.policy_sizes = self._sub_policy_sizes(sizes)
        summary = self.input_size + self.state_size[0] + self.context_size
        if self.policy == "static":
            self.policy_map.build_blocks((1,), summary)
            self.policy_bias.build()
        elif not getattr(self.policy_cell, "built", True):
            self.policy_cell.build((None, summary))
        size = sum(self.policy_sizes.values())
        self.sub_policies = maps.Full().bind(self, "sub_policies", size, self.policy_initializer)
        self.sub_policies.build_blocks((1,), self.policy_units)

    def _sub_policy_sizes(self, sizes):
        """Returns the size of each sub-policy, in the order in which their projections are concatenated."""
        all_gates = len(self.gates) * self.units
        first = {f"{name}1": size * (1 if self.tied else len(self.gates)) for name, size in sizes.items()}
        second = {"x2": all_gates, "h2": all_gates}
        return {
            **({} if self.adaptation == "output" else first),
            **(second if self.adaptation in ("io", "output") else {}),
            **({"b": all_gates} if self.use_bias else {}),
        }

    @property
    def noise_sizes(self):
        return {**super().noise_sizes, "policy_dropout": self.policy_units}

    # The equations.

    def project(self, inputs, run):
        x = self.drop(inputs, "dropout", run)
        return [x] if self.adaptation in ("io", "input") else [x, self._before(x, "x", run)]

    def step(self, projected, states, run, context=()):
        """Returns `output, states`; `context` is a list of further tensors that the policy reads."""
        core, policy = states[: len(self.core_state_size)], states[len(self.core_state_size) :]
        x, h = projected[0], self.drop(core[0], "recurrent_dropout", run)
        z, policy = self.latent(ops.concatenate([x, h, *context], axis=-1), policy, run)
        d = self.sub_policies_of(z, run)
        run.sow(self, z=z, **{f"policy_{name}": pi for name, pi in d.items()})
        a = self._after(projected[-1], "x", d, run) + self.adapted(h, "h", d, run)
        if self.use_bias:
            a = a + d["b"] * self.bias_layer.value(run)
        output, core = self.update(a, core, run)
        return output, [*core, *policy]

    def latent(self, v, states, run):
        """Returns the policy latent $z_t$ for the summary $v_t$, and the states of the policy."""
        if self.policy == "static":
            z = ops.relu(self.policy_bias(self.policy_map(v, run), run))
        elif not self._makes_policy:
            projected = any_cell.project(self.policy_cell, v, run, self.compute_dtype)
            z, states = any_cell.step(self.policy_cell, projected, states, run, self.compute_dtype)
        else:
            z, c = states
            z = self.drop(z, "policy_dropout", run)
            z, states = self.policy_cell.step(self.policy_cell.project(v, run), [z, c], run)
        return self.drop(z, "policy_dropout", run), states

    def sub_policies_of(self, z, run):
        """Returns the diagonals $D^k$ as vectors, by name: `x1`, `h1`, `x2`, `h2`, `b`."""
        pi = activations.tanh(self.sub_policies(z, run))
        return dict(zip(self.policy_sizes, any_cell.split_sizes(pi, self.policy_sizes.values()), strict=True))

    def adapted(self, v, name, d, run):
        """Returns $D^2 W D^1 v$ for the inputs (`"x"`) or the state (`"h"`), by the diagonals of `sub_policies_of`."""
        return self._after(self._before(v, name, run), name, d, run)

    def _before(self, v, name, run):
        """Applies the part of the map that precedes the policy."""
        if self.adaptation == "sva":
            return self.bases[name](v, run)
        return self._map(name)(v, run) if self.adaptation == "output" else v

    def _after(self, v, name, d, run):
        """Returns $D^2 W D^1 v$ from the result of `_before`."""
        if self.adaptation == "output":
            return d[f"{name}2"] * v
        first = d[f"{name}1"]
        if not self.tied:
            # Every gate reads a vector of its own.
            first = ops.reshape(first, (-1, len(self.gates), first.shape[-1] // len(self.gates)))
            v = ops.reshape(v, (-1, v.shape[-1] // first.shape[-1], first.shape[-1]))
        product = self._map(name)(first * v, run, per_block=not self.tied)
        return d[f"{name}2"] * product if self.adaptation == "io" else product

    def _map(self, name):
        return self.kernel_map if name == "x" else self.recurrent_map


@export
class AdaptiveLSTMCell(AdaptiveGatedCell, LSTMCell):
    r"""An LSTM whose matrices and biases are rescaled in every step by a small policy network.

    A latent $z_t$ of `policy_units` entries is computed from $v_t = [x_t; h_{t-1}]$, by a static policy,
    $z_t = \mathrm{ReLU}(v_t W_z + b_z)$, or a recurrent one, $z_t = \mathrm{LSTM}(v_t, z_{t-1})$. Each sub-policy is
    $\pi^k = \tanh(z_t U^k)$, $D^k = \mathrm{diag}(\pi^k)$, and with IO-adaptation, for each gate
    $s \in \{i, f, c, o\}$:

    $$u^s = D^{s,x,2} W^s D^{s,x,1} x_t + D^{s,h,2} V^s D^{s,h,1} h_{t-1} + D^{s,b} b^s$$
    $$c_t = \sigma(u^f) \odot c_{t-1} + \sigma(u^i) \odot \phi(u^c), \qquad h_t = \sigma(u^o) \odot \phi(c_t)$$

    `adaptation="input"` omits the second $D$, and `"output"` the first. `"sva"` (singular value adaptation) uses
    $L^s D^{s,x} R^s x_t$ instead of $D W D x_t$, and likewise for $h$.

    Weights, in order, gates concatenated as i, f, c, o: `kernel_map` $W$ `[inputs, 4 units]`; `recurrent_map` $V$
    `[units, 4 units]`; the weights of the policy, an LSTM or a dense layer; with `"sva"`, where the first two are $L$,
    the bases $R$ `[inputs, rank]` and `[units, rank]`; `sub_policies` $U$ `[policy_units, size]`, concatenated as x1,
    h1, x2, h2, b, with a size of inputs + 13 units for tied IO-adaptation; `bias` `[4 units]`.

    Args:
        units: Positive integer, dimensionality of the output space.
        policy_units: Positive integer, size of $z$. Defaults to `100`.
        policy: `"recurrent"` (default), equation 8, or `"static"` (equation 7).
        policy_cell: A cell object, to be a recurrent policy in place of the LSTM, such as
            `keras_adaptive_rnn.RecurrentHighwayCell(100)`, which the authors tried; $z$ is its output. Defaults to
            `None`.
        adaptation: `"io"` (default), `"input"`, `"output"` or `"sva"`.
        tied: Whether the gates share the first $D$ (with `"sva"`, $R$ and $D$), which takes half the time. Defaults to
            `True`.
        rank: Positive integer, the number of singular values with `"sva"`; `None` (default) for the maximum.
        policy_dropout: Float in `[0, 1)`, fraction of $z$ to drop wherever it is read, with one mask per sequence; a
            `policy_cell` itself has its own `recurrent_dropout`. Defaults to `0.0`.
        policy_initializer: Initializer of $U$. Defaults to `"orthogonal"`.
        kernel_initializer, recurrent_initializer: Initializers of $W$ and $V$. Default to `"orthogonal"`, which makes
            the concatenated gates semi-orthogonal, as in the authors' code.
        dropout, recurrent_dropout: Float in `[0, 1)`, fraction of $x_t$ and of $h_{t-1}$ to drop wherever they are
            read, with one mask per sequence. Default to `0.0`. The paper also drops the output of the top layer; the
            layer `keras_adaptive_rnn.layers.AdaptiveLSTM` has an argument for that.
        **kwargs: As in `keras_adaptive_rnn.LSTMCell`, except `layer_normalization`, `per_gate_dropout` and `peepholes`.

    States: $h$ and $c$, each `[batch, units]`; with a recurrent policy also $z$ and the policy's own memory, each
    `[batch, policy_units]`, or the states of `policy_cell`.

    Example:

    >>> cell = keras_adaptive_rnn.AdaptiveLSTMCell(8, policy_units=4)
    >>> tuple(keras.layers.RNN(cell)(np.ones((2, 5, 3))).shape)
    (2, 8)
    >>> cell.sub_policies.units == 3 + 13 * 8
    True

    Reference: Flennerhag, Yin, Keane, Elliot, Breaking the Activation Function Bottleneck through Adaptive
    Parameterization (2018), section 3, equations 6 to 9. The authors' code splits the policy vector in other places;
    this cell follows the paper.
    """

    # The policy rescales the terms of the equations, which have no peepholes.
    fixed_arguments = ("peepholes",)


@export
class AdaptiveRNNCell(AdaptiveGatedCell, ElmanCell):
    r"""An Elman cell whose matrices and bias are rescaled in every step by a small policy network.

    $$h_t = \phi(D^{x,2} W D^{x,1} x_t + D^{h,2} V D^{h,1} h_{t-1} + D^b b)$$

    with the policies and adaptations of `keras_adaptive_rnn.AdaptiveLSTMCell`.

    Weights: as in `keras_adaptive_rnn.AdaptiveLSTMCell`, with one gate instead of four.

    Args:
        policy_units, policy, policy_cell, adaptation, rank, policy_dropout, policy_initializer: As in
            `keras_adaptive_rnn.AdaptiveLSTMCell`.
        tied: As in `keras_adaptive_rnn.AdaptiveLSTMCell`. It makes no difference with one gate.
        kernel_initializer: Initializer of $W$. Defaults to `"orthogonal"`.
        **kwargs: As in `keras_adaptive_rnn.ElmanCell`, except `layer_normalization` and `per_gate_dropout`.

    States: $h$ `[batch, units]`; with a recurrent policy also $z$ and the policy's own memory, each `[batch,
    policy_units]`.

    Example:

    >>> cell = keras_adaptive_rnn.AdaptiveRNNCell(8, policy_units=4, policy="static")
    >>> tuple(keras.layers.RNN(cell)(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Flennerhag, Yin, Keane, Elliot, Breaking the Activation Function Bottleneck through Adaptive
    Parameterization (2018), section 3, with the Elman cell, as in the authors' code.
    """
