"""The time loop on JAX: one `lax.scan`, with a gradient of its own where that is faster."""

import contextlib
import functools
import math
import os
import warnings

import jax
import jaxlib
import keras
from jax import lax
from jax import numpy as jnp

from keras_adaptive_rnn._keras import AutocastScope, in_stateless_scope, is_exporting
from keras_adaptive_rnn.engine import linear, tuning
from keras_adaptive_rnn.engine.jax_native import native_scan, prefers_native
from keras_adaptive_rnn.engine.jax_platform import on_cpu, on_gpu
from keras_adaptive_rnn.engine.jax_products import Products, first_of, known_product, reads_elsewhere, tapped_product
from keras_adaptive_rnn.engine.masking import masked
from keras_adaptive_rnn.engine.reading import reading, values_of

__all__ = [
    "compiled",
    "linear_scan",
    "native_scan",
    "on_accelerator",
    "outside_graph",
    "preferred_linear_schedule",
    "preferred_schedules",
    "prefers_native",
    "prefers_persistent",
    "ragged_scan",
    "scan",
    "scan_layers",
    "should_hoist",
    "supports_axis_merging",
    "value_and_gradients",
    "value_with_gradient_of",
]

# Cheap elementwise operations, which the gradient computes again rather than store their results. Comparisons are not
# among them, as their results are smaller than their operands.
ARITHMETIC = {
    *("add", "add_any", "sub", "mul", "neg", "max", "min", "select_n"),
    *("broadcast_in_dim", "concatenate", "convert_element_type", "reshape", "slice", "split", "squeeze", "transpose"),
}


def warn_of_wrong_numbers(version, flags):
    """Warns of a version of `jaxlib` whose compiler for CPUs breaks products, unless the `flags` turn this off."""
    if version == "0.10.2" and "xla_cpu_experimental_ynn_fusion_type" not in flags:
        warnings.warn(
            "On CPUs, jaxlib 0.10.2 can return wrong numbers from compiled functions, such as `fit` and `predict` "
            "(https://github.com/jax-ml/jax/issues/39103). Install another version, as by "
            '`pip install "jax!=0.10.2"`, or set `XLA_FLAGS=--xla_cpu_experimental_ynn_fusion_type=` in the '
            "environment.",
            stacklevel=2,
        )


warn_of_wrong_numbers(jaxlib.__version__, os.environ.get("XLA_FLAGS", ""))


def scan(step, run, inputs, states, output, mask, options):
    emptied, tensors = run.emptied(), run.tensors()
    count, weights = len(tensors), [*tensors, *values_of(options.variables)]

    def bind(weights, matmul_impl):
        """Returns a step of `lax.scan`, with `weights` in place of the tensors of the run and of the variables."""
        now = emptied.filled(weights[:count]).changed(matmul_impl=matmul_impl)

        def body(carry, this):
            inputs, mask = this
            with AutocastScope(now.dtype):
                new = reading(options.variables, weights[count:], step, inputs, carry[1], now)
            output, states = masked(mask, new, carry, options.zero_output_for_mask)
            return (output, states), (output if options.return_sequences else None)

        return body

    carry, xs = (output, states), (inputs, mask)
    if options.unroll or run.skips_unneeded or _is_exported(carry, xs):
        carry, outputs = lax.scan(bind(weights, jnp.matmul), carry, xs, unroll=options.unroll)
    elif options.persistent and 0 not in jax.tree.leaves(xs)[0].shape[:2]:
        # Pallas takes a second to import.
        from keras_adaptive_rnn.engine.jax_persistent import persistent_scan

        carry, outputs = persistent_scan(bind, weights, carry, xs, interpret=not on_gpu())
    elif options.recompute:
        carry, outputs = recomputed_scan(bind, weights, carry, xs)
    else:
        carry, outputs = deferred_scan(bind, weights, carry, xs, options.inside_layers)
    output, states = carry
    return output, outputs, states


