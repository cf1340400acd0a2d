"""The time loop on PyTorch: a Python loop, whose graph autograd keeps or recomputes."""

import contextlib
import functools
import itertools
import pathlib
import platform

import keras
import torch
from keras import tree
from torch.overrides import TorchFunctionMode
from torch.utils.checkpoint import checkpoint

from keras_adaptive_rnn._keras import AutocastScope, in_stateless_scope
from keras_adaptive_rnn.engine import _torch_internals as internals
from keras_adaptive_rnn.engine import base, linear, tuning
from keras_adaptive_rnn.engine.masking import masked
from keras_adaptive_rnn.engine.reading import reading, values_of
from keras_adaptive_rnn.engine.torch_graphs import Graphs
from keras_adaptive_rnn.engine.torch_loop import exports_loop, looped
from keras_adaptive_rnn.engine.torch_native import is_exporting, native_scan, prefers_native
from keras_adaptive_rnn.engine.torch_trace import Traced, distinct, one_operation

__all__ = [
    "Graphs",
    "compiled",
    "exported_steps",
    "exports_loop",
    "inference",
    "linear_scan",
    "native_scan",
    "on_accelerator",
    "outside_compilers",
    "outside_graph",
    "padding_recipe",
    "preferred_linear_schedule",
    "preferred_schedules",
    "prefers_native",
    "ragged_scan",
    "repeatable",
    "replica_id",
    "scan",
    "switch",
    "value_and_gradients",
    "value_with_gradient_of",
    "while_loop",
]


def scan(step, run, inputs, states, output, mask, options):
    sequences = [*tree.flatten(inputs), *([] if mask is None else [mask])]
    length, count = len(sequences[0]), len(sequences) - (mask is not None)
    run = run.changed(matmul_impl=Products(length))
    if torch.jit.is_tracing() and not options.any_length:
        # The graph holds so many steps: a sequence of another length must fail, not lose its end.
        sequences = [x.reshape(length, *x.shape[1:]) for x in sequences]

    def flat_step(*tensors, run=run):
        now = tree.pack_sequence_as(inputs, list(tensors[:count]))
        mask_now, (output, *flat) = (None, tensors[count:]) if mask is None else (tensors[count], tensors[count + 1 :])
        old = output, tree.pack_sequence_as(states, flat)
        with AutocastScope(run.dtype):
            new = step(now, old[1], run)
        return tree.flatten(masked(mask_now, new, old, options.zero_output_for_mask))

    if options.any_length:
        emptied, tensors, read = run.emptied(), run.tensors(), len(sequences) + 1 + len(tree.flatten(states))

        def whole_step(*given):
            weights = list(given[read:])
            now = functools.partial(flat_step, run=emptied.filled(weights[: len(tensors)]))
            return tuple(reading(options.variables, weights[len(tensors) :], now, *given[:read]))

        weights = [*tensors, *values_of(options.variables)]
        carry, outputs = looped(
            whole_step, sequences, [output, *tree.flatten(states)], weights, options.return_sequences
        )
        return carry[0], outputs, tree.pack_sequence_as(states, list(carry[1:]))

    xs = list(zip(*map(torch.unbind, sequences), strict=True))

    def steps(start, stop, *carry):
        outputs = []
        for x in xs[start:stop]:
            carry = traced(*x, *carry)
            if options.return_sequences:
                outputs.append(carry[0])
        return carry, outputs

    if not length and torch.is_grad_enabled():
        # Adds an exact zero, so that a gradient can be asked for: without a step it is zero.
        weights = [variable.value for variable in options.variables if variable.trainable]
        output = output + sum(weight.flatten()[:0].sum() for weight in weights)
    traces = options.is_traceable and length >= tuning.TRACED_STEPS and not is_exporting()
    traced = Traced(flat_step) if traces else flat_step
    # The first step is not recomputed: the trace is made in it.
    carry, outputs = steps(0, 1, output, *tree.flatten(states))
    size = max(1, length)
    if options.recompute and torch.is_grad_enabled() and not is_exporting():
        # All noise is drawn before the loop.
        steps = functools.partial(checkpoint, steps, use_reentrant=False, preserve_rng_state=False)
        size = tuning.RECOMPUTED_STEPS
    for start in range(1, length, size):
        carry, more = steps(start, start + size, *carry)
        outputs += more
    output, states = carry[0], tree.pack_sequence_as(states, list(carry[1:]))
    if not options.return_sequences:
        return output, None, states
    return output, torch.stack(outputs) if outputs else output[None][:0], states


def linear_scan(a, b, h, associative):
    if is_exporting() or not len(b) or internals.maybe_current_level():
        return base.linear_scan(a, b, h, associative)
    recurrence = _doubled if associative else _step_by_step
    needs_gradient = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (a, b, h))
    return LinearScan.apply(recurrence, a, b, h, False) if needs_gradient else recurrence(a, b, h, False)


