"""Cells that decide how much to compute: equations, estimators, losses, decisions, and numbers that are annealed."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import engine
from keras_adaptive_rnn.callbacks import Annealing
from keras_adaptive_rnn.cells.bases.adaptive_computation import cond_rows
from keras_adaptive_rnn.loop.cell_runner import CellRunner
from keras_adaptive_rnn.testing import given_noise
from tests import reference as ref
from tests import reference_deciding as deciding
from tests.table import references
from tests.test_reference import close, randomized, single

ROWS = references(decides=True)
KEYS = np.array([[5, 77], [1_000_003, 2**30 + 5], [2**31 - 5, 12345], [99, 3]], dtype="int32")


def prepare(name, rng):
    """Returns a built cell with random weights, the same by name, inputs, states and the step."""
    make, step = ROWS[name]
    cell = make()
    cell.build((None, 3))
    w = randomized(cell, rng)
    for number in getattr(cell, "scheduled_names", ()):
        cell.set_value(number, 0.7)
        w[number] = np.float64(np.float32(0.7))
    if isinstance(cell, kar.SkimCell):
        w["small_sizes"] = [*np.atleast_1d(cell.small_cell.state_size)]
    own = {kar.SkipCell: [1, 1], kar.SkimCell: [3]}.get(type(cell), [])
    states = [rng.normal(size=(4, size)) for size in cell.state_size[: len(cell.state_size) - len(own)]]
    if own == [1, 1]:
        # As a step has made them.
        increment = deciding.sigmoid(deciding.affine(w, states[cell.memory_index]))
        states += [increment, rng.uniform(0.0, 0.5, size=(4, 1))]
    elif own:
        states.append(np.array([[0.0, 1.0, 0.0]] * 4))
    return cell, w, rng.normal(size=(4, 5, 3)), states, step


def options_of(cell, training, choose=None):
    options = {} if choose is None else {"choose": choose}
    if isinstance(cell, kar.SkimCell):
        return {**options, "keys": KEYS if training else None}
    return {**options, "training": training} if isinstance(cell, kar.VariableComputationCell) else options


def run(step, w, x, states, **options):
    """Returns outputs and decisions of all steps, and the last states."""
    outputs, decisions = [], []
    for t in range(x.shape[1]):
        output, states, decision = step(w, x[:, t], states, **options)
        outputs.append(output)
        decisions.append(decision)
    return np.stack(outputs, axis=1), np.concatenate(decisions, axis=1), states


@pytest.mark.parametrize(
    ("name", "training"),
    [
        *((name, False) for name in ROWS),
        *((name, True) for name in ("skim", "variable_computation/rnn", "variable_computation/gru")),
    ],
)
def test_cell_is_its_equations_and_its_gradient_the_estimator(name, training, rng):
    cell, w, x, states, step = prepare(name, rng)
    layer = kar.RNN(cell, return_sequences=True, return_state=True, return_decisions=True)
    surrogate = deciding.Surrogate()
    expected = run(step, w, x, states, **options_of(cell, training, surrogate))
    surrogate.freeze()
    R, S = rng.normal(size=expected[0].shape), rng.normal(size=expected[1].shape)
    R_, S_ = (ops.convert_to_tensor(array) for array in single([R, S]))

    def loss(x):
        outputs, *last, decisions = layer(x, initial_state=single(states), training=training)
        seen[:] = [outputs, decisions, *last]
        return ops.sum(outputs * R_) + ops.sum(decisions * S_)

    seen = []
    with given_noise(cell, **({"skim": KEYS} if isinstance(cell, kar.SkimCell) else {})):
        loss(ops.convert_to_tensor(*single([x])))
        for k, (ours, theirs) in enumerate(zip(seen, [*expected[:2], *expected[2]], strict=True)):
            close(ours, theirs, f"outputs, decisions, states: {k}")
        _, by_variable, by_tensor = engine.gradients(loss, cell.trainable_variables, single([x]))

    def smooth(**changed):
        surrogate.freeze()
        outputs, decisions, _ = run(step, {**w, **changed}, changed.get("x", x), states, **options)
        return (outputs * R).sum() + (decisions * S).sum()

    options = options_of(cell, training, surrogate)
    names = list(w)[: len(cell.weights)]
    trained = [n for n in names if n not in ("temperature", "sharpness")]
    for n, gradient in zip([*trained, "x"], [*by_variable, *by_tensor], strict=True):
        # Along a random direction, by central differences.
        base = x if n == "x" else w[n]
        direction = rng.normal(size=base.shape)
        slope = (smooth(**{n: base + 1e-6 * direction}) - smooth(**{n: base - 1e-6 * direction})) / 2e-6
        ours = 0.0 if gradient is None else (gradient * direction).sum()
        np.testing.assert_allclose(ours, slope, rtol=2e-4, atol=2e-4, err_msg=n)


def test_skip_is_the_recursion_of_the_paper(rng):
    cell, w, x, _, _ = prepare("skip/lstm", rng)
    w["decision_bias"] -= 1.0
    cell.decision_bias.assign(w["decision_bias"])
    outputs, decisions = kar.RNN(cell, return_sequences=True, return_decisions=True)(*single([x]))
    s, p = [np.zeros((4, 3))] * 2, np.ones((4, 1))
    for t in range(5):
        s, p, u = deciding.skip_paper(ref.lstm, w, x[:, t], s, p, memory=1)
        close(outputs[:, t], s[0], f"step {t}")
        close(decisions[:, t : t + 1], u, f"gate {t}")
    assert 0 < np.mean(ops.convert_to_numpy(decisions)) < 1


def test_a_state_says_how_many_steps_will_be_skipped(rng):
    cell = kar.SkipCell(kar.GRUCell(3), update_bias=-2.0)
    layer = kar.RNN(cell, return_decisions=True, return_state=True)
    _, *states, _ = layer(*single([rng.normal(size=(6, 3, 2))]))
    waiting = ops.convert_to_numpy(cell.skipped_steps(states))[:, 0]
    *_, decisions = layer(*single([rng.normal(size=(6, 30, 2))]), initial_state=states)
    np.testing.assert_array_equal(waiting, ops.convert_to_numpy(decisions).argmax(axis=1))
    assert waiting.max() > 1


def test_the_choice_of_a_half_is_to_skip():
    cell = kar.SkipCell(kar.GRUCell(2))
    layer = kar.RNN(cell, return_decisions=True)
    states = single([np.zeros((2, 2)), np.array([[0.25], [0.250001]]), np.array([[0.25], [0.25]])])
    _, decisions = layer(np.ones((2, 1, 3), "float32"), initial_state=states)
    np.testing.assert_array_equal(ops.convert_to_numpy(decisions), [[0], [1]])


# What the layer does with the decisions.

LOSSES = {
    "skip": (lambda: kar.SkipCell(kar.LSTMCell(3), update_bias=-1.0, cost_weight=0.5), lambda d, n: 0.5 * d.sum(1)),
    "variable": (
        lambda: kar.VariableComputationCell(8, cost_weight=2.0, target=0.9, decision_initializer="zeros"),
        # Zero weights: half of the dimensions in every step.
        lambda d, n: np.where(n > 0, 2.0 * (0.9 - 0.5), 0.0),
    ),
    "skim": (
        lambda: kar.SkimCell(kar.GRUCell(3), kar.GRUCell(2), skim_loss=3.0, decision_initializer="zeros"),
        lambda d, n: np.where(n > 0, 3.0 * np.log(2.0), 0.0),
    ),
    "two_inside_others": (
        lambda: kar.ZoneoutCell(
            cell=kar.StackedCells([kar.MogrifierCell(cell=LOSSES["skip"][0]()), LOSSES["skip"][0]()])
        ),
        lambda d, n: 0.5 * d.sum(1),
    ),
}


@pytest.mark.parametrize(("name", "backwards"), [*((name, False) for name in LOSSES), ("skip", True)])
def test_the_layer_adds_the_loss_once_and_masked_steps_cost_nothing(name, backwards, rng):
    make, cost = LOSSES[name]
    x, mask = single([rng.normal(size=(4, 6, 3))])[0], rng.random((4, 6)) < 0.6
    mask[0] = False
    layer = kar.RNN(make(), return_decisions=True, go_backwards=backwards, zero_output_for_mask=True)
    layer.build(x.shape)
    for cell in layer.runner.deciding:
        if isinstance(cell, kar.SkipCell):
            cell.decision_kernel.assign(rng.normal(size=cell.decision_kernel.shape))
    _, *decisions = [ops.convert_to_numpy(t) for t in layer(x, mask=mask)]
    seen = mask[:, ::-1] if backwards else mask
    assert all((d[~seen] == 0).all() and d[seen].any() for d in decisions)
    expected = sum(cost(d, mask.sum(1)) for d in decisions)
    (loss,) = layer.losses
    close(loss, expected.mean())


@pytest.mark.parametrize("name", ["skip", "skim"])
def test_fit_minimises_it(name, rng):
    layer = kar.layers.RNN(LOSSES[name][0]())
    model = keras.Sequential([keras.Input((6, 3)), keras.layers.Masking(), layer, keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.05), "mse", metrics=["mse"])
    x, y = rng.normal(size=(8, 6, 3)), rng.normal(size=(8, 1))
    logs = model.fit(x, y, batch_size=8, epochs=12, verbose=0).history
    added = np.array(logs["loss"]) - np.array(logs["mse"])
    assert added[0] > 0.01
    assert added[-1] < 0.9 * added[0]


def test_both_directions_add_their_losses(rng):
    layer = keras.layers.Bidirectional(kar.RNN(LOSSES["skip"][0](), return_state=True, return_decisions=True))
    outputs = layer(*single([rng.normal(size=(2, 4, 3))]))
    assert len(layer.losses) == 2
    forward, backward = outputs[5], outputs[10]
    assert tuple(forward.shape) == tuple(backward.shape) == (2, 4)


def test_decisions_of_a_functional_model_and_in_half_precision(rng):
    inputs = keras.Input((None, 3))
    cell = kar.SkipCell(kar.GRUCell(4, dtype="mixed_bfloat16"), cost_weight=1.0, dtype="mixed_bfloat16")
    layer = kar.RNN(cell, return_decisions=True, return_sequences=True, dtype="mixed_bfloat16")
    outputs = layer(keras.layers.Masking()(inputs))
    assert [tuple(t.shape) for t in outputs] == [(None, None, 4), (None, None)]
    assert {t.dtype for t in outputs} == {"bfloat16"}
    model = keras.Model(inputs, outputs)
    x = single([rng.normal(size=(2, 300, 3))])[0]
    _, decisions = model(x)
    # In bfloat16 the sum of 300 ones would be 256.
    close(layer.losses[0], ops.convert_to_numpy(ops.cast(decisions, "float32")).sum() / 2)
    assert ops.convert_to_numpy(layer.losses[0]) > 256


def test_nothing_is_collected_where_nobody_asks(rng):
    cell = kar.SkipCell(kar.GRUCell(3))
    layer = kar.RNN(cell)
    layer(*single([rng.normal(size=(2, 4, 3))]))
    assert layer.losses == []


# What is left out in inference, without changing a number.

SAVING = {
    "skip": lambda: kar.SkipCell(kar.LSTMCell(3), update_bias=-1.0, decision_initializer="orthogonal"),
    "skip_inside": lambda: kar.StackedCells([kar.SkipCell(kar.GRUCell(3), update_bias=-1.0), kar.GRUCell(2)]),
    "skim": lambda: kar.SkimCell(kar.LSTMCell(8), kar.LSTMCell(2), decision_initializer="orthogonal"),
    "skim_by_slstm": lambda: kar.SkimCell(kar.GRUCell(4), kar.SLSTMCell(2), decision_initializer="orthogonal"),
    "variable_rnn": lambda: kar.VariableComputationCell(8, decision_initializer="orthogonal"),
    "variable_gru": lambda: kar.VariableComputationCell(
        7, core="gru", kernel_map=kar.maps.LowRank(2), recurrent_map=kar.maps.LowRank(3, diagonal=True)
    ),
}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *((name, {"return_sequences": True}) for name in SAVING),
        ("skip", {"zero_output_for_mask": True, "go_backwards": True}),
        ("skip", {"return_sequences": True, "zero_output_for_mask": True, "return_decisions": False}),
        ("skim", {"go_backwards": True, "return_decisions": False}),
    ],
)
def test_inference_leaves_out_what_is_not_needed(name, options, rng, monkeypatch):
    layer = kar.RNN(SAVING[name](), **{"return_state": True, "return_decisions": True, **options})
    inputs = keras.Input((None, 5))
    model = keras.Model(inputs, layer(keras.layers.Masking()(inputs)))
    for weight in model.trainable_weights:
        weight.assign(weight + 0.5 * rng.normal(size=weight.shape))
    x = single([4 * rng.normal(size=(9, 12, 5))])[0]
    x[rng.random((9, 12)) < 0.3] = 0
    x[0] = 0

    short = [model.predict(x, batch_size=size, verbose=0) for size in (8, 1)]
    monkeypatch.setattr(CellRunner, "may_skip", lambda self, *args: False)
    model.predict_function = None
    whole = model.predict(x, verbose=0)
    for found in short:
        for ours, theirs in zip(found, whole, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    if layer.return_decisions:
        assert 0.1 < whole[-1][np.any(x != 0, axis=-1)].mean() < 0.9


@pytest.mark.parametrize("held", [False, True])
def test_initial_states_need_not_be_those_of_a_step(held, rng, monkeypatch):
    """An increment that the user gives counts in the first step only, unless it is held."""
    cell = kar.SkipCell(kar.GRUCell(3), update_bias=-1.0, held_increment=held)
    inputs = [keras.Input((None, 5)), *(keras.Input((size,)) for size in cell.state_size)]
    layer = kar.RNN(cell, return_sequences=True, return_state=True)
    model = keras.Model(inputs, layer(keras.layers.Masking()(inputs[0]), initial_state=inputs[1:]))
    x = rng.normal(size=(6, 8, 5))
    x[0], x[1, :3] = 0, 0
    increment, accumulated = [[0.2], [0.0], [0.1], [0.9], [0.3], [0.05]], [[0.3], [0.0], [0.1], [0.2], [-0.2], [0.42]]
    data = single([x, rng.normal(size=(6, 3)), np.array(increment), np.array(accumulated)])
    short = model.predict(data, verbose=0)
    monkeypatch.setattr(CellRunner, "may_skip", lambda self, *args: False)
    model.predict_function = None
    for ours, theirs in zip(short, model.predict(data, verbose=0), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("count", range(10))
def test_rows_are_computed_where_they_are_chosen(count, rng):
    chosen = rng.permutation(np.arange(9) < count)[:, None]
    a, b = single(rng.normal(size=(2, 9, 3)))
    computed = []

    def function(a, b):
        computed.append(a.shape[0])
        return [a * b]

    chosen_, a_, b_ = (ops.convert_to_tensor(array) for array in (chosen, a, b))
    (found,) = cond_rows(chosen_, function, lambda a, _: [a], [a_, b_])
    close(found, np.where(chosen, a * b, a))
    if keras.backend.backend() != "jax":
        # On JAX every branch is traced.
        assert computed == {0: [], 1: [3], 2: [3], 3: [3], 4: [5], 5: [5], 6: [7], 7: [7]}.get(count, [9])


# The parts of a step that a faster loop calls by themselves.


@pytest.mark.parametrize("bias", [30.0, -30.0])
def test_reading_and_skimming_are_the_step(bias, rng):
    cell, _, x, states, _ = prepare("skim", rng)
    cell.decision_bias.assign([bias, -bias])
    x, states = ops.convert_to_tensor(*single([x[:, 0]])), [ops.convert_to_tensor(s) for s in single(states)]
    run = kar.cells.Run()
    parts = cell.read(x, states, run) if bias > 0 else cell.skim(x, states, run)
    for ours, theirs in zip(cell(x, states)[1], parts, strict=True):
        close(ours, ops.convert_to_numpy(theirs))


def test_gumbel_noise_is_repeatable_and_new_in_each_step_and_batch():
    def draws():
        cell = kar.SkimCell(kar.GRUCell(3), kar.GRUCell(2), seed=3, decision_initializer="zeros")
        layer = kar.RNN(cell, return_decisions=True)
        x = np.zeros((2, 6, 3), "float32")
        return [ops.convert_to_numpy(layer(x, training=True)[1]) for _ in range(2)]

    first, again = draws(), draws()
    np.testing.assert_array_equal(first, again)
    assert len(np.unique(first)) == np.size(first)


# Annealing.


def test_compiled_training_sees_the_annealed_number(rng):
    cell = kar.VariableComputationCell(6)
    model = keras.Sequential([keras.Input((4, 3)), kar.RNN(cell)])
    model.compile(keras.optimizers.SGD(0.0), "mse")
    x, y = single([rng.normal(size=(4, 4, 3)), rng.normal(size=(4, 6))])
    values = [0.1, 1.0, 10.0]
    annealing = Annealing("sharpness", lambda epoch: values[epoch])
    logs = model.fit(x, y, batch_size=4, epochs=3, verbose=0, callbacks=[annealing]).history
    np.testing.assert_allclose(logs["sharpness"], values, rtol=1e-6)
    for value, loss in zip(values, logs["loss"], strict=True):
        cell.set_value("sharpness", value)
        np.testing.assert_allclose(np.mean((ops.convert_to_numpy(model(x, training=True)) - y) ** 2), loss, rtol=1e-5)
    assert len(set(np.round(logs["loss"], 5))) == 3


def test_a_run_goes_on_where_it_stopped(rng, tmp_path):
    x, y = single([rng.normal(size=(4, 3, 2)), rng.normal(size=(4, 3))])
    annealing = Annealing("sharpness", keras.optimizers.schedules.ExponentialDecay(1.0, 1, 0.5))
    fit = {"batch_size": 4, "verbose": 0, "callbacks": [annealing]}
    model = keras.Sequential([keras.Input((3, 2)), kar.layers.VariableComputation(3)])
    model.compile(keras.optimizers.SGD(0.1), "mse")
    model.fit(x, y, epochs=2, **fit)
    model.save(tmp_path / "model.keras")
    model.fit(x, y, epochs=4, initial_epoch=2, **fit)
    loaded = keras.models.load_model(tmp_path / "model.keras")
    close(loaded.layers[0].cell.scheduled_values["sharpness"], 0.5)
    loaded.fit(x, y, epochs=4, initial_epoch=2, **fit)
    for a, b in zip(model.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7)
