"""PyTorch's own recurrent operations, each of which runs all steps of a sequence in one call on a CPU."""

import torch
from torch.nn.utils import rnn

from keras_adaptive_rnn.engine import _torch_internals as internals
from keras_adaptive_rnn.engine import onnx, tuning


def prefers_native(operation, inputs, states, mask, options):
    if is_exporting():
        # Only files of ONNX: the converter of OpenVINO fails. Before PyTorch 2.8, the newer of the two writers of ONNX
        # knows no such operation.
        is_known = torch.jit.is_tracing() or hasattr(torch.onnx, "ops")
        return torch.onnx.is_in_onnx_export() and is_known and states[0].dtype == torch.float32
    tensors = _tensors(operation, inputs, states)
    training, inference = tuning.NATIVE_UNITS[operation.kind]
    is_faster = states[0].shape[-1] <= (training if _needs_gradient(tensors) else inference)
    return is_faster and not options.recompute and _is_possible(operation.kind, tensors)


def native_scan(operation, inputs, states, mask, options):
    if is_exporting():
        return onnx.scan(_node, operation, inputs, states, mask, options)
    tensors = _tensors(operation, inputs, states)
    piece, lengths, first = None, None, states[0]
    if mask is not None:
        piece = Piece(mask[..., 0])
        if not piece.is_whole:
            return None
        lengths, tensors[0] = piece.lengths, piece.moved(inputs, piece.starts)
    if _needs_gradient(tensors) and operation.kind == "lstm" and lengths is None:
        outputs, *states = OneCall.apply(operation.kind, *tensors)
    else:
        outputs, *states = _run(operation.kind, lengths, *tensors)
    if piece is not None:
        held = torch.zeros_like(first) if options.zero_output_for_mask else piece.around(first, states[0])
        outputs = torch.where(mask, piece.moved(outputs, -piece.starts), held)
    return outputs[-1], outputs if options.return_sequences else None, states


def _tensors(operation, inputs, states):
    """Returns the inputs, the states, and the weights, with a bias of zeros in place of each that is `None`."""
    zeros = states[0].new_zeros(())
    kernels, biases = operation.weights[:2], operation.weights[2:]
    biases = [zeros.expand(kernels[0].shape[-1]) if bias is None else bias for bias in biases]
    return [inputs, *states, *kernels, *biases]


def _needs_gradient(tensors):
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def _node(kind, tensors, attributes, shapes):
    if torch.jit.is_tracing():
        places = [k for k, tensor in enumerate(tensors) if tensor is not None]
        return TracedNode.apply(kind, places, attributes, shapes, *(tensors[k] for k in places))
    return torch.onnx.ops.symbolic_multi_out(
        kind, tensors, attributes, dtypes=[torch.float32] * len(shapes), shapes=shapes
    )


class TracedNode(torch.autograd.Function):
    """A node in a file that PyTorch's older writer of ONNX makes from a trace, of which no value is read."""

    @staticmethod
    def forward(ctx, kind, places, attributes, shapes, *tensors):
        return tuple(torch.zeros([int(size) for size in shape]) for shape in shapes)

    @staticmethod
    def symbolic(graph, kind, places, attributes, shapes, *tensors):
        from torch.onnx.symbolic_opset9 import unused

        inputs = [unused(graph) for _ in range(1 + places[-1])]
        for place, tensor in zip(places, tensors, strict=True):
            inputs[place] = tensor
        # The name of an attribute ends with its type.
        attributes = {f"{name}_{'i' if isinstance(each, int) else 's'}": each for name, each in attributes.items()}
        return graph.op(kind, *inputs, **attributes, outputs=len(shapes))


