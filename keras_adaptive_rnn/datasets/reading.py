"""Tasks whose inputs need not be read as a whole."""

import numpy as np

from keras_adaptive_rnn import _arguments


def number_prediction(samples: int, length: int = 10, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Draws a task in which the first token says where the answer is; all others do not matter.

    Every token is an integer of 1 to `length - 1`. If the first is $n$, the class is the token $n$ places on, less one.

    Args:
        samples: Positive integer, how many sequences.
        length: Integer of at least 3, tokens of a sequence. Defaults to `10`.
        seed: Non-negative integer. Defaults to `0`.

    Returns: `x, y`: integers `[samples, length]`, and classes `[samples]` of 0 to `length - 2`.

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
    """Draws sequences of two classes: most are told by the words in them, the hard ones by the order of two words.

    Token 0 is padding: the lengths differ. Tokens 1 and 2 are the marks of the order, 3 a cheerful word and 4 a sad
    one. An easy sequence holds two words of 3 or two of 4, which is its class, 1 or 0. A hard one holds one of each
    mark: 1 before 2 is class 1, 2 before 1 class 0, so that the bag of its words says nothing. All others do not
    matter.

    Args:
        samples: Positive integer, how many sequences.
        length: Integer of at least 8, tokens of the longest sequence. Defaults to `20`.
        words: Integer of at least 6, size of the vocabulary. Defaults to `20`.
        hard: Number in `[0, 1]`, share of the hard sequences. Defaults to `0.3`.
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
    _arguments.number("hard", hard, minimum=0)
    if hard > 1:
        raise ValueError(f"Argument `hard` must be a number in [0, 1]. Received: hard={hard!r}")
    rng = np.random.default_rng(_arguments.integer("seed", seed, minimum=0))
    x = rng.integers(5, words, size=(samples, length))
    lengths = rng.integers(length // 2, length + 1, size=samples)
    y = rng.integers(0, 2, size=samples)
    is_hard = rng.random(samples) < hard
    # Two different places in each sequence, in order: the two smallest of random keys, none beyond its end.
    keys = np.where(np.arange(length) < lengths[:, None], rng.random((samples, length)), np.inf)
    first, second = np.sort(np.argsort(keys, axis=1)[:, :2], axis=1).T
    rows = np.arange(samples)
    x[rows, first] = np.where(is_hard, 2 - y, 4 - y)
    x[rows, second] = np.where(is_hard, 1 + y, 4 - y)
    x[np.arange(length) >= lengths[:, None]] = 0
    return x, y, is_hard
