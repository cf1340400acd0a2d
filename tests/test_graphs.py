"""CUDA graphs of whole passes on PyTorch, on machines without a GPU too: there, a tape stands for the graph."""

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar

if keras.backend.backend() != "torch":
    pytest.skip("only PyTorch has the graphs; others compile their loops", allow_module_level=True)

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from keras_adaptive_rnn import engine
from keras_adaptive_rnn.engine import torch_graphs, tuning


class Tape(TorchDispatchMode):
    """Does with operations what a CUDA graph does: `replay` repeats them on the same memory, without Python.

    As after a capture, nothing that it has recorded has a value at first. `data` hides from autograd that values change.
    """

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function.name() in ("aten::_local_scalar_dense", "aten::nonzero", "aten::lift_fresh"):
            raise RuntimeError("CUDA error: operation not permitted when stream is capturing")
        results = function(*args, **kwargs)
        read = set(map(torch_graphs.memory, torch_graphs.tensors_in((*args, *kwargs.values()))))
        made = [t if torch_graphs.memory(t) not in read else None for t in torch_graphs.tensors_in((results,))]
        self.calls.append((function, args, kwargs, made))
        return results

    def replay(self):
        for function, args, kwargs, made in self.calls:
            results = torch_graphs.tensors_in((function(*args, **kwargs),))
            for own, result in zip(made, results, strict=True):
                if own is not None:
                    own.data.copy_(result)

    def forget(self):
        for tensor in (tensor for *_, made in self.calls for tensor in made):
            if tensor is not None and tensor.is_floating_point():
                tensor.data.fill_(np.nan)


class TapeRecorder:
    """Stands for `torch_graphs.Recorder`. Each replay destroys what no later one of its tapes reads."""

    tapes = 0

    def __init__(self, device):
        self.recorded = []

    @staticmethod
    def is_possible(device):
        return True

    @staticmethod
    def stream(device):
        return None

    def warm_up(self, function):
        return function()

    def capture(self, function):
        tape = Tape()
        with tape:
            results = function()
        with torch.no_grad():
            tape.forget()
        earlier, type(self).tapes = list(self.recorded), self.tapes + 1
        self.recorded.append(tape)

        def replay():
            tape.replay()
            for other in earlier:
                other.forget()

        return results, replay
