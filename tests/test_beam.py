"""Beam search, and its penalty on copying."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn.evaluation import CopyPenalty, beam_search
from tests.backends import in_turns
from tests.golden_training import cases

pytestmark = in_turns


def table_step(log_probs, p_gen=None):
    """A step of a table [step, latest token, next token]; the state is the number of the step."""

    def step(tokens, states):
        (t,) = {int(n) for n in states}
        extras = {} if p_gen is None else {"p_gen": p_gen[t, tokens]}
        return log_probs[t, tokens], states + 1, extras

    return step


def random_table(rng, steps=4, size=4):
    z = rng.normal(size=(steps, size, size))
    return z - np.logaddexp.reduce(z, axis=-1, keepdims=True)


@pytest.mark.parametrize(("name", "arrays", "meta"), cases("copy_beam"))
@pytest.mark.parametrize("form", ["penalty", "once", "plain"])
def test_golden(name, arrays, meta, form):
    config = meta["config"]
    penalty = CopyPenalty(config["target"], config["eta"], accumulate=form == "penalty")
    found = beam_search(
        table_step(arrays["log_probs"], arrays["p_gen"]),
        np.zeros(1, "int64"),
        start=0,
        stop=1,
        beam=config["beam"],
        max_length=config["max_steps"],
        min_length=config["min_steps"],
        penalty=None if form == "plain" else penalty,
    )
    scores = arrays[f"{form}.score"]
    assert len(found) == len(scores)
    for hypothesis, tokens, score in zip(found, arrays[f"{form}.tokens"], scores, strict=True):
        assert hypothesis.tokens.tolist() == tokens[: len(hypothesis.tokens)].tolist()
        np.testing.assert_allclose(hypothesis.score, score, rtol=1e-6)
    if f"{form}.mean_p_gen" in arrays:
        means = [h.extras["p_gen"].mean() for h in found]
        np.testing.assert_allclose(means, arrays[f"{form}.mean_p_gen"], rtol=1e-6)


def test_a_beam_of_one_is_greedy(rng):
    table = random_table(rng, steps=6)
    (found,) = beam_search(table_step(table), np.zeros(1, int), 0, 3, beam=1, max_length=6)
    tokens, total = [0], 0.0
    for t in range(6):
        tokens.append(int(table[t, tokens[-1]].argmax()))
        total += table[t, tokens[-2], tokens[-1]]
        if tokens[-1] == 3:
            break
    assert found.tokens.tolist() == tokens
    np.testing.assert_allclose(found.log_prob, total)


PENALTIES = {
    "none": lambda: None,
    "number": lambda: CopyPenalty(0.6, 0.4),
    "accumulated": lambda: CopyPenalty(0.6, 0.4, accumulate=True),
    "function": lambda: CopyPenalty(0.6, lambda t: 2.0 / t),
    "schedule": lambda: CopyPenalty(0.6, keras.optimizers.schedules.PolynomialDecay(2.0, 4, 0.1), accumulate=True),
}


def penalty_by_hand(name, generated):
    """Returns the penalty of a hypothesis, from its equation."""
    strength = {
        "none": lambda t: 0.0,
        "number": lambda t: 0.4 * (t - 1),
        "accumulated": lambda t: 0.4 * (t - 1),
        "function": lambda t: 2 / t,
        "schedule": lambda t: 0.1 + 1.9 * (1 - t / 4),
    }[name]
    each = [strength(t) * max(0.0, 0.6 - np.mean(generated[:t])) for t in range(1, len(generated) + 1)]
    return sum(each) if name in ("accumulated", "schedule") else each[-1]


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("name", PENALTIES)
def test_a_wide_beam_is_an_exhaustive_search(rng, name, normalized):
    table, p_gen = random_table(rng), rng.uniform(size=(4, 4))
    step = table_step(table, p_gen)
    arguments = {"penalty": PENALTIES[name](), "length_normalization": normalized}
    found = beam_search(step, np.zeros(1, int), 0, 3, beam=4**4, max_length=4, **arguments)
    best = {}
    for length in range(1, 5):
        for body in itertools.product(range(3), repeat=length - 1):
            tokens = [0, *body, 3]
            log_prob = sum(table[t, a, b] for t, (a, b) in enumerate(itertools.pairwise(tokens)))
            score = log_prob - penalty_by_hand(name, [p_gen[t, a] for t, a in enumerate(tokens[:-1])])
            best[tuple(tokens)] = score / len(tokens) if normalized else score
    assert len(found) == len(best)
    for hypothesis in found:
        # Keras computes its schedules in single precision.
        np.testing.assert_allclose(hypothesis.score, best[tuple(hypothesis.tokens.tolist())], rtol=1e-6)
    assert found[0].tokens.tolist() == list(max(best, key=best.get))


def test_lengths_are_normalized_on_request():
    """The longer sequence is less probable, but not for each token."""
    table = np.log([[0.05, 0.45, 0.5], [0.01, 0.01, 0.98], [0.3, 0.3, 0.4]])

    def step(tokens, states):
        return table[tokens], states

    found = [beam_search(step, None, 0, 2, beam=3, length_normalization=n)[0] for n in (True, False)]
    assert [h.tokens.tolist() for h in found] == [[0, 1, 2], [0, 2]]


def test_a_strength_is_asked_once_a_step(rng):
    asked = []
    penalty = CopyPenalty(0.6, lambda t: asked.append(t) or 1.0)
    step = table_step(random_table(rng), rng.uniform(size=(4, 4)))
    beam_search(step, np.zeros(1, int), 0, 3, beam=3, max_length=4, min_length=3, penalty=penalty)
    assert asked == [1, 2, 3, 4]


def test_no_strength_is_no_penalty_and_more_moves_the_share(rng):
    table, p_gen = random_table(rng, 12, 12), rng.uniform(size=(12, 12)) ** 3
    step = table_step(table, p_gen)

    def share(penalty):
        return beam_search(step, np.zeros(1, int), 0, 11, beam=6, max_length=12, min_length=11, penalty=penalty)

    for a, b in zip(share(None), share(CopyPenalty(0.5, 0.0)), strict=True):
        assert a.tokens.tolist() == b.tokens.tolist()
        assert a.score == b.score
    shares = [share(CopyPenalty(0.5, s))[0].extras["p_gen"].mean() for s in (0.0, 1.0, 10.0)]
    assert shares[0] < shares[1] <= shares[2]
    assert shares[2] > 0.4


def test_a_cell_generates():
    """States are tensors in a structure, and each hypothesis keeps its own."""
    cell, rng = kar.LSTMCell(5), np.random.default_rng(0)
    vectors, head = rng.normal(size=(6, 3)).astype("float32"), rng.normal(size=(5, 6)).astype("float32")
    cell.build((None, 3))
    sizes = set()

    def step(tokens, states):
        sizes.add(len(tokens))
        output, states = cell(ops.convert_to_tensor(vectors[tokens]), states)
        return ops.log_softmax(ops.matmul(output, head) * 3, axis=-1), states

    states = [np.zeros((1, 5), "float32"), ops.zeros((1, 5))]
    found = beam_search(step, states, start=0, stop=5, beam=3, max_length=6)
    assert sizes == {3}
    for hypothesis in found:
        ids = hypothesis.tokens
        outputs = kar.RNN(cell, return_sequences=True)(vectors[ids[:-1]][None])
        z = ops.convert_to_numpy(ops.log_softmax(ops.matmul(outputs[0], head) * 3, axis=-1))
        np.testing.assert_allclose(hypothesis.log_prob, z[np.arange(len(ids) - 1), ids[1:]].sum(), rtol=1e-4)


def test_hypotheses_that_are_cut_off_are_returned_only_if_none_has_ended(rng):
    table = random_table(rng)
    table[:, :, 3] = -50.0
    cut = beam_search(table_step(table), np.zeros(1, int), 0, 3, beam=2, max_length=3)
    assert [len(h.tokens) for h in cut] == [4, 4]
    assert all(3 not in h.tokens for h in cut)


def test_what_has_no_probability_is_no_hypothesis():
    """Not even when there are fewer possible continuations than hypotheses."""
    with np.errstate(divide="ignore"):
        chain = np.log(np.eye(8)[[1, 2, 3, 4, 5, 6, 7, 7]])
        dead_end = np.log(np.zeros((8, 8)))
    (found,) = beam_search(lambda tokens, states: (chain[tokens], states), None, 0, 7, beam=5)
    assert found.tokens.tolist() == [*range(8)]
    assert found.log_prob == 0
    assert beam_search(lambda tokens, states: (dead_end[tokens], states), None, 0, 7, beam=5) == []


def test_errors(rng):
    table = random_table(rng)

    def search(step=None, states=None, **arguments):
        arguments = {"start": 0, "stop": 3, **arguments}
        return beam_search(step or table_step(table), np.zeros(1, int) if states is None else states, **arguments)

    for arguments, error, match in (
        ({"beam": 0}, ValueError, "`beam`"),
        ({"min_length": 3, "max_length": 3}, ValueError, "`min_length` must be below"),
        ({"stop": 9}, ValueError, "`stop` in the vocabulary"),
        ({"states": np.zeros(2)}, ValueError, "`states` must hold arrays with 1 row"),
        ({"step": 3}, TypeError, "`step`"),
        ({"penalty": 0.5}, TypeError, "`penalty`"),
        ({"penalty": CopyPenalty()}, ValueError, "'p_gen' of the `extras`"),
        ({"length_normalization": 0.5}, TypeError, "`length_normalization` must be True or False"),
        ({"step": lambda tokens, states: table[0, tokens]}, ValueError, "`step` must return"),
        ({"step": lambda tokens, states: (-table[0, tokens], states)}, ValueError, "log-probabilities, at most 0"),
        ({"step": lambda tokens, states: (table[0, tokens], states[:1])}, ValueError, "return states of arrays with 4"),
        ({"step": lambda t, s: (table[0, t], s, {"p_gen": np.ones(2)})}, ValueError, "extras"),
    ):
        with pytest.raises(error, match=match):
            search(**arguments)
    with pytest.raises(ValueError, match="`target`"):
        CopyPenalty(1.5)
    for strength, error in ((-1, ValueError), ("a", TypeError)):
        with pytest.raises(error, match="`strength`"):
            CopyPenalty(strength=strength)
    with pytest.raises(ValueError, match=r"`strength` must be a number of at least 0.*-2\.0"):
        CopyPenalty(strength=lambda t: -2)([0.5])
    with pytest.raises(TypeError, match="`accumulate`"):
        CopyPenalty(accumulate=1)
    with pytest.raises(TypeError, match="`name`"):
        CopyPenalty(name=1)
