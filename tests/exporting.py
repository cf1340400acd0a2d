"""Files that `model.export` writes, run by the runtimes that they are made for."""

import importlib.util
import shutil

import keras
import numpy as np

from keras_adaptive_rnn import engine

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
    compiler = ["cc"] if format == "c99" and shutil.which("cc") is None else []
    return compiler + [name for name in needed if importlib.util.find_spec(name) is None]


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


def run(path, format, x):
    """Returns the output of a file for an array, as an array."""
    return np.asarray(globals()[f"_run_{format}"](str(path), x))


def _run_tf_saved_model(path, x):
    import tensorflow as tf

    loaded = tf.saved_model.load(path)
    return loaded.serve(x)


def _run_litert(path, x):
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(path)
    (given,), (found,) = interpreter.get_input_details(), interpreter.get_output_details()
    # A size that is not known may change, and no other.
    interpreter.resize_tensor_input(given["index"], x.shape, strict=True)
    interpreter.allocate_tensors()
    interpreter.set_tensor(given["index"], x)
    interpreter.invoke()
    return interpreter.get_tensor(found["index"])


def _run_onnx(path, x):
    import onnxruntime

    session = onnxruntime.InferenceSession(path)
    (given,) = session.get_inputs()
    return session.run(None, {given.name: x})[0]


def _run_openvino(path, x):
    import openvino

    # On CPUs that know shorter floats, OpenVINO computes in those by default.
    model = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    return model(x)[0]


def _run_torch(path, x):
    import torch

    with torch.no_grad():
        return torch.export.load(path).module()(torch.from_numpy(x))
