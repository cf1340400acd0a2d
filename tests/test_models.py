"""The models: what they read, what trains them, and what they cost."""

import concurrent.futures
import gc
import inspect
import threading
import weakref

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from examples import synthetic
from keras_adaptive_rnn.models import jumping
from tests.backends import in_turns

pytestmark = in_turns

SIZES = {"vocabulary_size": 9, "embedding_units": 3, "classes": 2, "units": 4}
JUMPS = {**SIZES, "read": 2, "max_jump": 4, "max_jumps": 2}


# TensorFlow compiles by XLA if it may, and takes far longer over that than these few steps need. One test lets it.
JIT = keras.backend.backend() == "jax"


def numpy(x):
    return np.array(ops.convert_to_numpy(ops.stop_gradient(x)))


# LSTM-Jump: the reading.


def positions_read(tokens, jumps, read, max_jumps):
    """The rule of the paper for one row: which positions are read, and how many of the jumps are taken."""
    present = np.flatnonzero(tokens)
    if len(present) == 0:
        return [], 0
    now, last, taken, positions = present[0], present[-1], 0, []
    while True:
        positions += [p for p in range(now, now + read) if p <= last and tokens[p] != 0]
        now += read
        if now > last or taken == max_jumps:
            return positions, taken
        jump, taken = jumps[taken], taken + 1
        if jump == 0 or now + jump - 1 > last:
            return positions, taken
        now += jump - 1


def padded_tokens(rng):
    """Rows with padding at either end, between the tokens, and nothing but padding."""
    tokens = rng.integers(1, 9, size=(16, 13))
    for row, (begin, end) in enumerate(rng.integers(0, 6, size=(16, 2))):
        tokens[row, :begin] = tokens[row, 13 - end :] = 0
    tokens[0], tokens[1, 5], tokens[2, 1:] = 0, 0, 0
    return tokens


def force(model, jumps):
    """Makes a model take the given jumps, `[batch, draws]`."""
    noise = 1e6 * np.eye(model.max_jump + 1, dtype="float32")[jumps]
    model._noise = lambda batch_size, draws, training: ops.convert_to_tensor(noise[:, :draws])


@pytest.mark.parametrize(("read", "max_jumps"), [(1, 5), (3, 2), (20, 1)])
def test_jumps_are_those_of_the_paper(rng, read, max_jumps):
    model = kar.models.LSTMJump(**{**JUMPS, "read": read, "max_jumps": max_jumps})
    tokens, jumps = padded_tokens(rng), rng.integers(0, 5, size=(16, max_jumps))
    force(model, jumps)
    reading = model.read_positions(tokens)
    outputs = model.predict(tokens, verbose=0)
    lstm = kar.RNN(model.cell)
    for row in range(16):
        positions, taken = positions_read(tokens[row], jumps[row], read, max_jumps)
        assert np.flatnonzero(reading.positions[row]).tolist() == positions
        assert reading.counts[row] == len(positions)
        drawn = reading.jumps[row]
        assert drawn[drawn >= 0].tolist() == jumps[row, :taken].tolist()
    # The output depends on the tokens that are read, and on no others.
    for row in range(3):
        (positions,) = np.nonzero(reading.positions[row])
        h = lstm(model.embedding(tokens[row : row + 1, positions])) if len(positions) else np.zeros((1, 4))
        expected = numpy(ops.softmax(model.classifier(h)))[0]
        np.testing.assert_allclose(outputs[row], expected, rtol=1e-5, atol=1e-6)


def test_greedy_and_sampled_jumps(rng):
    tokens = rng.integers(1, 9, size=(200, 8))
    for inference, shares in (("greedy", [0.0, 1.0]), ("sample", [0.25, 0.75])):
        model = kar.models.LSTMJump(**{**JUMPS, "max_jump": 1, "inference": inference, "seed": 3})
        model.build(tokens.shape)
        model.jump.set_weights([np.zeros((4, 2)), np.log([0.25, 0.75])])
        first = model.read_positions(tokens, batch_size=200).jumps[:, 0]
        np.testing.assert_allclose(np.bincount(first, minlength=2) / 200, shares, atol=0.08)


