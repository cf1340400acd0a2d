"""Recurrent cells, each a `keras.layers.Layer` that runs in `keras.layers.RNN`.

Base classes for cells of your own are here too: `Cell`, `GatedCell`, `LinearCell`, `MatrixMemoryCell`,
`WrapperCell` and `CoreWrapperCell`, and the `Run` that their steps get.
"""

from keras_adaptive_rnn._export import directory, exported
from keras_adaptive_rnn._run import Run as Run
from keras_adaptive_rnn.cells.adaptive import AdaptiveLSTMCell, AdaptiveRNNCell
from keras_adaptive_rnn.cells.adaptive_linear import AdaptiveLinearCell
from keras_adaptive_rnn.cells.adaptive_stack import StackedAdaptiveLSTMCells, StackedAdaptiveRNNCells
from keras_adaptive_rnn.cells.bases.cell import Cell as Cell
from keras_adaptive_rnn.cells.bases.gated import GatedCell as GatedCell
from keras_adaptive_rnn.cells.bases.linear import LinearCell as LinearCell
from keras_adaptive_rnn.cells.bases.matrix_memory import MatrixMemoryCell as MatrixMemoryCell
from keras_adaptive_rnn.cells.bases.wrapper import WrapperCell as WrapperCell
from keras_adaptive_rnn.cells.core_wrapper import CoreWrapperCell as CoreWrapperCell
from keras_adaptive_rnn.cells.deep import DeepRNNCell
from keras_adaptive_rnn.cells.elman import ElmanCell
from keras_adaptive_rnn.cells.gated_delta_net import GatedDeltaNetCell
from keras_adaptive_rnn.cells.grid import GridLSTMBlock, GridLSTMCell
from keras_adaptive_rnn.cells.gru import GRUCell
from keras_adaptive_rnn.cells.hyper_lstm import HyperLSTMCell
from keras_adaptive_rnn.cells.isan import ISANCell
from keras_adaptive_rnn.cells.low_rank import LowRankGRUCell, LowRankLSTMCell
from keras_adaptive_rnn.cells.lstm import LSTMCell
from keras_adaptive_rnn.cells.min_rnn import MinGRUCell, MinLSTMCell
from keras_adaptive_rnn.cells.mogrifier import MogrifierCell
from keras_adaptive_rnn.cells.multiplicative import MultiplicativeLSTMCell
from keras_adaptive_rnn.cells.multiplicative_integration import (
    MultiplicativeIntegrationLSTMCell,
    MultiplicativeIntegrationRNNCell,
)
from keras_adaptive_rnn.cells.nas import NASCell
from keras_adaptive_rnn.cells.recurrent_highway import RecurrentHighwayCell
from keras_adaptive_rnn.cells.reset import ResetCell
from keras_adaptive_rnn.cells.rg_lru import RGLRUCell
from keras_adaptive_rnn.cells.skim import SkimCell
from keras_adaptive_rnn.cells.skip import SkipCell
from keras_adaptive_rnn.cells.stacked import StackedCells
from keras_adaptive_rnn.cells.states_output import StatesOutput
from keras_adaptive_rnn.cells.urnn import URNNCell
from keras_adaptive_rnn.cells.variable_computation import VariableComputationCell
from keras_adaptive_rnn.cells.weight_drop import WeightDropLSTMCell
from keras_adaptive_rnn.cells.xlstm import MLSTMCell, SLSTMCell
from keras_adaptive_rnn.cells.zoneout import ZoneoutCell

__all__ = exported(globals())
__dir__ = directory(
    __all__, "Cell", "CoreWrapperCell", "GatedCell", "LinearCell", "MatrixMemoryCell", "Run", "WrapperCell"
)
