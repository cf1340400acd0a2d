"""Compare cells on your data: cells of equal size, tuned alike, on data of yours."""

from keras_adaptive_rnn._export import directory
from keras_adaptive_rnn.comparison.experiment import compare
from keras_adaptive_rnn.comparison.result import Comparison

__all__ = ["Comparison", "compare"]
__dir__ = directory(__all__)
