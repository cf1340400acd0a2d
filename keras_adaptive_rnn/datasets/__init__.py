"""Synthetic tasks, drawn from a seed, as NumPy arrays."""

from keras_adaptive_rnn.datasets.reading import mixed_difficulty, number_prediction

__all__ = ["mixed_difficulty", "number_prediction"]
