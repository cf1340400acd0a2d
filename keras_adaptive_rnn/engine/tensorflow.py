"""The time loop on TensorFlow: one `tf.while_loop`, with and without XLA, with a gradient of its own."""

import functools
import itertools
import threading
import warnings

import tensorflow as tf
from keras import tree

from keras_adaptive_rnn._keras import AutocastScope, in_stateless_scope, is_exporting, model_supports_jit
from keras_adaptive_rnn.engine import _tensorflow_internals as internals
from keras_adaptive_rnn.engine import linear, tuning
from keras_adaptive_rnn.engine.masking import masked
from keras_adaptive_rnn.engine.reading import reading, values_of
from keras_adaptive_rnn.engine.target import target
from keras_adaptive_rnn.engine.tensorflow_native import native_scan, prefers_native

__all__ = [
    "compiled",
    "linear_scan",
    "litert_options",
    "litert_tensors",
    "native_scan",
    "on_accelerator",
    "outside_graph",
    "padding_recipe",
    "preferred_linear_schedule",
    "preferred_schedules",
    "prefers_native",
    "ragged_scan",
    "replica_id",
    "scan",
    "scan_layers",
    "should_hoist",
    "supports_switch",
    "value_and_gradients",
    "value_with_gradient_of",
    "without_autograph",
]


def scan(step, run, inputs, states, output, mask, options):
    xs = [*tree.flatten(inputs), *([] if mask is None else [mask])]
    length = xs[0].shape[0] if xs[0].shape[0] is not None else tf.shape(xs[0])[0]

    def body(x, carry, matmul_impl=tf.matmul):
        """Runs one step on flat lists; the carry is the output and the states."""
        now, mask_now = (x, None) if mask is None else (x[:-1], x[-1])
        old = carry[0], tree.pack_sequence_as(states, carry[1:])
        with AutocastScope(run.dtype):
            new = step(tree.pack_sequence_as(inputs, now), old[1], run.changed(matmul_impl=matmul_impl))
        return shaped_like(carry, tree.flatten(masked(mask_now, new, old, options.zero_output_for_mask)))

    carry = [output, *tree.flatten(states)]
    if options.unroll:
        outputs = []
        for t in range(length):
            carry = body([x[t] for x in xs], carry)
            outputs.append(carry[0])
        stacked = tf.stack(outputs) if outputs else carry[0][None][:0]
        outputs = stacked if options.return_sequences else None
    elif tf.executing_eagerly() or run.skips_unneeded:
        carry, _, _, outputs = loop(body, _reader(xs, length), carry, length, options.return_sequences)
    else:
        carry, outputs = batched_loop(body, run, xs, carry, length, mask is not None, options)
    return carry[0], outputs, tree.pack_sequence_as(states, carry[1:])


def linear_scan(a, b, h, associative):
    if b.shape[0] == 0:
        return b
    # Keras's associative scan needs a known number of steps.
    scan = linear.associative if associative and b.shape[0] is not None else _step_by_step

    def recurrence(a, b, h, reverse=False):
        return shaped_like([b], [scan(a, b, h, reverse)])[0]

    @tf.custom_gradient
    def differentiable(a, b, h):
        states = recurrence(a, b, h)
        return states, lambda gradient: linear.gradients(recurrence, a, h, states, gradient)

    return (differentiable if internals.could_possibly_record() else recurrence)(a, b, h)


def _step_by_step(a, b, h, reverse):
    length = b.shape[0] or tf.shape(b)[0]
    states, read = _array_of(b, length, 1), _slices((a, b))

    def one(k, h, states):
        t = length - 1 - k if reverse else k
        a_t, b_t = read(t)
        h = a_t * h + b_t
        return k + 1, h, states.write(t, h)

    _, _, states = tf.while_loop(lambda k, *_: k < length, one, (0, h, states), maximum_iterations=length)
    return states.stack()


def preferred_linear_schedule(training):
    return "associative" if on_accelerator() else "scan"


