"""Checks of arguments, whose errors name the argument, what is allowed and what was received."""

import math
import numbers


def integer(name, value, minimum=1, optional=False):
    """Returns `value` as an `int` of at least `minimum`."""
    if value is None and optional:
        return None
    allowed = f"an integer of at least {minimum}" + (", or None" if optional else "")
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"Argument `{name}` must be {allowed}. Received: {name}={value!r}")
    if value < minimum:
        raise ValueError(f"Argument `{name}` must be {allowed}. Received: {name}={value!r}")
    return int(value)


def positive_number(name, value):
    """Returns `value` as a positive `float`."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"Argument `{name}` must be a positive number. Received: {name}={value!r}")
    if not 0 < value < math.inf:
        raise ValueError(f"Argument `{name}` must be a positive number. Received: {name}={value!r}")
    return float(value)


def boolean(name, value):
    """Returns `value`, a `bool`."""
    if not isinstance(value, bool):
        raise TypeError(f"Argument `{name}` must be True or False. Received: {name}={value!r}")
    return value


def choice(name, value, allowed):
    """Returns `value`, one of the strings in `allowed`."""
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(
            f"Argument `{name}` must be one of {', '.join(map(repr, allowed))}. Received: {name}={value!r}"
        )
    return value
