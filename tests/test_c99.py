"""Single time steps in C99, compiled without warnings: they compute what `predict` does."""

import re
import shutil
import subprocess

import keras
import numpy as np
import pytest
from keras import layers, ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn.one_step import c99
from tests import exporting, runtimes, test_export_step
from tests.backends import dealt, in_turns

pytestmark = [
    pytest.mark.filterwarnings("ignore:Layer .* does not have a `quantize`:UserWarning"),
    pytest.mark.skipif(bool(exporting.missing("c99")), reason="no compiler for C"),
]


def exported(model, folder, batch_size=1, **options):
    """Writes and compiles one step of a model, and returns it as a function of dicts, and its source."""
    kar.export_step(model, folder / "step.c", "c99", batch_size, verbose=False, **options)
    return runtimes.load(folder / "step.c", "c99"), (folder / "step.c").read_text()


def assert_equals_predict(model, folder, sequence, **options):
    run, source = exported(model, folder, len(sequence), **options)
    states = runtimes.zero_states(kar.step_model(model, len(sequence)))
    test_export_step.assert_steps_equal_predict(model, sequence, run, states)
    return source


# Models.


@pytest.mark.parametrize("name", dealt(test_export_step.STEPPED))
def test_every_recurrent_layer(name, tmp_path, rng):
    inputs = keras.Input((None, 3))
    model = keras.Model(inputs, test_export_step.made(test_export_step.STEPPED[name])(inputs))
    model = test_export_step.perturbed(model, rng)
    assert_equals_predict(model, tmp_path, rng.normal(size=(2, 5, 3)).astype("float32"))


@in_turns
@pytest.mark.parametrize("name", ["masked_stack", "branches", "awd_lstm_with_softmaxes"])
def test_whole_models(name, tmp_path, rng):
    model = test_export_step.perturbed(getattr(test_export_step, name)(), rng)
    sequence = rng.normal(size=(2, 6, 4)).astype("float32") if name == "branches" else test_export_step.TOKENS
    assert_equals_predict(model, tmp_path, sequence)


def stack(units=16):
    return keras.Sequential(
        [
            keras.Input((None, 5)),
            layers.Dense(units, activation="relu"),
            kar.Mogrifier(units, rank=4, return_sequences=True, trainable_initial_state=True),
            layers.LSTM(units, return_sequences=True),
            kar.LowRankGRU(units, rank=4, return_sequences=True),
            layers.Dense(3, activation="softmax"),
        ]
    )


def test_many_steps(tmp_path, rng):
    model = test_export_step.perturbed(stack(), rng)
    assert_equals_predict(model, tmp_path, rng.normal(size=(1, 10_000, 5)).astype("float32"))


@in_turns
@pytest.mark.parametrize("mode", ["int8", "int4"])
def test_a_quantized_model(mode, tmp_path, rng):
    model = test_export_step.perturbed(stack(32), rng)
    model.quantize(mode)
    source = assert_equals_predict(model, tmp_path, rng.normal(size=(2, 9, 5)).astype("float32"))
    floats = re.findall(r"static const float matrix_\d+\[(\d+)\]", source)
    integers = re.findall(r"static const int8_t matrix_\d+\[(\d+)\]", source)
    # The layer of Keras has not been quantized; of the others, floats are one scale for each column.
    assert sorted(map(int, floats))[-2:] == [32 * 128, 32 * 128]
    assert sorted(map(int, floats))[-3] <= 128
    assert len(integers) > 10


def test_a_quantized_embedding(tmp_path):
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layers.Embedding(6, 8), kar.GRU(4)])
    model.quantize("int8")
    source = assert_equals_predict(model, tmp_path, test_export_step.TOKENS)
    assert "int8_t matrix_1[48]" in source


