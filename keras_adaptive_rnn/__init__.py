"""Adaptive recurrent cells and layers for Keras 3, on TensorFlow, JAX and PyTorch."""

from keras_adaptive_rnn import (
    activations,
    analysis,
    callbacks,
    cells,
    datasets,
    engine,
    initializers,
    layers,
    maps,
    models,
    testing,
)
from keras_adaptive_rnn.layers import *
from keras_adaptive_rnn.layers import __all__ as _layers

__version__ = "0.1.0"

__all__ = [
    "activations",
    "analysis",
    "callbacks",
    "cells",
    "datasets",
    "engine",
    "initializers",
    "layers",
    "maps",
    "models",
    "testing",
]
__all__ += _layers
