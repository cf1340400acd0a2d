"""Compare cells on your data: cells of equal size, tuned alike, on data of yours."""

from keras_adaptive_rnn.comparison.result import Comparison
from keras_adaptive_rnn.comparison.run import compare

__all__ = ["Comparison", "compare"]