@torch.no_grad()
def _step_by_step(a, b, h, reverse):
    states = torch.empty_like(b)
    steps = list(zip(torch.unbind(a), torch.unbind(b), torch.unbind(states), strict=True))
    for now, added, out in reversed(steps) if reverse else steps:
        h = torch.addcmul(added, now, h, out=out)
    return states


@torch.no_grad()
def _doubled(a, b, h, reverse):
    """Does what `linear.associative` does: Keras's `associative_scan` on PyTorch is one of float32, on the CPU."""
    if reverse:
        return _doubled(a.flip(0), b.flip(0), h, False).flip(0)
    b = torch.cat([b[:1] + a[:1] * h, b[1:]])
    steps = 1
    while steps < len(b):
        # Each entry stands for the last `steps` steps, and then for twice as many.
        b = torch.cat([b[:steps], torch.addcmul(b[steps:], a[steps:], b[:-steps])])
        a = torch.cat([a[:steps], a[steps:] * a[:-steps]])
        steps *= 2
    return b


class LinearScan(torch.autograd.Function):
    """A linear recurrence, whose gradient is one in reverse."""

    @staticmethod
    def forward(ctx, recurrence, a, b, h, reverse):
        states = recurrence(a, b, h, reverse)
        ctx.save_for_backward(a, h, states)
        ctx.recurrence, ctx.reverse = recurrence, reverse
        return states

    @staticmethod
    @torch.compiler.disable
    def backward(ctx, gradient):
        # Differentiable once more where a second derivative is asked for.
        again = torch.is_grad_enabled()
        recurrence = functools.partial(LinearScan.apply, ctx.recurrence) if again else ctx.recurrence
        return None, *linear.gradients(recurrence, *ctx.saved_tensors, gradient, ctx.reverse), None


def preferred_linear_schedule(training):
    return "scan" if keras.ops.zeros(()).device.type == "cpu" else "associative"


class Products:
    """Forms the products of a loop with its weights, and the gradient of each weight in few large products."""

    def __init__(self, steps):
        self.steps = steps
        self.weights = {}

    def __call__(self, inputs, kernel):
        if inputs.dtype != kernel.dtype:
            return keras.ops.matmul(inputs, kernel)
        defers = kernel.device.type == "cpu" and kernel.numel() >= tuning.DEFERRED_GRADIENT_ENTRIES
        if not defers or internals.current_backward_pass is None or is_exporting():
            return torch.matmul(inputs, kernel)
        return one_operation(self.matmul_impl, (inputs, kernel), inputs, kernel)

    def matmul_impl(self, inputs, kernel):
        weight = self.weights.get(id(kernel))
        if weight is None:
            weight = self.weights[id(kernel)] = Weight(kernel, inputs, self.steps)
        if weight.deferred is None:
            return weight.multiply(inputs)
        return MatmulDeferred.apply(inputs, weight.deferred, weight)


class Weight:
    """A weight of a loop, in the layout that multiplies fastest, and the factors of its gradient."""

    def __init__(self, kernel, inputs, steps):
        # Kept alive, so that its id stays its own.
        self.kernel = kernel
        self.reordered = self.reordered_back = None
        if reorders(kernel, inputs, steps):
            self.reordered = internals.reorder_weight(kernel.detach().mT, inputs.shape[-2])
        self.backward_pass = None
        self.forget()
        self.deferred = None
        if torch.is_grad_enabled() and kernel.requires_grad:
            self.deferred = DeferredWeightGrad.apply(kernel, self)

    def multiply(self, inputs):
        """Returns `inputs @ kernel`."""
        if self.reordered is None:
            return torch.matmul(inputs, self.kernel)
        return internals.multiply_reordered(inputs, self.reordered, None, "none", [], "")

    def multiply_back(self, gradient, kernel):
        """Returns `gradient` times the transpose of `kernel`, as autograd has kept it."""
        if self.reordered is None or torch.is_grad_enabled():
            return torch.matmul(gradient, kernel.mT)
        if self.reordered_back is None:
            self.reordered_back = internals.reorder_weight(kernel.detach(), gradient.shape[-2])
        return internals.multiply_reordered(gradient, self.reordered_back, None, "none", [], "")

    def forget(self):
        self.inputs, self.gradients, self.rows, self.sum = [], [], 0, None

    def add(self, inputs, gradient):
        """Adds the factors of one step's part of the gradient."""
        # Drop leftovers of an earlier backward pass that never asked for this weight's gradient.
        backward_pass = internals.current_backward_pass()
        if backward_pass != self.backward_pass:
            self.forget()
        self.backward_pass = backward_pass
        self.inputs.append(inputs)
        self.gradients.append(gradient)
        self.rows += inputs.shape[-2]
        if self.rows >= tuning.GRADIENT_ROWS:
            self.sum = self.take()

    def take(self):
        """Returns the gradient from everything added since the last call."""
        total, a, e = self.sum, self.inputs, self.gradients
        self.forget()
        if not a:
            return total
        if self.kernel.ndim == 2:
            a, e = [x.reshape(-1, x.shape[-1]) for x in a], [x.reshape(-1, x.shape[-1]) for x in e]
        a, e = torch.cat(a, -2).mT, torch.cat(e, -2)
        if total is None:
            return a @ e
        return torch.addmm(total, a, e) if a.ndim == 2 else torch.baddbmm(total, a, e)


