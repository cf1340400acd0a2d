"""Checks for recurrent cells of your own."""

from keras_adaptive_rnn._export import directory
from keras_adaptive_rnn.testing.check_cell import check_cell, check_layer
from keras_adaptive_rnn.testing.noise import given_noise

__all__ = ["check_cell", "check_layer", "given_noise"]
__dir__ = directory(__all__)
