"""The time loop on PyTorch: a Python loop, of which autograd keeps the graph."""

import keras
import torch
from keras import tree

from keras_adaptive_rnn.engine.masking import masked


def scan(step, inputs, states, output, mask, return_sequences, zero_output_for_mask, unroll):
    step = masked(step, zero_output_for_mask)
    length = tree.flatten(inputs)[0].shape[0]
    steps = [torch.unbind(t) for t in tree.flatten(inputs)]
    masks = [None] * length if mask is None else torch.unbind(mask)
    outputs = []
    for t in range(length):
        output, states = step(tree.pack_sequence_as(inputs, [s[t] for s in steps]), masks[t], output, states)
        if return_sequences:
            outputs.append(output)
    if not return_sequences:
        return output, None, states
    return output, torch.stack(outputs) if outputs else output.new_zeros((0, *output.shape)), states


def hoists(weights):
    return True


inference = torch.no_grad


def gradients(function, variables, tensors):
    tensors = [keras.ops.convert_to_tensor(t).detach().clone().requires_grad_() for t in tensors]
    value = function(*tensors)
    wanted = [v.value for v in variables] + tensors
    found = torch.autograd.grad(value, wanted, allow_unused=True)
    return value, found[: len(variables)], found[len(variables) :]
