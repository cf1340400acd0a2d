"""Optimizers that wrap an optimizer of Keras, and learning rate schedules."""

from keras_adaptive_rnn._export import directory
from keras_adaptive_rnn.optimizers.averaged import Averaged
from keras_adaptive_rnn.optimizers.inverse_power_decay import InversePowerDecay

__all__ = ["Averaged", "InversePowerDecay"]
__dir__ = directory(__all__)
