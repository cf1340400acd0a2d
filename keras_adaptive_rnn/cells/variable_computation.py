"""Variable computation: each step uses and updates only the first dimensions of input and state."""

from keras import ops

from keras_adaptive_rnn import _arguments, engine
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.cells.bases.adaptive_computation import AdaptiveComputationCell, ScheduledCell, straight_through
from keras_adaptive_rnn.cells.bases.gated import GatedCell

CORES = {"rnn": ("h",), "gru": ("z", "r", "h")}


@export
class VariableComputationCell(ScheduledCell, AdaptiveComputationCell, GatedCell):
    r"""A recurrent cell that decides in every step how many dimensions of its input and state to use.

    With $D$ units, a scheduler chooses which fraction $m_t$ of them to use:

    $$m_t = \sigma(h_{t-1} u + x_t v + b), \qquad
      (e_t)_i = \mathrm{Thres}_\epsilon(\sigma(\lambda (m_t D - i))), \quad i = 1, \dots, D$$

    where $\mathrm{Thres}_\epsilon$ rounds values above $1 - \epsilon$ to one and values below $\epsilon$ to zero. With
    $\bar h = e_t \odot h_{t-1}$ and $\bar x = e_t \odot x_t$, the VCRNN (`core="rnn"`) is

    $$h_t = e_t \odot \phi(\bar x W + \bar h U + b) + (1 - e_t) \odot h_{t-1}$$

    and the VCGRU (`core="gru"`), with the keep gate $k$ and the reset gate $r$, is

    $$z_t = e_t \odot (1 - \sigma(\bar x W_k + \bar h U_k + b_k)), \qquad r_t = \sigma(\bar x W_r + \bar h U_r + b_r)$$
    $$h_t = z_t \odot \phi(\bar x W_h + (r_t \odot \bar h) U_h + b_h) + (1 - z_t) \odot h_{t-1}$$

    These equations have the soft mask used in training. In inference, exactly the first $\lceil m_t D \rceil$
    dimensions are used and updated: $(e_t)_i = 1$ for $i < m_t D + 1$ and zero otherwise, with the gradient of the soft
    mask (straight through). If the input and the state differ in size, the same fraction of each is used. The smaller
    $\lambda$, the more inference differs from training, so raise it from epoch to epoch.

    In inference, `keras_adaptive_rnn.layers.RNN` computes with the first quarter, half, three quarters or all of the
    dimensions, whichever is just enough for every row of the batch. It uses all of them with layer normalization, with
    a map of the user's own that does not implement `narrow`, and if a gradient may be needed (in PyTorch unless
    gradients are off, in TensorFlow under a tape). The results are the same.

    In `keras_adaptive_rnn.layers.RNN`, `cost_weight` adds $\beta \frac{1}{T} \sum_t |m_t - \bar m|$ to the loss,
    averaged over the batch, without masked steps. With `return_decisions=True`, that layer also returns the cost of
    each step, the fraction of the dimensions used, $\lceil m_t D \rceil / D$.

    $m$ and $e$ are computed in float32 under every dtype policy.

    Weights, in order: the scheduler's $[v; u]$ `[inputs + units, 1]` and $b$ `[1]`; a trained initial state; $\lambda$
    `[]`, which is not trained; then the weights of a `keras_adaptive_rnn.ElmanCell`, or of a
    `keras_adaptive_rnn.GRUCell` with `reset_after=False`, gates concatenated as k, r, h.

    Args:
        units: Positive integer $D$, dimensionality of the output space.
        core: `"rnn"` (default) for the VCRNN or `"gru"` for the VCGRU.
        sharpness: Positive number, $\lambda$ at the start of training. Defaults to `0.1`. If
            `keras_adaptive_rnn.callbacks.Annealing` changes it from epoch to epoch, the weight holds the last value.
        epsilon: Number in `[0, 0.5)`, $\epsilon$. Defaults to `0.01`.
        cost_weight: Non-negative number, $\beta$. Defaults to `0.0`. If it is positive, the cell does not run in
            `keras.layers.RNN`, which cannot add the loss.
        target: Number in `[0, 1)`, the fraction $\bar m$ that costs nothing. Defaults to `0.0`.
        soft_inference: Whether to use the soft mask in inference too. Defaults to `False`.
        decision_initializer: Initializer of $[v; u]$. Defaults to `"glorot_uniform"`.
        **kwargs: As in `keras_adaptive_rnn.cells.GatedCell`. `dropout` and `recurrent_dropout` apply after the masks,
            so the scheduler reads all of input and state.

    States: $h$ `[batch, units]`. In training, the mask is soft.

    Example:

    >>> cell = keras_adaptive_rnn.VariableComputationCell(8, core="gru", cost_weight=0.1, target=0.25)
    >>> layer = keras_adaptive_rnn.layers.RNN(cell, return_decisions=True)
    >>> output, costs = layer(np.ones((2, 5, 3)))
    >>> tuple(output.shape), tuple(costs.shape), len(layer.losses)
    ((2, 8), (2, 5), 1)

    Reference: Jernite, Grave, Joulin, Mikolov, Variable Computation in Recurrent Neural Networks (2017), section 3.
    """

    aux_size = 2
    scheduled_names = ("sharpness",)

    def __init__(
        self,
        units: int,
        *,
        core: str = "rnn",
        sharpness: float = 0.1,
        epsilon: float = 0.01,
        cost_weight: float = 0.0,
        target: float = 0.0,
        soft_inference: bool = False,
        **kwargs,
    ):
        super().__init__(units=units, **kwargs)
        self.core = _arguments.choice("core", core, CORES)
        self.sharpness = _arguments.number("sharpness", sharpness, positive=True)
        self.epsilon = _arguments.number("epsilon", epsilon, minimum=0, below=0.5)
        self.cost_weight = _arguments.number("cost_weight", cost_weight, minimum=0)
        self.target = _arguments.number("target", target, minimum=0, below=1)
        self.soft_inference = _arguments.boolean("soft_inference", soft_inference)

    @property
    def gates(self):
        return CORES[self.core]

    @property
    def groups(self):
        return (2, 1) if self.core == "gru" else None

    @property
    def adds_loss(self):
        return self.cost_weight > 0

    def build(self, input_shape):
        self.build_decision(input_shape[-1] + self.units, 1)
        super().build(input_shape)

    def project(self, inputs, run):
        # The mask of the input depends on the state.
        return inputs

    def step(self, projected, states, run):
        x, (h,) = projected, states
        m = ops.sigmoid(self.decision(x, h))
        run.emit(self, straight_through(ops.ceil(m * self.units) / self.units, m, run), m)
        e_x, e = self.mask(m, x.shape[-1], run), self.mask(m, self.units, run)
        run.sow(self, share=m, mask=e)
        # A single step uses the full weights: slicing them first would cost more than it saves.
        short = "narrowed" in run.prepared_by(self)
        h = self._update_first(x, h, e_x, e, run) if short else self._update(x, h, e_x, e, run)
        return h, [h]

    def _update(self, x, h, e_x, e, run):
        x_bar, h_bar = e_x * x, e * h
        a = super().project(x_bar, run)
        z = e
        if self.core == "gru":
            a_k, a_r, a = self.split(a)
            u_k, u_r = ops.split(self.recurrent(h_bar, run), 2, axis=-1)
            z = e * (1 - ops.sigmoid(a_k + u_k))
            h_bar = ops.sigmoid(a_r + u_r) * h_bar
        candidate = self.activation(a + self.recurrent(h_bar, run, group=len(self.recurrent_map.blocks) - 1))
        return z * candidate + (1 - z) * h

    def may_skip(self, run):
        # Layer normalization needs all dimensions.
        has_narrow = self.kernel_map.has_narrow and self.recurrent_map.has_narrow
        return super().may_skip(run) and has_narrow and not self.layer_normalization

    @property
    def _widths(self):
        """One quarter, half and three quarters of the dimensions of the input and of the state."""
        return [tuple(-(-size * quarters // 4) for size in (self.input_size, self.units)) for quarters in (1, 2, 3)]

    def prepare_sequence(self, batch_size, run):
        prepared = super().prepare_sequence(batch_size, run)
        if self.may_skip(run):
            prepared["narrowed"] = [self._narrowed(inputs, units, run) for inputs, units in self._widths]
        return prepared

    def _narrowed(self, inputs, units, run):
        """Returns what each of `_affine_parts` would prepare for the first dimensions only."""
        sizes = {self.kernel_map: inputs, self.recurrent_map: units}
        return [part.narrowed(sizes.get(part), units, run) for part in self._affine_parts()]

    def _affine_parts(self):
        return [self.kernel_map, self.recurrent_map, *([self.bias_layer] if self.use_bias else [])]

    def _update_first(self, x, h, e_x, e, run):
        """Computes `_update` in inference with only as many dimensions as the rows of the batch need."""

        def first(k):
            inputs, units = self._widths[k]
            prepared = dict(zip(self._affine_parts(), run.prepared_by(self)["narrowed"][k], strict=True))
            narrow = run.changed(prepared={**run.prepared, **prepared})

            def of_first(x, h, e_x, e):
                new = self._update(x[:, :inputs], h[:, :units], e_x[:, :inputs], e[:, :units], narrow)
                return [ops.concatenate([new, h[:, units:]], axis=1)]

            return of_first

        def exceeded(mask, widths):
            # A mask never increases from one entry to the next.
            return ops.take(mask, [min(width, mask.shape[-1] - 1) for width in widths], axis=-1) > 0

        inputs, units = zip(*self._widths, strict=True)
        used = ops.any(ops.logical_or(exceeded(e_x, inputs), exceeded(e, units)), axis=0)
        branches = [*map(first, range(3)), lambda *operands: [self._update(*operands, run)]]
        return engine.switch(ops.sum(ops.cast(used, "int32")), branches, [x, h, e_x, e])[0]

    def mask(self, m, size, run):
        """Returns a mask `[batch, size]` of the first dimensions, for the fraction `m`, `[batch, 1]`."""
        i = ops.arange(1, size + 1, dtype="float32")
        soft = ops.sigmoid(self.scheduled_values["sharpness"] * (m * size - i))
        e = ops.where(soft > 1 - self.epsilon, 1.0, ops.where(soft < self.epsilon, 0.0, soft))
        if not (run.training or self.soft_inference):
            e = straight_through(ops.cast(m * size + 1 > i, "float32"), e, run)
        return ops.cast(e, self.compute_dtype)

    def sequence_loss(self, emitted, counted):
        distance = ops.abs(emitted[..., 1] - self.target) * counted
        return self.cost_weight * ops.sum(distance, axis=1) / ops.maximum(ops.sum(counted, axis=1), 1)
