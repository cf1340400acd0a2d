"""minGRU and minLSTM: the gates of a GRU and an LSTM, without the state."""

from keras import ops

from keras_adaptive_rnn import _arguments, activations
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._precision import precise
from keras_adaptive_rnn._types import Activation
from keras_adaptive_rnn.cells.bases.linear import LinearCell


class MinCell(LinearCell):
    """The base of both cells, with a candidate, and coefficients of the state that may be negative."""

    def __init__(self, units: int, *, activation: Activation = None, negative_eigenvalues: bool = False, **kwargs):
        super().__init__(units, **kwargs)
        self.activation = _arguments.resolve("activation", activation, activations.get)
        self.negative_eigenvalues = _arguments.boolean("negative_eigenvalues", negative_eigenvalues)

    def mixed(self, f, candidate, run):
        """Returns the coefficients of a state that keeps `f` of itself and takes the rest from the candidate."""
        candidate = self.activation(candidate)
        run.sow(self, f=f, candidate=candidate)
        return 2 * f - 1 if self.negative_eigenvalues else f, (1 - f) * candidate


@export
class MinGRUCell(MinCell):
    r"""The minimal GRU, whose gate and candidate do not depend on the state.

    $$z_t = \sigma(x_t W_z + b_z), \qquad \tilde h_t = \phi(x_t W_h + b_h), \qquad
      h_t = (1 - z_t) \odot h_{t-1} + z_t \odot \tilde h_t$$

    With `negative_eigenvalues`, $h_{t-1}$ is multiplied by $1 - 2 z_t$, so that a state can change sign, as it must to
    count modulo two.

    Weights, in order, gates concatenated as z, h: `kernel_map` $W$ `[inputs, 2 units]`; `bias` `[2 units]`.

    Args:
        activation: Activation function $\phi$. Defaults to `None`: linear, as in the paper's equations. Its parallel
            form needs positive candidates: `"min_rnn"`, `keras_adaptive_rnn.activations.min_rnn`.
        negative_eigenvalues: Whether the coefficients of the state lie in $[-1, 1]$ instead of $[0, 1]$. Defaults to
            `False`.
        **kwargs: As in `keras_adaptive_rnn.cells.LinearCell`.

    States: $h$ `[batch, units]`.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.MinGRUCell(4))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 4)

    Reference: Feng et al., Were RNNs All We Needed? (2024), section 3.1; negative eigenvalues: Grazzi et al., Unlocking
    State-Tracking in Linear RNNs Through Negative Eigenvalues (2024).
    """

    gates = ("z", "h")

    def coefficients(self, inputs, run):
        z, candidate = self.split(precise(self.affine(inputs, run)))
        # Not 1 - sigmoid(z), which loses small numbers.
        return self.mixed(ops.sigmoid(-z), candidate, run)


@export
class MinLSTMCell(MinCell):
    r"""The minimal LSTM, whose gates and candidate do not depend on the state.

    $$f_t = \sigma(x_t W_f + b_f), \qquad i_t = \sigma(x_t W_i + b_i), \qquad \tilde h_t = \phi(x_t W_h + b_h)$$
    $$h_t = \frac{f_t}{f_t + i_t} \odot h_{t-1} + \frac{i_t}{f_t + i_t} \odot \tilde h_t$$

    With `negative_eigenvalues`, the coefficient $f' = f_t / (f_t + i_t)$ of $h_{t-1}$ becomes $2 f' - 1$.

    Weights, in order, gates concatenated as f, i, h: `kernel_map` $W$ `[inputs, 3 units]`; `bias` `[3 units]`.

    Args:
        activation, negative_eigenvalues: As in `keras_adaptive_rnn.MinGRUCell`.
        **kwargs: As in `keras_adaptive_rnn.cells.LinearCell`.

    States: $h$ `[batch, units]`.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.MinLSTMCell(4))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 4)

    Reference: Feng et al., Were RNNs All We Needed? (2024), section 3.2; negative eigenvalues: Grazzi et al., Unlocking
    State-Tracking in Linear RNNs Through Negative Eigenvalues (2024).
    """

    gates = ("f", "i", "h")

    def coefficients(self, inputs, run):
        f, i, candidate = self.split(precise(self.affine(inputs, run)))
        # f / (f + i) from logarithms, as both gates may be zero in half precision.
        return self.mixed(ops.sigmoid(ops.log_sigmoid(f) - ops.log_sigmoid(i)), candidate, run)
