"""Every cell learns: it solves the adding problem over 50 steps, within a stated number of training steps.

A sequence holds numbers in [0, 1) and two marks, one in each half; the target is the sum of the marked numbers. Whoever
ignores the sequence has a mean squared error of 1/6; solved is below 0.01 on sequences that were never seen. The data
are the same on every backend; the first weights are not, so every cell has about twice the steps that it needed, and
three starts. Each learns on one backend: that all compute the same is shown elsewhere.
"""

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from tests.backends import dealt_once

LENGTH, BATCH, STEPS_A_ROUND, SOLVED = 50, 64, 25, 0.01
SEEDS = (1, 4, 0)
# An adaptive bias of zero would stay zero, whatever the policy says.
adaptive = {"policy_units": 16, "bias_initializer": "ones"}


def bold(gain):
    """Policies that start far from zero. An initializer without a seed would draw one that no test has set."""
    return {**adaptive, "policy_initializer": keras.initializers.Orthogonal(gain, seed=4)}


# A cell, the learning rate, and the training steps in which it must be done. The slowest stands where PyTorch
# tries it, which compiles nothing.
ROWS = {
    "irnn": (lambda: kar.ElmanCell(32, activation="relu", recurrent_initializer="identity"), 0.005, 700),
    "gru": (lambda: kar.GRUCell(16), 0.02, 400),
    "lstm": (lambda: kar.LSTMCell(16), 0.02, 500),
    "mogrifier": (lambda: kar.MogrifierCell(16, rounds=2), 0.02, 800),
    "multiplicative_lstm": (lambda: kar.MultiplicativeLSTMCell(16), 0.02, 800),
    "adaptive_lstm": (lambda: kar.AdaptiveLSTMCell(16, **bold(4.0)), 0.01, 600),
    "adaptive_rnn": (lambda: kar.AdaptiveRNNCell(32, adaptation="output", **adaptive), 0.01, 600),
    "low_rank_gru": (lambda: kar.LowRankGRUCell(32, rank=8, carry_bias=1.0), 0.01, 400),
    "stacked_adaptive_lstm": (
        lambda: kar.StackedAdaptiveLSTMCells([16, 16], policy="static", **bold(8.0)),
        0.01,
        700,
    ),
    "low_rank_lstm": (lambda: kar.LowRankLSTMCell(32, rank=8), 0.02, 500),
    "recurrent_highway": (lambda: kar.RecurrentHighwayCell(32, depth=2), 0.01, 500),
    "grid_lstm": (lambda: kar.GridLSTMCell(16, depth=1), 0.02, 700),
    "weight_drop_lstm": (lambda: kar.WeightDropLSTMCell(32, recurrent_weight_dropout=0.1), 0.02, 1000),
    "zoneout": (lambda: kar.ZoneoutCell(16, zoneout=[0.0, 0.05]), 0.02, 800),
    "skip": (lambda: kar.SkipCell(kar.GRUCell(32)), 0.01, 800),
    "skim": (lambda: kar.SkimCell(kar.GRUCell(16), kar.GRUCell(4)), 0.02, 600),
    "variable_computation": (
        lambda: kar.VariableComputationCell(32, core="gru", sharpness=1.0, soft_inference=True),
        0.01,
        600,
    ),
    "stack_skip": (
        lambda: kar.StackedCells(
            [kar.LSTMCell(16, tied_gates=True, projection_units=8) for _ in range(2)], connection="skip"
        ),
        0.02,
        500,
    ),
}


def sequences(count, seed):
    rng = np.random.default_rng(seed)
    numbers, marks = rng.uniform(size=(count, LENGTH)), np.zeros((count, LENGTH))
    for low, high in ((0, LENGTH // 2), (LENGTH // 2, LENGTH)):
        marks[np.arange(count), rng.integers(low, high, count)] = 1
    targets = (numbers * marks).sum(axis=1, keepdims=True)
    return np.stack([numbers, marks], axis=-1).astype("float32"), targets.astype("float32")


class StopWhenSolved(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.model.stop_training = logs["val_loss"] < SOLVED


def train(make, rate, steps, seed):
    """Returns the errors on unseen sequences, the last one below `SOLVED` if the task is solved."""
    keras.utils.set_random_seed(seed)
    model = keras.Sequential([kar.RNN(make()), keras.layers.Dense(1, bias_initializer="ones")])
    model.compile(keras.optimizers.Adam(rate, clipnorm=1.0), "mse")
    history = model.fit(
        *sequences(100 * BATCH, seed=1),
        batch_size=BATCH,
        steps_per_epoch=STEPS_A_ROUND,
        epochs=steps // STEPS_A_ROUND,
        validation_data=sequences(1000, seed=2),
        validation_batch_size=1000,
        callbacks=[StopWhenSolved()],
        verbose=0,
    )
    return history.history["val_loss"]


@pytest.mark.parametrize("name", dealt_once(ROWS))
def test_it_learns_to_add(name):
    # A start may stay on the plateau of 1/6 for long, and where the roundings of a processor lead, nobody knows.
    errors = []
    for seed in SEEDS:
        errors.append(train(*ROWS[name], seed))
        if errors[-1][-1] < SOLVED:
            return
    pytest.fail(f"from each of the seeds {SEEDS}, after {ROWS[name][-1]} steps, the errors were {errors}")
