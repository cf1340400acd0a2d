"""Recurrent cells, each a `keras.layers.Layer` for `keras.layers.RNN`."""

from keras_adaptive_rnn.cells.base import Cell
from keras_adaptive_rnn.cells.core import Core
from keras_adaptive_rnn.cells.elman import ElmanCell
from keras_adaptive_rnn.cells.gru import GRUCell
from keras_adaptive_rnn.cells.lstm import LSTMCell
from keras_adaptive_rnn.cells.modulator import CoreModulator, Modulator
from keras_adaptive_rnn.cells.mogrifier import MogrifierCell
from keras_adaptive_rnn.cells.multiplicative import MultiplicativeLSTMCell

__all__ = [
    "Cell",
    "Core",
    "CoreModulator",
    "ElmanCell",
    "GRUCell",
    "LSTMCell",
    "Modulator",
    "MogrifierCell",
    "MultiplicativeLSTMCell",
]
