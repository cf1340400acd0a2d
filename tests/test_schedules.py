"""A deep cell computes the same with every schedule."""

import keras
import numpy as np
import pytest
from keras import ops, tree

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import engine
from keras_adaptive_rnn.engine import tuning
from keras_adaptive_rnn.loop import layer_by_layer, layer_stack
from keras_adaptive_rnn.testing.case import Case
from tests.backends import alternating, dealt, in_turns, one_in
from tests.table import CELL_ROWS, CELLS, OPTIONS

pytestmark = alternating

X = np.ones((2, 5, 4), "float32")
MASK = np.array([[True] * 7, [False, True, False, True, True, False, False]])


def stack(make, depth=3, **kwargs):
    return kar.StackedCells([make() for _ in range(depth)], **kwargs)


# The cells, and whether the sequences have a mask.
ROWS = {
    "deep_rnn": (
        lambda: kar.DeepRNNCell(
            4, depth=5, skip_every=2, dropout=0.2, recurrent_dropout=0.3, block_dropout=0.5, use_bias=False, seed=1
        ),
        True,
    ),
    "deep_rnn_other_inputs": (
        lambda: kar.DeepRNNCell(
            6,
            depth=3,
            skip_every=2,
            block_dropout=0.5,
            activation="tanh",
            kernel_map=kar.maps.LowRank(2, tied=True),
            recurrent_map=kar.maps.LowRank(2, diagonal=True),
            seed=1,
        ),
        False,
    ),
    "gru_skip": (
        lambda: stack(
            lambda: kar.GRUCell(5, trainable_initial_state=True, dropout=0.2, recurrent_dropout=0.3, seed=1),
            connection="skip",
        ),
        True,
    ),
    "zoneout_residual": (
        lambda: stack(lambda: kar.ZoneoutCell(4, core="elman", zoneout=0.4, seed=1), connection="residual"),
        True,
    ),
    "mogrifier": (lambda: stack(lambda: kar.MogrifierCell(4, rounds=2, rank=2)), True),
    "blocks_of_maps": (
        lambda: stack(
            lambda: kar.LSTMCell(
                4,
                kernel_map=kar.maps.LowRank(2, diagonal=True),
                recurrent_map=kar.maps.LowRank(2, diagonal=True),
                per_gate_dropout=True,
                recurrent_dropout=0.3,
                seed=1,
            )
        ),
        False,
    ),
    "low_rank_blocks": (
        lambda: stack(
            lambda: kar.GRUCell(
                4, kernel_map=kar.maps.LowRank(2, diagonal=True), recurrent_map=kar.maps.LowRank(2, diagonal=True)
            )
        ),
        False,
    ),
    "adaptive": (lambda: stack(lambda: kar.AdaptiveLSTMCell(4, policy_units=2, tied=False)), False),
    "recurrent_highway": (lambda: stack(lambda: kar.RecurrentHighwayCell(4, depth=2)), False),
    "projected": (lambda: stack(lambda: kar.LSTMCell(4, projection_units=2)), False),
}
# Every cell whose stacks can run layer by layer.
EQUATIONS = {f"{name}/{key}": make for name, row in CELL_ROWS.items() for key, (make, _) in row.equations.items()}
EVERY = {name: make for name, make in (CELLS | OPTIONS | EQUATIONS).items() if layer_by_layer.stack_depth(stack(make))}
# Those with weights that are in no map, such as those of a layer normalisation.
REFUSED = {
    *("stack_skip", "gru_reset_before", "lstm_tied_projected", "mogrifier_around_keras", "lstm/normalised"),
    *("mogrifier_low_rank/normalised", "rg_lru", "rg_lru/blocks", "adaptive_linear/rg_lru"),
    *("gated_delta_net", "gated_delta_net/negative", "gated_delta_net/scaled", "hyper_lstm_normalized", "reset_keras"),
}


