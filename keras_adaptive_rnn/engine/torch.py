"""The time loop on PyTorch: a Python loop, of which autograd keeps the graph, or recomputes it."""

import contextlib
import itertools

import keras
import torch
from keras import tree
from torch.utils.checkpoint import checkpoint

from keras_adaptive_rnn._keras import AutocastScope, in_stateless_scope
from keras_adaptive_rnn._products import override_matmul
from keras_adaptive_rnn.engine.masking import masked
from keras_adaptive_rnn.engine.torch_trace import Switch, Traced, one_operation

# Entries of a weight below which autograd forms its gradient step by step: measured on two cores, Mogrifiers of rank 64
# train 1.2 times as fast at 128 units and 20 rows, 1.3 times at 256 units and one row.
SMALL = 40_000
# Entries of a weight, and steps, from which packing the weight pays.
LARGE, STEPS = 1_000_000, 16
# Rows from which one product forms the gradient of a weight at full speed; more would only take more memory.
ROWS = 2048
# Steps that are recomputed together: only the states between them are kept.
CHUNK = 16
# Steps from which recording the first one pays.
RECORDED = 3
# Shapes of arguments for which a function is kept as it was recorded.
SHAPES = 16


def scan(step, inputs, states, output, mask, options):
    step = masked(step, options.zero_output_for_mask)
    flat_inputs = tree.flatten(inputs)
    length, count = flat_inputs[0].shape[0], len(flat_inputs)
    xs = list(zip(*map(torch.unbind, flat_inputs if mask is None else [*flat_inputs, mask]), strict=True))

    def flat_step(*tensors):
        now = tree.pack_sequence_as(inputs, list(tensors[:count]))
        now_masked, (output, *flat) = (
            (None, tensors[count:]) if mask is None else (tensors[count], tensors[count + 1 :])
        )
        output, new = step(now, now_masked, output, tree.pack_sequence_as(states, flat))
        return [output, *tree.flatten(new)]

    def run(start, stop, *carry):
        outputs = []
        with override_matmul(products):
            for x in xs[start:stop]:
                carry = repeated(*x, *carry)
                if options.return_sequences:
                    outputs.append(carry[0])
        return carry, outputs

    products = Products(length)
    repeated = Traced(flat_step) if options.is_traceable and length >= RECORDED else flat_step
    carry, outputs = run(0, 1, output, *tree.flatten(states))
    # The first step, in which the others are recorded, is not recomputed.
    recomputed = options.recompute and torch.is_grad_enabled()
    for start in range(1, length, CHUNK if recomputed else length):
        if recomputed:
            # All noise is drawn before the loop.
            carry, more = checkpoint(
                run,
                start,
                start + CHUNK,
                *carry,
                use_reentrant=False,
                preserve_rng_state=False,
                context_fn=lambda: (contextlib.nullcontext(), options.resume()),
            )
        else:
            carry, more = run(start, length, *carry)
        outputs += more
    output, states = carry[0], tree.pack_sequence_as(states, list(carry[1:]))
    if not options.return_sequences:
        return output, None, states
    return output, torch.stack(outputs) if outputs else output.new_zeros((0, *output.shape)), states


def scan_layers(layer, flow, states, tensors):
    count, ends = len(states), []
    for now in zip(*(torch.unbind(t) for t in (*states, *tensors)), strict=True):
        flow, end = layer(flow, list(now[:count]), list(now[count:]))
        ends.append(end)
    return flow, [torch.stack(of_layers) for of_layers in zip(*ends, strict=True)]


class Products:
    """Forms the products of a loop with its weights, and the gradient of each weight in few large products."""

    def __init__(self, steps):
        self.steps = steps
        self.weights = {}

    def __call__(self, inputs, kernel):
        if inputs.dtype != kernel.dtype:
            return keras.ops.matmul(inputs, kernel)
        if kernel.numel() < SMALL:
            return torch.matmul(inputs, kernel)
        return one_operation(self.form, (inputs, kernel), inputs, kernel)

    def form(self, inputs, kernel):
        weight = self.weights.get(id(kernel))
        if weight is None:
            weight = self.weights[id(kernel)] = Weight(kernel, inputs, self.steps)
        if weight.gathered is None:
            return weight.multiply(inputs)
        return MatmulDeferred.apply(inputs, weight.gathered, weight)


