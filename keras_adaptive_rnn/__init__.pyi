"""Adaptive recurrent cells and layers for Keras 3, on TensorFlow, JAX and PyTorch."""

from keras_adaptive_rnn import (
    activations,
    analysis,
    callbacks,
    cells,
    comparison,
    datasets,
    distribution,
    evaluation,
    initializers,
    layers,
    maps,
    models,
    optimizers,
    testing,
)
from keras_adaptive_rnn.cells.adaptive import AdaptiveLSTMCell, AdaptiveRNNCell
from keras_adaptive_rnn.cells.adaptive_stack import StackedAdaptiveLSTMCells, StackedAdaptiveRNNCells
from keras_adaptive_rnn.cells.deep import DeepRNNCell
from keras_adaptive_rnn.cells.elman import ElmanCell
from keras_adaptive_rnn.cells.grid import GridLSTMBlock, GridLSTMCell
from keras_adaptive_rnn.cells.gru import GRUCell
from keras_adaptive_rnn.cells.low_rank import LowRankGRUCell, LowRankLSTMCell
from keras_adaptive_rnn.cells.lstm import LSTMCell
from keras_adaptive_rnn.cells.mogrifier import MogrifierCell
from keras_adaptive_rnn.cells.multiplicative import MultiplicativeLSTMCell
from keras_adaptive_rnn.cells.recurrent_highway import RecurrentHighwayCell
from keras_adaptive_rnn.cells.skim import SkimCell
from keras_adaptive_rnn.cells.skip import SkipCell
from keras_adaptive_rnn.cells.stacked import StackedCells
from keras_adaptive_rnn.cells.states_output import StatesOutput
from keras_adaptive_rnn.cells.variable_computation import VariableComputationCell
from keras_adaptive_rnn.cells.weight_drop import WeightDropLSTMCell
from keras_adaptive_rnn.cells.zoneout import ZoneoutCell
from keras_adaptive_rnn.comparison.run import compare
from keras_adaptive_rnn.layers.activation_regularization import ActivationRegularization
from keras_adaptive_rnn.layers.adaptive_dense import AdaptiveDense
from keras_adaptive_rnn.layers.bipolar import OPLU, Bipolar, CReLU
from keras_adaptive_rnn.layers.embedding import FixedEmbedding
from keras_adaptive_rnn.layers.highway import Highway
from keras_adaptive_rnn.layers.maxout import Maxout
from keras_adaptive_rnn.layers.mixture_of_softmaxes import MixtureOfSoftmaxes
from keras_adaptive_rnn.layers.recurrent import (
    GRU,
    LSTM,
    AdaptiveLSTM,
    AdaptiveRNN,
    DeepRNN,
    Elman,
    GridLSTM,
    LowRankGRU,
    LowRankLSTM,
    Mogrifier,
    MultiplicativeLSTM,
    RecurrentHighway,
    Skim,
    Skip,
    VariableComputation,
    WeightDropLSTM,
    Zoneout,
)
from keras_adaptive_rnn.layers.sequence_auxiliary import SequenceAuxiliary
from keras_adaptive_rnn.layers.tied_embedding import TiedEmbedding
from keras_adaptive_rnn.loop.rnn import RNN
from keras_adaptive_rnn.one_step.file import export_step
from keras_adaptive_rnn.one_step.model import step_model

__version__: str = "0.1.0"
__all__ = [
    "GRU",
    "LSTM",
    "OPLU",
    "RNN",
    "ActivationRegularization",
    "AdaptiveDense",
    "AdaptiveLSTM",
    "AdaptiveLSTMCell",
    "AdaptiveRNN",
    "AdaptiveRNNCell",
    "Bipolar",
    "CReLU",
    "DeepRNN",
    "DeepRNNCell",
    "Elman",
    "ElmanCell",
    "FixedEmbedding",
    "GRUCell",
    "GridLSTM",
    "GridLSTMBlock",
    "GridLSTMCell",
    "Highway",
    "LSTMCell",
    "LowRankGRU",
    "LowRankGRUCell",
    "LowRankLSTM",
    "LowRankLSTMCell",
    "Maxout",
    "MixtureOfSoftmaxes",
    "Mogrifier",
    "MogrifierCell",
    "MultiplicativeLSTM",
    "MultiplicativeLSTMCell",
    "RecurrentHighway",
    "RecurrentHighwayCell",
    "SequenceAuxiliary",
    "Skim",
    "SkimCell",
    "Skip",
    "SkipCell",
    "StackedAdaptiveLSTMCells",
    "StackedAdaptiveRNNCells",
    "StackedCells",
    "StatesOutput",
    "TiedEmbedding",
    "VariableComputation",
    "VariableComputationCell",
    "WeightDropLSTM",
    "WeightDropLSTMCell",
    "Zoneout",
    "ZoneoutCell",
    "activations",
    "analysis",
    "callbacks",
    "cells",
    "compare",
    "comparison",
    "datasets",
    "distribution",
    "evaluation",
    "export_step",
    "initializers",
    "layers",
    "maps",
    "models",
    "optimizers",
    "step_model",
    "testing",
]
