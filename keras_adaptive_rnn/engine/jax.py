"""The time loop on JAX: one `lax.scan`, with a gradient of its own where that is faster."""

import contextlib

import jax
import keras
from jax import lax
from jax import numpy as jnp

from keras_adaptive_rnn._keras import AutocastScope, in_stateless_scope, is_exporting
from keras_adaptive_rnn._products import override_matmul
from keras_adaptive_rnn.engine import _jax_internals as internals
from keras_adaptive_rnn.engine import tuning
from keras_adaptive_rnn.engine.masking import masked

__all__ = [
    "compiled",
    "outside_graph",
    "preferred_schedules",
    "ragged_scan",
    "scan",
    "scan_layers",
    "should_hoist",
    "supports_axis_merging",
    "switch",
    "value_and_gradients",
    "value_with_gradient_of",
]

# Cheap elementwise operations, which the gradient computes again rather than store their results. Comparisons are not
# among them, as their results are smaller than their operands.
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
        if options.unroll or not options.differentiable or _is_exported(carry, xs):
            (output, states), outputs = lax.scan(body, carry, xs, unroll=options.unroll)
        elif options.recompute:
            (output, states), outputs = recomputed_scan(body, carry, xs)
        else:
            (output, states), outputs = batched_scan(body, carry, xs, options.inside_layers)
    return output, outputs, states


def scan_layers(layer, carry, states, tensors):
    with _scope():
        return lax.scan(lambda carry, now: layer(carry, *now), carry, (states, tensors))


def recomputed_scan(body, carry, xs):
    """`batched_scan`, whose gradient keeps the carries between chunks of steps and runs each chunk again."""
    length = jax.tree.leaves(xs)[0].shape[0]
    size = max(1, min(tuning.RECOMPUTED_STEPS, length))
    count, rest = divmod(length, size)
    chunk = jax.checkpoint(lambda carry, xs: batched_scan(body, carry, xs))
    whole = jax.tree.map(lambda x: x[: length - rest].reshape((count, size, *x.shape[1:])), xs)
    carry, outputs = lax.scan(chunk, carry, whole)
    outputs = jax.tree.map(lambda y: y.reshape((length - rest, *y.shape[2:])), outputs)
    if rest:
        carry, more = chunk(carry, jax.tree.map(lambda x: x[length - rest :], xs))
        outputs = jax.tree.map(lambda *parts: jnp.concatenate(parts), outputs, more)
    return carry, outputs


def batched_scan(body, carry, xs, always=False):
    """`lax.scan`, whose gradient forms that of each weight, $a^T de$ of its products $e = a W$, once for all steps.

    On a CPU the gradient of a small weight is formed in each step instead, unless `always`, which is faster in a loop
    over layers.
    """
    first = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), xs)
    products = Products(body, carry, first, always)
    if not products.kernels or internals.jaxpr_as_fun is None:
        return lax.scan(_keeping_little(body), carry, xs)
    shapes = jax.eval_shape(lambda *a: a, products.kernels, products.taps, carry, first)
    step, constants = _pure(products.tapped(body), *shapes)
    # JAX keeps the functions of a gradient with what it has compiled: tracers that they hold would outlive their trace.
    kernels, products.kernels = products.kernels, shapes[0]
    # What the step has closed over becomes an argument as well. Only floats have a gradient.
    others, fixed_others = _split_floats(constants)
    xs, fixed_xs = _split_floats(xs)

    def run(taps, kernels, others, fixed, carry, xs, fixed_xs):
        def one(carry, now):
            taps, x, fixed_x = now
            carry, y, factors = step(_join_floats(others, fixed), kernels, taps, carry, _join_floats(x, fixed_x))
            return carry, (y, factors)

        last, (ys, factors) = lax.scan(_keeping_little(one), carry, (taps, xs, fixed_xs))
        return (last, ys), factors

    length = jax.tree.leaves((xs, fixed_xs))[0].shape[0]

    def zeros():
        return [jnp.zeros((length, *tap.shape), tap.dtype) for tap in products.taps]

    @jax.custom_vjp
    def loop(kernels, others, fixed, carry, xs, fixed_xs):
        return run(zeros(), kernels, others, fixed, carry, xs, fixed_xs)[0]

    def forward(kernels, others, fixed, carry, xs, fixed_xs):
        def without_kernels(taps, others, carry, xs):
            return run(taps, kernels, others, fixed, carry, xs, fixed_xs)

        results, pull, factors = jax.vjp(without_kernels, zeros(), others, carry, xs, has_aux=True)
        return results, (pull, factors)

    def backward(kept, gradients):
        pull, factors = kept
        d_taps, d_others, d_carry, d_xs = pull(gradients)
        return products.kernel_gradients(factors, d_taps), d_others, None, d_carry, d_xs, None

    loop.defvjp(forward, backward)
    return loop(kernels, others, fixed_others, carry, xs, fixed_xs)