class Weight:
    """A weight of a loop, in the form in which products with it are fastest, and what its gradient will be made of."""

    def __init__(self, kernel, inputs, steps):
        # Held, so that its id stays its own.
        self.kernel = kernel
        self.packed = self.packed_back = None
        if packs(kernel, inputs, steps):
            self.packed = pack(kernel.detach().mT, inputs.shape[-2])
        self.sum = None
        self.forget()
        self.gathered = None
        if torch.is_grad_enabled() and kernel.requires_grad:
            self.gathered = DeferredWeightGrad.apply(kernel, self)

    def multiply(self, inputs):
        """Returns `inputs @ kernel`."""
        return torch.matmul(inputs, self.kernel) if self.packed is None else packed_product(inputs, self.packed)

    def multiply_back(self, gradient, kernel):
        """Returns `gradient` times the transpose of `kernel`, which autograd has kept."""
        if self.packed is None or torch.is_grad_enabled():
            return torch.matmul(gradient, kernel.mT)
        if self.packed_back is None:
            self.packed_back = pack(kernel.detach(), gradient.shape[-2])
        return packed_product(gradient, self.packed_back)

    def forget(self):
        self.inputs, self.gradients, self.rows = [], [], 0

    def add(self, inputs, gradient):
        # What a backward pass that did not ask for this weight has left behind is not this one's.
        task = torch._C._current_graph_task_id()
        if task != getattr(self, "task", task):
            self.forget()
            self.sum = None
        self.task = task
        self.inputs.append(inputs)
        self.gradients.append(gradient)
        self.rows += inputs.shape[-2]
        if self.rows >= ROWS:
            self.sum = self.take()

    def take(self):
        """Returns the gradient by all that was added since it was last asked for."""
        total, self.sum = self.sum, None
        if not self.inputs:
            return total
        a, e = self.inputs, self.gradients
        if self.kernel.ndim == 2:
            a, e = [x.reshape(-1, x.shape[-1]) for x in a], [x.reshape(-1, x.shape[-1]) for x in e]
        a, e = torch.cat(a, -2).mT, torch.cat(e, -2)
        self.forget()
        if total is None:
            return a @ e
        return torch.addmm(total, a, e) if a.ndim == 2 else torch.baddbmm(total, a, e)


class DeferredWeightGrad(torch.autograd.Function):
    """The weight itself. Its gradient comes when all products have given theirs, and is what they have left."""

    @staticmethod
    def forward(ctx, kernel, weight):
        ctx.weight = weight
        ctx.set_materialize_grads(False)
        return kernel.view_as(kernel)

    @staticmethod
    @torch.compiler.disable
    def backward(ctx, _):
        return ctx.weight.take(), None


class MatmulDeferred(torch.autograd.Function):
    """A product whose gradient by the weight is left to `Weight`."""

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


def packs(kernel, inputs, steps):
    """Returns whether products with `kernel` are faster if it is packed first, as oneDNN can.

    Measured on two cores over 35 steps of 20 rows: 1024 x 4096 1.7 times, 512 x 2048 1.3, 256 x 1024 not at all; with
    one row or 64 not at all.
    """
    return (
        kernel.ndim == 2
        and kernel.dtype == torch.float32
        and kernel.device.type == "cpu"
        and kernel.numel() >= LARGE
        and 8 <= inputs.shape[-2] <= 48
        and inputs.ndim == 2
        and steps >= STEPS
        and torch.backends.mkldnn.is_available()
        and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    )


def pack(kernel, rows):
    # The operators by which PyTorch's own compiler multiplies on a CPU; there are no public ones.
    return torch.ops.mkldnn._reorder_linear_weight(kernel, rows)


def packed_product(inputs, packed):
    return torch.ops.mkldnn._linear_pointwise(inputs, packed, None, "none", [], "")


