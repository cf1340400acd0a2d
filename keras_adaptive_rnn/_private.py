"""How this package uses names that another library does not promise to keep.

Only `_keras.py` and `engine/_*_internals.py` import them, each in a `try`: without one the package is slower, and still
right.
"""

import warnings


def missing(name, consequence):
    """Warns that a library no longer has `name`; returns `None`, to stand for it."""
    warnings.warn(
        f"The installed version of {name.partition('.')[0]} has no `{name}`, which keras_adaptive_rnn uses. Without it "
        f"{consequence}; results stay correct.",
        stacklevel=3,
    )
