"""The time loop on TensorFlow: one `tf.while_loop`, in the graph and under XLA alike, with a gradient of its own."""

import contextlib
import functools
import itertools

import keras
import tensorflow as tf
from keras import tree
from tensorflow.compiler.tf2xla.python import xla
from tensorflow.python.eager import record
from tensorflow.python.ops import op_selector
from tensorflow.python.ops.control_flow_util import GraphOrParentsInXlaContext

from keras_adaptive_rnn._keras import AutocastScope, in_stateless_scope, model_supports_jit
from keras_adaptive_rnn._products import override_matmul
from keras_adaptive_rnn.engine.masking import masked
from keras_adaptive_rnn.engine.weight_gradients import worth_batching

# Steps whose products are formed together in the backward loop: enough rows for one product to run at full speed.
TOGETHER = 64
# Steps that are recomputed together: only the states between them are kept.
CHUNK = 16
# Multiplications from which on, and entries of a weight up to which, two halves of a product take less time than it.
HALVES_FROM, HALVES_TO = 2_000_000, 200_000


def scan(step, inputs, states, output, mask, options):
    step = masked(step, options.zero_output_for_mask)
    xs = [*tree.flatten(inputs), *([] if mask is None else [mask])]
    length = xs[0].shape[0] if xs[0].shape[0] is not None else tf.shape(xs[0])[0]

    def body(x, carry):
        """One step, of flat lists; the carry is the output and the states."""
        now, mask_now = (x, None) if mask is None else (x[:-1], x[-1])
        old_states = tree.pack_sequence_as(states, carry[1:])
        new_output, new_states = step(tree.pack_sequence_as(inputs, now), mask_now, carry[0], old_states)
        new = [new_output, *tree.flatten(new_states)]
        # `where` and custom steps may lose a static size that the loop needs to find again.
        for tensor, old in zip(new, carry, strict=True):
            tensor.set_shape(old.shape)
        return new

    carry = [output, *tree.flatten(states)]
    if options.unroll:
        outputs = []
        for t in range(length):
            carry = body([x[t] for x in xs], carry)
            outputs.append(carry[0])
        outputs = tf.stack(outputs) if options.return_sequences else None
    elif tf.executing_eagerly() or not options.differentiable:
        carry, _, _, outputs = loop(body, _arrays(xs, length), carry, length, options.return_sequences)
    else:
        carry, outputs = batched_loop(body, xs, carry, length, mask is not None, options)
    return carry[0], outputs, tree.pack_sequence_as(states, carry[1:])


def scan_layers(layer, flow, states, tensors):
    count = tensors[0].shape[0]
    arrays = _arrays((*states, *tensors), count)

    def one(k, flow, ends):
        now = [array.read(k) for array in arrays]
        new, last = layer(flow, now[: len(states)], now[len(states) :])
        for tensor, old in zip(new, flow, strict=True):
            tensor.set_shape(old.shape)
        return k + 1, new, [array.write(k, state) for array, state in zip(ends, last, strict=True)]

    _, flow, ends = tf.while_loop(
        lambda k, *_: k < count,
        one,
        (tf.constant(0), flow, [_like(array, count) for array in arrays[: len(states)]]),
        maximum_iterations=count,
        swap_memory=True,
    )
    return flow, [array.stack() for array in ends]


