"""Callbacks for `fit`, and `lsuv`, the initialization behind one of them."""

from keras_adaptive_rnn._export import directory
from keras_adaptive_rnn.callbacks.annealing import Annealing
from keras_adaptive_rnn.callbacks.averaging import AveragingTrigger
from keras_adaptive_rnn.callbacks.stream_states import StreamStates
from keras_adaptive_rnn.callbacks.time_limit import TimeLimit
from keras_adaptive_rnn.callbacks.unit_variance.lsuv import LSUV, Scaled, lsuv

__all__ = ["LSUV", "Annealing", "AveragingTrigger", "Scaled", "StreamStates", "TimeLimit", "lsuv"]
__dir__ = directory(__all__)
