"""The recurrent cell that neural architecture search found."""

from keras import ops

from keras_adaptive_rnn import activations
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.cells.bases.gated import GatedCell


@export
class NASCell(GatedCell):
    r"""The recurrent cell that neural architecture search found for a language model of words.

    With $x_k = x_t W_k$ and $u_k = h_{t-1} U_k + b_k$ for $k = 1, \dots, 8$:

    $$p = \tanh(\sigma(x_1 + u_1) \odot \mathrm{ReLU}(x_2 + u_2)), \qquad
      q = \tanh(\sigma(x_3 + u_3) + \mathrm{ReLU}(x_4 \odot u_4))$$
    $$r = \tanh(\tanh(x_5 + u_5) \odot \sigma(x_6 + u_6)), \qquad
      s = \sigma(\tanh(x_7 + u_7) + \sigma(x_8 + u_8))$$
    $$c_t = \tanh(p + c_{t-1}) \odot q, \qquad h_t = \tanh(c_t \odot \tanh(r + s))$$

    Weights, in order, gates concatenated as 1 to 8: kernel `[inputs, 8 units]`, recurrent kernel `[units, 8 units]`,
    and with `use_bias` a bias `[8 units]`.

    Args:
        units: Positive integer, dimensionality of the output space.
        use_bias: Whether to use $b$. Defaults to `False`, as in TensorFlow's cell.
        **kwargs: As in `keras_adaptive_rnn.cells.GatedCell`, except `activation` and `layer_normalization`.

    States: $h$ and $c$, each `[batch, units]`.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.NASCell(4))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 4)

    Reference: Zoph and Le, Neural Architecture Search with Reinforcement Learning (2017), section 4.2 and appendix A,
    which draw the cell. The equations, and the place of the bias, are those of `NASCell` in TensorFlow 1.x
    (`tf.contrib.rnn`) and TensorFlow Addons, whose states are in the order $c$, $h$.
    """

    gates = ("1", "2", "3", "4", "5", "6", "7", "8")
    # The search has chosen the functions of this cell, and it has no others.
    fixed_arguments = ("activation", "layer_normalization")
    memory_index = 1

    def __init__(self, units: int, *, use_bias: bool = False, **kwargs):
        super().__init__(units, use_bias=use_bias, **kwargs)
        self.state_size = [self.units, self.units]

    def project(self, inputs, run):
        return self._product(self.kernel_map, inputs, "dropout", run)

    def step(self, projected, states, run):
        h, c = states
        tanh, sigmoid = activations.tanh, ops.sigmoid
        x_1, x_2, x_3, x_4, x_5, x_6, x_7, x_8 = self.split(projected)
        u_1, u_2, u_3, u_4, u_5, u_6, u_7, u_8 = self.split(self.bias_layer(self.recurrent(h, run), run))
        p = tanh(sigmoid(x_1 + u_1) * ops.relu(x_2 + u_2))
        q = tanh(sigmoid(x_3 + u_3) + ops.relu(x_4 * u_4))
        r = tanh(tanh(x_5 + u_5) * sigmoid(x_6 + u_6))
        s = sigmoid(tanh(x_7 + u_7) + sigmoid(x_8 + u_8))
        run.sow(self, p=p, q=q, r=r, s=s)
        c = tanh(p + c) * q
        h = tanh(c * tanh(r + s))
        return h, [h, c]