def loop(body, xs, carry, length, return_sequences, start=0, keep=(), every=1, made=(), form=tf.matmul):
    """Runs `body`, whose products `form` forms, over `length` entries of the arrays `xs`.

    Returns:
        The last carry; arrays of the carries before each `every`th step, of those at the places `keep`; arrays of the
        products of every step, tensors like `made`; the outputs, or `None`.
    """
    # Written in the loop, and read by nothing inside it, so the loop's gradient need not keep them.
    before = [_array_of(carry[k], (length + every - 2) // every + 1) for k in keep]
    products = [_array_of(e, length) for e in made]
    outputs = _array_of(carry[0], length if return_sequences else 0)

    def one(t, carry, before, products, outputs):
        formed = []

        def note(a, kernel):
            formed.append(form(a, kernel))
            return formed[-1]

        with override_matmul(note if made else form):
            new = body([x.read(start + t) for x in xs], carry)
        # Every step writes, over what those before it wrote at its place.
        place = (t + every - 1) // every if every > 1 else t
        before = [array.write(place, carry[k]) for array, k in zip(before, keep, strict=True)]
        products = [array.write(t, e) for array, e in zip(products, formed, strict=True)]
        return t + 1, new, before, products, outputs.write(t, new[0]) if return_sequences else outputs

    _, carry, before, products, outputs = tf.while_loop(
        lambda t, *_: t < length,
        one,
        (tf.constant(0), carry, before, products, outputs),
        maximum_iterations=length,
        parallel_iterations=32,
        swap_memory=True,
    )
    return carry, before, products, outputs.stack() if return_sequences else None


def in_halves(a, kernel):
    """Returns `a @ kernel`, of a small weight as two products side by side: TensorFlow gives one a single thread.

    Measured on two cores: 1.1 to 2 times the speed, 0.85 times with more than `HALVES_TO` entries.
    """
    rows, entries = a.shape[0], kernel.shape[-2] * kernel.shape[-1]
    pays = entries <= HALVES_TO and entries * (rows or 32) >= HALVES_FROM
    if len(kernel.shape) > 2 or not pays or _on_accelerator() or _in_xla():
        return tf.matmul(a, kernel)
    half = (tf.shape(a)[0] if rows is None else rows) // 2
    return tf.concat([tf.matmul(a[:half], kernel), tf.matmul(a[half:], kernel)], 0)


def batched_loop(body, xs, carry, length, reads_output, options):
    """`loop`, whose gradient forms that of each weight, $a^T de$ of its products $e = a W$, once for many steps.

    The backward loop takes each step again from its carry and its products. Where steps are to be recomputed, the carry
    before each chunk of steps is kept alone, and the chunk runs again.
    """
    body = reading_once(body, options.variables)
    weights = Weights(body, xs, carry)
    if not weights.factors:
        carry, _, _, outputs = loop(body, _arrays(xs, length), carry, length, options.return_sequences)
        return carry, outputs
    keep = list(range(0 if reads_output else 1, len(carry)))
    recompute = options.recompute or not options.training
    size = CHUNK if recompute else TOGETHER

    @tf.custom_gradient
    def run(xs, carry, kernels, others):
        weights.turn()
        arrays = [Slices(x) for x in xs]
        run_steps = functools.partial(loop, body, arrays, form=weights.form)
        kept = {"every": CHUNK} if recompute else {"made": weights.products}
        last, before, formed, outputs = run_steps(carry, length, options.return_sequences, keep=keep, **kept)

        def steps(start, size):
            """Returns arrays of the carries and the products of some steps, and the place of the first in them."""
            if not recompute:
                return before, formed, start
            first = placed([x.read(start // CHUNK) for x in before], keep, carry)
            _, *again, _ = run_steps(first, size, False, start, keep, made=weights.products)
            return *again, 0

        def gradient(*d_results):
            d_outputs, d_last = (d_results[0], d_results[1:]) if options.return_sequences else (None, d_results)
            # The gradient is asked for when the sequence has ended.
            with options.resume():
                found = backward(body, steps, size, arrays, keep, carry, weights, length, d_outputs, list(d_last))
                return without_gradient(found, SECOND)

        return ([outputs] if options.return_sequences else []) + last, gradient

    results = run(xs, carry, weights.kernels, weights.others)
    return (results[1:], results[0]) if options.return_sequences else (results, None)


def reading_once(body, variables):
    """Returns `body`, for which `variables` have been read before the loop; a gradient goes to tensors alone."""
    if in_stateless_scope():
        return body
    with AutocastScope(None):
        values = [(variable, tf.convert_to_tensor(variable.value)) for variable in variables]

    def one(x, carry):
        with keras.StatelessScope(values) as scope:
            new = body(x, carry)
        writes = any(scope.get_current_value(variable) is not value for variable, value in values)
        return body(x, carry) if writes else new

    return one


class Weights:
    """The weights that the steps of a loop multiply by, and the other floats that they read from outside.

    Args:
        body: One step.
        xs: Sequences.
        carry: What goes from step to step.

    Attributes:
        factors: The kernel of each product of a step. Empty where a step writes a variable, or reads one that it did
            not name.
        products: Tensors like those of each product.
        form: Function that forms one: in halves, unless there are others to form beside it.
        kernels: The large ones, whose gradients are formed for many steps together.
        others: All other floats, small kernels among them.
    """

    def __init__(self, body, xs, carry):
        self.factors, self.products, self.kernels = [], [], []

        def form(a, kernel):
            self.factors.append(kernel)
            self.products.append(tf.matmul(a, kernel))
            # Where nobody knows the rows, Keras trains 32.
            is_large = _on_accelerator() or worth_batching(kernel, a.shape[-2] or 32)
            if is_large and self.place(kernel) is None:
                self.kernels.append(kernel)
            return self.products[-1]

        graph = tf.__internal__.FuncGraph("step")
        with graph.as_default(), override_matmul(form):

            def placeholder(x, shape):
                return tf.compat.v1.placeholder(x.dtype, shape)

            old = [placeholder(c, c.shape) for c in carry]
            body([placeholder(x, x.shape[1:]) for x in xs], old)
        self.form = in_halves if _in_line(self.products, old) else tf.matmul
        others = [x for x in graph.external_captures if self.place(x) is None]
        if any(x.dtype == tf.resource for x in others):
            self.factors = []
        self.others = [x for x in others if x.dtype.is_floating]

    def place(self, kernel):
        """Returns the place of a kernel among the large ones, or `None`."""
        return next((k for k, known in enumerate(self.kernels) if known is kernel), None)

    def turn(self):
        """Copies the transposes of weights, with which TensorFlow's own products of a gradient are faster.

        A product of a single row is not.
        """
        self.in_xla = _in_xla()
        self.turned = {
            kernel.ref(): tf.transpose(kernel)
            for kernel, e in zip(self.factors, self.products, strict=True)
            if not self.in_xla and len(kernel.shape) == 2 and e.shape[0] != 1
        }

    def product(self, a, kernel, e):
        """Returns `e`, the product of `a` and `kernel`, with a gradient: that of a large kernel goes to `e` instead."""

        @tf.custom_gradient
        def known(a, kernel, e):
            return tf.identity(e), gradient

        def gradient(d):
            by_kernel = tf.matmul(a, d, transpose_a=True) if self.place(kernel) is None else None
            return self.multiply_back(d, kernel), by_kernel, d

        return known(a, kernel, e)

    def multiply_back(self, d, kernel):
        """Returns `d` times the transpose of `kernel`."""
        if kernel.ref() in self.turned:
            return self.form(d, self.turned[kernel.ref()])
        if self.in_xla and d.shape[-2] != 1 and not _on_accelerator():
            # With the weight on the left, XLA's product of few rows takes half the time. It would turn it round again.
            return tf.linalg.matrix_transpose(xla.optimization_barrier(tf.matmul(kernel, d, transpose_b=True))[0])
        return tf.matmul(d, kernel, transpose_b=True)

    def outer(self, a, d, ndim):
        """Returns the gradient by a kernel of the products `a @ kernel` of all steps, whose own gradients are `d`."""
        if ndim > 2:
            return tf.einsum("tbri,tbro->bio", a, d)
        a = tf.transpose(tf.reshape(a, (-1, a.shape[-1])))
        # XLA's product on a CPU is half as fast where it has to turn the wide matrix itself.
        a = xla.optimization_barrier(a)[0] if self.in_xla else a
        return tf.matmul(a, tf.reshape(d, (-1, d.shape[-1])))


def placed(tensors, places, carry):
    """Returns a carry with `tensors` at `places`, and zeros elsewhere."""
    by_place = dict(zip(places, tensors, strict=True))
    return [by_place[k] if k in by_place else tf.zeros_like(c) for k, c in enumerate(carry)]


def backward(body, steps, size, xs, keep, carry, weights, length, d_outputs, d_carry):
    """Returns the gradients by sequences, first carry, kernels and the others.

    Args:
        steps: Function of the first and the number of some steps that returns arrays of their carries at the places
            `keep` and of their products, and the place of the first step in them.
        size: How many steps to take together.
        xs: Arrays of the inputs.
    """
    floats = [k for k, x in enumerate(xs) if x.dtype.is_floating]
    large = [(w, e) for w, e in zip(weights.factors, weights.products, strict=True) if weights.place(w) is not None]

    def chunk(start, size, d_carry, d_others, d_kernels, d_xs):
        before, formed, first = steps(start, size)

        def back(t, d_carry, d_others, d_xs, stacks):
            arrays, taken = iter(formed), []

            def form(a, kernel):
                e = tf.stop_gradient(next(arrays).read(first + t))
                if weights.place(kernel) is not None:
                    taken.append((a, e))
                return weights.product(a, kernel, e)

            # Where they come from depends on the same weights, by ways that the next chunks go.
            x = [tf.stop_gradient(array.read(start + t)) for array in xs]
            old = placed([tf.stop_gradient(array.read(first + t)) for array in before], keep, carry)
            with override_matmul(form):
                new = body(x, old)
            d_new = [d_carry[0] if d_outputs is None else d_carry[0] + d_outputs[start + t], *d_carry[1:]]
            wanted = [old, [x[k] for k in floats], weights.others, [e for _, e in taken]]
            found = tf.gradients(new, tree.flatten(wanted), d_new, unconnected_gradients="zero")
            d_carry, d_x, more, d_e = tree.pack_sequence_as(wanted, found)
            stacks = [
                (a_stack.write(t, a), d_stack.write(t, d))
                for (a_stack, d_stack), (a, _), d in zip(stacks, taken, d_e, strict=True)
            ]
            d_xs = [array.write(start + t, d) for array, d in zip(d_xs, d_x, strict=True)]
            return t - 1, d_carry, [a + b for a, b in zip(d_others, more, strict=True)], d_xs, stacks

        stacks = [
            [tf.TensorArray(e.dtype, size, element_shape=[*e.shape[:-1], width]) for width in w.shape[-2:]]
            for w, e in large
        ]
        _, d_carry, d_others, d_xs, stacks = tf.while_loop(
            lambda t, *_: t >= 0, back, (size - 1, d_carry, d_others, d_xs, stacks), maximum_iterations=size
        )
        d_kernels = list(d_kernels)
        for (w, _), (a, d) in zip(large, stacks, strict=True):
            d_kernels[weights.place(w)] += weights.outer(a.stack(), d.stack(), len(w.shape))
        return d_carry, d_others, d_kernels, d_xs

    zeros = [[tf.zeros_like(w) for w in of] for of in (weights.others, weights.kernels)]
    found = d_carry, *zeros, [_like(xs[k], length) for k in floats]
    # Chunks of one size, which XLA must know, and after them what is left: one step at least where there is one, as the
    # gradients of no step have no batch size.
    least, most = (min, max) if isinstance(length, int) else (tf.minimum, tf.maximum)
    size = least(size, most(length, 1))
    count = most(length - 1, 0) // size
    found = chunk(count * size, length - count * size, *found)
    if not isinstance(count, int) or count:
        _, *found = tf.while_loop(
            lambda k, *_: k >= 0,
            lambda k, *found: (k - 1, *chunk(k * size, size, *found)),
            (count - 1, *found),
            maximum_iterations=count,
            # Else TensorFlow recomputes chunks long before their turn.
            parallel_iterations=1,
        )
    d_carry, d_others, d_kernels, d_xs = found
    by_place = dict(zip(floats, d_xs, strict=True))
    return [by_place[k].stack() if k in by_place else None for k in range(len(xs))], d_carry, d_kernels, d_others


SECOND = (
    "On TensorFlow, second derivatives of `keras_adaptive_rnn.layers.RNN` in a graph exist only with `unroll=True`. "
    "Take that, or `keras.layers.RNN` over the same cell."
)
SHORT = (
    "On TensorFlow, a graph of inference that leaves out what a cell has decided to skip has no gradient. Take it by a "
    "`tf.GradientTape` that is there when the graph is made, or with `training=True`."
)


def without_gradient(structure, reason):
    """Returns a structure of tensors of which no gradient can be taken: what it would need has been left out."""

    @tf.custom_gradient
    def same(*tensors):
        def gradient(*_):
            raise NotImplementedError(reason)

        return [tf.identity(tensor) for tensor in tensors], gradient

    flat = tree.flatten(structure)
    known = iter(same(*(x for x in flat if x is not None)))
    return tree.pack_sequence_as(structure, [None if x is None else next(known) for x in flat])


def _in_line(products, carry):
    """Returns whether TensorFlow cannot form any two products of a step, that need the carry, side by side."""
    needed = [(e, op_selector.get_backward_walk_ops(e.op)) for e in products]
    late = [(e, ops) for e, ops in needed if any(old.op in ops for old in carry)]
    return all(e.op in ops for (e, _), (_, ops) in itertools.pairwise(late))


def _in_xla():
    return GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph())


def _on_accelerator():
    return any(device.device_type != "CPU" for device in tf.config.list_logical_devices())


def _arrays(tensors, length):
    """Returns each tensor `[length, ...]` as an array of its entries."""
    return [tf.TensorArray(x.dtype, length, element_shape=x.shape[1:]).unstack(x) for x in tensors]


class Slices:
    """The entries of a tensor, for a loop whose gradient is not taken through them: without the copy of an array."""

    def __init__(self, x):
        self.x, self.dtype, self.element_shape = x, x.dtype, x.shape[1:]

    def read(self, k):
        return self.x[k]


def _like(array, length):
    """Returns a place for `length` entries like those of an array."""
    return tf.TensorArray(array.dtype, length, element_shape=array.element_shape)


def _array_of(x, length):
    """Returns a place for `length` tensors like `x`."""
    return tf.TensorArray(x.dtype, length, element_shape=x.shape)


def ragged_scan(step, inputs, states, times, ends, collect):
    length, batch_size = tf.unstack(tf.shape(inputs)[:2])
    rows = tf.range(batch_size)
    flat = tf.reshape(inputs, (-1, inputs.shape[-1]))
    path = []
    if collect:
        # What is never written reads as zero: relative to the end, that is no visit.
        path = [_array_of(x, length + 1).write(0, x) for x in (states[0], tf.zeros_like(times))]

    def body(k, states, times, path):
        new, ahead = step(tf.gather(flat, tf.minimum(times, length - 1) * batch_size + rows), states)
        active = times < ends
        new = [tf.where(active[:, None], a, b) for a, b in zip(new, states, strict=True)]
        for tensor, old in zip(new, states, strict=True):
            tensor.set_shape(old.shape)
        if collect:
            now = new[0], tf.where(active, times - length, 0)
            path = [array.write(k, x) for array, x in zip(path, now, strict=True)]
        return k + 1, new, tf.where(active, times + ahead, times), path

    _, states, times, path = tf.while_loop(
        lambda k, states, times, path: tf.reduce_any(times < ends),
        body,
        (tf.constant(1), states, times, path),
        maximum_iterations=length,
    )
    return states, times, (path[0].stack(), path[1].stack() + length) if collect else None


def value_with_gradient_of(short, whole):
    if record.could_possibly_record():
        return whole()
    return without_gradient(short(), SHORT)


def while_loop(condition, body, tensors, maximum_iterations, is_traceable):
    return keras.ops.while_loop(condition, body, tuple(tensors), maximum_iterations=maximum_iterations)


def switch(index, functions, operands):
    functions = [functools.partial(function, *operands) for function in functions]
    return tf.cond(index > 0, *reversed(functions)) if len(functions) == 2 else tf.switch_case(index, functions)


def should_hoist(weights, rows, training):
    # Measured on two cores. Predictions of an LSTM: 0.85 to 0.9 times the speed at 0.5 million weights and 20, 64 rows,
    # 1.2 times at 8 million and 20. Train steps: 0.93 times where the weights stay in a core's cache and the rows are
    # many, as the product of a step's input then runs beside that of its state; 1.05 times below and above. Where
    # nobody knows the rows, Keras takes 32.
    rows = rows or 32
    if training:
        return weights > 280_000 or weights * rows < 5_000_000 or _on_accelerator()
    return weights >= 200_000 * rows


def preferred_schedules(depth, weights, rows):
    # A graph runs products of several layers side by side: measured on two cores, 4 x 256, step by step is 1.1 times as
    # fast for LSTMs, 1.2 times for Mogrifiers. Of 36 and 144 vanilla layers it is half as fast, and slow to compile.
    return ["layers"] if depth >= 12 else []


inference = contextlib.nullcontext


def outside_compilers(function, *args, **kwargs):
    return function(*args, **kwargs)


def compiled(function, layer, is_traceable):
    @functools.cache
    def graph():
        # XLA where Keras's own `jit_compile="auto"` takes it.
        return tf.function(function, jit_compile=model_supports_jit(layer))

    def call(*args):
        return graph()(*args) if tf.executing_eagerly() and not in_stateless_scope() else function(*args)

    return call


def gradients(function, variables, tensors, compiled):
    def run(*tensors):
        values = [v.value for v in variables]
        with tf.GradientTape() as tape:
            for t in tensors:
                tape.watch(t)
            value = function(*tensors)
        return value, tape.gradient(value, [*values, *tensors])

    value, found = (tf.function(run) if compiled else run)(*(tf.convert_to_tensor(t) for t in tensors))
    return value, found[: len(variables)], found[len(variables) :]
