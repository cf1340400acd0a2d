"""The kit of training and evaluation with the language models of KerasHub: each part does the same there."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import callbacks, datasets, evaluation, maps, optimizers
from tests.backends import alternating, in_turns

pytest.importorskip("keras_hub", minversion="0.32")
from keras_adaptive_rnn import hub

pytestmark = alternating

VOCABULARY = 12


def make_text(tokens, seed=0):
    jumps = np.random.default_rng(seed).choice([1, 2, 5], size=tokens, p=[0.8, 0.1, 0.1])
    return np.cumsum(jumps) % VOCABULARY


def make_lm(*cells, experts=1, optimizer=None, **kwargs):
    cells = list(cells) or [kar.LSTMCell(8)]
    backbone = hub.RecurrentBackbone(VOCABULARY, 8, cells, **kwargs)
    lm = hub.RecurrentCausalLM(backbone, experts=experts, expert_dropout=0.1 if experts > 1 else 0.0)
    lm.compile(optimizers.Averaged(keras.optimizers.Adam(0.02)) if optimizer is None else optimizer)
    return lm


def fixed(ids, rows, steps=10):
    return datasets.TokenStream(ids, rows, steps, spread=0, half=0)


def numpy(tensor):
    return np.array(ops.convert_to_numpy(tensor))


def test_training_with_the_whole_kit(tmp_path):
    """Random lengths, all dropouts, a mixture, penalties, averages: the preset has the averages of the best epoch."""
    cells = [
        kar.MogrifierCell(10, rounds=2, rank=2, recurrent_map=maps.DropConnect(0.1)),
        kar.WeightDropLSTMCell(8, 0.1, dropout=0.1),
    ]
    rates = {"word_dropout": 0.05, "embedding_dropout": 0.05, "output_dropout": 0.05}
    lm = make_lm(*cells, experts=3, activation_regularization=0.1, temporal_regularization=0.1, **rates)
    text, valid = make_text(800), make_text(120, seed=1)
    stream = datasets.TokenStream(text, 4, steps=10, spread=3, minimum=10, bucket=5, seed=0)
    history = lm.fit_streams(
        stream,
        epochs=5,
        validation=fixed(valid, 4),
        callbacks=[callbacks.AveragingTrigger(latest=3)],
        verbose=0,
    ).history
    assert history["averaging"] == [0, 0, 0, 1, 1]
    assert history["val_perplexity"][-1] < 0.7 * history["val_perplexity"][0]
    # The perplexity of `fit` is that of `evaluate_streams`, though the segments are of unequal lengths.
    best = lm.evaluate_streams(valid, batch_size=4, verbose=False)
    assert best.perplexity == pytest.approx(min(history["val_perplexity"]), rel=1e-4)
    assert stream.lengths.max() > stream.lengths.min()

    lm.save_to_preset(tmp_path / "lm")
    loaded = hub.RecurrentCausalLM.from_preset(str(tmp_path / "lm"))
    assert (loaded.experts, loaded.expert_dropout, loaded.backbone.word_dropout) == (3, 0.1, 0.05)
    for ours, theirs in zip(loaded.get_weights(), lm.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    x = {"token_ids": text[None, :20], "padding_mask": np.ones((1, 20), "int32")}
    log_p = numpy(loaded(x))
    np.testing.assert_allclose(log_p, numpy(lm(x)), rtol=1e-5, atol=1e-5)
    # What a mixture returns are log-probabilities.
    np.testing.assert_allclose(np.exp(log_p).sum(-1), 1, rtol=1e-5)


def test_averages_are_those_of_the_streaming_model():
    """`Averaged` sees the weights of the language model, in the same order, from one `fit_streams` to the next."""
    lm = make_lm(kar.LSTMCell(8), optimizer=optimizers.Averaged(keras.optimizers.SGD(0.5)))
    text, iterates = make_text(64), []

    class Record(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            iterates.append([numpy(variable.value) for variable in self.model.trainable_variables])

    lm.optimizer.averaging.assign(1)
    for _ in range(2):
        lm.fit_streams(text, 2, 10, callbacks=[Record()], verbose=0)
    lm.optimizer.swap()
    for k, variable in enumerate(lm.trainable_variables):
        mean = np.mean([weights[k] for weights in iterates], axis=0)
        np.testing.assert_allclose(numpy(variable.value), mean, rtol=1e-5, atol=1e-6)


def test_judging_a_language_model_is_judging_its_streaming_model():
    lm = make_lm(kar.WeightDropLSTMCell(8, 0.3), output_dropout=0.3, word_dropout=0.1, experts=2)
    text, model = make_text(50), lm.streaming_model(3)
    for more in ({}, {"temperature": 0.9}, {"samples": 3, "seed": 5, "dropout_scale": 0.8}):
        found = lm.evaluate_streams(text, batch_size=2, steps=10, verbose=False, **more)
        expected = evaluation.evaluate(model, text, batch_size=2, steps=10, verbose=False, **more)
        assert found.loss == pytest.approx(expected.loss, rel=1e-6)
        assert found.tokens == expected.tokens == 48
    noisy = lm.evaluate_streams(text, batch_size=2, steps=10, verbose=False, samples=3, seed=5)
    assert noisy.loss != pytest.approx(lm.evaluate_streams(text, batch_size=2, steps=10, verbose=False).loss, rel=1e-6)


@in_turns
@pytest.mark.parametrize(
    "noise",
    [
        {"word_dropout": 0.5},
        {"activation_regularization": 2.0},
        {"temporal_regularization": 2.0},
        {"embedding_dropout": 0.5},
        {"output_dropout": 0.5},
    ],
    ids=lambda noise: next(iter(noise)),
)
def test_noise_and_penalties_are_in_the_loss_of_training_alone(noise):
    text = make_text(41)
    losses = []
    for arguments in ({}, noise):
        keras.utils.set_random_seed(3)
        lm = make_lm(kar.LSTMCell(8), optimizer=keras.optimizers.SGD(0.0), **arguments)
        lm.set_weights([np.random.default_rng(k).normal(size=w.shape) for k, w in enumerate(lm.get_weights())])
        history = lm.fit_streams(text, 1, 10, validation=text, verbose=0).history
        model, x = lm.streaming_model(1), text[None, :10]
        model(x, training=False)
        silent = len(model.losses)
        model(x, training=True)
        losses.append((history["loss"][0], history["val_loss"][0], silent, len(model.losses)))
    plain, noisy = losses
    assert plain[0] == pytest.approx(plain[1], rel=1e-5)
    assert noisy[1] == pytest.approx(plain[1], rel=1e-5)
    assert abs(noisy[0] - plain[0]) > 1e-3
    assert plain[2:] == (0, 0)
    assert noisy[2:] == ((0, 1) if "regularization" in next(iter(noise)) else (0, 0))


def test_padding_is_in_no_penalty():
    lm = make_lm(activation_regularization=2.0, temporal_regularization=1.0)
    ids = make_text(10)[None].astype("int32")

    def penalty(ids, mask):
        lm({"token_ids": ids, "padding_mask": mask}, training=True)
        return float(numpy(sum(lm.losses)))

    whole = np.ones_like(ids)
    alone = penalty(ids, whole)
    assert alone > 0
    padded = np.pad(ids, ((0, 0), (0, 4)), constant_values=3)
    assert penalty(padded, np.pad(whole, ((0, 0), (0, 4)))) == pytest.approx(alone, rel=1e-5)


def test_locked_masks_go_on_after_loading(tmp_path):
    """Keras's own dropout layers begin again with their first masks."""
    lm = make_lm(embedding_dropout=0.5, output_dropout=0.5)
    x = {"token_ids": make_text(10)[None].astype("int32"), "padding_mask": np.ones((1, 10), "int32")}
    lm(x, training=True)
    lm.save_weights(tmp_path / "lm.weights.h5")
    expected = numpy(lm(x, training=True))
    other = make_lm(embedding_dropout=0.5, output_dropout=0.5)
    other.load_weights(tmp_path / "lm.weights.h5")
    np.testing.assert_allclose(numpy(other(x, training=True)), expected, rtol=1e-6)


