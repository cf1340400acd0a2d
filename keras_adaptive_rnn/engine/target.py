"""The platform for which a program is traced: programs can be compiled for a machine that is not there."""

import contextvars

from keras_adaptive_rnn._contexts import held

_target: contextvars.ContextVar[str | None] = contextvars.ContextVar("target", default=None)


def tracing_for(platform):
    """A context in which the engine chooses what is fast on another platform, `"cpu"`, `"gpu"` or `"tpu"`."""
    return held(_target, platform)


def target(default):
    """Returns the platform for which a program is traced: `default()`, unless `tracing_for` another."""
    return _target.get() or default()
