"""CUDA graphs on PyTorch: a pass over a sequence and its gradient, captured once and replayed in one launch each.

A replay runs the same kernels on the same memory, and no Python. So all that a pass reads is copied into the inputs of
its graph, weights and noise included, and its results are copied out: no address has to last. A gradient reads what its
own pass has left in the memory of the graph; until then, another pass takes another graph, or the loop.
"""

import contextlib
import dataclasses
import itertools
import math
import threading
import weakref

import torch
from keras import tree
from torch.overrides import TorchFunctionMode

from keras_adaptive_rnn._run import tensors_of, with_tensors
from keras_adaptive_rnn.engine import _torch_internals as internals
from keras_adaptive_rnn.engine import base, tuning
from keras_adaptive_rnn.engine.reading import reading, values_of
from keras_adaptive_rnn.engine.torch_native import is_exporting
from keras_adaptive_rnn.engine.torch_trace import tensors_in

# The key of the arguments of a pass in its run.
ARGUMENTS = "arguments"
# Classes of attributes that are compared by value.
PLAIN = (bool, int, float, str, type(None))
# How far a graph may be from the loop: they differ where a library chooses another kernel.
TOLERANCE = {"rtol": 1e-2, "atol": 1e-4}
# CUDA captures one graph at a time.
_capturing = threading.Lock()


class Graphs(base.Graphs):
    def __init__(self, wanted):
        super().__init__(wanted)
        self._lock = threading.Lock()
        # The graphs, the least recently used first, and the numbers of calls before them.
        self._captured, self._calls = {}, {}

    def run(self, function, run, arguments, options, key, parts):
        device = arguments[0].device
        # Keras infers shapes on the device `meta`.
        is_silent = self.wanted == "auto" or device.type == "meta"
        if self.wanted is False or is_exporting() or (is_silent and not Recorder.is_possible(device)):
            return function(run, *arguments)
        whole = run.changed(prepared={ARGUMENTS: [arguments, values_of(options.variables)], **run.prepared})
        tensors, emptied = whole.tensors(), whole.emptied()
        reason = self._reason_for_loop(emptied, tensors, options)
        if reason is not None:
            self.refuse(reason)
            return function(run, *arguments)

        def whole_pass(*tensors):
            now = emptied.filled(tensors)
            arguments, values = now.prepared[ARGUMENTS]
            return reading(options.variables, values, function, now, *arguments, assigning=_refuse_assignment)

        has_gradient = torch.is_grad_enabled()
        key = (
            *key,
            dataclasses.replace(options, variables=()),
            run.training,
            repr(list(emptied.prepared.values())),
            *_settings(parts),
            device,
            Recorder.stream(device),
            has_gradient,
            torch.get_float32_matmul_precision(),
            torch.are_deterministic_algorithms_enabled(),
            *((tensor.shape, tensor.dtype, has_gradient and tensor.requires_grad) for tensor in tensors),
        )
        with self._lock:
            graph = self._graph(whole_pass, tensors, key)
            if graph is not None:
                return with_tensors(graph.results, graph(*tensors))
        return function(run, *arguments)

    def _graph(self, function, tensors, key):
        """Returns a graph that no gradient is waiting for, which may be captured now, or `None`."""
        places = ((key, number) for number in itertools.count())
        place = next(at for at in places if at not in self._captured or self._captured[at].is_free)
        graph = self._captured.pop(place, None)
        if graph is None:
            if len(self._calls) >= tuning.TRACED_SHAPES:
                self._calls.clear()
            self._calls[place] = self._calls.get(place, 0) + 1
            is_full = len(self._captured) >= tuning.GRAPHS
            if self._calls[place] < (1 if self.wanted is True and not is_full else tuning.GRAPH_CALLS):
                return None
            if self.wanted == "auto" and not Recorder.has_memory(tensors[0].device):
                self._calls[place] = 0
                return None
            # Not while another thread, or a layer around this one, is capturing.
            if not _capturing.acquire(blocking=False):
                return None
            try:
                graph = Graph(function, tensors)
            except Exception as error:
                self._calls[place] = -math.inf
                self.refuse(f"it cannot be captured ({type(error).__name__}: {error})")
                return None
            finally:
                _capturing.release()
            del self._calls[place]
            if is_full:
                del self._captured[next(iter(self._captured))]
        self._captured[place] = graph
        return graph

    def _reason_for_loop(self, emptied, tensors, options):
        """Returns why a pass must run in the loop, or `None`."""
        first = tensors[0]
        reasons = {
            f"{first.device} cannot capture one now": not Recorder.is_possible(first.device),
            "a cell that skips computation waits for the GPU": emptied.skips_unneeded,
            "its gates are traced": emptied.sown is not None,
            "recompute=True saves the memory that a graph would hold": options.recompute,
            "steps of other packages may differ": self.wanted == "auto" and not options.is_traceable,
            "it is inside of a function of `torch.func`": internals.maybe_current_level(),
            "`torch.autocast` is on": torch.is_autocast_enabled(first.device.type),
            "a tensor is empty, on another device or of another class": not all(
                tensor.numel() and tensor.device == first.device and type(tensor) in (torch.Tensor, torch.nn.Parameter)
                for tensor in tensors
            ),
            "it has forward derivatives": any(
                torch.autograd.forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors
            ),
            "its saved tensors have hooks": torch.is_grad_enabled() and _has_saved_tensors_hooks(),
            "a cell has prepared more than tensors": any(
                type(leaf) not in (object, *PLAIN) for leaf in tree.flatten(list(emptied.prepared.values()))
            ),
        }
        return next((reason for reason, holds in reasons.items() if holds), None)


