"""Checks for recurrent cells of your own, and for recurrent layers of anybody, in Keras, PyTorch or Flax."""

from keras_adaptive_rnn._export import directory
from keras_adaptive_rnn.testing.check_cell import check_cell
from keras_adaptive_rnn.testing.check_layer import check_layer
from keras_adaptive_rnn.testing.noise import given_noise
from keras_adaptive_rnn.testing.results import LayerReport

__all__ = ["LayerReport", "check_cell", "check_layer", "given_noise"]
__dir__ = directory(__all__)
