"""Whole models that read only a part of their input."""

from keras_adaptive_rnn.models.lstm_jump import LSTMJump, Reading

__all__ = ["LSTMJump", "Reading"]