class Piece:
    """The steps of each row that a mask `[time, batch]` keeps, if no masked step lies between them."""

    def __init__(self, mask):
        begins = torch.cat([mask[:1], mask[1:] & ~mask[:-1]])
        self.is_whole = bool((begins.sum(0) == 1).all())
        self.starts, self.lengths = begins.int().argmax(0), mask.sum(0)
        self.steps = torch.arange(len(mask), device=mask.device)[:, None]

    def moved(self, x, by):
        """Returns `x` `[time, batch, size]` with each row moved to earlier steps, each by a number of its own."""
        if not by.any():
            return x
        index = (self.steps + by).clamp(0, len(x) - 1)
        return x.gather(0, index[..., None].expand(x.shape))

    def around(self, before, after):
        """Returns `before` `[batch, size]` in the steps before the piece, and `after` in all others."""
        return torch.where((self.steps < self.starts)[..., None], before, after)


def is_exporting():
    """Returns whether the operations are recorded for a file, without knowing the values of their inputs."""
    return torch.jit.is_tracing() or torch.compiler.is_compiling()


def _is_possible(kind, tensors):
    """Returns whether PyTorch has the operation for these tensors, and the derivatives that may be asked for."""
    return (
        all(tensor.device.type == "cpu" and tensor.dtype == torch.float32 for tensor in tensors)
        and tensors[0].numel() > 0
        and internals.recurrent_operations[kind] is not None
        and not internals.maybe_current_level()
        and not any(torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors)
    )


def _run(kind, lengths, inputs, *tensors):
    """Returns `[outputs, *states]`, with outputs of zero in the steps beyond `lengths`."""
    *states, kernel, recurrent_kernel, bias, recurrent_bias = tensors
    weights = [kernel.t(), recurrent_kernel.t(), bias, recurrent_bias]
    if kind == "gru":
        # The order of the gates: z, r and the candidate here, r, z and the candidate there.
        weights = [torch.cat([weight.chunk(3)[k] for k in (1, 0, 2)]) for weight in weights]
    weights = [weight.contiguous() for weight in weights]
    run, options = internals.recurrent_operations[kind], (True, 1, 0.0, torch.is_grad_enabled(), False)
    if lengths is None:
        outputs, *states = run(inputs, _joined(kind, states), weights, *options, False)
        return [outputs, *(state[0] for state in states)]
    packed = rnn.pack_padded_sequence(inputs, lengths, enforce_sorted=False)
    states = _joined(kind, [state[packed.sorted_indices] for state in states])
    outputs, *states = run(packed.data, packed.batch_sizes, states, weights, *options)
    outputs, _ = rnn.pad_packed_sequence(packed._replace(data=outputs), total_length=len(inputs))
    return [outputs, *(state[0, packed.unsorted_indices] for state in states)]


def _joined(kind, states):
    states = [state[None].contiguous() for state in states]
    return states if kind == "lstm" else states[0]


class OneCall(torch.autograd.Function):
    """The operation of oneDNN, and for second derivatives, which that has not, PyTorch's own for packed sequences."""

    @staticmethod
    def forward(ctx, kind, *tensors):
        ctx.kind = kind
        ctx.save_for_backward(*tensors)
        with torch.enable_grad():
            ctx.inputs = [tensor.detach().requires_grad_(tensor.requires_grad) for tensor in tensors]
            ctx.results = _run(kind, None, *ctx.inputs)
        return tuple(result.detach() for result in ctx.results)

    @staticmethod
    @torch.compiler.disable
    def backward(ctx, *gradients):
        tensors, inputs, results = ctx.saved_tensors, ctx.inputs, ctx.results
        again = torch.is_grad_enabled()
        if again:
            inputs = tensors
            results = _run(ctx.kind, torch.full((tensors[0].shape[1],), len(tensors[0])), *tensors)
        wanted = [tensor for tensor, needed in zip(inputs, ctx.needs_input_grad[1:], strict=True) if needed]
        found = iter(torch.autograd.grad(results, wanted, gradients, retain_graph=True, create_graph=again))
        return None, *(next(found) if needed else None for needed in ctx.needs_input_grad[1:])