def test_a_mask_is_padding(rng):
    model = kar.models.LSTMJump(**JUMPS)
    tokens = rng.integers(1, 9, size=(3, 9))
    mask = np.arange(9) < [[9], [5], [2]]
    np.testing.assert_allclose(numpy(model(tokens, mask=mask)), numpy(model(tokens * mask)), rtol=1e-6)


def test_the_noise_of_the_cell_is_that_of_the_path(rng):
    """The gradient is that of the reading that was drawn: cell and jumps see the same masks in both passes."""
    cell = kar.ZoneoutCell(cell=kar.LSTMCell(4, dropout=0.5, recurrent_dropout=0.5), zoneout=0.5)
    model = kar.models.LSTMJump(**{**JUMPS, "units": None, "cell": cell})
    seen = []
    find, follow = model._find_path, model._follow
    model._find_path = lambda *args: seen.append(find(*args)) or seen[-1]
    model._follow = lambda *args: seen.append(follow(*args)) or seen[-1]
    model._episode = lambda *args: None
    model(rng.integers(1, 9, size=(5, 12)), training=True)
    path, outputs = seen
    np.testing.assert_allclose(numpy(outputs[-1]), numpy(path.states[0]), rtol=1e-5, atol=1e-6)


# LSTM-Jump: the loss.


def gradients(model, x, y):
    """Returns the gradient of a training step's loss, by the variable's identity."""

    def loss():
        return model.compute_loss(x=x, y=y, y_pred=model(x, training=True), training=True)

    _, by_variable, _ = kar.engine.gradients(loss, model.trainable_variables, [])
    return {id(v): g for v, g in zip(model.trainable_variables, by_variable, strict=True)}


def forced_model(rng, **options):
    keras.utils.set_random_seed(1)
    model = kar.models.LSTMJump(**JUMPS, **options)
    model.compile("sgd", "sparse_categorical_crossentropy")
    tokens, jumps = rng.integers(1, 9, size=(6, 10)), np.array([[0, 0], [1, 0], [2, 1], [4, 4], [1, 1], [3, 2]])
    force(model, jumps)
    model.build(tokens.shape)
    for weights in (model.jump, model.baseline):
        weights.set_weights([rng.normal(size=w.shape) for w in weights.get_weights()])
    return model, tokens, jumps, np.array([0, 1, 1, 0, 1, 0])


def test_the_gradient_is_that_of_reinforce(rng):
    model, tokens, jumps, y = forced_model(rng, policy_weight=0.7, baseline_weight=0.3)
    received = gradients(model, tokens, y)
    (W_a, b_a), (w_b, c_b) = model.jump.get_weights(), model.baseline.get_weights()
    expected = [np.zeros_like(w) for w in (W_a, b_a, w_b, c_b)]
    lstm = kar.RNN(model.cell)
    rewards = set()
    for row in range(6):
        positions, taken = positions_read(tokens[row], jumps[row], model.read, model.max_jumps)
        state = [numpy(lstm(model.embedding(tokens[row : row + 1, positions[:n]])))[0] for n in (2, 4, len(positions))]
        right = numpy(model.classifier(state[-1][None])).argmax() == y[row]
        reward = 1.0 if right else -1.0
        rewards.add(reward)
        for i in range(taken):
            p = np.exp(state[i] @ W_a + b_a)
            p /= p.sum()
            baseline = (state[i] @ w_b + c_b)[0]
            of_logits = -0.7 * (reward - baseline) * (np.eye(5)[jumps[row, i]] - p) / 6
            of_baseline = np.array([0.3 * 2 * (baseline - reward) / 6])
            for k, (outer, g) in enumerate([(1, of_logits), (0, of_logits), (1, of_baseline), (0, of_baseline)]):
                expected[k] += np.outer(state[i], g) if outer else g
    assert rewards == {-1.0, 1.0}
    for variable, gradient in zip([*model.jump.weights, *model.baseline.weights], expected, strict=True):
        np.testing.assert_allclose(received[id(variable)], gradient, rtol=1e-4, atol=1e-5)


