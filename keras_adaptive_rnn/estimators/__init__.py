"""Recurrent cells as estimators of scikit-learn, and so of skforecast and sktime."""

from keras_adaptive_rnn._export import directory
from keras_adaptive_rnn.comparison.estimators import SequenceClassifier, SequenceRegressor

__all__ = ["SequenceClassifier", "SequenceRegressor"]
__dir__ = directory(__all__)
