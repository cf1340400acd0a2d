"""The task of writing a sequence backwards."""

import numpy as np

from keras_adaptive_rnn import _arguments


def reverse_copy(
    samples: int, length: int, vocabulary: int = 1000, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draws sequences that an encoder reads and a decoder writes backwards.

    Tokens are uniform integers from 1 to `vocabulary`, and 0 is the marker between reading and writing. The decoder
    starts from the states of the encoder. In training it reads the marker and then its own targets, one step late.

    Args:
        samples: Positive integer, number of sequences.
        length: Positive integer, tokens of each.
        vocabulary: Positive integer, number of different tokens, without the marker. Defaults to `1000`.
        seed: Non-negative integer. Defaults to `0`.

    Returns: `source, given, target`, integers `[samples, length]`: what the encoder reads, what the decoder reads, and
        what it must write.

    Example:

    >>> source, given, target = keras_adaptive_rnn.datasets.reverse_copy(100, length=5)
    >>> bool((target == source[:, ::-1]).all()), bool((given[:, 1:] == target[:, :-1]).all())
    (True, True)

    Reference: Melis, Kočiský and Blunsom, Mogrifier LSTM (2020), section 4.3.
    """
    _arguments.integer("samples", samples)
    _arguments.integer("length", length)
    _arguments.integer("vocabulary", vocabulary)
    rng = np.random.default_rng(_arguments.integer("seed", seed, minimum=0))
    source = rng.integers(1, vocabulary + 1, size=(samples, length))
    target = source[:, ::-1].copy()
    given = np.concatenate([np.zeros((samples, 1), target.dtype), target[:, :-1]], axis=1)
    return source, given, target
