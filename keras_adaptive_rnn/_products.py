"""Products of a step with weights that stay the same for a sequence, which a time loop may compute in its own way."""

import contextlib
from contextvars import ContextVar

from keras import ops

_matmul_impl = ContextVar("matmul_impl", default=None)


def matmul(inputs, kernel):
    """Returns `inputs @ kernel`. Linear maps multiply by their prepared weights with this function alone.

    Args:
        inputs: Tensor `[rows, inputs]`, or `[batches, rows, inputs]` for a batched product.
        kernel: Tensor `[inputs, outputs]`, or `[batches, inputs, outputs]`. If the rows hold the batches of several
            layers, one below another, the kernels of all layers are stacked along the first axis, layer by layer.
    """
    return _per_layer(_matmul_impl.get() or plain_matmul, inputs, kernel)


def plain_matmul(inputs, kernel):
    """Returns `inputs @ kernel`. Keras's own product of float64 is float32 on JAX and PyTorch."""
    is_double = "float64" in str(inputs.dtype) and "float64" in str(kernel.dtype)
    return inputs @ kernel if is_double else ops.matmul(inputs, kernel)


def multiply(inputs, row):
    """Returns `inputs * row` for a row `[1, inputs]`, or several, stacked as the kernels of `matmul` are."""
    return _per_layer(ops.multiply, inputs, row)


def _per_layer(function, inputs, kernel):
    batches = inputs.shape[0] if len(inputs.shape) == 3 else 1
    if len(kernel.shape) == 2 or (len(inputs.shape) == 3 and kernel.shape[0] == batches):
        return function(inputs, kernel)
    layers, size = kernel.shape[0] // batches, inputs.shape[-1]
    by_layer = ops.transpose(ops.reshape(inputs, (batches, layers, -1, size)), (1, 0, 2, 3))
    outputs = function(ops.reshape(by_layer, (layers * batches, -1, size)), kernel)
    units = outputs.shape[-1]
    by_batch = ops.transpose(ops.reshape(outputs, (layers, batches, -1, units)), (1, 0, 2, 3))
    return ops.reshape(by_batch, (*inputs.shape[:-2], -1, units))


@contextlib.contextmanager
def override_matmul(matmul_impl):
    """Within this context, `matmul` calls `matmul_impl(inputs, kernel)`; `None` restores the plain product."""
    token = _matmul_impl.set(matmul_impl)
    try:
        yield
    finally:
        _matmul_impl.reset(token)
