"""What trains a language model: tied embeddings, penalties, averages, streams of tokens."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from examples import synthetic
from keras_adaptive_rnn import engine
from keras_adaptive_rnn._keras import replaced
from tests.backends import alternating, in_turns, nightly

pytestmark = alternating

CROSS_ENTROPY = keras.losses.SparseCategoricalCrossentropy
# For what is not about compiled steps, and would compile many models on TensorFlow.
QUICKLY = {"run_eagerly": keras.backend.backend() == "tensorflow"}


def numpy(x):
    return np.array(ops.convert_to_numpy(x))


# TiedEmbedding.


def test_gradients_of_both_uses_add_up(rng):
    layer = kar.TiedEmbedding(5, 3)
    layer.build()
    tokens, z = rng.integers(0, 5, size=(2, 4)), ops.convert_to_tensor(rng.normal(size=(2, 4, 3)).astype("float32"))

    def loss(use="both"):
        total = 0.0
        if use in ("take", "both"):
            total += ops.sum(ops.sin(layer(tokens)))
        if use in ("reverse", "both"):
            total += ops.sum(ops.sin(layer(z, reverse=True)))
        return total

    _, (both, _), _ = engine.gradients(loss, layer.trainable_variables, [])
    _, (take, _), _ = engine.gradients(lambda: loss("take"), layer.trainable_variables, [])
    _, (reverse, _), _ = engine.gradients(lambda: loss("reverse"), layer.trainable_variables, [])
    np.testing.assert_allclose(both, numpy(take) + numpy(reverse), atol=1e-5)
    # Finite differences, of which single precision leaves two digits.
    start, step = numpy(layer.embeddings), 1e-2
    for place in [(0, 0), (3, 2), (4, 1)]:
        values = []
        for sign in (1, -1):
            moved = start.copy()
            moved[place] += sign * step
            layer.embeddings.assign(moved)
            values.append(float(numpy(ops.stop_gradient(loss()))))
        assert (values[0] - values[1]) / (2 * step) == pytest.approx(numpy(both)[place], abs=1e-2)


def test_a_dropped_word_is_dropped_everywhere(rng):
    layer = kar.TiedEmbedding(400, 3, word_dropout=0.25, embeddings_initializer="ones", seed=1)
    tokens = rng.integers(0, 400, size=(6, 300))
    draws = np.array([numpy(layer(tokens, training=True)) for _ in range(3)])
    for x in draws:
        for word in range(0, 400, 40):
            assert len(np.unique(x[tokens == word])) <= 1
    assert set(np.unique(draws.round(4))) == {0.0, np.float32(1 / 0.75).round(4)}
    assert not np.array_equal(draws[0], draws[1])
    factors = np.concatenate([numpy(layer.draw_factors()) for _ in range(40)])
    assert factors.mean() == pytest.approx(1, abs=0.02)
    # Neither the logits nor inference see it.
    assert (numpy(layer(draws[0], reverse=True, training=True)) == numpy(layer(draws[0], reverse=True))).all()
    assert (numpy(layer(tokens)) == 1).all()


def tied_model(rows=None, mixture=False, dropout=0.0, vocabulary=7, units=4, stateful=True, **arguments):
    embedding = kar.TiedEmbedding(vocabulary, units, **arguments)
    inputs = keras.Input(batch_shape=(rows, None), dtype="int32")
    raw = kar.LSTM(units, return_sequences=True, stateful=stateful)(embedding(inputs))
    x = keras.layers.SpatialDropout1D(dropout)(raw) if dropout else raw
    if dropout:
        x = kar.ActivationRegularization()(x, raw)
    logits = kar.MixtureOfSoftmaxes(2, embedding)(x) if mixture else embedding(x, reverse=True)
    return keras.Model(inputs, logits)


@pytest.mark.parametrize("mixture", [False, True])
def test_a_tied_matrix_is_one_variable_in_files_too(tmp_path, rng, mixture):
    model = tied_model(mixture=mixture, word_dropout=0.1, stateful=False)
    assert sum(weight.shape == (7, 4) for weight in model.weights) == 1
    assert len({id(weight) for weight in model.weights}) == len(model.weights)
    tokens = rng.integers(0, 7, size=(2, 5))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert [w.shape for w in loaded.weights] == [w.shape for w in model.weights]
    np.testing.assert_allclose(numpy(loaded(tokens)), numpy(model(tokens)), atol=1e-6)
    # Still tied: the matrix is changed once, and both uses see it.
    (embedding,) = [layer for layer in loaded.layers if isinstance(layer, kar.TiedEmbedding)]
    embedding.embeddings.assign(ops.zeros((7, 4)))
    assert len(np.unique(numpy(loaded(tokens)).round(5))) == 1


def test_tied_embeddings_in_half_precision(rng):
    layer = kar.TiedEmbedding(3000, 4, dtype="mixed_float16")
    tokens = np.array([[2049.0, 2051.0]], "float32")
    x = layer(tokens)
    assert keras.backend.standardize_dtype(x.dtype) == "float16"
    assert layer.embeddings.dtype == "float32"
    np.testing.assert_allclose(numpy(x)[0], numpy(layer.embeddings)[[2049, 2051]], atol=1e-3)
    assert keras.backend.standardize_dtype(layer(x, reverse=True).dtype) == "float16"


# ActivationRegularization.


def test_penalties_are_added_in_training_only(rng):
    model = tied_model(dropout=0.5, stateful=False)
    model.compile("sgd", CROSS_ENTROPY(from_logits=True), metrics=[CROSS_ENTROPY(from_logits=True, name="xe")])
    x, y = rng.integers(0, 7, size=(2, 2, 5))
    model.get_layer(index=1).embeddings.assign(10 * rng.normal(size=(7, 4)))
    logs = model.evaluate(x, y, return_dict=True, verbose=0)
    assert logs["loss"] == pytest.approx(
        float(CROSS_ENTROPY(from_logits=True)(y, model.predict(x, verbose=0))), rel=1e-5
    )
    model(x, training=True)
    assert len(model.losses) == 1
    assert numpy(model.losses[0]) > 0.01
    model(x)
    assert not model.losses


def test_masked_steps_are_in_no_mean(rng):
    dropped, raw = rng.normal(size=(2, 3, 6, 4)).astype("float32")
    mask = np.arange(6) < np.array([6, 3, 0])[:, None]
    dropped[~mask], raw[~mask] = np.inf, 1e30
    layer = kar.ActivationRegularization(2.0, 1.0)
    layer(dropped, raw, mask=mask, training=True)
    steps = np.concatenate([dropped[0], dropped[1, :3]])
    changes = np.concatenate([np.diff(raw[0], axis=0), np.diff(raw[1, :3], axis=0)])
    assert float(layer.losses[0]) == pytest.approx(2 * (steps**2).mean() + (changes**2).mean(), rel=1e-5)


@pytest.mark.parametrize("mask", [None, np.ones((2, 1), bool), np.zeros((2, 1), bool)])
def test_one_step_has_no_change(mask):
    layer = kar.ActivationRegularization(0.0, 1.0)
    layer(np.ones((2, 1, 4), "float32"), np.ones((2, 1, 4), "float32"), mask=mask, training=True)
    assert float(layer.losses[0]) == 0


def test_the_mask_passes_through():
    inputs = keras.Input((None,), dtype="int32")
    raw = kar.LSTM(4, return_sequences=True)(keras.layers.Embedding(5, 3, mask_zero=True)(inputs))
    x = kar.ActivationRegularization()(raw, raw)
    last = keras.Model(inputs, kar.LSTM(2)(x))
    tokens = np.array([[1, 2, 0, 0]])
    np.testing.assert_allclose(numpy(last(tokens)), numpy(last(tokens[:, :2])), atol=1e-6)


# MixtureOfSoftmaxes.


def test_a_mixture_is_a_distribution_and_one_expert_is_a_softmax(rng):
    h = rng.normal(size=(2, 3, 6)).astype("float32")
    many, one = kar.MixtureOfSoftmaxes(3, 9), kar.MixtureOfSoftmaxes(1, kar.TiedEmbedding(9, 4), temperature=0.7)
    np.testing.assert_allclose(np.exp(numpy(many(h))).sum(-1), 1, atol=1e-5)
    latent = np.tanh(h @ numpy(one_built(one, h).latent.kernel) + numpy(one.latent.bias))
    logits = 0.7 * (latent @ numpy(one.embedding.embeddings).T + numpy(one.embedding.bias))
    np.testing.assert_allclose(numpy(one(h)), numpy(ops.log_softmax(logits.astype("float32"))), atol=1e-5)


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_a_mixture_is_precise_in_half_precision(rng, policy):
    h = rng.normal(size=(2, 3, 6)).astype("float32")
    # Words whose probability half precision does not hold.
    layer = one_built(kar.MixtureOfSoftmaxes(2, 9, epsilon=1e-8, dtype=policy), h)
    layer.embedding.bias.assign([0.0] * 8 + [-40.0])
    log_p = layer(h)
    assert keras.backend.standardize_dtype(log_p.dtype) == "float32"
    assert keras.backend.standardize_dtype(layer(keras.Input((3, 6))).dtype) == "float32"
    np.testing.assert_allclose(np.exp(numpy(log_p)).sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(numpy(log_p)[..., 8], np.log(1e-8), atol=1e-3)


def one_built(layer, h):
    layer(h)
    return layer


def test_a_mixture_breaks_the_softmax_bottleneck(rng):
    h = 3 * rng.normal(size=(60, 8)).astype("float32")
    size = 4

    def rank(layer):
        layer.build(h.shape)
        for weight in layer.weights:
            weight.assign(2 * rng.normal(size=weight.shape))
        # In double precision from here on, so that the rank is that of the function.
        log_p = numpy(layer(h)).astype("float64")
        return np.linalg.matrix_rank(log_p, tol=1e-3 * np.linalg.norm(log_p, 2))

    embedding = {"vocabulary_size": 30, "units": size}
    assert rank(kar.MixtureOfSoftmaxes(1, kar.TiedEmbedding(**embedding))) <= size + 2
    assert rank(kar.MixtureOfSoftmaxes(3, kar.TiedEmbedding(**embedding))) > size + 2


def test_latent_dropout_is_locked_over_time(rng):
    layer = kar.MixtureOfSoftmaxes(2, 5, dropout=0.5)
    factors = numpy(layer.draw_factors((3, 7, 8)))
    assert factors.shape == (3, 1, 8)
    assert set(np.unique(factors)) == {0.0, 2.0}
    h = np.ones((3, 7, 4), "float32")
    trained = numpy(layer(h, training=True))
    np.testing.assert_allclose(trained, np.repeat(trained[:, :1], 7, axis=1), atol=1e-5)
    assert not np.allclose(trained, numpy(layer(h)))
    assert tuple(layer(h[:, 0], training=True).shape) == (3, 5)


# Averaged.


def regression(optimizer, **arguments):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4, "tanh"), keras.layers.Dense(1)])
    model.compile(optimizer, "mse", **arguments)
    return model


@pytest.fixture
def data(rng):
    return rng.normal(size=(24, 3)).astype("float32"), rng.normal(size=(24, 1)).astype("float32")


class Iterates(keras.callbacks.Callback):
    """Records the weights after each step, and averages from a step on."""

    def __init__(self, start=0):
        super().__init__()
        self.start, self.weights = start, []

    def on_train_batch_begin(self, batch, logs=None):
        if len(self.weights) == self.start:
            averaged(self.model).averaging.assign(1)

    def on_train_batch_end(self, batch, logs=None):
        self.weights.append([numpy(w) for w in self.model.trainable_variables])


def averaged(model):
    return (
        getattr(model.optimizer, "inner_optimizer", None)
        if not isinstance(model.optimizer, kar.optimizers.Averaged)
        else model.optimizer
    )


def mean(iterates):
    return [np.mean(weights, axis=0) for weights in zip(*iterates, strict=True)]


def same(ours, theirs, **tolerance):
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(numpy(a), numpy(b), **(tolerance or {"rtol": 1e-5, "atol": 1e-6}))


@pytest.mark.parametrize("skip", [0, 2])
def test_the_average_is_the_mean_of_the_iterates(data, skip):
    iterates = Iterates(start=3)
    model = regression(kar.optimizers.Averaged(keras.optimizers.Adam(0.05), skip))
    model.fit(*data, batch_size=4, epochs=2, shuffle=False, verbose=0, callbacks=[iterates])
    same(model.optimizer.averages, mean(iterates.weights[3 + skip :]))
    # The steps are those of the optimizer inside.
    plain = regression(keras.optimizers.Adam(0.05))
    plain.fit(*data, batch_size=4, epochs=2, shuffle=False, verbose=0)
    same(model.weights, plain.weights)


def test_steps_that_accumulate_gradients_do_not_count(data):
    iterates = Iterates()
    inner = keras.optimizers.SGD(0.1, gradient_accumulation_steps=2)
    model = regression(kar.optimizers.Averaged(inner))
    model.fit(*data, batch_size=4, epochs=1, shuffle=False, verbose=0, callbacks=[iterates])
    assert float(numpy(model.optimizer.count)) == 3
    assert int(numpy(model.optimizer.iterations)) == 3
    same(model.optimizer.averages, mean(iterates.weights[1::2]))


def test_averages_inside_a_loss_scale_optimizer(data):
    iterates = Iterates()
    optimizer = keras.optimizers.LossScaleOptimizer(
        kar.optimizers.Averaged(keras.optimizers.SGD(0.1)), initial_scale=8.0
    )
    model = regression(optimizer)
    model.fit(*data, batch_size=8, epochs=1, shuffle=False, verbose=0, callbacks=[iterates])
    same(averaged(model).averages, mean(iterates.weights))
    plain = regression(keras.optimizers.SGD(0.1))
    plain.fit(*data, batch_size=8, epochs=1, shuffle=False, verbose=0)
    same(model.weights, plain.weights)


def test_a_saved_average_goes_on(tmp_path, data):
    def run(model, **arguments):
        return model.fit(*data, batch_size=8, shuffle=False, verbose=0, **arguments)

    whole, parts = (regression(kar.optimizers.Averaged(keras.optimizers.SGD(0.1, momentum=0.9), 1)) for _ in range(2))
    run(whole, epochs=3, callbacks=[Iterates()])
    run(parts, epochs=1, callbacks=[Iterates()])
    parts.optimizer.notes["what"] = np.arange(3.0)
    parts.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert isinstance(loaded.optimizer, kar.optimizers.Averaged)
    np.testing.assert_array_equal(loaded.optimizer.notes["what"], np.arange(3.0))
    run(loaded, epochs=3, initial_epoch=1)
    same(loaded.weights, whole.weights)
    same(loaded.optimizer.averages, whole.optimizer.averages)


ASGD = {"lr": 0.1, "lambd": 0.01, "alpha": 0.6, "t0": 5, "weight_decay": 0.02}


def asgd(lr, lambd, alpha, t0, weight_decay):
    rate = kar.optimizers.InversePowerDecay(lr, decay_steps=1, decay_rate=lambd * lr, power=alpha)
    inner = keras.optimizers.SGD(rate, weight_decay=lambd + weight_decay)
    return kar.optimizers.Averaged(inner, skip=1, start=t0)


def asgd_by_hand(weight, gradients, lr, lambd, alpha, t0, weight_decay):
    """Returns the weights and averages after each step of `torch.optim.ASGD`, from its equations, in NumPy."""
    weights, averages, average = [], [], None
    for n, gradient in enumerate(gradients):
        eta, mu = lr / (1 + lambd * lr * n) ** alpha, 1 / max(1, n - t0)
        weight = weight * (1 - lambd * eta) - eta * (gradient + weight_decay * weight)
        average = weight if average is None else average + mu * (weight - average)
        weights.append(weight)
        averages.append(average)
    return weights, averages


def asgd_of_torch(weight, gradients, **arguments):
    """The same, from `torch.optim.ASGD`."""
    import torch

    weight, weights, averages = torch.nn.Parameter(torch.tensor(weight)), [], []
    optimizer = torch.optim.ASGD([weight], **arguments)
    for gradient in gradients:
        weight.grad = torch.tensor(gradient)
        optimizer.step()
        weights.append(weight.detach().numpy().copy())
        averages.append(optimizer.state[weight]["ax"].numpy().copy())
    return weights, averages


@pytest.mark.parametrize("arguments", [ASGD, {**ASGD, "alpha": 0.75, "weight_decay": 0.0}, {**ASGD, "t0": 0}])
def test_averaged_sgd_is_asgd(rng, arguments):
    # Below one, where single precision has seven digits.
    start, gradients = rng.uniform(-0.5, 0.5, (3, 4)), rng.normal(scale=0.1, size=(100, 3, 4))
    expected = [asgd_by_hand(start, gradients, **arguments)]
    start, gradients = start.astype("float32"), gradients.astype("float32")
    if keras.backend.backend() == "torch":
        expected.append(asgd_of_torch(start, gradients, **arguments))
    optimizer, weight, found = asgd(**arguments), keras.Variable(start), ([], [])
    optimizer.build([weight])
    for gradient in gradients:
        optimizer.apply([ops.convert_to_tensor(gradient)])
        for steps, variable in zip(found, (weight, optimizer.averages[0]), strict=True):
            steps.append(numpy(variable))
    for weights, averages in expected:
        np.testing.assert_allclose(found[0], weights, rtol=0, atol=1e-6)
        np.testing.assert_allclose(found[1], averages, rtol=0, atol=1e-6)


def test_an_average_starts_by_itself(tmp_path, data):
    """In `fit`, also if the model is saved before the start, and loaded."""
    iterates, parts = Iterates(start=np.inf), [slice(12), slice(12, 24), slice(24)]

    def run(model, rows, **arguments):
        model.fit(data[0][rows], data[1][rows], batch_size=4, shuffle=False, verbose=0, **arguments)

    whole, loaded = (regression(asgd(**ASGD)) for _ in range(2))
    for rows in parts:
        run(whole, rows, callbacks=[iterates])
        run(loaded, rows)
        loaded.save(tmp_path / "model.keras")
        loaded = keras.models.load_model(tmp_path / "model.keras")
    for model in (whole, loaded):
        same(model.weights, iterates.weights[-1])
        same(model.optimizer.averages, mean(iterates.weights[6:]))


def test_a_config_without_a_start_loads():
    """As files have it that were written before there was one."""
    config = kar.optimizers.Averaged("sgd", skip=2).get_config()
    del config["start"]
    optimizer = kar.optimizers.Averaged.from_config(config)
    assert (optimizer.skip, optimizer.start, float(numpy(optimizer.averaging))) == (2, None, 0.0)


def test_the_trigger_evaluates_an_average_that_starts_by_itself(data):
    """What `fit` validates are the weights up to the start, and then the averages."""
    model, iterates, look = regression(asgd(**ASGD)), Iterates(start=np.inf), Look()
    trigger = kar.callbacks.AveragingTrigger("val_loss", restore_best_weights=False)
    for _ in range(2):  # Each `fit` starts anew.
        iterates.weights.clear()
        callbacks = [trigger, iterates, look]
        model.fit(*data, batch_size=8, epochs=4, shuffle=False, verbose=0, validation_data=data, callbacks=callbacks)
        for epoch, tested in enumerate(look.seen["tested"][-4:]):
            weights = iterates.weights[: 3 * epoch + 3]
            same(tested, mean(weights[6:] or weights[-1:]))


def test_swapping_twice_changes_no_bit(data):
    model = regression(kar.optimizers.Averaged("sgd"), **QUICKLY)
    with pytest.raises(ValueError, match="needs averages"):
        model.optimizer.swap()
    model.fit(*data, epochs=1, verbose=0, callbacks=[Iterates()])
    before = [numpy(w) for w in (*model.weights, *model.optimizer.averages)]
    model.optimizer.swap()
    same(model.weights, model.optimizer.averages and before[4:], rtol=0, atol=0)
    model.optimizer.swap()
    same([*model.weights, *model.optimizer.averages], before, rtol=0, atol=0)


# AveragingTrigger.


class Look(keras.callbacks.Callback):
    """Records the weights after the last step of an epoch, in validation, and at the end of the epoch."""

    def __init__(self):
        super().__init__()
        self.seen = {name: [] for name in ("trained", "tested", "ended")}

    def _look(self, name):
        self.seen[name].append([numpy(w) for w in self.model.weights])

    def on_train_batch_end(self, batch, logs=None):
        self._last = [numpy(w) for w in self.model.weights]

    def on_test_begin(self, logs=None):
        self._look("tested")

    def on_epoch_end(self, epoch, logs=None):
        self.seen["trained"].append(self._last)
        self._look("ended")


def test_validation_and_checkpoints_see_the_averages(tmp_path, data):
    model = regression(kar.optimizers.Averaged(keras.optimizers.SGD(0.2)))
    trigger, look = kar.callbacks.AveragingTrigger("val_loss", latest=1, restore_best_weights=False), Look()
    path = str(tmp_path / "{epoch}.weights.h5")
    checkpoint = keras.callbacks.ModelCheckpoint(path, save_weights_only=True)
    run = model.fit(
        *data,
        batch_size=8,
        epochs=3,
        validation_data=data,
        verbose=0,
        shuffle=False,
        callbacks=[trigger, look, checkpoint],
    )
    assert run.history["averaging"] == [0, 1, 1]
    trained, tested, ended = look.seen.values()
    same(tested[0], trained[0], rtol=0, atol=0)
    for k in (1, 2):
        assert not np.array_equal(tested[k][0], trained[k][0])
        same(tested[k], ended[k], rtol=0, atol=0)
    # Training went on from the raw weights, as it would have without averages.
    plain = regression(keras.optimizers.SGD(0.2))
    plain.fit(*data, batch_size=8, epochs=3, verbose=0, shuffle=False)
    same(trained[-1], plain.weights)
    same(model.weights, ended[-1], rtol=0, atol=0)
    fresh = regression(kar.optimizers.Averaged(keras.optimizers.SGD(0.2)))
    fresh.optimizer.build(fresh.trainable_variables)
    fresh.load_weights(path.format(epoch=3))
    same(fresh.weights, ended[-1], rtol=0, atol=0)


def test_a_failed_validation_leaves_the_raw_weights(data):
    class Fail(keras.callbacks.Callback):
        def on_test_batch_end(self, batch, logs=None):
            raise RuntimeError("on purpose")

    model = regression(kar.optimizers.Averaged("sgd"), **QUICKLY)
    trigger, look = kar.callbacks.AveragingTrigger("val_loss", latest=0), Look()
    with pytest.raises(RuntimeError, match="on purpose"):
        model.fit(*data, batch_size=8, validation_data=data, verbose=0, callbacks=[trigger, look, Fail()])
    same(model.weights, look._last, rtol=0, atol=0)
    assert not numpy(model.optimizer.swapped)


def test_fit_ends_with_the_best_weights(data):
    class Values(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            logs["val_loss"] = [3.0, 1.0, 2.0, 5.0][epoch]

    model = regression(kar.optimizers.Averaged("sgd"), **QUICKLY)
    trigger, look = kar.callbacks.AveragingTrigger("val_loss", latest=1), Look()
    model.fit(*data, epochs=4, verbose=0, callbacks=[Values(), trigger, look])
    same(model.weights, look.seen["ended"][1], rtol=0, atol=0)
    # A run that goes back behind the best epoch forgets it; a new run starts anew.
    trigger._is_first = True
    trigger.on_epoch_begin(1)
    assert numpy(model.optimizer.notes["past"]).tolist() == [[0, 3]]
    assert "best_0" not in model.optimizer.notes
    run = model.fit(*data, epochs=2, verbose=0, callbacks=[Values(), trigger])
    assert run.history["averaging"] == [0, 1]


def test_a_training_that_diverges_ends_with_the_best_weights(data):
    class Values(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            logs["val_loss"] = [np.nan, 1.0, np.nan, np.nan][epoch]

    model = regression(kar.optimizers.Averaged("sgd"), **QUICKLY)
    trigger, look = kar.callbacks.AveragingTrigger("val_loss", patience=1, rule="since_best"), Look()
    run = model.fit(*data, epochs=4, verbose=0, callbacks=[Values(), trigger, look])
    same(model.weights, look.seen["ended"][1], rtol=0, atol=0)
    assert run.history["averaging"] == [0, 0, 0, 1]


@pytest.mark.parametrize(("rule", "first"), [("all_but_last", 5), ("last", 4), ("since_best", 4)])
def test_rules(rule, first):
    # The best is that of epoch 1.
    values = [5.0, 3.0, 4.0, 4.5, 4.2, 4.1, 4.6]
    model = regression(kar.optimizers.Averaged("sgd"), **QUICKLY)
    trigger = kar.callbacks.AveragingTrigger("v", patience=3, rule=rule)
    trigger.set_model(model)
    trigger.on_train_begin()
    flags = []
    for epoch, value in enumerate(values):
        trigger.on_epoch_begin(epoch)
        trigger.on_epoch_end(epoch, {"v": value})
        flags.append(bool(numpy(model.optimizer.averaging)))
    assert flags.index(True) == first
    assert all(flags[first:])


def test_stopping_at_the_trigger(data):
    class Values(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            logs["val_loss"] = [3.0, 1.0, 2.0, 2.0, 2.0, 2.0][epoch]

    model = regression(kar.optimizers.Averaged("sgd"), **QUICKLY)
    trigger = kar.callbacks.AveragingTrigger("val_loss", 2, "since_best", latest=0, stop_at_trigger=True)
    run = model.fit(*data, epochs=6, verbose=0, callbacks=[Values(), trigger])
    assert run.history["averaging"] == [1, 1, 1, 1]


def test_a_resumed_run_ends_with_the_same_weights(tmp_path, data):
    """Killed after the epoch before the switch, and again after it."""

    class Die(keras.callbacks.Callback):
        def __init__(self, epoch):
            super().__init__()
            self.epoch = epoch

        def on_epoch_begin(self, epoch, logs=None):
            if epoch == self.epoch:
                raise KeyboardInterrupt

    class Values(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            logs["val_loss"] = [3.0, 2.0, 2.5, 2.6, 1.0, 1.5][epoch]

    def run(*more):
        model = regression(kar.optimizers.Averaged(keras.optimizers.SGD(0.2, momentum=0.9)), **QUICKLY)
        trigger = kar.callbacks.AveragingTrigger("val_loss", patience=1)
        arguments = {"batch_size": 8, "epochs": 6, "shuffle": False, "verbose": 0}
        try:
            history = model.fit(*data, **arguments, callbacks=[Values(), trigger, *more]).history
        except KeyboardInterrupt:
            return None
        return model, history["averaging"]

    whole, flags = run()
    assert flags == [0, 0, 0, 0, 1, 1]
    folder = str(tmp_path / "backup")
    assert run(keras.callbacks.BackupAndRestore(folder), Die(2)) is None
    assert run(keras.callbacks.BackupAndRestore(folder), Die(5)) is None
    resumed, flags = run(keras.callbacks.BackupAndRestore(folder))
    assert flags == [1]
    same(resumed.weights, whole.weights)
    same(resumed.optimizer.averages, whole.optimizer.averages)


# TokenStream.


def joined(stream):
    batches = [stream[k] for k in range(len(stream))]
    return [np.concatenate(parts, axis=1) for parts in zip(*batches, strict=True)]


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"steps": 20},
        {"steps": 20, "spread": 0, "half": 0},
        {"steps": 20, "bucket": 4},
        {"steps": 20, "bucket": 7, "maximum": 30},
        {"steps": 12, "half": 1.0, "spread": 0, "minimum": 3},
        {"steps": 10, "maximum": 12, "minimum": 9},
        {"steps": 333},
    ],
)
def test_segments_are_the_text(arguments):
    ids = np.random.default_rng(0).integers(0, 50, size=1003)
    stream = kar.datasets.TokenStream(ids, batch_size=3, seed=0, **arguments)
    rows = ids[:1002].reshape(3, 334)
    counts, lengths = set(), []
    for epoch in range(20):
        stream.epoch = epoch
        x, y = joined(stream)
        np.testing.assert_array_equal(x, rows[:, :-1])
        np.testing.assert_array_equal(y, rows[:, 1:])
        counts.add(len(stream))
        lengths.append(stream.lengths)
        if len(stream) > 1:
            assert len(set(stream.lengths)) == 1 or stream.lengths[0] != stream.lengths[1]
    assert len(counts) == 1
    drawn = np.concatenate(lengths)
    if stream.is_fixed:
        assert all(each.tolist() == [333 % 20, *[20] * (333 // 20)] for each in lengths)
        return
    assert drawn.min() >= stream.minimum
    assert drawn.max() <= (stream.maximum or 999) + (stream.bucket - 1)
    bucket = arguments.get("bucket", 1)
    assert all((each[:-1] % bucket == 0).all() for each in lengths)
    if bucket > 1:
        assert len(np.unique(drawn)) <= 10
    if len(stream) > 1 and arguments != {"steps": 12, "half": 1.0, "spread": 0, "minimum": 3}:
        assert any(not np.array_equal(lengths[0], other) for other in lengths[1:])


def test_lengths_are_those_of_the_paper():
    stream = kar.datasets.TokenStream(np.arange(200_000), batch_size=1, seed=0)
    assert stream.lengths.mean() == pytest.approx(68.25, abs=0.1)
    assert (stream.lengths < 50).mean() == pytest.approx(0.05, abs=0.01)
    usual = stream.lengths[stream.lengths > 50]
    assert usual.mean() == pytest.approx(69.9, abs=0.5)
    assert usual.std() == pytest.approx(5, abs=0.4)


def test_lengths_depend_on_seed_and_epoch():
    def lengths(seed, epoch):
        stream = kar.datasets.TokenStream(np.arange(5000), 2, seed=seed)
        stream.epoch = epoch
        return stream.lengths.tolist()

    assert lengths(0, 3) == lengths(0, 3)
    assert lengths(0, 3) != lengths(1, 3)
    assert lengths(0, 3) != lengths(0, 4)
    # A negative index, and one that is too large.
    stream = kar.datasets.TokenStream(np.arange(500), 2)
    np.testing.assert_array_equal(stream[-1][0], stream[len(stream) - 1][0])
    with pytest.raises(IndexError):
        stream[len(stream)]


class Rates(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self.rates, self.lengths, self.between = [], [], []

    def on_train_batch_begin(self, batch, logs=None):
        self.rates.append(float(numpy(self.model.optimizer.learning_rate)))

    def on_epoch_begin(self, epoch, logs=None):
        self.between.append(float(numpy(self.model.optimizer.learning_rate)))

    def on_epoch_end(self, epoch, logs=None):
        self.between.append(float(numpy(self.model.optimizer.learning_rate)))


def test_fit_reads_a_stream_at_scaled_rates():
    ids = np.arange(130) % 7
    # Few lengths: JAX compiles each.
    stream = kar.datasets.TokenStream(ids, 2, steps=12, spread=3, minimum=8, bucket=4, seed=0)
    validation = kar.datasets.TokenStream(ids[:50], 2, steps=12, spread=0, half=0)
    model = tied_model(rows=2)
    model.compile(keras.optimizers.SGD(0.5), CROSS_ENTROPY(from_logits=True))
    rates, lengths = Rates(), []

    class Lengths(keras.callbacks.Callback):
        def on_epoch_begin(self, epoch, logs=None):
            lengths.append(stream.lengths)

    callbacks = [kar.callbacks.StreamStates(stream), rates, Lengths()]
    model.fit(stream, shuffle=False, epochs=2, verbose=0, validation_data=validation, callbacks=callbacks)
    assert rates.between == [0.5] * 4
    np.testing.assert_allclose(rates.rates, 0.5 * np.concatenate(lengths) / 12, rtol=1e-6)
    assert len(set(np.concatenate(lengths))) > 1
    # A resumed run draws the lengths of its epoch.
    model.fit(stream, shuffle=False, epochs=2, initial_epoch=1, verbose=0, callbacks=callbacks)
    np.testing.assert_array_equal(lengths[2], lengths[1])


def test_a_shuffled_stream_is_refused():
    stream = kar.datasets.TokenStream(np.arange(300) % 7, 2, steps=10, spread=0, half=0)
    model = tied_model(rows=2)
    model.compile("sgd", CROSS_ENTROPY(from_logits=True), **QUICKLY)
    # TensorFlow wraps errors of data.
    with pytest.raises(Exception, match="shuffle=False"):
        model.fit(stream, verbose=0, callbacks=[kar.callbacks.StreamStates()])


# StreamStates.


class States(keras.callbacks.Callback):
    """Records the carried states before each batch and around validation."""

    def __init__(self):
        super().__init__()
        self.train, self.test = [], []

    def _states(self):
        (layer,) = [layer for layer in self.model.layers if getattr(layer, "stateful", False)]
        variables = layer._stateful_states.states if hasattr(layer, "_stateful_states") else layer.states
        return [numpy(v) for v in variables]

    def on_train_batch_begin(self, batch, logs=None):
        self.train.append(self._states())

    def on_test_begin(self, logs=None):
        self.test.append(self._states())

    def on_test_batch_end(self, batch, logs=None):
        self.test.append(self._states())

    def on_test_end(self, logs=None):
        self.test.append(self._states())


# In `fit`, Keras's own stateful layers fail on PyTorch, and on JAX they lose their states.
@pytest.mark.parametrize("theirs", [False, True] if keras.backend.backend() == "tensorflow" else [False])
def test_states_are_carried_within_an_epoch(theirs):
    ids = np.arange(42) % 7
    stream = kar.datasets.TokenStream(ids, 2, steps=5, spread=0, half=0)
    model = tied_model(rows=2)
    if theirs:
        lstm = keras.layers.LSTM(4, return_sequences=True, stateful=True)
        model = keras.Sequential(
            [keras.Input(batch_shape=(2, None)), keras.layers.Embedding(7, 4), lstm, keras.layers.Dense(7)]
        )
    model.compile("sgd", CROSS_ENTROPY(from_logits=True))
    states = States()
    callbacks = [kar.callbacks.StreamStates(), states]
    model.fit(stream, shuffle=False, epochs=2, verbose=0, validation_data=stream, callbacks=callbacks)
    batches = [np.abs(s).max() for each in states.train for s in each[:1]]
    # 4 batches an epoch; each epoch starts from zeros.
    assert [size > 0 for size in batches] == [False, True, True, True] * 2
    # Validation starts from zeros, and gives the states of training back.
    start, *_, end = states.test[: len(states.test) // 2]
    assert not np.abs(start[0]).max()
    assert np.abs(end[0]).max() > 0
    assert not any(np.array_equal(end[0], other[0]) for other in states.test[1 : len(states.test) // 2 - 1])


@pytest.mark.parametrize(("rate", "seed"), [(1.0, None), (0.5, 3)])
def test_dropped_states_are_those_of_the_start(rate, seed):
    stream = kar.datasets.TokenStream(np.arange(330) % 7, 10, steps=4, spread=0, half=0)
    model = tied_model(rows=10)
    model.compile("sgd", CROSS_ENTROPY(from_logits=True))

    def run():
        states = States()
        drop = kar.callbacks.StreamStates(drop_state=rate, seed=seed)
        model.fit(stream, shuffle=False, verbose=0, callbacks=[drop, states])
        return np.array([[(np.abs(s).max(axis=1) == 0) for s in each] for each in states.train])

    dropped = run()
    # A row is dropped as a whole.
    np.testing.assert_array_equal(dropped[:, 0], dropped[:, 1])
    assert dropped[0].all()
    assert dropped[1:].mean() == pytest.approx(rate, abs=0.2)
    if seed is not None:
        np.testing.assert_array_equal(run(), dropped)


def test_bad_models_are_refused():
    stream = kar.datasets.TokenStream(np.arange(40) % 8, 2, steps=5)

    def fit(model, optimizer, callback, **arguments):
        model.compile(optimizer, CROSS_ENTROPY(from_logits=True), **{**QUICKLY, **arguments})
        model.fit(stream, shuffle=False, verbose=0, callbacks=[callback])

    with pytest.raises(ValueError, match="needs a stateful layer"):
        fit(tied_model(stateful=False, vocabulary=8), "sgd", kar.callbacks.StreamStates())
    with pytest.raises(ValueError, match=r"vocabulary of 7 tokens.*token 7"):
        fit(tied_model(rows=2), "sgd", kar.callbacks.StreamStates(stream))
    schedule = keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(0.1, 10, 0.9))
    with pytest.raises(ValueError, match="must be a plain number"):
        fit(tied_model(rows=2, vocabulary=8), schedule, kar.callbacks.StreamStates(stream))
    many = {"steps_per_execution": 2, "run_eagerly": False}
    with pytest.raises(ValueError, match="steps_per_execution=2"):
        fit(tied_model(rows=2, vocabulary=8), "sgd", kar.callbacks.StreamStates(stream), **many)
    with pytest.raises(ValueError, match=r"compiled with `keras_adaptive_rnn\.optimizers.Averaged"):
        fit(tied_model(rows=2, vocabulary=8), "sgd", kar.callbacks.AveragingTrigger())
    with pytest.raises(ValueError, match=r"`monitor` must be one of .*monitor='perplexity'"):
        fit(
            tied_model(rows=2, vocabulary=8),
            kar.optimizers.Averaged("sgd"),
            kar.callbacks.AveragingTrigger("perplexity"),
        )
    with pytest.warns(UserWarning, match="has never seen 'val_perplexity'"):
        fit(tied_model(rows=2, vocabulary=8), kar.optimizers.Averaged("sgd"), kar.callbacks.AveragingTrigger())


# SequenceAuxiliary.


def test_no_gradient_passes_the_end_of_a_block(rng):
    layer = kar.RNN(kar.StatesOutput(kar.LSTMCell(3), truncate=4), return_sequences=True)
    x = ops.convert_to_tensor(rng.normal(size=(2, 10, 5)).astype("float32"))
    layer.build(x.shape)
    for read, reached in ((8, range(4, 8)), (4, range(4)), (10, range(8, 10)), (5, range(4, 5))):

        def loss(x, read=read):
            return ops.sum(layer(x)[:, read - 1] ** 2)

        _, _, (gradient,) = engine.gradients(loss, [], [x])
        assert np.flatnonzero(np.abs(gradient).max(axis=(0, 2))).tolist() == list(reached)
    whole = kar.RNN(kar.StatesOutput(layer.cell.cell), return_sequences=True)
    np.testing.assert_allclose(numpy(whole(x)), numpy(layer(x)), atol=1e-6)
    # The output is the states of the cell.
    _, h, c = kar.RNN(layer.cell.cell, return_state=True)(x)
    np.testing.assert_allclose(numpy(whole(x))[:, -1], np.concatenate([numpy(h), numpy(c)], axis=1), atol=1e-6)


@in_turns
@pytest.mark.parametrize("first_given", [True, False])
@pytest.mark.parametrize("mode", ["reconstruct", "predict"])
@pytest.mark.parametrize("tokens", [True, False])
def test_an_auxiliary_loss_is_that_of_each_window(rng, mode, tokens, first_given):
    """Against a loop over rows and anchors, which cuts each window out."""
    rows, steps, length, units = 2, 7, 4, 3
    cells = [kar.LSTMCell(units), kar.GRUCell(5)]
    arguments = {"anchors": 3, "mode": mode, "first_given": first_given, "output": 6 if tokens else None}
    layer = kar.SequenceAuxiliary(cells, length, **arguments)
    states = rng.normal(size=(rows, steps, 2 * units)).astype("float32")
    sequence = rng.integers(0, 6, size=(rows, steps)) if tokens else rng.normal(size=(rows, steps, 6)).astype("float32")
    anchors = np.array([[2, 5, 7], [1, 4, 6]], "int32")
    mask = np.arange(steps) < np.array([7, 6])[:, None]
    layer.build(states.shape, sequence.shape)
    added = []
    with replaced(layer, add_loss=added.append, draw_anchors=lambda rows, steps: ops.convert_to_tensor(anchors)):
        output = layer(states, sequence, mask=mask, training=True)
    assert (numpy(output) == states).all()
    losses = []
    for row, anchor in ((each, anchor) for each in range(rows) for anchor in anchors[each]):
        places = range(anchor - length, anchor) if mode == "reconstruct" else range(anchor, anchor + length)
        window = sequence[row, [place for place in places if 0 <= place < mask[row].sum()]]
        reads = np.eye(6)[window] if tokens else window
        start = np.split(states[row : row + 1, anchor - 1], 2, axis=1)
        if not first_given:
            reads = np.concatenate([np.zeros((1, 6)), reads])[:-1]
        if len(window) == 0:
            losses.append(0.0)
            continue
        first = [np.zeros((1, 5), "float32"), *start]
        predicted = numpy(layer.output_layer(layer.decoder(reads[None].astype("float32"), initial_state=first)))[0]
        if first_given:
            predicted, window = predicted[:-1], window[1:]
        if tokens:
            each = [-(p - np.log(np.exp(p).sum()))[token] for p, token in zip(predicted, window, strict=True)]
        else:
            each = ((predicted - window) ** 2).mean(axis=1)
        losses.append(np.mean(each) if len(each) else 0.0)
    assert numpy(added[0]) == pytest.approx(np.mean(losses), rel=1e-4)


def test_anchors_are_where_a_window_is():
    def anchors(steps, **arguments):
        layer = kar.SequenceAuxiliary(kar.LSTMCell(3), 4, anchors=50, output=2, seed=0, **arguments)
        return set(numpy(layer.draw_anchors(20, steps)).ravel().tolist())

    assert anchors(8) == set(range(2, 9))
    assert anchors(8, first_given=False) == set(range(1, 9))
    assert anchors(8, mode="predict") == set(range(1, 7))
    assert anchors(8, truncate=3) == {3, 6}
    assert anchors(9, truncate=3, mode="predict") == {3, 6}
    with pytest.raises(ValueError, match="no place for an anchor"):
        anchors(2, truncate=3)


def recaller(steps, truncate, classes=4, units=32):
    """Returns two models over the same layers: one that remembers, and one that tells what was first."""
    tokens = keras.Input((steps,), dtype="int32")
    network = kar.RNN(kar.StatesOutput(kar.LSTMCell(units), truncate=truncate), return_sequences=True)
    arguments = {"output": classes + 1, "first_given": False, "truncate": truncate}
    auxiliary = kar.SequenceAuxiliary(kar.LSTMCell(units), steps, **arguments)
    states = auxiliary(network(keras.layers.Embedding(classes + 1, 16)(tokens)), tokens)
    return keras.Model(tokens, states), keras.Model(tokens, keras.layers.Dense(classes)(states[:, -1]))


def first_symbols(count, steps, seed, classes=4):
    y = np.random.default_rng(seed).integers(0, classes, size=count)
    x = np.zeros((count, steps), "int32")
    x[:, 0] = 1 + y
    return x, y


def test_an_auxiliary_loss_adds_nothing_to_inference_and_files(tmp_path):
    x, y = first_symbols(8, 10, seed=0)
    _, tell = recaller(10, 5, units=4)
    tell.compile("sgd", CROSS_ENTROPY(from_logits=True), **QUICKLY)
    assert tell.evaluate(x, y, verbose=0) == pytest.approx(
        float(numpy(CROSS_ENTROPY(from_logits=True)(y, tell.predict(x, verbose=0)))), rel=1e-5
    )
    tell(x, training=True)
    assert len(tell.losses) == 1
    tell.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict(x, verbose=0), tell.predict(x, verbose=0), atol=1e-6)
    assert [w.shape for w in loaded.weights] == [w.shape for w in tell.weights]


@in_turns
@nightly
def test_a_symbol_is_remembered_beyond_the_truncated_gradient():
    """The gradient of the classifier reaches back a quarter of the way; that of the auxiliary loss makes a chain."""
    steps, truncate = 20, 5
    data, (x, y) = first_symbols(2048, steps, seed=0), first_symbols(256, steps, seed=1)

    def accuracy(model):
        model.compile(keras.optimizers.Adam(0.02, clipnorm=1.0), CROSS_ENTROPY(from_logits=True), metrics=["accuracy"])
        model.fit(*data, batch_size=64, epochs=2, verbose=0)
        return model.evaluate(x, y, batch_size=256, verbose=0, return_dict=True)["accuracy"]

    remember, tell = recaller(steps, truncate)
    remember.compile(keras.optimizers.Adam(0.02, clipnorm=1.0))
    enough = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: setattr(remember, "stop_training", logs["loss"] < 0.005)
    )
    run = remember.fit(data[0], batch_size=64, epochs=15, verbose=0, callbacks=[enough])
    assert run.history["loss"][-1] < 0.01
    assert accuracy(tell) > 0.95
    _, tell = recaller(steps, truncate)
    tell.get_layer(index=3).weight = 0.0
    assert accuracy(tell) < 0.4


# Learning.


def hidden_source(count, seed):
    """Returns a text of a hidden cycle of three states, and the nats of each token to one who knows the source."""
    rng = np.random.default_rng(seed)
    moves = np.roll(np.full((3, 3), 0.1) + 0.7 * np.eye(3), 1, axis=1)
    emits = np.full((3, 6), 0.05)
    emits[range(3), [0, 2, 5]], emits[range(3), [1, 3, 4]] = 0.7, 0.1
    state, ids, belief, nats = 0, [], np.ones(3) / 3, []
    for move, emit in rng.random((count, 2)):
        state = int((move > moves[state].cumsum()[:-1]).sum())
        ids.append(int((emit > emits[state].cumsum()[:-1]).sum()))
        belief = belief @ moves * emits[:, ids[-1]]
        nats.append(-np.log(belief.sum()))
        belief /= belief.sum()
    return np.array(ids), np.mean(nats)


def test_the_whole_kit_comes_close_to_a_known_entropy():
    rows, (ids, _), (other, entropy) = 20, hidden_source(12_000, seed=0), hidden_source(8001, seed=1)
    embedding = kar.TiedEmbedding(6, 16, word_dropout=0.02)
    inputs = keras.Input(batch_shape=(rows, None), dtype="int32")
    x = keras.layers.SpatialDropout1D(0.1)(embedding(inputs))
    raw = kar.WeightDropLSTM(16, 0.1, return_sequences=True, stateful=True)(x)
    x = kar.ActivationRegularization(0.02, 0.01)(keras.layers.SpatialDropout1D(0.1)(raw), raw)
    model = keras.Model(inputs, embedding(x, reverse=True))
    optimizer = kar.optimizers.Averaged(keras.optimizers.Adam(0.02, global_clipnorm=1.0))
    model.compile(optimizer, CROSS_ENTROPY(from_logits=True))
    # Few lengths, of which JAX compiles each; the last segment of validation is as long as the others.
    stream = kar.datasets.TokenStream(ids, rows, steps=20, spread=3, minimum=10, bucket=10, seed=0)
    validation = kar.datasets.TokenStream(other[: rows * 381], rows, steps=20, spread=0, half=0)
    callbacks = [
        kar.callbacks.StreamStates(stream, drop_state=0.01, seed=0),
        kar.callbacks.AveragingTrigger("val_loss", latest=3),
    ]
    arguments = {"validation_data": validation, "callbacks": callbacks, "verbose": 0}
    history = model.fit(stream, shuffle=False, epochs=5, **arguments).history
    assert history["averaging"] == [0, 0, 0, 1, 1]
    assert min(history["val_loss"]) < 1.02 * entropy
    # Who knows the frequencies alone is far away.
    frequencies = np.bincount(ids) / len(ids)
    assert -(frequencies * np.log(frequencies)).sum() > 1.1 * entropy


def test_an_encoder_and_a_decoder_learn_to_copy_backwards():
    vocabulary, length, units = 20, 4, 64
    *inputs, targets = synthetic.reverse_copy(4096, length, vocabulary, seed=0)
    *others, expected = synthetic.reverse_copy(512, length, vocabulary, seed=1)
    source, given = (keras.Input((length,), dtype="int32") for _ in range(2))
    embedding = kar.TiedEmbedding(vocabulary + 1, units, embeddings_initializer="glorot_uniform")
    _, *states = kar.LSTM(units, return_state=True)(keras.layers.Embedding(vocabulary + 1, 32)(source))
    x = kar.LSTM(units, return_sequences=True)(embedding(given), initial_state=states)
    model = keras.Model([source, given], embedding(x, reverse=True))
    optimizer = kar.optimizers.Averaged(keras.optimizers.Adam(0.02, global_clipnorm=10.0))
    model.compile(optimizer, CROSS_ENTROPY(from_logits=True))
    trigger = kar.callbacks.AveragingTrigger("val_loss", latest=4)
    validation = {"validation_data": (others, expected), "validation_batch_size": 512}
    history = model.fit(inputs, targets, batch_size=64, epochs=6, verbose=0, callbacks=[trigger], **validation).history
    assert np.exp(min(history["val_loss"])) < 1.05
