"""One row for each cell, layer and model: what the tests that they share need to know.

A row of `CELL_ROWS` sends its cell through the tests of conformance (`test_cells.py`), equations (`test_reference.py`),
composition (`test_composition.py`), learning (`test_learning.py`), frozen files (`test_frozen.py`) and agreement of the
backends (`cross/`). `test_table.py` fails for a public class without a row.
"""

import dataclasses
from collections.abc import Callable
from functools import partial

import keras
import numpy as np

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import activations, maps
from keras_adaptive_rnn._command_line import option_name
from keras_adaptive_rnn._export import PUBLIC
from keras_adaptive_rnn.layers.cell_layer import CellLayer
from tests import reference as ref
from tests import reference_deciding as deciding


@dataclasses.dataclass
class Learning:
    """What solves the adding problem: a cell, its learning rate, and the training steps in which it must be done."""

    make: Callable
    rate: float
    steps: int


@dataclasses.dataclass
class Row:
    """Everything that the shared tests need to know of a cell.

    Args:
        make: Returns the cell, of 4 units, with its noise on.
        reference: Its step in float64 NumPy, without noise; `None` only where there is nothing to add to `equations`.
        learns: How it solves the adding problem.
        options: Further cells that must conform, by name; those as a pair `(make, reference)` must agree with their
            equations too. A name is also that of a frozen file, so it must not change.
        equations: Pairs `(make, reference)`, by name: cells that are compared with their equations and no more.
        wraps: Returns the cell around another one, if it is a wrapper.
        decides: Whether its reference returns decisions as well; `test_deciding.py` compares it.
    """

    make: Callable
    reference: Callable | None
    learns: Learning | None
    options: dict = dataclasses.field(default_factory=dict)
    equations: dict = dataclasses.field(default_factory=dict)
    wraps: Callable | None = None
    decides: bool = False


# An adaptive bias of zero would stay zero, whatever the policy says.
learning_policy = {"policy_units": 16, "bias_initializer": "ones"}


def bold(gain):
    """Policies that start far from zero. An initializer without a seed would draw one that no test has set."""
    return {**learning_policy, "policy_initializer": keras.initializers.Orthogonal(gain, seed=4)}


def adaptive(core, policy="recurrent", adaptation="io", tied=True, **_):
    return partial(ref.adaptive, core, kind=policy, adaptation=adaptation, tied=tied)


def adaptive_equations(cell, core):
    """Returns the adaptations that are run over a sequence; `test_reference.py` tries the others for one step."""
    options = {
        "recurrent": {},
        "recurrent_untied": {"tied": False},
        "recurrent_input": {"adaptation": "input"},
        "recurrent_output": {"adaptation": "output"},
        "recurrent_sva": {"adaptation": "sva"},
        "static": {"policy": "static"},
        "static_untied_input": {"policy": "static", "tied": False, "adaptation": "input"},
        "static_untied_sva": {"policy": "static", "tied": False, "adaptation": "sva", "rank": 2},
        "no_bias": {"use_bias": False},
    }
    return {name: (partial(cell, 4, policy_units=3, **ours), adaptive(core, **ours)) for name, ours in options.items()}


two_lstms = [(ref.lstm, 2), (ref.lstm, 2)]
two_grus = [(ref.gru, 1), (ref.gru, 1)]
gru_before = partial(ref.gru, reset_after=False)

