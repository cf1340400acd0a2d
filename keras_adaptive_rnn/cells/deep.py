"""Deep stacks of vanilla recurrent layers, with skip connections and stochastic depth."""

import functools

from keras import ops

from keras_adaptive_rnn import _arguments, engine, initializers
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._types import Activation, Initializer
from keras_adaptive_rnn.cells.bases.any_cell import split_sizes
from keras_adaptive_rnn.cells.bases.gated import GatedCell
from keras_adaptive_rnn.cells.bases.noise import DIGITS, next_digits


@export
class DeepRNNCell(GatedCell):
    r"""A stack of Elman layers as one cell, up to 144 layers and more.

    With $x_1 = x_t$ and $x_i = h_{i-1}(t)$ for $i > 1$, for $i = 1, \dots, L$:

    $$h_i(t) = f(x_i(t) U_i + h_i(t-1) W_i + b_i) \; (+ \; \alpha h_{i-k}(t) \;\text{ for } i = k, 2k, 3k, \dots)$$

    The output is $h_L$. The skip connection of layer $k$ comes from $x_t$ if $x_t$ has `units` features; otherwise
    layer $k$ has none. With `block_dropout`, a block of $k$ layers may be skipped for a step: its states are kept, and
    its output is its input.

    By default every $h_i$ starts with unit variance, at any depth. For inputs of unit variance, (semi-)orthogonal
    $U_i$ and $W_i$ with gain $g_i$, and many units, $x_i U_i + h_i W_i$ is close to $s_i z$ with
    $z \sim \mathcal{N}(0, 1)$, so that $s_i$ and $g_i$ follow from $f$ and $\alpha$, the lowest layer first:

    $$\operatorname{Var}(f(s_i z) \; (+ \; \alpha h_{i-k})) = 1, \qquad
      g_i = s_i / \sqrt{\operatorname{E} x_i^2 + \operatorname{E} h_i^2}$$

    If $f$ is bounded and cannot reach unit variance, like tanh, $s_i = 1$. $U_i$ and $W_i$ share a gain, so gradients
    flow equally through layers and time, as in the paper. The paper scales by LSUV, measured on data, instead:
    `keras_adaptive_rnn.callbacks.LSUV` does that, with any initializers. States start from zero, so a stack without
    skip connections takes about `depth` steps to reach unit variance.

    Weights, in order: `kernel_map` $U_1$ `[inputs, units]`; `recurrent_map` $W_1, \dots, W_L$,
    concatenated, `[units, depth * units]`; `inner_map` $U_2, \dots, U_L$, concatenated, `[units, (depth - 1) * units]`;
    `bias` `[depth, units]` (`[units]` if `depth` is one).

    Args:
        units: Positive integer, size of every layer.
        depth: Positive integer, $L$.
        activation: $f$. Defaults to `"belu"`, the bipolar ELU.
        skip_every: Positive integer, $k$; `None` for no skip connections. Defaults to `4`.
        skip_scale: Number, $\alpha$. Defaults to `0.99`: below one, so that the layer itself can contribute to an
            output of unit variance.
        dropout: Float in `[0, 1)`, fraction of each $x_i$ to drop, with a new mask in every step. Defaults to `0.0`.
        recurrent_dropout: Float in `[0, 1)`, fraction of each $h_i(t-1)$ to drop in the product with $W_i$, with one
            mask per sequence and layer (rnnDrop). Defaults to `0.0`.
        block_dropout: Float in `[0, 1)`, probability that a block of `skip_every` layers is skipped for a step, drawn
            per sample and step. Nothing is rescaled in inference. The lowest block is never skipped if its inputs do
            not have `units` features. Defaults to `0.0`.
        kernel_initializer, recurrent_initializer: Initializers of $U_i$ and $W_i$. Default to `"unit_variance"`, which
            is scaled by $g_i$; any other initializer is used as it is.
        **kwargs: As in `keras_adaptive_rnn.cells.GatedCell`, except `layer_normalization` and `per_gate_dropout`.

    States: $h_L, \dots, h_1$, each `[batch, units]`. With `block_dropout` they are preceded by the output, which
    the next step does not read; with `dropout` or `block_dropout` they are followed by a step count, `[batch, 3]`.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.DeepRNNCell(8, depth=12))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Eidnes, Nokland, Shifting Mean Activation Towards Zero with Bipolar Activation Functions (2018),
    section 3, equations 3 and 4, and section 4.1. In the authors' code a dropped block adds its skip connection to its
    output, and blocks are dropped for the whole batch; this cell follows the paper. The initial scale: He et al.,
    Delving Deep into Rectifiers (2015), section 2.2, for any $f$, as in Klambauer et al., Self-Normalizing Neural
    Networks (2017), section 2; the target: Mishkin and Matas, All You Need Is a Good Init (2016).
    """

    gates = ("h",)
    is_affine = True
    divided_weights = {"inner_map/kernel": 1}
    fixed_arguments = ("layer_normalization", "per_gate_dropout")
    fixed_noise_rates = ("block_dropout",)

    def __init__(
        self,
        units: int,
        depth: int,
        *,
        activation: Activation = "belu",
        skip_every: int | None = 4,
        skip_scale: float = 0.99,
        block_dropout: float = 0.0,
        kernel_initializer: Initializer = "unit_variance",
        recurrent_initializer: Initializer = "unit_variance",
        **kwargs,
    ):
        super().__init__(
            units,
            activation=activation,
            kernel_initializer=kernel_initializer,
            recurrent_initializer=recurrent_initializer,
            **kwargs,
        )
        self.depth = _arguments.integer("depth", depth)
        self.skip_every = _arguments.integer("skip_every", skip_every, optional=True)
        self.skip_scale = _arguments.number("skip_scale", skip_scale)
        self.block_dropout = _arguments.rate("block_dropout", block_dropout)
        fits = self.block_dropout == 0 or self.skip_every is not None
        rule = "Argument `skip_every` must be an integer if `block_dropout` is positive"
        _arguments.check(fits, rule, skip_every=skip_every, block_dropout=block_dropout)
        if self.depth > 1:
            initializer = initializers.reseeded(self.kernel_initializer, "inner")
            arguments = self.arguments_of("kernel", initializer=initializer)
            self.inner_map = self.kernel_map.like("inner").bind(self, "inner_map", self.units, **arguments)
        self.reads_output = self.block_dropout == 0
        self._counts = self.dropout > 0 or self.block_dropout > 0
        first = 0 if self.reads_output else 1
        self.state_size = [self.units] * (first + self.depth) + ([DIGITS] if self._counts else [])
        self.layer_states = slice(first, first + self.depth)

    # Weights and noise.

    def build_maps(self):
        @functools.cache
        def gains():
            # TensorFlow may build the cell inside a graph.
            with engine.outside_graph():
                return initializers.unit_variance_gains(self.activation, self.units, self.skips())

        above = (1,) * (self.depth - 1)
        for linear_map in (self.kernel_map, self.recurrent_map):
            linear_map.initializer = initializers.scaled(linear_map.initializer, gains)
        self.kernel_map.build_blocks((1,), self.input_size)
        self.recurrent_map.build_blocks((self.depth,), self.units, init_groups=(1, *above), per_block=True)
        if above:
            self.inner_map.initializer = initializers.scaled(self.inner_map.initializer, gains, first=1)
            self.inner_map.build_blocks(above, self.units, init_groups=above)

    def skips(self):
        """Returns the source and scale of each layer's skip connection, or `None` for a layer without one."""
        is_square = self.input_size == self.units
        ends = {b[-1]: b[0] - 1 for b in self.blocks() if len(b) == self.skip_every and (b[0] > 0 or is_square)}
        return [(ends[i], self.skip_scale) if i in ends else None for i in range(self.depth)]

    @property
    def bias_rows(self):
        return self.depth

    @property
    def memory_states(self):
        return [self.layer_states.start <= k < self.layer_states.stop for k in range(len(self.state_size))]

    @property
    def noise_sizes(self):
        return {"recurrent_dropout": self.depth * self.units}

    @property
    def step_noise_sizes(self):
        sizes = {"dropout": self.input_size + (self.depth - 1) * self.units, "block_dropout": len(self.blocks())}
        return {name: size for name, size in sizes.items() if getattr(self, name) > 0}

    def blocks(self):
        """Returns the layers of each block as ranges."""
        size = self.skip_every or self.depth
        return [range(k, min(k + size, self.depth)) for k in range(0, self.depth, size)]

    # The equations.

    def project(self, inputs, run):
        # With a new dropout mask per step, the product must wait for the step.
        drops = run.training and self.dropout > 0
        return [inputs] if drops else [inputs, self.kernel_map(inputs, run)]

    def step(self, projected, states, run):
        old, digits = list(states[self.layer_states])[::-1], states[-1]
        kept_inputs = self._kept_inputs(digits, run)
        kept_blocks = self.kept_blocks(digits, run)
        recurrent = self.recurrent_products(old, run)
        skips, new, x = self.skips(), [], projected[0]
        for k, block in enumerate(self.blocks()):
            block_input = x
            for i in block:
                read = x if kept_inputs is None else x * kept_inputs[i]
                if i == 0:
                    below = self.kernel_map(read, run) if len(projected) == 1 else projected[1]
                else:
                    below = self.inner_map(read, run, i - 1)
                x = self.activation(self.bias_layer(below + recurrent[i], run, i))
                if skips[i] is not None:
                    x = x + self.skip_scale * block_input
                new.append(x)
            # Only the cell's inputs can differ in size from a layer; then they cannot replace it.
            if kept_blocks is not None and block_input.shape[-1] == self.units:
                for i in block:
                    new[i] = select(kept_blocks[k], new[i], old[i])
                x = select(kept_blocks[k], x, block_input)
        states = [*([] if self.reads_output else [x]), *new[::-1]]
        return x, [*states, next_digits(digits) if run.training else digits] if self._counts else states

    def recurrent_products(self, h, run):
        """Returns $h_i W_i$ for all layers by one batched product, since all states are known when the step starts."""
        h = self.drop(ops.concatenate(h, axis=-1), "recurrent_dropout", run)
        per_layer = ops.reshape(h, (-1, self.depth, self.units))
        return ops.split(self.recurrent_map(per_layer, run, per_block=True), self.depth, axis=-1)

    def _kept_inputs(self, digits, run):
        """Returns the scaled dropout mask of each layer's inputs, or `None` without dropout."""
        if not run.training or self.dropout == 0:
            return None
        kept = ops.cast(self.uniform("dropout", digits, run) >= self.dropout, self.compute_dtype) / (1 - self.dropout)
        return split_sizes(kept, [self.input_size, *([self.units] * (self.depth - 1))])

    def kept_blocks(self, digits, run):
        """Returns the mask of each block, `[batch, 1]`, one if it is kept, or `None` without block dropout."""
        if not run.training or self.block_dropout == 0:
            return None
        kept = ops.cast(self.uniform("block_dropout", digits, run) >= self.block_dropout, self.compute_dtype)
        return ops.split(kept, len(self.blocks()), axis=-1)


def select(kept, new, old):
    """Returns `new` where `kept` is one, and `old` where it is zero."""
    return kept * new + (1 - kept) * old
