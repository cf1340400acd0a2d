"""Callbacks for `fit`, and `lsuv`, the initialization behind one of them."""

from keras_adaptive_rnn.callbacks.annealing import Annealing
from keras_adaptive_rnn.callbacks.unit_variance.lsuv import LSUV, Scaled, lsuv

__all__ = ["LSUV", "Annealing", "Scaled", "lsuv"]