def shaped_like(old, new):
    """Returns `new` with the static sizes of `old`: a loop needs them, and `where` or a user's step may lose them."""
    for a, b in zip(new, old, strict=True):
        a.set_shape(b.shape)
    return new


def scan_layers(layer, carry, states, tensors):
    count = tensors[0].shape[0] or tf.shape(tensors[0])[0]
    read = _reader((*states, *tensors), count)

    def one(k, carry, ends):
        now = read(k)
        new, last = layer(carry, now[: len(states)], now[len(states) :])
        return k + 1, shaped_like(carry, new), [array.write(k, e) for array, e in zip(ends, last, strict=True)]

    _, carry, ends = tf.while_loop(
        lambda k, *_: k < count,
        one,
        (tf.constant(0), carry, [_array_of(state, count, 1) for state in states]),
        maximum_iterations=count,
        swap_memory=True,
    )
    return carry, [array.stack() for array in ends]


def loop(body, read, carry, length, return_sequences, start=0, keep=slice(0), every=1, made=(), matmul_impl=tf.matmul):
    """Runs `body` over `length` steps.

    Args:
        body: Function of `(inputs, carry, matmul_impl)` that returns the next carry, whose first tensor is the output.
        read: Function that returns the inputs of a step from its place.
        carry: List of tensors.
        length: Number of steps.
        return_sequences: Whether to return the outputs.
        start: The place of the first step.
        keep: Slice of the carry to return for every `every`th step.
        made: Tensors like the products of a step, to return those of every step.
        matmul_impl: Function that computes a product of the step.

    Returns:
        `(carry, kept, products, outputs)`: the last carry, an array for each of `keep`, with its values before the
        steps, an array for each of `made`, and the outputs, or `None`.
    """
    # The loop writes these and does not read them, so its gradient need not keep them.
    before = [_array_of(c, (length + every - 2) // every + 1) for c in carry[keep]]
    products = [_array_of(e, length) for e in made]
    # No array that no step writes to: a file in ONNX could not hold it.
    outputs = [_array_of(carry[0], length)] if return_sequences else []

    def one(t, carry, before, products, outputs):
        formed = []

        def note(a, kernel):
            formed.append(matmul_impl(a, kernel))
            return formed[-1]

        new = body(read(start + t), carry, note if made else matmul_impl)
        # Each step overwrites what the steps before it have written at its place.
        place = (t + every - 1) // every if every > 1 else t
        before = [array.write(place, c) for array, c in zip(before, carry[keep], strict=True)]
        products = [array.write(t, e) for array, e in zip(products, formed, strict=True)]
        return t + 1, new, before, products, [array.write(t, new[0]) for array in outputs]

    _, carry, before, products, outputs = tf.while_loop(
        lambda t, *_: t < length,
        one,
        (tf.constant(0), carry, before, products, outputs),
        maximum_iterations=length,
        parallel_iterations=32,
        swap_memory=True,
    )
    return carry, before, products, outputs[0].stack() if return_sequences else None


def in_halves(a, kernel):
    """Returns `a @ kernel`, for a small kernel as two products side by side: TensorFlow gives one a single thread."""
    rows, entries = a.shape[0], kernel.shape[-2] * kernel.shape[-1]
    multiplications = entries * (rows or tuning.UNKNOWN_ROWS)
    pays = entries <= tuning.HALVED_ENTRIES and multiplications >= tuning.HALVED_MULTIPLICATIONS
    if len(kernel.shape) > 2 or not pays or on_accelerator() or _in_xla():
        return tf.matmul(a, kernel)
    half = (tf.shape(a)[0] if rows is None else rows) // 2
    return tf.concat([tf.matmul(a[:half], kernel), tf.matmul(a[half:], kernel)], 0)


def _slices(xs):
    """Returns a function of a time that returns what each of `xs` has there."""
    # One operation, where `x[t]` is four; and OpenVINO cannot slice a tensor of known shape in a loop.
    return lambda t: [tf.gather(x, t) for x in xs]


def batched_loop(body, run, xs, carry, length, reads_output, options):
    """`loop`, whose gradient forms that of each weight, $a^T de$ of its products $e = a W$, once for many steps.

    The backward loop runs each step again from its carry and its products. With `options.recompute`, and in inference,
    only the carry before each chunk of steps is kept, and the chunk runs again first.
    """
    # `tf.custom_gradient` needs tensors.
    values = list(map(tf.convert_to_tensor, values_of(options.variables)))
    body = functools.partial(reading, options.variables, values, body)
    weights = Weights(body, [*run.tensors(), *values], xs, carry)
    if not weights.kernels_of_products:
        carry, _, _, outputs = loop(body, _reader(xs, length), carry, length, options.return_sequences)
        return carry, outputs
    if not internals.could_possibly_record():
        # A file that is exported cannot hold a gradient of our own.
        carry, _, _, outputs = loop(
            body, _slices(xs), carry, length, options.return_sequences, matmul_impl=weights.matmul_impl
        )
        return carry, outputs
    keep = slice(0 if reads_output else 1, None)
    recompute = options.recompute or not run.training
    size = tuning.RECOMPUTED_STEPS if recompute else tuning.BACKWARD_STEPS

    @tf.custom_gradient
    def differentiable(xs, carry, kernels, others):
        weights.transpose()
        # No arrays, which would copy the inputs: no gradient goes through this loop.
        run_steps = functools.partial(loop, body, _slices(xs), matmul_impl=weights.matmul_impl)
        kept = {"every": size} if recompute else {"made": weights.products}
        last, before, formed, outputs = run_steps(carry, length, options.return_sequences, keep=keep, **kept)

        def steps(start, size):
            """Returns arrays of the carries and the products of some steps, and where the first step is in them."""
            if not recompute:
                return before, formed, start
            read = [array.read(start // tuning.RECOMPUTED_STEPS) for array in before]
            first = [*map(tf.zeros_like, carry[: keep.start]), *read]
            _, *again, _ = run_steps(first, size, False, start, keep, made=weights.products)
            return *again, 0

        def gradient(*d_results):
            d_outputs, d_last = (d_results[0], d_results[1:]) if options.return_sequences else (None, d_results)
            backward = Backward(body, steps, xs, carry[: keep.start], weights, length, d_outputs)
            return without_gradient(backward.gradients(size, list(d_last)), SECOND)

        return ([outputs] if options.return_sequences else []) + last, gradient

    results = differentiable(xs, carry, weights.kernels, weights.others)
    return (results[1:], results[0]) if options.return_sequences else (results, None)


class Weights:
    """The weights of a step: the kernels that it multiplies by, and the others.

    Args:
        body: The step.
        tensors: List of all tensors that the step reads from outside.
        xs: Sequences.
        carry: List of tensors that go from step to step.

    Attributes:
        kernels_of_products: The kernel of each product. Empty if the step has no gradient of its own, as it assigns a
            variable, or reads other tensors.
        products: A tensor like each product.
        matmul_impl: Function that computes a product: in two halves, unless the products can run side by side.
        kernels: The large kernels, whose gradients are formed once for many steps.
        others: All other floats that the step reads, small kernels among them.
    """

    def __init__(self, body, tensors, xs, carry):
        self.kernels_of_products, self.products, self.kernels = [], [], []
        if internals.FuncGraph is None:
            return

        def matmul_impl(a, kernel):
            self.kernels_of_products.append(kernel)
            self.products.append(tf.matmul(a, kernel))
            is_large = on_accelerator() or tuning.batches_gradient(kernel, a.shape[-2] or tuning.UNKNOWN_ROWS)
            if is_large and self.place(kernel) is None:
                self.kernels.append(kernel)
            return self.products[-1]

        graph = internals.FuncGraph("step")
        with graph.as_default():
            old = [tf.compat.v1.placeholder(c.dtype, c.shape) for c in carry]
            body([tf.compat.v1.placeholder(x.dtype, x.shape[1:]) for x in xs], old, matmul_impl)
        self.matmul_impl = in_halves if _are_sequential(self.products, old) else tf.matmul
        known = set(map(id, tensors))
        read = [x for x in graph.external_captures if x.dtype.is_floating or x.dtype == tf.resource]
        if any(id(x) not in known for x in read):
            self.kernels_of_products = []
        self.others = [x for x in read if self.place(x) is None]

    def place(self, kernel):
        """Returns the place of a kernel in `kernels`, or `None`."""
        return next((k for k, known in enumerate(self.kernels) if known is kernel), None)

    def transpose(self):
        """Copies the transposes of kernels, which make TensorFlow's products of a gradient faster.

        A product of a single row is not.
        """
        self.in_xla = _in_xla()
        self.transposes = {
            kernel.ref(): tf.transpose(kernel)
            for kernel, e in zip(self.kernels_of_products, self.products, strict=True)
            if not self.in_xla and len(kernel.shape) == 2 and e.shape[0] != 1
        }

    def product(self, a, kernel, e):
        """Returns `e`, the known product of `a` and `kernel`; the gradient of a large kernel goes to `e` instead."""

        @tf.custom_gradient
        def known(a, kernel, e):
            return tf.identity(e), gradient

        def gradient(d):
            by_kernel = tf.matmul(a, d, transpose_a=True) if self.place(kernel) is None else None
            return self.multiply_back(d, kernel), by_kernel, d

        return known(a, kernel, e)

    def multiply_back(self, d, kernel):
        """Returns `d` times the transpose of `kernel`."""
        if kernel.ref() in self.transposes:
            return self.matmul_impl(d, self.transposes[kernel.ref()])
        if self.in_xla and d.shape[-2] != 1 and not on_accelerator():
            # XLA's product of few rows takes half the time with the kernel on the left. The barrier keeps it there.
            return tf.linalg.matrix_transpose(_barrier(tf.matmul(kernel, d, transpose_b=True)))
        return tf.matmul(d, kernel, transpose_b=True)

    def outer(self, a, d, ndim):
        """Returns the gradient of a kernel from its products `a @ kernel` of all steps, whose own gradients are `d`."""
        if ndim > 2:
            return tf.einsum("tbri,tbro->bio", a, d)
        a = tf.transpose(tf.reshape(a, (-1, a.shape[-1])))
        # XLA's product on a CPU is half as fast if it has to transpose the wide matrix itself.
        a = _barrier(a) if self.in_xla else a
        return tf.matmul(a, tf.reshape(d, (-1, d.shape[-1])))


class Backward:
    """The backward loop of `batched_loop`.

    Args:
        body: One step.
        steps: Function of `(start, size)` that returns, for so many steps, arrays of what they read of their carries,
            arrays of their products, and where the first step is in them.
        xs: List of the inputs.
        unread: List of tensors like those of the carry, its first ones, that no step reads.
        weights: `Weights`.
        length: Number of steps.
        d_outputs: Gradients of the outputs, or `None`.
    """

    def __init__(self, body, steps, xs, unread, weights, length, d_outputs):
        self.body, self.steps, self.xs, self.unread = body, steps, xs, unread
        self.weights, self.length, self.d_outputs = weights, length, d_outputs
        self.floats = [k for k, x in enumerate(xs) if x.dtype.is_floating]
        pairs = zip(weights.kernels_of_products, weights.products, strict=True)
        self.large = [(w, e) for w, e in pairs if weights.place(w) is not None]

    def gradients(self, size, d_carry):
        """Returns the gradients of the sequences, the first carry, the kernels and the other floats.

        Args:
            size: Number of steps whose part of the gradients of the kernels is formed at once.
            d_carry: Gradients of the last carry.
        """
        length = self.length
        zeros = [[tf.zeros_like(w) for w in of] for of in (self.weights.others, self.weights.kernels)]
        found = d_carry, *zeros, [_array_of(self.xs[k], length, 1) for k in self.floats]
        # The last chunk takes the rest, as XLA needs all others of one size. The rest is at least one step if there is
        # one, as the gradients of no step have no batch size.
        least, most = (min, max) if isinstance(length, int) else (tf.minimum, tf.maximum)
        size = least(size, most(length, 1))
        count = most(length - 1, 0) // size
        found = self._chunk(count * size, length - count * size, *found)
        if not isinstance(count, int) or count:
            _, *found = tf.while_loop(
                lambda k, *_: k >= 0,
                lambda k, *found: (k - 1, *self._chunk(k * size, size, *found)),
                (count - 1, *found),
                maximum_iterations=count,
                # Otherwise TensorFlow recomputes chunks long before it needs them.
                parallel_iterations=1,
            )
        d_carry, d_others, d_kernels, d_xs = found
        by_place = dict(zip(self.floats, d_xs, strict=True))
        d_sequences = [by_place[k].stack() if k in by_place else None for k in range(len(self.xs))]
        return d_sequences, d_carry, d_kernels, d_others

    def _chunk(self, start, size, d_carry, d_others, d_kernels, d_xs):
        """Returns the gradients before `size` steps from those after them."""
        step = functools.partial(self._step, start, *self.steps(start, size))
        stacks = [
            [tf.TensorArray(e.dtype, size, element_shape=[*e.shape[:-1], width]) for width in w.shape[-2:]]
            for w, e in self.large
        ]
        _, d_carry, d_others, d_xs, stacks = tf.while_loop(
            lambda t, *_: t >= 0, step, (size - 1, d_carry, d_others, d_xs, stacks), maximum_iterations=size
        )
        d_kernels = list(d_kernels)
        for (w, _), (a, d) in zip(self.large, stacks, strict=True):
            k = self.weights.place(w)
            d_kernels[k] = _sum(d_kernels[k], self.weights.outer(a.stack(), d.stack(), len(w.shape)))
        return d_carry, d_others, d_kernels, d_xs

    def _step(self, start, before, formed, first, t, d_carry, d_others, d_xs, stacks):
        """Returns the gradients before step `start + t`, and what its products with large kernels leave for later."""
        weights, arrays, taken = self.weights, iter(formed), []

        def matmul_impl(a, kernel):
            e = tf.stop_gradient(next(arrays).read(first + t))
            if weights.place(kernel) is not None:
                taken.append((a, e))
            return weights.product(a, kernel, e)

        # Stop here: the steps before account for how these values depend on the weights.
        x = list(map(tf.stop_gradient, _slices(self.xs)(start + t)))
        read = [tf.stop_gradient(array.read(first + t)) for array in before]
        old = [*map(tf.zeros_like, self.unread), *read]
        new = self.body(x, old, matmul_impl)
        d_output = d_carry[0] if self.d_outputs is None else d_carry[0] + tf.gather(self.d_outputs, start + t)
        wanted = [old, [x[k] for k in self.floats], weights.others, [e for _, e in taken]]
        found = tf.gradients(new, tree.flatten(wanted), [d_output, *d_carry[1:]], unconnected_gradients="zero")
        d_carry, d_x, more, d_e = tree.pack_sequence_as(wanted, found)
        stacks = [
            (a_stack.write(t, a), d_stack.write(t, d))
            for (a_stack, d_stack), (a, _), d in zip(stacks, taken, d_e, strict=True)
        ]
        d_xs = [array.write(start + t, d) for array, d in zip(d_xs, d_x, strict=True)]
        return t - 1, d_carry, list(map(_sum, d_others, more)), d_xs, stacks


def _sum(total, gradient):
    """Returns `total + gradient`, two gradients of one weight.

    TensorFlow takes a single row plus a product of unknown shape for a product with a bias, which then has the wrong
    rank. So a single row is added as a vector.
    """
    if len(total.shape) < 2 or any(size != 1 for size in total.shape[:-1]):
        return total + gradient
    return tf.reshape(tf.reshape(total, [-1]) + tf.reshape(gradient, [-1]), total.shape)


SECOND = (
    "On TensorFlow, `keras_adaptive_rnn.layers.RNN` has second derivatives in a graph only with `unroll=True`. "
    "Use that, or `keras.layers.RNN` with the same cell."
)
SHORT = (
    "On TensorFlow, a graph of inference that skips what an adaptive cell has decided to skip has no gradient. Trace "
    "the graph inside the `tf.GradientTape`, or call the layer with `training=True`."
)


def without_gradient(structure, reason):
    """Returns a structure of tensors whose gradient raises an error with `reason`: what it needs was not computed."""

    @tf.custom_gradient
    def same(*tensors):
        def gradient(*gradients):
            if internals.in_save_context():
                # A file holds every gradient, whether anyone will ask for it or not.
                return [d * float("nan") for d in gradients]
            raise NotImplementedError(reason)

        return [tf.identity(tensor) for tensor in tensors], gradient

    flat = tree.flatten(structure)
    known = iter(same(*(x for x in flat if x is not None)))
    return tree.pack_sequence_as(structure, [None if x is None else next(known) for x in flat])


def _are_sequential(products, carry):
    """Returns whether most of a step's products depend on the carry, and each of these also on the one before it.

    If not, TensorFlow computes two of them side by side, which halves would hinder: with 128 units and 64 rows, a grid
    LSTM predicts at 0.90 of the speed of Keras's loop with halves, and at 0.99 without. So does a product of the inputs
    beside one of the state: without halves, an LSTM of 128 units and 32 rows predicts 1.07 times as fast, a GRU of 256
    units and 20 rows 1.14 times after a pause, and 0.9 times right after another prediction.
    """
    ancestors = [(e, _ancestors(e)) for e in products]
    late = [(e, ops) for e, ops in ancestors if any(old.op in ops for old in carry)]
    return 2 * len(late) > len(products) and all(e.op in ops for (e, _), (_, ops) in itertools.pairwise(late))


def _ancestors(tensor):
    """Returns the set of operations that a tensor depends on."""
    found, left = set(), [tensor.op]
    while left:
        op = left.pop()
        if op not in found:
            found.add(op)
            left += [x.op for x in op.inputs]
    return found


def _in_xla():
    return internals.enclosing_xla_context() is not None


def _barrier(x):
    """Returns `x`, computed as it is written: XLA does not move or merge its operation."""
    return internals.optimization_barrier(x)[0]


def on_accelerator(tensor=None):
    return target(_platform) != "cpu"


def _platform():
    return "gpu" if any(device.device_type != "CPU" for device in tf.config.list_logical_devices()) else "cpu"


def _reader(tensors, length):
    """Returns a function of `k` that returns the `k`th entry of each tensor `[length, ...]`."""
    arrays = [_array_of(x, length, 1).unstack(x) for x in tensors]
    return lambda k: [array.read(k) for array in arrays]


def _array_of(x, length, first_axis=0):
    """Returns an empty array for `length` tensors like `x`, or like its entries if `first_axis` is 1."""
    return tf.TensorArray(x.dtype, length, element_shape=x.shape[first_axis:])


def ragged_scan(step, run, inputs, states, times, ends, collect):
    length, batch_size = tf.unstack(tf.shape(inputs)[:2])
    rows = tf.range(batch_size)
    flat = tf.reshape(inputs, (-1, inputs.shape[-1]))
    start = states[0], times
    path = [_array_of(x, length) for x in start] if collect else []

    def body(k, states, times, path):
        with AutocastScope(run.dtype):
            new, stride = step(tf.gather(flat, tf.minimum(times, length - 1) * batch_size + rows), states, run)
        active = times < ends
        new = shaped_like(states, [tf.where(active[:, None], a, b) for a, b in zip(new, states, strict=True)])
        if collect:
            # An entry that is never written reads as zero. Times are stored relative to the end, where zero is no
            # visit.
            now = new[0], tf.where(active, times - length, 0)
            path = [array.write(k, x) for array, x in zip(path, now, strict=True)]
        (times,) = shaped_like([times], [tf.where(active, times + stride, times)])
        return k + 1, new, times, path

    _, states, times, path = tf.while_loop(
        # One step even if all rows are masked: an array without any entry does not know their number.
        lambda k, states, times, path: (k < 1) | tf.reduce_any(times < ends),
        body,
        (tf.constant(0), states, times, path),
        maximum_iterations=length,
    )
    if not collect:
        return states, times, None
    # Not written into the arrays, as ONNX has no other arrays than those of which each iteration adds an entry.
    outputs, visited = (
        tf.concat([x[None], array.stack()], 0) for x, array in zip((start[0], tf.zeros_like(times)), path, strict=True)
    )
    return states, times, (outputs, visited + length)


def value_with_gradient_of(short, whole, tensors, variables):
    if internals.could_possibly_record():
        return whole(*tensors)
    return without_gradient(short(*tensors), SHORT)


def supports_switch():
    # Before the conversion, TensorFlow moves what one branch alone reads into that branch, and then gives the loop
    # around it no shapes, without which ONNX Runtime refuses it.
    return tf.executing_eagerly() or not is_exporting("onnx")


def should_hoist(weights, rows, training):
    rows = rows or tuning.UNKNOWN_ROWS
    if training:
        few = weights * rows < tuning.FEW_MULTIPLICATIONS
        return weights > tuning.CACHED_WEIGHTS or few or on_accelerator()
    return weights >= tuning.HOISTED_WEIGHTS_PER_ROW * rows


def preferred_schedules(depth, weights, rows, training):
    return ["layers"] if depth >= tuning.LAYERED_DEPTH else []


outside_graph = tf.init_scope


def replica_id():
    context = tf.distribute.get_replica_context()
    return context.replica_id_in_sync_group if context and context.num_replicas_in_sync > 1 else 0


def padding_recipe(sequences):
    if isinstance(sequences, tf.RaggedTensor):
        return ["mask = tf.sequence_mask(x.row_lengths())", "x = x.to_tensor()"]
    return None


def without_autograph(function):
    return tf.autograph.experimental.do_not_convert(function)


def compiled(function, layer, is_traceable):
    lock = threading.Lock()

    @functools.lru_cache(maxsize=1)
    def graph(variables):
        # A graph reads the variables with which it was traced: quantization replaces them.
        # With XLA if Keras's `jit_compile="auto"` would use it, which is not known before the layer is built.
        return tf.function(function, jit_compile=model_supports_jit(layer))

    def call(*args):
        if not tf.executing_eagerly() or in_stateless_scope():
            return function(*args)
        # One function for all threads: it locks its own tracing.
        with lock:
            run = graph(tuple(map(id, layer.variables)))
        return run(*args)

    return call


def value_and_gradients(function, variables, tensors, compiled):
    def run(*tensors):
        values = [v.value for v in variables]
        with tf.GradientTape() as tape:
            tape.watch(tensors)
            value = function(*tensors)
        return value, *tape.gradient(value, [values, list(tensors)])

    return (tf.function(run) if compiled else run)(*map(tf.convert_to_tensor, tensors))


def litert_options(feeds=None):
    builtins = [tf.lite.OpsSet.TFLITE_BUILTINS]
    if feeds is None:
        return {"target_spec": {"supported_ops": builtins}}
    return {
        "target_spec": {"supported_ops": [tf.lite.OpsSet.TFLITE_BUILTINS_INT8, *builtins]},
        "optimizations": [tf.lite.Optimize.DEFAULT],
        "representative_dataset": lambda: iter(feeds),
    }


def litert_tensors(contents):
    with warnings.catch_warnings():
        # Of another package to which the interpreter moves.
        warnings.simplefilter("ignore")
        interpreter = tf.lite.Interpreter(model_content=contents)
    signature = interpreter.get_signature_runner()
    return [
        {name: ([each["index"] for each in places].index(of["index"]), of["shape"], of["dtype"]) for name, of in named}
        for named, places in (
            (signature.get_input_details().items(), interpreter.get_input_details()),
            (signature.get_output_details().items(), interpreter.get_output_details()),
        )
    ]
