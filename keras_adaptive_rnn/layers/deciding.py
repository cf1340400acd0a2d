"""The layers of the cells that decide how much to compute."""

from keras_adaptive_rnn import cells
from keras_adaptive_rnn._export import export
from keras_adaptive_rnn.layers.named import CellLayer


@export
class Skip(CellLayer):
    """The Skip RNN (Campos et al., 2018) as a layer: `RNN(SkipCell(...))`.

    Example:

    >>> layer = keras_adaptive_rnn.layers.Skip(keras_adaptive_rnn.GRUCell(8), budget=1e-4, return_decisions=True)
    >>> output, updates = layer(np.ones((2, 5, 3)))
    >>> tuple(output.shape), tuple(updates.shape)
    ((2, 8), (2, 5))
    """

    cell_class = cells.SkipCell
    fixed_arguments = ("connection",)


@export
class Skim(CellLayer):
    """The Skim-RNN (Seo et al., 2018) as a layer: `RNN(SkimCell(...))`.

    Example:

    >>> big, small = keras_adaptive_rnn.LSTMCell(8), keras_adaptive_rnn.LSTMCell(2)
    >>> layer = keras_adaptive_rnn.layers.Skim(big, small, skim_loss=0.01, return_sequences=True)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 5, 8)
    """

    cell_class = cells.SkimCell
    fixed_arguments = ("connection",)


@export
class VariableComputation(CellLayer):
    """The VCRNN and VCGRU (Jernite et al., 2017) as a layer: `RNN(VariableComputationCell(...))`.

    Example:

    >>> layer = keras_adaptive_rnn.layers.VariableComputation(8, core="gru", budget=0.1, target=0.25)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    cell_class = cells.VariableComputationCell
