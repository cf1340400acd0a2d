"""The time loop on JAX: one `lax.scan`, with a gradient of its own where that pays."""

import contextlib

import jax
import keras
from jax import lax
from jax import numpy as jnp
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun

from keras_adaptive_rnn._keras import AutocastScope, in_stateless_scope
from keras_adaptive_rnn._products import override_matmul
from keras_adaptive_rnn.engine.masking import masked
from keras_adaptive_rnn.engine.weight_gradients import worth_batching

# Steps that are recomputed together: only the states between them are kept.
CHUNK = 16
# What a gradient computes again from what it keeps: that takes less time than writing it and reading it back. Not what
# takes less memory than its operands, such as comparisons.
ARITHMETIC = {
    *("add", "add_any", "sub", "mul", "neg", "max", "min", "select_n"),
    *("broadcast_in_dim", "concatenate", "convert_element_type", "reshape", "slice", "split", "squeeze", "transpose"),
}


def scan(step, inputs, states, output, mask, options):
    masked_step = masked(step, options.zero_output_for_mask)

    def body(carry, inputs):
        output, states = masked_step(*inputs, *carry)
        return (output, states), (output if options.return_sequences else None)

    with _scope():
        carry, xs = (output, states), (inputs, mask)
        if options.unroll:
            last, outputs = lax.scan(body, carry, xs, unroll=True)
        elif not options.differentiable:
            last, outputs = lax.scan(body, carry, xs)
        elif options.recompute:
            last, outputs = recomputed_scan(body, carry, xs)
        else:
            last, outputs = batched_scan(body, carry, xs, options.inside_layers)
    output, states = last
    return output, outputs, states


def scan_layers(layer, flow, states, tensors):
    with _scope():
        return lax.scan(lambda flow, now: layer(flow, *now), flow, (states, tensors))


def recomputed_scan(body, carry, xs):
    """`batched_scan`, of which a gradient keeps the carries between chunks of steps and runs each chunk again."""
    length = jax.tree.leaves(xs)[0].shape[0]
    size = max(1, min(CHUNK, length))
    count, rest = divmod(length, size)

    @jax.checkpoint
    def chunk(carry, xs):
        return batched_scan(body, carry, xs)

    whole = jax.tree.map(lambda x: x[: length - rest].reshape((count, size, *x.shape[1:])), xs)
    carry, outputs = lax.scan(chunk, carry, whole)
    outputs = jax.tree.map(lambda y: y.reshape((length - rest, *y.shape[2:])), outputs)
    if rest:
        carry, more = chunk(carry, jax.tree.map(lambda x: x[length - rest :], xs))
        outputs = jax.tree.map(lambda *parts: jnp.concatenate(parts), outputs, more)
    return carry, outputs


