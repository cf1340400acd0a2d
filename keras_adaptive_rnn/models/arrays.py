"""Arrays into and out of models."""

import math

import keras
import numpy as np


def as_array(name, value, rank=None):
    """Returns `value` as an array, or raises an error that names the argument."""
    array = keras.ops.convert_to_numpy(value) if keras.ops.is_tensor(value) else np.asarray(value)
    if array.dtype.kind not in "biuf" or array.ndim == 0:
        raise TypeError(f"Argument `{name}` must be an array of numbers. Received: a {type(value).__name__}")
    if array.size == 0 or rank not in (None, array.ndim):
        raise ValueError(
            f"Argument `{name}` must be an array of {f'rank {rank}' if rank else 'any rank'} with at least one sample. "
            f"Received: an array of shape {array.shape}"
        )
    return array


def as_tokens(x):
    # Integers, as Keras would cast floats to the compute dtype, in which large tokens lose digits.
    return as_array("x", x, rank=2).astype("int32", copy=False)


def as_samples(x, y, sample_weight=None):
    """Returns tokens, classes and weights (or `None`) as arrays of the same length."""
    samples = as_tokens(x), as_array("y", y), sample_weight if sample_weight is None else np.asarray(sample_weight)
    lengths = [len(array) for array in samples if array is not None]
    if len(set(lengths)) > 1:
        raise ValueError(
            "Arguments `x`, `y` and `sample_weight` must have the same length. "
            f"Received: lengths of {', '.join(map(str, lengths))}"
        )
    return samples


def split_samples(argument, share, samples, seed=None):
    """Returns the samples without a share of them, and that share: the last ones or, with `seed`, random ones."""
    count = len(samples[0])
    first = math.floor(count * (1 - share))
    if not 0 < first < count:
        raise ValueError(
            f"Argument `{argument}` must leave samples on both sides. Received: {argument}={share} of {count} samples"
        )
    rows = np.arange(count) if seed is None else np.random.default_rng(seed).permutation(count)
    return [
        tuple(array if array is None else array[np.sort(part)] for array in samples)
        for part in (rows[:first], rows[first:])
    ]


def class_indices(y, classes):
    """Returns classes, one-hot or not, as integers `[samples]`."""
    return y.argmax(axis=-1) if y.ndim == 2 and y.shape[-1] == classes else y.reshape(-1)


def predict(model, x, batch_size, **options):
    """Returns the outputs of `model.predict` as a list of arrays, in batches of at most `batch_size`.

    Batches are of equal size, one of a dozen, and the last one is padded: few shapes are compiled, whatever the length
    of `x`.
    """
    rows = len(x)
    # On PyTorch, nothing is compiled for a shape.
    if keras.backend.backend() != "torch":
        batches = math.ceil(rows / batch_size)
        batch_size = padded_size(math.ceil(rows / batches), batch_size)
        x = np.concatenate([x, np.repeat(x[:1], batches * batch_size - rows, axis=0)])
    outputs = model.predict(x, batch_size=batch_size, **options)
    return [output[:rows] for output in keras.tree.flatten(outputs)]


def padded_size(rows, batch_size):
    """Returns a power of two, or for larger batches a multiple of an eighth of `batch_size`, of at least `rows`."""
    eighth = -(-batch_size // 8)
    size = 1 << (rows - 1).bit_length() if rows <= eighth // 2 else -(-rows // eighth) * eighth
    return min(size, batch_size)