def scan_layers(layer, carry, states, tensors):
    with _scope():
        return lax.scan(lambda carry, now: layer(carry, *now), carry, (states, tensors))


def recomputed_scan(bind, weights, carry, xs):
    """`deferred_scan`, whose gradient keeps the carries between chunks of steps and runs each chunk again."""
    length = jax.tree.leaves(xs)[0].shape[0]
    size = max(1, min(tuning.RECOMPUTED_STEPS, length))
    count, rest = divmod(length, size)
    chunk = jax.checkpoint(lambda carry, xs: deferred_scan(bind, weights, carry, xs))
    whole = jax.tree.map(lambda x: x[: length - rest].reshape((count, size, *x.shape[1:])), xs)
    carry, outputs = lax.scan(chunk, carry, whole)
    outputs = jax.tree.map(lambda y: y.reshape((length - rest, *y.shape[2:])), outputs)
    if rest:
        carry, more = chunk(carry, jax.tree.map(lambda x: x[length - rest :], xs))
        outputs = jax.tree.map(lambda *parts: jnp.concatenate(parts), outputs, more)
    return carry, outputs


def deferred_scan(bind, weights, carry, xs, always=False):
    """`lax.scan`, whose gradient forms that of each weight, $a^T de$ of its products $e = a W$, once for all steps.

    On a CPU the gradient of a small weight is formed in each step instead, unless `always`, which is faster in a loop
    over layers.

    Args:
        bind: Function of `(weights, matmul_impl)` that returns a step of `lax.scan`.
        weights: List of tensors.
        carry, xs: As in `lax.scan`.
        always: Whether the gradient of a small weight is formed once, too. Defaults to `False`.
    """
    products = Products(bind, weights, carry, xs, always)
    if not products.taps:
        return lax.scan(_keeping_little(bind(weights, jnp.matmul)), carry, xs, unroll=_unroll())
    joins = on_gpu() and _all_inexact(carry, jax.eval_shape(bind(weights, jnp.matmul), carry, first_of(xs)))
    gradient = OneTensor(products, carry) if joins else Tapped(products)
    loop = jax.custom_vjp(lambda weights, *args: lax.scan(bind(weights, jnp.matmul), *args, unroll=_unroll()))
    loop.defvjp(gradient.forward, gradient.backward)
    return loop(weights, carry, xs)


class Tapped:
    """The gradient of `deferred_scan` on a CPU: that of `lax.scan`, which keeps products and activations."""

    def __init__(self, products):
        self.products = products

    def forward(self, weights, carry, xs):
        kernels, others = self.products.split(weights)

        def run(taps, others, carry, xs):
            weights = self.products.join(kernels, others)

            def one(carry, this):
                taps, x = this
                (carry, y), factors = self.products.step(weights, carry, x, tapped_product, taps)
                return carry, (y, factors)

            carry, (ys, factors) = lax.scan(_keeping_little(one), carry, (taps, xs), unroll=_unroll())
            return (carry, ys), factors

        taps = self.products.zeros(jax.tree.leaves(xs)[0].shape[0])
        results, pull, factors = jax.vjp(run, taps, others, carry, xs, has_aux=True)
        return results, (pull, factors)

    def backward(self, residuals, gradients):
        pull, factors = residuals
        d_taps, d_others, d_carry, d_xs = pull(gradients)
        d_kernels = self.products.kernel_gradients(factors, d_taps)
        return self.products.join(d_kernels, d_others), d_carry, d_xs


