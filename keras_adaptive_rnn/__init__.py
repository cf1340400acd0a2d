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
    datasets,
    distribution,
    evaluation,
    files,
    initializers,
    layers,
    maps,
    models,
    optimizers,
    testing,
)
from keras_adaptive_rnn._export import directory
from keras_adaptive_rnn.cells import *
from keras_adaptive_rnn.layers import *
from keras_adaptive_rnn.one_step import check_export_format, export_step, step_model

__all__ = [
    "activations",
    "analysis",
    "callbacks",
    "cells",
    "check_export_format",
    "datasets",
    "distribution",
    "evaluation",
    "export_step",
    "files",
    "initializers",
    "layers",
    "maps",
    "models",
    "optimizers",
    "step_model",
    "testing",
]
__all__ += layers.__all__
__dir__ = directory(__all__, "__version__")


def __getattr__(name):
    if name == "hub":
        # Imported when it is used: KerasHub is an extra, and takes seconds.
        return importlib.import_module("keras_adaptive_rnn.hub")
    if name in ("compare", "probe"):
        raise AttributeError(f"`{name}` is in a package of its own: `from keras_rnn_compare import {name}`")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
