"""The tables of tests: one line a cell or layer, each run through every test that they share."""

import keras

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import activations, maps

# Every class of cells.
CELLS = {
    "elman": lambda: kar.ElmanCell(4, dropout=0.2, recurrent_dropout=0.3),
    "gru": lambda: kar.GRUCell(4),
    "lstm": lambda: kar.LSTMCell(4, dropout=0.2, recurrent_dropout=0.3, update_dropout=0.2, per_gate_dropout=True),
    "low_rank_gru": lambda: kar.LowRankGRUCell(4, rank=2, weight_normalization=True, trainable_initial_state=True),
    "low_rank_lstm": lambda: kar.LowRankLSTMCell(4, rank=2, tied=True, kernel_map=maps.LowRank(2)),
    "weight_drop_lstm": lambda: kar.WeightDropLSTMCell(4, recurrent_weight_dropout=0.5),
    "recurrent_highway": lambda: kar.RecurrentHighwayCell(4, depth=3, dropout=0.2, recurrent_dropout=0.3),
    "deep_rnn_dropped": lambda: kar.DeepRNNCell(4, depth=4, skip_every=2, dropout=0.2, block_dropout=0.3),
    "grid_lstm": lambda: kar.GridLSTMCell(4, depth=2, dropout=0.2, recurrent_dropout=0.3),
    "adaptive_lstm": lambda: kar.AdaptiveLSTMCell(4, policy_units=3, dropout=0.2, policy_dropout=0.3),
    "adaptive_rnn": lambda: kar.AdaptiveRNNCell(4, policy_units=3, adaptation="output", recurrent_dropout=0.3),
    "stacked_adaptive_lstm": lambda: kar.StackedAdaptiveLSTMCells([3, 4], policy_units=2, recurrent_dropout=0.3),
    "mogrifier_low_rank": lambda: kar.MogrifierCell(4, rank=2, gate_bias=True, dropout=0.2, recurrent_dropout=0.3),
    "multiplicative_lstm": lambda: kar.MultiplicativeLSTMCell(4, dropout=0.2, recurrent_dropout=0.3),
    "zoneout": lambda: kar.ZoneoutCell(4, zoneout=[0.2, 0.5]),
    "skip": lambda: kar.SkipCell(kar.LSTMCell(4), trainable_initial_state=True),
    "skim": lambda: kar.SkimCell(kar.LSTMCell(4), kar.LSTMCell(2)),
    "variable_computation": lambda: kar.VariableComputationCell(4, core="gru", dropout=0.2),
    "stack_skip": lambda: kar.StackedCells(
        [kar.LSTMCell(4, tied_gates=True), keras.layers.GRUCell(4, dropout=0.2)], connection="skip"
    ),
}
# Further options of these cells: the equations are tried, and not again all that Keras does around them.
OPTIONS = {
    "gru_reset_before": lambda: kar.GRUCell(4, reset_after=False, recurrent_dropout=0.3, layer_normalization=True),
    "lstm_tied_projected": lambda: kar.LSTMCell(4, tied_gates=True, projection_units=3, layer_normalization=True),
    "lstm_capped_clipped": lambda: kar.LSTMCell(4, cap_input_gate=True, cell_clip=0.3, trainable_initial_state=True),
    "recurrent_highway_free": lambda: kar.RecurrentHighwayCell(4, depth=1, coupled=False),
    "adaptive_lstm_static": lambda: kar.AdaptiveLSTMCell(4, policy_units=3, policy="static", tied=False),
    "adaptive_lstm_sva": lambda: kar.AdaptiveLSTMCell(
        4, policy_units=3, adaptation="sva", trainable_initial_state=True
    ),
    "lstm_belu": lambda: kar.LSTMCell(4, activation="belu"),
    "deep_rnn": lambda: kar.DeepRNNCell(4, depth=5, recurrent_dropout=0.3),
    "mogrifier": lambda: kar.MogrifierCell(4),
    "mogrifier_gru": lambda: kar.MogrifierCell(4, rounds=4, core="gru", zigzag=False, trainable_initial_state=True),
    "mogrifier_around_keras": lambda: kar.MogrifierCell(cell=keras.layers.GRUCell(4, dropout=0.2), rounds=2),
    "multiplicative_rnn": lambda: kar.MultiplicativeLSTMCell(4, core="elman", factor_bias=True),
    "zoneout_around_adaptive": lambda: kar.ZoneoutCell(cell=kar.AdaptiveLSTMCell(4, policy_units=3), zoneout=0.3),
    "skip_around_stack": lambda: kar.SkipCell(
        kar.StackedCells([kar.GRUCell(3), keras.layers.LSTMCell(4, dropout=0.2)])
    ),
    "skim_of_two_kinds": lambda: kar.SkimCell(keras.layers.GRUCell(4, dropout=0.2), kar.ZoneoutCell(2)),
    "variable_computation_rnn": lambda: kar.VariableComputationCell(4, soft_inference=True, recurrent_dropout=0.2),
    "stacked_adaptive_rnn": lambda: kar.StackedAdaptiveRNNCells([3, 4], policy_units=2, policy_dropout=0.3),
}


