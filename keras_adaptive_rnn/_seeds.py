"""Seeds: of the user, of chance, and of the many places that draw from one."""

import hashlib
import random


def fold_in(seed, *path):
    """Returns the seed of a place, told by integers and strings, among all that draw from `seed`; `None` for `None`.

    Like `jax.random.fold_in`, it is a pure function: places nest, as `fold_in(fold_in(seed, a), b)` is
    `fold_in(seed, a, b)`, and each of them has numbers of its own.
    """
    if seed is None:
        return None
    for name in path:
        digest = hashlib.sha256(f"{int(seed)} {name!r}".encode()).digest()
        # Not negative as an int32, which is what some generators hold.
        seed = int.from_bytes(digest[:4]) >> 1
    return seed


def resolve_seed(seed):
    """Returns `seed`, or a random seed if it is `None`, which `keras.utils.set_random_seed` determines."""
    return random.randrange(2**31) if seed is None else seed
