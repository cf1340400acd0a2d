"""Decisions that are drawn, and trained by REINFORCE."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn.loop import decisions
from keras_adaptive_rnn.models import jumping
from tests import reference as ref
from tests import reference_deciding as deciding
from tests.backends import in_turns
from tests.test_reference import close, named_weights, randomized

pytestmark = in_turns

STEPS = 3
SKIM_LOSS = 0.4


def numpy(x):
    return ops.convert_to_numpy(x)


def skim_cell(big=3, small=1, **options):
    options = {"skim_loss": SKIM_LOSS, "seed": 1, **options}
    return kar.SkimCell(kar.GRUCell(big), kar.GRUCell(small), estimator="reinforce", **options)


def small_model(rng):
    cell, dense = skim_cell(), keras.layers.Dense(1)
    model = kar.models.Reinforce(keras.Sequential([keras.Input((STEPS, 2)), kar.RNN(cell), dense]))
    model.compile("sgd", "mse")
    randomized(cell, rng)
    # So that the choice matters.
    dense.set_weights([np.array([[2.0], [-2.0], [2.0]]), np.array([0.3])])
    return model, cell, dense


def weights_of(cell):
    """Returns the weights by their names in the references, in the order of the cell."""
    found = named_weights(cell)
    return {**(ref.inside(found, cell.path) or found), "small_sizes": [1]}


def of_decisions(w, x, choices):
    """Returns the last state of one sample, the log-probabilities of all choices, and that of reading, by step."""
    states, log_p = [np.zeros((1, 3)), np.zeros((1, 3))], []
    for now, choice in zip(x, choices, strict=True):
        a = deciding.affine(w, now[None], states[0])[0]
        log_p.append(a - np.log(np.exp(a).sum()))
        one_hot = np.eye(2)[[choice]]
        _, states, _ = deciding.skim(ref.gru, ref.gru, w, now[None], states, choose=lambda *_, r=one_hot: r)
    return states[0][0], np.array(log_p)


def expected_loss(w, dense, x, y):
    """Returns the sum of the loss over all ways to read or skim each token, by their probabilities."""
    total = 0.0
    for choices in itertools.product((0, 1), repeat=STEPS):
        h, log_p = of_decisions(w, x, choices)
        loss = (h @ dense[0][:, 0] + dense[1][0] - y) ** 2 - SKIM_LOSS * log_p[:, 1].mean()
        total += np.exp(log_p[range(STEPS), choices].sum()) * loss
    return total


def test_the_gradient_is_that_of_the_expected_loss(rng):
    model, cell, dense = small_model(rng)
    x, y = rng.normal(size=(STEPS, 2)), 1.5
    rows = np.repeat(x[None].astype("float32"), 2000, axis=0)
    targets = np.full((2000, 1), y, "float32")

    def loss():
        y_pred = model(rows, training=True)
        (episode,) = jumping.take_episode(model)
        jumping.keep_episode(model, [episode], True)
        total = model.compute_loss(x=rows, y=targets, y_pred=y_pred, training=True)
        # On JAX, only the trainer collects what layers add to the loss.
        return total - sum(model.losses) + ops.mean(episode.loss)

    draws = []
    for k in range(12):
        # Where a function is compiled, it does not advance the generator.
        cell.seed_generator.state.assign([k, 0])
        draws.append(kar.engine.gradients(loss, model.trainable_variables, [])[1])
    w = weights_of(cell)
    of_dense = [numpy(v).astype("float64") for v in dense.weights]
    names = dict(zip([v.path for v in cell.weights], w, strict=False))
    for k, variable in enumerate(model.trainable_variables):
        direction = rng.normal(size=variable.shape)

        def moved(step, variable=variable, direction=direction):
            if variable.path in names:
                name = names[variable.path]
                return expected_loss({**w, name: w[name] + step * direction}, of_dense, x, y)
            weights = [v + step * direction if v.shape == direction.shape else v for v in of_dense]
            return expected_loss(w, weights, x, y)

        slope = (moved(1e-5) - moved(-1e-5)) / 2e-5
        estimates = np.array([np.sum(gradients[k] * direction) for gradients in draws])
        error = estimates.std(ddof=1) / np.sqrt(len(estimates))
        assert abs(estimates.mean() - slope) < 5 * error + 1e-4, variable.path
        # Precise enough to tell it from zero, or from that of the loss alone.
        if "decision_kernel" in variable.path:
            assert error < 0.05 * abs(slope)


def test_the_log_likelihood_is_that_of_what_was_drawn(rng):
    cell = skim_cell()
    layer = kar.RNN(cell, return_decisions=True, return_sequences=True)
    layer.build((None, STEPS, 2))
    randomized(cell, rng)
    w = weights_of(cell)
    x = rng.normal(size=(40, STEPS, 2))
    mask = np.arange(STEPS) < rng.integers(1, STEPS + 1, (40, 1))
    with decisions.collecting_episodes() as episodes:
        outputs, drawn = layer(x.astype("float32"), mask=mask, training=True)
    (episode,) = episodes
    assert set(np.unique(numpy(drawn)[mask])) == {0.0, 1.0}
    for row in range(40):
        length = mask[row].sum()
        choices = 1 - numpy(drawn)[row, :length].astype(int)
        h, log_p = of_decisions(w, x[row, :length], choices)
        close(outputs[row, length - 1], h)
        close(episode.log_likelihood[row], log_p[range(length), choices].sum())
        close(episode.loss[row], -SKIM_LOSS * log_p[:, 1].mean())


def test_choices_follow_their_probabilities():
    cell = skim_cell(decision_initializer="zeros")
    layer = kar.RNN(cell, return_decisions=True)
    layer.build((None, 5, 2))
    cell.decision_bias.assign(np.log([0.3, 0.7]))
    with decisions.collecting_episodes():
        _, drawn = layer(np.zeros((2000, 5, 2), "float32"), training=True)
    np.testing.assert_allclose(numpy(drawn).mean(axis=0), 0.3, atol=0.05)
    assert abs(np.corrcoef(numpy(drawn).T) - np.eye(5)).max() < 0.1


def test_inference_is_that_of_the_other_estimator(rng):
    x = rng.normal(size=(4, 6, 2)).astype("float32")
    drawn, soft = kar.RNN(skim_cell()), kar.RNN(kar.SkimCell(kar.GRUCell(3), kar.GRUCell(1)))
    for layer in (drawn, soft):
        layer.build(x.shape)
    randomized(drawn.cell, rng)
    soft.set_weights(drawn.get_weights())
    close(drawn(x), numpy(soft(x)))


def test_loss_weights_of_samples_and_the_baseline(rng):
    """The loss is that of the equations, from what a call has kept."""
    model, _, _ = small_model(rng)
    x, y = rng.normal(size=(5, STEPS, 2)).astype("float32"), rng.normal(size=5).astype("float32")
    weights = np.array([1.0, 0.0, 2.0, 0.5, 1.0], "float32")
    for rows in (slice(None), slice(1)):
        y_pred = model(x[rows], training=True)
        (episode,) = jumping.take_episode(model)
        jumping.keep_episode(model, [episode], True)
        received = model.compute_loss(y=y[rows], y_pred=y_pred, sample_weight=weights[rows], training=True)
        losses = weights[rows] * (numpy(y_pred)[:, 0] - y[rows]) ** 2
        costs = losses + numpy(episode.loss)
        count = len(costs)
        baselines = [np.delete(costs, k).mean() if count > 1 else 0.0 for k in range(count)]
        expected = (costs + (costs - baselines) * numpy(episode.log_likelihood)).mean()
        np.testing.assert_allclose(numpy(received), expected, rtol=1e-4)
    assert jumping.take_episode(model) is None


def test_nothing_is_kept_after_fit_predict_and_evaluate(rng):
    model, _, _ = small_model(rng)
    x, y = rng.normal(size=(4, STEPS, 2)), rng.normal(size=(4, 1))
    model.fit(x, y, verbose=0)
    assert jumping.take_episode(model) is None
    model.predict(x, verbose=0)
    model.evaluate(x, y, verbose=0)
    assert jumping.take_episode(model) is None


@pytest.mark.skipif(keras.backend.backend() != "jax", reason="only JAX has tracers")
def test_no_tracer_leaks(rng):
    import jax

    model, _, _ = small_model(rng)
    x, y = rng.normal(size=(4, STEPS, 2)), rng.normal(size=(4, 1))
    with jax.checking_leaks():
        model.fit(x, y, verbose=0)
        model.evaluate(x, y, verbose=0)


def marked(count, rng):
    """Returns symbols of which one is marked, as one-hot vectors and the mark, and which one it is."""
    symbols, place = rng.integers(0, 4, (count, 8)), rng.integers(0, 8, count)
    x = np.zeros((count, 8, 5), "float32")
    np.put_along_axis(x, symbols[..., None], 1, axis=2)
    x[np.arange(count), place, 4] = 1
    return x, symbols[np.arange(count), place], place


def test_it_learns_to_read_what_is_marked(rng, tmp_path):
    keras.utils.set_random_seed(0)
    x, y, place = marked(1500, rng)
    inputs = keras.Input((8, 5))
    layer = kar.RNN(skim_cell(12, 2, skim_loss=0.02), return_decisions=True)
    output, read = layer(inputs)
    inner = keras.Model(inputs, keras.layers.Dense(4, activation="softmax")(output))
    model = kar.models.Reinforce(inner)
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    for skim_loss, epochs in ((0.02, 15), (0.2, 15)):
        layer.cell.skim_loss = skim_loss
        model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
        model.fit(x[500:], y[500:], batch_size=100, epochs=epochs, verbose=0)
    assert model.evaluate(x[:500], y[:500], verbose=0)[1] > 0.9
    was_read = keras.Model(inputs, read).predict(x[:500], verbose=0)
    at_mark = was_read[np.arange(500), place[:500]].mean()
    assert at_mark > 0.9
    assert was_read.mean() < 0.5

    # One loaded predicts alike, and trains on.
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict(x[:9], verbose=0), model.predict(x[:9], verbose=0), rtol=1e-5, atol=1e-6)
    before = loaded.get_weights()
    loaded.fit(x[:100], y[:100], verbose=0)
    assert any((a != b).any() for a, b in zip(before, loaded.get_weights(), strict=True))


def compiled(**options):
    model = kar.models.Reinforce(keras.Sequential([kar.RNN(skim_cell())]))
    model.compile("sgd", **options)


@pytest.mark.parametrize(
    ("call", "error", "parts"),
    [
        (lambda: kar.SkimCell(kar.GRUCell(3), kar.GRUCell(2), estimator="gumbel"), ValueError, ["`estimator`", "'gum"]),
        (lambda: kar.RNN(skim_cell())(np.ones((2, 3, 2)), training=True), ValueError, ["Reinforce", "training=True"]),
        (lambda: keras.layers.RNN(skim_cell(skim_loss=0.0))(np.ones((2, 3, 2))), ValueError, ["keras.layers.RNN"]),
        (lambda: kar.models.Reinforce(skim_cell()), TypeError, ["`model`", "keras.Model"]),
        (lambda: kar.models.Reinforce(keras.Sequential([kar.GRU(3)])), ValueError, ["`model`", "draws decisions"]),
        (lambda: compiled(loss=["mse"]), ValueError, ["`loss`", "['mse']"]),
        (lambda: compiled(loss=keras.losses.MeanSquaredError("sum")), ValueError, ["`loss`", "sum_over_batch_size"]),
        (lambda: compiled(loss="mse", loss_weights=2.0), ValueError, ["`loss_weights`", "2.0"]),
    ],
)
def test_errors(call, error, parts):
    with pytest.raises(error) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)