def test_states_of_the_user_take_the_place_of_those_of_fit_streams():
    """Two of them would scale the learning rate twice."""
    lm = make_lm(optimizer=keras.optimizers.SGD(1.0))
    stream = datasets.TokenStream(make_text(200), 2, steps=10, spread=5, bucket=5, seed=0)
    rates = []

    class Rates(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            rates.append(float(numpy(self.model.optimizer.learning_rate)))

    for states in ([], [callbacks.StreamStates(stream, drop_state=0.5, seed=0)]):
        rates.clear()
        lengths = stream.lengths
        lm.fit_streams(stream, callbacks=[*states, Rates()], verbose=0)
        np.testing.assert_allclose(rates, lengths / 10, rtol=1e-6)
        stream.epoch = 0
    with pytest.raises(ValueError, match="must hold a `StreamStates` of the stream that is read"):
        lm.fit_streams(fixed(make_text(200), 2), callbacks=states, verbose=0)


@pytest.mark.parametrize("part", ["text", "validation"])
def test_tokens_outside_of_the_vocabulary_are_refused(part):
    bad, good = np.append(make_text(60), VOCABULARY), make_text(60)
    texts = {"text": good, "validation": good, part: bad[::-1]}
    for given in (texts, {name: fixed(np.array(ids), 2) for name, ids in texts.items()}):
        with pytest.raises(ValueError, match=f"`{part}` must hold token ids from 0 to 11.*Received: 12"):
            make_lm().fit_streams(**given, batch_size=2, steps=5, verbose=0)


def test_validation_needs_as_many_rows():
    with pytest.raises(ValueError, match=r"`validation` must be a stream of 4 rows.*one of 2"):
        make_lm().fit_streams(fixed(make_text(100), 4), validation=fixed(make_text(100), 2), verbose=0)


@pytest.mark.parametrize(("anneal", "last"), [(True, 0.5 * 2 / 3), (False, 0.5)])
def test_a_limit_of_time_may_keep_the_learning_rate(anneal, last):
    lm, rates = make_lm(optimizer=optimizers.Averaged(keras.optimizers.SGD(0.5))), []

    class Rates(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch, logs=None):
            limit.spent = 1e5 * len(rates)
            rates.append(float(numpy(self.model.optimizer.learning_rate)))

    limit = callbacks.TimeLimit(3e5, anneal=anneal)
    # An epoch is a step.
    lm.fit_streams(make_text(22), 2, 10, epochs=9, callbacks=[limit, Rates()], verbose=0)
    assert rates[:2] == [0.5, 0.5]
    # A third of the time is left when the last epoch begins.
    assert rates[-1] == pytest.approx(last, rel=1e-2)


def test_a_string_needs_a_preprocessor():
    with pytest.raises(ValueError, match="must be token ids, as the model has no preprocessor"):
        make_lm().evaluate_streams("the cat")


def test_a_stream_leaves_a_file_on_the_disk(tmp_path):
    np.save(tmp_path / "ids.npy", make_text(100).astype("uint8"))
    ids = np.load(tmp_path / "ids.npy", mmap_mode="r")
    stream = datasets.TokenStream(ids, 2, steps=10, seed=0)
    assert np.shares_memory(stream.rows, ids)
    x, y = stream[1]
    assert x.dtype == y.dtype == "int32"
    np.testing.assert_array_equal(x[:, 1:], y[:, :-1])


def test_dynamic_evaluation_of_a_mixture_restores_it():
    lm = make_lm(experts=2, output_dropout=0.3, word_dropout=0.1)
    lm.fit_streams(make_text(400), 4, 10, epochs=2, verbose=0)
    before, text = lm.get_weights(), make_text(150, seed=2)
    arguments = {"statistics": make_text(400), "statistics_batch_size": 10, "verbose": False}
    still = evaluation.dynamic_evaluate(lm.streaming_model(1), text, learning_rate=0, decay=0, **arguments)
    assert still.loss == pytest.approx(lm.evaluate_streams(text, verbose=False).loss, rel=1e-5)
    moved = evaluation.dynamic_evaluate(lm.streaming_model(1), text, learning_rate=1e-3, **arguments)
    assert moved.loss < still.loss
    for ours, theirs in zip(lm.get_weights(), before, strict=True):
        np.testing.assert_array_equal(ours, theirs)
