"""The LSTM, with the options that later papers added to it."""

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, activations, initializers, maps
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._types import Activation
from keras_adaptive_rnn.cells.bases.gated import GatedCell
from keras_adaptive_rnn.maps.diagonal import Diagonal


@export
class LSTMCell(GatedCell):
    r"""The long short-term memory cell.

    $$i = \sigma(x W_i + h_{t-1} U_i + b_i), \quad f = \sigma(x W_f + h_{t-1} U_f + b_f), \quad
      o = \sigma(x W_o + h_{t-1} U_o + b_o)$$
    $$j = \phi(x W_c + h_{t-1} U_c + b_c)$$
    $$c_t = f \odot c_{t-1} + i \odot j, \qquad h_t = o \odot \phi(c_t)$$

    With `peepholes`, the gates see the memory: $p_i \odot c_{t-1}$ is added inside $i$, $p_f \odot c_{t-1}$ inside $f$,
    and $p_o \odot c_t$ inside $o$.

    Weights, as in `keras.layers.LSTMCell`, gates concatenated as i, f, c, o: kernel `[inputs, 4 units]`, recurrent
    kernel `[output, 4 units]`, bias `[4 units]`. With `tied_gates` there are three gates, f, c, o. A projection adds a
    kernel `[units, projection_units]` after these, layer normalization its gains, and peepholes $p$ `[3 units]`, for i,
    f, o (`[2 units]`, for f, o, with `tied_gates`).

    Args:
        units: Positive integer, size of the memory $c$.
        activation: Activation function $\phi$. Defaults to `"tanh"`.
        recurrent_activation: Activation function $\sigma$ of the gates. Defaults to `"sigmoid"`.
        unit_forget_bias: Whether to initialize $b_f$ to one. Defaults to `True`.
        tied_gates: Whether to tie the input gate to the forget gate, $i = 1 - f$. Defaults to `False`.
        cap_input_gate: Whether to cap the input gate, $\min(i, 1 - f)$, so that $c$ stays bounded. Defaults to
            `False`.
        projection_units: Positive integer, size of a linear projection of $h$, which becomes the output and the
            recurrent state; `None` (default) for no projection.
        cell_clip: Positive number; the stored $c$ is clipped to `[-cell_clip, cell_clip]` ($h$ is computed from the
            unclipped $c$, as in the code of Melis et al.). `None` (default) for no clipping.
        update_dropout: Float in `[0, 1)`, fraction of the update $j$ to drop, with one mask per sequence; the memory
            itself is never dropped. Defaults to `0.0`.
        peepholes: Whether the gates see the memory, through weights that start at zero. Defaults to `False`.
        layer_normalization: As in `keras_adaptive_rnn.cells.GatedCell`. The LSTM also normalizes $c$ inside
            $o \odot \phi(c)$, with gain and offset.
        **kwargs: As in `keras_adaptive_rnn.cells.GatedCell`.

    States: $h$ `[batch, units]` (or `[batch, projection_units]`) and $c$ `[batch, units]`.

    Example:

    >>> cell = keras_adaptive_rnn.LSTMCell(8, tied_gates=True, projection_units=4)
    >>> output, h, c = keras.layers.RNN(cell, return_state=True)(np.ones((2, 5, 3)))
    >>> tuple(output.shape), tuple(h.shape), tuple(c.shape)
    ((2, 4), (2, 4), (2, 8))

    Reference: Hochreiter and Schmidhuber, Long Short-Term Memory (1997); tied and capped gates, projection: Melis,
    Dyer, Blunsom, On the State of the Art of Evaluation in Neural Language Models (2018), section 3; update dropout:
    Semeniuta, Severyn, Barth, Recurrent Dropout without Memory Loss (2016); peepholes: Gers and Schmidhuber, Recurrent
    Nets that Time and Count (2000).
    """

    def __init__(
        self,
        units: int,
        activation: Activation = "tanh",
        recurrent_activation: Activation = "sigmoid",
        use_bias: bool = True,
        *,
        unit_forget_bias: bool = True,
        tied_gates: bool = False,
        cap_input_gate: bool = False,
        projection_units: int | None = None,
        cell_clip: float | None = None,
        update_dropout: float = 0.0,
        peepholes: bool = False,
        **kwargs,
    ):
        super().__init__(units, activation=activation, use_bias=use_bias, **kwargs)
        self.recurrent_activation = _arguments.resolve("recurrent_activation", recurrent_activation, activations.get)
        self.unit_forget_bias = _arguments.boolean("unit_forget_bias", unit_forget_bias)
        self.tied_gates = _arguments.boolean("tied_gates", tied_gates)
        self.cap_input_gate = _arguments.boolean("cap_input_gate", cap_input_gate)
        rule = "Arguments `tied_gates` and `cap_input_gate` are mutually exclusive: a tied input gate is 1 - f"
        fits = not (tied_gates and cap_input_gate)
        _arguments.check(fits, rule, tied_gates=tied_gates, cap_input_gate=cap_input_gate)
        self.projection_units = _arguments.integer("projection_units", projection_units, optional=True)
        self.cell_clip = _arguments.number("cell_clip", cell_clip, positive=True, optional=True)
        self.update_dropout = _arguments.rate("update_dropout", update_dropout)
        self.peepholes = _arguments.boolean("peepholes", peepholes)
        rule = (
            "Arguments `peepholes` and `layer_normalization` are mutually exclusive: a memory that is added to "
            "normalized gates is not normalized itself"
        )
        fits = not (self.peepholes and self.layer_normalization)
        _arguments.check(fits, rule, peepholes=self.peepholes, layer_normalization=self.layer_normalization)
        self.output_size = self.projection_units or self.units
        self.state_size = [self.output_size, self.units]
        self.projection = self.peephole_map = self.cell_norm = None

    native_kind = "lstm"
    memory_index = 1
    is_affine = True
    # How Keras forms the products of the gates.
    ignored_arguments = {"implementation": (0, 1, 2)}

    @property
    def gates(self):
        return ("f", "c", "o") if self.tied_gates else ("i", "f", "c", "o")

    @property
    def noise_sizes(self):
        return {**super().noise_sizes, "update_dropout": self.units}

    def bias_initializers(self):
        ones = keras.initializers.Ones()
        return [ones if g == "f" and self.unit_forget_bias else self.bias_initializer for g in self.gates]

    def build(self, input_shape):
        super().build(input_shape)
        if self.projection_units:
            initializer = initializers.reseeded(self.kernel_initializer, "projection")
            self.projection = maps.Full().bind(self, "projection", self.projection_units, initializer)
            self.projection.build_blocks((1,), self.units)
        if self.peepholes:
            self.peephole_map = Diagonal().bind(self, "peephole_map", self.units, "zeros")
            # The gates before the new memory, and the one after it.
            self.peephole_map.build_blocks((len(self.gates) - 2, 1), self.units)
        if self.layer_normalization:
            self.cell_norm = self.make_norm(self.units, center=True)

    def update(self, a, states, run):
        _, c = states
        *i, f, j, o = self.split(a)
        i, f = self.input_and_forget_gates(i, f, c, run)
        j = self.drop(self.activation(j), "update_dropout", run)
        c = f * c + i * j
        o = self.recurrent_activation(o + self.peephole_map(c, run, group=1) if self.peepholes else o)
        h = o * self.activation(self.cell_norm(c) if self.layer_normalization else c)
        run.sow(self, i=i, f=f, j=j, o=o)
        h = self.projection(h, run) if self.projection_units else h
        return h, [h, self.clipped(c)]

    def input_and_forget_gates(self, i, f, c, run):
        """Returns $i$ and $f$ from their affine parts; `i` is a list of one, or empty with `tied_gates`."""
        if self.peepholes:
            seen = ops.split(self.peephole_map(c, run), len(self.gates) - 2, axis=-1)
            *i, f = (gate + peephole for gate, peephole in zip([*i, f], seen, strict=True))
        f = self.recurrent_activation(f)
        i = 1 - f if self.tied_gates else self.recurrent_activation(i[0])
        # Not `ops.minimum`, which on PyTorch returns float32 for float64.
        return ops.where(i < 1 - f, i, 1 - f) if self.cap_input_gate else i, f

    def clipped(self, c):
        """Returns the memory as it is stored."""
        if self.cell_clip is None:
            return c
        bound = ops.convert_to_tensor(self.cell_clip, dtype=c.dtype)
        return ops.clip(c, -bound, bound)
