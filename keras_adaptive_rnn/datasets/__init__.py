"""Synthetic tasks as NumPy arrays, reproducible from a seed."""

from keras_adaptive_rnn.datasets.reading import mixed_difficulty, number_prediction

__all__ = ["mixed_difficulty", "number_prediction"]