def _settings(parts):
    """Returns the public attributes of layers, which their operations may depend on; Keras sets others in calls."""
    attributes = (item for part in parts for item in getattr(part, "__dict__", {}).items())
    return [v if isinstance(v, PLAIN) else _Same(v) for name, v in attributes if not name.startswith("_")]


@dataclasses.dataclass(eq=False)
class _Same:
    """Equals what holds the same object, which lives as long: no later object has its `id`."""

    value: object

    def __eq__(self, other):
        return isinstance(other, _Same) and self.value is other.value

    def __hash__(self):
        return id(self.value)


def _has_saved_tensors_hooks():
    try:
        with torch.autograd.graph.disable_saved_tensors_hooks("a CUDA graph keeps its tensors itself"):
            return False
    except RuntimeError:
        return True


def _refuse_assignment(*args):
    raise RuntimeError("a step assigns a variable")


class Graph:
    """A function of tensors and its gradient, as graphs with inputs and results of their own.

    It is used if its results and gradients are those of the function, which runs twice before, as libraries allocate
    what they keep in the first run.

    Args:
        function: Function of `*tensors` that returns a structure of tensors.
        tensors: List of tensors like those of all later calls.

    Attributes:
        results: The structure of results, overwritten by each pass.
    """

    def __init__(self, function, tensors):
        self.function = function
        self._pending = lambda: None
        has_gradient = torch.is_grad_enabled()
        recorder = Recorder(tensors[0].device)
        # Kept, as the graphs read its memory.
        self._constants = constants = Constants()
        # Nothing could be copied into tensors of `torch.inference_mode` outside of it.
        with torch.inference_mode(False), torch.set_grad_enabled(has_gradient):
            self.inputs = [t.detach().clone().requires_grad_(has_gradient and t.requires_grad) for t in tensors]

            def forward():
                with constants:
                    return function(*self.inputs)

            def whole(checks):
                with checks:
                    results = forward()
                    outputs = tensors_of(results)
                    self.differentiable = [k for k, output in enumerate(outputs) if output.requires_grad]
                    self._output_gradients = [torch.ones_like(outputs[k]) for k in self.differentiable]
                    return [output.detach() for output in outputs], self._gradients(results)

            recorder.warm_up(lambda: whole(contextlib.nullcontext()))
            expected = recorder.warm_up(lambda: whole(Checks(self.inputs, constants.values)))
            results, self._replay = recorder.capture(forward)
            if self.differentiable:
                self._input_gradients, self._replay_gradient = recorder.capture(lambda: self._gradients(results))
            # Detached, as what autograd has recorded would keep more memory than the graphs need.
            self.results = with_tensors(results, [output.detach() for output in tensors_of(results)])
        with torch.no_grad():
            outputs = self.forward(tensors)
            gradients = self.backward(self._output_gradients) if self.differentiable else []
        # Of tensors alone: an input that has no influence has no gradient.
        torch.testing.assert_close(tensors_of([outputs, gradients]), tensors_of(expected), equal_nan=True, **TOLERANCE)

    def _gradients(self, results):
        """Returns the gradient of each input that may have one, or `None`."""
        if not self.differentiable:
            return []
        outputs = tensors_of(results)
        outputs = [outputs[k] for k in self.differentiable]
        inputs = [tensor for tensor in self.inputs if tensor.requires_grad]
        return torch.autograd.grad(outputs, inputs, self._output_gradients, allow_unused=True)

    @property
    def is_free(self):
        """Whether no gradient will read what the last pass has left."""
        return self._pending() is None

    def borrow(self):
        """Returns an object; the graph is not free as long as it lives."""
        pending = Pending()
        self._pending = weakref.ref(pending)
        return pending

    def __call__(self, *tensors):
        """Returns the tensors in `results`, for `tensors` and their gradients."""
        if self.differentiable:
            return Replay.apply(self, *tensors)
        with torch.no_grad():
            return self.forward(tensors)

    def forward(self, tensors):
        for own, tensor in zip(self.inputs, tensors, strict=True):
            own.copy_(tensor)
        self._replay()
        return [output.clone() for output in tensors_of(self.results)]

    def backward(self, gradients):
        """Returns the gradient of each tensor of the last pass, or `None`."""
        for own, gradient in zip(self._output_gradients, gradients, strict=True):
            own.copy_(gradient)
        self._replay_gradient()
        # Autograd may keep them, for example as the `grad` of a weight.
        own = (None if gradient is None else gradient.clone() for gradient in self._input_gradients)
        return [next(own) if tensor.requires_grad else None for tensor in self.inputs]


