"""Contexts in which a context variable has another value."""

import contextlib


@contextlib.contextmanager
def held(variable, value):
    """Gives a context variable this value inside the block, and the block the value."""
    token = variable.set(value)
    try:
        yield value
    finally:
        variable.reset(token)