def test_weights_of_8_bits(tmp_path, rng):
    tokens = keras.Input((None,), dtype="int32")
    model = keras.Model(tokens, layers.Dense(4)(layers.LSTM(32)(layers.Embedding(6, 16)(tokens))))
    test_export_step.perturbed(model, rng)
    run, source = exported(model, tmp_path, 2, weight_dtype="int8")
    assert len(re.findall("static const int8_t", source)) == 4
    for weight in model.weights:
        if len(weight.shape) == 2:
            value = ops.convert_to_numpy(weight)
            scale = np.abs(value).max(axis=0) / 127
            weight.assign(np.round(value / scale) * scale)
    # The weights that the file has rounded; the model itself rounds the same way.
    states = runtimes.zero_states(kar.step_model(model, 2))
    test_export_step.assert_steps_equal_predict(model, test_export_step.TOKENS, run, states)


# Operations.

UNARY = (
    "abs arctan arcsinh ceil celu cos cosh elu erf exp exp2 expm1 floor gelu hard_shrink hard_sigmoid hard_silu "
    "hard_tanh leaky_relu log_sigmoid log_softmax negative reciprocal relu relu6 round selu sigmoid sign silu sin sinh "
    "soft_shrink softmax softplus softsign sparse_plus sparse_sigmoid square squareplus tan tanh tanh_shrink trunc "
    "max min mean std var logsumexp prod sum ravel flip ones_like zeros_like stop_gradient copy squeeze"
)
BINARY = (
    "add arctan2 divide equal floor_divide greater greater_equal less less_equal maximum minimum mod multiply "
    "not_equal subtract true_divide"
)
OPERATIONS = {
    **{name: getattr(ops, name) for name in UNARY.split()},
    **{f"{name}_activation": keras.activations.get(name) for name in ("relu", "gelu", "softmax")},
    "relu_with_all": lambda x: keras.activations.relu(x, negative_slope=0.2, max_value=0.8, threshold=0.3),
    **{
        name: lambda x, name=name: getattr(ops, name)(ops.abs(x) + 0.1)
        for name in ("log", "log10", "log1p", "log2", "rsqrt", "sqrt")
    },
    **{
        name: lambda x, name=name: getattr(ops, name)(ops.clip(x, -0.9, 0.9))
        for name in ("arccos", "arcsin", "arctanh")
    },
    "arccosh": lambda x: ops.arccosh(ops.abs(x) + 1),
    **{name: lambda x, name=name: getattr(ops, name)(x, ops.flip(x, -1)) for name in BINARY.split()},
    "power": lambda x: ops.power(ops.abs(x), 1.5),
    "logic": lambda x: ops.logical_or(ops.logical_and(x > 0, x < 1), ops.logical_not(ops.logical_xor(x > 1, x < 2))),
    "where": lambda x: ops.where(x > 0, x, 2),
    "any": lambda x: ops.any(x > 1, axis=-1),
    "all": lambda x: ops.all(x > -1, axis=(0, 2), keepdims=True),
    "sum_of_one": lambda x: ops.sum(x[..., None], axis=-1),
    "max_of_integers": lambda x: ops.max(ops.cast(5 * x, "int32"), axis=-1),
    "integers": lambda x: ops.floor_divide(ops.cast(9 * x, "int32"), -4) + ops.mod(ops.cast(9 * x, "int32"), 4),
    "absolute_integers": lambda x: ops.absolute(ops.cast(9 * x, "int32")),
    "moments": lambda x: ops.subtract(*ops.moments(x, [0, 2])),
    "glu": lambda x: ops.glu(x, axis=-1),
    "normalize": ops.normalize,
    "one_hot": lambda x: ops.one_hot(ops.cast(ops.abs(x), "int32"), 3),
    "layer_normalization": layers.LayerNormalization(),
    "rms_normalization": layers.RMSNormalization(axis=(-1, -2)),
    "batch_normalization": layers.BatchNormalization(),
    "unit_normalization": layers.UnitNormalization(),
    # These call the functions of a backend, not those of `keras.ops`.
    "rescaling": layers.Rescaling([1, 2, 3, 4, 5, 6], offset=[0.5] * 6),
    "normalization": layers.Normalization(mean=[0, 1, 2, 3, 4, 5], variance=[1, 2, 3, 4, 5, 6]),
    "denormalization": layers.Normalization(mean=1, variance=4, axis=None, invert=True),
    "convolution": layers.Conv1D(4, 2, strides=2, dilation_rate=1),
    "convolution_2d": lambda x: layers.Conv2D(2, (2, 3), dilation_rate=(2, 1))(x[..., None]),
    "pooling": layers.GlobalMaxPooling1D(),
    "concatenate": lambda x: ops.concatenate([x, x[:, ::2], 0 * x], axis=1),
    "stack": lambda x: ops.stack([x, 2 * x], axis=1),
    "split": lambda x: ops.split(x, [1, 4], axis=-1)[1],
    "unstack": lambda x: ops.unstack(x, axis=1)[2],
    "swapaxes": lambda x: ops.swapaxes(x, 1, 2) + 1,
    "moveaxis": lambda x: ops.exp(ops.moveaxis(x, 0, -1)),
    "reshape_of_transposed": lambda x: ops.reshape(ops.transpose(x, (2, 0, 1)), (8, -1)),
    "broadcast_to": lambda x: ops.broadcast_to(x[:, :, :1], (2, 4, 3)),
    "repeat": lambda x: ops.repeat(x, 2, axis=1),
    "tile": lambda x: ops.tile(x, (1, 2, 1)),
    "roll": lambda x: ops.roll(x, 1, axis=1),
    "expand_dims": lambda x: ops.expand_dims(x, (0, 2)) * x,
    "slices": lambda x: x[:, 1:-1, ::3] - x[0, 2, None, 4],
    "places": lambda x: ops.take(x, [3, 0, 0], axis=1),
    "places_in_all": lambda x: ops.take(x, [[3, 0], [20, 47]]),
    "look_up": lambda x: ops.take(np.arange(30, dtype="float32").reshape(10, 3), ops.cast(ops.abs(x), "int32"), axis=0),
    "matmul": lambda x: ops.matmul(x, ops.transpose(x, (0, 2, 1))),
    "matmul_of_vector": lambda x: ops.matmul(x, x[0, 0]),
    "matmul_of_broadcast": lambda x: ops.matmul(x[:, None], np.ones((3, 6, 2), "float32")),
    "vector_matmul": lambda x: ops.matmul(x[0, 0], np.arange(12, dtype="float32").reshape(6, 2)),
    "einsum": lambda x: ops.einsum("abc,adc->bd", x, ops.tanh(x)),
    "einsum_of_one": lambda x: ops.einsum("abc->cab", x),
    "a number": lambda x: 3 - 2 / (x + 7),
    "an array": lambda x: ops.subtract(np.arange(4, dtype="float32")[:, None], x) * 2,
    "one array": lambda x: ops.multiply(np.ones((1, 1), "float32"), x),
    "infinite": lambda x: ops.where(x > 0, np.array([np.inf, -np.inf, 1, 2, 3, 4], "float32"), x),
}
if not exporting.IS_LATER_KERAS:
    # There, Keras fails for the axes of the first, and tells other shapes of the products.
    del OPERATIONS["rms_normalization"], OPERATIONS["matmul_of_vector"], OPERATIONS["vector_matmul"]


