"""Optimizers that wrap an optimizer of Keras."""

from keras_adaptive_rnn.optimizers.averaged import Averaged

__all__ = ["Averaged"]