class OneTensor:
    """The gradient of `deferred_scan` on a GPU, where launching a kernel takes longer than most operations of a step.

    A step writes its states and products as one tensor. The backward step computes all else again, which XLA puts into
    the kernels that read it, and writes one tensor, too.
    """

    def __init__(self, products, carry):
        self.products, self.states = products, jax.tree.structure(carry)
        self.kept = Joined([*jax.tree.leaves(carry), *products.taps])
        self.written = Joined([*products.taps, *products.factors])

    def forward(self, weights, carry, xs):
        def one(carry, x):
            results = []

            def product(a, kernel):
                results.append(jnp.matmul(a, kernel))
                return results[-1]

            (new, y), _ = self.products.step(weights, carry, x, product)
            return new, (y, self.kept.join([*jax.tree.leaves(carry), *results]))

        carry, (ys, kept) = lax.scan(one, carry, xs, unroll=_unroll())
        return (carry, ys), (weights, xs, kept)

    def backward(self, residuals, gradients):
        (weights, xs, kept), (d_carry, d_ys) = residuals, gradients
        kernels, others = self.products.split(weights)

        def one(now, this):
            (d_carry, d_others), (x, d_y, kept) = now, this
            pull, factors = self.pull(kernels, others, x, kept)
            d_taps, more, d_carry, d_x = pull((d_carry, d_y))
            d_others = [a if a is None else a + b for a, b in zip(d_others, more, strict=True)]
            # Masks and the like have no gradient.
            d_x = jax.tree.map(lambda d: None if d.dtype == jax.dtypes.float0 else d, d_x)
            return (d_carry, d_others), (d_x, self.written.join([*d_taps, *factors]))

        begin = d_carry, [jnp.zeros_like(x) if x is not None and _all_inexact(x) else None for x in others]
        (d_carry, d_others), (d_xs, written) = lax.scan(one, begin, (xs, d_ys, kept), reverse=True, unroll=_unroll())
        written, count = self.written.split(written), len(self.products.taps)
        d_kernels = self.products.kernel_gradients(written[count:], written[:count])
        return self.products.join(d_kernels, d_others), d_carry, d_xs

    def pull(self, kernels, others, x, kept):
        """Returns the function from the gradients of a step's results to those of its taps, and of what it read.

        The other list holds what each kernel has multiplied.
        """
        products, kept, count = self.products, self.kept.split(kept), self.states.num_leaves
        carry, results = jax.tree.unflatten(self.states, kept[:count]), kept[count:]

        def step(taps, others, carry, x):
            return products.step(products.join(kernels, others), carry, x, known_product, taps, results)

        _, pull, factors = jax.vjp(step, products.zeros(), others, carry, x, has_aux=True)
        return pull, factors


class Joined:
    """Tensors that a step writes, as one of each dtype: a GPU launches a kernel for each tensor that it writes.

    They have the shapes and dtypes of `like`.
    """

    def __init__(self, like):
        self.like, self.dtypes = like, list(dict.fromkeys(each.dtype for each in like))

    def join(self, tensors):
        return [jnp.concatenate([x.reshape(-1) for x in tensors if x.dtype == dtype]) for dtype in self.dtypes]

    def split(self, joined):
        """Returns the tensors, with the leading axes of `joined`."""
        found, ends = [], dict.fromkeys(self.dtypes, 0)
        for like in self.like:
            start, whole = ends[like.dtype], joined[self.dtypes.index(like.dtype)]
            ends[like.dtype] = end = start + math.prod(like.shape)
            found.append(whole[..., start:end].reshape((*whole.shape[:-1], *like.shape)))
        return found


def _unroll():
    """Returns how many steps `lax.scan` runs in each round."""
    return tuning.GPU_UNROLLED_STEPS if on_gpu() else 1


def _keeping_little(step):
    """Returns a step of a scan whose gradient repeats arithmetic, but neither products nor activations."""
    return jax.checkpoint(step, prevent_cse=False, policy=lambda primitive, *_, **__: primitive.name not in ARITHMETIC)


def linear_scan(a, b, h, associative):
    if not b.shape[0]:
        return b
    recurrence = linear.associative if associative else _step_by_step
    if _is_exported(a, b):
        return recurrence(a, b, h)
    return _differentiable_recurrence(recurrence, a, b, h)