def ragged_scan(step, inputs, states, times, ends, collect):
    length, batch_size = inputs.shape[:2]
    rows = torch.arange(batch_size, device=inputs.device)

    def flat_step(now, *states):
        states, ahead = step(now, list(states))
        return [*states, ahead]

    repeated = Traced(flat_step)
    outputs, visited = [states[0]], [torch.full_like(times, length)]
    with override_matmul(Products(length)):
        if batch_size == 1:
            # Python counts faster than tensors do.
            xs, time, end = torch.unbind(inputs), int(times), int(ends)
            while time < end:
                *states, ahead = repeated(xs[time], *states)
                if collect:
                    outputs.append(states[0])
                    visited.append(torch.full_like(times, time))
                time += int(ahead)
            times = torch.full_like(times, time)
        while (active := times < ends).any():
            *new, ahead = repeated(inputs[torch.clamp(times, max=length - 1), rows], *states)
            if not active.all():
                new = [torch.where(active[:, None], a, b) for a, b in zip(new, states, strict=True)]
                ahead = ahead * active
            if collect:
                outputs.append(new[0])
                visited.append(torch.where(active, times, length))
            states, times = new, times + ahead
    return list(states), times, (torch.stack(outputs), torch.stack(visited)) if collect else None


@torch.compiler.disable
def while_loop(condition, body, tensors, maximum_iterations, is_traceable):
    repeated, done = Traced(body) if is_traceable else body, 0
    while done < maximum_iterations and condition(*tensors):
        tensors, done = repeated(*tensors), done + 1
    return tensors


def switch(index, functions, operands):
    return one_operation(Switch(functions), (index, *operands), index, *operands)


def value_with_gradient_of(short, whole):
    return whole() if torch.is_grad_enabled() else short()


def should_hoist(weights, rows, training):
    return True


def preferred_schedules(depth, weights, rows):
    # A wave of small products costs little more than one of them. Measured on two cores, layers / wavefront: 36 layers
    # of 128 units, 8 rows 2.4, 32 rows 1.2; 12 LSTMs of 128, 8 rows 1.6, 4 of them 1.0; 36 of 256, 32 rows 0.9.
    small = rows is not None and weights // depth * rows <= 2_000_000
    return ["wavefront", "layers"] if depth >= 8 and small else ["layers"]


inference = torch.no_grad


# The graph of a loop would hold every step: minutes of compiling, for a few dozens of them.
@torch.compiler.disable
def outside_compilers(function, *args, **kwargs):
    return function(*args, **kwargs)


def compiled(function, layer, is_traceable):
    known = {}

    def call(*args):
        if not is_traceable or in_stateless_scope():
            return function(*args)
        tensors = [t if isinstance(t, torch.Tensor) else keras.ops.convert_to_tensor(t) for t in leaves(args)]
        with AutocastScope(None):
            # A weight that was given another tensor is another weight.
            weights = [variable.value for variable in layer.variables]
        key = (tuple((t.shape, t.dtype, t.device) for t in tensors), tuple(map(id, weights)))
        if key not in known:
            if len(known) >= SHAPES:
                known.clear()
            known[key] = Structured(function, args), weights
        return known[key][0](*tensors)

    return call


class Structured:
    """A function that is repeated, of tensors that were in the nested lists `args`; it returns nested lists."""

    def __init__(self, function, args):
        self.function = function
        self.args = packed(args, itertools.repeat(None))
        self.repeated = Traced(self.flat)

    def flat(self, *tensors):
        result = self.function(*packed(self.args, iter(tensors)))
        self.result = packed(result, itertools.repeat(None))
        return leaves(result)

    def __call__(self, *tensors):
        results = self.repeated(*tensors)
        return packed(self.result, iter(results))


# `keras.tree` takes longer on PyTorch than an LSTM of 256 units.


def leaves(lists):
    return [leaf for part in lists for leaf in leaves(part)] if isinstance(lists, (list, tuple)) else [lists]


def packed(lists, tensors):
    """Returns the next of `tensors` in lists and tuples like `lists`."""
    if isinstance(lists, (list, tuple)):
        return type(lists)([packed(part, tensors) for part in lists])
    return next(tensors)


def gradients(function, variables, tensors, compiled):
    tensors = [keras.ops.convert_to_tensor(t).detach().clone().requires_grad_() for t in tensors]
    value = function(*tensors)
    wanted = [v.value for v in variables] + tensors
    found = torch.autograd.grad(value, wanted, allow_unused=True)
    return value, found[: len(variables)], found[len(variables) :]