def outcome(make, mask, **kwargs):
    keras.utils.set_random_seed(1)
    case = Case(make(), (2, 7, 4))
    layer = case.layer(kar.RNN, **kwargs)
    assert layer.running_schedule(2) == kwargs["schedule"]
    weights = ops.convert_to_tensor(np.random.default_rng(2).normal(size=(2, 7, case.output_size)).astype("float32"))

    def loss(inputs, *states):
        outputs, *last = layer(inputs, initial_state=list(states), mask=mask, training=True)
        return ops.sum(outputs * weights) + sum(ops.sum(ops.square(s)) for s in tree.flatten(last))

    value, by_variable, by_tensor = engine.gradients(
        loss, layer.trainable_variables, [case.inputs, *case.states], compiled=True
    )
    return [value, *(np.float32(0) if g is None else g for g in (*by_variable, *by_tensor))]


def agree(by_step, *others):
    for other in others:
        for a, b in zip(by_step, other, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-4, atol=1e-5 * max(1, np.abs(a).max()))


@in_turns
@pytest.mark.parametrize("name", one_in(2, EVERY))
def test_every_cell_runs_layer_by_layer_or_is_refused(name):
    def results(schedule):
        keras.utils.set_random_seed(1)
        case = Case(stack(EVERY[name]), (2, 4, 4))
        return case.run(case.layer(kar.RNN, schedule=schedule), states=case.states, training=True)

    by_step = results("steps")
    for schedule in ("layers", "wavefront"):
        if name in REFUSED:
            with pytest.raises(ValueError, match="`schedule` must be one of 'auto', 'steps'"):
                results(schedule)
        else:
            agree(by_step, results(schedule))


@pytest.mark.parametrize("name", dealt(ROWS))
def test_the_schedule_changes_no_number(name, monkeypatch):
    # The gradients of weights as small as these would be formed step by step.
    monkeypatch.setattr(tuning, "DEFERRED_GRADIENT_ENTRIES", 0)
    monkeypatch.setattr(tuning, "BATCHED_GRADIENT_ENTRIES", 0)
    make, masked = ROWS[name]
    mask = MASK if masked else None
    kwargs = {"go_backwards": True, "zero_output_for_mask": True} if masked else {}
    agree(*(outcome(make, mask, schedule=schedule, **kwargs) for schedule in ("steps", "layers", "wavefront")))


def test_a_list_of_units_makes_a_stack(tmp_path):
    layer = kar.Elman(
        [4] * 3, connection="residual", seed=3, kernel_map=kar.maps.LowRank(2), return_state=True, schedule="layers"
    )
    x, states = X[:, :, :3], [np.full((2, 4), k / 4, "float32") for k in range(4)]

    def run(layer):
        return [ops.convert_to_numpy(t) for t in layer(x, initial_state=states, mask=MASK[:, :5])]

    outcome = run(layer)
    assert layer.running_schedule(2) == "layers"
    assert (layer.units, layer.connection, layer.recurrent_dropout) == ([4, 4, 4], "residual", 0)
    cells = layer.cell.cells
    assert cells[0].seed == 3
    assert len({cell.seed for cell in cells}) == 3
    assert len({id(cell.kernel_map) for cell in cells}) == 3
    assert np.abs(ops.convert_to_numpy(cells[1].weights[0]) - ops.convert_to_numpy(cells[2].weights[0])).max() > 0.01
    model = keras.Sequential([keras.Input((5, 3)), layer])
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras").layers[0]
    assert again.get_config() == layer.get_config()
    again.schedule = "steps"
    for a, b in zip(outcome, run(again), strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-5, atol=1e-6)


def test_auto_picks_the_fastest_schedule():
    deep, wide = kar.DeepRNN(4, depth=12), kar.DeepRNN(512, depth=3)
    deep.build((2, 5, 4))
    wide.build((2, 5, 4))
    torch, tensorflow = (keras.backend.backend() == name for name in ("torch", "tensorflow"))
    assert deep.running_schedule(2) == ("wavefront" if torch else "layers")
    assert deep.running_schedule(100_000) == "layers"
    assert wide.running_schedule(2) == ("steps" if tensorflow else "layers")
    shallow = kar.DeepRNN(4, depth=3)
    shallow.build((2, 5, 4))
    assert shallow.running_schedule(2, training=False) == ("layers" if keras.backend.backend() == "jax" else "steps")
    assert kar.DeepRNN(4, depth=12, recompute=True).running_schedule(2) == "steps"