def test_every_operation(tmp_path, rng):
    """All in one file, in the form of a step."""
    x = keras.Input(batch_shape=(2, 4, 6), name="inputs")
    state = keras.Input(batch_shape=(1, 1), name="state_0")
    model = keras.Model(
        {"inputs": x, "state_0": state},
        {**{name.replace(" ", "_"): make(x) for name, make in OPERATIONS.items()}, "next_state_0": state + 1},
    )
    c99.write(tmp_path / "step.c", model, model)
    run = runtimes.load(tmp_path / "step.c", "c99")
    feeds = {"inputs": rng.normal(size=x.shape).astype("float32"), "state_0": np.zeros((1, 1), "float32")}
    expected, outputs = model.predict_on_batch(feeds), run(feeds)
    assert outputs.keys() == expected.keys()
    for name, each in expected.items():
        np.testing.assert_allclose(outputs[name], each, rtol=2e-5, atol=1e-6, err_msg=name)


class Scaled(layers.Layer):
    """A layer that writes operations the way they come."""

    is_time_distributed = True

    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones")

    def call(self, inputs):
        @ops.custom_gradient
        def half(x):
            return x / 2, lambda *args, upstream=None: upstream

        constant = ops.convert_to_tensor(np.arange(3, dtype="float32"))
        return half(
            (self.scale * inputs - constant * inputs) / self.scale + ops.cast(self.scale * inputs < 1, "float32")
        )


