"""Whole layers, and every cell beside them, as in `keras.layers`."""

from keras_adaptive_rnn.cells import *
from keras_adaptive_rnn.cells import __all__ as _cells
from keras_adaptive_rnn.layers.adaptive_dense import AdaptiveDense
from keras_adaptive_rnn.layers.bipolar import OPLU, Bipolar, CReLU
from keras_adaptive_rnn.layers.embedding import FixedEmbedding
from keras_adaptive_rnn.layers.highway import Highway
from keras_adaptive_rnn.layers.maxout import Maxout
from keras_adaptive_rnn.layers.named import CellLayer, Mogrifier, MultiplicativeLSTM
from keras_adaptive_rnn.layers.rnn import RNN

__all__ = [
    "OPLU",
    "RNN",
    "AdaptiveDense",
    "Bipolar",
    "CReLU",
    "CellLayer",
    "FixedEmbedding",
    "Highway",
    "Maxout",
    "Mogrifier",
    "MultiplicativeLSTM",
]
__all__ += _cells
