"""A model of one time step as a file."""

import contextlib
import importlib.util
import logging
import pathlib
import tempfile
import warnings
from collections.abc import Sequence
from typing import Any

import keras

from keras_adaptive_rnn import _arguments, engine
from keras_adaptive_rnn._keras import flatten_layers
from keras_adaptive_rnn.one_step import c99, c_source
from keras_adaptive_rnn.one_step.calibration import step_feeds
from keras_adaptive_rnn.one_step.model import step_model

# LiteRT files, and C source made of them.
LITERT = ("litert", "c")
# The formats in which Keras writes a model with several inputs and outputs.
FORMATS = {
    "tensorflow": ("tf_saved_model", "litert", "c", "c99", "onnx", "openvino"),
    "jax": ("tf_saved_model", "onnx", "c99"),
    "torch": ("onnx", "openvino", "torch", "c99"),
}
# The packages that write them, besides the backend.
WRITERS = {
    ("tensorflow", "onnx"): ("tf2onnx", "onnx"),
    ("jax", "onnx"): ("jax2onnx", "onnx"),
    ("torch", "onnx"): ("onnxscript", "onnx"),
    ("tensorflow", "openvino"): ("openvino",),
    ("torch", "openvino"): ("openvino",),
    ("jax", "tf_saved_model"): ("tensorflow",),
}


def export_step(
    model: keras.Model,
    filepath: str | pathlib.Path,
    format: str = "tf_saved_model",
    batch_size: int = 1,
    *,
    time_distributed: Sequence[keras.Layer | type[keras.Layer]] = (),
    calibration: Any = None,
    weight_dtype: str | None = None,
    verbose: bool | None = None,
    **kwargs: Any,
) -> None:
    """Writes a single time step of a model to a file, for loops in other programs.

    The file holds `keras_adaptive_rnn.step_model(model, batch_size)`, which describes its inputs and outputs. They have
    the same names in every format. The graph has no loop, no control flow and known shapes; a LiteRT file holds builtin
    operations only. The states before the first step are zeros. The guide `docs/one_step.md` shows the loop around it
    for each runtime.

    - `"tf_saved_model"`: on TensorFlow and JAX;
    - `"litert"`: on TensorFlow;
    - `"c"`, the LiteRT file as an array in C, with a header that names inputs, outputs and states: on TensorFlow;
    - `"c99"`, a function in C that needs no interpreter and allocates no memory, and its header: on all three;
    - `"onnx"`: on TensorFlow (needs `tf2onnx`), JAX (`jax2onnx`) and PyTorch (`onnx` and `onnxscript`);
    - `"openvino"`: on TensorFlow and PyTorch (needs `openvino`);
    - `"torch"`, a `torch.export` program: on PyTorch.

    Args:
        model, batch_size, time_distributed: As in `keras_adaptive_rnn.step_model`.
        filepath: Path of the file. It must end in `.tflite` for LiteRT, `.c` for C (the header goes beside it), `.xml`
            for OpenVINO and `.pt2` for PyTorch.
        format: One of the formats that the backend writes. Defaults to `"tf_saved_model"`.
        calibration: Inputs of the model, as for `model.predict`: a multiple of `batch_size` sequences, from whose steps
            the converter learns the range of every tensor. The LiteRT file then has weights of 8 bits, and computes in
            8 bits wherever LiteRT can; inputs, outputs and states keep their types. Only for `"litert"` and `"c"`.
            Defaults to `None`, which means numbers of 32 bits.
        weight_dtype: `"int8"` to round the matrices of a C99 file to 8 bits, with a scale for each column; everything
            is still computed in 32 bits. Defaults to `None`: 8 bits only for matrices that lose nothing, such as those
            of a model after `model.quantize("int8")`.
        verbose: Whether to print a message, as in `keras.Model.export`; with `False`, PyTorch's exporter does not warn
            of itself either. Defaults to `None`.
        **kwargs: Further arguments of `keras.Model.export` for this format, such as `opset_version`.

    Raises:
        ValueError: `format` is unknown, or not one that the backend writes; `calibration` does not fit the model;
            `calibration` or `weight_dtype` is given for another format; the model has an operation that the format
            lacks; or as in `keras_adaptive_rnn.step_model`.
        TypeError: As in `keras_adaptive_rnn.step_model`.
        ImportError: A package that writes the format is not installed.

    Example:

    >>> model = keras.Sequential([keras.Input((None, 3)), keras_adaptive_rnn.Mogrifier(8), keras.layers.Dense(1)])
    >>> keras_adaptive_rnn.export_step(model, "step.onnx", format="onnx")  # doctest: +SKIP
    """
    check_export_format(format)
    source = c_source.check_filepath(filepath, format) if format in ("c", "c99") else None
    rule = "Argument `calibration` must be None unless format='litert' or format='c'"
    _arguments.check(calibration is None or format in LITERT, rule, format=format)
    fits = weight_dtype is None or (weight_dtype, format) == ("int8", "c99")
    rule = "Argument `weight_dtype` must be None, or 'int8' with format='c99'"
    _arguments.check(fits, rule, weight_dtype=weight_dtype, format=format)
    step = step_model(model, batch_size, time_distributed=time_distributed)
    # In alphabetical order, in which every exporter goes through a dict.
    signature = {name: keras.InputSpec(x.dtype, x.shape, name=name) for name, x in sorted(step.input.items())}
    if format == "openvino":
        _export_openvino(step, str(filepath), signature, **kwargs)
        if verbose is not False:
            print(f"Saved OpenVINO IR at '{filepath}'.")
        return
    if format in LITERT:
        feeds = None if calibration is None else step_feeds(step, model, calibration)
        kwargs = {**engine.litert_options(feeds), **kwargs}
    if format == "c99":
        c99.write(source, model, step, weight_dtype, **kwargs)
    elif format == "c":
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "step.tflite"
            step.export(str(path), "litert", verbose=False, input_signature=[signature], **kwargs)
            c_source.write(source, path.read_bytes())
    if source is not None:
        if verbose is not False:
            print(f"Saved C source at '{source}' and '{source.with_suffix('.h')}'.")
        return
    with _quiet() if verbose is False else contextlib.nullcontext(), _numbers_inside(step):
        step.export(str(filepath), format, verbose=verbose, input_signature=[signature], **kwargs)
    if format == "onnx":
        _mend_onnx(str(filepath), list(step.output))