CELL_ROWS = {
    "elman": Row(
        lambda: kar.ElmanCell(4, dropout=0.2, recurrent_dropout=0.3),
        ref.elman,
        Learning(lambda: kar.ElmanCell(32, activation="relu", recurrent_initializer="identity"), 0.005, 700),
    ),
    "gru": Row(
        lambda: kar.GRUCell(4),
        ref.gru,
        Learning(lambda: kar.GRUCell(16), 0.02, 400),
        options={
            "gru_reset_before": (
                lambda: kar.GRUCell(4, reset_after=False, recurrent_dropout=0.3, layer_normalization=True),
                partial(gru_before, layer_normalization=True),
            ),
        },
        equations={
            "before": (lambda: kar.GRUCell(4, reset_after=False), gru_before),
            "before_low_rank": (
                lambda: kar.GRUCell(4, reset_after=False, recurrent_map=maps.LowRank(2, diagonal=True)),
                gru_before,
            ),
            "before_low_rank_tied": (
                lambda: kar.GRUCell(4, reset_after=False, recurrent_map=maps.LowRank(2, tied=True)),
                gru_before,
            ),
        },
    ),
    "lstm": Row(
        lambda: kar.LSTMCell(4, dropout=0.2, recurrent_dropout=0.3, update_dropout=0.2, per_gate_dropout=True),
        ref.lstm,
        Learning(lambda: kar.LSTMCell(16), 0.02, 500),
        options={
            "lstm_tied_projected": (
                lambda: kar.LSTMCell(4, tied_gates=True, projection_units=3, layer_normalization=True),
                partial(ref.lstm, tied=True, layer_normalization=True),
            ),
            "lstm_capped_clipped": (
                lambda: kar.LSTMCell(4, cap_input_gate=True, cell_clip=0.3, trainable_initial_state=True),
                partial(ref.lstm, cap=True, clip=0.3),
            ),
            "lstm_belu": lambda: kar.LSTMCell(4, activation="belu"),
            "lstm_peepholes": (
                lambda: kar.LSTMCell(4, peepholes=True, projection_units=3, update_dropout=0.2),
                ref.lstm,
            ),
        },
        equations={
            "tied": (lambda: kar.LSTMCell(4, tied_gates=True), partial(ref.lstm, tied=True)),
            "peepholes": (lambda: kar.LSTMCell(4, peepholes=True, cap_input_gate=True), partial(ref.lstm, cap=True)),
            "peepholes_tied": (
                lambda: kar.LSTMCell(4, peepholes=True, tied_gates=True, cell_clip=0.3),
                partial(ref.lstm, tied=True, clip=0.3),
            ),
            "capped": (lambda: kar.LSTMCell(4, cap_input_gate=True), partial(ref.lstm, cap=True)),
            "clipped": (lambda: kar.LSTMCell(4, cell_clip=0.2), partial(ref.lstm, clip=0.2)),
            "normalised": (
                lambda: kar.LSTMCell(4, layer_normalization=True),
                partial(ref.lstm, layer_normalization=True),
            ),
            "projected": (lambda: kar.LSTMCell(4, projection_units=3), ref.lstm),
            "low_rank": (
                lambda: kar.LSTMCell(4, kernel_map=maps.LowRank(2), recurrent_map=maps.LowRank(2, diagonal=True)),
                ref.lstm,
            ),
            "low_rank_tied": (
                lambda: kar.LSTMCell(4, recurrent_map=maps.LowRank(2, diagonal=True, tied=True)),
                ref.lstm,
            ),
        },
    ),
    "low_rank_gru": Row(
        lambda: kar.LowRankGRUCell(4, rank=2, weight_normalization=True, trainable_initial_state=True),
        partial(ref.normalized, gru_before),
        Learning(lambda: kar.LowRankGRUCell(32, rank=8, carry_bias=1.0), 0.01, 400),
        equations={
            "plain": (lambda: kar.LowRankGRUCell(4, 2), gru_before),
            "after": (lambda: kar.LowRankGRUCell(4, 2, tied=True, reset_after=True), ref.gru),
            "after_normalised": (
                lambda: kar.LowRankGRUCell(4, 2, diagonal=False, reset_after=True, weight_normalization=True),
                partial(ref.normalized, ref.gru),
            ),
            "tied_normalised": (
                lambda: kar.LowRankGRUCell(4, 2, tied=True, weight_normalization=True),
                partial(ref.normalized, gru_before),
            ),
        },
    ),
    "low_rank_lstm": Row(
        lambda: kar.LowRankLSTMCell(4, rank=2, tied=True, kernel_map=maps.LowRank(2)),
        ref.lstm,
        Learning(lambda: kar.LowRankLSTMCell(32, rank=8), 0.02, 500),
        equations={
            "plain": (lambda: kar.LowRankLSTMCell(4, 2, diagonal=False), ref.lstm),
            "peepholes": (lambda: kar.LowRankLSTMCell(4, 2, peepholes=True), ref.lstm),
            "normalised": (
                lambda: kar.LowRankLSTMCell(4, 2, tied=True, weight_normalization=True),
                partial(ref.normalized, ref.lstm),
            ),
        },
    ),
    "weight_drop_lstm": Row(
        lambda: kar.WeightDropLSTMCell(4, recurrent_weight_dropout=0.5),
        ref.lstm,
        Learning(lambda: kar.WeightDropLSTMCell(32, recurrent_weight_dropout=0.1), 0.02, 1000),
    ),
    "rg_lru": Row(
        lambda: kar.RGLRUCell(4, dropout=0.2),
        ref.rg_lru,
        Learning(lambda: kar.StackedCells([kar.RGLRUCell(16), kar.RGLRUCell(16)]), 0.02, 800),
        equations={"blocks": (lambda: kar.RGLRUCell(4, gate_map=maps.BlockDiagonal(2)), ref.rg_lru)},
    ),
    "recurrent_highway": Row(
        lambda: kar.RecurrentHighwayCell(4, depth=3, dropout=0.2, recurrent_dropout=0.3),
        partial(ref.recurrent_highway, depth=3),
        Learning(lambda: kar.RecurrentHighwayCell(32, depth=2), 0.01, 500),
        options={
            "recurrent_highway_free": (
                lambda: kar.RecurrentHighwayCell(4, depth=1, coupled=False),
                partial(ref.recurrent_highway, depth=1, coupled=False),
            ),
        },
        equations={
            f"{depth}_{'coupled' if coupled else 'free'}": (
                partial(kar.RecurrentHighwayCell, 4, depth=depth, coupled=coupled),
                partial(ref.recurrent_highway, depth=depth, coupled=coupled),
            )
            for depth, coupled in ((1, True), (3, False), (10, True), (10, False))
        },
    ),
    "urnn": Row(
        # Two complex units have an output of four numbers.
        lambda: kar.URNNCell(2, dropout=0.2),
        ref.urnn,
        Learning(lambda: kar.URNNCell(16), 0.01, 1200),
        equations={
            "six": (lambda: kar.URNNCell(6, permutation_seed=3), partial(ref.urnn, permutation_seed=3)),
            "linear": (lambda: kar.URNNCell(5, use_bias=False), partial(ref.urnn, use_bias=False)),
        },
    ),
    "deep_rnn_dropped": Row(
        lambda: kar.DeepRNNCell(4, depth=4, skip_every=2, dropout=0.2, block_dropout=0.3),
        partial(ref.deep, depth=4, skip_every=2, block_dropout=True),
        # `benchmarks/` trains it on text; identity weights and BELU are not made for sums of two numbers.
        learns=None,
        options={
            "deep_rnn": (lambda: kar.DeepRNNCell(4, depth=5, recurrent_dropout=0.3), partial(ref.deep, depth=5)),
        },
        equations={
            f"{units}_{depth}_{skip}": (
                partial(kar.DeepRNNCell, units, depth=depth, skip_every=skip),
                partial(ref.deep, depth=depth, skip_every=skip),
            )
            for units, depth, skip in ((4, 1, 4), (4, 5, 2), (5, 5, 2), (4, 6, None))
        },
    ),
    "grid_lstm": Row(
        lambda: kar.GridLSTMCell(4, depth=2, dropout=0.2, recurrent_dropout=0.3),
        partial(ref.grid, depth=2),
        Learning(lambda: kar.GridLSTMCell(16, depth=1), 0.02, 700),
        equations={
            "1": (lambda: kar.GridLSTMCell(4, depth=1), partial(ref.grid, depth=1)),
            "3": (lambda: kar.GridLSTMCell(4, depth=3), partial(ref.grid, depth=3)),
            "3_tied": (lambda: kar.GridLSTMCell(4, depth=3, tied=True), partial(ref.grid, depth=3, tied=True)),
        },
    ),
    "adaptive_lstm": Row(
        lambda: kar.AdaptiveLSTMCell(4, policy_units=3, dropout=0.2, policy_dropout=0.3),
        adaptive(ref.lstm),
        Learning(lambda: kar.AdaptiveLSTMCell(16, **bold(4.0)), 0.01, 600),
        options={
            "adaptive_lstm_static": (
                lambda: kar.AdaptiveLSTMCell(4, policy_units=3, policy="static", tied=False),
                adaptive(ref.lstm, policy="static", tied=False),
            ),
            "adaptive_lstm_policy_cell": (
                lambda: kar.AdaptiveLSTMCell(
                    4, policy_cell=kar.RecurrentHighwayCell(3, depth=2, name="policy"), policy_dropout=0.3
                ),
                adaptive(ref.lstm, policy=partial(ref.recurrent_highway, depth=2)),
            ),
            "adaptive_lstm_sva": (
                lambda: kar.AdaptiveLSTMCell(4, policy_units=3, adaptation="sva", trainable_initial_state=True),
                adaptive(ref.lstm, adaptation="sva"),
            ),
        },
        equations=adaptive_equations(kar.AdaptiveLSTMCell, ref.lstm),
    ),
    "adaptive_rnn": Row(
        lambda: kar.AdaptiveRNNCell(4, policy_units=3, adaptation="output", recurrent_dropout=0.3),
        adaptive(ref.elman, adaptation="output"),
        Learning(lambda: kar.AdaptiveRNNCell(32, adaptation="output", **learning_policy), 0.01, 600),
        equations=adaptive_equations(kar.AdaptiveRNNCell, ref.elman),
    ),
    "stacked_adaptive_lstm": Row(
        lambda: kar.StackedAdaptiveLSTMCells([3, 4], policy_units=2, recurrent_dropout=0.3),
        partial(ref.adaptive_stack, ref.lstm),
        Learning(lambda: kar.StackedAdaptiveLSTMCells([16, 16], policy="static", **bold(8.0)), 0.01, 700),
        equations={
            "static": (
                lambda: kar.StackedAdaptiveLSTMCells([3, 4], policy_units=2, policy="static"),
                partial(ref.adaptive_stack, ref.lstm, kind="static"),
            ),
        },
    ),
    "stacked_adaptive_rnn": Row(
        lambda: kar.StackedAdaptiveRNNCells([3, 4], policy_units=2, policy_dropout=0.3),
        partial(ref.adaptive_stack, ref.elman),
        Learning(lambda: kar.StackedAdaptiveRNNCells([32, 32], adaptation="output", **learning_policy), 0.005, 600),
        equations={
            "of_three": (
                lambda: kar.StackedAdaptiveRNNCells([3, 5, 4], policy_units=2),
                partial(ref.adaptive_stack, ref.elman, layers=3),
            ),
        },
    ),
    "mogrifier_low_rank": Row(
        lambda: kar.MogrifierCell(4, rank=2, gate_bias=True, dropout=0.2, recurrent_dropout=0.3),
        partial(ref.mogrifier, ref.lstm),
        Learning(lambda: kar.MogrifierCell(16, rounds=2), 0.02, 800),
        options={
            "mogrifier": (lambda: kar.MogrifierCell(4), partial(ref.mogrifier, ref.lstm)),
            "mogrifier_gru": (
                lambda: kar.MogrifierCell(4, rounds=4, core="gru", zigzag=False, trainable_initial_state=True),
                partial(ref.mogrifier, ref.gru, rounds=4, zigzag=False),
            ),
            "mogrifier_static": (
                lambda: kar.MogrifierCell(4, rounds=2, static_gates=True, gate_activation="linear", dropout=0.2),
                partial(ref.mogrifier, ref.lstm, rounds=2, static=True, gate_of=lambda a: 1 + 2 * a),
            ),
            "mogrifier_around_keras": lambda: kar.MogrifierCell(cell=keras.layers.GRUCell(4, dropout=0.2), rounds=2),
        },
        equations={
            **{
                f"{rounds}_rounds": (
                    partial(kar.MogrifierCell, 4, rounds=rounds),
                    partial(ref.mogrifier, ref.lstm, rounds=rounds),
                )
                for rounds in (0, 1, 2, 3, 4, 6)
            },
            "no_zigzag": (
                lambda: kar.MogrifierCell(4, zigzag=False),
                partial(ref.mogrifier, ref.lstm, zigzag=False),
            ),
            "static": (
                lambda: kar.MogrifierCell(4, rounds=3, static_gates=True),
                partial(ref.mogrifier, ref.lstm, rounds=3, static=True),
            ),
            "signed": (
                lambda: kar.MogrifierCell(4, rank=2, gate_activation="tanh"),
                partial(ref.mogrifier, ref.lstm, gate_of=lambda a: 1 + 2 * np.tanh(a)),
            ),
            "softplus": (
                lambda: kar.MogrifierCell(4, rounds=1, gate_bias=True, gate_activation="softplus"),
                partial(ref.mogrifier, ref.lstm, rounds=1, gate_of=lambda a: 1 + 2 * np.log((1 + np.exp(a)) / 2)),
            ),
            "normalised": (
                lambda: kar.MogrifierCell(4, layer_normalization=True),
                partial(ref.mogrifier, partial(ref.lstm, layer_normalization=True)),
            ),
            "gru": (lambda: kar.MogrifierCell(4, core="gru"), partial(ref.mogrifier, ref.gru)),
            "elman": (lambda: kar.MogrifierCell(4, core="elman"), partial(ref.mogrifier, ref.elman)),
            "tied": (
                lambda: kar.MogrifierCell(4, tied_gates=True),
                partial(ref.mogrifier, partial(ref.lstm, tied=True)),
            ),
        },
        wraps=lambda cell: kar.MogrifierCell(cell=cell, rounds=2, rank=2),
    ),
    "min_gru": Row(
        lambda: kar.MinGRUCell(4, dropout=0.2),
        ref.min_gru,
        Learning(lambda: kar.StackedCells([kar.MinGRUCell(16), kar.MinGRUCell(16)]), 0.02, 800),
        options={
            "min_gru_negative": (
                lambda: kar.MinGRUCell(4, activation="min_rnn", negative_eigenvalues=True, use_bias=False),
                partial(ref.min_gru, activation=ref.positive, negative=True),
            ),
        },
    ),
    "min_lstm": Row(
        lambda: kar.MinLSTMCell(4, dropout=0.2),
        ref.min_lstm,
        Learning(lambda: kar.StackedCells([kar.MinLSTMCell(16), kar.MinLSTMCell(16)]), 0.02, 800),
        equations={
            "negative": (lambda: kar.MinLSTMCell(4, negative_eigenvalues=True), partial(ref.min_lstm, negative=True)),
        },
    ),
    "adaptive_linear": Row(
        lambda: kar.AdaptiveLinearCell(4, policy_units=2, dropout=0.2),
        ref.adaptive_linear,
        Learning(lambda: kar.AdaptiveLinearCell(32, policy_units=8), 0.02, 800),
        equations={
            "rg_lru": (
                lambda: kar.AdaptiveLinearCell(4, policy_units=3, policy="gru", memory="rg_lru"),
                partial(ref.adaptive_linear, policy=ref.gru, memory=ref.rg_lru),
            ),
        },
    ),
    "slstm": Row(
        lambda: kar.SLSTMCell(4, dropout=0.2, recurrent_dropout=0.3),
        ref.slstm,
        Learning(lambda: kar.SLSTMCell(32), 0.02, 800),
        equations={
            "exponential": (
                lambda: kar.SLSTMCell(4, forget_gate="exponential"),
                partial(ref.slstm, exponential=True),
            ),
            "heads": (lambda: kar.SLSTMCell(4, recurrent_map=maps.BlockDiagonal(2)), ref.slstm),
        },
    ),
    "mlstm": Row(
        lambda: kar.MLSTMCell(4, num_heads=2, dropout=0.2),
        partial(ref.mlstm, heads=2),
        Learning(lambda: kar.StackedCells([kar.MLSTMCell(16), kar.MLSTMCell(16)]), 0.02, 800),
        equations={
            "exponential": (
                lambda: kar.MLSTMCell(4, num_heads=1, forget_gate="exponential"),
                partial(ref.mlstm, heads=1, exponential=True),
            ),
        },
    ),
    "gated_delta_net": Row(
        lambda: kar.GatedDeltaNetCell(4, num_heads=1, dropout=0.2),
        partial(ref.gated_delta_net, heads=1),
        Learning(lambda: kar.StackedCells([kar.GatedDeltaNetCell(16), kar.GatedDeltaNetCell(16)]), 0.02, 800),
        equations={
            "negative": (
                lambda: kar.GatedDeltaNetCell(4, num_heads=2, negative_eigenvalues=True, use_bias=True),
                partial(ref.gated_delta_net, heads=2, negative=True),
            ),
            "scaled": (
                lambda: kar.GatedDeltaNetCell(4, num_heads=1, query_scale=0.25, epsilon=1e-3),
                partial(ref.gated_delta_net, heads=1, query_scale=0.25, epsilon=1e-3),
            ),
        },
    ),
    "multiplicative_lstm": Row(
        lambda: kar.MultiplicativeLSTMCell(4, dropout=0.2, recurrent_dropout=0.3),
        partial(ref.multiplicative, ref.lstm),
        Learning(lambda: kar.MultiplicativeLSTMCell(16), 0.02, 800),
        options={
            "multiplicative_rnn": (
                lambda: kar.MultiplicativeLSTMCell(4, core="elman", factor_bias=True),
                partial(ref.multiplicative, ref.elman),
            ),
        },
        wraps=lambda cell: kar.MultiplicativeLSTMCell(cell=cell),
    ),
    "multiplicative_integration_lstm": Row(
        lambda: kar.MultiplicativeIntegrationLSTMCell(4, alpha=0.7, dropout=0.2, recurrent_dropout=0.3),
        partial(ref.multiplicative_integration, ref.lstm),
        Learning(lambda: kar.MultiplicativeIntegrationLSTMCell(16), 0.02, 400),
        equations={
            "tied_projected": (
                lambda: kar.MultiplicativeIntegrationLSTMCell(
                    4, tied_gates=True, projection_units=3, kernel_map=maps.LowRank(2)
                ),
                partial(ref.multiplicative_integration, ref.lstm, tied=True),
            ),
            "peepholes": (
                lambda: kar.MultiplicativeIntegrationLSTMCell(4, peepholes=True),
                partial(ref.multiplicative_integration, ref.lstm),
            ),
        },
    ),
    "multiplicative_integration_rnn": Row(
        lambda: kar.MultiplicativeIntegrationRNNCell(4, beta_1=0.5, beta_2=0.5, dropout=0.2),
        partial(ref.multiplicative_integration, ref.elman),
        Learning(
            lambda: kar.MultiplicativeIntegrationRNNCell(32, activation="relu", recurrent_initializer="identity"),
            0.005,
            500,
        ),
    ),
    "nas": Row(
        lambda: kar.NASCell(4, dropout=0.2, recurrent_dropout=0.3),
        ref.nas,
        Learning(lambda: kar.NASCell(16), 0.02, 500),
        equations={"bias": (lambda: kar.NASCell(4, use_bias=True, recurrent_map=maps.LowRank(2)), ref.nas)},
    ),
    "hyper_lstm": Row(
        lambda: kar.HyperLSTMCell(4, hyper_units=3, hyper_embedding_units=2, dropout=0.2, update_dropout=0.3),
        ref.hyper_lstm,
        Learning(lambda: kar.HyperLSTMCell(16, hyper_units=8), 0.02, 400),
        options={
            "hyper_lstm_normalized": (
                lambda: kar.HyperLSTMCell(
                    4, hyper_units=3, layer_normalization=True, delayed=False, recurrent_dropout=0.3
                ),
                partial(ref.hyper_lstm, layer_normalization=True, delayed=False),
            ),
        },
        equations={
            "tied_projected": (
                lambda: kar.HyperLSTMCell(
                    4, hyper_units=5, delayed=False, tied_gates=True, projection_units=3, use_bias=False
                ),
                partial(ref.hyper_lstm, tied=True, delayed=False),
            ),
        },
    ),
    "isan": Row(
        lambda: kar.ISANCell(4, dropout=0.2, recurrent_dropout=0.3),
        ref.isan,
        # A state that each input multiplies does not hold a sum of numbers: `test_isan.py` has symbols for it.
        learns=None,
        equations={"low_rank": (lambda: kar.ISANCell(4, recurrent_map=maps.LowRank(2)), ref.isan)},
    ),
    "reset": Row(
        lambda: kar.ResetCell(kar.LSTMCell(4, dropout=0.2, recurrent_dropout=0.3)),
        partial(ref.reset, ref.lstm),
        # The second feature of the adding problem, which says what to add, would be the flag.
        learns=None,
        options={"reset_keras": lambda: kar.ResetCell(keras.layers.GRUCell(4), trainable_initial_state=True)},
    ),
    "zoneout": Row(
        lambda: kar.ZoneoutCell(4, zoneout=[0.2, 0.5]),
        partial(ref.zoneout, ref.lstm, rates=[0.2, 0.5]),
        Learning(lambda: kar.ZoneoutCell(16, zoneout=[0.0, 0.05]), 0.02, 800),
        options={
            "zoneout_around_adaptive": lambda: kar.ZoneoutCell(
                cell=kar.AdaptiveLSTMCell(4, policy_units=3), zoneout=0.3
            ),
        },
        equations={
            "one_rate": (lambda: kar.ZoneoutCell(4, zoneout=0.3), partial(ref.zoneout, ref.lstm, rates=[0.3])),
        },
        wraps=lambda cell: kar.ZoneoutCell(cell=cell),
    ),
    "states_output": Row(
        lambda: kar.StatesOutput(kar.LSTMCell(2, dropout=0.2, seed=1), truncate=3),
        partial(ref.states_output, ref.lstm, counts=True),
        Learning(lambda: kar.StatesOutput(kar.LSTMCell(16)), 0.02, 600),
        options={"states_output_of_stack": lambda: kar.StatesOutput(kar.StackedCells([kar.GRUCell(2)] * 1))},
        equations={"untruncated": (lambda: kar.StatesOutput(kar.LSTMCell(3)), partial(ref.states_output, ref.lstm))},
    ),
    "skip": Row(
        lambda: kar.SkipCell(kar.LSTMCell(4), trainable_initial_state=True),
        partial(deciding.skip, ref.lstm, memory=1),
        Learning(lambda: kar.SkipCell(kar.GRUCell(32)), 0.01, 800),
        options={
            "skip_around_stack": lambda: kar.SkipCell(
                kar.StackedCells([kar.GRUCell(3), keras.layers.LSTMCell(4, dropout=0.2)])
            ),
        },
        equations={
            "lstm": (lambda: kar.SkipCell(kar.LSTMCell(3)), partial(deciding.skip, ref.lstm, memory=1)),
            "held": (
                lambda: kar.SkipCell(kar.LSTMCell(3), held_increment=True),
                partial(deciding.skip, ref.lstm, memory=1, held=True),
            ),
            "stack": (
                lambda: kar.SkipCell(kar.StackedCells([kar.GRUCell(3), kar.GRUCell(4)])),
                partial(deciding.skip, partial(ref.stacked, two_grus)),
            ),
        },
        wraps=lambda cell: kar.SkipCell(cell),
        decides=True,
    ),
    "skim": Row(
        lambda: kar.SkimCell(kar.LSTMCell(4), kar.LSTMCell(2)),
        partial(deciding.skim, ref.lstm, ref.lstm, places=(0, 1), count=2),
        Learning(lambda: kar.SkimCell(kar.GRUCell(16), kar.GRUCell(4)), 0.02, 600),
        options={
            "skim_of_two_kinds": lambda: kar.SkimCell(keras.layers.GRUCell(4, dropout=0.2), kar.ZoneoutCell(2)),
        },
        equations={
            "gru_lstm": (
                lambda: kar.SkimCell(kar.GRUCell(4), kar.LSTMCell(3)),
                partial(deciding.skim, ref.gru, ref.lstm, places=(0, 1), count=1),
            ),
            "lstm_gru": (
                lambda: kar.SkimCell(kar.LSTMCell(4), kar.GRUCell(4)),
                partial(deciding.skim, ref.lstm, ref.gru, count=2),
            ),
        },
        wraps=lambda cell: kar.SkimCell(cell, kar.ElmanCell(2)),
        decides=True,
    ),
    "variable_computation": Row(
        lambda: kar.VariableComputationCell(4, core="gru", dropout=0.2),
        partial(deciding.variable_computation, core="gru"),
        Learning(lambda: kar.VariableComputationCell(32, core="gru", sharpness=1.0, soft_inference=True), 0.01, 600),
        options={
            "variable_computation_rnn": lambda: kar.VariableComputationCell(
                4, soft_inference=True, recurrent_dropout=0.2
            ),
        },
        equations={
            "rnn": (lambda: kar.VariableComputationCell(4, sharpness=1.5), deciding.variable_computation),
            "gru": (
                lambda: kar.VariableComputationCell(4, core="gru"),
                partial(deciding.variable_computation, core="gru"),
            ),
        },
        decides=True,
    ),
    "stack_skip": Row(
        lambda: kar.StackedCells(
            [kar.LSTMCell(4, tied_gates=True), keras.layers.GRUCell(4, dropout=0.2)], connection="skip"
        ),
        # A cell of Keras has no reference here; `equations` have the same connection.
        reference=None,
        learns=Learning(
            lambda: kar.StackedCells(
                [kar.LSTMCell(16, tied_gates=True, projection_units=8) for _ in range(2)], connection="skip"
            ),
            0.02,
            500,
        ),
        equations={
            **{
                str(connection): (
                    lambda connection=connection: kar.StackedCells(
                        [kar.LSTMCell(4), kar.LSTMCell(4)], connection=connection
                    ),
                    partial(ref.stacked, two_lstms, connection=connection),
                )
                for connection in (None, "skip", "residual")
            },
            "of_sizes": (
                lambda: kar.StackedCells([kar.ElmanCell(3), kar.LSTMCell(5), kar.GRUCell(4)]),
                partial(ref.stacked, [(ref.elman, 1), (ref.lstm, 2), (ref.gru, 1)]),
            ),
        },
    ),
}


