"""The checks of `check_layer`, one per function. `skip` takes their names.

A failure shows the body of its check, as the lines that reproduce it.
"""

import inspect
import pathlib
import tempfile

import keras
import numpy as np

from keras_adaptive_rnn.testing.compare import close, require, require_dtype, run_keras_layer_test
from keras_adaptive_rnn.testing.frameworks import layer_case
from keras_adaptive_rnn.testing.layer_case import SMOOTH
from keras_adaptive_rnn.testing.results import needs


@needs("equation")
def equation(case):
    """The outputs are those of the equation, which NumPy computes in float64."""
    exact = case.precise
    expected = case.equation(exact.weights, exact.inputs.astype("float64"))
    close(exact(exact.inputs)[0], expected, "outputs and equation", exact.tolerance)


@needs("states")
def states(case):
    """States come back in the shapes in which they are given, and what is given does not change."""
    x = case.inputs.copy()
    _, first = case(x)
    require(first, "it returns no states")
    given = [state.copy() for state in first]
    _, last = case(x, states=given)
    close([x, *given], [case.inputs, *first], "inputs and states before and after the call", 0)
    require([s.shape for s in last] == [s.shape for s in first], "states of other shapes than those given")


@needs("carried states")
def streaming(case):
    """Pieces of a sequence, each with the states of the last, compute what one pass computes."""
    states, pieces = None, []
    for piece in np.split(case.inputs, [1, 2], axis=1):
        outputs, states = case(piece, states=states)
        pieces.append(outputs)
    whole, last = case(case.inputs)
    close([np.concatenate(pieces, axis=1), *states], [whole, *last], "the pieces and one pass")


@needs("lengths")
def padding(case):
    """A row's own padding changes nothing, and a row's padding changes no other row."""
    lengths, cut = np.full(case.batch, case.time), case.time // 2
    lengths[0] = cut
    padded = np.where(np.arange(case.time)[:, None] < lengths[:, None, None], case.inputs, 1e3)
    outputs, states = case(padded, **case.padded(lengths))
    short, at_cut = case(case.inputs[:, :cut])
    whole, at_end = case(case.inputs)
    own = [outputs[0, :cut], *(s[0] for s in case.memory(states))]
    close(own, [short[0], *(s[0] for s in case.memory(at_cut))], "a row's own padding changes it")
    other = [outputs[1:], *(s[1:] for s in case.memory(states))]
    close(other, [whole[1:], *(s[1:] for s in case.memory(at_end))], "a row's padding changes another row")


@needs("mask")
def masks(case):
    """Masked steps change nothing, wherever they are."""
    keep = np.ones(case.time, bool)
    keep[[0, case.time // 2]] = False
    holes = np.where(keep[:, None], case.inputs, 1e3).astype("float32")
    outputs, states = case(holes, mask=np.tile(keep, (case.batch, 1)))
    short, last = case(case.inputs[:, keep])
    close([outputs[:, keep], *states], [short, *last], "masked steps change outputs or states")


@needs("resets")
def resets(case):
    """Resets inside a sequence compute what its pieces do apart."""
    flags, cut = np.zeros((case.batch, case.time), bool), case.time // 2
    flags[1:, cut] = True  # The first row is a single piece.
    outputs, _ = case(case.inputs, resets=flags)
    whole, one, two = (case(piece)[0] for piece in (case.inputs, case.inputs[:, :cut], case.inputs[:, cut:]))
    apart = np.concatenate([one, two], axis=1)
    close(outputs, np.concatenate([whole[:1], apart[1:]]), "outputs with resets and those of the pieces apart")


def gradients(case):
    """Gradients are those of finite differences: by the inputs, and by each weight, along a random direction."""
    exact, rng = case.precise, np.random.default_rng(0)
    step, tolerance = (1e-5, 1e-6) if exact.dtype == "float64" else (1e-2, 1e-2)
    values = {"inputs": exact.inputs.astype("float64"), **exact.weights}
    for name, gradient in exact.gradients().items():
        direction = rng.normal(size=values[name].shape)
        direction /= np.linalg.norm(direction)
        moved = [{"inputs": exact.inputs, name: values[name] + side * direction} for side in (step, -step)]
        above, below = (exact.loss(**one) for one in moved)
        slope = 0.0 if gradient is None else np.sum(gradient * direction)
        close(slope, (above - below) / (2 * step), f"the slope by {name} and its finite difference", tolerance)


def batch_independence(case):
    """The result of a row does not depend on the other rows."""
    others = np.concatenate([case.inputs[:1], 10 * case.others[1:]])
    outputs, states = case(others)
    expected, last = case(case.inputs)
    row = [outputs[0], *(s[0] for s in case.memory(states))]
    close(row, [expected[0], *(s[0] for s in case.memory(last))], "the first row, beside other rows")


def causality(case):
    """An output does not depend on later inputs."""
    cut = case.time // 2
    later = np.concatenate([case.inputs[:, :cut], case.others[:, cut:]], axis=1)
    close(case(later)[0][:, :cut], case(case.inputs)[0][:, :cut], "outputs before the inputs that changed")


def determinism(case):
    """In inference, a second call returns the same numbers, and another call leaves nothing behind."""
    first = case(case.inputs)
    case(case.others)
    close(case(case.inputs), first, "a second call and the first", 0)


def float64(case):
    """In float64, it returns and computes in float64."""
    double = case.cast("float64")
    require_dtype(double.raw(case.inputs)[0], "float64", "the layer in float64")
    close(double(case.inputs)[0], case(case.inputs)[0], "outputs in float64 and in float32", 1e-4)
    close(double.roughness(), 0, "a second difference, of numbers that float32 has rounded,", SMOOTH)


def bfloat16(case):
    """In bfloat16, it returns bfloat16, close to what it returns in float32."""
    half = case.cast("bfloat16")
    require_dtype(half.raw(case.inputs)[0], "bfloat16", "the layer in bfloat16")
    close(half(case.inputs)[0], case(case.inputs)[0], "outputs in bfloat16 and in float32", 0.1)


@needs("Keras")
def saving(case):
    """A model with it loads from its `.keras` file and computes the same."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "model.keras"
        case.model().save(path)
        close(keras.models.load_model(path)(case.inputs), case(case.inputs)[0], "the loaded model and the layer")


def export(case):
    """A program in a file of the framework computes the same, for other inputs than it was exported with."""
    with tempfile.TemporaryDirectory() as folder:
        close(case.exported(pathlib.Path(folder))(case.others), case(case.others)[0], "the file and the layer")


def onnx(case):
    """A file in ONNX computes the same in ONNX Runtime, for other inputs than it was exported with."""
    with tempfile.TemporaryDirectory() as folder:
        close(case.from_onnx(pathlib.Path(folder))(case.others), case(case.others)[0], "the file and the layer")


@needs("Keras")
def keras_layer_test(case):
    """Keras's own run_layer_test passes."""
    run_keras_layer_test(case.make, case.input_shape)


# Of the lines that a report shows.
__all__ = ["SMOOTH", "close", "keras", "layer_case", "np", "pathlib", "require", "require_dtype", "tempfile"]
LAYER_CHECKS = [f for f in list(vars().values()) if inspect.isfunction(f) and f.__module__ == __name__]
