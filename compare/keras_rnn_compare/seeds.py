"""The seeds of the many places that draw from one."""

import hashlib


def fold_in(seed, *path):
    """Returns the seed of a place, named by integers and strings, among all that draw from `seed`.

    Like `jax.random.fold_in`, it is a pure function, and places nest.
    """
    for name in path:
        digest = hashlib.sha256(f"{int(seed)} {name!r}".encode()).digest()
        # Not negative as an int32, which some generators hold.
        seed = int.from_bytes(digest[:4]) >> 1
    return seed
