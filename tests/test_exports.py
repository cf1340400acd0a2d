"""Files of every format that `model.export` writes compute what `predict` does; what a file cannot hold is refused."""

import functools
import logging

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from tests import exporting
from tests.backends import nightly, one_in
from tests.table import MODELS

# Converters warn of themselves.
pytestmark = pytest.mark.filterwarnings("ignore")
BACKEND = keras.backend.backend()
FEATURES = 3
# With the sizes of a batch and of a sequence that a file takes. `benchmarks/exports.py` tries every layer, and OpenVINO
# on TensorFlow, too.
FORMATS = {
    "tensorflow": {
        "tf_saved_model": (None, None),
        "onnx": (None, None),
        "litert": (2, None),
    },
    "jax": {"tf_saved_model": (None, None), "onnx": (None, None)},
    "torch": {"torch": (None, 3), "onnx": (None, None), "openvino": (None, 3)},
}[BACKEND]


@pytest.fixture(autouse=True)
def _no_logs():
    """PyTorch logs every step of an export for whoever records it, which takes much longer than the export."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def model_of(layers, steps=None, batch=None, bias_scale=0.5):
    """Returns a model of layers with weights with which cells decide now this, now that.

    Large biases also show gates that are in the wrong order, or added in the wrong place.
    """
    model = keras.Sequential([keras.Input((steps, FEATURES), batch_size=batch), *layers])
    rng = np.random.default_rng(0)
    model.set_weights([(bias_scale if "bias" in w.path else 0.5) * rng.normal(size=w.shape) for w in model.weights])
    return model


def inputs(batch, steps):
    return np.random.default_rng(batch * steps).normal(size=(batch, steps, FEATURES)).astype("float32")


def tokens(batch, steps):
    x = np.random.default_rng(batch * steps).integers(1, 9, (batch, steps))
    x[0, :2] = 0
    return x.astype("int32")


def several():
    return [
        keras.layers.Bidirectional(kar.Mogrifier(4, rounds=2, return_sequences=True)),
        kar.LSTM([4] * 3, connection="residual", return_sequences=True),
        kar.Skip(kar.GRUCell(4), return_sequences=True),
    ]


def deciding():
    """Returns a layer that chooses among rows, one that chooses a width, and one with a gradient of our own."""
    return [
        kar.Skim(kar.GRUCell(4), kar.GRUCell(2), skim_loss=0.1, return_sequences=True),
        kar.VariableComputation(4, cost_weight=0.1, return_sequences=True),
        kar.LSTM(128),
    ]


def linear():
    """Returns layers that scan, by elements and in chunks; one has heads of a single number."""
    return [
        kar.RGLRU(4, return_sequences=True),
        kar.MLSTM(4, return_sequences=True),
        kar.GatedDeltaNet(4, num_heads=4, return_sequences=True),
    ]


def feed_forward():
    return [
        kar.Bipolar("elu", axis=1, layout="halves"),
        kar.Highway(coupled=False, rank=2),
        keras.layers.Dense(4),
        kar.OPLU(),
        kar.Maxout(3, pieces=2),
        kar.MixtureOfSoftmaxes(2, 5),
    ]


def lstm_jump(**options):
    model = kar.models.LSTMJump(
        vocabulary_size=9, embedding_units=3, classes=2, units=4, read=2, max_jump=3, max_jumps=2, **options
    )
    model(np.ones((2, 6), "int32"))
    return model


def skim_or_read():
    return kar.models.SkimOrRead(vocabulary_size=9, embedding_units=3, classes=2, units=4, skim_units=4, threshold=0.6)


def rewriting():
    return MODELS["rewriting_model"]()


READ_TOKENS = (lstm_jump, skim_or_read, rewriting)
CASES = {
    "tensorflow": [
        *((several, format) for format in one_in(3, FORMATS)),
        *((deciding, format) for format in one_in(2, ("onnx", "tf_saved_model"))),
        *((feed_forward, format) for format in one_in(3, FORMATS)),
        *((linear, format) for format in one_in(2, ("litert", "onnx"))),
        *((lstm_jump, format) for format in one_in(2, ("onnx", "litert"))),
        (skim_or_read, "tf_saved_model"),
        (rewriting, "litert"),
    ],
    "jax": [
        *((make, format) for make in (several, deciding, lstm_jump, skim_or_read) for format in one_in(3, FORMATS)),
        *((feed_forward, format) for format in one_in(3, FORMATS)),
        (linear, "onnx"),
        (rewriting, "onnx"),
    ],
    "torch": [
        (several, "torch"),
        (several, "onnx"),
        (deciding, "onnx"),
        pytest.param(several, "openvino", marks=nightly),
        pytest.param(deciding, "torch", marks=nightly),
        (linear, "onnx"),
        (rewriting, "onnx"),
        *((feed_forward, format) for format in one_in(3, FORMATS)),
        *((skim_or_read, format) for format in one_in(2, ("onnx", "openvino"))),
    ],
}[BACKEND]


@pytest.mark.parametrize(("make", "format"), CASES)
def test_a_file_computes_what_predict_does(make, format, tmp_path):
    check(make, format, tmp_path, *FORMATS[format])


@pytest.mark.skipif(BACKEND != "jax", reason="JAX traces other loops for sizes that it knows")
@pytest.mark.parametrize(("make", "batch", "steps"), [(several, 2, None), (linear, None, 5)])
def test_an_onnx_file_of_one_size(make, batch, steps, tmp_path):
    check(make, "onnx", tmp_path, batch, steps)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="OpenVINO fails on loops of TensorFlow that slice a known shape")
@pytest.mark.parametrize("make", [pytest.param(several, marks=nightly), linear])
def test_an_openvino_file_of_one_size(make, tmp_path):
    check(make, "openvino", tmp_path, 2, 5)


def check(make, format, folder, batch, steps):
    exporting.skip_without(format)
    path, axes = folder / f"model{exporting.SUFFIXES[format]}", [] if make in READ_TOKENS else [FEATURES]
    exporting.export(made(make), path, format, (batch, steps, *axes), "int32" if make in READ_TOKENS else "float32")
    for rows, length in ((batch or 2, steps or 5), (batch or 3, steps or 7)):
        x, y = expected(make, rows, length)
        np.testing.assert_allclose(exporting.run(path, format, x), y, rtol=1e-5, atol=1e-5, err_msg=f"{x.shape}")


def made(make):
    if make not in READ_TOKENS:
        return model_of(make())
    model, rng = make(), np.random.default_rng(0)
    model.set_weights([rng.normal(size=w.shape) for w in model.weights])
    return model


@functools.cache
def expected(make, rows, length):
    """Returns inputs and outputs, which are the same for all formats."""
    x = (tokens if make in READ_TOKENS else inputs)(rows, length)
    return x, made(make).predict(x, verbose=0)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="LiteRT files of Keras are written on TensorFlow")
def test_without_sequences_a_litert_file_takes_any_batch_and_length(tmp_path):
    exporting.skip_without("litert")
    model, path = model_of([kar.Mogrifier(4)]), tmp_path / "model.tflite"
    exporting.export(model, path, "litert", (None, None, FEATURES))
    for x in (inputs(1, 4), inputs(3, 6)):
        np.testing.assert_allclose(exporting.run(path, "litert", x), model.predict(x, verbose=0), rtol=1e-5, atol=1e-5)


OPERATIONS = {
    "LSTM": kar.LSTM,
    "GRU": kar.GRU,
    "RNN": functools.partial(kar.Elman, activation="relu", use_bias=False),
    "weight drop": functools.partial(kar.WeightDropLSTM, dropout=0.5),
    "zoneout": functools.partial(kar.LSTM, update_dropout=0.1, recurrent_dropout=0.1),
}


def in_two_directions(make):
    return [keras.layers.Bidirectional(make(5, return_sequences=True)), make([4, 3])]


def masked(make):
    """Returns layers behind a mask with holes, some of whose rows are empty."""
    return [keras.layers.Masking(), *in_two_directions(make), keras.layers.Dense(2)]


def masked_to_zero(make):
    arguments = {"return_sequences": True, "go_backwards": True, "zero_output_for_mask": True}
    return [keras.layers.Masking(), make(4, **arguments)]


@pytest.mark.parametrize("kind", OPERATIONS)
@pytest.mark.parametrize("layers", [in_two_directions, *one_in(2, [masked, masked_to_zero])])
def test_an_onnx_file_holds_one_operation_for_each_layer(kind, layers, tmp_path):
    check_operations(model_of(layers(OPERATIONS[kind]), bias_scale=1.5), kind, layers, tmp_path)


def check_operations(model, kind, layers, folder):
    exporting.skip_without("onnx")
    path = folder / "model.onnx"
    exporting.export(model, path, "onnx", (None, None, FEATURES))
    count = exporting.count_nodes(path, kind if kind in ("GRU", "RNN") else "LSTM")
    assert count == (1 if layers is masked_to_zero else 4)
    assert not any(exporting.count_nodes(path, other) for other in ("Sigmoid", "Tanh", "Loop", "Scan"))
    for rows, steps in ((2, 5), (3, 8), (2, 1)):
        x = inputs(rows, steps)
        x[0, ::2], x[-1] = 0, 0
        expected = model.predict(x, verbose=0)
        np.testing.assert_allclose(exporting.run(path, "onnx", x), expected, rtol=1e-5, atol=1e-5)


@nightly
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("layers", [in_two_directions, masked])
def test_openvino_reads_the_operations_of_an_onnx_file(kind, layers, tmp_path):
    exporting.skip_without("onnx")
    exporting.skip_without("openvino")
    model, path = model_of(layers(OPERATIONS[kind]), bias_scale=1.5), tmp_path / "model.onnx"
    exporting.export(model, path, "onnx", (None, None, FEATURES))
    for rows, steps in ((2, 5), (3, 8)):
        x = inputs(rows, steps)
        x[0, ::2] = 0
        expected = model.predict(x, verbose=0)
        np.testing.assert_allclose(exporting.run(path, "openvino", x), expected, rtol=1e-5, atol=1e-5)


def test_an_onnx_file_with_given_states_and_a_known_length_holds_one_operation(tmp_path):
    exporting.skip_without("onnx")
    x = keras.Input((5, FEATURES), batch_size=2)
    first = [keras.layers.Dense(4)(x[:, 0]) for _ in range(2)]
    model = keras.Model(x, kar.LSTM(4)(x, initial_state=first))
    path = tmp_path / "model.onnx"
    exporting.export(model, path, "onnx", (2, 5, FEATURES))
    assert exporting.count_nodes(path, "LSTM") == 1
    x = inputs(2, 5)
    np.testing.assert_allclose(exporting.run(path, "onnx", x), model.predict(x, verbose=0), rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="only TensorFlow writes LiteRT files")
@pytest.mark.parametrize("quantized", [False, True])
def test_a_litert_file_holds_one_operation_for_each_lstm(quantized, tmp_path):
    exporting.skip_without("litert")
    from ai_edge_litert.interpreter import Interpreter

    x = keras.Input((5, FEATURES), batch_size=2)
    first = [keras.layers.Dense(4)(x[:, 0]) for _ in range(2)]
    model = keras.Model(x, kar.WeightDropLSTM(3)(kar.LSTM(4, return_sequences=True)(x, initial_state=first)))
    path, signature = tmp_path / "model.tflite", [keras.InputSpec(shape=(2, 5, FEATURES), dtype="float32")]
    options = {"optimizations": ["DEFAULT"]} if quantized else {}
    model.export(str(path), format="litert", verbose=False, input_signature=signature, **options)
    names = [node["op_name"] for node in Interpreter(str(path))._get_ops_details()]
    assert names.count("UNIDIRECTIONAL_SEQUENCE_LSTM") == (0 if quantized else 2)
    assert names.count("WHILE") == (2 if quantized else 0)
    x = inputs(2, 5)
    # In 8 bits, the weights have three digits.
    tolerance = {"rtol": 1e-2, "atol": 1e-2} if quantized else {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(exporting.run(path, "litert", x), model.predict(x, verbose=0), **tolerance)


@pytest.mark.parametrize("layers", [lambda: [kar.GRU(4, reset_after=False)], lambda: [kar.LSTM(4, peepholes=True)]])
def test_an_onnx_file_holds_no_operation_with_other_equations(layers, tmp_path):
    exporting.skip_without("onnx")
    path = tmp_path / "model.onnx"
    exporting.export(model_of(layers(), steps=3), path, "onnx", (None, 3, FEATURES))
    assert not any(exporting.count_nodes(path, kind) for kind in ("LSTM", "GRU"))


class Doubled(kar.LSTMCell):
    """A cell of a user, whose steps may read what the loop of a file could not know."""

    def update(self, a, states, run):
        return super().update(2 * a, states, run)


on_torch = pytest.mark.skipif(BACKEND != "torch", reason="only files of PyTorch hold every step")
LENGTH = r"needs a known number of steps.*input_signature=\[keras.InputSpec\(shape=\(None, 20, 3\)"


@on_torch
@pytest.mark.parametrize(
    ("format", "layers"),
    [
        ("torch", several),
        ("openvino", lambda: [kar.Skip(kar.GRUCell(4))]),
        ("onnx", lambda: [kar.layers.RNN(Doubled(4))]),
        ("onnx", lambda: [kar.layers.RNN(keras.layers.LSTMCell(4))]),
        ("onnx", lambda: [kar.RGLRU(4, schedule="associative")]),
    ],
)
def test_an_unknown_length_is_refused(format, layers, tmp_path):
    path = tmp_path / f"model{exporting.SUFFIXES[format]}"
    with pytest.raises((ValueError, RuntimeError), match=LENGTH):
        exporting.export(model_of(layers()), path, format, (None, None, FEATURES))
    assert not path.exists()
    if format == "torch":
        with pytest.raises(RuntimeError, match=LENGTH):
            model_of(layers()).export(path, format="torch", verbose=False)


@on_torch
@pytest.mark.parametrize("format", ["onnx", pytest.param("openvino", marks=nightly)])
def test_a_file_refuses_another_length(format, tmp_path):
    exporting.skip_without(format)
    # A stack runs layer by layer, and would take the first steps of a longer sequence without this.
    path = tmp_path / f"model{exporting.SUFFIXES[format]}"
    exporting.export(model_of([kar.LSTM([4] * 3, return_sequences=True)]), path, format, (None, 5, FEATURES))
    for x in (inputs(2, 4), inputs(1, 10)):
        with pytest.raises(Exception, match=r"(?i)shape|dimensions"):
            exporting.run(path, format, x)


@on_torch
def test_no_step_casts_what_has_the_dtype(tmp_path):
    exporting.skip_without("onnx")
    path, counts = tmp_path / "model.onnx", []
    for steps in (2, 8):
        exporting.export(model_of([kar.Mogrifier(4)], steps), path, "onnx", (None, steps, FEATURES))
        counts.append([exporting.count_nodes(path, kind) for kind in ("Cast", "Tanh")])
    (casts, few), (same, many) = counts
    assert casts == same
    assert many == 4 * few


@on_torch
def test_what_pytorch_cannot_export_is_refused(tmp_path):
    path = tmp_path / "model.pt2"
    with pytest.raises(RuntimeError, match="is stateful, and a file that PyTorch exports keeps no states"):
        model_of([kar.LSTM(4, stateful=True)], steps=5, batch=2).export(path, format="torch", verbose=False)
    with pytest.raises(RuntimeError, match="decides where to read next cannot be exported"):
        exporting.export(lstm_jump(), path, "torch", (None, 6), "int32")


def test_a_file_without_a_random_generator_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"inference='sample' draws random numbers.*Received: format='onnx'"):
        lstm_jump(inference="sample").export(tmp_path / "model.onnx", format="onnx")


@pytest.mark.skipif(BACKEND != "torch", reason="a `state_dict` is PyTorch's")
def test_pytorch_knows_the_weights_of_a_model_that_is_built_when_it_is_made():
    model = skim_or_read()
    known = {tensor.data_ptr() for tensor in model.state_dict().values()}
    assert {weight.value.data_ptr() for weight in model.weights} <= known


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match="format"):
        model_of([kar.LSTM(4)]).export(tmp_path / "model", format="pickle")


@pytest.mark.skipif(BACKEND != "tensorflow", reason="only TensorFlow traces a graph before its gradient is asked for")
def test_a_graph_that_was_traced_without_a_tape_has_a_gradient():
    import tensorflow as tf

    found = []
    for rnn in (kar.RNN, keras.layers.RNN):
        layer, x = rnn(kar.LSTMCell(4), return_sequences=True), tf.constant(inputs(2, 5))
        layer.build(x.shape)
        layer.set_weights([np.full(w.shape, 0.1) for w in layer.weights])
        graph = tf.function(lambda x, layer=layer: layer(x, training=True))
        graph(x)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(graph(x) ** 2)
        found.append(tape.gradient(loss, [w.value for w in layer.trainable_weights]))
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.skipif(BACKEND != "tensorflow", reason="gradients of a file that TensorFlow writes")
def test_the_gradients_in_a_file_are_right_or_nan(tmp_path):
    """Those of a cell that skips what it need not compute were not computed."""
    import tensorflow as tf

    for layers, is_known in (([kar.LSTM(4)], True), ([kar.Skip(kar.GRUCell(4))], False)):
        model, x = model_of(layers), tf.constant(inputs(2, 5))
        model.export(tmp_path / "model", verbose=False)
        loaded = tf.saved_model.load(tmp_path / "model")
        gradients = []
        for function in (loaded.serve, lambda x, model=model: model(x, training=True)):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = function(x)
            gradients.append(tape.gradient(y, x).numpy())
        if is_known:
            np.testing.assert_allclose(*gradients, rtol=1e-4, atol=1e-6)
        else:
            assert np.isnan(gradients[0]).any(axis=(1, 2)).all()
