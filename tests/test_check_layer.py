"""check_layer passes good layers of any framework, and each broken one fails the check of what it breaks, alone."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn.testing import check_layer
from keras_adaptive_rnn.testing.layer_checks import LAYER_CHECKS
from tests.backends import in_turns

SHAPE = (3, 5, 2)
BACKEND = keras.backend.backend()
CHECKS = {check.__name__ for check in LAYER_CHECKS}
# They take seconds each.
SLOW = ("saving", "export", "onnx", "keras_layer_test")


def status(report):
    return {row["check"]: row["status"] for row in report.rows}


def failed(report):
    return {row["check"] for row in report.rows if row["status"] == "failed"}


# Good layers.


def elman_equation(weights, inputs):
    kernel, recurrent, bias = weights.values()
    h, outputs = np.zeros((len(inputs), len(bias))), []
    for t in range(inputs.shape[1]):
        h = np.tanh(inputs[:, t] @ kernel + h @ recurrent + bias)
        outputs.append(h)
    return np.stack(outputs, axis=1)


def test_our_layer_passes():
    report = check_layer(kar.Elman(4), SHAPE, equation=elman_equation)
    found = status(report)
    expected = dict.fromkeys(CHECKS, "passed")
    for name, lacking in {"float64": BACKEND == "jax", "export": BACKEND != "tensorflow"}.items():
        expected[name] = "not applicable" if lacking else "passed"
    assert {**found, "onnx": ""} == {**expected, "onnx": ""}
    assert found["onnx"] != "failed"
    assert report.passed
    assert str(report).startswith("Elman: ")


@in_turns
@pytest.mark.parametrize(
    "make", [lambda: kar.Mogrifier([3, 4], rank=2), lambda: keras.layers.GRU(4), lambda: kar.MLSTM(4)]
)
def test_more_layers_pass(make):
    check_layer(make(), SHAPE, skip=SLOW)


@in_turns
def test_layers_of_two_directions_pass():
    backwards = dict.fromkeys(("streaming", "causality"), "it reads backwards, too")
    report = check_layer(kar.Bidirectional(kar.LSTM(3)), SHAPE, skip=backwards | dict.fromkeys(SLOW, "slow"))
    assert {row["reason"] for row in report.rows if row["check"] == "causality"} == {"it reads backwards, too"}
    assert status(report)["padding"] == "passed"


@pytest.mark.skipif(BACKEND != "torch", reason="modules of PyTorch, where it is imported")
@pytest.mark.parametrize(("name", "arguments"), [("LSTM", {"batch_first": True}), ("GRU", {"num_layers": 2})])
def test_modules_of_torch_pass(name, arguments):
    import torch

    found = status(check_layer(getattr(torch.nn, name)(2, 4, **arguments), SHAPE))
    others = {"equation", "masks", "resets", "saving", "keras_layer_test"}
    assert {check for check, how in found.items() if how == "not applicable"} - {"onnx"} == others


@pytest.mark.skipif(BACKEND != "jax", reason="modules of Flax, where JAX is imported")
def test_modules_of_flax_pass():
    nnx = pytest.importorskip("flax.nnx")
    found = status(check_layer(nnx.RNN(nnx.LSTMCell(2, 4, rngs=nnx.Rngs(0))), SHAPE))
    assert found["padding"] == found["streaming"] == found["gradients"] == found["export"] == "passed"


# Broken layers: calls of a good one that break one rule each.


def given(layer, inputs, **arguments):
    outputs, *states = layer(inputs, **arguments)
    return outputs, states


def wrong_equation(layer, inputs):
    return 1.01 * given(layer, inputs)[0], None


def returns_no_states(layer, inputs, states=None):
    return given(layer, inputs, initial_state=states)[0], None


def returns_zeros(layer, inputs, states=None):
    outputs, states = given(layer, inputs, initial_state=states)
    return outputs, [0 * state for state in states]


def ignores_states(layer, inputs, states=None):
    return given(layer, inputs)


def ignores_lengths(layer, inputs, states=None, lengths=None):
    return given(layer, inputs, initial_state=states)


def counts_masked_steps(layer, inputs, states=None, mask=None):
    """It takes the masked steps for the last ones."""
    if mask is not None:
        lengths = ops.sum(ops.cast(mask, "int32"), axis=1)
        mask = ops.arange(inputs.shape[1]) < lengths[:, None]
    return given(layer, inputs, initial_state=states, mask=mask)


def ignores_resets(layer, inputs, resets=None):
    return given(layer, inputs)[0], None


def stops_the_gradient(layer, inputs):
    return given(layer, inputs + ops.stop_gradient(inputs))[0], None


def mixes_rows(layer, inputs):
    return given(layer, inputs - ops.sum(inputs, axis=0))[0], None


def reads_the_future(layer, inputs):
    return given(layer, inputs + ops.flip(inputs, axis=1))[0], None


def counts_calls(layer, inputs, calls=[]):  # noqa: B006
    calls.append(None)
    is_float32 = keras.backend.standardize_dtype(inputs.dtype) == "float32"
    return given(layer, inputs)[0] + 1e-6 * len(calls) * is_float32, None


def depends_on_the_dtype(layer, inputs):
    is_float64 = keras.backend.standardize_dtype(inputs.dtype) == "float64"
    return given(layer, inputs)[0] * (1 + 0.01 * is_float64), None


def returns_float32(layer, inputs):
    is_half = keras.backend.standardize_dtype(inputs.dtype) == "bfloat16"
    outputs = given(layer, inputs)[0]
    return ops.cast(outputs, "float32") if is_half else outputs, None


BROKEN = [
    (wrong_equation, "equation", "outputs and equation"),
    (returns_no_states, "states", "it returns no states"),
    (returns_zeros, "streaming", "the pieces and one pass"),
    (ignores_states, "streaming", "the pieces and one pass"),
    (ignores_lengths, "padding", "a row's own padding changes it"),
    (counts_masked_steps, "masks", "masked steps change outputs or states"),
    (ignores_resets, "resets", "those of the pieces apart"),
    (stops_the_gradient, "gradients", "the slope by inputs"),
    (mixes_rows, "batch_independence", "beside other rows"),
    (reads_the_future, "causality", "outputs before the inputs that changed"),
    (counts_calls, "determinism", "a second call and the first"),
    (depends_on_the_dtype, "float64", "outputs in float64 and in float32"),
    (returns_float32, "bfloat16", "returns float32, expected bfloat16"),
]


@pytest.mark.parametrize(("call", "check", "message"), BROKEN, ids=[call.__name__ for call, _, _ in BROKEN])
def test_a_broken_layer_fails_one_check(call, check, message):
    if check == "float64" and BACKEND == "jax":
        pytest.skip("JAX computes in float32 here")
    layer, equation = kar.Elman(4), elman_equation if check == "equation" else None
    report = check_layer(layer, SHAPE, skip=SLOW, call=call, equation=equation, on_fail=None)
    assert failed(report) == {check}
    (row,) = (row for row in report.rows if row["status"] == "failed")
    assert message in row["reason"]
    if row["value"] is not None:
        assert row["value"] > row["allowed"]
    # The lines of the report reproduce it.
    assert row["lines"] in "\n".join(line.removeprefix("    ") for line in str(report).splitlines())
    with pytest.raises(AssertionError, match=message):
        exec(row["lines"], {"layer": layer, "call": call, "equation": equation})


class NotRegistered(kar.Elman):
    pass


@keras.saving.register_keras_serializable(package="tests")
class WrongShape(kar.Elman):
    def compute_output_shape(self, sequences_shape, initial_state_shape=None):
        return (*super().compute_output_shape(sequences_shape)[:-1], 9)


@pytest.mark.parametrize(("make", "check"), [(NotRegistered, "saving"), (WrongShape, "keras_layer_test")])
def test_a_broken_layer_of_keras_fails_one_check(make, check):
    others = [name for name in SLOW if name != check]
    assert failed(check_layer(make(4), SHAPE, skip=others, on_fail=None)) == {check}


@pytest.mark.skipif(BACKEND != "torch", reason="programs of PyTorch")
@pytest.mark.parametrize("check", ["export", "onnx"])
def test_a_file_that_computes_something_else(check):
    import torch

    if check == "onnx":
        pytest.importorskip("onnxscript")

    def call(layer, inputs):
        return layer(inputs)[0] * (2 if torch.compiler.is_exporting() else 1), None

    module = torch.nn.RNN(2, 3, batch_first=True)
    other = {"export": "onnx", "onnx": "export"}[check]
    assert failed(check_layer(module, SHAPE, skip=(other,), call=call, on_fail=None)) == {check}


def test_every_check_finds_a_broken_layer():
    assert {check for _, check, _ in BROKEN} | {"saving", "keras_layer_test", "export", "onnx"} == CHECKS


# Arguments.


def test_an_error_holds_the_report():
    with pytest.raises(AssertionError, match=r"(?s)Elman: .* 1 failed.*causality: An output does not depend.*case = "):
        check_layer(kar.Elman(4), SHAPE, skip=SLOW, call=reads_the_future)


def test_arguments_are_checked():
    with pytest.raises(TypeError, match="layer"):
        check_layer(print, SHAPE)
    with pytest.raises(ValueError, match="input_shape"):
        check_layer(kar.Elman(4), (3, 2))
    with pytest.raises(ValueError, match=r"skip.*no_such_check"):
        check_layer(kar.Elman(4), SHAPE, skip=("no_such_check",))
    with pytest.raises(ValueError, match="on_fail"):
        check_layer(kar.Elman(4), SHAPE, on_fail="warn")
