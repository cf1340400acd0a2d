"""Tasks that can be solved by reading part of each input."""

import numpy as np

from keras_adaptive_rnn import _arguments


def number_prediction(samples: int, length: int = 10, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draws a task whose first token is the position of the answer; all other tokens are noise.

    Every token is an integer from 1 to `length - 1`. If the first is $n$, the class is the token $n$ places later,
    minus one.

    Args:
        samples: Positive integer, number of sequences.
        length: Integer of at least 3, tokens per sequence. Defaults to `10`.
        seed: Non-negative integer. Defaults to `0`.

    Returns: `x, y`: integers `[samples, length]`, and classes `[samples]` from 0 to `length - 2`.

    Example:

    >>> x, y = keras_adaptive_rnn.datasets.number_prediction(100, length=10)
    >>> bool((x[np.arange(100), x[:, 0]] - 1 == y).all())
    True

    Reference: Yu, Lee and Le, Learning to Skim Text (2017), section 3.1.
    """
    _arguments.integer("samples", samples)
    _arguments.integer("length", length, minimum=3)
    rng = np.random.default_rng(_arguments.integer("seed", seed, minimum=0))
    x = rng.integers(1, length, size=(samples, length))
    return x, x[np.arange(samples), x[:, 0]] - 1


def mixed_difficulty(
    samples: int, length: int = 20, words: int = 20, hard: float = 0.3, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws sequences of two classes: most are told apart by their words, the hard ones only by the order of two words.

    Token 0 is padding, as lengths differ. An easy sequence contains two tokens 3 (class 1) or two tokens 4 (class 0). A
    hard sequence contains one token 1 and one token 2: 1 before 2 is class 1, and 2 before 1 is class 0, so its bag of
    words says nothing about the class. All other tokens are noise.

    Args:
        samples: Positive integer, number of sequences.
        length: Integer of at least 8, tokens of the longest sequence; the shortest has half as many. Defaults to `20`.
        words: Integer of at least 6, size of the vocabulary. Defaults to `20`.
        hard: Number in `[0, 1]`, share of hard sequences. Defaults to `0.3`.
        seed: Non-negative integer. Defaults to `0`.

    Returns: `x, y, is_hard`: integers `[samples, length]`, classes `[samples]`, booleans `[samples]`.

    Example:

    >>> x, y, is_hard = keras_adaptive_rnn.datasets.mixed_difficulty(100)
    >>> bool(((x == 3).sum(axis=1)[~is_hard] == 2 * y[~is_hard]).all())
    True
    """
    _arguments.integer("samples", samples)
    _arguments.integer("length", length, minimum=8)
    _arguments.integer("words", words, minimum=6)
    _arguments.number("hard", hard, minimum=0, maximum=1)
    rng = np.random.default_rng(_arguments.integer("seed", seed, minimum=0))
    x = rng.integers(5, words, size=(samples, length))
    lengths = rng.integers(length // 2, length + 1, size=samples)
    y = rng.integers(0, 2, size=samples)
    is_hard = rng.random(samples) < hard
    # Two distinct positions in each sequence, in order: those of the two smallest random keys before its end.
    keys = np.where(np.arange(length) < lengths[:, None], rng.random((samples, length)), np.inf)
    first, second = np.sort(np.argsort(keys, axis=1)[:, :2], axis=1).T
    rows = np.arange(samples)
    x[rows, first] = np.where(is_hard, 2 - y, 4 - y)
    x[rows, second] = np.where(is_hard, 1 + y, 4 - y)
    x[np.arange(length) >= lengths[:, None]] = 0
    return x, y, is_hard
