"""Evaluation of language models: perplexity, dropout at test time, temperature, and dynamic evaluation."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import engine, evaluation, maps
from keras_adaptive_rnn.evaluation.dynamic import _decay_rates, _EvalModeModel
from keras_adaptive_rnn.evaluation.noise import Noise, noisy_parts, rows_are_samples
from keras_adaptive_rnn.evaluation.optimizers import SquaredGradients
from keras_adaptive_rnn.evaluation.scores import LogPowerMean, Scores, renormalized
from keras_adaptive_rnn.evaluation.states import OwnStates
from keras_adaptive_rnn.evaluation.static import _grid, search
from keras_adaptive_rnn.evaluation.text import Text
from tests.backends import alternating, in_turns, one_in
from tests.golden.layouts.base import reorder
from tests.golden_training import cases, part

pytestmark = alternating

V = 7
TEXT = np.random.default_rng(0).integers(0, V, 103)


def language_model(*cells, batch_size=3, dropout=0.0, seed=0, classes=V):
    keras.utils.set_random_seed(seed)
    cells = cells or (kar.LSTMCell(5),)
    return keras.Sequential(
        [
            keras.Input(batch_shape=(batch_size, None), dtype="int32"),
            keras.layers.Embedding(classes, 4, embeddings_initializer=keras.initializers.RandomNormal(stddev=2.0)),
            *([keras.layers.SpatialDropout1D(dropout)] if dropout else []),
            *(kar.RNN(cell, stateful=True, return_sequences=True) for cell in cells),
            keras.layers.Dense(classes, kernel_initializer=keras.initializers.RandomNormal(stddev=1.0)),
        ]
    )


def evaluate(model, ids=TEXT, **arguments):
    return evaluation.evaluate(model, ids, verbose=False, **arguments)


as_numpy = ops.convert_to_numpy


def by_hand(model, ids):
    """The loss of one row, in one batch, by NumPy from the logits."""
    with OwnStates(model, 1):
        z = as_numpy(model(np.asarray(ids)[None, :-1])).astype("float64")[0]
    log_p = z - np.logaddexp.reduce(z, axis=-1, keepdims=True)
    return -log_p[np.arange(len(ids) - 1), ids[1:]].mean()


# One pass, without noise.


def test_the_loss_does_not_depend_on_the_length_of_segments():
    model = language_model()
    expected = by_hand(model, TEXT)
    for steps in (1, 7, 70, 102):
        seen = evaluate(model, steps=steps)
        np.testing.assert_allclose(seen.loss, expected, rtol=1e-5)
        assert seen.tokens == 102
    np.testing.assert_allclose(seen.perplexity, np.exp(expected), rtol=1e-5)
    np.testing.assert_allclose(seen.bits, expected / np.log(2), rtol=1e-5)


@in_turns
def test_rows_are_texts_of_their_own():
    model = language_model()
    rows = TEXT[:100].reshape(4, 25)
    seen = evaluate(model, batch_size=4, steps=7)
    assert seen.tokens == 4 * 24
    np.testing.assert_allclose(seen.loss, np.mean([evaluate(model, row).loss for row in rows]), rtol=1e-5)


@in_turns
def test_states_and_weights_stay_as_they_were():
    model = language_model(dropout=0.3)
    model(TEXT[:9].reshape(3, 3))
    variables = [as_numpy(v.value).copy() for v in model.variables]
    evaluate(model, batch_size=2)
    evaluate(model, samples=2)
    for samples in (0, 2):
        dynamic(model, statistics_batch_size=2, learning_rate=0.1, samples=samples)
    assert len(variables) == len(model.variables)
    for before, after in zip(variables, model.variables, strict=True):
        np.testing.assert_array_equal(before, as_numpy(after.value))
    assert evaluate(model).tokens == 102


@in_turns
def test_temperature_multiplies_the_logits():
    model = language_model()
    doubled = evaluate(model, temperature=2.0)
    dense = model.layers[-1]
    dense.set_weights([2 * w for w in dense.get_weights()])
    np.testing.assert_allclose(evaluate(model).loss, doubled.loss, rtol=1e-5)


def test_nothing_is_compiled_twice(monkeypatch):
    """One length runs, whatever is left over at the end."""
    model, lengths = language_model(), []
    call = type(model).call
    monkeypatch.setattr(type(model), "call", lambda self, x, **k: lengths.append(x.shape[1]) or call(self, x, **k))
    evaluate(model, steps=10)
    assert set(lengths) == {10}
    if keras.backend.backend() != "torch":
        # Once for the shape of the output, and a constant number of times while it is compiled.
        count = len(lengths)
        lengths.clear()
        evaluate(model, np.tile(TEXT, 5), steps=10)
        assert len(lengths) == count < 5


def test_dynamic_evaluation_compiles_once_a_length(monkeypatch):
    model, lengths = language_model(), []
    call = type(model).call
    monkeypatch.setattr(type(model), "call", lambda self, x, **k: lengths.append(x.shape[1]) or call(self, x, **k))
    counts = []
    for repeats in (1, 4):
        lengths.clear()
        text = np.tile(TEXT[:100], repeats)
        dynamic(model, text, text, statistics_batch_size=2)
        counts.append(len(lengths))
    assert set(lengths) == {5, 4}
    if keras.backend.backend() != "torch":
        assert counts[0] == counts[1]


def test_log_probs_are_those_of_the_targets():
    model = language_model()
    seen = evaluate(model, batch_size=4, steps=7, temperature=0.7)
    rows = TEXT[:100].reshape(4, 25)
    with OwnStates(model, 4):
        z = 0.7 * as_numpy(model(rows[:, :-1])).astype("float64")
    log_p = z - np.logaddexp.reduce(z, axis=-1, keepdims=True)
    expected = np.take_along_axis(log_p, rows[:, 1:, None], axis=-1)[..., 0]
    np.testing.assert_allclose(seen.log_probs, expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(-seen.log_probs.mean(), seen.loss, rtol=1e-6)
    assert "log_probs" not in repr(seen)


# Samples of dropout.

NOISE = {
    "rows": lambda: language_model(kar.LSTMCell(5, recurrent_dropout=0.3), dropout=0.4),
    "passes": lambda: language_model(kar.LSTMCell(5, recurrent_map=maps.DropConnect(0.5))),
    "zoneout": lambda: language_model(kar.ZoneoutCell(5, zoneout=0.4)),
}


@pytest.mark.parametrize("make", NOISE.values(), ids=NOISE)
def test_without_rates_samples_are_the_static_pass(make):
    model = make()
    static = evaluate(model).loss
    for arguments in ({"samples": 1}, {"samples": 3}, {"samples": 2, "average": "geometric"}):
        seen = evaluate(model, dropout_scale=0.0, steps=20, **arguments)
        np.testing.assert_allclose(seen.loss, static, rtol=1e-5)
    sampled = evaluate(model, samples=1).loss
    assert abs(sampled - static) > 1e-4
    assert abs(evaluate(model, samples=1, dropout_scale=0.5).loss - sampled) > 1e-5


@in_turns
@pytest.mark.parametrize("name", ["rows", "passes"])
def test_an_average_is_better_than_its_passes(name, monkeypatch):
    """Jensen: the mean of probabilities is above their geometric mean; and samples are independent."""
    model = NOISE[name]()
    seen, add = [], LogPowerMean.add
    monkeypatch.setattr(LogPowerMean, "add", lambda self, log_p: seen.append(log_p) or add(self, log_p))
    loss = evaluate(model, samples=8).loss
    passes = [-log_p.mean() for log_p in seen]
    assert len(set(passes)) == len(passes) == 8
    assert loss < np.mean(passes)
    np.testing.assert_allclose(loss, -np.mean(np.logaddexp.reduce(seen, axis=0) - np.log(8)))
    # In the mean over the passes, two are better than one, and eight than two.
    pairs = [-np.mean(np.logaddexp(a, b) - np.log(2)) for a, b in zip(seen[::2], seen[1::2], strict=True)]
    assert loss < np.mean(pairs) < np.mean(passes)
    # The states of a pass do not reach the next: at the first token, only noise of that token differs.
    assert model.layers[-2].stateful


class OwnNoise(keras.layers.Layer):
    noise_rates, shares_noise = ("gap",), False

    def __init__(self, gap):
        super().__init__()
        self.gap, self.seed_generator = gap, keras.random.SeedGenerator(0)

    def call(self, inputs, training=False):
        return keras.random.dropout(inputs, self.gap, seed=self.seed_generator) if training else inputs


class OwnCell(kar.ElmanCell):
    def __init__(self, units, *, gap=0.5, **kwargs):
        super().__init__(units, **kwargs)
        self.gap = gap

    @property
    def noise_sizes(self):
        return {**super().noise_sizes, "gap": self.units}

    def update(self, a, states, run):
        h = self.drop(self.activation(a), "gap", run)
        return h, [h]


def own_noise():
    model = language_model(kar.LSTMCell(5))
    x = OwnNoise(0.5)(model.layers[-2].output)
    return keras.Model(model.inputs, model.layers[-1](x))


@in_turns
@pytest.mark.parametrize("make", [own_noise, lambda: language_model(OwnCell(5))], ids=["layer", "cell"])
def test_noise_of_a_class_of_ones_own(make):
    model = make()
    parts = noisy_parts(model)
    assert [(name, value) for _, name, value in parts] == [("gap", 0.5)]
    assert rows_are_samples(parts)
    static, full, half = (evaluate(model, samples=2, dropout_scale=s, seed=1).loss for s in (0.0, 1.0, 0.5))
    assert min(abs(full - static), abs(half - static), abs(full - half)) > 1e-4


@in_turns
@pytest.mark.parametrize(
    ("make", "name", "rate"),
    [
        (lambda: kar.ZoneoutCell(5, zoneout=[0.4, 0.2]), "zoneout", [0.4, 0.2]),
        (lambda: kar.DeepRNNCell(5, depth=4, skip_every=2, block_dropout=0.3), "block_dropout", 0.3),
    ],
    ids=["zoneout", "blocks"],
)
def test_rates_that_stay_as_they_are(make, name, rate):
    cell = make()
    model = language_model(cell)
    parts = noisy_parts(model)
    assert [(part, attribute) for part, attribute, _ in parts] == [(cell, name)]
    assert rows_are_samples(parts)
    with Noise(model, 1, "arithmetic", 0.5, 0).drawn():
        assert getattr(cell, name) == rate
        first, second, _ = as_numpy(model(np.ones((3, 20), "int32"), training=True))
    assert np.abs(first - second).max() > 1e-4, "each row draws its own"


def test_states_do_not_leak_into_the_next_pass():
    """Without rates all passes are equal, which they would not be if one went on from the last."""
    model, seen = NOISE["passes"](), []
    with Noise(model, 1, "arithmetic", 0.0, None).drawn():
        states = OwnStates(model, 1)
        with states:
            for _ in range(2):
                states.reset()
                seen.append(as_numpy(model(TEXT[None, :5], training=True)))
                model(TEXT[None, 5:50], training=True)
    np.testing.assert_array_equal(*seen)


@in_turns
def test_seeds_of_samples():
    model = NOISE["rows"]()
    first, again, other = (evaluate(model, samples=2, seed=seed).loss for seed in (1, 1, 2))
    if keras.backend.backend() != "torch":
        # On PyTorch, Keras draws the noise of layers without a seed from a generator of its own.
        assert first == again
    assert first != other


@in_turns
def test_samples_at_once_are_like_samples_in_turn(monkeypatch):
    """In distribution: here, with rates so small that the noise is nearly none."""
    model = NOISE["rows"]()
    losses = []
    for limit in (2**26, 2 * 20 * V * 2, 1):
        monkeypatch.setattr(kar.evaluation.scores, "LOGITS", limit)
        losses.append(evaluate(model, batch_size=2, steps=20, samples=5, dropout_scale=1e-6).loss)
    np.testing.assert_allclose(losses, evaluate(model, batch_size=2).loss, rtol=1e-4)


@in_turns
def test_averages_of_segments():
    model = NOISE["rows"]()
    one = evaluate(model, samples=3, average=1.0, steps=20)
    assert one.tokens == 102
    losses = [evaluate(model, samples=3, average=a, steps=20).loss for a in ("geometric", 2.0)]
    assert np.isfinite(losses).all()


@pytest.mark.parametrize(("name", "arrays", "meta"), cases("mc_evaluation"))
def test_golden_averages(name, arrays, meta):
    """Of the authors' code, with its two defects repaired (see the README beside the files)."""
    logits, targets = arrays["aux.logits"], arrays["aux.targets"]
    counts = np.arange(logits.shape[-2]) < arrays["aux.lengths"][..., None]
    windows, rows = logits.shape[1:3]
    temperatures = [float(t) for t in meta["config"]["temperatures"]]

    def loss(log_p):
        return [-each[counts].sum() / counts.sum() for each in log_p]

    def scored(logits):
        """All windows and rows are rows of one batch here."""
        flat = logits.reshape(-1, *logits.shape[-2:]).astype("float32")
        scores = Scores(lambda ids, training: ops.convert_to_tensor(flat), temperatures, len(flat) // windows // rows)
        ids = targets.reshape(-1, targets.shape[-1]).astype("int32")
        found = as_numpy(scores({"ids": ids, "targets": ids})).astype("float64")
        # Samples, temperatures, windows, rows, steps.
        return found.transpose(1, 3, 0, 2).reshape(-1, len(temperatures), *targets.shape)

    expected = {a: [arrays[f"xe.{a}_t{t:g}"] for t in temperatures] for a in ("arithmetic", "deterministic")}
    np.testing.assert_allclose(loss(scored(arrays["aux.logits_deterministic"])[0]), expected["deterministic"], 1e-5)
    mean = LogPowerMean(1.0)
    for log_p in scored(logits):
        mean.add(log_p)
    np.testing.assert_allclose(loss(mean.value()), expected["arithmetic"], rtol=1e-5)

    log_p = logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True)
    powers = {f"power_{p:g}": p for p in meta["config"]["powers"]}
    for name, power in {"geometric": 0.0, **powers}.items():
        mean = LogPowerMean(power)
        for each in log_p:
            mean.add(each)
        losses = loss(renormalized(mean.value(), targets, temperatures))
        for t, found in zip(temperatures, losses, strict=True):
            # The code's geometric average does not see the temperature.
            if name != "geometric" or t == 1:
                key = f"xe.{name}_t{t:g}"
                key = key.replace("_t", "_repaired_t") if key.replace("_t", "_repaired_t") in arrays else key
                np.testing.assert_allclose(found, arrays[key], rtol=1e-5)


