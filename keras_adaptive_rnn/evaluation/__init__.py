"""Evaluation of recurrent language models: perplexity, Monte Carlo dropout, dynamic evaluation, and beam search."""

from keras_adaptive_rnn._export import directory
from keras_adaptive_rnn.evaluation.beam import CopyPenalty, Hypothesis, beam_search
from keras_adaptive_rnn.evaluation.dynamic import GradientStatistics, dynamic_evaluate, gradient_statistics
from keras_adaptive_rnn.evaluation.perplexity import Evaluation, Perplexity
from keras_adaptive_rnn.evaluation.static import evaluate, tune_temperature

__all__ = [
    "CopyPenalty",
    "Evaluation",
    "GradientStatistics",
    "Hypothesis",
    "Perplexity",
    "beam_search",
    "dynamic_evaluate",
    "evaluate",
    "gradient_statistics",
    "tune_temperature",
]
__dir__ = directory(__all__)
