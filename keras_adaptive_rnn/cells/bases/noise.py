"""Random numbers that differ from step to step: a hash of keys, drawn once per sequence, and a step count."""

from keras import ops

# The step count is a state and has the compute dtype, and bfloat16 holds no odd integer above 256.
DIGITS = 3
BASE = 128


def count(digits):
    """Returns the count `[batch, 1]` of `[batch, DIGITS]` digits."""
    places = ops.convert_to_tensor([BASE**k for k in range(DIGITS)], dtype="int32")
    return ops.sum(ops.cast(digits, "int32") * places, axis=-1, keepdims=True)


def next_digits(digits):
    """Returns the digits of the next count, which wraps around after `BASE ** DIGITS` (two million) steps."""
    places = ops.convert_to_tensor([BASE**k for k in range(DIGITS)], dtype="int32")
    return ops.cast(((count(digits) + 1) // places) % BASE, digits.dtype)


def uniform(keys, digits):
    """Returns uniform float32 numbers in [0, 1), a hash of `keys`, int32 `[batch, size]`, and the count.

    A random generator would have to be advanced inside the time loop, which JAX does not allow.
    """
    x = keys + count(digits) * -1640531527
    for shift, factor in ((16, 569420461), (15, 1935289751)):
        x = ops.bitwise_xor(x, _shift_right(x, shift)) * factor
    x = ops.bitwise_xor(x, _shift_right(x, 15))
    return ops.cast(_shift_right(x, 8), "float32") * 2.0**-24


def _shift_right(x, places):
    # Shifting a signed integer copies its sign bit.
    return ops.right_shift(x, places) & ((1 << (32 - places)) - 1)
