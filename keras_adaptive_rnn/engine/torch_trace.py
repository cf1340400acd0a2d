"""Traces a function at its first call and replays the PyTorch operations alone, without Keras's cost per operation.

Keras takes several times as long to check the arguments of a small operation as PyTorch takes to compute it. All steps
of a loop apply the same operations, so the first step runs under a `TorchFunctionMode`, which records every PyTorch
call, and a Python function is generated from the record. Autograd sees the same operations in the same order.
"""

import functools

import torch
from torch.overrides import TorchFunctionMode, handle_torch_function, has_torch_function

from keras_adaptive_rnn.engine import _torch_internals as internals

# Functions whose results are not tensors, but are the same in every call.
METADATA = {
    *("__len__", "dim", "element_size", "get_device", "is_complex", "is_contiguous", "is_floating_point", "is_tensor"),
    *("ndimension", "nelement", "numel", "size", "stride"),
}
# Functions whose results have another shape in every call.
DYNAMIC_SHAPES = {
    *("argwhere", "bincount", "masked_select", "nonzero", "repeat_interleave", "unique", "unique_consecutive"),
}
IN_PLACE = {f"__i{name}__" for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor")}
IN_PLACE |= {"__setitem__", "__ilshift__", "__irshift__"}
# Functions that draw random numbers, besides those whose operation has PyTorch's tag for it.
DRAWING = {
    *("alpha_dropout_", "dropout_", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"),
    *("feature_alpha_dropout_", "feature_dropout", "feature_dropout_", "rrelu", "rrelu_", "gumbel_softmax"),
    *("binomial", "random", "random_", "_sample_dirichlet", "pca_lowrank", "svd_lowrank"),
    *(f"{each}fractional_max_pool{n}d{more}" for each in ("", "_") for n in (2, 3) for more in ("", "_with_indices")),
}


class Traced:
    """A function of tensors that runs without Keras from its second call on.

    It must apply the same operations in every call, and everything it reads besides its arguments must be a weight or a
    constant. A function that a trace cannot repeat is called as it is: one that reads a number out of a tensor, draws
    random numbers, or writes into a tensor that it has not made.

    Args:
        function: Function of tensors that returns a list of tensors. If the shapes or dtypes of the second call differ
            from those of the first, the function is called as it is. All later arguments must be like those of the
            second call.
    """

    def __init__(self, function):
        self.function = function
        # Threads may share a trace: each that finds none makes its own, and a single assignment publishes it whole.
        self.run = self.trace

    def __call__(self, *tensors):
        return self.run(*tensors)

    def trace(self, *tensors):
        tracer = Tracer(tensors)
        with tracer:
            results = self.function(*tracer.arguments)
        replay = tracer.replay(results)

        def second(*again):
            alike = all(a.shape == b.shape and a.dtype == b.dtype for a, b in zip(tensors, again, strict=True))
            self.run = replay if replay and alike else self.function
            return self.run(*again)

        self.run = second
        return results


# The states of the generators would tell as well, but threads that read them wait for each other for ever if Python's
# garbage collector runs while one does: PyTorch holds a lock meanwhile.
@functools.cache
def draws(name):
    """Returns whether a function of PyTorch, or one of its operations, draws random numbers."""
    name = name.partition(".")[0]
    operation = getattr(torch.ops.aten, name, None)
    overloads = operation.overloads() if hasattr(operation, "overloads") else ()
    is_tagged = any(torch.Tag.nondeterministic_seeded in getattr(operation, each).tags for each in overloads)
    return is_tagged or name in DRAWING


class Tracer(TorchFunctionMode):
    """Records what a function does to tensors, its `arguments`, as lines of Python."""

    def __init__(self, tensors):
        super().__init__()
        # One tensor in two places may be two tensors in the next call.
        self.arguments = distinct(tensors)
        self.gradient = torch.is_grad_enabled()
        self.complete, self.level = True, internals.maybe_current_level()
        self.lines = []
        # The names of variables by the ids of tensors, which `seen` keeps alive.
        self.names = {id(t): f"x{k}" for k, t in enumerate(self.arguments)}
        self.seen = list(self.arguments)
        # The names and values of constants by their ids.
        self.constants = {}

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        self.complete = self.complete and self.record(function, args, kwargs, result)
        return result

    def record(self, function, args, kwargs, result):
        """Records a call; returns whether a trace can repeat it."""
        name = getattr(function, "__name__", "")
        # A custom gradient runs its operations without gradients, and the tensors inside `torch.vmap` do not outlive
        # it.
        if torch.is_grad_enabled() != self.gradient or internals.maybe_current_level() != self.level:
            return False
        writes = name in IN_PLACE or (name.endswith("_") and not name.endswith("__"))
        results = args[:1] if writes else [result] if isinstance(result, torch.Tensor) else result
        if not (isinstance(results, (list, tuple)) and results and all(isinstance(r, torch.Tensor) for r in results)):
            is_metadata = isinstance(result, (torch.Size, torch.dtype, torch.device, torch.layout))
            return is_metadata or name == "__get__" or name in METADATA
        values = (*args, *kwargs.values())
        tensors = tensors_in(values)
        if (
            name in DYNAMIC_SHAPES
            or draws(name)
            or any(isinstance(value, torch.Generator) for value in values)
            or (writes and id(args[0]) not in self.names)
            or kwargs.get("out") is not None
            or kwargs.get("inplace")
            or (name == "where" and len(args) == 1)
            or (name == "__getitem__" and any(t.dtype == torch.bool for t in tensors_in(args[1:])))
        ):
            return False
        self.seen += results
        # A result that depends on neither an argument nor a weight, which may change between calls, is a constant,
        # unless an operation of another library computes it.
        if not any(id(t) in self.names or isinstance(t, torch.nn.Parameter) for t in tensors):
            module = getattr(function, "__module__", None) or ""
            return not module.startswith("torch._ops.") or module in ("torch._ops.aten", "torch._ops.prims")
        if not writes and all(any(r is t for t in tensors) for r in results):
            # For example a cast to the dtype that the tensor has.
            return True
        try:
            written = [self.write(arg) for arg in args] + [f"{key}={self.write(arg)}" for key, arg in kwargs.items()]
        except TypeError:
            return False
        reads = [self.names[id(t)] for t in tensors if id(t) in self.names]
        targets = [] if writes else [f"v{len(self.lines)}_{k}" for k in range(len(results))]
        line = f"{self.constant(function)}({', '.join(written)})"
        if targets:
            self.names.update(zip(map(id, results), targets, strict=True))
            line = f"{targets[0] if results is not result else ', '.join([*targets, ''])} = {line}"
        self.lines.append((targets, reads, line))
        return True

    def write(self, value):
        """Returns an argument as Python text; raises a `TypeError` if it cannot be written."""
        if isinstance(value, torch.Tensor):
            return self.names.get(id(value)) or self.constant(value)
        if value is None or type(value) in (bool, int, str):
            return repr(value)
        if not tensors_in((value,)):
            return self.constant(value)
        if type(value) in (list, tuple):
            parts = "".join(f"{self.write(part)}, " for part in value)
            return f"[{parts}]" if type(value) is list else f"({parts})"
        if type(value) is slice:
            return f"slice({self.write(value.start)}, {self.write(value.stop)}, {self.write(value.step)})"
        raise TypeError(f"Expected an argument of PyTorch that can be written as text. Received: {type(value)}")

    def constant(self, value):
        """Returns the name of an object that is the same in every call."""
        return self.constants.setdefault(id(value), (f"c{len(self.constants)}", value))[0]

    def replay(self, results):
        """Returns a function that repeats the record, or `None` if the record is incomplete."""
        if not self.complete or any(not isinstance(r, torch.Tensor) for r in results):
            return None
        results = [self.write(result) for result in results]
        needed, lines = set(results), []
        for targets, reads, line in reversed(self.lines):
            if not targets or needed.intersection(targets):
                needed.update(reads)
                lines.append(f"        {line}\n")
        arguments = "".join(f"x{k}, " for k in range(len(self.arguments)))
        names, values = zip(*self.constants.values(), strict=True) if self.constants else ((), ())
        source = (
            f"def make({', '.join(names)}):\n    def replay({arguments}):\n"
            f"{''.join(reversed(lines))}        return [{', '.join(results)}]\n    return replay\n"
        )
        return executed(source)["make"](*values)


# Every run over a sequence traces its step anew and finds its text here: compiling it takes longer than tracing. For
# the same reason the record is text and no `torch.fx.Graph`, which takes a hundred times as long to build and compile.
@functools.lru_cache(maxsize=256)
def executed(source):
    names = {}
    exec(compile(source, "<step of a loop>", "exec"), names)
    return names


def tensors_in(values):
    """Returns the tensors among the arguments of a PyTorch function, and inside their lists, dicts and slices."""
    found = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)):
            found += tensors_in(value)
        elif isinstance(value, dict):
            found += tensors_in(value.values())
        elif isinstance(value, slice):
            found += tensors_in((value.start, value.stop, value.step))
    return found


def distinct(tensors, others=()):
    """Returns the tensors, with a view for each that is one of `others`, or of those before it."""
    known = [*others, *tensors]
    return [t.view_as(t) if any(t is u for u in known[: len(others) + k]) else t for k, t in enumerate(tensors)]


def one_operation(function, tensors, *args):
    """Returns `function(*args)`, which a tracer records as one operation; `tensors` are some of its arguments."""
    if has_torch_function(tensors):
        return handle_torch_function(function, tensors, *args)
    return function(*args)
