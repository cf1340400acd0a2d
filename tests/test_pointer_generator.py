"""The layer that generates words or copies them."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import evaluation
from tests.backends import in_turns

pytestmark = in_turns

V, OOV = 6, 3


def numpy(x):
    return np.array(ops.convert_to_numpy(x))


def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def by_hand(layer, states, encoded, source, inputs=None, mask=None):
    """Returns the probabilities of the words and of generating, from the equations, one row and step at a time."""
    w = {
        part: [numpy(v).astype("float64") for v in getattr(layer, part).weights] for part in ("query", "key", "latent")
    }
    (W_s, b_a), (W_h,), (V_c, b) = w["query"], w["key"], w["latent"]
    E, b_E = (numpy(v).astype("float64") for v in layer.embedding.weights)
    w_p, b_p = (numpy(v).astype("float64") for v in layer.switch.weights)
    P = np.zeros((*states.shape[:2], layer.vocabulary_size + layer.oov_words))
    p_gen = np.zeros(states.shape[:2])
    for row, t in np.ndindex(*states.shape[:2]):
        s, h, places = states[row, t], encoded[row], range(encoded.shape[1])
        if layer.score_mode == "concat":
            e = np.array([np.tanh(h_i @ W_h + s @ W_s + b_a) @ numpy(layer.score.kernel)[:, 0] for h_i in h])
        else:
            e = np.array([(h_i @ W_h) @ (s @ W_s + b_a) for h_i in h])
        kept = [i for i in places if mask is None or mask[row, i]]
        a = np.zeros(len(h))
        a[kept] = softmax(e[kept])
        c = a @ h
        read = [c, s] if inputs is None else [c, s, inputs[row, t]]
        p_gen[row, t] = 1 / (1 + np.exp(-(np.concatenate(read) @ w_p[:, 0] + b_p[0])))
        P[row, t, : layer.vocabulary_size] = p_gen[row, t] * softmax((np.concatenate([s, c]) @ V_c + b) @ E.T + b_E)
        for i in places:
            P[row, t, source[row, i]] += (1 - p_gen[row, t]) * a[i]
    return P, p_gen


@pytest.fixture
def arrays(rng):
    states, encoded, inputs = (rng.normal(size=(3, n, size)).astype("float32") for n, size in ((4, 5), (7, 2), (4, 3)))
    source, mask = rng.integers(0, V + OOV, (3, 7)), np.arange(7) < np.array([[7], [3], [1]])
    return states, encoded, source, inputs, mask


def randomized(layer, rng):
    for v in layer.weights:
        v.assign(rng.normal(size=v.shape))
    return layer


def make(score_mode="concat", tied=False, oov_words=OOV, **arguments):
    embedding = kar.TiedEmbedding(V, 4) if tied else V
    return kar.PointerGenerator(8, embedding, oov_words, score_mode, **arguments)


@pytest.mark.parametrize("reads", [True, False])
@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("score_mode", ["concat", "dot"])
def test_equations(rng, arrays, score_mode, tied, reads):
    states, encoded, source, inputs, mask = arrays
    layer, given = make(score_mode, tied, return_p_gen=True), (states, encoded, source, inputs if reads else None)
    layer(*given)
    randomized(layer, rng)
    for kept in (None, mask):
        log_p, p_gen = layer(*given, encoded_mask=kept)
        P, expected = by_hand(layer, *given, kept)
        np.testing.assert_allclose(np.exp(numpy(log_p)), P, atol=1e-5)
        np.testing.assert_allclose(numpy(p_gen), expected, atol=1e-5)
        np.testing.assert_allclose(np.exp(numpy(log_p)).sum(axis=-1), 1, rtol=1e-5)
        layer.return_p_gen = False
        np.testing.assert_array_equal(numpy(layer(*given, encoded_mask=kept)), numpy(log_p))
        layer.return_p_gen = True


def test_weights_are_listed_in_order(arrays):
    states, encoded, source, inputs, _ = arrays
    query, key, score = [(5, 8), (8,)], [(2, 8)], [(8, 1)]
    layer = make(tied=True)
    layer(states, encoded, source, inputs)
    expected = [(V, 4), (V,), *query, *key, *score, (7, 4), (4,), (10, 1), (1,)]
    assert [tuple(v.shape) for v in layer.weights] == expected
    layer = make("dot")
    layer(states, encoded, source)
    assert [tuple(v.shape) for v in layer.weights] == [(V, 5), (V,), *query, *key, (7, 5), (5,), (7, 1), (1,)]


def test_what_is_masked_is_not_read(rng, arrays):
    states, encoded, source, _, mask = arrays
    layer = make()
    before = layer(states, encoded, source, encoded_mask=mask)
    others = np.where(mask[..., None], encoded, 9.0), np.where(mask, source, 0)
    after = layer(states, *others, encoded_mask=mask)
    np.testing.assert_allclose(numpy(after), numpy(before), atol=1e-6)
    # As in a model, where the mask comes with the states of the encoder.
    ids = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(V + OOV, 3, mask_zero=True)(ids)
    encoded = kar.LSTM(4, return_sequences=True)(x)
    model = keras.Model(ids, make()(x, encoded, ids))
    ids = np.array([[3, 7, 2, 0, 0]])
    np.testing.assert_allclose(numpy(model(ids))[:, :3], numpy(model(ids[:, :3])), atol=1e-5)


@pytest.mark.parametrize("policy", ["float32", "mixed_float16", "mixed_bfloat16"])
def test_log_probabilities_are_finite(rng, policy):
    """Whatever is certain, masked or nowhere in the source."""
    layer = make(dtype=policy, return_p_gen=True)
    states, encoded = rng.normal(size=(2, 3, 4)) * 50, rng.normal(size=(2, 5, 4)) * 50
    source, mask = np.array([[1] * 5, [V] * 5]), np.array([[True] * 5, [False] * 5])
    layer(states, encoded, source)
    for v in layer.weights:
        v.assign(rng.normal(size=v.shape))
    for bias in (-1000.0, 0.0, 1000.0):
        layer.switch.bias.assign([bias])
        log_p, p_gen = layer(states, encoded, source, encoded_mask=mask)
        assert keras.backend.standardize_dtype(log_p.dtype) == "float32"
        assert np.isfinite(numpy(log_p)).all()
        assert np.isfinite(numpy(p_gen)).all()
        np.testing.assert_allclose(np.exp(numpy(log_p).astype("float64")).sum(axis=-1), 1, rtol=1e-3)


def test_half_precision_is_close(arrays):
    states, encoded, source, inputs, mask = arrays
    exact, half = make(), make(dtype="mixed_float16")
    expected = numpy(exact(states, encoded, source, inputs, mask))
    half(states, encoded, source, inputs, mask)
    half.set_weights(exact.get_weights())
    np.testing.assert_allclose(numpy(half(states, encoded, source, inputs, mask)), expected, rtol=0.02, atol=0.02)


def test_one_step_at_a_time(arrays):
    states, encoded, source, inputs, mask = arrays
    layer = make()
    whole = numpy(layer(states, encoded, source, inputs, mask))
    for t in range(states.shape[1]):
        step = layer(states[:, t : t + 1], encoded, source, inputs[:, t : t + 1], mask)
        np.testing.assert_allclose(numpy(step)[:, 0], whole[:, t], atol=1e-5)


@pytest.mark.parametrize("score_mode", ["concat", "dot"])
def test_it_learns_to_copy_unknown_words(tmp_path, score_mode):
    """The text is the source, half of whose words no output unit stands for; the saved model writes it, too."""
    keras.utils.set_random_seed(0)
    source, text = keras.Input((4,), dtype="int32"), keras.Input((None,), dtype="int32")
    embedding = kar.TiedEmbedding(V, 16, embeddings_initializer="glorot_normal")
    known = ops.minimum(source, V - 1), ops.minimum(text, V - 1)  # The last one is the unknown word.
    x, y = embedding(known[0]), embedding(known[1])
    encoded, last = kar.GRU(16, return_sequences=True, return_state=True)(x)
    states = kar.GRU(16, return_sequences=True)(y, initial_state=last)
    log_p = kar.PointerGenerator(16, embedding, 4, score_mode)(states, encoded, source, y)
    model = keras.Model([source, text], log_p)
    model.compile(keras.optimizers.Adam(0.01), keras.losses.SparseCategoricalCrossentropy(from_logits=True))

    def draw(samples, seed):
        rng = np.random.default_rng(seed)
        ids = rng.integers(1, V - 1, (samples, 4))
        # The k-th unknown word of a source has the id V + k.
        unknown = rng.random(ids.shape) < 0.5
        ids = np.where(unknown, V + np.cumsum(unknown, axis=1) - 1, ids)
        return [ids, np.pad(ids, ((0, 0), (1, 0)))[:, :-1]], ids

    x, y = draw(64 * 150, seed=1)
    model.fit(x, y, batch_size=64, verbose=0)
    x, y = draw(100, seed=2)
    predicted = model.predict(x, verbose=0)
    assert np.mean(predicted.argmax(axis=-1) == y) > 0.9
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict(x, verbose=0), predicted, rtol=1e-5, atol=1e-5)


def test_beam_search_writes_with_it(rng, arrays):
    """The log-probabilities and p_gen of a step are what `beam_search` and its penalty read."""
    _, encoded, source, _, _ = arrays
    layer, vectors = make(return_p_gen=True), rng.normal(size=(V + OOV, 5)).astype("float32")

    def step(tokens, states):
        log_p, p_gen = layer(vectors[tokens][:, None], *states)
        return log_p[:, 0], states, {"p_gen": p_gen[:, 0]}

    given = [encoded[:1], source[:1]]
    penalty = evaluation.CopyPenalty(0.9, lambda t: 1.0)
    found = evaluation.beam_search(step, given, 0, 1, beam=2, max_length=4, penalty=penalty, length_normalization=False)
    for hypothesis in found:
        ids = hypothesis.tokens
        P, p_gen = by_hand(layer, vectors[ids[:-1]][None], *given)
        log_prob = np.log(P[0, np.arange(len(ids) - 1), ids[1:]]).sum()
        np.testing.assert_allclose(hypothesis.log_prob, log_prob, rtol=1e-4)
        np.testing.assert_allclose(hypothesis.score, log_prob - max(0, 0.9 - p_gen.mean()), rtol=1e-4)
