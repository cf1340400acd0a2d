"""The runtimes of files with one time step."""

import ctypes
import json
import pathlib
import re
import subprocess

import numpy as np

C_FLAGS = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", "-O2"]
C_TYPES = {"float": ctypes.c_float, "int32_t": ctypes.c_int32, "bool": ctypes.c_bool, "int8_t": ctypes.c_int8}


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


def _c99(path):
    path = pathlib.Path(path)
    library, header = path.with_suffix(".so"), path.with_suffix(".h").read_text()
    subprocess.run(["cc", *C_FLAGS, "-shared", "-fPIC", "-o", library, path, "-lm"], check=True)
    macros = re.findall(r"#define (\w+) (\d+) /\* (.*) \*/", header)
    sizes, shapes = (
        {name: int(size) for name, size, _ in macros},
        {name: json.loads(shape) for name, _, shape in macros},
    )
    members = re.findall(r"^  (\w+) (\w+)\[(\w+)\];", header, flags=re.MULTILINE)
    parameters = re.findall(r"(const )?(\w+) (\w+)\[(\w+)\]", header.partition("_step(")[2])
    fields = [(name, C_TYPES[c_type] * sizes[size]) for c_type, name, size in members if size in sizes]
    # Scratch memory comes after the states, with sizes in numbers.
    fields += [(name, C_TYPES[c_type] * int(size)) for c_type, name, size in members if size not in sizes]
    state = type("State", (ctypes.Structure,), {"_fields_": fields})()
    states = {
        name: np.ctypeslib.as_array(getattr(state, name)).reshape(shapes[size])
        for _, name, size in members
        if size in sizes
    }
    arrays = {name: np.zeros(shapes[size], C_TYPES[c_type]) for _, c_type, name, size in parameters}
    outputs = [name for is_input, _, name, _ in parameters if not is_input]
    step = getattr(ctypes.CDLL(str(library)), f"{path.stem}_step")

    def run(feeds):
        for name, x in feeds.items():
            np.copyto({**states, **arrays}[name], x)
        step(ctypes.byref(state), *[ctypes.c_void_p(x.ctypes.data) for x in arrays.values()])
        new = {f"next_{name}": x.copy() for name, x in states.items()}
        return {name: arrays[name].copy() for name in outputs} | new

    return run


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
