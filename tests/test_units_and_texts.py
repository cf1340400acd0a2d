"""Selectivity and ablation of units, and leaks in labelled texts."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import analysis
from tests.backends import in_turns

# Units.


def test_selectivity_of_one_class_all_and_none():
    labels = np.array([0, 0, 1, 1, 2, 2])
    one, alike, never = (labels == 1).astype(float), np.ones(6), np.zeros(6)
    two = np.array([1.0, 3.0, 1.0, 1.0, 0.0, 0.0])
    seen = analysis.selectivity(np.stack([one, alike, never, two], axis=1), labels)
    # Of the last: 2 against the mean of 1 and 0.
    np.testing.assert_allclose(seen, [1, 0, 0, (2 - 0.5) / (2 + 0.5)])
    over_time = np.stack([one, alike], axis=1)[:, None].repeat(4, axis=1)
    np.testing.assert_allclose(analysis.selectivity(over_time, labels), [1, 0])


def test_errors_of_selectivity():
    with pytest.raises(ValueError, match=r"np\.abs"):
        analysis.selectivity(-np.ones((4, 2)), [0, 1, 0, 1])
    with pytest.raises(ValueError, match="two classes"):
        analysis.selectivity(np.ones((4, 2)), [1, 1, 1, 1])
    with pytest.raises(ValueError, match=r"`labels` \(samples,\)"):
        analysis.selectivity(np.ones((4, 2)), [0, 1, 0])


X = np.random.default_rng(0).normal(0, 3, (60, 5, 3)).astype("float32")
Y = np.arange(60) % 3


def classifier(kind):
    keras.utils.set_random_seed(3)
    if kind == "dense":
        parts = [keras.layers.Flatten(), keras.layers.Dense(6, "relu", name="hidden")]
    else:
        rnn = {"lstm": kar.LSTM, "keras": keras.layers.GRU}[kind]
        parts = [rnn(6, name="hidden")]
    return keras.Sequential([keras.Input((5, 3)), *parts, keras.layers.Dense(3)])


@in_turns
@pytest.mark.parametrize("kind", ["dense", "lstm", "keras"])
@pytest.mark.parametrize("to", ["zero", "mean"])
def test_an_ablation_curve_starts_at_the_model_and_ends_at_a_constant(kind, to):
    model = classifier(kind)
    expected = ops.convert_to_numpy(model(X)).argmax(axis=-1)
    curve = analysis.ablation_curve(model, "hidden", X, expected, repeats=2, to=to, points=3, verbose=False)
    assert curve.counts.tolist() == [0, 3, 6]
    np.testing.assert_allclose(curve.shares, [0, 0.5, 1])
    assert (curve.accuracies[:, 0] == 1).all()
    assert (curve.accuracies[:, 1] < 1).any()
    # Without units, every sample is the same.
    shares = np.bincount(expected, minlength=3) / len(expected)
    assert np.abs(curve.accuracies[0, -1] - shares).min() < 1e-6
    assert 0 < curve.area < 1
    # The model is as it was.
    np.testing.assert_array_equal(ops.convert_to_numpy(model(X)).argmax(axis=-1), expected)


@pytest.mark.parametrize("kind", ["lstm", "keras"])
def test_a_unit_of_a_recurrent_layer_is_clamped_in_the_state_too(kind):
    """Setting the rows that the unit is read by to zero, in the recurrent and in the next matrix, does the same."""
    model = classifier(kind)
    order = np.array([4, 1, 0, 2, 3, 5])
    y = ops.convert_to_numpy(model(X)).argmax(axis=-1)
    curve = analysis.ablation_curve(model, "hidden", X, y, order=order, points=7, verbose=False)
    assert curve.accuracies.shape == (1, 7)
    hidden, dense = model.get_layer("hidden"), model.layers[-1]
    variables = hidden.cell.trainable_variables[1], dense.kernel
    for variable in variables:
        array = ops.convert_to_numpy(variable.value).copy()
        array[order[:2]] = 0
        variable.assign(array)
    by_hand = np.mean(ops.convert_to_numpy(model(X)).argmax(axis=-1) == y)
    np.testing.assert_allclose(curve.accuracies[0, 2], by_hand, atol=1.5 / 60 if kind == "keras" else 1e-6)


def test_errors_of_ablation():
    model = classifier("dense")
    arguments = {"repeats": 1, "points": 2, "verbose": False}
    with pytest.raises(ValueError, match=r"`layer` must be a layer of the model.*'hidden'.*Received: layer='other'"):
        analysis.ablation_curve(model, "other", X, Y, **arguments)
    with pytest.raises(ValueError, match="`to`"):
        analysis.ablation_curve(model, "hidden", X, Y, to="one", **arguments)
    with pytest.raises(ValueError, match="`order` must be 'random', or hold"):
        analysis.ablation_curve(model, "hidden", X, Y, order=[0, 1], **arguments)
    with pytest.raises(ValueError, match="same length"):
        analysis.ablation_curve(model, "hidden", X, Y[1:], **arguments)
    with pytest.raises(TypeError, match="`model`"):
        analysis.ablation_curve(model.layers[1], "hidden", X, Y, **arguments)
    for last in (keras.layers.Dense(1, "sigmoid"), keras.layers.RepeatVector(5)):
        found = keras.Sequential([model, last])
        with pytest.raises(
            ValueError, match=r"`model` must return one number for each of at least two classes.*\(60, "
        ):
            analysis.ablation_curve(found, "hidden", X, Y, **arguments)
    stack = keras.Sequential([keras.Input((5, 3)), kar.RNN([kar.LSTMCell(4), kar.GRUCell(4)], name="hidden")])
    with pytest.raises(ValueError, match="single cell"):
        analysis.ablation_curve(stack, "hidden", X, Y, **arguments)


# Recovery after surprise.


def recovery_by_hand(log_probs, distance, share):
    """Returns the mean losses at each distance and the number of surprises, token by token."""
    names = list(log_probs)
    rows, tokens = log_probs[names[0]].shape
    places = [(r, n) for r in range(rows) for n in range(tokens)]
    mean = {place: np.mean([-log_probs[name][place] for name in names]) for place in places}
    surprises = sorted(places, key=lambda place: -mean[place])[: round(share * len(places))]
    behind = [[(r, n + d) for r, n in surprises if n + d < tokens] for d in range(distance + 1)]
    return {name: [np.mean([-log_probs[name][p] for p in each]) for each in behind] for name in names}, len(surprises)


def test_recovery_is_the_mean_loss_behind_a_surprise(rng):
    log_probs = {name: -rng.gamma(1.0, size=(3, 40)) for name in ("LSTM", "Mogrifier", "GRU")}
    found = analysis.surprise_recovery(log_probs, distance=6, share=0.1)
    expected, count = recovery_by_hand(log_probs, 6, 0.1)
    for name, losses in found.losses.items():
        assert losses.shape == (count, 7)
        np.testing.assert_allclose(found.means[name], expected[name], rtol=1e-6)
        np.testing.assert_allclose(found.typical[name], -log_probs[name].mean())
    assert found.threshold == np.mean([losses[:, 0] for losses in found.losses.values()], axis=0).min()
    mean, error = found.difference("LSTM", "GRU")
    np.testing.assert_allclose(mean, np.subtract(expected["LSTM"], expected["GRU"]), rtol=1e-6)
    each = (found.losses["LSTM"] - found.losses["GRU"])[:, 0]
    np.testing.assert_allclose(error[0], each.std(ddof=1) / np.sqrt(count))


def test_a_model_that_recovers_faster_is_found(rng):
    """A planted one: both are surprised by the same tokens, and one by the next token, too."""
    losses = rng.uniform(0.5, 1.0, (2, 4000))
    places = rng.choice(3980, 60, replace=False)
    losses[:, places] += 5.0
    losses[0, places + 1] += 0.5
    found = analysis.surprise_recovery({"slow": -losses[:1], "fast": -losses[1:]}, distance=3, share=60 / 4000)
    mean, error = found.difference("slow", "fast")
    assert mean[1] > 5 * error[1]
    assert (np.abs(mean[2:]) < 4 * error[2:]).all()
    assert len(found.losses["slow"]) == 60


def test_recovery_of_two_models():
    """From texts to losses."""
    text, log_probs = np.random.default_rng(0).integers(0, 5, 200), {}
    for layer in (kar.LSTM, kar.GRU):
        rnn = layer(4, stateful=True, return_sequences=True)
        model = keras.Sequential([keras.Input(batch_shape=(1, None)), keras.layers.Embedding(5, 3), rnn])
        model.add(keras.layers.Dense(5))
        log_probs[layer.__name__] = kar.evaluation.evaluate(model, text, batch_size=2, verbose=False).log_probs
    recovery = analysis.surprise_recovery(log_probs, distance=4)
    assert list(recovery.means) == ["LSTM", "GRU"]
    assert recovery.means["LSTM"][0] > recovery.typical["LSTM"]


def test_errors_of_recovery():
    log_p = -np.ones((2, 20))
    for arguments, error, match in (
        ({"log_probs": log_p}, TypeError, "`log_probs` must be a dict"),
        ({"log_probs": {}}, ValueError, "`log_probs` must hold arrays"),
        ({"log_probs": {"a": log_p, "b": log_p[:, :5]}}, ValueError, r"one shape.*\(2, 20\).*\(2, 5\)"),
        ({"log_probs": {"a": log_p[0]}}, ValueError, "rank 2"),
        ({"log_probs": {"a": -log_p}}, ValueError, "log-probabilities.*'a'"),
        ({"log_probs": {"a": log_p * np.nan}}, ValueError, "log-probabilities.*NaN"),
        ({"distance": 20}, ValueError, "`distance` must be below 20"),
        ({"distance": 0}, ValueError, "`distance`"),
        ({"share": 1}, ValueError, "`share`.*below 1"),
        ({"share": 0}, ValueError, "`share`"),
        ({"log_probs": {"a": -np.arange(40.0).reshape(2, 20)}}, ValueError, "`share` must leave.*0.05"),
    ):
        with pytest.raises(error, match=match):
            analysis.surprise_recovery(**{"log_probs": {"a": log_p}, **arguments})


# Texts.


def planted(leak, rows=200, seed=0):
    """Random texts of two labels, 3 to 1; `leak` is the share of the rarer whose texts hold the token 99."""
    rng = np.random.default_rng(seed)
    y = (np.arange(rows) % 4 == 0).astype(int)
    texts = [rng.integers(0, 20, 6).tolist() + [99] * (label and rng.uniform() < leak) for label in y]
    return texts, y


def test_pmi_finds_a_planted_token():
    texts, y = planted(0.5)
    found = analysis.token_label_pmi(texts, y, smoothing=10, top=3)
    assert set(found) == {0, 1}
    assert found[1][0].token == 99
    assert 0.3 < found[1][0].share < 0.7
    assert all(token != 99 for token, _, _ in found[0])
    assert [len(each) for each in found.values()] == [3, 3]


def test_pmi_by_hand():
    found = analysis.token_label_pmi([["a", "a", "b"], ["b"]], ["x", "y"], smoothing=1)
    # Counts, one added: a 3 and 1, b 2 and 2.
    np.testing.assert_allclose(found["x"][0].pmi, np.log((3 / 8) / ((4 / 8) * (5 / 8))))
    assert found["x"][0][::2] == ("a", 1.0)
    assert found["y"][0].token == "b"
    bare = analysis.token_label_pmi([["a"], ["b"]], ["x", "y"], smoothing=0)
    assert bare["x"][1].pmi == -np.inf


@in_turns
def test_a_probe_finds_a_leak_and_nothing_where_there_is_none():
    texts, y = planted(1.0, rows=400)
    leak = analysis.partial_input_probe(texts, y, verbose=False)
    assert leak.majority == 0.75
    assert leak.accuracy > 0.95
    texts, y = planted(0.5, rows=400)
    half = analysis.partial_input_probe(texts, y, verbose=False)
    assert 0.8 < half.accuracy < 0.95
    assert len(half.hard) == round((1 - half.accuracy) * 400)
    assert (np.array(half.predictions)[half.hard] != y[half.hard]).all()
    texts, y = planted(0.0, rows=400)
    none = analysis.partial_input_probe([np.array(text) for text in texts], y.tolist(), verbose=False)
    assert abs(none.accuracy - 0.75) < 0.03


def test_errors_of_texts():
    with pytest.raises(TypeError, match=r"text\.split"):
        analysis.token_label_pmi(["a b", "c"], [0, 1])
    with pytest.raises(ValueError, match="a label for each text"):
        analysis.token_label_pmi([["a"], ["b"]], [0])
    with pytest.raises(ValueError, match="at least one token"):
        analysis.token_label_pmi([[], []], [0, 1])
    with pytest.raises(ValueError, match="`smoothing`"):
        analysis.token_label_pmi([["a"], ["b"]], [0, 1], smoothing=-1)
    with pytest.raises(ValueError, match="at least two labels"):
        analysis.partial_input_probe([["a"]] * 50, [0] * 50)
    with pytest.raises(ValueError, match="10 texts for each of 5 folds"):
        analysis.partial_input_probe([["a"]] * 20, [0, 1] * 10)
    with pytest.raises(TypeError, match="`x_part`"):
        analysis.partial_input_probe("text", [0, 1])
    with pytest.raises(TypeError, match="`y`"):
        analysis.partial_input_probe([["a"]] * 20, "labels")
