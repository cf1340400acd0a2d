"""Single precision at least, where half precision overflows, vanishes or rounds too much."""

import keras
from keras import ops

HALF = ("float16", "bfloat16")


def precise_dtype(dtype):
    """Returns the name of a dtype, or `"float32"` in place of half precision."""
    name = keras.backend.standardize_dtype(dtype)
    return "float32" if name in HALF else name


def precise(x):
    """Returns a tensor in single precision if it is in half, else as it is."""
    return ops.cast(x, "float32") if keras.backend.standardize_dtype(x.dtype) in HALF else x
