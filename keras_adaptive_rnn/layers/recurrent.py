"""Layers that create their own cell and take the arguments of both the cell and `RNN`."""

import keras
from keras import ops

from keras_adaptive_rnn import _arguments, cells, engine
from keras_adaptive_rnn._export import export, exported
from keras_adaptive_rnn._seeds import fold_in
from keras_adaptive_rnn.layers.cell_layer import CellLayer
from keras_adaptive_rnn.layers.fused import FusedLayer


@export
class Elman(CellLayer, cell_class=cells.ElmanCell):
    """The Elman network as a layer: `RNN(ElmanCell(...))`, a drop-in replacement for `keras.layers.SimpleRNN`.

    `keras_adaptive_rnn.ElmanCell` has the equations.

    Example:

    >>> small = keras.initializers.RandomNormal(stddev=0.001)
    >>> irnn = keras_adaptive_rnn.layers.Elman(
    ...     8, activation="relu", kernel_initializer=small, recurrent_initializer="identity"
    ... )
    >>> tuple(irnn(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    positional_arguments_of = keras.layers.SimpleRNN


@export
class GRU(FusedLayer, cell_class=cells.GRUCell):
    """The gated recurrent unit as a layer: `RNN(GRUCell(...))`, a drop-in replacement for `keras.layers.GRU`.

    `keras_adaptive_rnn.GRUCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.GRU(8, layer_normalization=True)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    positional_arguments_of = keras.layers.GRU


@export
class LSTM(FusedLayer, cell_class=cells.LSTMCell):
    """The long short-term memory as a layer: `RNN(LSTMCell(...))`, a drop-in replacement for `keras.layers.LSTM`.

    `keras_adaptive_rnn.LSTMCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.LSTM(8, tied_gates=True, projection_units=4)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 4)
    """

    positional_arguments_of = keras.layers.LSTM


@export
class Mogrifier(CellLayer, cell_class=cells.MogrifierCell):
    """The Mogrifier (Melis et al., 2020) as a layer: `RNN(MogrifierCell(...))`.

    `keras_adaptive_rnn.MogrifierCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.Mogrifier(8, rounds=5, rank=2, return_sequences=True)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 5, 8)
    >>> stack = keras_adaptive_rnn.layers.Mogrifier([8] * 4, connection="skip")
    >>> tuple(stack(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class MinGRU(CellLayer, cell_class=cells.MinGRUCell):
    """The minimal GRU (Feng et al., 2024) as a layer: `RNN(MinGRUCell(...))`.

    `keras_adaptive_rnn.MinGRUCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.MinGRU(8, negative_eigenvalues=True)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class MinLSTM(CellLayer, cell_class=cells.MinLSTMCell):
    """The minimal LSTM (Feng et al., 2024) as a layer: `RNN(MinLSTMCell(...))`.

    `keras_adaptive_rnn.MinLSTMCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.MinLSTM(8)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class RGLRU(CellLayer, cell_class=cells.RGLRUCell):
    """The real-gated linear recurrent unit (De et al., 2024) as a layer: `RNN(RGLRUCell(...))`.

    `keras_adaptive_rnn.RGLRUCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.RGLRU(8)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class AdaptiveLinear(CellLayer, cell_class=cells.AdaptiveLinearCell):
    """A linear memory whose coefficients a small recurrent policy sets, as a layer: `RNN(AdaptiveLinearCell(...))`.

    `keras_adaptive_rnn.AdaptiveLinearCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.AdaptiveLinear(8, policy_units=2)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class SLSTM(CellLayer, cell_class=cells.SLSTMCell):
    """The sLSTM of xLSTM (Beck et al., 2024) as a layer: `RNN(SLSTMCell(...))`.

    `keras_adaptive_rnn.SLSTMCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.SLSTM(8)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class MLSTM(CellLayer, cell_class=cells.MLSTMCell):
    """The mLSTM of xLSTM (Beck et al., 2024) as a layer: `RNN(MLSTMCell(...))`.

    `keras_adaptive_rnn.MLSTMCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.MLSTM(8, num_heads=2)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class GatedDeltaNet(CellLayer, cell_class=cells.GatedDeltaNetCell):
    """The recurrence of Gated DeltaNet (Yang et al., 2024) as a layer: `RNN(GatedDeltaNetCell(...))`.

    `keras_adaptive_rnn.GatedDeltaNetCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.GatedDeltaNet(8, negative_eigenvalues=True)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class MultiplicativeLSTM(CellLayer, cell_class=cells.MultiplicativeLSTMCell):
    """The multiplicative LSTM (Krause et al., 2016) as a layer: `RNN(MultiplicativeLSTMCell(...))`.

    `keras_adaptive_rnn.MultiplicativeLSTMCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.MultiplicativeLSTM(8)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class MultiplicativeIntegrationLSTM(CellLayer, cell_class=cells.MultiplicativeIntegrationLSTMCell):
    """An LSTM with multiplicative integration (Wu et al., 2016): `RNN(MultiplicativeIntegrationLSTMCell(...))`.

    `keras_adaptive_rnn.MultiplicativeIntegrationLSTMCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.MultiplicativeIntegrationLSTM(8)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class MultiplicativeIntegrationRNN(CellLayer, cell_class=cells.MultiplicativeIntegrationRNNCell):
    """An Elman network with multiplicative integration (Wu et al., 2016): `RNN(MultiplicativeIntegrationRNNCell(...))`.

    `keras_adaptive_rnn.MultiplicativeIntegrationRNNCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.MultiplicativeIntegrationRNN(8, alpha=2.0)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class NAS(CellLayer, cell_class=cells.NASCell):
    """The cell that neural architecture search found (Zoph and Le, 2017) as a layer: `RNN(NASCell(...))`.

    `keras_adaptive_rnn.NASCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.NAS(8)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class HyperLSTM(CellLayer, cell_class=cells.HyperLSTMCell):
    """The HyperLSTM (Ha et al., 2017) as a layer: `RNN(HyperLSTMCell(...))`.

    `keras_adaptive_rnn.HyperLSTMCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.HyperLSTM(8, hyper_units=4, layer_normalization=True)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class ISAN(CellLayer, cell_class=cells.ISANCell):
    """The input switched affine network (Foerster et al., 2017) as a layer: `RNN(ISANCell(...))`.

    `keras_adaptive_rnn.ISANCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.ISAN(8, return_sequences=True)
    >>> tuple(layer(keras.ops.one_hot([[0, 2, 1], [1, 1, 0]], 3)).shape)
    (2, 3, 8)
    """


@export
class LowRankGRU(CellLayer, cell_class=cells.LowRankGRUCell):
    """The low-rank passthrough GRU (Miceli Barone, 2016) as a layer: `RNN(LowRankGRUCell(...))`.

    `keras_adaptive_rnn.LowRankGRUCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.LowRankGRU(8, rank=2, carry_bias=4.0)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class LowRankLSTM(CellLayer, cell_class=cells.LowRankLSTMCell):
    """The low-rank passthrough LSTM (Miceli Barone, 2016) as a layer: `RNN(LowRankLSTMCell(...))`.

    `keras_adaptive_rnn.LowRankLSTMCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.LowRankLSTM(8, rank=2)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class URNN(CellLayer, cell_class=cells.URNNCell):
    """The unitary evolution RNN (Arjovsky et al., 2016) as a layer: `RNN(URNNCell(...))`.

    `keras_adaptive_rnn.URNNCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.URNN(8)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 16)
    """


