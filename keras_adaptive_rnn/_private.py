"""How this package uses names that another library does not promise to keep.

Only `_keras.py` and `engine/_*_internals.py` ask for them: without one the package warns, and does without it.
"""

import pkgutil
import warnings


def optional(name, consequence, fallback=None):
    """Returns the object called `name`, or `fallback` if the installed version of its library lacks it.

    Args:
        name: Full name, such as `"torch._C._current_graph_task_id"`.
        consequence: What a warning says about the package without it.
        fallback: What stands for it. Defaults to `None`.
    """
    try:
        return pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        warnings.warn(
            f"The installed version of {name.partition('.')[0]} has no `{name}`, which keras_adaptive_rnn uses. "
            f"Without it {consequence}.",
            stacklevel=2,
        )
        return fallback