def test_variables_and_arrays_before_tensors(tmp_path, rng):
    model = keras.Sequential([keras.Input((None, 3)), Scaled(), kar.LSTM(2)])
    before = keras.Variable.__mul__, ops.custom_gradient
    assert_equals_predict(model, tmp_path, rng.normal(size=(1, 5, 3)).astype("float32"))
    # Keras is as it was.
    assert (keras.Variable.__mul__, ops.custom_gradient) == before
    assert not any("symbolic_call" in vars(layer) for layer in model.layers)


@pytest.mark.skipif(not exporting.IS_LATER_KERAS, reason="Keras refuses a model that returns an input")
def test_states_that_move(tmp_path):
    """Each next state is the other one, or does not change."""
    x = keras.Input(batch_shape=(1, 2), name="inputs")
    states = {f"state_{k}": keras.Input(batch_shape=(1, 2), name=f"state_{k}") for k in range(4)}
    a, b, c, d = states.values()
    outputs = {"output": a, "next_state_0": b * 1, "next_state_1": a + x, "next_state_2": d[:, ::-1], "next_state_3": c}
    c99.write(tmp_path / "step.c", *[keras.Model({"inputs": x, **states}, outputs)] * 2)
    run = runtimes.load(tmp_path / "step.c", "c99")
    feeds = {"inputs": np.full((1, 2), 10.0), **{name: np.array([[k, k + 0.5]]) for k, name in enumerate(states)}}
    found = {name: value.tolist() for name, value in run(feeds).items()}
    assert found == {
        "output": [[0, 0.5]],
        "next_state_0": [[1, 1.5]],
        "next_state_1": [[10, 10.5]],
        "next_state_2": [[3.5, 3]],
        "next_state_3": [[2, 2.5]],
    }


# The files.


def test_names_of_inputs_and_outputs(tmp_path, rng):
    names = ["float", "state", "expf", "2nd input", "product_1", "unused"]
    inputs = [keras.Input((None, 2), name=name) for name in names]
    model = keras.Model(
        inputs, layers.GRU(3, name="a cell: π *")(layers.Concatenate()([*inputs[:5], ops.zeros_like(inputs[5])]))
    )
    kar.export_step(model, tmp_path / "int.c", "c99", verbose=False)
    runtimes.load(tmp_path / "int.c", "c99")
    header = (tmp_path / "int.h").read_text()
    assert "#define INT_STATE_0_SIZE 3 /* [1, 3] */\n" in header
    assert "const float float_[INT_FLOAT__SIZE], const float state_[INT_STATE__SIZE]" in header
    assert "const float _2nd_input[INT__2ND_INPUT_SIZE]" in header


@pytest.mark.skipif(shutil.which("c++") is None, reason="no compiler for C++")
def test_the_header_in_cpp(tmp_path, rng):
    exported(stack(), tmp_path)
    (tmp_path / "main.cpp").write_text(
        '#include "step.h"\nint main() { static step_state state; step_reset(&state); }\n'
    )
    subprocess.run(["cc", "-std=c99", "-c", "step.c"], cwd=tmp_path, check=True)
    subprocess.run(["c++", "-Wall", "-Wextra", "-Werror", "main.cpp", "step.o", "-lm"], cwd=tmp_path, check=True)
    assert subprocess.run(tmp_path / "a.out").returncode == 0