def test_unequal_cells_run_step_by_step():
    layer = kar.LSTM([4, 5, 4])
    layer.build((2, 5, 3))
    assert layer.running_schedule(2) == "steps"
    assert layer.units == [4, 5, 4]
    assert tuple(layer(np.ones((2, 5, 3), "float32")).shape) == (2, 4)
    assert kar.LSTM([4]).units == [4]
    assert kar.LSTM(4).units == 4


@pytest.mark.parametrize(
    "other", ["tanh", {"use_bias": False}, {"dtype": "mixed_bfloat16"}, {"layer_normalization": True}]
)
def test_what_keeps_cells_from_being_alike(other):
    # The first is another function of the same name.
    other = {"activation": lambda x: ops.tanh(x)} if other == "tanh" else other
    cells = [kar.ElmanCell(4), kar.ElmanCell(4), kar.ElmanCell(4, **other)]
    layer = kar.RNN(kar.StackedCells(cells))
    layer.build((2, 5, 4))
    assert layer.running_schedule(2) == "steps"


def test_a_layer_declares_that_its_stack_repeats_one_cell(monkeypatch):
    monkeypatch.setattr(layer_stack, "_equations", None)
    layer = kar.LSTM([4] * 3)
    layer.build((2, 5, 4))
    assert layer_by_layer.stack_depth(layer.cell) == 3
    assert not kar.LSTM([4, 4, 5]).cell.repeats
    with pytest.raises(TypeError):
        layer_by_layer.stack_depth(stack(lambda: kar.LSTMCell(4)))


@pytest.mark.skipif(keras.backend.backend() == "torch", reason="nothing is compiled")
@pytest.mark.parametrize("schedule", ["layers", "wavefront"])
def test_all_layers_compile_as_one(schedule):
    def traced(depth):
        calls = []

        def activation(x):
            calls.append(x)
            return ops.tanh(x)

        layer = kar.DeepRNN(4, depth=depth, activation=activation, schedule=schedule)
        layer.build((2, 5, 4))
        engine.gradients(lambda x: ops.sum(layer(x, training=True)), layer.trainable_variables, [X], compiled=True)
        return len(calls)

    assert traced(depth=9) == traced(depth=4)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: kar.LSTM(4, schedule="layers"), ValueError, ["`schedule`", "'auto', 'steps'", "'layers'"]),
        (lambda: kar.LSTM(4, schedule="waves"), ValueError, ["`schedule`", "'waves'", "wavefront"]),
        (lambda: kar.LSTM([4] * 3, schedule="wavefront", unroll=True), ValueError, ["`schedule`", "unroll=True"]),
        (lambda: kar.LSTM([4] * 3, schedule="layers", recompute=True), ValueError, ["`schedule`", "'wavefront'"]),
        (lambda: kar.Mogrifier([]), ValueError, ["`units`", "[]"]),
        (lambda: kar.Mogrifier([4, "a"]), TypeError, ["`units`", "'a'"]),
        (lambda: kar.Mogrifier(4, connection="skip"), ValueError, ["`connection`", "'skip'", "units=4"]),
        (lambda: kar.Mogrifier([4, 4], connection="hop"), ValueError, ["`connection`", "'hop'", "residual"]),
        (lambda: kar.Mogrifier([4, 5], connection="skip"), ValueError, ["`connection`", "[4, 5]"]),
        (lambda: kar.AdaptiveLSTM([4, 4], policy_units=2, connection="skip"), TypeError, ["`connection`"]),
    ],
)
def test_bad_stacks(make, error, words):
    with pytest.raises(error) as caught:
        make()
    assert all(word in str(caught.value) for word in words), caught.value