class Pending:
    """A pass whose gradient may be asked for."""


class Replay(torch.autograd.Function):
    """A pass in a graph. A second gradient, and one to be differentiated again, run the function itself."""

    @staticmethod
    def forward(ctx, graph, *tensors):
        ctx.save_for_backward(*tensors)
        ctx.graph, ctx.pending = graph, graph.borrow()
        results = graph.forward(tensors)
        ctx.mark_non_differentiable(*(x for k, x in enumerate(results) if k not in graph.differentiable))
        return tuple(results)

    @staticmethod
    @torch.compiler.disable
    def backward(ctx, *gradients):
        graph, again = ctx.graph, torch.is_grad_enabled()
        gradients = [gradients[k] for k in graph.differentiable]
        is_batch = internals.maybe_current_level() or any(map(internals.is_batch, gradients))
        if ctx.pending is not None and not again and not is_batch:
            gradients = graph.backward(gradients)
            # It has overwritten what the pass has left in the memory of the graph.
            ctx.pending = None
            return None, *gradients
        with torch.enable_grad():
            # Views, so that a weight in two places has two gradients.
            tensors = [tensor.view_as(tensor) for tensor in ctx.saved_tensors]
            results = tensors_of(graph.function(*tensors))
        inputs = [tensor for tensor, needed in zip(tensors, ctx.needs_input_grad[1:], strict=True) if needed]
        results = [results[k] for k in graph.differentiable]
        gradients = iter(torch.autograd.grad(results, inputs, gradients, create_graph=again, allow_unused=True))
        return None, *(next(gradients) if needed else None for needed in ctx.needs_input_grad[1:])


