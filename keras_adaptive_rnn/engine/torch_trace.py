"""A function on PyTorch, recorded at its first call and from then on run as the bare operations that it was made of.

An operation of Keras looks at its arguments for several times as long as PyTorch needs to compute a small one. What a
step of a loop does to its tensors is the same in all steps, so the first runs under a `TorchFunctionMode`, which notes
every operation of PyTorch, and out of the notes a Python function is written. Autograd sees the same operations in the
same order.
"""

import functools

import torch
from torch._C._functorch import maybe_current_level
from torch.overrides import TorchFunctionMode, handle_torch_function, has_torch_function

# What is no tensor, and yet the same in every call.
ABOUT_TENSORS = {
    *("__len__", "dim", "element_size", "get_device", "is_complex", "is_contiguous", "is_floating_point", "is_tensor"),
    *("ndimension", "nelement", "numel", "size", "stride"),
}
# What gives other numbers in every call, or numbers of another shape.
CHANGING = {
    *("bernoulli", "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn"),
    *("randn_like", "randperm", "argwhere", "bincount", "masked_select", "nonzero", "repeat_interleave", "unique"),
    *("unique_consecutive", "dropout", "alpha_dropout", "feature_dropout", "rrelu"),
}
WRITING = {f"__i{name}__" for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor")}
WRITING |= {"__setitem__", "__ilshift__", "__irshift__"}


class Traced:
    """A function of tensors, from its second call on without Keras around its operations.

    What it reads besides its arguments must be a weight or stay as it is, and it must do the same at every call. Where
    it does what cannot be noted (it reads a number out of a tensor, draws random numbers, writes into a tensor that it
    has not made), it is called as it is.

    Args:
        function: Function of tensors that returns a list of tensors. Where those of the second call are not like those
            of the first, it is called as it is; all later ones are like those of the second.
    """

    def __init__(self, function):
        self.function = function
        self.run = self.record

    def __call__(self, *tensors):
        return self.run(*tensors)

    def record(self, *tensors):
        notes = Tracer(tensors)
        with notes:
            results = self.function(*notes.arguments)
        replay = notes.written(results)

        def second(*again):
            alike = all(a.shape == b.shape and a.dtype == b.dtype for a, b in zip(tensors, again, strict=True))
            self.run = replay if replay and alike else self.function
            return self.run(*again)

        self.run = second
        return results


class Tracer(TorchFunctionMode):
    """What a function does to tensors, its `arguments`; the lines of another that does the same."""

    def __init__(self, tensors):
        super().__init__()
        # Two that are one tensor now need not be one in the next call.
        self.arguments = [t.view_as(t) if any(t is u for u in tensors[:k]) else t for k, t in enumerate(tensors)]
        self.gradient = torch.is_grad_enabled()
        self.level = maybe_current_level()
        self.complete = True
        self.lines = []
        self.constants = []
        # Objects are known by their ids, and so must stay: variables by name, and all else that was seen.
        self.names = {id(t): f"x{k}" for k, t in enumerate(self.arguments)}
        self.constant_names = {}
        self.seen = list(self.arguments)

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = function(*args, **kwargs)
        self.complete = self.complete and self.note(function, args, kwargs, result)
        return result

    def note(self, function, args, kwargs, result):
        """Tracer a call; returns whether that could be done."""
        name = getattr(function, "__name__", "")
        # A function with a gradient of its own runs without one, and what `torch.vmap` sees is gone after it.
        if torch.is_grad_enabled() != self.gradient or maybe_current_level() != self.level:
            return False
        writes = name in WRITING or (name.endswith("_") and not name.endswith("__"))
        results = args[:1] if writes else [result] if isinstance(result, torch.Tensor) else result
        if not (isinstance(results, (list, tuple)) and results and all(isinstance(r, torch.Tensor) for r in results)):
            about = isinstance(result, (torch.Size, torch.dtype, torch.device, torch.layout))
            return about or name == "__get__" or name in ABOUT_TENSORS
        tensors = tensors_in((*args, *kwargs.values()))
        if (
            name in CHANGING
            or (writes and id(args[0]) not in self.names)
            or kwargs.get("out") is not None
            or kwargs.get("inplace")
            or (name == "where" and len(args) == 1)
            or (name == "__getitem__" and any(t.dtype == torch.bool for t in tensors_in(args[1:])))
        ):
            return False
        self.seen += results
        # What no argument has led to is a constant, unless a weight has, which may change between calls.
        if not any(id(t) in self.names or isinstance(t, torch.nn.Parameter) for t in tensors):
            return True
        if not writes and all(any(r is t for t in tensors) for r in results):
            # Such as a cast to the dtype that the tensor has.
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
        """Returns an argument as Python text, or raises a `TypeError`."""
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
        raise TypeError(f"No argument of PyTorch that can be written: {type(value)}")

    def constant(self, value):
        """Returns the name of an object that is the same in every call."""
        name = self.constant_names.get(id(value))
        if name is None:
            name = self.constant_names[id(value)] = f"c{len(self.constants)}"
            self.constants.append(value)
        return name

    def written(self, results):
        """Returns the function that was noted, of the same arguments and results; `None` if not all of it was."""
        if not self.complete or any(not isinstance(r, torch.Tensor) for r in results):
            return None
        results = [self.write(result) for result in results]
        needed, lines = set(results), []
        for targets, reads, line in reversed(self.lines):
            if not targets or needed.intersection(targets):
                needed.update(reads)
                lines.append(f"        {line}\n")
        arguments = "".join(f"x{k}, " for k in range(len(self.arguments)))
        source = (
            f"def make({', '.join(self.constant_names.values())}):\n    def replay({arguments}):\n"
            f"{''.join(reversed(lines))}        return [{', '.join(results)}]\n    return replay\n"
        )
        return executed(source)["make"](*self.constants)


@functools.lru_cache(maxsize=256)
def executed(source):
    names = {}
    exec(compile(source, "<step of a loop>", "exec"), names)
    return names


def tensors_in(values):
    """Returns the tensors among arguments of a function of PyTorch, and in lists, dicts and slices of them."""
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


def one_operation(function, tensors, *args):
    """Returns `function(*args)`, noted as one operation, where `tensors`, some of its arguments, are noted."""
    if has_torch_function(tensors):
        return handle_torch_function(function, tensors, *args)
    return function(*args)


class Switch:
    """One of several functions of tensors, each recorded when it is chosen first."""

    def __init__(self, functions):
        self.functions = [Traced(function) for function in functions]

    def __call__(self, index, *operands):
        return self.functions[int(index)](*operands)