# Temperature.


@in_turns
def test_the_temperature_of_doubled_logits_is_half():
    model = language_model()
    dense = model.layers[-1]
    # Of an untrained model, the best is far below one.
    grid = {"low": 0.02, "high": 0.4, "step": 0.01, "verbose": False}
    first, curve = evaluation.tune_temperature(model, TEXT, **grid)
    assert 0.03 < first < 0.4
    dense.set_weights([2 * w for w in dense.get_weights()])
    second, _ = evaluation.tune_temperature(model, TEXT, **grid)
    assert abs(second - first / 2) <= 0.0051
    for t in (0.4, first):
        np.testing.assert_allclose(curve[t], evaluate(model, temperature=t / 2).loss, rtol=1e-5)


@in_turns
def test_the_temperature_uses_the_start_of_the_text_and_does_not_depend_on_rows():
    model = language_model()
    grid = {"low": 0.8, "high": 1.0, "step": 0.1, "verbose": False}
    _, curve = evaluation.tune_temperature(model, TEXT, tokens=45, steps=20, **grid)
    assert list(curve) == [1.0, 0.9, 0.8]
    np.testing.assert_allclose(curve[0.9], evaluate(model, TEXT[:41], temperature=0.9).loss, rtol=1e-5)
    twice = np.concatenate([TEXT, TEXT])
    _, rows = evaluation.tune_temperature(model, twice, batch_size=2, **grid)
    np.testing.assert_allclose(list(rows.values()), [evaluate(model, temperature=t).loss for t in rows], rtol=1e-5)
    _, sampled = evaluation.tune_temperature(NOISE["rows"](), TEXT, samples=3, **grid)
    assert len(sampled) == 3


