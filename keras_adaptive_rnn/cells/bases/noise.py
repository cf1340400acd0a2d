"""The noise of a sequence: masks that hold for all of its steps, and numbers that differ from step to step."""

from keras import ops

# The count of steps is a state, and states are of the compute dtype: in bfloat16, integers end at 256.
DIGITS = 3
BASE = 128


class Noise:
    """The masks and keys of one sequence; a plain object, so that Keras does not track its tensors.

    `given` holds masks and keys to use in place of drawn ones, by name: tests put the same on every backend.
    """

    def __init__(self):
        self.drawn = {}
        self.given = {}


def count(digits):
    """Returns the count, `[batch, 1]`, that `[batch, DIGITS]` digits spell."""
    places = ops.convert_to_tensor([BASE**k for k in range(DIGITS)], dtype="int32")
    return ops.sum(ops.cast(digits, "int32") * places, axis=-1, keepdims=True)


def next_digits(digits):
    """Returns the digits of the next count; after `BASE ** DIGITS` steps, two million, it starts anew."""
    places = ops.convert_to_tensor([BASE**k for k in range(DIGITS)], dtype="int32")
    return ops.cast(((count(digits) + 1) // places) % BASE, digits.dtype)


def uniform(keys, digits):
    """Returns numbers of float32, uniform in [0, 1), a function of `keys`, `[batch, size]` of int32, and the count.

    A random generator would be advanced inside the time loop, which JAX forbids; so the numbers are a hash.
    """
    x = keys + count(digits) * -1640531527
    for shift, factor in ((16, 569420461), (15, 1935289751)):
        x = ops.bitwise_xor(x, _shift_right(x, shift)) * factor
    x = ops.bitwise_xor(x, _shift_right(x, 15))
    return ops.cast(_shift_right(x, 8), "float32") * 2.0**-24


def _shift_right(x, places):
    # Of a signed integer the shift would carry the sign along.
    return ops.bitwise_and(ops.right_shift(x, places), (1 << (32 - places)) - 1)