def pair(option):
    return option if isinstance(option, tuple) else (option, None)


CELLS = {name: row.make for name, row in CELL_ROWS.items()}
# Further ways to make these cells: what Keras does around a cell is not tried again.
OPTIONS = {name: pair(option)[0] for row in CELL_ROWS.values() for name, option in row.options.items()}


def references(decides):
    """Returns the pairs `(make, reference)` of the cells that decide, or of the others, by name."""
    found = {}
    for name, row in CELL_ROWS.items():
        if row.decides == decides:
            ways = {name: (row.make, row.reference), **{key: pair(option) for key, option in row.options.items()}}
            ways |= {f"{name}/{key}": way for key, way in row.equations.items()}
            found |= {key: way for key, way in ways.items() if way[1] is not None}
    return found


def policy(size):
    return keras.Sequential([keras.layers.Dense(2, activation="relu"), keras.layers.Dense(size)])


# A layer of Keras or of ours: it must conform, and has a frozen file. A named layer of one argument needs no line.
LAYERS = {
    option_name(cls.__name__): partial(cls, 4)
    for cls in PUBLIC
    if issubclass(cls, CellLayer) and cls.__module__.startswith("keras_adaptive_rnn.")
} | {
    "rnn": lambda: kar.RNN(kar.ElmanCell(4), return_sequences=True),
    "mogrifier": lambda: kar.Mogrifier(4, rank=2, dropout=0.2),
    "multiplicative_lstm": lambda: kar.MultiplicativeLSTM(4, return_sequences=True),
    "hyper_lstm": lambda: kar.HyperLSTM(4, hyper_units=3),
    "low_rank_gru": lambda: kar.LowRankGRU(4, rank=2),
    "low_rank_lstm": lambda: kar.LowRankLSTM(4, rank=2, return_sequences=True),
    "recurrent_highway": lambda: kar.RecurrentHighway(4, depth=2),
    "grid_lstm": lambda: kar.GridLSTM(4, depth=2, tied=True),
    "deep_rnn": lambda: kar.DeepRNN(4, depth=4),
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
    "highway_wider": lambda: kar.Highway(6, coupled=False),
    "highway_narrower": lambda: kar.Highway(3, rank=2),
    "adaptive_io": lambda: kar.AdaptiveDense(3, policy="glu"),
    "adaptive_input": lambda: kar.AdaptiveDense(3, "input", policy="tanh", rank=2, kernel_regularizer="l2"),
    "adaptive_output": lambda: kar.AdaptiveDense(3, "output", activation="belu", use_bias=False),
    "adaptive_sva": lambda: kar.AdaptiveDense(3, "sva", policy=policy(3 + 3)),
    "adaptive_blocks": lambda: kar.AdaptiveDense(3, [5, 2], policy="relu", bias_initializer="ones"),
    "mixture_of_softmaxes": lambda: kar.MixtureOfSoftmaxes(2, 5, dropout=0.2),
}


