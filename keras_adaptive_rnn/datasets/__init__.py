"""Texts as streams of tokens."""

from keras_adaptive_rnn._export import directory
from keras_adaptive_rnn.datasets.token_stream import TokenStream

__all__ = ["TokenStream"]
__dir__ = directory(__all__)