class DeferredWeightGrad(torch.autograd.Function):
    """The identity of a weight. Its backward runs after those of all products, and returns what they have added.

    Only second derivatives reach it as a gradient, as the first ones of a product depend on the weight.
    """

    @staticmethod
    def forward(ctx, kernel, weight):
        ctx.weight = weight
        ctx.set_materialize_grads(False)
        return kernel.view_as(kernel)

    @staticmethod
    @torch.compiler.disable
    def backward(ctx, gradient):
        total = ctx.weight.take()
        return total if gradient is None else gradient if total is None else total + gradient, None


class MatmulDeferred(torch.autograd.Function):
    """A product that leaves its part of the weight's gradient to `Weight`."""

    @staticmethod
    def forward(ctx, inputs, kernel, weight):
        ctx.save_for_backward(inputs, kernel)
        ctx.weight = weight
        return weight.multiply(inputs)

    @staticmethod
    @torch.compiler.disable
    def backward(ctx, gradient):
        inputs, kernel = ctx.saved_tensors
        ctx.weight.add(inputs, gradient)
        return ctx.weight.multiply_back(gradient, kernel) if ctx.needs_input_grad[0] else None, None, None


def reorders(kernel, inputs, steps):
    """Returns whether products with `kernel` are faster once oneDNN has reordered it."""
    least, most = tuning.REORDERED_ROWS
    return (
        kernel.ndim == 2
        and kernel.dtype == torch.float32
        and kernel.device.type == "cpu"
        and kernel.numel() >= tuning.REORDERED_ENTRIES
        and least <= inputs.shape[-2] <= most
        and inputs.ndim == 2
        and steps >= tuning.REORDERED_STEPS
        and None not in (internals.reorder_weight, internals.multiply_reordered)
        and processor_is_of(tuning.REORDERED_VENDOR)
    )


@functools.cache
def processor_is_of(vendor):
    """Returns whether the system names this vendor of the processor, as Linux and Windows do."""
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    return vendor in (cpuinfo.read_text() if cpuinfo.exists() else platform.processor())


def ragged_scan(step, run, inputs, states, times, ends, collect):
    length, batch_size = inputs.shape[:2]
    run = run.changed(matmul_impl=Products(length))
    rows = torch.arange(batch_size, device=inputs.device)

    def flat_step(now, *states):
        with AutocastScope(run.dtype):
            states, stride = step(now, list(states), run)
        return [*states, stride]

    traced = Traced(flat_step)
    outputs, visited = [states[0]], [torch.full_like(times, length)]
    if batch_size == 1:
        # Python counts faster than tensors do.
        xs, time, end = torch.unbind(inputs), int(times), int(ends)
        while time < end:
            *states, stride = traced(xs[time], *states)
            if collect:
                outputs.append(states[0])
                visited.append(torch.full_like(times, time))
            time += int(stride)
        times = torch.full_like(times, time)
    while (active := times < ends).any():
        *new, stride = traced(inputs[torch.clamp(times, max=length - 1), rows], *states)
        if not active.all():
            new = [torch.where(active[:, None], a, b) for a, b in zip(new, states, strict=True)]
            stride = stride * active
        if collect:
            outputs.append(new[0])
            visited.append(torch.where(active, times, length))
        states, times = new, times + stride
    return list(states), times, (torch.stack(outputs), torch.stack(visited)) if collect else None


@torch.compiler.disable
def while_loop(condition, body, tensors, maximum_iterations, is_traceable):
    if is_exporting():
        raise ValueError(
            "On PyTorch, a model that decides where to read next cannot be exported, since the file holds the same "
            "steps for every input. Save the model as a `.keras` file, load that on TensorFlow or JAX, and export it "
            "there."
        )
    run, done = Traced(body) if is_traceable else body, 0
    while done < maximum_iterations and condition(*tensors):
        tensors, done = run(*tensors), done + 1
    return tensors


def switch(index, functions, operands):
    functions = [Traced(function) for function in functions]

    def chosen(index, *operands):
        # A tracer would bind a result that is an operand here to that operand in all later calls, so return a view.
        return distinct(functions[int(index)](*operands), operands)

    return one_operation(chosen, (index, *operands), index, *operands)


