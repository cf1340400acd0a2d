"""HyperLSTM: a small LSTM scales the matrices of a larger one in every step."""

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, maps
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._seeds import fold_in
from keras_adaptive_rnn._types import Initializer
from keras_adaptive_rnn.cells.lstm import LSTMCell


class GateNormalizedLSTMCell(LSTMCell):
    r"""An LSTM that normalizes each gate as a whole, $\mathrm{LN}(x W + h U + b)$, with gain and offset.

    Args:
        **kwargs: As in `keras_adaptive_rnn.LSTMCell`.
    """

    def build_norms(self):
        # The mean removes what is common to all units, such as a bias of one: the offset starts with it instead.
        self.gate_norms = [
            self.make_norm(self.units, center=True, beta_initializer=initializer, name=f"{gate}_norm")
            for gate, initializer in zip(self.gates, self.bias_initializers(), strict=True)
        ]

    def update(self, a, states, run):
        if self.layer_normalization:
            a = ops.concatenate([norm(s) for norm, s in zip(self.gate_norms, self.split(a), strict=True)], axis=-1)
        return super().update(a, states, run)


@export
class HyperLSTMCell(GateNormalizedLSTMCell):
    r"""An LSTM whose matrices and biases a small LSTM, the hypernetwork, scales in every step.

    $$\hat h_t, \hat c_t = \mathrm{LSTM}([x_t; h_{t-1}], \hat h_{t-1}, \hat c_{t-1})$$

    For each gate $s \in \{i, f, c, o\}$, embeddings of `hyper_embedding_units` entries are linear in $\hat h$:

    $$z_x^s = \hat h_{t-1} V_x^s + v_x^s, \qquad z_h^s = \hat h_{t-1} V_h^s + v_h^s, \qquad z_b^s = \hat h_{t-1} V_b^s$$
    $$a^s = \mathrm{LN}(z_x^s D_x^s \odot x_t W_s + z_h^s D_h^s \odot h_{t-1} U_s + z_b^s D_b^s + b_s)$$
    $$c_t = \sigma(a^f) \odot c_{t-1} + \sigma(a^i) \odot \phi(a^c), \qquad
      h_t = \sigma(a^o) \odot \phi(\mathrm{LN}(c_t))$$

    Layer normalization LN is off by default. As in the paper, $V_x$, $V_h$ and $D_b$ start at zero, $v_x$ and $v_h$ at
    one, $V_b$ is drawn with a standard deviation of 0.01, and $D_x$ and $D_h$ start so that they scale by 0.1.

    Weights, in order, gates concatenated as i, f, c, o: `kernel_map` $W$ `[inputs, 4 units]`; `recurrent_map` $U$
    `[units, 4 units]`; the weights of the small LSTM; `scale_embedding` $V_x, V_h$ `[hyper_units, 8 embedding]`;
    `scale_embedding_bias` $v_x, v_h$ `[8 embedding]`; `scale` $D_x, D_h$ `[embedding, 8 units]`; `bias_embedding`
    $V_b$ `[hyper_units, 4 embedding]`; `bias_scale` $D_b$ `[embedding, 4 units]`; `bias` $b$ `[4 units]`; with
    `layer_normalization` a gain and an offset for each gate and for $c$.

    Args:
        hyper_units: Positive integer, units of the small LSTM. Defaults to `128`.
        hyper_embedding_units: Positive integer, size of each embedding $z$. Defaults to `4`.
        delayed: Whether the embeddings read $\hat h_{t-1}$, as in the paper, or $\hat h_t$, as in the authors' code.
            Defaults to `True`.
        layer_normalization: Whether to normalize each gate and $c$, in the small LSTM too. Defaults to `False`.
        unit_forget_bias: Whether to initialize to one the bias of $f$ and, with `layer_normalization`, its offset, in
            the small LSTM too. Defaults to `True`; the authors' code adds the one, the paper does not mention it.
        kernel_initializer: Initializer of $W$. Defaults to `"orthogonal"`.
        dropout, recurrent_dropout: Float in `[0, 1)`, fraction of $x_t$ and of $h_{t-1}$ to drop wherever they are
            read, with one mask per sequence. Default to `0.0`. The paper drops the update instead: `update_dropout`.
        **kwargs: As in `keras_adaptive_rnn.LSTMCell`, except `per_gate_dropout` and `peepholes`.

    States: $h$ and $c$, each `[batch, units]`; $\hat h$ and $\hat c$, each `[batch, hyper_units]`.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.HyperLSTMCell(8, hyper_units=4))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Ha, Dai, Le, HyperNetworks (2017), section 3.2 and appendices A.2.2 and A.2.3, equations 10 to 13.
    """

    # The hypernetwork reads the same vectors as all gates; the equations have no peepholes.
    fixed_arguments = ("per_gate_dropout", "peepholes")
    is_affine = False
    divided_weights = {"hyper/.*": None}

    def __init__(
        self,
        units: int,
        *,
        hyper_units: int = 128,
        hyper_embedding_units: int = 4,
        delayed: bool = True,
        kernel_initializer: Initializer = "orthogonal",
        **kwargs,
    ):
        super().__init__(units, kernel_initializer=kernel_initializer, **kwargs)
        self.hyper_units = _arguments.integer("hyper_units", hyper_units)
        self.hyper_embedding_units = _arguments.integer("hyper_embedding_units", hyper_embedding_units)
        self.delayed = _arguments.boolean("delayed", delayed)
        self.hyper_cell = GateNormalizedLSTMCell(
            self.hyper_units,
            kernel_initializer="orthogonal",
            unit_forget_bias=self.unit_forget_bias,
            layer_normalization=self.layer_normalization,
            seed=fold_in(self.seed, "hyper"),
            name="hyper",
            dtype=self.dtype_policy,
        )
        self.state_size = [*self.state_size, *self.hyper_cell.state_size]
        size, ones = self.hyper_embedding_units, [keras.initializers.Ones()] * (2 * len(self.gates))
        small = keras.initializers.RandomNormal(stddev=0.01, seed=fold_in(self.seed, "bias_embedding"))
        self.scale_embedding = maps.Full().bind(self, "scale_embedding", size, "zeros")
        self.scale_embedding_bias = maps.Bias(size, ones, name="scale_embedding_bias", dtype=self.dtype_policy)
        self.scale = maps.Full().bind(self, "scale", self.units, keras.initializers.Constant(0.1 / size))
        self.bias_embedding = maps.Full().bind(self, "bias_embedding", size, small)
        self.bias_scale = maps.Full().bind(self, "bias_scale", self.units, "zeros")

    def build_maps(self):
        super().build_maps()
        gates, size = len(self.gates), self.hyper_embedding_units
        self.hyper_cell.build((None, self.input_size + self.output_size))
        self.scale_embedding.build_blocks((2 * gates,), self.hyper_units)
        self.scale_embedding_bias.build()
        self.scale.build_blocks((2 * gates,), size, per_block=True)
        self.bias_embedding.build_blocks((gates,), self.hyper_units)
        self.bias_scale.build_blocks((gates,), size, per_block=True)

    def project(self, inputs, run):
        x = self.drop(inputs, "dropout", run)
        return x, self.kernel_map(x, run)

    def step(self, projected, states, run):
        (x, x_product), (*own, hyper_before, hyper_c) = projected, states
        h = self.drop(own[0], "recurrent_dropout", run)
        read = self.hyper_cell.project(ops.concatenate([x, h], axis=-1), run)
        hyper_h, hyper_states = self.hyper_cell.step(read, [hyper_before, hyper_c], run)
        d_x, d_h, b = self.scales(hyper_before if self.delayed else hyper_h, run)
        run.sow(self, d_x=d_x, d_h=d_h)
        a = self.bias_layer(d_x * x_product + d_h * self.recurrent_map(h, run) + b, run)
        output, own = self.update(a, own, run)
        return output, [*own, *hyper_states]

    def scales(self, hyper_h, run):
        r"""Returns $z_x D_x$, $z_h D_h$ and $z_b D_b$ of all gates."""
        gates, size = len(self.gates), self.hyper_embedding_units
        z = self.scale_embedding_bias(self.scale_embedding(hyper_h, run), run)
        d = self.scale(ops.reshape(z, (-1, 2 * gates, size)), run, per_block=True)
        z_b = ops.reshape(self.bias_embedding(hyper_h, run), (-1, gates, size))
        return *ops.split(d, 2, axis=-1), self.bias_scale(z_b, run, per_block=True)