def language_model():
    """Predicts each next token with the embeddings that read it."""
    embedding = kar.TiedEmbedding(9, 3, word_dropout=0.2)
    inputs = keras.Input((None,), dtype="int32")
    raw = kar.LSTM(4, return_sequences=True)(embedding(inputs))
    x = kar.ActivationRegularization()(keras.layers.SpatialDropout1D(0.2)(raw), raw)
    return keras.Model(inputs, kar.MixtureOfSoftmaxes(2, embedding)(x))


def rewriting_model():
    """Writes each next token of a text, which it generates or copies; the last two can only be copied."""
    inputs = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(9, 3, mask_zero=True)(inputs)
    encoded, last = kar.GRU(4, return_sequences=True, return_state=True)(x)
    states = kar.GRU(4, return_sequences=True)(x, initial_state=last)
    return keras.Model(inputs, kar.PointerGenerator(3, 7, oov_words=2)(states, encoded, inputs, x))


def image_model():
    """Draws an image of the words of a text, and reads it."""
    inputs = keras.Input((None,), dtype="int32")
    x = keras.layers.GlobalAveragePooling1D()(keras.layers.Embedding(9, 3)(inputs))
    image = keras.layers.Reshape((3, 2, 4))(keras.layers.Dense(24)(x))
    return keras.Model(inputs, kar.layers.MultidimensionalGridLSTM(4, depth=2, dropout=0.2)(image))


def reinforced_model():
    """Draws in training which words to skim."""
    cells = kar.GRUCell(4), kar.GRUCell(2)
    inputs = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(9, 3, mask_zero=True)(inputs)
    x = kar.layers.Skim(*cells, estimator="reinforce", skim_loss=0.1)(x)
    return kar.models.Reinforce(keras.Model(inputs, keras.layers.Dense(2)(x)))


# Models that read tokens below 9: each has a frozen file, and its file loads on every backend.
MODELS = {
    "language_model": language_model,
    "rewriting_model": rewriting_model,
    "image_model": image_model,
    "reinforced_model": reinforced_model,
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
