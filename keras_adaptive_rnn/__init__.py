"""Adaptive recurrent cells and layers for Keras 3, on TensorFlow, JAX and PyTorch."""

from keras_adaptive_rnn import cells, engine, initializers, layers, maps, testing
from keras_adaptive_rnn.layers import (
    RNN,
    ElmanCell,
    GRUCell,
    LSTMCell,
    Mogrifier,
    MogrifierCell,
    MultiplicativeLSTM,
    MultiplicativeLSTMCell,
)

__version__ = "0.1.0"

__all__ = [
    "RNN",
    "ElmanCell",
    "GRUCell",
    "LSTMCell",
    "Mogrifier",
    "MogrifierCell",
    "MultiplicativeLSTM",
    "MultiplicativeLSTMCell",
    "cells",
    "engine",
    "initializers",
    "layers",
    "maps",
    "testing",
]
