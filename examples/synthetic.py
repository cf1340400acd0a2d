"""Synthetic tasks as NumPy arrays, reproducible from a seed."""

import numpy as np


def number_prediction(samples: int, length: int = 10, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Returns sequences whose first token is the position of the answer; all other tokens are noise.

    Every token is an integer from 1 to `length - 1`. If the first is $n$, the class is the token $n$ places later,
    minus one: Yu, Lee and Le, Learning to Skim Text (2017), section 3.1.

    Returns: `x, y`: integers `[samples, length]`, and classes `[samples]` from 0 to `length - 2`.
    """
    rng = np.random.default_rng(seed)
    x = rng.integers(1, length, size=(samples, length))
    return x, x[np.arange(samples), x[:, 0]] - 1


def mixed_difficulty(
    samples: int, length: int = 20, words: int = 20, hard: float = 0.3, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns sequences of two classes: easy ones differ by their words, hard ones only by the order of two words.

    Token 0 is padding, as lengths differ. An easy sequence contains two tokens 3 (class 1) or two tokens 4 (class 0). A
    hard sequence contains one token 1 and one token 2: 1 before 2 is class 1, and 2 before 1 is class 0, so its bag of
    words says nothing about the class. All other tokens are noise.

    Args:
        samples: Number of sequences.
        length: Tokens of the longest sequence, at least 8; the shortest has half as many.
        words: Size of the vocabulary, at least 6.
        hard: Share of hard sequences.
        seed: Seed of the sequences.

    Returns: `x, y, is_hard`: integers `[samples, length]`, classes `[samples]`, booleans `[samples]`.
    """
    rng = np.random.default_rng(seed)
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


def reverse_copy(
    samples: int, length: int, vocabulary: int = 1000, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Returns sequences that an encoder reads and a decoder writes backwards.

    Tokens are uniform integers from 1 to `vocabulary`, and 0 is the marker between reading and writing. The decoder
    starts from the states of the encoder. In training it reads the marker and then its own targets, one step late:
    Melis, Kočiský and Blunsom, Mogrifier LSTM (2020), section 4.3.

    Returns: `source, given, target`, integers `[samples, length]`: what the encoder reads, what the decoder reads, and
        what it must write.
    """
    source = np.random.default_rng(seed).integers(1, vocabulary + 1, size=(samples, length))
    target = source[:, ::-1].copy()
    given = np.concatenate([np.zeros((samples, 1), target.dtype), target[:, :-1]], axis=1)
    return source, given, target
