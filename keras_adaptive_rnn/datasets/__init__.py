"""Synthetic tasks as NumPy arrays, reproducible from a seed, and texts as streams of tokens."""

from keras_adaptive_rnn._export import directory
from keras_adaptive_rnn.datasets.copying import reverse_copy
from keras_adaptive_rnn.datasets.reading import mixed_difficulty, number_prediction
from keras_adaptive_rnn.datasets.token_stream import TokenStream

__all__ = ["TokenStream", "mixed_difficulty", "number_prediction", "reverse_copy"]
__dir__ = directory(__all__)
