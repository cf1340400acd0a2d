"""Adaptive recurrent cells and layers for Keras 3, on TensorFlow, JAX and PyTorch."""

import importlib

# Before all that is imported, as a command shows it before Keras is.
__version__ = "0.1.0"

from keras_adaptive_rnn import _backend, _commands

_commands.check_before_keras()
_backend.check()
_commands.import_keras()

from keras_adaptive_rnn import (
    activations,
    analysis,
    callbacks,
    cells,
    comparison,
    datasets,
    distribution,
    estimators,
    evaluation,
    initializers,
    layers,
    maps,
    models,
    optimizers,
    probing,
    testing,
)
from keras_adaptive_rnn._export import directory
from keras_adaptive_rnn.cells import *
from keras_adaptive_rnn.comparison import compare
from keras_adaptive_rnn.layers import *
from keras_adaptive_rnn.one_step import export_step, step_model
from keras_adaptive_rnn.probing import probe

__all__ = [
    "activations",
    "analysis",
    "callbacks",
    "cells",
    "compare",
    "comparison",
    "datasets",
    "distribution",
    "estimators",
    "evaluation",
    "export_step",
    "initializers",
    "layers",
    "maps",
    "models",
    "optimizers",
    "probe",
    "probing",
    "step_model",
    "testing",
]
__all__ += layers.__all__
__dir__ = directory(__all__, "__version__")


def __getattr__(name):
    if name == "hub":
        # Imported when it is used: KerasHub is an extra, and takes seconds.
        return importlib.import_module("keras_adaptive_rnn.hub")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
