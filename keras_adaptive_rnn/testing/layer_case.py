"""A recurrent layer under test, of any framework: arrays in, arrays out."""

import abc
import copy
import functools
import inspect
import warnings

import keras
import numpy as np
from keras import tree

from keras_adaptive_rnn.testing.case import check_input_shape
from keras_adaptive_rnn.testing.results import NotApplicable

# What a layer may take besides its inputs.
GIVEN = ("states", "mask", "lengths", "resets")

# The second differences of a function in float64, with steps of 1e-6, are about 1e-12; those of float32, 1e-7.
SMOOTH = 1e-8


class LayerCase(abc.ABC):
    """A copy of a layer, with noise on its weights, as zeros would hide errors.

    It takes and returns arrays: outputs, and a flat list of states, in which the batch comes first. Each subclass
    adapts a framework.

    Attributes:
        inputs, others: Different arrays of `input_shape`.
        takes: Set of those of `GIVEN` that the layer takes.
        structure: The nested states, as the layer returned them.
    """

    dtype = "float32"

    def __init__(self, layer, input_shape, seed, call, equation):
        self.original, self.equation = layer, equation
        self.input_shape = self.batch, self.time, self.features = check_input_shape(input_shape)
        rng = np.random.default_rng(seed)
        self.inputs, self.others = rng.normal(size=(2, *self.input_shape)).astype("float32")
        self.layer = self.copied(layer)
        self.call, takes = (call, inspect.signature(call).parameters) if call else self.default_call()
        self.takes = {name for name in GIVEN if name in takes}
        self.coefficients = rng.normal(size=tuple(self.raw(self.inputs)[0].shape))
        self.set_weights({name: w + 0.1 * rng.normal(size=w.shape) for name, w in self.weights.items()})
        self.batch_axes = self._batch_axes()

    def _batch_axes(self):
        """Returns the axis of each state that is as long as the batch; `None` of a state without one."""
        shapes = [[tuple(s.shape) for s in self.raw(self.inputs[:n])[1]] for n in (self.batch - 1, self.batch)]
        return [
            next((axis for axis, (n, m) in enumerate(zip(*pair, strict=True)) if n != m), None)
            for pair in zip(*shapes, strict=True)
        ]

    def raw(self, inputs, states=None, **given):
        """Returns outputs and a flat list of states, tensors of the framework, which keep their axes."""
        given = {name: self.tensor(value) for name, value in given.items()}
        if states is not None:
            given["states"] = tree.pack_sequence_as(self.structure, [self.tensor(s) for s in states])
        outputs, self.structure = self.call(self.layer, self.tensor(inputs), **given)
        return outputs, [] if self.structure is None else tree.flatten(self.structure)

    def __call__(self, inputs, states=None, **given):
        if states is not None:
            states = [moved(s, 0, axis) for s, axis in zip(states, self.batch_axes, strict=True)]
        outputs, last = self.raw(inputs, states, **given)
        last = [moved(self.array(s), axis, 0) for s, axis in zip(last, self.batch_axes, strict=True)]
        return self.array(outputs), last

    def missing(self, what):
        """Returns why a check that needs something is not applicable, or `None`."""
        if what == "equation":
            return None if self.equation else "no equation was given"
        if what == "Keras":
            return "for layers of Keras"
        if what == "carried states":
            return self.missing("states") or (None if self.batch_axes else "it returns no states")
        has = what in self.takes or (what == "lengths" and "mask" in self.takes)
        return None if has else f"it takes no {what}"

    def memory(self, states):
        """Returns the states that have a row for each sequence."""
        return [s for s, axis in zip(states, self.batch_axes, strict=True) if axis is not None]

    def padded(self, lengths):
        """Returns the argument that says how long each row is."""
        return {"mask": np.arange(self.time) < lengths[:, None]} if "mask" in self.takes else {"lengths": lengths}

    def tensor(self, array):
        """Returns a tensor, in the dtype of this case if the array holds floats."""
        return self.to_tensor(array, self.dtype if np.issubdtype(array.dtype, np.floating) else None)

    def array(self, tensor):
        """Returns an array, of floats in the dtype of this case, or in float32 if NumPy has no such dtype."""
        if not keras.backend.is_float_dtype(keras.backend.standardize_dtype(tensor.dtype)):
            return self.to_array(tensor)
        return self.to_array(tensor).astype("float64" if self.dtype == "float64" else "float32")

    def cast(self, dtype):
        """Returns this case in another dtype."""
        case = copy.copy(self)
        case.dtype = dtype
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = keras.backend.standardize_dtype(case.tensor(np.zeros(1)).dtype)
        if made != dtype:
            raise NotApplicable(f"the framework has no {dtype}, as it is set up here")
        try:
            case.layer = self.layer_in(dtype)
            case.raw(self.inputs)
        except Exception as error:  # Each framework has an error of its own for a dtype without a kernel.
            raise NotApplicable(f"it does not run in {dtype}: {type(error).__name__}: {error}") from error
        return case

    @functools.cached_property
    def precise(self):
        """This case in float64, or itself where that does not run, or computes in float32 inside."""
        try:
            double = self.cast("float64")
        except NotApplicable:
            return self
        return double if double.roughness() < SMOOTH else self

    def roughness(self):
        """Returns the largest second difference of outputs along a line, which shows what is rounded to float32."""
        start = self.inputs.astype("float64")
        a, b, c = (self(start + step * self.others)[0] for step in (0, 1e-6, 2e-6))
        return np.abs(a - 2 * b + c).max()

    @property
    def tolerance(self):
        return 1e-9 if self.dtype == "float64" else 1e-5

    def loss(self, inputs, **weights):
        """Returns a number to which each output has a coefficient of its own; `weights` replace those of the layer."""
        before = self.weights
        self.set_weights(weights)
        outputs, _ = self(inputs)
        self.set_weights(before)
        return np.sum(outputs * self.coefficients)

    @property
    def weights(self):
        """Dict of the trainable weights by name, arrays in float64."""
        return {name: self.to_array(w).astype("float64") for name, w in self.variables().items()}

    @abc.abstractmethod
    def copied(self, layer):
        """Returns a copy of a layer, in inference mode."""

    @abc.abstractmethod
    def layer_in(self, dtype):
        """Returns a copy of the tested layer in another dtype, with its weights."""

    @abc.abstractmethod
    def default_call(self):
        """Returns a function that calls a layer where the user passes none, and what it takes of `GIVEN`."""

    @abc.abstractmethod
    def variables(self):
        """Returns the trainable variables by name."""

    @abc.abstractmethod
    def set_weights(self, weights):
        """Sets some of the trainable weights, arrays by name."""

    @abc.abstractmethod
    def to_tensor(self, array, dtype):
        """Returns a tensor, without copying the array if it need not."""

    @abc.abstractmethod
    def to_array(self, tensor):
        """Returns a copy of a tensor."""

    @abc.abstractmethod
    def gradients(self):
        """Returns the gradients of `loss`, by `"inputs"` and by the name of each weight."""

    @abc.abstractmethod
    def exported(self, folder):
        """Returns the layer as a function of arrays, from a file in the framework's own format for programs."""

    @abc.abstractmethod
    def write_onnx(self, path):
        """Writes the layer, a function from inputs to outputs, to a file in ONNX."""

    def from_onnx(self, folder):
        """Returns the layer as a function of arrays, from a file in ONNX."""
        try:
            import onnxruntime

            path = str(folder / "layer.onnx")
            self.write_onnx(path)
        except ImportError as error:
            raise NotApplicable(f"not installed: {error}") from error
        session = onnxruntime.InferenceSession(path)
        (given,) = session.get_inputs()
        return lambda inputs: session.run(None, {given.name: inputs})[0]


def moved(state, source, target):
    """Returns a state with its axis of the batch elsewhere; `None` stands for a state without one."""
    return state if None in (source, target) else np.moveaxis(state, source, target)
