"""Whole layers, and every cell beside them, as in `keras.layers`."""

from keras_adaptive_rnn.cells import *
from keras_adaptive_rnn.cells import __all__ as _cells
from keras_adaptive_rnn.layers.named import (
    GRU,
    LSTM,
    AdaptiveLSTM,
    AdaptiveRNN,
    CellLayer,
    Elman,
    GridLSTM,
    LowRankGRU,
    LowRankLSTM,
    Mogrifier,
    MultiplicativeLSTM,
    RecurrentHighway,
    WeightDropLSTM,
    Zoneout,
)
from keras_adaptive_rnn.layers.rnn import RNN

__all__ = [
    "GRU",
    "LSTM",
    "RNN",
    "AdaptiveLSTM",
    "AdaptiveRNN",
    "CellLayer",
    "Elman",
    "GridLSTM",
    "LowRankGRU",
    "LowRankLSTM",
    "Mogrifier",
    "MultiplicativeLSTM",
    "RecurrentHighway",
    "WeightDropLSTM",
    "Zoneout",
]
__all__ += _cells