class Products:
    """The products of a step with those weights whose gradients are formed once for all steps.

    Attributes:
        kernels: List of the weights; of their shapes and dtypes, once the step is traced.
        places: For each product, the place of its weight among `kernels`.
        taps: For each product, the shape and dtype of its result. A tap is a zero that is added to a product, so that
            its gradient is that of the product.
    """

    def __init__(self, step, carry, x, always):
        self.always = always
        self.kernels, self.places, self.taps = [], [], []
        with override_matmul(self._find):
            jax.eval_shape(step, carry, x)

    def _find(self, a, kernel):
        e = jnp.matmul(a, kernel)
        if self._is_batched(a, kernel):
            if all(known is not kernel for known in self.kernels):
                self.kernels.append(kernel)
            self.places.append(next(k for k, known in enumerate(self.kernels) if known is kernel))
            self.taps.append(jax.ShapeDtypeStruct(e.shape, e.dtype))
        return e

    def _is_batched(self, a, kernel):
        return self.always or not _on_cpu() or tuning.batches_gradient(kernel, a.shape[-2])

    def tapped(self, step):
        """Returns `step` as a function of kernels and taps too, which also returns what each kernel multiplied."""

        def tapped_step(kernels, taps, carry, x):
            factors = []

            def matmul_impl(a, kernel):
                if not self._is_batched(a, kernel):
                    return jnp.matmul(a, kernel)
                k = len(factors)
                factors.append(a)
                return tapped_product(a, kernels[self.places[k]], taps[k])

            with override_matmul(matmul_impl):
                carry, y = step(carry, x)
            return carry, y, factors

        return tapped_step

    def kernel_gradients(self, factors, d_taps):
        """Returns the gradients of the kernels from what they multiplied and the products' gradients, of all steps."""
        parts = [[] for _ in self.kernels]
        for k, a, e in zip(self.places, factors, d_taps, strict=True):
            parts[k].append(_outer(a, e, self.kernels[k].ndim))
        return [sum(rest, first) for first, *rest in parts]


@jax.custom_vjp
def tapped_product(a, kernel, tap):
    """Returns `a @ kernel`, whose gradient goes to `tap` as well.

    That of the kernel is formed for second derivatives only: for the first, the kernel is a constant.
    """
    return jnp.matmul(a, kernel)


def _product_backward(factors, gradient):
    a, kernel = factors
    batch, last = tuple(range(kernel.ndim - 2)), kernel.ndim - 1
    if _on_cpu() and gradient.shape[-2] > 1:
        # A product of few rows takes half the time with the weight on the left. The barrier keeps XLA from swapping
        # them.
        back = lax.dot_general(kernel, gradient, (((last,), (last,)), (batch, batch)))
        return lax.optimization_barrier(back).mT, jnp.matmul(a.mT, gradient), gradient
    # Not a product with `kernel.mT`, which XLA would copy in every step for a batch of one row.
    back = lax.dot_general(gradient, kernel, (((last,), (last,)), (batch, batch)))
    return back, jnp.matmul(a.mT, gradient), gradient


tapped_product.defvjp(lambda a, kernel, tap: (tapped_product(a, kernel, tap), (a, kernel)), _product_backward)


def _outer(a, e, ndim):
    """Returns the gradient of a kernel of `ndim` axes from all products `a @ kernel`, whose own gradients are `e`."""
    if ndim == 2:
        # XLA's product on a CPU is half as fast if it has to transpose the wide matrix itself.
        a = lax.optimization_barrier(a.reshape((-1, a.shape[-1])).T)
        return jnp.matmul(a, e.reshape((-1, e.shape[-1])))
    return jnp.einsum("tbri,tbro->bio", a, e)


def _keeping_little(step):
    """Returns a step of a scan whose gradient repeats arithmetic, but neither products nor activations."""
    return jax.checkpoint(step, prevent_cse=False, policy=lambda primitive, *_, **__: primitive.name not in ARITHMETIC)


