"""Products of inputs with weights that stay the same for a sequence."""

from keras import ops


def plain_matmul(inputs, kernel):
    """Returns `inputs @ kernel`. Keras's own product of float64 is float32 on JAX and PyTorch."""
    dtype = str(inputs.dtype)
    # On PyTorch, Keras takes longer to choose a dtype than a product of small matrices takes.
    is_plain = dtype in ("torch.float32", "torch.bfloat16") and inputs.dtype == kernel.dtype
    is_double = "float64" in dtype and "float64" in str(kernel.dtype)
    return inputs @ kernel if is_plain or is_double else ops.matmul(inputs, kernel)


def multiply(inputs, row):
    """Returns `inputs * row` for a row `[1, inputs]`, or several, stacked as the kernels of `Run.matmul` are."""
    return product_per_layer(ops.multiply, inputs, row)


def product_per_layer(function, inputs, kernel):
    """Returns `function(inputs, kernel)`, for stacked kernels layer by layer: see `Run.matmul`."""
    batches = inputs.shape[0] if len(inputs.shape) == 3 else 1
    if len(kernel.shape) == 2 or (len(inputs.shape) == 3 and kernel.shape[0] == batches):
        return function(inputs, kernel)
    layers, size = kernel.shape[0] // batches, inputs.shape[-1]
    by_layer = ops.transpose(ops.reshape(inputs, (batches, layers, -1, size)), (1, 0, 2, 3))
    outputs = function(ops.reshape(by_layer, (layers * batches, -1, size)), kernel)
    units = outputs.shape[-1]
    by_batch = ops.transpose(ops.reshape(outputs, (layers, batches, -1, units)), (1, 0, 2, 3))
    return ops.reshape(by_batch, (*inputs.shape[:-2], -1, units))
