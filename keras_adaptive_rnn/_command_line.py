"""What the commands share: options, and imports without logs."""

import argparse
import contextlib
import math
import os
import re
import sys


def positive(kind):
    """Returns a type for `add_argument`: a positive `int`, or a `float` that is finite as well."""

    def parse(text):
        value = kind(text)
        if not 0 < value < math.inf:
            raise argparse.ArgumentTypeError(f"must be positive, and is {text}")
        return value

    return parse


def seed(text):
    """Returns a seed that Python, NumPy and the backends take."""
    value = int(text)
    if not 0 <= value < 2**32:
        raise argparse.ArgumentTypeError(f"must be from 0 to 4294967295, and is {text}")
    return value


def option_name(class_name):
    """Returns what an option calls a class: `low_rank_gru` for `LowRankGRU`."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", class_name).lower()


@contextlib.contextmanager
def without_logs():
    """Keeps off the terminal what libraries in C++ log while they are imported, before anything can tell them not to.

    Errors in Python are raised as ever.
    """
    sys.stderr.flush()
    kept = os.dup(2)
    try:
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
