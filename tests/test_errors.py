"""Bad input raises before anything is built, and the message names the argument, what came and what is allowed."""

import inspect
import pathlib
import re
import zipfile

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import _synonyms, maps
from keras_adaptive_rnn._arguments import DeclaredArguments
from keras_adaptive_rnn._export import PUBLIC
from tests.backends import in_turns

pytestmark = in_turns

X = np.ones((2, 5, 3), "float32")

RNN_OF_CELL = ["`Mogrifier(units=4)`", "`keras_adaptive_rnn.RNN(MogrifierCell(units=4))`"]
LAYER_IS_NO_CELL = ["takes cells", "`Mogrifier` is a layer", "`Mogrifier(units=4)`", "MogrifierCell(units=4)"]
# A call, the error, and words that its message must hold.
BAD_ARGUMENTS = [
    (lambda: kar.LSTMCell(-1), ValueError, ["`units`", "units=-1", "at least 1"]),
    (lambda: kar.LSTMCell(0), ValueError, ["`units`", "units=0"]),
    (lambda: kar.LSTMCell(2.5), TypeError, ["`units`", "units=2.5", "integer"]),
    (lambda: kar.LSTMCell(True), TypeError, ["`units`", "units=True"]),
    (lambda: kar.LSTMCell("4"), TypeError, ["`units`", "units='4'"]),
    (lambda: kar.LSTMCell(4, dropout=5), ValueError, ["`dropout`", "dropout=5", "below 1"]),
    (lambda: kar.LSTMCell(4, dropout=1.0), ValueError, ["`dropout`", "dropout=1.0"]),
    (lambda: kar.LSTMCell(4, dropout=float("nan")), ValueError, ["`dropout`", "nan"]),
    (lambda: kar.LSTMCell(4, recurrent_dropout=-0.1), ValueError, ["`recurrent_dropout`", "-0.1", "at least 0"]),
    (lambda: kar.LSTMCell(4, recurrent_dropout="a"), TypeError, ["`recurrent_dropout`", "'a'", "number"]),
    (lambda: kar.LSTMCell(4, update_dropout=2), ValueError, ["`update_dropout`", "update_dropout=2"]),
    (lambda: kar.LSTMCell(4, seed="x"), TypeError, ["`seed`", "'x'"]),
    (lambda: kar.LSTMCell(4, use_bias=1), TypeError, ["`use_bias`", "use_bias=1", "True or False"]),
    (lambda: kar.LSTMCell(4, activation="tanhh"), ValueError, ["`activation`", "tanhh"]),
    (lambda: kar.LSTMCell(4, recurrent_activation="s"), ValueError, ["`recurrent_activation`", "'s'"]),
    (lambda: kar.LSTMCell(4, kernel_initializer="glorot"), ValueError, ["`kernel_initializer`", "glorot"]),
    (lambda: kar.LSTMCell(4, recurrent_regularizer="l3"), ValueError, ["`recurrent_regularizer`", "l3"]),
    (lambda: kar.LSTMCell(4, bias_constraint="x"), ValueError, ["`bias_constraint`", "'x'"]),
    (lambda: kar.LSTMCell(4, cell_clip=-1.0), ValueError, ["`cell_clip`", "-1.0", "positive"]),
    (lambda: kar.LSTMCell(4, projection_units=0), ValueError, ["`projection_units`", "projection_units=0"]),
    (lambda: kar.LSTMCell(4, tied_gates=True, cap_input_gate=True), ValueError, ["`tied_gates`", "`cap_input_gate`"]),
    (lambda: kar.LSTMCell(4, kernel_map="sparse"), ValueError, ["`kernel_map`", "'sparse'", "'full'"]),
    (lambda: kar.LSTMCell(4, recurrent_map=maps.LowRank(5)), ValueError, ["`rank`", "rank=5", "at most", "4"]),
    (lambda: kar.LSTMCell(4, recurrent_map=maps.Full(3)), ValueError, ["`recurrent_map`", "`units`", "4", "3"]),
    (lambda: kar.LSTMCell(4, unit=3), TypeError, ["`unit`", "unit=3", "did you mean `units`?", "help(LSTMCell)"]),
    (lambda: kar.LSTMCell(4, activity_regularizer="l2"), TypeError, ["`activity_regularizer`", "help("]),
    (lambda: kar.GRUCell(4, reset_after="yes"), TypeError, ["`reset_after`", "'yes'"]),
    (lambda: kar.GatedDeltaNetCell(4, query_scale=0), ValueError, ["`query_scale`", "query_scale=0", "positive"]),
    (lambda: kar.GatedDeltaNetCell(4, epsilon=0), ValueError, ["`epsilon`", "epsilon=0", "positive"]),
    (lambda: kar.MLSTMCell(4, epsilon=-1.0), ValueError, ["`epsilon`", "epsilon=-1.0", "at least 0"]),
    (lambda: kar.MogrifierCell(4, rounds=-1), ValueError, ["`rounds`", "rounds=-1", "at least 0"]),
    (lambda: kar.MogrifierCell(4, rounds=2.0), TypeError, ["`rounds`", "2.0"]),
    (lambda: kar.MogrifierCell(4, rank=0), ValueError, ["`rank`", "rank=0", "at least 1"]),
    (lambda: kar.MogrifierCell(4, rank=5), ValueError, ["`rank`", "rank=5", "at most", "4"]),
    (lambda: kar.MogrifierCell(4, zigzag="no"), TypeError, ["`zigzag`", "'no'"]),
    (lambda: kar.MogrifierCell(4, static_gates=1), TypeError, ["`static_gates`", "static_gates=1"]),
    (lambda: kar.MogrifierCell(4, rank=2, static_gates=True), ValueError, ["`rank`", "rank=2", "static_gates=True"]),
    (lambda: kar.MogrifierCell(4, gate_activation="signum"), ValueError, ["`gate_activation`", "'signum'"]),
    (lambda: kar.MogrifierCell(4, gate_activation="crelu"), ValueError, ["`gate_activation`", "'crelu'"]),
    (lambda: kar.MogrifierCell(4, core="rnn"), ValueError, ["`core`", "'rnn'", "'lstm'", "'gru'", "'elman'"]),
    (lambda: kar.MogrifierCell(4, gate_initializer="x"), ValueError, ["`gate_initializer`", "'x'"]),
    (lambda: kar.MogrifierCell(), ValueError, ["`units`", "`cell`"]),
    (lambda: kar.MogrifierCell(4, cell=kar.LSTMCell(4)), ValueError, ["`units`", "`cell`", "units=4"]),
    (lambda: kar.MogrifierCell(cell=keras.layers.Dense(4)), ValueError, ["`cell`", "state_size", "Dense"]),
    (lambda: kar.MogrifierCell(cell=keras.layers.StackedRNNCells([kar.LSTMCell(4)])), ValueError, ["`cell`", "stack"]),
    (lambda: kar.MogrifierCell(cell=kar.LSTMCell(4), use_bias=False), TypeError, ["use_bias", "cell"]),
    (lambda: kar.MogrifierCell(cell=kar.LSTMCell(4), core="gru"), TypeError, ["core", "cell"]),
    (lambda: kar.MogrifierCell(4, round=3), TypeError, ["`round`", "round=3", "rounds"]),
    (lambda: kar.LSTMCell(4, peepholes=1), TypeError, ["`peepholes`", "peepholes=1", "True or False"]),
    (
        lambda: kar.LSTM(4, peepholes=True, layer_normalization=True),
        ValueError,
        ["`peepholes`", "`layer_normalization`"],
    ),
    (lambda: kar.AdaptiveLSTMCell(4, peepholes=True), TypeError, ["`peepholes`", "help(AdaptiveLSTMCell)"]),
    (lambda: kar.GRU(4, peepholes=True), TypeError, ["`peepholes`", "help(GRU)"]),
    (lambda: kar.MogrifierCell(4, core="gru", tied_gates=True), TypeError, ["`tied_gates`", "help(MogrifierCell)"]),
    (lambda: kar.MultiplicativeLSTMCell(4, core="gru"), ValueError, ["`core`", "'gru'", "'elman'"]),
    (lambda: kar.MultiplicativeLSTMCell(4, factor_bias=0), TypeError, ["`factor_bias`", "factor_bias=0"]),
    (lambda: kar.LSTMCell(4, per_gate_dropout="x"), TypeError, ["`per_gate_dropout`", "'x'"]),
    (lambda: kar.AdaptiveLSTMCell(4, policy_units=0), ValueError, ["`policy_units`", "policy_units=0", "at least 1"]),
    (lambda: kar.AdaptiveLSTMCell(4, policy_units="a"), TypeError, ["`policy_units`", "'a'"]),
    (lambda: kar.AdaptiveLSTMCell(4, policy_units=2.0), TypeError, ["`policy_units`", "2.0", "integer"]),
    (lambda: kar.AdaptiveLSTMCell(4, policy=None), ValueError, ["`policy`", "policy=None", "'static'"]),
    (lambda: kar.AdaptiveLSTMCell(4, policy="lstm"), ValueError, ["`policy`", "'lstm'", "'static'", "'recurrent'"]),
    (lambda: kar.AdaptiveLSTMCell(4, adaptation="oi"), ValueError, ["`adaptation`", "'oi'", "'io'", "'sva'"]),
    (lambda: kar.AdaptiveLSTMCell(4, adaptation=["io"]), ValueError, ["`adaptation`", "['io']", "'io', 'input'"]),
    (lambda: kar.AdaptiveLSTMCell(4, tied=1), TypeError, ["`tied`", "tied=1"]),
    (lambda: kar.AdaptiveLSTMCell(4, rank=2), ValueError, ["`rank`", "rank=2", "sva"]),
    (lambda: kar.AdaptiveLSTMCell(4, adaptation="sva", rank=0), ValueError, ["`rank`", "rank=0"]),
    (lambda: kar.AdaptiveLSTMCell(4, adaptation="sva", rank="a"), TypeError, ["`rank`", "rank='a'", "None"]),
    (lambda: kar.AdaptiveLSTMCell(4, policy_dropout=1.0), ValueError, ["`policy_dropout`", "1.0"]),
    (lambda: kar.AdaptiveLSTMCell(4, policy_cell=keras.layers.Dense(3)), ValueError, ["`policy_cell`", "Dense"]),
    (
        lambda: kar.AdaptiveLSTMCell(4, policy="static", policy_cell=kar.GRUCell(3)),
        ValueError,
        ["`policy_cell`", "GRUCell", "policy='static'"],
    ),
    (
        lambda: kar.AdaptiveLSTMCell(4, policy_units=5, policy_cell=kar.GRUCell(3)),
        ValueError,
        ["`policy_units`", "policy_units=5", "3"],
    ),
    (
        lambda: kar.AdaptiveRNNCell(4, policy_cell=kar.GRUCell(3, trainable_initial_state=True)),
        ValueError,
        ["`policy_cell`", "trainable_initial_state=True"],
    ),
    (lambda: kar.AdaptiveLSTM(4, policy_cell=kar.GRUCell(3)), TypeError, ["`policy_cell`"]),
    (lambda: kar.AdaptiveLSTMCell(4, policy_dropout="a"), TypeError, ["`policy_dropout`", "'a'", "below 1"]),
    (lambda: kar.AdaptiveLSTMCell(4, policy_initializer=3), ValueError, ["`policy_initializer`", "=3"]),
    (lambda: kar.AdaptiveLSTMCell(4, per_gate_dropout=True), TypeError, ["`per_gate_dropout`", "help("]),
    (lambda: kar.AdaptiveRNNCell(4, policy_initializer="x"), ValueError, ["`policy_initializer`", "'x'"]),
    (lambda: kar.AdaptiveRNNCell(4, layer_normalization=True), TypeError, ["`layer_normalization`", "help("]),
    (lambda: kar.StackedAdaptiveLSTMCells(4), TypeError, ["`units`", "units=4", "list"]),
    (lambda: kar.StackedAdaptiveLSTMCells([]), TypeError, ["`units`", "[]"]),
    (lambda: kar.StackedAdaptiveLSTMCells([4, 0]), ValueError, ["`units`", "units=0"]),
    (lambda: kar.StackedAdaptiveLSTMCells([4, "a"]), TypeError, ["`units", "'a'"]),
    (lambda: kar.StackedAdaptiveLSTMCells([4], policy_units=[2]), TypeError, ["`policy_units`", "[2]"]),
    (lambda: kar.StackedAdaptiveLSTMCells([4], rank=2), ValueError, ["`rank`", "rank=2", "sva"]),
    (lambda: kar.StackedAdaptiveLSTMCells([4], recurrent_dropout="a"), TypeError, ["`recurrent_dropout`", "'a'"]),
    (lambda: kar.StackedAdaptiveRNNCells([4], policy_unit=3), TypeError, ["`policy_unit`", "policy_units"]),
    (lambda: kar.AdaptiveLSTM(4, output_dropout=-1), ValueError, ["`output_dropout`", "output_dropout=-1"]),
    (lambda: kar.AdaptiveLSTM(4, output_dropout="a"), TypeError, ["`output_dropout`", "'a'", "below 1"]),
    (lambda: kar.AdaptiveLSTM("a"), TypeError, ["`units`", "'a'"]),
    (lambda: kar.AdaptiveRNN([]), TypeError, ["`units`", "[]", "list"]),
    # What cannot be left out.
    (lambda: kar.LSTM(), TypeError, ["LSTM needs `units`, such as `LSTM(32)`", "Received: nothing"]),
    (lambda: kar.AdaptiveLSTM(), TypeError, ["AdaptiveLSTM needs `units`"]),
    (lambda: kar.GridLSTM([4, 4]), TypeError, ["GridLSTM needs `depth`", "`GridLSTM(32, depth=4)`", "units=[4, 4]"]),
    (lambda: kar.DeepRNN(4, return_sequences=True), TypeError, ["DeepRNN needs `depth`", "depth=4", "units=4"]),
    (lambda: kar.Skim(kar.LSTMCell(4)), TypeError, ["`small_cell`", "Skim(LSTMCell(32), small_cell=LSTMCell(8))"]),
    (lambda: type("Mine", (kar.DeepRNNCell,), {})(4), TypeError, ["Mine needs `depth`"]),
    (lambda: kar.models.SkimOrRead(classes=2), TypeError, ["`vocabulary_size`, `embedding_units`", "classes=2"]),
    # Words of PyTorch, and of older versions of Keras.
    (lambda: kar.Mogrifier(hidden_size=4), TypeError, ["`hidden_size` (use `units`)", "hidden_size=4"]),
    (
        lambda: kar.LSTM(input_size=3, hidden_size=4, num_layers=2, batch_first=True),
        TypeError,
        ["`input_size` (leave it out", "use `units`", "`units=[4] * 2`", "(batch, time, features)"],
    ),
    (lambda: kar.Mogrifier(4, num_layers=2), TypeError, ["`units=[4] * 2`"]),
    (lambda: kar.MogrifierCell(4, num_layers=2), TypeError, ["`num_layers`", "keras_adaptive_rnn.StackedCells"]),
    (lambda: kar.Skip(kar.GRUCell(4), num_layers=2), TypeError, ["`num_layers`", "list of cells"]),
    (lambda: kar.GRU(4, bidirectional=True), TypeError, ["`keras.layers.Bidirectional(GRU(...))`"]),
    (lambda: kar.GRUCell(4, bidirectional=True), TypeError, ["Bidirectional(keras_adaptive_rnn.RNN(GRUCell(...)))"]),
    (lambda: kar.LSTM(4, bias=False), TypeError, ["`bias` (use `use_bias`)"]),
    (lambda: kar.LSTM(4, proj_size=2), TypeError, ["`proj_size` (use `projection_units`)"]),
    (lambda: kar.GRU(4, proj_size=2), TypeError, ["`proj_size`", "keras.layers.Dense"]),
    (lambda: kar.Elman(4, nonlinearity="relu"), TypeError, ["`nonlinearity` (use `activation`)"]),
    (lambda: kar.LSTM(4, device="cuda"), TypeError, ["`device`", "keras.device("]),
    (lambda: kar.LSTM(4, input_shape=(6, 3)), TypeError, ["`input_shape`", "`keras.Input((6, 3))`"]),
    (lambda: kar.LSTM(4, batch_input_shape=(2, 6, 3)), TypeError, ["`keras.Input(batch_shape=(2, 6, 3))`"]),
    (lambda: kar.LSTM(4, input_dim=3), TypeError, ["`input_dim`", "`keras.Input((None, 3))`"]),
    (lambda: kar.LSTM(4, time_major=True), TypeError, ["`time_major`", "(batch, time, features)"]),
    (lambda: kar.Mogrifier(4, use_cudnn=True), TypeError, ["`use_cudnn` (leave it out"]),
    (lambda: kar.NAS(4, implementation=2), TypeError, ["`implementation` (leave it out"]),
    (lambda: kar.LowRankLSTM(4, unit_forget_bias=True), TypeError, ["`unit_forget_bias` (use `carry_bias`)"]),
    (lambda: kar.LSTM(4, reset_after=True), TypeError, ["`reset_after`", "GRU"]),
    (lambda: kar.LSTM(4, weights=[X]), TypeError, ["`weights`", "`set_weights`"]),
    (lambda: kar.LowRankGRUCell(4, 5), ValueError, ["`rank`", "rank=5", "`units`, 4"]),
    (lambda: kar.LowRankGRUCell(4, rank=0), ValueError, ["`rank`", "rank=0"]),
    (lambda: kar.LowRankGRUCell(4, rank=2.5), TypeError, ["`rank`", "rank=2.5", "integer"]),
    (lambda: kar.LowRankLSTMCell(4, 2, tied=None), TypeError, ["`tied`", "None", "True or False"]),
    (lambda: kar.LowRankLSTMCell(4, 2, carry_bias=float("nan")), ValueError, ["`carry_bias`", "nan"]),
    (lambda: kar.LowRankLSTMCell(4, 2, diagonal_initializer="x"), ValueError, ["`diagonal_initializer`", "'x'"]),
    (lambda: kar.LowRankGRUCell(4, 2, kernel_map=3), ValueError, ["`kernel_map`", "kernel_map=3", "'full'"]),
    (lambda: kar.LowRankGRUCell(4, 2, reset_after="x"), TypeError, ["`reset_after`", "'x'"]),
    (lambda: kar.LowRankGRUCell(4, 2, diagonal="no"), TypeError, ["`diagonal`", "'no'"]),
    (lambda: kar.LowRankGRUCell(4, 2, carry_bias="x"), TypeError, ["`carry_bias`", "'x'", "a number"]),
    (lambda: kar.LowRankGRUCell(4, 2, weight_normalization=1), TypeError, ["`weight_normalization`", "=1"]),
    (lambda: kar.LowRankGRUCell(4, 2, recurrent_map="full"), TypeError, ["`recurrent_map`", "'full'", "help("]),
    (
        lambda: kar.LowRankLSTMCell(4, 2, weight_normalization=True, kernel_map=maps.LowRank(2)),
        ValueError,
        ["`kernel_map`", "weight_normalization=True"],
    ),
    (
        lambda: kar.LowRankLSTMCell(4, 2, unit_forget_bias=True),
        TypeError,
        ["`unit_forget_bias`", "help(LowRank"],
    ),
    (lambda: kar.RecurrentHighwayCell(4, depth=0), ValueError, ["`depth`", "depth=0", "at least 1"]),
    (lambda: kar.RecurrentHighwayCell(4, depth=2.0), TypeError, ["`depth`", "depth=2.0", "integer"]),
    (lambda: kar.RecurrentHighwayCell(4, transform_bias="a"), TypeError, ["`transform_bias`", "'a'", "a number"]),
    (lambda: kar.RecurrentHighwayCell(4, coupled=None), TypeError, ["`coupled`", "None"]),
    (lambda: kar.RecurrentHighwayCell(4, transform_bias=float("inf")), ValueError, ["`transform_bias`", "inf"]),
    (lambda: kar.GridLSTMCell(4, depth=-1), ValueError, ["`depth`", "depth=-1"]),
    (lambda: kar.GridLSTMCell(4, depth=1.5), TypeError, ["`depth`", "depth=1.5"]),
    (lambda: kar.GridLSTMCell(0, depth=1), ValueError, ["`units`", "units=0"]),
    (lambda: kar.GridLSTMCell("a", depth=1), TypeError, ["`units`", "'a'"]),
    (lambda: kar.GridLSTMCell(4, depth=2, tied="yes"), TypeError, ["`tied`", "'yes'"]),
    (lambda: kar.GridLSTMCell(4, depth=2, projection_units=3), TypeError, ["`projection_units`", "help("]),
    (lambda: kar.GridLSTMBlock(4, dimensions=1), ValueError, ["`dimensions`", "dimensions=1", "at least 2"]),
    (lambda: kar.GridLSTMBlock(4, dimension=2), TypeError, ["`dimension`", "dimensions"]),
    (lambda: kar.GridLSTMBlock(4, dimensions=2.0), TypeError, ["`dimensions`", "2.0", "integer"]),
    (lambda: kar.GridLSTMBlock(0), ValueError, ["`units`", "units=0"]),
    (lambda: kar.GridLSTMBlock(4, projection_units=2), TypeError, ["`projection_units`", "help("]),
    (lambda: kar.WeightDropLSTMCell(4, 1.0), ValueError, ["`recurrent_weight_dropout`", "1.0", "below 1"]),
    (lambda: kar.WeightDropLSTMCell(4, "a"), TypeError, ["`recurrent_weight_dropout`", "'a'"]),
    (lambda: kar.WeightDropLSTMCell(4, variational=2), TypeError, ["`variational`", "variational=2"]),
    (lambda: kar.WeightDropLSTMCell(4, recurrent_map="full"), TypeError, ["`recurrent_map`", "help("]),
    (lambda: kar.ZoneoutCell(4, zoneout=1.0), ValueError, ["`zoneout`", "1.0", "below 1"]),
    (lambda: kar.ZoneoutCell(4, zoneout=[0.1]), ValueError, ["`zoneout`", "[0.1]", "2 states"]),
    (lambda: kar.ZoneoutCell(4, zoneout="all"), TypeError, ["`zoneout`", "'all'"]),
    (lambda: kar.ZoneoutCell(4, zoneout=-0.1), ValueError, ["`zoneout`", "-0.1", "at least 0"]),
    (lambda: kar.ZoneoutCell(4, zoneout=[0.1, "a"]), TypeError, ["`zoneout`", "'a'"]),
    (lambda: kar.ZoneoutCell(4, core="gru", zoneout=[0.1, 0.2]), ValueError, ["`zoneout`", "[0.1, 0.2]", "1 state"]),
    (lambda: kar.ZoneoutCell(4, rate=0.1), TypeError, ["`rate`", "rate=0.1", "help(ZoneoutCell)"]),
    (lambda: kar.StackedCells(kar.LSTMCell(4)), ValueError, ["`cells`", "list", "LSTMCell"]),
    (lambda: kar.StackedCells([]), ValueError, ["`cells`", "[]"]),
    (lambda: kar.StackedCells([kar.ElmanCell]), ValueError, ["`cells`", "ElmanCell"]),
    (
        lambda: kar.StackedCells([kar.ElmanCell(4)], dropout=0.1),
        TypeError,
        ["`dropout`", "dropout=0.1", "help("],
    ),
    (lambda: kar.StackedCells([kar.ElmanCell(4)], 1), ValueError, ["`connection`", "connection=1", "'residual'"]),
    (
        lambda: kar.StackedCells([kar.ElmanCell(4), kar.ElmanCell(3)], connection="residual"),
        ValueError,
        ["`connection`", "'residual'", "[4, 3]"],
    ),
    (lambda: kar.MogrifierCell(cell=kar.GridLSTMCell(4, depth=2)), ValueError, ["`cell`", "GridLSTMCell", "reads"]),
    (
        lambda: kar.MogrifierCell(cell=kar.StackedCells([kar.ElmanCell(4)], connection="skip")),
        ValueError,
        ["`cell`", "StackedCells", "reads"],
    ),
    (
        lambda: kar.MogrifierCell(cell=kar.DeepRNNCell(4, depth=4, block_dropout=0.1)),
        ValueError,
        ["`cell`", "DeepRNNCell", "reads"],
    ),
    (lambda: kar.StackedCells([keras.layers.Dense(4)]), ValueError, ["`cells`", "state_size", "Dense"]),
    (lambda: kar.StackedCells([kar.ElmanCell(4)] * 2), ValueError, ["`cells`", "own weights"]),
    (lambda: kar.StackedCells([kar.ElmanCell(4)], "sum"), ValueError, ["`connection`", "'sum'", "'skip'"]),
    (
        lambda: kar.StackedCells([kar.ElmanCell(4), kar.ElmanCell(3)], connection="skip"),
        ValueError,
        ["`connection`", "'skip'", "[4, 3]"],
    ),
    (lambda: kar.SkipCell(4), ValueError, ["`cell`", "4", "state_size"]),
    (lambda: kar.SkipCell(kar.ElmanCell(4), update_bias="a"), TypeError, ["`update_bias`", "'a'"]),
    (
        lambda: kar.SkipCell(kar.ElmanCell(4), cost_weight=-1),
        ValueError,
        ["`cost_weight`", "-1", "at least 0"],
    ),
    (lambda: kar.SkipCell(kar.ElmanCell(4), dropout=0.1), TypeError, ["`dropout`", "help(SkipCell)"]),
    (lambda: kar.SkipCell(kar.ElmanCell(4), decision_initializer="x"), ValueError, ["`decision_initializer`", "'x'"]),
    (lambda: kar.SkimCell(kar.ElmanCell(4), kar.ElmanCell(5)), ValueError, ["`small_cell`", "[5]", "[4]"]),
    (lambda: kar.SkimCell(*[kar.ElmanCell(4)] * 2), ValueError, ["`small_cell`", "own weights"]),
    (lambda: kar.SkimCell(kar.ElmanCell(4), 2), ValueError, ["`small_cell`", "state_size"]),
    (
        lambda: kar.SkimCell(kar.ElmanCell(4), kar.ElmanCell(2), temperature=0),
        ValueError,
        ["`temperature`", "temperature=0", "positive"],
    ),
    (lambda: kar.SkimCell(kar.ElmanCell(4), kar.ElmanCell(2), skim_loss=-1), ValueError, ["`skim_loss`", "-1"]),
    (lambda: kar.VariableComputationCell(4, core="lstm"), ValueError, ["`core`", "'lstm'", "'rnn', 'gru'"]),
    (lambda: kar.VariableComputationCell(4, sharpness=-1), ValueError, ["`sharpness`", "-1", "positive"]),
    (lambda: kar.VariableComputationCell(4, epsilon=0.5), ValueError, ["`epsilon`", "0.5", "below 0.5"]),
    (lambda: kar.VariableComputationCell(4, cost_weight="a"), TypeError, ["`cost_weight`", "'a'"]),
    (lambda: kar.VariableComputationCell(4, target=1), ValueError, ["`target`", "target=1", "below 1"]),
    (lambda: kar.VariableComputationCell(4, soft_inference=1), TypeError, ["`soft_inference`", "=1"]),
    (lambda: kar.VariableComputationCell(0), ValueError, ["`units`", "units=0"]),
    (lambda: kar.Mogrifier(4, return_decisions=True), ValueError, ["`return_decisions`", "SkipCell"]),
    (lambda: kar.RNN(kar.SkipCell(kar.ElmanCell(4)), return_decisions=1), TypeError, ["`return_decisions`", "=1"]),
    (lambda: kar.callbacks.Annealing(3, float), TypeError, ["`name`", "name=3"]),
    (lambda: kar.callbacks.Annealing("temperature", 3), TypeError, ["`schedule`", "schedule=3"]),
    (lambda: kar.TiedEmbedding(0, 4), ValueError, ["`vocabulary_size`", "vocabulary_size=0"]),
    (lambda: kar.TiedEmbedding(9, 4, word_dropout=1.0), ValueError, ["`word_dropout`", "below 1"]),
    (lambda: kar.TiedEmbedding(9, 4, dropout=0.1), TypeError, ["`dropout`", "word_dropout"]),
    (lambda: kar.ActivationRegularization(-1), ValueError, ["`activation`", "-1", "at least 0"]),
    (lambda: kar.ActivationRegularization(temporal="a"), TypeError, ["`temporal`", "'a'"]),
    (lambda: kar.MixtureOfSoftmaxes(0, 9), ValueError, ["`experts`", "experts=0"]),
    (lambda: kar.MixtureOfSoftmaxes(2, "words"), TypeError, ["`embedding`", "'words'", "TiedEmbedding"]),
    (lambda: kar.MixtureOfSoftmaxes(2, True), TypeError, ["`embedding`", "True"]),
    (lambda: kar.MixtureOfSoftmaxes(2, 9, temperature=0), ValueError, ["`temperature`", "positive"]),
    (lambda: kar.PointerGenerator(0, 9), ValueError, ["`units`", "units=0"]),
    (lambda: kar.PointerGenerator(4, "words"), TypeError, ["`embedding`", "'words'", "TiedEmbedding"]),
    (lambda: kar.PointerGenerator(4, 9, oov_words=-1), ValueError, ["`oov_words`", "oov_words=-1"]),
    (lambda: kar.PointerGenerator(4, 9, score_mode="sum"), ValueError, ["`score_mode`", "'concat', 'dot'", "'sum'"]),
    (lambda: kar.PointerGenerator(4, 9, kernel_initializer="x"), ValueError, ["`kernel_initializer`", "'x'"]),
    (lambda: kar.StatesOutput(4), ValueError, ["`cell`", "4", "state_size"]),
    (lambda: kar.StatesOutput(kar.ElmanCell(4), truncate=0), ValueError, ["`truncate`", "truncate=0"]),
    (lambda: kar.SequenceAuxiliary(kar.ElmanCell(4), 0), ValueError, ["`length`", "length=0"]),
    (lambda: kar.SequenceAuxiliary(kar.ElmanCell(4), 5, mode="both"), ValueError, ["`mode`", "'reconstruct'"]),
    (lambda: kar.SequenceAuxiliary(kar.ElmanCell(4), 5, output="a"), TypeError, ["`output`", "'a'"]),
    (lambda: kar.optimizers.Averaged("sdg"), ValueError, ["`optimizer`", "'sdg'"]),
    (lambda: kar.optimizers.Averaged("sgd", skip=-1), ValueError, ["`skip`", "skip=-1"]),
    (lambda: kar.optimizers.Averaged("sgd", start=-1), ValueError, ["`start`", "or None", "start=-1"]),
    (lambda: kar.optimizers.Averaged("sgd", start=5.0), TypeError, ["`start`", "start=5.0"]),
    (lambda: kar.optimizers.InversePowerDecay(-0.1, 1, 0.1), ValueError, ["`initial_learning_rate`", "=-0.1"]),
    (lambda: kar.optimizers.InversePowerDecay(0.1, 0, 0.1), ValueError, ["`decay_steps`", "positive", "=0"]),
    (lambda: kar.optimizers.InversePowerDecay(0.1, 1, "a"), TypeError, ["`decay_rate`", "'a'"]),
    (lambda: kar.optimizers.InversePowerDecay(0.1, 1, 0.1, power=-1), ValueError, ["`power`", "power=-1"]),
    (lambda: kar.optimizers.Averaged(kar.optimizers.Averaged("sgd")), ValueError, ["`optimizer`", "wraps no other"]),
    (
        lambda: kar.optimizers.Averaged(keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())),
        ValueError,
        ["`optimizer`", "LossScaleOptimizer", "around"],
    ),
    (lambda: kar.callbacks.AveragingTrigger(3), TypeError, ["`monitor`", "monitor=3"]),
    (lambda: kar.callbacks.AveragingTrigger(rule="best"), ValueError, ["`rule`", "'since_best'", "'best'"]),
    (lambda: kar.callbacks.AveragingTrigger(patience=0), ValueError, ["`patience`", "patience=0"]),
    (lambda: kar.callbacks.AveragingTrigger(latest=-1), ValueError, ["`latest`", "latest=-1"]),
    (lambda: kar.callbacks.StreamStates("text"), TypeError, ["`stream`", "'text'", "TokenStream"]),
    (lambda: kar.callbacks.StreamStates(drop_state=1.5), ValueError, ["`drop_state`", "1.5", "[0, 1]"]),
    (lambda: kar.datasets.TokenStream(X, 2), TypeError, ["`ids`", "(2, 5, 3)", "float32"]),
    (lambda: kar.datasets.TokenStream(np.arange(11), 2), ValueError, ["`ids`", "12 tokens", "11 tokens"]),
    (lambda: kar.datasets.TokenStream(np.arange(99) - 1, 2), ValueError, ["`ids`", "negative", "-1"]),
    (lambda: kar.datasets.TokenStream(np.arange(99), 2, maximum=60), ValueError, ["`maximum`", "at least 70"]),
    (
        lambda: kar.datasets.TokenStream(np.arange(500), 1, minimum=70, maximum=70),
        ValueError,
        ["`minimum`", "`maximum`", "499 tokens", "minimum=70, maximum=70", "spread=0, half=0"],
    ),
    (
        lambda: kar.datasets.TokenStream(np.arange(99), 2, steps=7, minimum=6, maximum=7, bucket=4),
        ValueError,
        ["`bucket`", "bucket=4", "minimum=6", "maximum=7"],
    ),
    (lambda: kar.DeepRNNCell(4, depth=0), ValueError, ["`depth`", "depth=0"]),
    (lambda: kar.DeepRNNCell(4, depth="a"), TypeError, ["`depth`", "'a'"]),
    (lambda: kar.DeepRNNCell(4, depth=4, skip_every=1.5), TypeError, ["`skip_every`", "1.5", "None"]),
    (lambda: kar.DeepRNNCell(4, depth=4, skip_scale=float("nan")), ValueError, ["`skip_scale`", "nan"]),
    (lambda: kar.DeepRNNCell(4, depth=4, block_dropout="a"), TypeError, ["`block_dropout`", "'a'"]),
    (lambda: kar.DeepRNNCell(4, depth=4, skip_every=0), ValueError, ["`skip_every`", "skip_every=0"]),
    (lambda: kar.DeepRNNCell(4, depth=4, skip_scale="a"), TypeError, ["`skip_scale`", "'a'"]),
    (lambda: kar.DeepRNNCell(4, depth=4, block_dropout=1), ValueError, ["`block_dropout`", "block_dropout=1"]),
    (
        lambda: kar.DeepRNNCell(4, depth=4, skip_every=None, block_dropout=0.1),
        ValueError,
        ["`skip_every`", "None", "block_dropout=0.1"],
    ),
    (lambda: maps.DropConnect(0.5, variational="x"), TypeError, ["`variational`", "'x'"]),
    (lambda: maps.Full(4, weight_normalization=0), TypeError, ["`weight_normalization`", "=0"]),
    (lambda: maps.LowRank(2, weight_normalization="x"), TypeError, ["`weight_normalization`", "'x'"]),
    (lambda: maps.LowRank(2, diagonal="x"), TypeError, ["`diagonal`", "'x'"]),
    (lambda: maps.LowRank(2, diagonal_initializer="x"), ValueError, ["`diagonal_initializer`", "'x'"]),
    (lambda: kar.Mogrifier(-4), ValueError, ["`units`", "units=-4"]),
    (lambda: kar.Mogrifier(4, return_sequence=True), TypeError, ["`return_sequence`", "return_sequences"]),
    (lambda: kar.Mogrifier(4, return_sequences="all"), TypeError, ["`return_sequences`", "'all'"]),
    (lambda: kar.RNN(keras.layers.Dense(3)), ValueError, ["`cell`", "state_size", "Dense"]),
    (lambda: kar.RNN(kar.LSTMCell), ValueError, ["`cell`"]),
    (lambda: kar.RNN(kar.LSTMCell(3), stateful=1), TypeError, ["`stateful`", "stateful=1"]),
    (lambda: kar.RNN([kar.ElmanCell(3)] * 2), ValueError, ["`cell`", "own weights"]),
    (lambda: maps.LowRank(0), ValueError, ["`rank`", "rank=0"]),
    (lambda: maps.LowRank(2, tied=None), TypeError, ["`tied`", "None"]),
    (lambda: maps.DropConnect(1.5), ValueError, ["`rate`", "1.5"]),
    (lambda: maps.Full(4, blocks=0), ValueError, ["`blocks`", "blocks=0"]),
    (lambda: maps.Full(4, initializer="x"), ValueError, ["`initializer`", "'x'"]),
]
BAD_USES = [
    (lambda: kar.Mogrifier(4)(X[0]), ValueError, ["(batch, time, features)", "(5, 3)", "`return_sequences=True`"]),
    (lambda: kar.Mogrifier(4)(X[None]), ValueError, ["(batch, time, features)", "(1, 2, 5, 3)"]),
    (
        lambda: keras.Sequential([keras.Input((5, 3)), kar.Mogrifier(4), keras.layers.Bidirectional(kar.Mogrifier(4))]),
        ValueError,
        ["(None, 4)", "`return_sequences=True`"],
    ),
    # A cell where a layer belongs.
    (
        lambda: kar.MogrifierCell(4)(X),
        ValueError,
        ["`MogrifierCell`", "`Mogrifier(units=4)`", *RNN_OF_CELL, "(2, 5, 3)"],
    ),
    (lambda: kar.MogrifierCell(4)(X, states=None), ValueError, ["`MogrifierCell`", *RNN_OF_CELL]),
    (lambda: kar.MogrifierCell(4)(X[:, 0]), ValueError, ["`MogrifierCell`", "`states`", "[4, 4]", "states=None"]),
    (lambda: kar.MogrifierCell(4)(X[:, 0], None), ValueError, ["`MogrifierCell`", "`states`", *RNN_OF_CELL]),
    (lambda: kar.GRUCell(4)(X[:, 0], np.ones((2, 4))), ValueError, ["`states`", "list", "ndarray", "(2, 4)"]),
    (lambda: kar.LSTMCell(4)(X[:, 0], [np.ones((2, 4))]), ValueError, ["`states`", "[4, 4]", "[(2, 4)]"]),
    (lambda: kar.ZoneoutCell(cell=kar.MogrifierCell(4))(X), ValueError, ["`ZoneoutCell`", "`Zoneout(cell=Mogri"]),
    (lambda: kar.StackedCells([kar.GRUCell(4)])(X), ValueError, ["`StackedCells`", ".RNN(StackedCells(cells=["]),
    (lambda: type("Mine", (kar.GRUCell,), {})(4)(X), ValueError, ["`Mine`", "use `keras_adaptive_rnn.RNN(Mine("]),
    (lambda: kar.MogrifierCell(4)(keras.Input((5, 3))), ValueError, ["`MogrifierCell`", *RNN_OF_CELL]),
    (lambda: keras.Sequential([keras.Input((5, 3)), kar.MogrifierCell(4)]), ValueError, RNN_OF_CELL),
    (lambda: keras.Sequential([kar.MogrifierCell(4)])(X), ValueError, RNN_OF_CELL),
    (lambda: keras.layers.TimeDistributed(kar.MogrifierCell(4))(X), ValueError, RNN_OF_CELL),
    (lambda: keras.layers.Bidirectional(kar.MogrifierCell(4)), ValueError, ["Bidirectional", *RNN_OF_CELL]),
    (lambda: keras.layers.Bidirectional(kar.Zoneout(4).cell), ValueError, ["`ZoneoutCell`", "`Zoneout(units=4)`"]),
    (lambda: keras.layers.RNN(kar.ZoneoutCell(4))(X[None]), ValueError, ["ZoneoutCell takes", "(1, 5, 3)"]),
    # A layer where a cell belongs.
    (lambda: keras.layers.RNN(kar.Mogrifier(4))(X), ValueError, ["keras.layers.RNN", *LAYER_IS_NO_CELL]),
    (lambda: keras.layers.RNN([kar.GRUCell(4), kar.Mogrifier(4)])(X), ValueError, LAYER_IS_NO_CELL),
    (
        lambda: keras.layers.RNN(keras.layers.StackedRNNCells([kar.Mogrifier(4)]))(X),
        ValueError,
        ["keras.layers.StackedRNNCells", *LAYER_IS_NO_CELL],
    ),
    (
        lambda: keras.Sequential([keras.Input((5, 3)), keras.layers.Bidirectional(keras.layers.RNN(kar.Mogrifier(4)))]),
        ValueError,
        LAYER_IS_NO_CELL,
    ),
    # Sequences that are no tensor.
    (lambda: kar.LSTM(4)([X[0], X[1, :3]]), TypeError, ["list", "keras.utils.pad_sequences", "layer(x, mask=mask)"]),
    (lambda: kar.LSTM(4)([X[0].tolist(), X[1, :3].tolist()]), TypeError, ["list", "keras.utils.pad_sequences"]),
    (lambda: kar.LSTM(4)(_objects(X[0], X[1, :3])), TypeError, ["ndarray", "keras.utils.pad_sequences"]),
    (lambda: kar.LSTM(4)(X.tolist()), TypeError, ["a list of 2", "`numpy.asarray(x)`"]),
    (lambda: kar.LSTM(4)([X, X]), TypeError, ["a list of 2", "`initial_state`"]),
    # Weights of another layer.
    (
        lambda: _built(kar.Mogrifier(4)).set_weights(_built(keras.layers.LSTM(4)).get_weights()),
        ValueError,
        [
            "expected 8 weights",
            "gate_1/kernel (4, 3)",
            "Received: 3",
            "(4, 16), (16,)",
            "LSTMCell",
            "layer.cell.cell.set",
        ],
    ),
    (
        lambda: _built(kar.LSTM(4)).set_weights(_built(keras.layers.LSTM(5)).get_weights()),
        ValueError,
        ["kernel_map/kernel (3, 16)", "bias (16,)", "(3, 20), (5, 20), (20,)"],
    ),
    (lambda: kar.LSTM(4).set_weights([X]), ValueError, ["expected 0 weights", "(2, 5, 3)", "build"]),
    (lambda: kar.RNN(kar.Mogrifier(4)), ValueError, ["`cell`", "layer", "`MogrifierCell`"]),
    (lambda: kar.RNN([kar.GRUCell(4), kar.GRU(4)]), ValueError, ["`cell`", "layer", "`GRUCell`"]),
    (lambda: kar.ZoneoutCell(cell=kar.LSTM(4)), ValueError, ["`cell`", "layer", "`LSTMCell`"]),
    (lambda: kar.RNN(kar.MogrifierCell), ValueError, ["`cell`", "an object"]),
    (lambda: kar.ZoneoutCell(kar.MogrifierCell(4)), TypeError, ["cell=MogrifierCell", "units="]),
    (lambda: kar.RNN([]), ValueError, ["`cell`", "cell=[]"]),
    (lambda: _built(kar.Mogrifier(4))(X[..., :2]), ValueError, ["3", "2"]),
    (lambda: kar.Mogrifier(4, rank=4)(X), ValueError, ["`rank`", "rank=4", "at most", "3"]),
    (lambda: kar.Mogrifier(4)(keras.Input((None, None))), ValueError, ["feature size"]),
    (lambda: kar.Mogrifier(4)(X, initial_state=[np.ones((2, 4))]), ValueError, ["expected states", "(2, 4)"]),
    (lambda: kar.Mogrifier(4)(X, initial_state=[np.ones((2, 4)), np.ones((2, 3))]), ValueError, ["(2, 3)"]),
    (lambda: kar.Mogrifier(4)(X, initial_state=[np.ones((2, 4)), None]), ValueError, ["[(2, 4), None]"]),
    (lambda: kar.Mogrifier(4)(X, initial_state=[np.ones((1, 4))] * 2), ValueError, ["(2, 4)", "(1, 4)"]),
    (lambda: kar.Mogrifier(4, stateful=True)(keras.Input((5, 3))), ValueError, ["stateful", "batch_size"]),
    (lambda: _built(kar.Mogrifier(4, stateful=True))(X[:1]), ValueError, ["stateful", "2", "(1, 5, 3)"]),
    (lambda: kar.Mogrifier(4, unroll=True)(keras.Input((None, 3))), ValueError, ["unroll", "number of steps"]),
    (lambda: kar.Mogrifier(4).step(X[:, 0]), ValueError, ["built"]),
    (lambda: _built(kar.Mogrifier(4)).step(X), ValueError, ["(batch, 3)", "(2, 5, 3)"]),
    (lambda: _built(kar.Mogrifier(4)).step(X[:, 0], [X[:, 0]]), ValueError, ["expected states"]),
    (
        lambda: kar.RNN(kar.LSTMCell(4, kernel_map=maps.LowRank(2, diagonal=True)))(X),
        ValueError,
        ["`diagonal`", "3 inputs"],
    ),
    (
        lambda: keras.layers.RNN(kar.SkipCell(kar.ElmanCell(4), cost_weight=0.1))(X),
        ValueError,
        ["SkipCell", "cost_weight=0.1", "keras_adaptive_rnn.layers.RNN"],
    ),
    (
        lambda: keras.layers.RNN([kar.SkimCell(kar.ElmanCell(4), kar.ElmanCell(2), skim_loss=1.0)])(X),
        ValueError,
        ["SkimCell", "skim_loss=1.0"],
    ),
    (
        lambda: keras.layers.RNN(kar.SkimCell(kar.ElmanCell(4), kar.ElmanCell(2), estimator="reinforce"))(X),
        ValueError,
        ["draws decisions", "cannot record them"],
    ),
    (lambda: keras.layers.RNN(kar.VariableComputationCell(4, cost_weight=1))(X), ValueError, ["cost_weight=1.0"]),
    (
        lambda: _annealed(kar.Elman(4), "temperature", float),
        ValueError,
        ["`name`", "'temperature'"],
    ),
    (lambda: _annealed(kar.VariableComputation(4), "sharpness", float), ValueError, ["`sharpness`", "0.0"]),
    (lambda: maps.Full()(X), ValueError, ["`units`"]),
    (lambda: kar.GridLSTMBlock(3)([X[:, 0]] * 3, [X[:, 0]] * 2), ValueError, ["`hidden`", "2 tensors", "(batch, 3)"]),
    (lambda: kar.GridLSTMBlock(4)([X[:, 0]] * 2, [X[:, 0]] * 2), ValueError, ["`hidden`", "(batch, 4)", "(2, 3)"]),
    (lambda: kar.GridLSTMBlock(3)(X[:, 0], X[:, 0]), ValueError, ["`hidden`", "list of 2", "(2, 3)"]),
    (lambda: kar.GridLSTMBlock(3)([X[:, 0]] * 2, [X[:, 0]] * 3), ValueError, ["`memory`", "list of 2", "(2, 3)"]),
    (
        lambda: kar.GridLSTMBlock(3)([X[:, 0]] * 2, [X[:, 0], X[:, 0, :2]]),
        ValueError,
        ["`memory`", "(batch, 3)", "(2, 2)"],
    ),
    (
        lambda: kar.RNN(kar.LowRankLSTMCell(4, 2, projection_units=2))(X),
        ValueError,
        ["`diagonal`", "2 inputs", "4 units"],
    ),
    (lambda: kar.RNN(kar.LowRankGRUCell(8, 4, kernel_map=maps.LowRank(4)))(X), ValueError, ["`rank`", "rank=4", "3"]),
    (lambda: kar.TiedEmbedding(9, 4)(X, reverse=True), ValueError, ["(..., 4)", "(2, 5, 3)"]),
    (lambda: kar.PointerGenerator(4, 9)(X, X, X), ValueError, ["`source` (batch, length)", "(2, 5, 3), (2, 5, 3), (2"]),
    (
        lambda: kar.PointerGenerator(4, 9)(X[0], X, X[..., 0].astype(int)),
        ValueError,
        ["`states` (batch, time", "(5, 3)"],
    ),
    (
        lambda: kar.PointerGenerator(4, 9)(X, X, X[:, :4, 0].astype(int)),
        ValueError,
        ["`source` (batch, length)", "(2, 4)"],
    ),
    (
        lambda: kar.PointerGenerator(4, 9)(X, X, X[..., 0].astype(int), encoded_mask=np.ones((2, 4), "bool")),
        ValueError,
        ["`encoded_mask`", "(2, 5)", "(2, 4)"],
    ),
    (lambda: kar.ActivationRegularization()(X, X[:, :2]), ValueError, ["same shape", "(2, 2, 3)"]),
    (lambda: kar.ActivationRegularization()(X[0], X[0]), ValueError, ["(batch, time, units)", "(5, 3)"]),
    (lambda: kar.MixtureOfSoftmaxes(2, 9)(keras.Input((None, None))), ValueError, ["feature size"]),
    (lambda: kar.SequenceAuxiliary(kar.ElmanCell(3), 5)(X, X[..., 0].astype(int)), ValueError, ["`output`", "classes"]),
    (lambda: kar.SequenceAuxiliary(kar.ElmanCell(4), 5)(X, X), ValueError, ["[4]", "(2, 5, 3)"]),
    (lambda: kar.SequenceAuxiliary(kar.ElmanCell(3), 5, output=4)(X, X), ValueError, ["size 4", "(2, 5, 3)"]),
    (lambda: kar.optimizers.Averaged("sgd").swap(), ValueError, ["`swap`", "averages"]),
    (lambda: _shared_map(), ValueError, ["belongs to", "LSTMCell"]),
]