def mixture(temperature=1.0):
    keras.utils.set_random_seed(1)
    start = keras.initializers.RandomNormal(stddev=2.0)
    embedding = kar.TiedEmbedding(V, 4, word_dropout=0.2, embeddings_initializer=start)
    ids = keras.Input(batch_shape=(3, None), dtype="int32")
    x = kar.RNN(kar.LSTMCell(5), stateful=True, return_sequences=True)(embedding(ids))
    return keras.Model(ids, kar.MixtureOfSoftmaxes(3, embedding, temperature=temperature, kernel_initializer=start)(x))


@in_turns
def test_the_temperature_acts_inside_a_mixture():
    model, half = mixture(), mixture(0.5)
    half.set_weights(model.get_weights())
    grid = {"low": 0.25, "high": 1.0, "step": 0.25, "verbose": False}
    _, curve = evaluation.tune_temperature(model, TEXT, **grid)
    expected = evaluate(half).loss
    np.testing.assert_allclose([curve[0.5], evaluate(model, temperature=0.5).loss], expected, rtol=1e-5)
    np.testing.assert_allclose(curve[1.0], evaluate(model).loss, rtol=1e-5)
    np.testing.assert_allclose(evaluate(half, temperature=0.5).loss, curve[0.25], rtol=1e-5)
    assert len({round(loss, 3) for loss in curve.values()}) == 4
    # One draw of words a batch: samples run one after the other.
    assert not rows_are_samples(noisy_parts(model))
    assert abs(evaluate(model, samples=2).loss - curve[1.0]) > 1e-3