@export
class RecurrentHighway(CellLayer, cell_class=cells.RecurrentHighwayCell):
    """The recurrent highway network (Zilly et al., 2017) as a layer: `RNN(RecurrentHighwayCell(...))`.

    `keras_adaptive_rnn.RecurrentHighwayCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.RecurrentHighway(8, depth=3)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class GridLSTM(CellLayer, cell_class=cells.GridLSTMCell):
    """The grid LSTM over depth and time (Kalchbrenner et al., 2015) as a layer: `RNN(GridLSTMCell(...))`.

    `keras_adaptive_rnn.GridLSTMCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.GridLSTM(8, depth=2)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class DeepRNN(CellLayer, cell_class=cells.DeepRNNCell):
    """A deep stack of vanilla layers (Eidnes and Nokland, 2018) as a layer: `RNN(DeepRNNCell(...))`.

    `keras_adaptive_rnn.DeepRNNCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.DeepRNN(8, depth=12)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class WeightDropLSTM(CellLayer, cell_class=cells.WeightDropLSTMCell):
    """The LSTM of AWD-LSTM (Merity et al., 2018) as a layer: `RNN(WeightDropLSTMCell(...))`.

    `keras_adaptive_rnn.WeightDropLSTMCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.WeightDropLSTM(8, recurrent_weight_dropout=0.5)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class Zoneout(CellLayer, cell_class=cells.ZoneoutCell):
    """A recurrent network with zoneout (Krueger et al., 2017) as a layer: `RNN(ZoneoutCell(...))`.

    `keras_adaptive_rnn.ZoneoutCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.Zoneout(8, zoneout=[0.05, 0.5])
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


@export
class Skip(CellLayer, cell_class=cells.SkipCell):
    """The Skip RNN (Campos et al., 2018) as a layer: `RNN(SkipCell(...))`.

    `keras_adaptive_rnn.SkipCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.Skip(keras_adaptive_rnn.GRUCell(8), cost_weight=1e-4, return_decisions=True)
    >>> output, updates = layer(np.ones((2, 5, 3)))
    >>> tuple(output.shape), tuple(updates.shape)
    ((2, 8), (2, 5))
    """

    fixed_arguments = ("connection",)


@export
class Skim(CellLayer, cell_class=cells.SkimCell):
    """The Skim-RNN (Seo et al., 2018) as a layer: `RNN(SkimCell(...))`.

    `keras_adaptive_rnn.SkimCell` has the equations.

    Example:

    >>> big, small = keras_adaptive_rnn.LSTMCell(8), keras_adaptive_rnn.LSTMCell(2)
    >>> layer = keras_adaptive_rnn.layers.Skim(big, small, skim_loss=0.01, return_sequences=True)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 5, 8)
    """

    fixed_arguments = ("connection",)


@export
class VariableComputation(CellLayer, cell_class=cells.VariableComputationCell):
    """The VCRNN and VCGRU (Jernite et al., 2017) as a layer: `RNN(VariableComputationCell(...))`.

    `keras_adaptive_rnn.VariableComputationCell` has the equations.

    Example:

    >>> layer = keras_adaptive_rnn.layers.VariableComputation(8, core="gru", cost_weight=0.1, target=0.25)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """


class AdaptiveLayer(CellLayer, cell_class=cells.AdaptiveLSTMCell):
    """The layer of an adaptive cell or a stack of adaptive cells.

    Args:
        output_dropout: Float in `[0, 1)`, fraction of the output to drop, with one mask per sequence. Defaults to
            `0.0`.
    """

    noise_rates = ("output_dropout",)
    stack_class = cells.StackedAdaptiveLSTMCells
    # A cell object is for one cell: `RNN(AdaptiveLSTMCell(...))`.
    refused_arguments = ("policy_cell",)
    # Stacks of adaptive cells have connections of their own.
    fixed_arguments = ("connection",)

    def __init__(self, *, output_dropout: float = 0.0, **kwargs):
        super().__init__(**kwargs)
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


@export
class AdaptiveLSTM(AdaptiveLayer, cell_class=cells.AdaptiveLSTMCell):
    """The adaptive LSTM (Flennerhag et al., 2018) as a layer, with one cell or a stack of cells.

    `keras_adaptive_rnn.AdaptiveLSTMCell` has the equations.

    Args:
        units: Positive integer for `RNN(AdaptiveLSTMCell(units, ...))`, or a list of the sizes of a stack, the lowest
            layer first, for `RNN(StackedAdaptiveLSTMCells(units, ...))`.
        output_dropout: Float in `[0, 1)`, fraction of the output to drop in training, with one mask per sequence. The
            states are not dropped. The paper uses it together with `dropout`, `recurrent_dropout` and
            `policy_dropout`. Defaults to `0.0`.

    Example:

    >>> layer = keras_adaptive_rnn.layers.AdaptiveLSTM([8, 6], policy_units=4, output_dropout=0.6)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 6)
    """

    stack_class = cells.StackedAdaptiveLSTMCells


@export
class AdaptiveRNN(AdaptiveLayer, cell_class=cells.AdaptiveRNNCell):
    """The adaptive Elman network (Flennerhag et al., 2018) as a layer, with one cell or a stack of cells.

    `keras_adaptive_rnn.AdaptiveRNNCell` has the equations.

    Args:
        units: Positive integer for `RNN(AdaptiveRNNCell(units, ...))`, or a list of the sizes of a stack, the lowest
            layer first, for `RNN(StackedAdaptiveRNNCells(units, ...))`.
        output_dropout: As in `keras_adaptive_rnn.layers.AdaptiveLSTM`.

    Example:

    >>> layer = keras_adaptive_rnn.layers.AdaptiveRNN(8, policy_units=4)
    >>> tuple(layer(np.ones((2, 5, 3))).shape)
    (2, 8)
    """

    stack_class = cells.StackedAdaptiveRNNCells


__all__ = exported(globals())