def _step_by_step(a, b, h, reverse=False):
    def one(h, now):
        h = now[0] * h + now[1]
        return h, h

    return lax.scan(one, h, (a, b), reverse=reverse)[1]


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _differentiable_recurrence(recurrence, a, b, h):
    return recurrence(a, b, h)


def _recurrence_forward(recurrence, a, b, h):
    states = recurrence(a, b, h)
    return states, (a, h, states)


def _recurrence_backward(recurrence, kept, gradient):
    return linear.gradients(recurrence, *kept, gradient)


_differentiable_recurrence.defvjp(_recurrence_forward, _recurrence_backward)


def preferred_linear_schedule(training):
    # In inference, XLA's loop keeps in the cache what a scan reads and writes for the whole sequence: 1.5 times as fast
    # at 256 units, 20 rows and 500 steps; training 0.9 times.
    return "associative" if not on_cpu() else "scan" if training else "steps"


def _all_inexact(*trees):
    return all(jnp.issubdtype(leaf.dtype, jnp.inexact) for leaf in jax.tree.leaves(trees))


def ragged_scan(step, run, inputs, states, times, ends, collect):
    length, batch_size = inputs.shape[:2]
    path = None
    if collect:
        path = jnp.broadcast_to(states[0], (length + 1, *states[0].shape)), jnp.full((length + 1, batch_size), length)
    if not length:
        return states, times, path

    def body(now):
        k, states, times, path = now
        with AutocastScope(run.dtype):
            new, stride = step(inputs[jnp.minimum(times, length - 1), jnp.arange(batch_size)], states, run)
        active = times < ends
        states = [jnp.where(active[:, None], a, b) for a, b in zip(new, states, strict=True)]
        if collect:
            outputs, visited = path
            path = outputs.at[k + 1].set(states[0]), visited.at[k + 1].set(jnp.where(active, times, length))
        return k + 1, states, jnp.where(active, times + stride, times), path

    with _scope():
        _, states, times, path = lax.while_loop(lambda now: jnp.any(now[2] < ends), body, (0, states, times, path))
    return states, times, path


def value_with_gradient_of(short, whole, tensors, variables):
    if _is_exported(tensors):
        return whole(*tensors)

    def of_values(function):
        return lambda values, tensors: reading(variables, values, function, *tensors)

    values = values_of(variables)
    if reads_elsewhere(of_values(whole), values, tensors):
        return whole(*tensors)
    run = jax.custom_vjp(of_values(short))
    run.defvjp(lambda *args: jax.vjp(of_values(whole), *args), lambda pull, gradients: pull(gradients))
    return run(values, tensors)


def _is_exported(*tensors):
    """Returns whether a function is traced for a file that takes tensors of any size, or for one in ONNX.

    Few formats can hold a choice of rows, or a gradient of our own, whose products depend on the number of rows.
    """
    return is_exporting("onnx") or any(
        not isinstance(size, int) for tensor in jax.tree.leaves(tensors) for size in tensor.shape
    )


def _scope():
    # A variable that a step assigns would otherwise keep a tracer of the loop.
    return contextlib.nullcontext() if in_stateless_scope() else keras.StatelessScope()


def supports_axis_merging():
    # `jax2onnx` cannot divide what it has merged.
    return not is_exporting("onnx")


def on_accelerator(tensor):
    return not on_cpu()


def should_hoist(weights, rows, training):
    return not on_cpu() or (rows is not None and weights >= tuning.HOISTED_WEIGHTS_PER_ROW * rows)


def preferred_schedules(depth, weights, rows, training):
    # In ONNX, `jax2onnx` mixes up the sizes of a loop within a loop.
    if is_exporting("onnx"):
        return []
    return ["wavefront", "layers"] if on_gpu() else ["layers"]


def prefers_persistent(cell, training):
    known = tuning.PERSISTENT_UNITS.get(type(cell).__name__)
    return known is not None and on_gpu() and cell.units <= known[0 if training else 1]


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
        values = values_of(layer.variables)
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
