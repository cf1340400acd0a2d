"""The products of a step with weights that stay the same for a sequence, which a time loop may form in its own way."""

import contextlib
from contextvars import ContextVar

from keras import ops

_form = ContextVar("form", default=None)


def matmul(inputs, kernel):
    """Returns `inputs @ kernel`, for a kernel of two axes, or of three and as many batches of inputs.

    All products of the maps with what they prepared before a sequence go through here.
    """
    form = _form.get()
    return ops.matmul(inputs, kernel) if form is None else form(inputs, kernel)


@contextlib.contextmanager
def formed_by(form):
    """Within this context, a product is what `form(inputs, kernel)` returns; `None` for a plain one."""
    token = _form.set(form)
    try:
        yield
    finally:
        _form.reset(token)
