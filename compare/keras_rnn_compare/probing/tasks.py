"""The tasks of a probe: functions that draw sequences, each of which asks one thing of a state.

A function takes a generator of NumPy, a number of sequences and their length. It returns `inputs`, tokens
`[samples, length]` or numbers `[samples, length, features]`; `targets` `[samples, length]`, classes or numbers; and
`counted`, booleans of that shape: the steps whose target is to be learned. Chance is what the best answer gets that
knows nothing of the sequence.
"""

import dataclasses
import itertools
from collections.abc import Callable

import numpy as np

MODULUS = 5
TYPES, DEPTH = 3, 3
PAIRS, KEYS, VALUES = 3, 4, 4
COPIED, SYMBOLS = 4, 8
BLANK, RECALL = SYMBOLS, SYMBOLS + 1
# How far from its target a number may be, whose range is one: that of Hochreiter and Schmidhuber.
TOLERANCE = 0.04


def parity(rng, samples, length):
    """Whether the number of ones so far is odd: two states. Chance is 1/2.

    Source: Minsky and Papert, Perceptrons (1969); for recurrent cells, Grazzi et al., Unlocking State-Tracking in
    Linear RNNs Through Negative Eigenvalues (2024).
    """
    bits = rng.integers(2, size=(samples, length))
    return bits, bits.cumsum(axis=1) % 2, np.ones_like(bits, bool)


def modular_addition(rng, samples, length):
    """The sum so far, modulo five: a counter that turns around. Chance is 1/5.

    Source: Grazzi et al., Unlocking State-Tracking in Linear RNNs Through Negative Eigenvalues (2024).
    """
    digits = rng.integers(MODULUS, size=(samples, length))
    return digits, digits.cumsum(axis=1) % MODULUS, np.ones_like(digits, bool)


def s3(rng, samples, length):
    """The product so far of permutations of three elements, which do not commute. Chance is 1/6.

    Source: Merrill, Petty and Sabharwal, The Illusion of State in State-Space Models (2024).
    """
    permutations = np.array(list(itertools.permutations(range(3))))
    inputs = rng.integers(len(permutations), size=(samples, length))
    targets, product = np.empty_like(inputs), np.tile(np.arange(3), (samples, 1))
    for t in range(length):
        product = np.take_along_axis(permutations[inputs[:, t]], product, axis=1)
        # The number of a permutation is its token and its class.
        targets[:, t] = (product[:, None] == permutations).all(axis=-1).argmax(axis=-1)
    return inputs, targets, np.ones_like(inputs, bool)


def s5(rng, samples, length):
    """Where the first of five elements is, after swaps of any two. Chance is 1/5.

    The swaps generate all permutations, so it is as hard as their product: no linear recurrence with diagonal
    coefficients can do it at all lengths, unless the classes TC0 and NC1 are the same.

    Source: Barrington, Bounded-Width Polynomial-Size Branching Programs Recognize Exactly Those Languages in NC1
    (1989); Merrill, Petty and Sabharwal, The Illusion of State in State-Space Models (2024).
    """
    swaps = np.array(list(itertools.combinations(range(5), 2)))
    inputs = rng.integers(len(swaps), size=(samples, length))
    targets, place = np.empty_like(inputs), np.zeros(samples, int)
    for t, (a, b) in enumerate(zip(*swaps[inputs].T, strict=True)):
        place = targets[:, t] = np.where(place == a, b, np.where(place == b, a, place))
    return inputs, targets, np.ones_like(inputs, bool)


def brackets(rng, samples, length):
    """Which of three kinds of brackets must close next, once another has closed; at most three are open. Chance is 1/3.

    It opens and closes brackets with equal probability. Behind an opening bracket, the answer is that bracket, which
    takes no stack: these steps do not count.

    Source: Hewitt et al., RNNs Can Generate Bounded Hierarchical Languages with Optimal Memory (2020).
    """
    inputs, targets = np.zeros((2, samples, length), int)
    counted = np.zeros((samples, length), bool)
    stack, depth, rows = np.zeros((samples, DEPTH + 1), int), np.zeros(samples, int), np.arange(samples)
    for t in range(length):
        opens = (depth == 0) | ((depth < DEPTH) & (rng.random(samples) < 0.5))
        # Place 0 lies below the stack.
        closed = stack[rows, depth]
        depth = depth + np.where(opens, 1, -1)
        stack[rows[opens], depth[opens]] = rng.integers(TYPES, size=opens.sum())
        targets[:, t] = stack[rows, depth]
        inputs[:, t] = np.where(opens, targets[:, t], TYPES + closed)
        counted[:, t] = ~opens & (depth > 0)
    return inputs, targets, counted


