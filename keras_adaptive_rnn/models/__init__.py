"""Complete models that read only part of their input, and one that trains decisions by REINFORCE."""

from keras_adaptive_rnn._export import directory
from keras_adaptive_rnn.models.jumping import Reading
from keras_adaptive_rnn.models.lstm_jump import LSTMJump
from keras_adaptive_rnn.models.reinforce import Reinforce
from keras_adaptive_rnn.models.skim_or_read import ReadingCurve, SkimOrRead

__all__ = ["LSTMJump", "Reading", "ReadingCurve", "Reinforce", "SkimOrRead"]
__dir__ = directory(__all__)
