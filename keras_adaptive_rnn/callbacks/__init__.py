"""Callbacks for `fit`, and `lsuv`, the initialization behind one of them."""

from keras_adaptive_rnn.callbacks.annealing import Annealing
from keras_adaptive_rnn.callbacks.unit_variance.lsuv import LSUV, lsuv
from keras_adaptive_rnn.callbacks.unit_variance.run import Scaled

__all__ = ["LSUV", "Annealing", "Scaled", "lsuv"]