def batched_scan(body, carry, xs, always=False):
    """`lax.scan`, whose gradient forms that of each weight, $a^T de$ of its products $e = a W$, once for all steps.

    On a CPU, that of a small weight is formed step by step, unless `always`, which pays in a loop over layers.
    """
    kernels, products = [], []

    def apart(a, kernel):
        return _on_cpu() and not (always or worth_batching(kernel, a.shape[-2]))

    def note(a, kernel):
        if apart(a, kernel):
            return jnp.matmul(a, kernel)
        k = next((k for k, known in enumerate(kernels) if known is kernel), len(kernels))
        if k == len(kernels):
            kernels.append(kernel)
        e = jnp.matmul(a, kernel)
        products.append((k, e.shape, e.dtype))
        return e

    first = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), xs)
    with override_matmul(note):
        jax.eval_shape(body, carry, first)
    if not kernels:
        return lax.scan(_keeping_little(body), carry, xs)

    def tapped(kernels, taps, carry, x):
        read = []

        def form(a, kernel):
            if apart(a, kernel):
                return jnp.matmul(a, kernel)
            k = products[len(read)][0]
            read.append(a)
            return product(a, kernels[k], taps[len(read) - 1])

        with override_matmul(form):
            carry, y = body(carry, x)
        return carry, y, read

    # Whatever else the step has closed over becomes an argument as well. A gradient has floats alone.
    taps = [jax.ShapeDtypeStruct(shape, dtype) for _, shape, dtype in products]
    arguments = jax.eval_shape(lambda *a: a, kernels, taps, carry, first)
    closed, shapes = jax.make_jaxpr(tapped, return_shape=True)(*arguments)
    others, fixed_others, join_others = _divide(closed.consts)
    xs, fixed_xs, join_xs = _divide(jax.tree.leaves(xs))

    def run(taps, kernels, others, fixed, carry, xs, fixed_xs):
        def one(carry, now):
            taps, x, fixed_x = now
            run = jaxpr_as_fun(ClosedJaxpr(closed.jaxpr, join_others(others, fixed)))
            flat = run(*jax.tree.leaves((kernels, taps, carry)), *join_xs(x, fixed_x))
            carry, y, read = jax.tree.unflatten(jax.tree.structure(shapes), flat)
            return carry, (y, read)

        last, (ys, reads) = lax.scan(_keeping_little(one), carry, (taps, xs, fixed_xs))
        return (last, ys), reads

    length = jax.tree.leaves((xs, fixed_xs))[0].shape[0]

    def zeros():
        return [jnp.zeros((length, *tap.shape), tap.dtype) for tap in taps]

    @jax.custom_vjp
    def loop(kernels, others, fixed, carry, xs, fixed_xs):
        return run(zeros(), kernels, others, fixed, carry, xs, fixed_xs)[0]

    def forward(kernels, others, fixed, carry, xs, fixed_xs):
        def free(taps, others, carry, xs):
            return run(taps, kernels, others, fixed, carry, xs, fixed_xs)

        results, pull, reads = jax.vjp(free, zeros(), others, carry, xs, has_aux=True)
        return results, (pull, reads)

    def backward(kept, gradients):
        pull, reads = kept
        d_taps, d_others, d_carry, d_xs = pull(gradients)
        d_kernels = [None] * len(kernels)
        for (k, *_), a, e in zip(products, reads, d_taps, strict=True):
            d = _outer(a, e, kernels[k].ndim)
            d_kernels[k] = d if d_kernels[k] is None else d_kernels[k] + d
        return d_kernels, d_others, None, d_carry, d_xs, None

    loop.defvjp(forward, backward)
    return loop(kernels, others, fixed_others, carry, xs, fixed_xs)


def _keeping_little(step):
    """Returns a step of a scan whose gradient does arithmetic again, and products and activations not."""
    return jax.checkpoint(step, prevent_cse=False, policy=lambda primitive, *_, **__: primitive.name not in ARITHMETIC)


@jax.custom_vjp
def product(a, kernel, tap):
    """Returns `a @ kernel`, whose gradient goes to `a` and, in the place of the kernel, to `tap`."""
    return jnp.matmul(a, kernel)


def _product_forward(a, kernel, tap):
    return product(a, kernel, tap), kernel


def _product_backward(kernel, gradient):
    batch, last = tuple(range(kernel.ndim - 2)), kernel.ndim - 1
    if _on_cpu() and gradient.shape[-2] > 1:
        # With the weight on the left, a product of few rows takes half the time. XLA would turn it round again.
        back = lax.dot_general(kernel, gradient, (((last,), (last,)), (batch, batch)))
        return lax.optimization_barrier(back).mT, None, gradient
    # Not a product with `kernel.mT`, which XLA would copy in every step where the batch is of one row.
    back = lax.dot_general(gradient, kernel, (((last,), (last,)), (batch, batch)))
    return back, None, gradient


product.defvjp(_product_forward, _product_backward)


def _outer(a, e, ndim):
    """Returns the gradient by a kernel of `ndim` axes of all products `a @ kernel`, whose own gradients are `e`."""
    if ndim == 2:
        # XLA's product on a CPU is half as fast where it has to turn the wide matrix itself.
        a = lax.optimization_barrier(a.reshape((-1, a.shape[-1])).T)
        return jnp.matmul(a, e.reshape((-1, e.shape[-1])))
    return jnp.einsum("tbri,tbro->bio", a, e)


def _divide(leaves):
    """Returns the floats of a list, the others, and a function that joins two such lists again."""
    is_float = [jnp.issubdtype(leaf.dtype, jnp.floating) for leaf in leaves]

    def join(floats, others):
        floats, others = iter(floats), iter(others)
        return [next(floats) if float_ else next(others) for float_ in is_float]

    floats = [leaf for leaf, float_ in zip(leaves, is_float, strict=True) if float_]
    return floats, [leaf for leaf, float_ in zip(leaves, is_float, strict=True) if not float_], join


