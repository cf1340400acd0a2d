"""The runtimes of files with one time step."""

import json
import pathlib

import numpy as np


def load(path, format):
    """Returns a function from a dict of arrays to a dict of arrays, which runs a file in its own runtime."""
    return globals()[f"_{format}"](str(path))


def _tf_saved_model(path):
    import tensorflow as tf

    loaded = tf.saved_model.load(path)
    step = loaded.signatures["serving_default"]
    # The function does not keep the variables that it reads.
    return lambda feeds, _=loaded: {
        name: value.numpy() for name, value in step(**{name: tf.constant(x) for name, x in feeds.items()}).items()
    }


def _litert(path):
    from ai_edge_litert.interpreter import Interpreter

    step = Interpreter(path, num_threads=1).get_signature_runner()
    return lambda feeds: step(**feeds)


def _onnx(path):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    names = [output.name for output in session.get_outputs()]
    return lambda feeds: dict(zip(names, session.run(names, feeds), strict=True))


def _openvino(path):
    import openvino

    compiled = openvino.Core().compile_model(path, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})

    def run(feeds):
        results = compiled(feeds)
        return {name: results[name].copy() for output in compiled.outputs for name in output.names}

    return run


def _torch(path):
    import torch

    step = torch.export.load(path).module()

    def run(feeds):
        with torch.no_grad():
            return {
                name: x.numpy() for name, x in step({name: torch.from_numpy(x) for name, x in feeds.items()}).items()
            }

    return run


def to_executorch(path):
    """Makes `step.pte` of `step.pt2`, with the names of its inputs and outputs, which ExecuTorch does not keep."""
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    program = torch.export.load(path)
    lowered = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    path.with_suffix(".pte").write_bytes(lowered.to_executorch().buffer)
    inputs, outputs = program.call_spec.in_spec.child(0).child(0).context, program.call_spec.out_spec.context
    path.with_suffix(".json").write_text(json.dumps([inputs, outputs]))


def _executorch(path):
    import torch
    from executorch.runtime import Runtime

    inputs, outputs = json.loads(pathlib.Path(path).with_suffix(".json").read_text())
    step = Runtime.get().load_program(path).load_method("forward")

    def run(feeds):
        results = step.execute([torch.from_numpy(feeds[name]) for name in inputs])
        return {name: x.numpy().copy() for name, x in zip(outputs, results, strict=True)}

    return run


def zero_states(step):
    """Returns the states before the first step of a `step_model`."""
    return {name: np.zeros(x.shape, x.dtype) for name, x in step.input.items() if name.startswith("state_")}


def read(run, sequence, states):
    """Returns the outputs of all steps over an array `[batch, time, ...]`, by name, stacked along the axis of time."""
    steps = []
    for t in range(sequence.shape[1]):
        steps.append(run({"inputs": np.ascontiguousarray(sequence[:, t]), **states}))
        states = {name: steps[-1][f"next_{name}"] for name in states}
    return {name: np.stack([np.asarray(step[name]) for step in steps], axis=1) for name in steps[0]}