def repeatable(function, variables):
    before = []

    def call(*args, **kwargs):
        if before:
            with keras.StatelessScope(before):
                return function(*args, **kwargs)
        before.extend((variable, variable.value.detach().clone()) for variable in variables)
        return function(*args, **kwargs)

    return call


def value_with_gradient_of(short, whole, tensors, variables):
    return (whole if torch.is_grad_enabled() or is_exporting() else short)(*tensors)


def on_accelerator(tensor):
    return tensor.device.type != "cpu"


def preferred_schedules(depth, weights, rows, training):
    small = rows is not None and weights // depth * rows <= tuning.WAVEFRONT_MULTIPLICATIONS
    if not small:
        return ["layers"]
    return ["wavefront", "layers"] if depth >= tuning.WAVEFRONT_DEPTH else ["layers"] if training else []


def exported_steps(sequences):
    if torch.jit.is_tracing():
        return int(sequences.shape[1])
    if is_exporting():
        return sequences.shape[1] if isinstance(sequences.shape[1], int) else 0
    return None


inference = outside_graph = torch.no_grad


def replica_id():
    distributed = torch.distributed
    return distributed.get_rank() if distributed.is_available() and distributed.is_initialized() else 0


def padding_recipe(sequences):
    if isinstance(sequences, torch.nn.utils.rnn.PackedSequence):
        pad = ["x, lengths = torch.nn.utils.rnn.pad_packed_sequence(x, batch_first=True)"]
    elif isinstance(sequences, torch.Tensor) and sequences.is_nested:
        pad = ["lengths = torch.tensor([len(row) for row in x.unbind()])", "x = torch.nested.to_padded_tensor(x, 0.0)"]
    else:
        return None
    return [*pad, "mask = torch.arange(x.shape[1]) < lengths[:, None]"]


# The graph of a loop would hold every step: minutes of compiling for a few dozen steps.
@torch.compiler.disable
def outside_compilers(function, *args, **kwargs):
    with WithoutCasts() if torch.jit.is_tracing() else contextlib.nullcontext():
        return function(*args, **kwargs)


class WithoutCasts(TorchFunctionMode):
    """A context in which moves of tensors to the dtype and device that they have are not recorded.

    Keras moves the arguments of every operation, and a file would hold each as a cast.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.Tensor.to and len(args) == 2 and not kwargs:
            tensor, target = args
            if isinstance(target, (torch.dtype, str)) and target in (tensor.dtype, str(tensor.device)):
                return tensor
        return func(*args, **kwargs or {})


def compiled(function, layer, is_traceable):
    traces = {}

    def call(*args):
        if not is_traceable or in_stateless_scope():
            return function(*args)
        tensors = [t if isinstance(t, torch.Tensor) else keras.ops.convert_to_tensor(t) for t in leaves(args)]
        # A variable may be given another tensor, which the trace does not read.
        weights = values_of(layer.variables)
        key = (tuple((t.shape, t.dtype, t.device) for t in tensors), tuple(map(id, weights)))
        # Another thread may clear the traces at any time, so this one looks up once and keeps what it finds.
        found = traces.get(key)
        if found is None:
            if len(traces) >= tuning.TRACED_SHAPES:
                traces.clear()
            # The weights are kept alive with it, so that their ids stay their own.
            found = traces[key] = StructuredTrace(function, args), weights
        return found[0](*tensors)

    return call


class StructuredTrace:
    """A traced function of tensors in nested lists like `args`; it returns nested lists."""

    def __init__(self, function, args):
        self.function = function
        self.args = packed(args, itertools.repeat(None))
        self.traced = Traced(self.flat)

    def flat(self, *tensors):
        result = self.function(*packed(self.args, iter(tensors)))
        # The same in every call, and set before the trace that other threads may then run.
        self.result = packed(result, itertools.repeat(None))
        return leaves(result)

    def __call__(self, *tensors):
        results = self.traced(*tensors)
        return packed(self.result, iter(results))


# `keras.tree` takes longer on PyTorch than an LSTM of 256 units.


def leaves(lists):
    return [leaf for part in lists for leaf in leaves(part)] if isinstance(lists, (list, tuple)) else [lists]


def packed(lists, tensors):
    """Returns the next of `tensors`, nested in lists and tuples like `lists`."""
    if isinstance(lists, (list, tuple)):
        return type(lists)([packed(part, tensors) for part in lists])
    return next(tensors)


def value_and_gradients(function, variables, tensors, compiled):
    tensors = [keras.ops.convert_to_tensor(t).detach().clone().requires_grad_() for t in tensors]
    value = function(*tensors)
    wanted = [v.value for v in variables] + tensors
    found = torch.autograd.grad(value, wanted, allow_unused=True)
    return value, found[: len(variables)], found[len(variables) :]
