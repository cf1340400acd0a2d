"""Draws configurations by number, checks them, and finds the smallest that fails in the same way."""

import dataclasses
import gc
import time
import traceback

import keras
from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings

from tests.backends import EVERY_ROW
from tests.outside.configurations import drawn
from tests.outside.search import CHECKS, Configuration

STRATEGY = drawn(Configuration)
# How many configurations the tests check, the first ones.
FIXED = 200 if EVERY_ROW else 50 if keras.backend.backend() == "torch" else 3
# How long to look for smaller configurations.
SHRINKING_SECONDS = 60


@dataclasses.dataclass
class Failure:
    """The smallest configuration found that fails, the check that it fails, and its error."""

    configuration: Configuration
    check: str
    error: Exception


def search(number: int, every_check: bool = False) -> Failure | None:
    """Checks the configuration with a number, which stands for the same one wherever Hypothesis draws alike.

    Args:
        number: Integer, the seed of the configuration.
        every_check: Whether to run every check, rather than to compare the loops and run one further check, which the
            configuration decides. Defaults to `False`.

    Returns:
        `None` if it passes, and otherwise the failure of the smallest configuration that fails.
    """
    drawn_before, failure, failed_at = 0, None, None

    # Hypothesis begins with the simplest example, the same for all seeds, and ends with variations: the second one
    # alone is new. After a failure, all further ones are attempts to make it smaller.
    @seed(number)
    @settings(
        max_examples=2,
        phases=[Phase.generate, Phase.shrink],
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
    )
    @given(STRATEGY)
    def run(configuration):
        nonlocal drawn_before, failure, failed_at
        drawn_before += 1
        if drawn_before == 1 or (failed_at is not None and time.monotonic() - failed_at > SHRINKING_SECONDS):
            return
        checks = [failure.check] if failure else CHECKS if every_check else configuration.turn()
        for check in checks:
            try:
                configuration.check(check)
            except Exception as error:
                failure = Failure(configuration, check, error)
                failed_at = failed_at or time.monotonic()
                raise
            finally:
                keras.backend.clear_session(free_memory=False)

    try:
        run()
    except Exception:
        if failure is None:
            raise
    return failure


def forget():
    """Frees what searches leave: JAX keeps compiled programs for ever, and a collection of garbage takes long."""
    if keras.backend.backend() == "jax":
        import jax

        jax.clear_caches()
    gc.collect()


def report(number: int, failure: Failure) -> str:
    """Returns what failed, and lines of Python that repeat it."""
    where = [frame for frame in traceback.extract_tb(failure.error.__traceback__) if "keras" in frame.filename][-1:]
    return (
        f"Configuration {number} on {keras.backend.backend()}: the check {failure.check!r} fails. "
        f"KERAS_BACKEND={keras.backend.backend()} python, in the root of the repository, repeats it:\n\n"
        f"{failure.configuration.script(failure.check)}\n\n{type(failure.error).__name__}: {failure.error}\n"
        + "".join(f"at {frame.filename}:{frame.lineno}\n" for frame in where)
    )
