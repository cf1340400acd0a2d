"""Callbacks, as in `keras.callbacks`."""

from keras_adaptive_rnn.callbacks.lsuv import LSUV, Scaled, lsuv

__all__ = ["LSUV", "Scaled", "lsuv"]
