"""The platform that a program is traced for: a program may be compiled for a machine that is not at hand."""

import contextlib
import contextvars

_target: contextvars.ContextVar[str | None] = contextvars.ContextVar("target", default=None)


@contextlib.contextmanager
def tracing_for(platform):
    """Lets an engine choose what is fast on a platform, instead of the one that it would run on.

    Args:
        platform: `"cpu"`, `"gpu"` or `"tpu"`.
    """
    token = _target.set(platform)
    try:
        yield
    finally:
        _target.reset(token)


def target(default):
    """Returns the platform that a program is traced for; `default()` tells the one that it would run on."""
    return _target.get() or default()