def check_export_format(format: str) -> None:
    """Raises an error if `keras_adaptive_rnn.export_step` cannot write a format here.

    Args:
        format: Name of the format.

    Raises:
        ValueError: The backend does not write it.
        ImportError: A package that it takes is not installed.

    Example:

    >>> keras_adaptive_rnn.check_export_format("onnx")
    """
    backend = keras.backend.backend()
    if format not in FORMATS[backend]:
        raise ValueError(
            f"Argument `format` must be one of {', '.join(map(repr, FORMATS[backend]))} on the {backend} backend; for "
            f"another format, load the model from its `.keras` file on another backend. Received: format={format!r}"
        )
    needed = WRITERS.get((backend, format), ())
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(
            f"The format {format!r} needs {' and '.join(needed)} on the {backend} backend: "
            f"pip install {' '.join(missing)}"
        )


@contextlib.contextmanager
def _quiet():
    """Silences PyTorch's exporter, which warns of operators that other packages would add, and of its own old code."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            yield
    finally:
        logger.setLevel(level)


@contextlib.contextmanager
def _numbers_inside(model):
    """Puts the numbers of `Normalization` into the graph: tf2onnx takes tensors that are made outside for inputs."""
    layers = [layer for layer in flatten_layers(model) if isinstance(layer, keras.layers.Normalization)]
    outside = [(layer.mean, layer.variance) for layer in layers]
    try:
        for layer in layers:
            layer.mean, layer.variance = map(keras.ops.convert_to_numpy, (layer.mean, layer.variance))
        yield
    finally:
        for layer, numbers in zip(layers, outside, strict=True):
            layer.mean, layer.variance = numbers


def _mend_onnx(filepath, names):
    """Gives the outputs of an ONNX file these names and this order, which not every exporter does."""
    import onnx

    model = onnx.load(filepath)
    graph = model.graph
    outputs = {output.name: output for output in graph.output}
    if set(outputs) != set(names):
        outputs = dict(zip(sorted(names), graph.output, strict=True))
        for name, output in outputs.items():
            graph.node.append(onnx.helper.make_node("Identity", [output.name], [name]))
            output.name = name
    ordered = [onnx.ValueInfoProto.FromString(outputs[name].SerializeToString()) for name in names]
    del graph.output[:]
    graph.output.extend(ordered)
    # tf2onnx 1.17 writes `x @ w + d * y` as a `Gemm` whose `beta` is the vector `d`, but ONNX allows a number only.
    for node in list(graph.node):
        for beta in [a for a in node.attribute if node.op_type == "Gemm" and a.type == onnx.AttributeProto.FLOATS]:
            name = f"{node.name}_{beta.name}"
            graph.initializer.append(
                onnx.helper.make_tensor(name, onnx.TensorProto.FLOAT, [len(beta.floats)], beta.floats)
            )
            scaled = onnx.helper.make_node("Mul", [node.input[2], name], [f"{name}_scaled"])
            graph.node.insert(list(graph.node).index(node), scaled)
            node.input[2] = scaled.output[0]
            node.attribute.remove(beta)
    onnx.save(model, filepath)


def _export_openvino(step, filepath, signature, **kwargs):
    """Writes an OpenVINO file, and the names of inputs and outputs that Keras leaves out."""
    import openvino

    is_torch = keras.backend.backend() == "torch"
    names = list(step.output)
    if is_torch:
        # PyTorch's tracer does not return dicts.
        step = keras.Model([step.input[name] for name in signature], list(step.output.values()))
    with tempfile.TemporaryDirectory() as folder:
        input_signature = [list(signature.values()) if is_torch else signature]
        step.export(f"{folder}/step.xml", "openvino", verbose=False, input_signature=input_signature, **kwargs)
        written = openvino.Core().read_model(f"{folder}/step.xml")
        output_names = names if is_torch else []
        for result in written.get_results():
            source, name = result.input_value(0), result.get_friendly_name()
            if not is_torch:
                # A state that never changes is known by its name as an input.
                output_names += [name if name in names else f"next_{source.get_node().get_friendly_name()}"]
            # What is an output and a state, or does not change, would be one tensor with one of its names.
            result.input(0).replace_source_output(openvino.opset16.identity(source).output(0))
        written.validate_nodes_and_infer_types()
        for port, name in zip([*written.inputs, *written.outputs], [*signature, *output_names], strict=True):
            port.tensor.set_names({name})
        written.reshape({name: list(spec.shape) for name, spec in signature.items()})
        openvino.save_model(written, filepath, compress_to_fp16=False)
