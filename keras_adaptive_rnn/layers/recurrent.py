"""The layers of cells: each takes the arguments of its cell and those of `RNN`.

Example:

>>> layer = keras_adaptive_rnn.layers.Mogrifier(8, rounds=5, rank=2, return_sequences=True)
>>> tuple(layer(np.ones((2, 5, 3))).shape)
(2, 5, 8)
>>> stack = keras_adaptive_rnn.layers.Mogrifier([8] * 4, connection="skip")
>>> tuple(stack(np.ones((2, 5, 3))).shape)
(2, 8)
>>> layer = keras_adaptive_rnn.layers.Skip(keras_adaptive_rnn.GRUCell(8), cost_weight=1e-4, return_decisions=True)
>>> output, updates = layer(np.ones((2, 5, 3)))
>>> tuple(output.shape), tuple(updates.shape)
((2, 8), (2, 5))
>>> layer = keras_adaptive_rnn.layers.AdaptiveLSTM([8, 6], policy_units=4, output_dropout=0.6)
>>> tuple(layer(np.ones((2, 5, 3))).shape)
(2, 6)
"""

import inspect

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, cells, engine
from keras_adaptive_rnn._export import export, exported
from keras_adaptive_rnn._seeds import fold_in
from keras_adaptive_rnn.layers.cell_layer import CellLayer
from keras_adaptive_rnn.layers.fused import FusedLayer


class AdaptiveLayer(CellLayer, cell_class=cells.AdaptiveLSTMCell):
    """The layer of an adaptive cell, or of a stack of them.

    Args:
        units: Positive integer; or a list of the sizes of a stack, the lowest layer first, whose policies read each
            other: `stack_class`.
        output_dropout: Float in `[0, 1)`, fraction of the output to drop in training, with one mask per sequence. The
            states are not dropped. The paper uses it together with `dropout`, `recurrent_dropout` and
            `policy_dropout`. Defaults to `0.0`.
    """

    noise_rates = ("output_dropout",)
    stack_class = cells.StackedAdaptiveLSTMCells
    # A cell object is for one cell: `RNN(AdaptiveLSTMCell(...))`.
    refused_arguments = ("policy_cell",)
    # Stacks of adaptive cells have connections of their own.
    fixed_arguments = ("connection",)

    def __init__(self, *args, output_dropout: float = 0.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.output_dropout = _arguments.rate("output_dropout", output_dropout)
        self.output_noise = engine.SeedGenerator(fold_in(self.seed, "output"))

    def make_cell(self, units=None, **kwargs):
        if isinstance(units, (list, tuple)):
            return type(self).stack_class(units, **kwargs)
        return super().make_cell(units, **kwargs)

    def call(self, sequences, initial_state=None, mask=None, training=False, resets=None):
        result = super().call(sequences, initial_state=initial_state, mask=mask, training=training, resets=resets)
        if not training or self.output_dropout == 0:
            return result
        output, *states = result if self.return_state else (result,)
        shape = [ops.shape(output)[0], *([1] if self.return_sequences else []), output.shape[-1]]
        mask = keras.random.dropout(ops.ones(shape, output.dtype), self.output_dropout, seed=self.output_noise)
        return (output * mask, *states) if self.return_state else output * mask


def layer_of(cell_class, base=CellLayer, **attributes):
    """Returns the layer of a cell, called like it: `Mogrifier` of `MogrifierCell`."""
    cell = cell_class.__name__
    # Python runs without docstrings with `-OO`.
    summary = " ".join(inspect.cleandoc(cell_class.__doc__ or "").partition("\n\n")[0].split())
    doc = f"""The layer `RNN({cell}(...))`: {summary[:1].lower()}{summary[1:]}

    It takes the arguments of `keras_adaptive_rnn.{cell}`, which has the equations, and of
    `keras_adaptive_rnn.layers.RNN`.
    """
    attributes = {"__doc__": doc if summary else None, "__module__": __name__, **attributes}
    return export(type(base)(cell.removesuffix("Cell"), (base,), attributes, cell_class=cell_class))


Elman = layer_of(cells.ElmanCell)
GRU = layer_of(cells.GRUCell, FusedLayer)
LSTM = layer_of(cells.LSTMCell, FusedLayer)
Mogrifier = layer_of(cells.MogrifierCell)
MinGRU = layer_of(cells.MinGRUCell)
MinLSTM = layer_of(cells.MinLSTMCell)
RGLRU = layer_of(cells.RGLRUCell)
AdaptiveLinear = layer_of(cells.AdaptiveLinearCell)
SLSTM = layer_of(cells.SLSTMCell)
MLSTM = layer_of(cells.MLSTMCell)
GatedDeltaNet = layer_of(cells.GatedDeltaNetCell)
MultiplicativeLSTM = layer_of(cells.MultiplicativeLSTMCell)
MultiplicativeIntegrationLSTM = layer_of(cells.MultiplicativeIntegrationLSTMCell)
MultiplicativeIntegrationRNN = layer_of(cells.MultiplicativeIntegrationRNNCell)
NAS = layer_of(cells.NASCell)
HyperLSTM = layer_of(cells.HyperLSTMCell)
ISAN = layer_of(cells.ISANCell)
LowRankGRU = layer_of(cells.LowRankGRUCell)
LowRankLSTM = layer_of(cells.LowRankLSTMCell)
URNN = layer_of(cells.URNNCell)
RecurrentHighway = layer_of(cells.RecurrentHighwayCell)
GridLSTM = layer_of(cells.GridLSTMCell)
DeepRNN = layer_of(cells.DeepRNNCell)
WeightDropLSTM = layer_of(cells.WeightDropLSTMCell)
Zoneout = layer_of(cells.ZoneoutCell)
Skip = layer_of(cells.SkipCell, fixed_arguments=("connection",))
Skim = layer_of(cells.SkimCell, fixed_arguments=("connection",))
VariableComputation = layer_of(cells.VariableComputationCell)
AdaptiveLSTM = layer_of(cells.AdaptiveLSTMCell, AdaptiveLayer)
AdaptiveRNN = layer_of(cells.AdaptiveRNNCell, AdaptiveLayer, stack_class=cells.StackedAdaptiveRNNCells)

__all__ = exported(globals())
