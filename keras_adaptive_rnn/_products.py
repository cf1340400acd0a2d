"""The products of a step with weights that stay the same for a sequence, which a time loop may form in its own way."""

import contextlib
from contextvars import ContextVar

from keras import ops

_form = ContextVar("form", default=None)


def matmul(inputs, kernel):
    """Returns `inputs @ kernel`, for a kernel of two axes, or of three and as many batches of inputs.

    The rows may be those of several layers, the batch of each below that of another; a kernel then has more batches, or
    one axis more, those of each layer together. All products of the maps with what they prepared before a sequence go
    through here.
    """
    return _apart(_form.get() or ops.matmul, inputs, kernel)


def multiply(inputs, row):
    """Returns `inputs * row`, for a row `[1, inputs]`, and all that `matmul` says of kernels."""
    return _apart(ops.multiply, inputs, row)


def _apart(function, inputs, kernel):
    """Returns what `function` makes of inputs and kernels, of each layer by itself if there are several."""
    batches = inputs.shape[0] if len(inputs.shape) == 3 else 1
    if len(kernel.shape) == 2 or (len(inputs.shape) == 3 and kernel.shape[0] == batches):
        return function(inputs, kernel)
    layers, size = kernel.shape[0] // batches, inputs.shape[-1]
    apart = ops.transpose(ops.reshape(inputs, (batches, layers, -1, size)), (1, 0, 2, 3))
    outputs = function(ops.reshape(apart, (layers * batches, -1, size)), kernel)
    units = outputs.shape[-1]
    together = ops.transpose(ops.reshape(outputs, (layers, batches, -1, units)), (1, 0, 2, 3))
    return ops.reshape(together, (*inputs.shape[:-2], -1, units))


@contextlib.contextmanager
def override_matmul(form):
    """Within this context, a product is what `form(inputs, kernel)` returns; `None` for a plain one."""
    token = _form.set(form)
    try:
        yield
    finally:
        _form.reset(token)