def recall(rng, samples, length):
    """Multi-query associative recall: three keys of four, each with one of four values, and then keys of these, whose
    values are to be recalled. Chance is 1/4; who knows the values, but not whose they are, gets 0.56.

    Source: Arora et al., Zoology: Measuring and Improving Recall in Efficient Language Models (2023).
    """
    keys = rng.permuted(np.tile(np.arange(KEYS), (samples, 1)), axis=1)[:, :PAIRS]
    values = rng.integers(VALUES, size=(samples, PAIRS))
    asked = rng.integers(PAIRS, size=(samples, length - 2 * PAIRS))
    pairs = np.stack([keys, KEYS + values], axis=-1).reshape(samples, 2 * PAIRS)
    inputs = np.concatenate([pairs, np.take_along_axis(keys, asked, axis=1)], axis=1)
    targets = np.concatenate([np.zeros_like(pairs), np.take_along_axis(values, asked, axis=1)], axis=1)
    return inputs, targets, np.broadcast_to(np.arange(length) >= 2 * PAIRS, targets.shape)


def copy(rng, samples, length):
    """Four symbols in a row, to be written down at the end of the sequence, after a pause of any length. Chance is 1/8.

    Source: Hochreiter and Schmidhuber, Long Short-Term Memory (1997); Arjovsky, Shah and Bengio, Unitary Evolution
    Recurrent Neural Networks (2016).
    """
    return _recalled(rng, rng.integers(length - 2 * COPIED + 1, size=(samples, 1)) + np.arange(COPIED), length)


def selective_copy(rng, samples, length):
    """Four symbols anywhere among blanks, to be written down at the end, in their order. Chance is 1/8.

    Source: Jing et al., Gated Orthogonal Recurrent Units: On Learning to Forget (2019); Gu and Dao, Mamba: Linear-Time
    Sequence Modeling with Selective State Spaces (2023).
    """
    places = rng.permuted(np.tile(np.arange(length - COPIED), (samples, 1)), axis=1)[:, :COPIED]
    return _recalled(rng, np.sort(places, axis=1), length)


def adding(rng, samples, length):
    """The mean of the two numbers that are marked, one in each half, up to 0.04, from the second on. Chance is 0.15.

    Asked at the last step alone, as in the paper, cells learn when that is, and fail at any other length.

    Source: Hochreiter and Schmidhuber, Long Short-Term Memory (1997), section 5.4.
    """
    numbers, marks = rng.random((samples, length)), np.zeros((samples, length))
    for low, high in ((0, length // 2), (length // 2, length)):
        marks[np.arange(samples), rng.integers(low, high, samples)] = 1
    counted = marks.cumsum(axis=1) == 2
    return np.stack([numbers, marks], axis=-1), counted * (numbers * marks).sum(axis=1, keepdims=True) / 2, counted


def _recalled(rng, places, length):
    """Returns sequences with random symbols at some places, which are the targets of the last steps."""
    symbols = rng.integers(SYMBOLS, size=places.shape)
    inputs, targets = np.full((len(places), length), BLANK), np.zeros((len(places), length), int)
    np.put_along_axis(inputs, places, symbols, axis=1)
    inputs[:, -COPIED:], targets[:, -COPIED:] = RECALL, symbols
    return inputs, targets, np.broadcast_to(np.arange(length) >= length - COPIED, targets.shape)


@dataclasses.dataclass(frozen=True)
class Task:
    """A function that draws sequences, and what it draws.

    Args:
        title: What tables call it.
        draw: The function.
        inputs: Number of tokens, or of numbers at each step.
        classes: Number of classes, or `None` for numbers.
        chance: Accuracy of the best answer that knows nothing of the sequence.
    """

    title: str
    draw: Callable
    inputs: int
    classes: int | None
    chance: float

    def sequences(self, rng, samples, length):
        """Returns `inputs, targets, counted`, with tokens as one-hot vectors."""
        inputs, targets, counted = self.draw(rng, samples, length)
        if self.classes is None:
            return inputs.astype("float32"), targets.astype("float32")[..., None], counted
        return np.eye(self.inputs, dtype="float32")[inputs], targets.astype("int32"), counted


TASKS = {
    "parity": Task("parity", parity, 2, 2, 1 / 2),
    "modular_addition": Task("modulo 5", modular_addition, MODULUS, MODULUS, 1 / MODULUS),
    "s3": Task("S3", s3, 6, 6, 1 / 6),
    "s5": Task("S5", s5, 10, 5, 1 / 5),
    "brackets": Task("brackets", brackets, 2 * TYPES, TYPES, 1 / TYPES),
    "recall": Task("recall", recall, KEYS + VALUES, VALUES, 1 / VALUES),
    "copy": Task("copy", copy, SYMBOLS + 2, SYMBOLS, 1 / SYMBOLS),
    "selective_copy": Task("selective copy", selective_copy, SYMBOLS + 2, SYMBOLS, 1 / SYMBOLS),
    "adding": Task("adding", adding, 2, None, 1 - (1 - 2 * TOLERANCE) ** 2),
}