def policy(size):
    return keras.Sequential([keras.layers.Dense(2, activation="relu"), keras.layers.Dense(size)])


LAYERS = {
    "rnn": lambda: kar.RNN(kar.ElmanCell(4), return_sequences=True),
    "elman": lambda: kar.Elman(4),
    "gru": lambda: kar.GRU(4),
    "lstm": lambda: kar.LSTM(4),
    "mogrifier": lambda: kar.Mogrifier(4, rank=2, dropout=0.2),
    "multiplicative_lstm": lambda: kar.MultiplicativeLSTM(4, return_sequences=True),
    "low_rank_gru": lambda: kar.LowRankGRU(4, rank=2),
    "low_rank_lstm": lambda: kar.LowRankLSTM(4, rank=2, return_sequences=True),
    "recurrent_highway": lambda: kar.RecurrentHighway(4, depth=2),
    "grid_lstm": lambda: kar.GridLSTM(4, depth=2, tied=True),
    "deep_rnn": lambda: kar.DeepRNN(4, depth=4),
    "weight_drop_lstm": lambda: kar.WeightDropLSTM(4),
    "zoneout": lambda: kar.Zoneout(4),
    "skip": lambda: kar.Skip(kar.GRUCell(4), cost_weight=0.1),
    "skim": lambda: kar.Skim(kar.GRUCell(4), kar.GRUCell(2), skim_loss=0.1),
    "variable_computation": lambda: kar.VariableComputation(4, cost_weight=0.1, target=0.3, return_sequences=True),
    "adaptive_lstm": lambda: kar.AdaptiveLSTM([3, 4], policy_units=2, output_dropout=0.3, return_sequences=True),
    "adaptive_rnn": lambda: kar.AdaptiveRNN(4, policy_units=2),
    "dense_belu": lambda: keras.layers.Dense(4, activation=activations.belu),
    "bipolar": lambda: kar.Bipolar("elu", axis=1, layout="halves"),
    "bipolar_prelu": lambda: kar.Bipolar(keras.layers.PReLU(shared_axes=[1])),
    "crelu": lambda: kar.CReLU(),
    "oplu": lambda: kar.OPLU(),
    "maxout": lambda: kar.Maxout(3, pieces=2),
    "highway": lambda: kar.Highway(),
    "highway_low_rank": lambda: kar.Highway(coupled=False, rank=2, diagonal=True, activation="belu"),
    "adaptive_io": lambda: kar.AdaptiveDense(3, policy="glu"),
    "adaptive_input": lambda: kar.AdaptiveDense(3, "input", policy="tanh", rank=2, kernel_regularizer="l2"),
    "adaptive_output": lambda: kar.AdaptiveDense(3, "output", activation="belu", use_bias=False),
    "adaptive_sva": lambda: kar.AdaptiveDense(3, "sva", policy=policy(3 + 3)),
    "adaptive_blocks": lambda: kar.AdaptiveDense(3, [5, 2], policy="relu", bias_initializer="ones"),
}

# Whole models, of tokens below 9.
MODELS = {
    "lstm_jump": lambda: kar.models.LSTMJump(
        vocabulary_size=9, embedding_units=3, classes=2, units=4, read=2, max_jump=3, max_jumps=2
    ),
    "lstm_jump_keras": lambda: kar.models.LSTMJump(
        vocabulary_size=9, embedding_units=3, classes=3, cell=keras.layers.GRUCell(4), read=1, max_jump=2, max_jumps=3
    ),
    "skim_or_read": lambda: kar.models.SkimOrRead(
        vocabulary_size=9, embedding_units=3, classes=2, units=4, skim_units=4, decide="network", decide_units=3
    ),
}