def test_what_reaches_the_reader(rng):
    """The classes train it; the baseline never does; the reward does if asked to."""

    def reader(**options):
        model, tokens, _, y = forced_model(np.random.default_rng(0), **options)
        found = gradients(model, tokens, y)
        return np.concatenate([found[id(v)].ravel() for v in [*model.cell.weights, *model.embedding.weights]])

    classes_alone = reader(policy_weight=0.0, baseline_weight=0.0)
    np.testing.assert_allclose(reader(baseline_weight=5.0), classes_alone, rtol=1e-5, atol=1e-7)
    by_reward = reader(reward_trains_reader=True)
    assert np.abs(by_reward - classes_alone).max() > 1e-3
    other_baseline = reader(reward_trains_reader=True, baseline_weight=5.0)
    np.testing.assert_allclose(other_baseline, by_reward, rtol=1e-5, atol=1e-7)


def test_entropy_and_sample_weights(rng):
    model, tokens, _, y = forced_model(rng, entropy_weight=0.5)
    y_pred = model(tokens, training=True)
    episode = jumping.take_episode(model)
    jumping.keep_episode(model, episode, training=True)
    terms = numpy(model.surrogate(episode, ops.ones((6,))))
    model.entropy_weight = 0.0
    without = numpy(model.surrogate(episode, ops.ones((6,))))
    entropies = numpy(ops.sum(episode.drawn * episode.entropy, axis=1))
    np.testing.assert_allclose(without - terms, 0.5 * entropies, rtol=1e-4, atol=1e-5)
    assert (entropies <= 2 * np.log(5) + 1e-5).all()
    assert (entropies > 0).all()
    # A sample without weight is in no term.
    weight = np.array([1, 0, 0, 0, 0, 0], "float32")
    received = numpy(model.compute_loss(x=tokens, y=y, y_pred=y_pred, sample_weight=weight, training=True))
    crossed = -np.log(numpy(y_pred)[0, y[0]])
    reward = 1.0 if numpy(y_pred)[0].argmax() == y[0] else -1.0
    own = numpy(model.surrogate(episode, ops.full((6,), reward)))[0]
    np.testing.assert_allclose(received, (crossed + own) / 6, rtol=1e-4)


# LSTM-Jump: what passes from a call to its loss.