def program_of_the_guide(folder, compiler):
    """Compiles the program of the guide, and returns it with its model and its sequence."""
    page = test_export_step.PAGE.read_text()
    (model,) = re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL)
    (caller,) = [each for each in re.findall(r"```c\n(.*?)```", page, flags=re.DOTALL) if "step_step" in each]
    names = {}
    exec(model, names)
    kar.export_step(names["model"], folder / "step.c", "c99", verbose=False)
    (folder / "main.c").write_text(caller)
    command = [*compiler, *runtimes.C_FLAGS, "main.c", "step.c", "-o", "main", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    return names["model"]


@pytest.mark.parametrize("machine", ["here", "arm"])
def test_the_program_of_the_guide(machine, tmp_path, rng):
    compiler, start = {"here": (["cc"], []), "arm": (["arm-linux-gnueabihf-gcc", "-static"], ["qemu-arm"])}[machine]
    absent = [name for name in (*compiler[:1], *start) if shutil.which(name) is None]
    if absent:
        pytest.skip(f"not installed: {', '.join(absent)}")
    model = program_of_the_guide(tmp_path, compiler)
    sequence = rng.normal(size=(1, 10_000, 5)).astype("float32")
    ended = subprocess.run([*start, tmp_path / "main"], input=sequence.tobytes(), capture_output=True, check=True)
    found = np.frombuffer(ended.stdout, "float32").reshape(1, 10_000, 3)
    np.testing.assert_allclose(found, model.predict(sequence, verbose=0), atol=1e-5)


# Errors.


class Sorted(layers.Layer):
    is_time_distributed = True

    def call(self, inputs):
        return ops.sort(inputs, axis=-1)


class Initial(layers.Layer):
    is_time_distributed = True

    def call(self, inputs):
        return ops.max(inputs, axis=-1, keepdims=True, initial=1)


class Outside(layers.Layer):
    is_time_distributed = True

    def call(self, inputs):
        # As the functions of a framework do.
        if isinstance(inputs, keras.KerasTensor):
            raise TypeError("not a tensor")
        return inputs


def in_half_precision():
    return keras.Sequential([keras.Input((None, 3)), kar.LSTM(2, dtype="mixed_bfloat16")])


def with_unknown_size():
    sequence, text = keras.Input((None, 3)), keras.Input((None,), name="text")
    return keras.Model([sequence, text], [kar.LSTM(2)(sequence), ops.max(text, axis=-1)])


def with_layer(layer):
    return lambda: keras.Sequential([keras.Input((None, 3)), layer, kar.LSTM(2)])


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (with_layer(Sorted()), {}, ["`model`", "format='c99'", "`Sort`"]),
        (with_layer(layers.UnitNormalization()), {"weight_dtype": "int4"}, ["`weight_dtype`", "weight_dtype='int4'"]),
        (with_layer(Outside(name="mine")), {}, ["`model`", "`keras.ops`", "'mine'", "Outside"]),
        (in_half_precision, {}, ["`model`", "float32", "bfloat16"]),
        (with_layer(Initial()), {}, ["`Max` of initial=1"]),
        (with_unknown_size, {}, ["`model`", "'text'", "(1, None)"]),
        (with_layer(layers.ReLU()), {"calibration": np.ones((1, 5, 3))}, ["`calibration`", "format='c99'"]),
        (with_layer(layers.ReLU()), {"filepath": "step.h"}, ["`filepath`", "`.c`", "step.h"]),
    ],
)
def test_errors(make, options, words, tmp_path):
    name = options.pop("filepath", "step.c")
    with pytest.raises(ValueError, match="Argument") as error:
        kar.export_step(make(), tmp_path / name, "c99", **options)
    assert all(word in str(error.value) for word in words), error.value
    assert not list(tmp_path.iterdir())


def test_other_formats_have_no_dtype_of_weights(tmp_path):
    format = test_export_step.FORMATS[keras.backend.backend()][0]
    with pytest.raises(ValueError, match=r"`weight_dtype` must be None, or 'int8' with format='c99'"):
        kar.export_step(stack(), tmp_path / "step", format, weight_dtype="int8")