class Constants(TorchFunctionMode):
    """Makes each tensor that a function makes of numbers once, as no graph holds a copy from the CPU."""

    def __init__(self):
        super().__init__()
        self.values = []

    def __enter__(self):
        self._places = itertools.count()
        return super().__enter__()

    def __torch_function__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if getattr(function, "__name__", "") not in ("tensor", "as_tensor") or tensors_in(args):
            return function(*args, **kwargs)
        place = next(self._places)
        if place == len(self.values):
            self.values.append(function(*args, **kwargs))
        return self.values[place]


class Checks(internals.TorchDispatchMode):
    """Raises an error at an operation that a graph cannot repeat, or would repeat with old numbers.

    Args:
        inputs, constants: Lists of tensors, all that a function may read, and that it must not write into.
    """

    def __init__(self, inputs, constants):
        super().__init__()
        self.device = inputs[0].device
        self.given = set(map(memory, [*inputs, *constants]))
        self.known = set(self.given)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs, name = kwargs or {}, function.name()
        read = tensors_in((*args, *kwargs.values()))
        written = tensors_in(args[:1]) if name.partition(".")[0].endswith("_") else tensors_in((kwargs.get("out"),))
        flags = [tensor.dtype in (torch.bool, torch.uint8) for tensor in tensors_in(args[1:])]
        has_boolean_index = "::index" in name and any(flags)
        is_integer_index = name == "aten::index.Tensor" and not has_boolean_index
        if torch.Tag.nondeterministic_seeded in function.tags:
            raise RuntimeError(f"a step draws random numbers, in {name}")
        if (
            torch.Tag.data_dependent_output in function.tags
            or has_boolean_index
            or (torch.Tag.dynamic_output_shape in function.tags and not is_integer_index)
        ):
            raise RuntimeError(f"a step waits for the GPU, in {name}")
        if any(tensor.numel() and memory(tensor) not in self.known for tensor in read):
            raise RuntimeError(f"a step reads a tensor that is no input, state or weight, in {name}")
        if any(memory(tensor) in self.given for tensor in written):
            raise RuntimeError(f"a step writes into a tensor that it has not made, in {name}")
        results = function(*args, **kwargs)
        made = tensors_in((results,))
        if any(tensor.device != self.device for tensor in made):
            raise RuntimeError(f"a step makes a tensor on another device, in {name}")
        self.known.update(map(memory, made))
        return results


def memory(tensor):
    return tensor.untyped_storage().data_ptr()


class Recorder:
    """Captures functions in graphs that share memory, and run in the order of their capture.

    Tests have another one, for machines without a GPU.
    """

    def __init__(self, device):
        self.device = device
        self._stream, self._pool = torch.cuda.Stream(device), torch.cuda.graph_pool_handle()

    @staticmethod
    def is_possible(device):
        """Returns whether passes on this device can be captured, which is not possible inside of another capture."""
        return device.type == "cuda" and not torch.cuda.is_current_stream_capturing()

    @staticmethod
    def has_memory(device):
        """Returns whether less than half of the memory is in use, so that a graph may keep what a pass has taken."""
        free, total = torch.cuda.mem_get_info(device)
        return free > total / 2

    @staticmethod
    def stream(device):
        """Returns the stream in which this thread launches kernels: those of two streams run in any order."""
        return torch.cuda.current_stream(device)

    def warm_up(self, function):
        """Returns `function()`, run outside of a graph, but not in the stream of the thread."""
        here, stream = torch.cuda.current_stream(self.device), torch.cuda.Stream(self.device)
        stream.wait_stream(here)
        with torch.cuda.stream(stream):
            results = function()
        here.wait_stream(stream)
        return results

    def capture(self, function):
        """Returns `function()`, whose tensors have no values yet, and a function that computes these."""
        graph = torch.cuda.CUDAGraph()
        # The outer context also ends where the capture fails. Other threads may allocate memory meanwhile.
        with (
            torch.cuda.stream(self._stream),
            torch.cuda.graph(graph, pool=self._pool, stream=self._stream, capture_error_mode="thread_local"),
        ):
            results = function()
        return results, graph.replay