def _built(layer):
    layer.build(X.shape)
    return layer


def _objects(*values):
    """Returns what NumPy makes of sequences of unequal lengths."""
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _annealed(layer, name, schedule):
    model = keras.Sequential([layer])
    model.compile("sgd", "mse")
    model.fit(X, np.ones((len(X), 4)), verbose=0, callbacks=[kar.callbacks.Annealing(name, schedule)])


def _shared_map():
    shared = maps.LowRank(2)
    kar.LSTMCell(4, kernel_map=shared)
    kar.GRUCell(4, kernel_map=shared)


@pytest.mark.parametrize(("call", "error", "words"), [*BAD_ARGUMENTS, *BAD_USES])
def test_bad_input(call, error, words):
    with pytest.raises(error) as caught:
        call()
    missing = [word for word in words if word not in str(caught.value)]
    assert not missing, f"{missing} not in: {caught.value}"


# Those of `hub`, which another test may have imported, take arguments as the classes of KerasHub do.
NEEDY = [
    cls
    for cls in PUBLIC
    if issubclass(cls, DeclaredArguments)
    and cls.__module__.startswith("keras_adaptive_rnn.")
    and ".hub." not in cls.__module__
]


@pytest.mark.parametrize("cls", NEEDY, ids=lambda cls: cls.__name__)
def test_what_cannot_be_left_out_is_told_with_an_example(cls):
    needed = [p.name for p in inspect.signature(cls).parameters.values() if p.default is p.empty]
    if needed:
        with pytest.raises(TypeError) as caught:
            cls()
        assert str(caught.value).startswith(
            f"{cls.__name__} needs {', '.join(f'`{name}`' for name in needed)}, such as"
        )
        assert "..." not in str(caught.value)


def test_the_page_for_those_who_come_from_elsewhere_knows_every_synonym():
    page = pathlib.Path(__file__).parents[1] / "docs" / "guides" / "coming_from.md"
    if not page.exists():
        pytest.skip("the docs are not part of the source distribution")
    words = set(re.findall(r"\w+", page.read_text(encoding="utf-8")))
    assert set(_synonyms.SYNONYMS) <= words


@pytest.mark.parametrize("length", [0, 100, 2000])
def test_a_damaged_file_does_not_load(tmp_path, length):
    path = tmp_path / "model.keras"
    model = keras.Sequential([keras.Input((None, 3)), kar.Mogrifier(4)])
    model.save(path)
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises((ValueError, OSError, KeyError, zipfile.BadZipFile)) as caught:
        keras.models.load_model(path)
    assert str(caught.value)
