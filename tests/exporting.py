"""Files that `model.export` writes, run by the runtimes that they are made for."""

import importlib.util
import shutil

import keras
import numpy as np
from packaging.version import Version

from keras_adaptive_rnn import engine

IS_LATER_KERAS = Version(keras.__version__) >= Version("3.15")
# How the name of a file ends.
SUFFIXES = {
    "tf_saved_model": "",
    "litert": ".tflite",
    "c99": ".c",
    "onnx": ".onnx",
    "openvino": ".xml",
    "torch": ".pt2",
    # Made from PyTorch's.
    "executorch": ".pte",
}
# What writes and runs a format, besides the backend.
PACKAGES = {
    "tf_saved_model": ["tensorflow"],
    "litert": ["ai_edge_litert"],
    "c99": [],
    "onnx": ["onnx", "onnxruntime"],
    "openvino": ["openvino"],
    "torch": [],
    "executorch": ["executorch"],
}
OF_BACKENDS = {("jax", "onnx"): ["jax2onnx"], ("tensorflow", "onnx"): ["tf2onnx"], ("torch", "onnx"): ["onnxscript"]}


def missing(format):
    """Returns what is not installed and without which the backend cannot write the format, or run it."""
    needed = PACKAGES[format] + OF_BACKENDS.get((keras.backend.backend(), format), [])
    others = ["cc"] if format == "c99" and shutil.which("cc") is None else []
    others += ["a newer Keras"] if format == "torch" and '"torch"' not in keras.Model.export.__doc__ else []
    others += ["Keras 3.15"] if format in ("litert", "openvino") and not IS_LATER_KERAS else []
    return others + [name for name in needed if importlib.util.find_spec(name) is None]


def skip_without(format):
    """Skips a test if `missing(format)`."""
    import pytest

    if missing(format):
        pytest.skip(f"not installed: {', '.join(missing(format))}")


def export(model, path, format, shape, dtype="float32"):
    """Exports a model for inputs of `shape`; LiteRT files hold builtin operations only."""
    options = engine.litert_options() if format == "litert" else {}
    if format == "torch" and None in shape:
        import torch

        options["dynamic_shapes"] = {k: torch.export.Dim(f"size_{k}") for k, n in enumerate(shape) if n is None}
    signature = [keras.InputSpec(shape=shape, dtype=dtype)]
    model.export(str(path), format=format, verbose=False, input_signature=signature, **options)


def load(path, format):
    """Returns a function from an array to an array, which runs a file of one input and one output."""
    return globals()[f"_{format}"](str(path))


def run(path, format, x):
    """Returns the output of a file for an array, as an array."""
    return np.asarray(load(path, format)(x))


def count_nodes(path, kind=None):
    """Returns the number of nodes of a file in ONNX, or of those of one type, with those inside its loops."""
    import onnx

    def count(graph):
        inside = [part.g for node in graph.node for part in node.attribute if part.HasField("g")]
        return sum(kind in (None, node.op_type) for node in graph.node) + sum(map(count, inside))

    return count(onnx.load(path).graph)


def _tf_saved_model(path):
    import tensorflow as tf

    loaded = tf.saved_model.load(path)
    # The function does not keep the variables that it reads.
    return lambda x, _=loaded: loaded.serve(x)


def _litert(path):
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(path, num_threads=1)
    (given,), (found,) = interpreter.get_input_details(), interpreter.get_output_details()

    def run(x):
        # A size that is not known may change, and no other.
        interpreter.resize_tensor_input(given["index"], x.shape, strict=True)
        interpreter.allocate_tensors()
        interpreter.set_tensor(given["index"], x)
        interpreter.invoke()
        return interpreter.get_tensor(found["index"])

    return run


def _onnx(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    (given,) = session.get_inputs()
    return lambda x: session.run(None, {given.name: x})[0]


def _openvino(path):
    import openvino

    # On CPUs that know shorter floats, OpenVINO computes in those by default.
    model = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return lambda x: model(x)[0]


def _torch(path):
    import torch

    program = torch.export.load(path).module()

    def run(x):
        with torch.no_grad():
            return program(torch.from_numpy(x)).numpy()

    return run
