"""What the commands share: options, checks of texts, and how they end."""

import argparse
import contextlib
import errno
import math
import os
import re
import sys

from keras_adaptive_rnn.files import Busy, Unwritten

# Errors of the system that only writing has.
OF_WRITING = (errno.ENOSPC, errno.EFBIG, errno.EPIPE, getattr(errno, "EDQUOT", errno.ENOSPC))


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
def ending(output=None):
    """Ends a command in one line for the user, where it fails or is stopped; `output` is a folder to go on from."""

    # A folder that the command could not begin to fill is no place to go on from.
    def kept():
        is_there = output is not None and os.path.exists(os.path.join(output, "settings.json"))
        return f" What is done is in {output}; the same command goes on from there." if is_there else ""

    try:
        yield
        sys.stdout.flush()
    except Unwritten as error:
        sys.exit(f"error: {error}.{kept()}")
    except OSError as error:
        if error.filename is not None or error.errno not in OF_WRITING:
            sys.exit(f"error: {error}")
        # Files have names: it was printing. Python would say so again when it ends.
        with contextlib.suppress(OSError), open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())
        sys.exit(f"error: the output cannot be written: {error.strerror}.{kept()}")
    except (ValueError, TypeError, ImportError, Busy) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        print(f"\nStopped.{kept()}", file=sys.stderr)
        sys.exit(130)


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