@pytest.mark.parametrize(("name", "arrays", "meta"), cases("temperature_search"))
def test_golden_search(name, arrays, meta):
    config = meta["config"]
    for n, found in enumerate(arrays["found"]):
        tried, losses = arrays[f"tried.{n}"], arrays[f"xe.{n}"].tolist()
        grid = _grid(float(-arrays["limit"][n]), config["start"], config["step"])
        # What the code did not try would be better than all that it tried.
        losses += [min(losses) - 1] * (len(grid) - len(losses))
        best, curve = search(grid, losses, config["patience"])
        np.testing.assert_allclose(list(curve), tried, rtol=1e-9)
        np.testing.assert_allclose(best, found, rtol=1e-9)


# Dynamic evaluation.


def dynamic(model, ids=TEXT, statistics=TEXT, **arguments):
    return evaluation.dynamic_evaluate(model, ids, statistics, verbose=False, **arguments)


@in_turns
def test_a_model_that_does_not_adapt_is_static():
    # With all that must not act: dropout, a regularizer, and an added loss.
    model = language_model(kar.LSTMCell(5, recurrent_dropout=0.5, kernel_regularizer="l2"), dropout=0.5)
    seen = dynamic(model, statistics_batch_size=2, learning_rate=0.0, decay=0.0)
    np.testing.assert_allclose(seen.loss, evaluate(model, steps=5).loss, rtol=1e-5)
    assert seen.tokens == 102


def test_log_probs_of_a_model_that_adapts():
    """Those of a segment come from the weights that have learned from the segments before it."""
    model, form = language_model(), {"statistics_batch_size": 2, "learning_rate": 0.1, "decay": 0.1}
    seen = dynamic(model, TEXT[:13], **form)
    assert seen.log_probs.shape == (1, seen.tokens) == (1, 12)
    states = OwnStates(model, 1)
    for start in (0, 5, 10):
        adapted = language_model()
        if start:
            dynamic(adapted, TEXT[: start + 1], restore=False, **form)
        model.set_weights(adapted.get_weights())
        ids, targets = TEXT[start : min(start + 5, 12)], TEXT[start + 1 : start + 6][: 12 - start]
        with states:
            z = as_numpy(ops.log_softmax(model(ids[None]), axis=-1))[0]
        expected = z[np.arange(len(ids)), targets]
        np.testing.assert_allclose(seen.log_probs[0, start : start + 5], expected, rtol=1e-4, atol=1e-5)


def seeded():
    """A language model whose noise depends on the seed alone, on PyTorch too."""
    keras.utils.set_random_seed(0)
    ids = keras.Input(batch_shape=(3, None), dtype="int32")
    x = keras.layers.Embedding(V, 4, embeddings_initializer=keras.initializers.RandomNormal(stddev=2.0))(ids)
    x = keras.layers.SpatialDropout1D(0.4, seed=1)(x)
    x = kar.RNN(kar.LSTMCell(5, recurrent_dropout=0.3, seed=2), stateful=True, return_sequences=True)(x)
    return keras.Model(ids, keras.layers.Dense(V, kernel_initializer=keras.initializers.RandomNormal(stddev=1.0))(x))


