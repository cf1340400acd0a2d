"""The table of tests: one line a cell, each run through every test that cells share."""

import keras

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import activations, maps

CELLS = {
    "elman": lambda: kar.ElmanCell(4, dropout=0.2, recurrent_dropout=0.3),
    "gru": lambda: kar.GRUCell(4),
    "gru_reset_before": lambda: kar.GRUCell(4, reset_after=False, recurrent_dropout=0.3, layer_normalization=True),
    "lstm": lambda: kar.LSTMCell(4, dropout=0.2, recurrent_dropout=0.3, update_dropout=0.2),
    "lstm_tied_projected": lambda: kar.LSTMCell(4, tied_gates=True, projection_units=3, layer_normalization=True),
    "lstm_capped_clipped": lambda: kar.LSTMCell(4, cap_input_gate=True, cell_clip=0.3, trainable_initial_state=True),
    "lstm_low_rank": lambda: kar.LSTMCell(4, kernel_map=maps.LowRank(2), recurrent_map=maps.LowRank(2, diagonal=True)),
    "gru_low_rank_tied": lambda: kar.GRUCell(4, reset_after=False, recurrent_map=maps.LowRank(2, tied=True)),
    "lstm_belu": lambda: kar.LSTMCell(4, activation="belu"),
    "lstm_drop_connect": lambda: kar.LSTMCell(4, recurrent_map=maps.DropConnect(0.5)),
    "mogrifier": lambda: kar.MogrifierCell(4),
    "mogrifier_low_rank": lambda: kar.MogrifierCell(4, rank=2, gate_bias=True, dropout=0.2, recurrent_dropout=0.3),
    "mogrifier_gru": lambda: kar.MogrifierCell(4, rounds=4, core="gru", zigzag=False, trainable_initial_state=True),
    "mogrifier_around_keras": lambda: kar.MogrifierCell(cell=keras.layers.GRUCell(4, dropout=0.2), rounds=2),
    "mogrifier_around_mogrifier": lambda: kar.MogrifierCell(cell=kar.MogrifierCell(4, rounds=1), rounds=2),
    "multiplicative_lstm": lambda: kar.MultiplicativeLSTMCell(4, dropout=0.2, recurrent_dropout=0.3),
    "multiplicative_rnn": lambda: kar.MultiplicativeLSTMCell(4, core="elman", factor_bias=True),
}


def policy(size):
    return keras.Sequential([keras.layers.Dense(2, activation="relu"), keras.layers.Dense(size)])


LAYERS = {
    "rnn": lambda: kar.RNN(kar.ElmanCell(4), return_sequences=True),
    "mogrifier": lambda: kar.Mogrifier(4, rank=2, dropout=0.2),
    "multiplicative_lstm": lambda: kar.MultiplicativeLSTM(4, return_sequences=True),
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
