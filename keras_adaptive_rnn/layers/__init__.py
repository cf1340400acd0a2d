"""Whole layers, and every cell under the same names as in `keras.layers`."""

from keras_adaptive_rnn.cells import ElmanCell, GRUCell, LSTMCell, MogrifierCell, MultiplicativeLSTMCell
from keras_adaptive_rnn.layers.named import CellLayer, Mogrifier, MultiplicativeLSTM
from keras_adaptive_rnn.layers.rnn import RNN

__all__ = [
    "RNN",
    "CellLayer",
    "ElmanCell",
    "GRUCell",
    "LSTMCell",
    "Mogrifier",
    "MogrifierCell",
    "MultiplicativeLSTM",
    "MultiplicativeLSTMCell",
]
