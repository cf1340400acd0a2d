"""Modules of PyTorch under test."""

import copy
import inspect

import torch
from torch.nn.utils import rnn

from keras_adaptive_rnn.testing.layer_case import LayerCase


class Outputs(torch.nn.Module):
    """The layer of a case, as a module from inputs to outputs."""

    def __init__(self, case):
        super().__init__()
        self.layer, self.function = case.layer, case.call

    def forward(self, inputs):
        return self.function(self.layer, inputs)[0]


def call_rnn(module, inputs, states=None, lengths=None):
    """Calls a `torch.nn.RNNBase`."""
    time = inputs.shape[1]
    if not module.batch_first:
        inputs = inputs.transpose(0, 1)
    if lengths is not None:
        inputs = rnn.pack_padded_sequence(inputs, lengths, module.batch_first, enforce_sorted=False)
    outputs, states = module(inputs, states)
    if lengths is not None:
        outputs, _ = rnn.pad_packed_sequence(outputs, module.batch_first, total_length=time)
    return outputs if module.batch_first else outputs.transpose(0, 1), states


def call_module(module, inputs, states=None):
    """Calls a module as those of `torch.nn` are called, batch first."""
    result = module(inputs) if states is None else module(inputs, states)
    return result if isinstance(result, tuple) else (result, None)


class TorchCase(LayerCase):
    """A `torch.nn.Module`."""

    def copied(self, layer):
        return copy.deepcopy(layer).eval()

    def layer_in(self, dtype):
        return copy.deepcopy(self.layer).to(getattr(torch, dtype))

    def default_call(self):
        if isinstance(self.layer, torch.nn.RNNBase):
            return call_rnn, {"states", "lengths"}
        return call_module, {"states"} if len(inspect.signature(self.layer.forward).parameters) > 1 else set()

    def variables(self):
        return {name: p for name, p in self.layer.named_parameters() if p.requires_grad}

    def set_weights(self, weights):
        variables = self.variables()
        with torch.no_grad():
            for name, value in weights.items():
                variables[name].copy_(torch.as_tensor(value))

    def to_tensor(self, array, dtype):
        return torch.as_tensor(array, dtype=dtype and getattr(torch, dtype))

    def to_array(self, tensor):
        tensor = tensor.detach().cpu()
        return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy().copy()

    def gradients(self):
        inputs, variables = self.tensor(self.inputs).requires_grad_(), self.variables()
        loss = (self.call(self.layer, inputs)[0] * self.tensor(self.coefficients)).sum()
        found = torch.autograd.grad(loss, [inputs, *variables.values()], allow_unused=True)
        return {
            name: None if gradient is None else self.to_array(gradient)
            for name, gradient in zip(["inputs", *variables], found, strict=True)
        }

    def exported(self, folder):
        path = folder / "layer.pt2"
        torch.export.save(torch.export.export(Outputs(self), (self.tensor(self.inputs),)), path)
        program = torch.export.load(path).module()
        return lambda inputs: program(self.tensor(inputs)).detach().numpy()

    def write_onnx(self, path):
        torch.onnx.export(Outputs(self), (self.tensor(self.inputs),), path, dynamo=True, verbose=False)