def ragged_scan(step, inputs, states, times, ends, collect):
    length, batch_size = inputs.shape[:2]
    path = None
    if collect:
        path = jnp.broadcast_to(states[0], (length + 1, *states[0].shape)), jnp.full((length + 1, batch_size), length)

    def body(now):
        k, states, times, path = now
        new, ahead = step(inputs[jnp.minimum(times, length - 1), jnp.arange(batch_size)], states)
        active = times < ends
        states = [jnp.where(active[:, None], a, b) for a, b in zip(new, states, strict=True)]
        if collect:
            outputs, visited = path
            path = outputs.at[k + 1].set(states[0]), visited.at[k + 1].set(jnp.where(active, times, length))
        return k + 1, states, jnp.where(active, times + ahead, times), path

    with _scope():
        _, states, times, path = lax.while_loop(lambda now: jnp.any(now[2] < ends), body, (0, states, times, path))
    return states, times, path


def value_with_gradient_of(short, whole):
    with _scope():
        (quick, form), (full, _) = (jax.make_jaxpr(f, return_shape=True)() for f in (short, whole))
    floats, fixed, join = _divide([*quick.consts, *full.consts])

    def evaluate(closed, consts):
        return jax.tree.unflatten(jax.tree.structure(form), jaxpr_as_fun(ClosedJaxpr(closed.jaxpr, consts))())

    @jax.custom_vjp
    def run(floats, fixed):
        return evaluate(quick, join(floats, fixed)[: len(quick.consts)])

    def forward(floats, fixed):
        return jax.vjp(lambda floats: evaluate(full, join(floats, fixed)[len(quick.consts) :]), floats)

    run.defvjp(forward, lambda pull, gradients: (*pull(gradients), None))
    return run(floats, fixed)


def _on_cpu():
    return jax.default_backend() == "cpu"


def _scope():
    # A variable written while a loop is traced would leak a tracer.
    return contextlib.nullcontext() if in_stateless_scope() else keras.StatelessScope()


def while_loop(condition, body, tensors, maximum_iterations, is_traceable):
    return keras.ops.while_loop(condition, body, tuple(tensors), maximum_iterations=maximum_iterations)


def switch(index, functions, operands):
    return jax.lax.switch(index, functions, *operands)


def should_hoist(weights, rows, training):
    # XLA runs the two small products of a step side by side on a CPU, which a product before the loop only beats where
    # reading the weights takes longer than multiplying with them. Measured on two cores, train steps of an LSTM: 0.9
    # times the speed at 0.5 million weights and 20 rows or 8 million and 64, 1.1 to 1.4 times at 0.5 million and one to
    # four rows or 8 million and 20.
    return not _on_cpu() or (rows is not None and weights >= 200_000 * rows)


def preferred_schedules(depth, weights, rows):
    return ["layers"]


inference = contextlib.nullcontext


def outside_compilers(function, *args, **kwargs):
    return function(*args, **kwargs)


def compiled(function, layer, is_traceable):
    @jax.jit
    def pure(values, *args):
        with keras.StatelessScope(list(zip(layer.variables, values, strict=True))) as scope:
            result = function(*args)
        now = [scope.get_current_value(variable) for variable in layer.variables]
        return result, {k: new for k, (old, new) in enumerate(zip(values, now, strict=True)) if new is not old}

    def call(*args):
        if in_stateless_scope():
            return function(*args)
        with AutocastScope(None):
            values = [variable.value for variable in layer.variables]
        result, written = pure(values, *args)
        for k, value in written.items():
            layer.variables[k].assign(value)
        return result

    return call


def gradients(function, variables, tensors, compiled):
    def stateless(values, tensors):
        with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
            return function(*tensors)

    values = [variable.value for variable in variables]
    value, (by_variable, by_tensor) = jax.jit(jax.value_and_grad(stateless, argnums=(0, 1)))(
        values, [keras.ops.convert_to_tensor(t) for t in tensors]
    )
    return value, by_variable, by_tensor