def in_thread(function):
    """Runs a function in a thread of its own and returns its result."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


def test_a_prediction_in_another_thread_leaves_the_loss_alone(rng):
    """Each thread has a call and a loss between the two of the other, in the order that used to lose a term."""
    model, tokens, _, y = forced_model(rng)

    def loss(between=lambda: None):
        y_pred = model(tokens, training=True)
        between()
        return float(numpy(model.compute_loss(x=tokens, y=y, y_pred=y_pred, training=True)))

    alone = loss()
    assert abs(alone - float(numpy(model.compute_loss(x=tokens, y=y, y_pred=model(tokens), training=True)))) > 1e-3
    assert loss(lambda: in_thread(lambda: model.predict(tokens, verbose=0))) == pytest.approx(alone, rel=1e-6)
    assert loss(lambda: in_thread(loss)) == pytest.approx(alone, rel=1e-6)
    # Nor does a prediction in the same thread.
    assert loss(lambda: model.predict(tokens, verbose=0)) == pytest.approx(alone, rel=1e-6)


@pytest.mark.skipif(keras.backend.backend() == "jax", reason="`fit` of Keras takes the variables away until it ends")
def test_predict_beside_fit():
    x, y = synthetic.number_prediction(400, length=6)

    def losses(beside):
        keras.utils.set_random_seed(0)
        model = jump_learner(units=4)
        model.compile("adam", "sparse_categorical_crossentropy", jit_compile=False)
        model.predict(x[:50], batch_size=50, verbose=0)
        stop = threading.Event()

        def predict():
            count = 0
            while not stop.is_set():
                model.predict(x[:50], batch_size=50, verbose=0)
                count += 1
            return count

        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            predictions = pool.submit(predict) if beside else None
            try:
                history = model.fit(x, y, 50, epochs=2, shuffle=False, verbose=0).history
            finally:
                stop.set()
            assert not beside or predictions.result() > 0
        return history

    alone, beside = losses(False), losses(True)
    assert set(alone) == {"loss", "tokens_read"}
    for name, values in alone.items():
        np.testing.assert_allclose(beside[name], values, rtol=1e-5)


def test_nothing_is_kept_after_predict_fit_and_evaluate(rng):
    model, tokens, _, y = forced_model(rng)
    model(tokens)
    model.predict(tokens, verbose=0)
    model.read_positions(tokens)
    assert jumping.take_episode(model) is None
    assert model.evaluate(tokens, y, verbose=0, return_dict=True)["tokens_read"] > 0
    assert model.fit(tokens, y, verbose=0).history["tokens_read"][0] > 0
    assert jumping.take_episode(model) is None


def test_an_episode_goes_with_its_model(rng):
    """A later model may have the `id` of one that is gone."""
    model, tokens, _, _ = forced_model(rng)
    model(tokens, training=True)
    assert jumping._EPISODES.get()
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None
    assert not jumping._EPISODES.get()


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="only JAX has tracers")
def test_no_tracer_leaks(rng):
    import jax

    model, tokens, _, y = forced_model(rng)
    with jax.checking_leaks():
        model.predict(tokens, verbose=0)
        model.evaluate(tokens, y, verbose=0)
        model.fit(tokens, y, verbose=0)


# LSTM-Jump: training.


def jump_learner(**options):
    sizes = {"vocabulary_size": 9, "embedding_units": 16, "classes": 5, "units": 32}
    return kar.models.LSTMJump(**{**sizes, "read": 1, "max_jump": 6, "max_jumps": 1, "seed": 1} | options)


def test_jumps_learn_where_the_answer_is(tmp_path):
    """The first of 6 tokens says where the answer is: chance is 0.2, and two tokens are all that can be read."""
    x, y = synthetic.number_prediction(6000, length=6)
    model = jump_learner()
    model.compile(keras.optimizers.Adam(0.02), "sparse_categorical_crossentropy", metrics=["accuracy"])
    history = model.fit(x[1000:], y[1000:], 100, epochs=4, verbose=0, validation_data=(x[:1000], y[:1000])).history
    assert history["val_accuracy"][-1] > 0.9
    assert history["val_tokens_read"][-1] <= 2
    assert {"tokens_read", "loss", "val_loss"} < set(history)
    reading = model.read_positions(x[:1000])
    assert (reading.jumps[:, 0] == x[:1000, 0]).mean() > 0.9

    # One loaded predicts alike, and trains on.
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    expected = model.predict(x[:100], verbose=0)
    np.testing.assert_allclose(loaded.predict(x[:100], verbose=0), expected, rtol=1e-6)
    np.testing.assert_allclose(expected.sum(axis=1), 1, rtol=1e-5)
    loss = loaded.evaluate(x[:1000], y[:1000], verbose=0, return_dict=True)["loss"]
    np.testing.assert_allclose(loss, history["val_loss"][-1], rtol=1e-3)


def test_the_same_seed_is_the_same_run_in_mixed_precision():
    x, y = synthetic.number_prediction(100, length=6)

    def trained(seed):
        keras.utils.set_random_seed(0)
        model = jump_learner(seed=seed, units=4, dtype="mixed_bfloat16")
        model.compile("adam", "categorical_crossentropy", jit_compile=JIT)
        assert np.isfinite(model.fit(x, np.eye(5)[y], 50, verbose=0, shuffle=False).history["loss"]).all()
        return model

    model, again = trained(1), trained(1)
    assert all((a == b).all() for a, b in zip(model.get_weights(), again.get_weights(), strict=True))
    other = jump_learner(seed=2)
    assert (numpy(jump_learner()._noise(4, 1, True)) != numpy(other._noise(4, 1, True))).any()
    skimming = kar.models.SkimOrRead(**SIZES, dtype="mixed_bfloat16")
    for made, tokens in ((model, x), (skimming, x[:8])):
        assert made.cell.compute_dtype == "bfloat16"
        assert made.predict(tokens, verbose=0).dtype == "float32"
        assert all(v.dtype == "float32" for v in made.trainable_variables)


# Skim or read.


def skim_or_read(**options):
    model = kar.models.SkimOrRead(**{**SIZES, "units": 8, "embedding_units": 8, "skim_units": 8} | options)
    model.compile(keras.optimizers.Adam(0.02), "sparse_categorical_crossentropy", metrics=["accuracy"], jit_compile=JIT)
    return model


def test_skim_or_read_learns_when_to_read():
    x, y, is_hard = synthetic.mixed_difficulty(2500, length=10, words=9)
    test, train = slice(0, 500), slice(500, None)
    model = skim_or_read()
    for phase, epochs in (("skim", 4), ("read", 8)):
        history = model.fit(x[train], y[train], 100, epochs, 0, validation_data=(x[test], y[test]), phases=[phase])
        assert set(history.history) == {f"{phase}_{name}" for name in ("loss", "accuracy", "val_loss", "val_accuracy")}
        assert len(history.history[f"{phase}_val_loss"]) == epochs

    curve = model.curve(x[test], y[test])
    of = [(m.predict(x[test], verbose=0).argmax(axis=1) == y[test]).mean() for m in (model.skimmer, model.reader)]
    assert (curve.accuracies[0], curve.accuracies[-1]) == pytest.approx(of)
    assert (curve.shares[0], curve.shares[-1]) == (0, 1)
    assert (np.diff(curve.shares) > 0).all()
    assert (np.diff(curve.accuracies) > -0.01).all()
    assert of[1] > 0.9 > of[0]
    # Reading half of the inputs is as good as reading all, and those are the hard ones.
    assert np.interp(0.5, curve.shares, curve.accuracies) > of[1] - 0.01
    model.threshold = float(np.interp(0.4, curve.shares, curve.thresholds))
    reads = model.needs_reading(x[test])
    assert reads[is_hard[test]].mean() > 0.9 > 0.3 > reads[~is_hard[test]].mean()
    assert str(curve).count("\n") == len(curve.shares)


def test_only_what_needs_it_is_read(rng):
    model = skim_or_read()
    x = rng.integers(1, 9, size=(50, 6))
    confidence = numpy(model.look(x)[1])
    model.threshold = float(np.sort(confidence)[20])
    undecided = confidence <= model.threshold
    rows = []
    predict = model.reader.predict
    model.reader.predict = lambda x, batch_size, **kw: rows.append((len(x), batch_size)) or predict(x, batch_size, **kw)
    outputs = model.predict(x, batch_size=16, verbose=0)
    # 21 rows: where shapes are compiled, two batches of a size that is one of few.
    assert rows == [(21, 16) if keras.backend.backend() == "torch" else (24, 12)]
    np.testing.assert_allclose(outputs[undecided], numpy(model.reader(x[undecided])), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(outputs[~undecided], numpy(model.skimmer(x[~undecided])), rtol=1e-5, atol=1e-6)
    rows.clear()
    model.threshold = 0.0
    model.predict(x, verbose=0)
    assert rows == []
    # Nothing but padding: the mean of no vectors is zero, not undefined.
    assert np.isfinite(model.predict(0 * x, verbose=0)).all()


def test_the_decision_network_trains_on_what_is_held_out(rng, tmp_path):
    model = skim_or_read(decide="network", held_out=0.25, seed=3)
    x, y = rng.integers(1, 9, size=(80, 6)), rng.integers(0, 2, size=80)
    sizes = {}
    for name, phase in (("skim", model.skimmer), ("read", model.reader), ("decide", model.decider)):
        fit = phase.fit
        phase.fit = lambda inputs, targets, name=name, fit=fit, **kw: (
            sizes.update({name: (inputs, targets)}) or fit(inputs, targets, **kw)
        )
    seen = []
    callback = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: seen.append(epoch))
    history = model.fit(x, y, 20, 2, 0, [callback], validation_data=(x[:20], y[:20]), sample_weight=np.ones(80)).history
    assert seen == [0, 1] * 3
    assert {"skim_loss", "read_loss", "decide_loss", "decide_val_accuracy"} < set(history)
    assert [len(sizes[name][0]) for name in ("skim", "read", "decide")] == [60, 60, 20]
    held_out = np.array([row for row in x if not (sizes["skim"][0] == row).all(axis=1).any()])
    np.testing.assert_allclose(sizes["decide"][0], numpy(model._networks.features(held_out)), rtol=1e-5, atol=1e-6)
    kept = np.array([not (sizes["skim"][0] == row).all(axis=1).any() for row in x])
    p, q = (m.predict(x[kept], verbose=0).argmax(axis=1) for m in (model.skimmer, model.reader))
    assert sizes["decide"][1][:, 0].tolist() == ((p != y[kept]) & (q == y[kept])).tolist()

    # One loaded predicts alike, and its optimizers go on.
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict(x, verbose=0), model.predict(x, verbose=0), rtol=1e-6)
    assert int(loaded.reader.optimizer.iterations) == 2 * 3
    assert set(loaded.fit(x, y, phases=["decide"], batch_size=20, verbose=0).history) == {
        "decide_accuracy",
        "decide_loss",
    }
    assert int(loaded.reader.optimizer.iterations) == 2 * 3


@pytest.mark.parametrize("method", ["compile", "evaluate", "fit", "predict", "predict_on_batch"])
def test_arguments_come_in_the_order_of_keras(method):
    theirs, ours = (
        list(inspect.signature(getattr(cls, method)).parameters.values())
        for cls in (keras.Model, kar.models.SkimOrRead)
    )
    if method == "compile":
        # Its loss and optimizer have defaults, and what follows the metrics is given by name.
        assert [p.name for p in ours[:-1]] == [p.name for p in theirs[:6]]
        assert ours[-1].kind is inspect.Parameter.VAR_KEYWORD
    else:
        assert [(p.name, p.default) for p in ours[: len(theirs)]] == [(p.name, p.default) for p in theirs]
        assert all(p.kind is p.KEYWORD_ONLY for p in ours[len(theirs) :])


def test_every_argument_of_fit_reaches_each_phase(rng):
    model = skim_or_read(decide="network", held_out=0.5)
    x, y = rng.integers(1, 9, size=(40, 6)), rng.integers(0, 2, size=40)
    given = {
        "batch_size": 2,
        "epochs": 3,
        "verbose": 0,
        "callbacks": [keras.callbacks.Callback()],
        "shuffle": False,
        "initial_epoch": 1,
        "steps_per_epoch": 2,
        "validation_steps": 1,
        "validation_batch_size": 4,
        "validation_freq": 2,
    }
    received = {}
    for phase in (model.skimmer, model.reader, model.decider):
        fit = phase.fit
        phase.fit = lambda *args, fit=fit, name=phase.name, **kw: (
            received.update({name: (args, kw)}) or fit(*args, **kw)
        )
    weights = rng.uniform(size=40)
    history = model.fit(x, y, **given, validation_split=0.25, sample_weight=weights)
    assert {len(history.history[f"{phase}_loss"]) for phase in ("skim", "read", "decide")} == {2}
    for args, kw in received.values():
        assert {key: kw[key] for key in given} == given
        assert [len(part) for part in (*args, kw["sample_weight"])] == [15] * 3
        # The last quarter, as in Keras, in the order given.
        np.testing.assert_array_equal(kw["validation_data"][2], weights[30:])
        assert set(kw["sample_weight"]) < set(weights[:30])
    (tokens, _), kw = received["reader"]
    rows = [weights.tolist().index(weight) for weight in kw["sample_weight"]]
    np.testing.assert_array_equal(tokens, x[rows])
    assert rows == sorted(rows)
    model.fit(x, y, verbose=0, class_weight={0: 1.0, 1: 2.0})
    assert [kw["class_weight"] for _, kw in received.values()] == [{0: 1.0, 1: 2.0}, {0: 1.0, 1: 2.0}, None]


def test_steps_and_callbacks_of_predict(rng, capsys):
    model = skim_or_read(threshold=1.0)
    x = rng.integers(1, 9, size=(10, 6))
    everything = model.predict(x, verbose=0)
    np.testing.assert_allclose(model.predict(x, 4, 0, 2), everything[:8], rtol=1e-5)

    class Watch(keras.callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.seen = []

        def on_predict_begin(self, logs=None):
            self.seen.append("begin")

        def on_predict_batch_begin(self, batch, logs=None):
            self.seen.append(batch)

        def on_predict_batch_end(self, batch, logs=None):
            self.seen.append(len(keras.tree.flatten(logs["outputs"])[0]))

        def on_predict_end(self, logs=None):
            self.seen.append("end")

    watch = Watch()
    model.predict(x, batch_size=5, verbose=0, callbacks=[watch])
    # The bag of words on two batches, then the LSTM on both of them.
    assert watch.seen == ["begin", *(0, 5), *(1, 5), "end"] * 2
    assert capsys.readouterr().out == ""
    model.predict(x, batch_size=5, verbose=1)
    assert capsys.readouterr().out.count("2/2") == 2


def test_one_hot_classes_and_evaluate(rng):
    model = skim_or_read(threshold=1.0)
    model.compile(
        "adam", "categorical_crossentropy", metrics=[keras.metrics.CategoricalAccuracy(name="right")], jit_compile=JIT
    )
    x, y = rng.integers(1, 9, size=(32, 6)), np.eye(2)[rng.integers(0, 2, size=32)]
    assert "skim_right" in model.fit(x, y, phases=["skim"], verbose=0).history
    for threshold, part in ((1.0, model.reader), (0.0, model.skimmer)):
        model.threshold = threshold
        received = model.evaluate(x, y, verbose=0, return_dict=True)["right"]
        right = np.asarray(part.predict_on_batch(x)).argmax(axis=1) == y.argmax(axis=1)
        assert received == pytest.approx(right.mean())
    assert model.curve(x, y, thresholds=[0.0, 1.0]).shares.tolist() == [0, 1]


# Arguments.

X, Y = np.ones((4, 5), "int32"), np.zeros(4)

BAD_ARGUMENTS = [
    (lambda: kar.models.LSTMJump(**{**JUMPS, "read": 0}), ValueError, ["`read`", "read=0"]),
    (lambda: kar.models.LSTMJump(**{**JUMPS, "max_jump": 1.5}), TypeError, ["`max_jump`", "1.5"]),
    (lambda: kar.models.LSTMJump(**{**JUMPS, "max_jumps": 0}), ValueError, ["`max_jumps`", "at least 1"]),
    (lambda: kar.models.LSTMJump(**{**JUMPS, "classes": 1}), ValueError, ["`classes`", "at least 2"]),
    (lambda: kar.models.LSTMJump(**{**JUMPS, "units": None}), ValueError, ["`units`", "`cell`"]),
    (lambda: kar.models.LSTMJump(**JUMPS, cell=kar.LSTMCell(3)), ValueError, ["`units`", "`cell`"]),
    (lambda: kar.models.LSTMJump(**{**JUMPS, "units": None}, cell=3), ValueError, ["`cell`", "recurrent cell"]),
    (lambda: kar.models.LSTMJump(**JUMPS, inference="argmax"), ValueError, ["`inference`", "'greedy'", "'sample'"]),
    (lambda: kar.models.LSTMJump(**JUMPS, policy_weight=-1), ValueError, ["`policy_weight`", "at least 0"]),
    (lambda: kar.models.LSTMJump(**JUMPS, jumps=2), TypeError, ["`jumps`", "did you mean `max_jumps`"]),
    (lambda: kar.models.LSTMJump(2, **{**JUMPS, "read": 2}), TypeError, ["by position"]),
    (lambda: kar.models.SkimOrRead(64, **SIZES), TypeError, ["by position"]),
    (lambda: kar.models.LSTMJump(**JUMPS)(np.ones((2, 3, 4))), ValueError, ["(batch, time)", "(2, 3, 4)"]),
    (lambda: kar.models.SkimOrRead(**SIZES, decide="both"), ValueError, ["`decide`", "'both'", "'network'"]),
    (lambda: kar.models.SkimOrRead(**SIZES, threshold=1.5), ValueError, ["`threshold`", "1.5", "[0, 1]"]),
    (lambda: kar.models.SkimOrRead(**SIZES, held_out=1), ValueError, ["`held_out`", "below 1"]),
    (lambda: kar.models.SkimOrRead(**SIZES).fit(X, Y), ValueError, ["compiled"]),
    (lambda: skim_or_read().fit(X, Y, phases=["reed"]), ValueError, ["`phases`", "reed", "'skim', 'read'"]),
    (lambda: skim_or_read().fit(X, Y, phases=["decide"]), ValueError, ["`phases`", "decide", "'skim', 'read'"]),
    (lambda: skim_or_read().fit(X, Y, epochs={"read": 1}), TypeError, ["`epochs`", "read"]),
    (lambda: skim_or_read().fit(X, Y, epochs=0), ValueError, ["`epochs`", "epochs=0"]),
    (lambda: skim_or_read().fit(X, Y, validation_split=1), ValueError, ["`validation_split`", "below 1"]),
    (lambda: skim_or_read().fit(X, Y, validation_split=0.9), ValueError, ["`validation_split`", "4 samples"]),
    (lambda: skim_or_read().fit(X, Y[:2]), ValueError, ["`x`", "`y`", "4, 2"]),
    (lambda: skim_or_read().fit(X), TypeError, ["`y`", "array", "NoneType"]),
    (lambda: skim_or_read().fit(iter([(X, Y)])), TypeError, ["`x`", "array", "iterator"]),
    (lambda: skim_or_read().fit(X, Y, workers=2), TypeError, ["workers"]),
    (lambda: skim_or_read().predict("text"), TypeError, ["`x`", "array"]),
    (lambda: skim_or_read().predict(X[0]), ValueError, ["`x`", "rank 2", "(5,)"]),
    (lambda: skim_or_read().predict(X[:0]), ValueError, ["`x`", "at least one", "(0, 5)"]),
    (lambda: skim_or_read().predict(X, steps=0), ValueError, ["`steps`", "at least 1"]),
    (lambda: skim_or_read().predict(X, batch_size=0), ValueError, ["`batch_size`", "at least 1"]),
    (lambda: skim_or_read(decide="network", held_out=0.9).fit(X, Y), ValueError, ["`held_out`", "4 samples"]),
    (lambda: skim_or_read().train_on_batch(X, Y), NotImplementedError, ["`fit`"]),
]


@pytest.mark.parametrize(("make", "error", "words"), BAD_ARGUMENTS)
def test_bad_arguments(make, error, words):
    with pytest.raises(error) as raised:
        make()
    assert all(word in str(raised.value) for word in words), str(raised.value)


@pytest.mark.parametrize("cls", [kar.models.LSTMJump, kar.models.SkimOrRead])
def test_config(cls):
    given = {**(JUMPS if cls is kar.models.LSTMJump else SIZES), "units": None, "cell": kar.GRUCell(5), "seed": 4}
    made = cls.from_config(cls(**given).get_config())
    assert made.cell.units == 5
    assert made.get_config() == cls(**given).get_config() | {"name": made.name, "cell": made.get_config()["cell"]}
    assert "vocabulary_size" in inspect.signature(cls).parameters
