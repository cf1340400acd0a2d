"""The LSTM of AWD-LSTM: DropConnect on the recurrent matrix."""

from keras_adaptive_rnn import _arguments, maps
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn._seeds import fold_in
from keras_adaptive_rnn.cells.lstm import LSTMCell


@export
class WeightDropLSTMCell(LSTMCell):
    r"""An LSTM that drops entries of its recurrent matrix in training.

    $$a = x W + h_{t-1} (U \odot M) + b, \qquad M_{ij} \in \{0, 1 / (1 - p)\}$$

    in the equations of `keras_adaptive_rnn.LSTMCell`. One $M$ is drawn for each batch and holds for the whole sequence;
    inference uses $U$ itself. Any other gated cell does the same with
    `recurrent_map=keras_adaptive_rnn.maps.DropConnect(p)`.

    Weights: as in `keras_adaptive_rnn.LSTMCell`.

    Args:
        units: Positive integer, dimensionality of the output space.
        recurrent_weight_dropout: Float in `[0, 1)`, fraction $p$ of the entries of $U$ to drop. Defaults to `0.5`.
        variational: Whether to drop whole columns of $U$, each of which holds the weights of one gate of one unit.
            Defaults to `False`. (With this option, the authors' code also drops in inference; this cell does not.)
        **kwargs: As in `keras_adaptive_rnn.LSTMCell`, except `recurrent_map`.

    States: $h$ and $c$, each `[batch, units]`.

    Example:

    >>> layer = keras.layers.RNN(keras_adaptive_rnn.WeightDropLSTMCell(8, recurrent_weight_dropout=0.5))
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)

    Reference: Merity, Keskar, Socher, Regularizing and Optimizing LSTM Language Models (2018), section 2.
    """

    fixed_arguments = ("recurrent_map",)
    native_kind = "lstm"

    def __init__(
        self,
        units: int,
        recurrent_weight_dropout: float = 0.5,
        *,
        variational: bool = False,
        seed: int | None = None,
        **kwargs,
    ):
        rate = _arguments.rate("recurrent_weight_dropout", recurrent_weight_dropout)
        seed = _arguments.integer("seed", seed, minimum=0, optional=True)
        recurrent_map = maps.DropConnect(rate, variational=variational, seed=fold_in(seed, "recurrent_map"))
        super().__init__(units, recurrent_map=recurrent_map, seed=seed, **kwargs)
        self.recurrent_weight_dropout, self.variational = recurrent_map.rate, recurrent_map.variational
