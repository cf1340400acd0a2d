"""Probe cells: what each can do, on small tasks that ask one thing of its state."""

from keras_adaptive_rnn._export import directory
from keras_adaptive_rnn.probing.experiment import probe
from keras_adaptive_rnn.probing.result import Probe

__all__ = ["Probe", "probe"]
__dir__ = directory(__all__)
