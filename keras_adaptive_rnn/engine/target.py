"""The platform for which a program is traced: programs can be compiled for a machine that is not there."""

import contextlib
import contextvars

_target: contextvars.ContextVar[str | None] = contextvars.ContextVar("target", default=None)


@contextlib.contextmanager
def tracing_for(platform):
    """Has the engine choose what is fast on another platform, `"cpu"`, `"gpu"` or `"tpu"`, than it runs on."""
    token = _target.set(platform)
    try:
        yield
    finally:
        _target.reset(token)


def target(default):
    """Returns the platform for which a program is traced: `default()`, unless `tracing_for` another."""
    return _target.get() or default()