def _pure(function, *arguments):
    """Returns a function of `(constants, *arguments)` like `function`, and the constants that it has closed over."""
    closed, results = jax.make_jaxpr(function, return_shape=True)(*arguments)
    # Not `closed` itself, which holds the constants, tracers of a trace that `call` may outlive.
    close, jaxpr, structure = type(closed), closed.jaxpr, jax.tree.structure(results)

    def call(constants, *arguments):
        run = internals.jaxpr_as_fun(close(jaxpr, constants))
        return jax.tree.unflatten(structure, run(*jax.tree.leaves(arguments)))

    return call, closed.consts


def _split_floats(structure):
    """Returns the floats of a structure, and all else of it, each with `None` at the places of the other."""
    is_float = jax.tree.map(lambda x: jnp.issubdtype(x.dtype, jnp.floating), structure)
    floats = jax.tree.map(lambda x, float_: x if float_ else None, structure, is_float)
    return floats, jax.tree.map(lambda x, float_: None if float_ else x, structure, is_float)


def _join_floats(floats, others):
    return jax.tree.map(lambda a, b: b if a is None else a, floats, others, is_leaf=lambda x: x is None)


def ragged_scan(step, inputs, states, times, ends, collect):
    length, batch_size = inputs.shape[:2]
    path = None
    if collect:
        path = jnp.broadcast_to(states[0], (length + 1, *states[0].shape)), jnp.full((length + 1, batch_size), length)
    if not length:
        return states, times, path

    def body(now):
        k, states, times, path = now
        new, stride = step(inputs[jnp.minimum(times, length - 1), jnp.arange(batch_size)], states)
        active = times < ends
        states = [jnp.where(active[:, None], a, b) for a, b in zip(new, states, strict=True)]
        if collect:
            outputs, visited = path
            path = outputs.at[k + 1].set(states[0]), visited.at[k + 1].set(jnp.where(active, times, length))
        return k + 1, states, jnp.where(active, times + stride, times), path

    with _scope():
        _, states, times, path = lax.while_loop(lambda now: jnp.any(now[2] < ends), body, (0, states, times, path))
    return states, times, path


def value_with_gradient_of(short, whole):
    if internals.jaxpr_as_fun is None:
        return whole()
    with _scope():
        pure, whole_constants = _pure(whole)
        if _is_exported(whole_constants):
            return whole()
        (short, short_constants), whole = _pure(short), pure
    floats, fixed = _split_floats([*short_constants, *whole_constants])
    count = len(short_constants)

    @jax.custom_vjp
    def run(floats, fixed):
        return short(_join_floats(floats, fixed)[:count])

    def forward(floats, fixed):
        return jax.vjp(lambda floats: whole(_join_floats(floats, fixed)[count:]), floats)

    run.defvjp(forward, lambda pull, gradients: (*pull(gradients), None))
    return run(floats, fixed)


def _is_exported(*tensors):
    """Returns whether a function is traced for a file that takes tensors of any size, or for one in ONNX.

    Few formats can hold a choice of rows, or a gradient of our own, whose products depend on the number of rows.
    """
    return is_exporting("onnx") or any(
        not isinstance(size, int) for tensor in jax.tree.leaves(tensors) for size in tensor.shape
    )


def _on_cpu():
    return jax.default_backend() == "cpu"


def _scope():
    # A variable that a step assigns would otherwise keep a tracer of the loop.
    return contextlib.nullcontext() if in_stateless_scope() else keras.StatelessScope()


def switch(index, functions, operands):
    # Not `lax.switch`: a file in ONNX knows only conditionals.
    if len(functions) == 1:
        return functions[0](*operands)
    half = len(functions) // 2
    return lax.cond(
        index < half,
        lambda *operands: switch(index, functions[:half], operands),
        lambda *operands: switch(index - half, functions[half:], operands),
        *operands,
    )


def supports_axis_merging():
    # `jax2onnx` cannot divide what it has merged.
    return not is_exporting("onnx")


def should_hoist(weights, rows, training):
    return not _on_cpu() or (rows is not None and weights >= tuning.HOISTED_WEIGHTS_PER_ROW * rows)


def preferred_schedules(depth, weights, rows, training):
    # In ONNX, `jax2onnx` mixes up the sizes of a loop within a loop.
    return [] if is_exporting("onnx") else ["layers"]


outside_graph = jax.ensure_compile_time_eval


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


def value_and_gradients(function, variables, tensors, compiled):
    def stateless(values, tensors):
        with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
            return function(*tensors)

    values = [variable.value for variable in variables]
    value, (by_variable, by_tensor) = jax.jit(jax.value_and_grad(stateless, argnums=(0, 1)))(
        values, [keras.ops.convert_to_tensor(t) for t in tensors]
    )
    return value, by_variable, by_tensor