AVERAGES = ["arithmetic", "geometric", 2.0]


@pytest.mark.parametrize("average", AVERAGES)
def test_samples_of_a_model_that_adapts(average):
    form = {"samples": 3, "average": average, "seed": 4, "temperature": 0.8, "dropout_scale": 0.7}
    adapts = {"statistics_batch_size": 2, "learning_rate": 0.1, "decay": 0.1}
    model = seeded()
    # If it does not adapt, they are those of `evaluate`.
    still = dynamic(model, **{**adapts, "learning_rate": 0.0, "decay": 0.0}, **form)
    static = evaluate(model, steps=5, **form).log_probs
    np.testing.assert_allclose(still.log_probs, static, rtol=1e-4, atol=1e-5)
    assert abs(still.loss - evaluate(model, temperature=0.8).loss) > 1e-4
    # The first segment is predicted before the first step.
    moved = dynamic(model, restore=False, **adapts, **form)
    np.testing.assert_allclose(moved.log_probs[:, :5], static[:, :5], rtol=1e-4, atol=1e-5)
    assert np.abs(moved.log_probs - static).max() > 1e-3
    # The steps are those without samples.
    plain = seeded()
    dynamic(plain, restore=False, **adapts)
    for a, b in zip(model.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@in_turns
@pytest.mark.parametrize(("name", "average"), one_in(4, itertools.product(NOISE, AVERAGES)))
def test_without_rates_samples_adapt_like_one_pass(name, average):
    model = NOISE[name]()
    form = {"statistics_batch_size": 2, "learning_rate": 0.1, "temperature": 0.8}
    one = dynamic(model, **form)
    many = dynamic(model, samples=2, average=average, dropout_scale=0.0, **form)
    np.testing.assert_allclose(many.log_probs, one.log_probs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("make", [language_model, lambda: mixture()], ids=["softmax", "mixture"])
def test_the_temperature_of_a_model_that_adapts(make):
    """It changes what is predicted, and not what is learned."""
    form = {"statistics_batch_size": 2, "learning_rate": 0.1}
    model, plain = make(), make()
    still = dynamic(model, learning_rate=0.0, decay=0.0, temperature=0.5, statistics_batch_size=2)
    np.testing.assert_allclose(still.log_probs, evaluate(model, temperature=0.5).log_probs, rtol=1e-4, atol=1e-5)
    seen = dynamic(model, temperature=0.5, restore=False, **form)
    dynamic(plain, restore=False, **form)
    for a, b in zip(model.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    last = evaluate(model, temperature=0.5).loss
    assert len({round(loss, 4) for loss in (seen.loss, still.loss, last)}) == 3


def test_the_gradients_of_a_repeated_token_add_up():
    """On TensorFlow, the gradient of an embedding lists a token once for each time that it is read."""
    model, ids = language_model(), np.array([3, 3, 1, 3, 3])
    with OwnStates(model, 1) as states:
        squares = SquaredGradients()
        _EvalModeModel(model, "sum").train_on_segments(Text(ids, 1), 4, squares, 0)
        states.reset()

        def loss():
            z = ops.log_softmax(model(ids[None, :-1]), axis=-1)
            return -ops.sum(ops.take_along_axis(z, ids[None, 1:, None], axis=-1))

        _, gradients, _ = engine.gradients(loss, model.trainable_variables, [])
    for found, gradient in zip(squares.root_means(1), gradients, strict=True):
        np.testing.assert_allclose(found, np.abs(gradient), rtol=1e-4, atol=1e-6)


@in_turns
@pytest.mark.parametrize("form", [{}, {"normalize": "entries", "reduction": "sum", "steps": 8}], ids=["krause", "lamb"])
def test_a_model_that_adapts_learns_what_repeats(form):
    model = language_model()
    text = np.tile(TEXT[:100], 3)
    before = model.get_weights()
    seen = dynamic(model, text, text, statistics_batch_size=2, learning_rate=0.01, **form)
    assert seen.loss < evaluate(model, text).loss - 0.02
    for a, b in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
    dynamic(model, text, text, statistics_batch_size=2, learning_rate=0.01, restore=False, **form)
    assert evaluate(model, text).loss < seen.loss


@in_turns
def test_statistics_serve_many_evaluations():
    model = language_model()
    known = evaluation.gradient_statistics(model, TEXT, steps=4, batch_size=2, reduction="sum", verbose=False)
    assert [array.shape for array in known.root_means] == [tuple(v.shape) for v in model.trainable_variables]
    for rate in (0.01, 0.1):
        form = {"learning_rate": rate, "steps": 4, "reduction": "sum"}
        assert dynamic(model, TEXT, known, **form) == dynamic(model, TEXT, TEXT, statistics_batch_size=2, **form)
    for wrong, match in (
        ({"steps": 5, "reduction": "sum"}, "`steps` must be 4, that of `statistics`. Received: steps=5"),
        ({"steps": 4}, "`reduction` must be 'sum'"),
    ):
        with pytest.raises(ValueError, match=match):
            dynamic(model, TEXT, known, **wrong)
    with pytest.raises(ValueError, match="`statistics` must have an array for each trainable weight"):
        dynamic(language_model(kar.LSTMCell(6)), TEXT, known, steps=4, reduction="sum")
    with pytest.raises(ValueError, match=r"`ids` must have a segment of 60 tokens.*2 rows.*103"):
        evaluation.gradient_statistics(model, TEXT, steps=60, batch_size=2, verbose=False)


@in_turns
def test_weights_come_back_after_an_error(monkeypatch):
    model = language_model()
    before = model.get_weights()

    def fail(self, *segment):
        raise RuntimeError("stop")

    monkeypatch.setattr(_EvalModeModel, "train_on_batch", fail)
    with pytest.raises(RuntimeError, match="stop"):
        dynamic(model, statistics_batch_size=2, learning_rate=0.1, restore=False)
    for a, b in zip(before, model.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


class _Tied(keras.layers.Layer):
    """An embedding that is also the output layer."""

    def __init__(self, size, units):
        super().__init__()
        self.embeddings = self.add_weight(shape=(size, units))
        self.bias = self.add_weight(shape=(size,))

    def call(self, x, reverse=False):
        if reverse:
            return ops.matmul(x, ops.transpose(self.embeddings)) + self.bias
        return ops.take(self.embeddings, x, axis=0)


def krause(w):
    """Returns a model, its weights by name in the file, and how a variable looks in the file."""
    tied = _Tied(*w["embeddings.weight"].shape)
    ids = keras.Input(batch_shape=(1, None), dtype="int32")
    x, places = tied(ids), {"embeddings.weight": tied.embeddings, "decoder_bias": tied.bias}
    turn = {}
    for k in range(sum(name.endswith("weight_hh") for name in w)):
        layer = kar.RNN(kar.LSTMCell(w[f"lstm{k}.weight_hh"].shape[1]), stateful=True, return_sequences=True)
        x = layer(x)
        names = [f"lstm{k}.{part}" for part in ("weight_ih", "weight_hh", "bias")]
        places |= dict(zip(names, layer.cell.trainable_variables, strict=True))
        turn |= dict.fromkeys(names, np.transpose)
    return keras.Model(ids, tied(x, reverse=True)), places, turn


def lamb(w):
    tied = _Tied(*w["embeddings"].shape)
    ids = keras.Input(batch_shape=(1, None), dtype="int32")
    x, total = tied(ids), 0.0
    places, turn = {"embeddings": tied.embeddings, "output.bias": tied.bias}, {"output.bias": np.ravel}
    for k in range(sum(name.endswith(".W") for name in w)):
        inputs = w[f"cell_{k}.W"].shape[0] - w[f"cell_{k}.B_j"].shape[0]
        cell = kar.LSTMCell(w[f"cell_{k}.B_j"].shape[0], cap_input_gate=True)
        x = kar.RNN(cell, stateful=True, return_sequences=True)(x)
        total = x + total
        kernel, recurrent, bias = cell.trainable_variables
        places |= {f"cell_{k}.W": (kernel, recurrent), f"cell_{k}.B": bias}
        turn[f"cell_{k}.W"] = lambda a, n=inputs: np.split(reorder(a, "jofi", "ifjo"), [n])
    return keras.Model(ids, tied(total, reverse=True)), places, turn


def in_file(arrays, prefix):
    """Returns the arrays of a file with the biases of lamb's gates joined."""
    found = part(arrays, prefix)
    for name in [name for name in found if name.endswith(".B_j")]:
        cell = name.removesuffix(".B_j")
        found[f"{cell}.B"] = np.concatenate([found.pop(f"{cell}.B_{gate}") for gate in "ifjo"])
    return found


def pairs(places, turn, arrays):
    """Yields `(variable, array)` of the weights that a file names."""
    assert set(places) == set(arrays)
    for name, variables in places.items():
        array = turn.get(name, np.asarray)(arrays[name])
        many = isinstance(variables, tuple)
        yield from zip(variables, array, strict=True) if many else [(variables, array)]


def rows_of(arrays, name):
    """Returns the rows of a text, from its tokens or from windows of it."""
    if f"{name}_tokens" in arrays:
        return list(np.atleast_2d(arrays[f"{name}_tokens"]))
    source, target, lengths = (arrays[f"{name}.{key}"] for key in ("source", "target", "lengths"))
    is_token = np.arange(source.shape[-1]) < lengths[..., None]
    rows = range(source.shape[1])
    return [np.append(source[:, r][is_token[:, r]], target[:, r][is_token[:, r]][-1]) for r in rows]


@pytest.mark.parametrize(("name", "arrays", "meta"), cases("dyneval"))
def test_golden_dynamic_evaluation(name, arrays, meta):
    config, is_lamb = meta["config"], "valid.source" in arrays
    w = in_file(arrays, "w")
    model, places, turn = (lamb if is_lamb else krause)(part(arrays, "w"))
    for variable, array in pairs(places, turn, w):
        variable.assign(array.reshape(variable.shape))
    (ids,), training = rows_of(arrays, "valid" if is_lamb else "eval"), rows_of(arrays, "train")
    statistics, rows = np.concatenate(training), len(training)
    steps = config["time"] if is_lamb else config["bptt"]
    form = {"normalize": "entries", "reduction": "sum"} if is_lamb else {}
    names = ("dyneval_learning_rate", "dyneval_decay_rate", "dyneval_epsilon") if is_lamb else ("lr", "lamb", "epsilon")
    rate, decay, epsilon = (config[key] for key in names)

    with OwnStates(model, rows):
        squares = SquaredGradients()
        eval_model = _EvalModeModel(model, form.get("reduction", "mean"))
        count = eval_model.train_on_segments(Text(statistics, rows), steps, squares, 0, shortest=2)
    found = squares.root_means(count)
    order = {id(variable): k for k, variable in enumerate(model.trainable_variables)}
    for variable, array in pairs(places, turn, in_file(arrays, "rms")):
        np.testing.assert_allclose(found[order[id(variable)]], array.reshape(variable.shape), rtol=1e-4, atol=1e-6)
    if "decay_rate.decoder_bias" in arrays:
        decay_rates = _decay_rates(found, decay, "tensors")
        for variable, array in pairs(places, turn, in_file(arrays, "decay_rate")):
            expected = np.minimum(1, decay * array.reshape(variable.shape))
            np.testing.assert_allclose(decay_rates[order[id(variable)]], expected, rtol=1e-4)

    before = model.get_weights()
    # TensorFlow compiles longest.
    for key in ("all",) if keras.backend.backend() == "tensorflow" else (3, "all"):
        model.set_weights(before)
        read = ids if key == "all" else ids[: key * steps + 1]
        seen = dynamic(
            model,
            read,
            statistics,
            steps=steps,
            statistics_batch_size=rows,
            learning_rate=rate,
            decay=decay,
            epsilon=epsilon,
            restore=False,
            **form,
        )
        expected = arrays[f"valid_xe_after_{key}"] if is_lamb else np.log(arrays[f"perplexity_after_{key}"])
        np.testing.assert_allclose(seen.loss, expected, rtol=2e-5)
        for variable, array in pairs(places, turn, in_file(arrays, f"w_after_{key}")):
            value = as_numpy(variable.value)
            np.testing.assert_allclose(value, array.reshape(variable.shape), rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize(("name", "arrays", "meta"), cases("lamb_training"))
def test_golden_evaluation(name, arrays, meta):
    """After the last turn of a training, with averaged weights and at the temperature that the source has found."""
    model, places, turn = lamb({key: array[0] for key, array in part(arrays, "seq.w").items()})
    last = len(arrays["averaging"]) - 1
    assert arrays["averaging"][last]
    averages = {f"w.{key}": array[last] for key, array in part(arrays, "seq.average").items()}
    for variable, value in pairs(places, turn, in_file(averages, "w")):
        variable.assign(value.reshape(variable.shape))
    for text in ("valid", "test"):
        seen = [evaluate(model, row, temperature=arrays["temperature"][last]) for row in rows_of(arrays, text)]
        found = np.average([each.loss for each in seen], weights=[each.tokens for each in seen])
        np.testing.assert_allclose(found, arrays[f"{text}_xe"][last], rtol=1e-5)


# The metric.


def test_perplexity_counts_tokens():
    metric = evaluation.Perplexity()
    rng = np.random.default_rng(0)
    pieces = [(rng.integers(0, V, (2, n)), rng.normal(size=(2, n, V))) for n in (5, 1, 9)]
    for y, z in pieces:
        metric.update_state(y, z)
    losses = [np.logaddexp.reduce(z, axis=-1) - np.take_along_axis(z, y[..., None], -1)[..., 0] for y, z in pieces]
    joined = np.concatenate([each.reshape(-1) for each in losses])
    np.testing.assert_allclose(float(metric.result()), np.exp(joined.mean()), rtol=1e-5)
    metric.reset_state()
    y, z = pieces[0]
    metric.update_state(y, z, sample_weight=[0, 1])
    np.testing.assert_allclose(float(metric.result()), np.exp(losses[0][1].mean()), rtol=1e-5)
    ignoring = evaluation.Perplexity(ignore_class=int(y[0, 0]), from_logits=False)
    p = np.exp(z - np.logaddexp.reduce(z, axis=-1, keepdims=True))
    ignoring.update_state(y, p)
    np.testing.assert_allclose(float(ignoring.result()), np.exp(losses[0][y != y[0, 0]].mean()), rtol=1e-5)
    again = evaluation.Perplexity.from_config(ignoring.get_config())
    assert (again.ignore_class, again.from_logits) == (ignoring.ignore_class, False)


@pytest.mark.parametrize("axes", [(4,), (4, 3)], ids=["last step", "every step"])
@pytest.mark.parametrize("more", [(), (1,)])
def test_perplexity_of_classes_with_a_last_axis_of_one(axes, more, rng):
    y, z, weight = rng.integers(0, V, axes), rng.normal(size=(*axes, V)), rng.random(axes)
    metric = evaluation.Perplexity()
    metric.update_state(y.reshape(*axes, *more), z, weight.reshape(*axes, *more))
    losses = np.logaddexp.reduce(z, axis=-1) - np.take_along_axis(z, y[..., None], -1)[..., 0]
    np.testing.assert_allclose(float(metric.result()), np.exp(np.average(losses, weights=weight)), rtol=1e-5)


def test_perplexity_does_not_lose_digits():
    metric = evaluation.Perplexity()
    metric.total.assign(3e7)
    metric.count.assign(0.0)
    z = np.zeros((1, 1, V), "float32")
    for _ in range(200):
        metric.update_state([[0]], z)
    total = float(as_numpy(metric.total)) - float(as_numpy(metric.lost))
    np.testing.assert_allclose(total - 3e7, 200 * np.log(V), atol=2)


@in_turns
def test_perplexity_in_training_sees_masks():
    model = keras.Sequential([keras.layers.Embedding(V, 4, mask_zero=True), kar.LSTM(5, return_sequences=True)])
    model.add(keras.layers.Dense(V))
    x = np.array([[1, 2, 3, 0], [4, 0, 0, 0]])
    y = np.array([[2, 3, 4, 5], [5, 6, 6, 6]])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="mean_with_sample_weight")
    model.compile("sgd", loss, metrics=[evaluation.Perplexity()])
    seen = model.evaluate(x, y, verbose=0, return_dict=True)
    np.testing.assert_allclose(seen["perplexity"], np.exp(seen["loss"]), rtol=1e-5)


# Errors.


def plain(*layers):
    return keras.Sequential([keras.Input(batch_shape=(2, None), dtype="int32"), keras.layers.Embedding(V, 4), *layers])


@in_turns
def test_errors_of_models():
    stateful = {"stateful": True, "return_sequences": True}
    with pytest.raises(ValueError, match=r"stateful recurrent layer.*has none"):
        evaluate(plain(kar.LSTM(V, return_sequences=True)))
    with pytest.raises(ValueError, match=r"must return logits \(batch, time, vocabulary\).*return_sequences"):
        evaluate(plain(kar.LSTM(V, stateful=True)))
    with pytest.raises(ValueError, match="layers of this package"):
        evaluate(plain(keras.layers.LSTM(V, **stateful)))
    for last in (keras.layers.Dense(V, activation="softmax"), keras.layers.Softmax()):
        with pytest.raises(ValueError, match="returns probabilities"):
            evaluate(plain(kar.LSTM(V, **stateful), last))
    with pytest.raises(TypeError, match="`model` must be a Keras model"):
        evaluate(kar.LSTM(3))
    with pytest.raises(ValueError, match=r"`samples` must be 0 for a model without dropout.*samples=2"):
        evaluate(language_model(), samples=2)
    with pytest.raises(ValueError, match="every rate below 1"):
        evaluate(NOISE["rows"](), samples=2, dropout_scale=2.5)


@in_turns
@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"ids": TEXT + 1}, ValueError, "ids from 0 to 6.*from 1 to 7"),
        ({"ids": TEXT - 1}, ValueError, "from -1 to 5"),
        ({"ids": TEXT[:1]}, ValueError, "at least two tokens.*1 tokens"),
        ({"ids": TEXT[:3], "batch_size": 2}, ValueError, "at least two tokens.*2 rows"),
        ({"ids": TEXT[None]}, ValueError, "rank 1"),
        ({"ids": TEXT / 2}, TypeError, "integers"),
        ({"ids": "text"}, TypeError, "`ids`"),
        ({"steps": 0}, ValueError, "`steps`"),
        ({"samples": -1}, ValueError, "`samples`"),
        ({"average": "harmonic"}, ValueError, "`average`.*'arithmetic', 'geometric'"),
        ({"average": 0}, ValueError, "`average`"),
        ({"temperature": 0}, ValueError, "`temperature`"),
        ({"dropout_scale": -1}, ValueError, "`dropout_scale`"),
        ({"batch_size": 1.5}, TypeError, "`batch_size`"),
    ],
)
def test_errors_of_arguments(arguments, error, match):
    with pytest.raises(error, match=match):
        evaluate(language_model(), **arguments)


@in_turns
def test_errors_of_dynamic_evaluation():
    model = language_model()
    with pytest.raises(ValueError, match=r"`statistics` must have a segment of 5 tokens.*103 tokens"):
        dynamic(model, statistics_batch_size=40)
    for arguments, match in (
        ({"normalize": "rows"}, "`normalize`"),
        ({"reduction": "none"}, "`reduction`"),
        ({"epsilon": 0}, "`epsilon`"),
        ({"temperature": 0}, "`temperature`"),
        ({"average": "harmonic"}, "`average`"),
        ({"samples": 2}, "`samples` must be 0 for a model without dropout"),
        ({"statistics": TEXT + 1, "statistics_batch_size": 2}, "`statistics` must hold ids from 0 to 6"),
        ({"ids": TEXT + 1, "statistics_batch_size": 2}, "`ids` must hold ids from 0 to 6"),
    ):
        with pytest.raises(ValueError, match=match):
            dynamic(model, **arguments)
    with pytest.raises(ValueError, match="`high`"):
        evaluation.tune_temperature(model, TEXT, low=0.9, high=0.8, verbose=False)
    model.trainable = False
    with pytest.raises(ValueError, match="trainable weights"):
        dynamic(model, statistics_batch_size=2)
