"""Whole layers, and every cell beside them, as in `keras.layers`."""

from keras_adaptive_rnn.cells import *
from keras_adaptive_rnn.cells import __all__ as _cells
from keras_adaptive_rnn.layers.named import CellLayer, Mogrifier, MultiplicativeLSTM
from keras_adaptive_rnn.layers.rnn import RNN

__all__ = ["RNN", "CellLayer", "Mogrifier", "MultiplicativeLSTM"]
__all__ += _cells
