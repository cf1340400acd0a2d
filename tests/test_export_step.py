"""A single time step as a model and as a file: loops around it compute what `predict` does."""

import ctypes
import pathlib
import re
import shutil
import subprocess

import keras
import numpy as np
import pytest
from keras import layers, ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn.one_step.file import FORMATS
from tests import exporting, runtimes, table
from tests.backends import dealt, in_turns, one_in

BACKEND = keras.backend.backend()
PAGE = pathlib.Path(__file__).parents[1] / "docs" / "one_step.md"


def perturbed(model, rng):
    """Moves all weights of a model away from zeros and ones, trained initial states included."""
    for weight in model.weights:
        if weight.dtype == "float32":
            weight.assign(ops.convert_to_numpy(weight) + rng.normal(scale=0.3, size=weight.shape))
    return model


def assert_steps_equal_predict(model, sequence, run, states):
    expected = keras.tree.flatten(model.predict(sequence, batch_size=len(sequence), verbose=0))
    outputs = runtimes.read(run, sequence, states)
    names = ["output"] if len(expected) == 1 else [f"output_{k}" for k in range(len(expected))]
    for name, whole in zip(names, expected, strict=True):
        steps = outputs[name] if outputs[name].ndim == whole.ndim else outputs[name][:, -1]
        np.testing.assert_allclose(steps, whole, atol=1e-5, err_msg=name)


def assert_step_model_equals(model, sequence, **options):
    step = kar.step_model(model, len(sequence), **options)
    assert_steps_equal_predict(model, sequence, step.predict_on_batch, runtimes.zero_states(step))


# Models.


def made(make):
    made = make()
    return made if isinstance(made, layers.RNN) else kar.RNN(made, return_sequences=True)


STEPPED = {
    **{name: make for name, make in table.LAYERS.items() if isinstance(make(), layers.RNN)},
    **{f"{name}_cell": make for name, make in table.CELLS.items()},
    "keras_lstm": lambda: layers.LSTM(4, return_sequences=True),
    "keras_gru": lambda: layers.GRU(4, reset_after=False),
    "keras_simple_rnn": lambda: layers.SimpleRNN(4),
    "keras_stack": lambda: layers.RNN([layers.GRUCell(3), layers.LSTMCell(4)], return_sequences=True),
    "stack": lambda: kar.Mogrifier([3, 4], return_sequences=True),
    "decisions": lambda: kar.Skip(kar.GRUCell(4), return_sequences=True, return_state=True, return_decisions=True),
}


@pytest.mark.parametrize("name", dealt(STEPPED))
def test_every_recurrent_layer(name, rng):
    inputs = keras.Input((None, 3))
    model = perturbed(keras.Model(inputs, made(STEPPED[name])(inputs)), rng)
    assert_step_model_equals(model, rng.normal(size=(2, 5, 3)).astype("float32"))


def masked_stack():
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            layers.Embedding(6, 3, mask_zero=True),
            kar.Mogrifier(4, trainable_initial_state=True, return_sequences=True),
            kar.Skip(kar.LowRankGRUCell(3, rank=2), return_sequences=True),
            layers.TimeDistributed(layers.Dense(4)),
            kar.Zoneout(3, return_sequences=True, zero_output_for_mask=True),
            layers.LSTM(3),
        ]
    )


TOKENS = np.array([[0, 0, 1, 2, 0, 3], [4, 5, 0, 0, 1, 0]], "int32")


def branches():
    inputs = keras.Input((6, 4))
    inner = keras.Sequential(
        [keras.Input((None, 4)), layers.Dense(4, activation=kar.activations.belu), kar.GRU(4, return_sequences=True)]
    )
    first, second = inner(inputs), inner(inputs * 2)
    x = layers.Concatenate()([layers.LayerNormalization()(first + inputs), layers.BatchNormalization()(second)])
    x = kar.Bipolar("elu")(layers.Dropout(0.5)(layers.Conv1D(4, 1)(x)))
    output, h, c = layers.LSTM(4, return_state=True)(x)
    image = layers.Flatten()(layers.Conv1D(2, 3)(layers.Reshape((4, 1))(output)))
    return keras.Model(inputs, [layers.Dense(2)(layers.Concatenate()([image, h, c])), layers.Softmax()(x)])


def awd_lstm_with_softmaxes():
    embedding = kar.TiedEmbedding(6, 3, 0.1)
    tokens = keras.Input((None,), dtype="int32")
    x = layers.SpatialDropout1D(0.4)(embedding(tokens))
    raw = kar.WeightDropLSTM(4, return_sequences=True)(x)
    x = kar.ActivationRegularization()(layers.SpatialDropout1D(0.4)(raw), raw)
    return keras.Model(tokens, kar.MixtureOfSoftmaxes(2, embedding, dropout=0.3)(x))


def test_the_recipe_of_awd_lstm_and_a_mixture_of_softmaxes(rng):
    assert_step_model_equals(perturbed(awd_lstm_with_softmaxes(), rng), TOKENS)


def test_masks_and_trained_initial_states(rng):
    assert_step_model_equals(perturbed(masked_stack(), rng), TOKENS)


def test_a_graph_with_models_inside(rng):
    assert_step_model_equals(perturbed(branches(), rng), rng.normal(size=(2, 6, 4)).astype("float32"))


def test_feed_forward_layers(rng):
    parts = [kar.Highway(3), kar.AdaptiveDense(4), kar.Maxout(4, pieces=2)]
    model = keras.Sequential([keras.Input((None, 3)), *parts, kar.GRU(3)])
    assert_step_model_equals(perturbed(model, rng), rng.normal(size=(2, 5, 3)).astype("float32"))


def test_a_mask_as_an_input(rng):
    inputs, mask = keras.Input((None, 3), name="x"), keras.Input((None,), dtype="bool", name="mask")
    model = keras.Model([inputs, mask], kar.LSTM(4)(inputs, mask=mask))
    step = kar.step_model(model, 2)
    x, kept = rng.normal(size=(2, 5, 3)).astype("float32"), rng.random((2, 5)) > 0.5
    states = runtimes.zero_states(step)
    for t in range(5):
        outputs = step.predict_on_batch({"x": x[:, t], "mask": kept[:, t], **states})
        states = {name: outputs[f"next_{name}"] for name in states}
    np.testing.assert_allclose(outputs["output"], model.predict([x, kept], verbose=0), atol=1e-5)


def test_a_step_model_shares_its_weights_and_can_be_saved(tmp_path, rng):
    model = keras.Sequential([keras.Input((None, 3)), kar.LSTM(4, trainable_initial_state=True)])
    step = kar.step_model(model)
    perturbed(model, rng)
    step.save(tmp_path / "step.keras")
    loaded = keras.models.load_model(tmp_path / "step.keras")
    x = rng.normal(size=(1, 5, 3)).astype("float32")
    for each in (step, loaded):
        assert_steps_equal_predict(model, x, each.predict_on_batch, runtimes.zero_states(step))


class Doubled(layers.Layer):
    def call(self, inputs):
        return 2 * inputs


def test_a_layer_that_is_declared(rng):
    layer = Doubled()
    model = keras.Sequential([keras.Input((None, 3)), layer, kar.LSTM(4)])
    for declared in ([Doubled], [layer]):
        assert_step_model_equals(model, rng.normal(size=(2, 5, 3)).astype("float32"), time_distributed=declared)


class Tripled(layers.Layer):
    is_time_distributed = True

    def call(self, inputs):
        return 3 * inputs


def test_a_layer_that_says_so_itself(rng):
    model = keras.Sequential([keras.Input((None, 3)), Tripled(), kar.LSTM(4)])
    assert_step_model_equals(model, rng.normal(size=(2, 5, 3)).astype("float32"))


# Files.

# On TensorFlow, OpenVINO converts for as long as all others together; PyTorch tests it, and the benchmarks both.
RUN = one_in(2, [format for format in FORMATS[BACKEND] if format not in ("c", "c99", "openvino") or BACKEND == "torch"])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("format", RUN)
def test_a_file(format, tmp_path, rng):
    exporting.skip_without(format)
    model = perturbed(masked_stack(), rng)
    path = tmp_path / f"step{exporting.SUFFIXES[format]}"
    kar.export_step(model, path, format, batch_size=2, verbose=False)
    states = runtimes.zero_states(kar.step_model(model, 2))
    run = runtimes.load(path, format)
    assert_steps_equal_predict(model, TOKENS, run, states)
    # Another batch size; the message is that of the runtime.
    with pytest.raises(Exception, match=r"(?i)shape|dimensions|size|num_input_elements"):
        run({"inputs": TOKENS[:1, 0], **{name: state[:1] for name, state in states.items()}})


@pytest.mark.skipif(BACKEND != "torch", reason="sizes are tensors in a trace of PyTorch only")
@pytest.mark.filterwarnings("ignore")
def test_a_low_rank_cell_in_a_trace_of_torch(tmp_path, rng):
    exporting.skip_without("openvino")
    model = keras.Sequential([keras.Input((None, 3)), kar.LowRankLSTM(3, rank=2, return_sequences=True)])
    kar.export_step(model, tmp_path / "step.xml", "openvino", batch_size=2, verbose=False)
    states, run = runtimes.zero_states(kar.step_model(model, 2)), runtimes.load(tmp_path / "step.xml", "openvino")
    assert_steps_equal_predict(model, rng.normal(size=(2, 4, 3)).astype("float32"), run, states)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("format", RUN + (["executorch"] if BACKEND == "torch" else []))
def test_the_loops_of_the_guide(format, tmp_path, monkeypatch):
    exporting.skip_without(format)
    monkeypatch.chdir(tmp_path)
    (model,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    loops = re.findall(r"```py\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    # A file for ExecuTorch is made of PyTorch's.
    mark = {"torch": 'torch.export.load("step.pt2").module()', "executorch": "executorch"}.get(format)
    (loop,) = [loop for loop in loops if (mark or f'format="{format}"') in loop]
    names = {}
    exec(model + loop, names)
    expected = names["model"].predict(names["sequence"], verbose=0)[:, -1]
    np.testing.assert_allclose(np.asarray(names["outputs"]["output"]), expected, atol=1e-5)


# What the loop of the guide asks of an interpreter, as Python gives it.
GLUE = """
static void *(*input_given)(int), *(*output_given)(int);
static void (*invoke_given)(void);
void connect(void *(*input)(int), void *(*output)(int), void (*invoke)(void)) {
  input_given = input; output_given = output; invoke_given = invoke;
}
void *input_of(int number) { return input_given(number); }
void *output_of(int number) { return output_given(number); }
void invoke(void) { invoke_given(); }
"""


def in_c(folder):
    """Compiles `step.c` and the loop of the guide, and returns its two functions around LiteRT's interpreter."""
    from ai_edge_litert.interpreter import Interpreter

    (loop,) = [each for each in re.findall(r"```c\n(.*?)```", PAGE.read_text(), flags=re.DOTALL) if "invoke" in each]
    (folder / "loop.c").write_text(loop + GLUE)
    command = "cc -std=c99 -Wall -Wextra -Werror -shared -fPIC -o step.so step.c loop.c"
    subprocess.run(command.split(), cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "step.so"))
    size = ctypes.c_uint.in_dll(library, "step_model_bytes").value
    contents = bytes((ctypes.c_ubyte * size).in_dll(library, "step_model"))
    interpreter = Interpreter(model_content=contents)
    interpreter.allocate_tensors()
    inputs, outputs = interpreter.get_input_details(), interpreter.get_output_details()
    # Outputs lie where the inputs were, as they may in the arena of a microcontroller.
    memory = [ctypes.create_string_buffer(4096) for _ in range(max(len(inputs), len(outputs)))]

    def invoke():
        for buffer, each in zip(memory, inputs, strict=False):
            value = np.frombuffer(buffer, each["dtype"], np.prod(each["shape"])).reshape(each["shape"])
            interpreter.set_tensor(each["index"], value)
        interpreter.invoke()
        for buffer, each in zip(memory, outputs, strict=False):
            value = interpreter.get_tensor(each["index"]).tobytes()
            ctypes.memmove(buffer, value, len(value))

    find = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int)(lambda number: ctypes.addressof(memory[number]))
    run = ctypes.CFUNCTYPE(None)(invoke)
    library.connect(find, find, run)
    library.kept = (find, run)
    return library, contents


@pytest.mark.skipif(BACKEND != "tensorflow", reason="TensorFlow writes LiteRT files")
@pytest.mark.skipif(shutil.which("cc") is None, reason="no compiler for C")
@pytest.mark.filterwarnings("ignore")
def test_the_loop_of_the_guide_in_c(tmp_path, capfd):
    exporting.skip_without("litert")
    (model,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    names = {}
    exec(model, names)
    model, sequence = names["model"], names["sequence"]
    sizes = []
    for calibration, tolerance in ((None, 1e-5), (sequence, 0.05)):
        kar.export_step(model, tmp_path / "step.c", "c", calibration=calibration)
        assert "step.h" in capfd.readouterr().out
        (tmp_path / f"{len(sizes)}").mkdir()
        for suffix in ".c", ".h":
            (tmp_path / f"step{suffix}").rename(tmp_path / f"{len(sizes)}" / f"step{suffix}")
        library, contents = in_c(tmp_path / f"{len(sizes)}")
        expected = model.predict(sequence, verbose=0)[:, -1]
        output = np.zeros(expected.shape, "float32")
        for _ in range(2):
            library.start_sequence()
            for x in np.ascontiguousarray(sequence.swapaxes(0, 1)):
                library.read_step(x.ctypes.data_as(ctypes.c_void_p), output.ctypes.data_as(ctypes.c_void_p))
            np.testing.assert_allclose(output, expected, atol=tolerance)
        sizes.append(len(contents))
    # Not the same numbers: weights of 8 bits.
    assert sizes[1] < sizes[0]
    assert np.abs(output - expected).max() > 1e-5


@pytest.mark.skipif(BACKEND != "tensorflow", reason="TensorFlow writes LiteRT files")
@pytest.mark.filterwarnings("ignore")
def test_calibration_of_two_inputs_and_a_batch(tmp_path, rng):
    exporting.skip_without("litert")
    tokens, numbers = keras.Input((None,), dtype="int32", name="tokens"), keras.Input((3,), name="numbers")
    x = layers.LSTM(4)(layers.Embedding(6, 4)(tokens))
    model = keras.Model([tokens, numbers], layers.Dense(2)(layers.Concatenate()([x, numbers])))
    read, given = rng.integers(0, 6, (4, 7)), rng.normal(size=(4, 3)).astype("float32")
    kar.export_step(model, tmp_path / "step.tflite", "litert", 2, calibration=[read, given], verbose=False)
    step = runtimes.load(tmp_path / "step.tflite", "litert")
    states = runtimes.zero_states(kar.step_model(model, 2))
    for t in range(7):
        outputs = step({"tokens": read[:2, t].astype("int32"), "numbers": given[:2], **states})
        states = {name: outputs[f"next_{name}"] for name in states}
    np.testing.assert_allclose(outputs["output"], model.predict([read[:2], given[:2]], verbose=0), atol=0.1)


# Errors.


def sequential(*found):
    return keras.Sequential([keras.Input((5, 4)), *found])


class OwnModel(keras.Model):
    def call(self, inputs):
        return inputs


def with_initial_state():
    inputs = keras.Input((5, 4))
    _, h, c = layers.LSTM(3, return_state=True, name="encoder")(inputs)
    return keras.Model(inputs, kar.LSTM(3, name="decoder")(inputs, initial_state=[h, c]))


def with_broadcast():
    inputs, one = keras.Input((5, 4)), keras.Input((1, 4))
    return keras.Model([inputs, one], kar.LSTM(3)(layers.Add(name="joined")([inputs, one])))


def with_positions():
    inputs = keras.Input((5, 4))
    return keras.Model(inputs, kar.LSTM(3)(inputs + np.ones((5, 4), "float32")))


class OwnCell(layers.Layer):
    state_size, output_size = [4], 2

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], 4))

    def call(self, inputs, states):
        h = states[0] + inputs @ self.kernel
        return h[:, :2], [h]


# A model that cannot run one step at a time, and words that the message must hold.
REFUSED = {
    "unknown": (lambda: sequential(Doubled(name="mine"), kar.LSTM(3)), ["layer 'mine'", "Doubled", "time_distributed"]),
    "convolution": (lambda: sequential(layers.Conv1D(3, 2, name="conv"), kar.LSTM(3)), ["layer 'conv'", "Conv1D"]),
    "flatten": (lambda: sequential(layers.Reshape((4, 5), name="turn"), kar.LSTM(3)), ["layer 'turn'", "Reshape"]),
    "softmax over time": (lambda: sequential(layers.Softmax(1, name="soft"), kar.LSTM(3)), ["layer 'soft'", "Softmax"]),
    "slope for each step": (lambda: sequential(layers.PReLU(name="slopes"), kar.LSTM(3)), ["layer 'slopes'", "PReLU"]),
    "pooling": (
        lambda: sequential(kar.LSTM(3, return_sequences=True), layers.GlobalMaxPooling1D(name="pool")),
        ["layer 'pool'", "GlobalMaxPooling1D"],
    ),
    "repeated": (lambda: sequential(layers.GRU(3), layers.RepeatVector(2, name="copies"), layers.GRU(3)), ["'copies'"]),
    "both directions": (
        lambda: sequential(layers.Bidirectional(kar.LSTM(3), name="both")),
        ["layer 'both'", "backwards"],
    ),
    "backwards": (lambda: sequential(kar.LSTM(3, go_backwards=True, name="back")), ["layer 'back'", "backwards"]),
    "stateful": (
        lambda: keras.Sequential([keras.Input(batch_shape=(2, 5, 4)), kar.LSTM(3, stateful=True, name="kept")]),
        ["layer 'kept'", "stateful", "to False"],
    ),
    "initial state": (with_initial_state, ["layer 'decoder'", "`initial_state`"]),
    "two lengths": (with_broadcast, ["layer 'joined'", "axis of time"]),
    "positions": (with_positions, ["operation 'add", "(2, 5, 4) for one"]),
    "mask over an unknown cell": (
        lambda: sequential(layers.Masking(), kar.RNN(OwnCell(), name="own")),
        ["'own'", "OwnCell"],
    ),
    "nothing recurrent": (lambda: sequential(layers.Dense(3)), ["recurrent layer"]),
    "no shape": (lambda: keras.Sequential([kar.LSTM(3)]), ["input shape"]),
    "own call": (OwnModel, ["`keras.Sequential` or functional"]),
}


@in_turns
@pytest.mark.parametrize("name", REFUSED)
def test_models_that_are_refused(name):
    make, words = REFUSED[name]
    with pytest.raises(ValueError, match=r"`model`|Layer '") as error:
        kar.step_model(make(), 2)
    assert all(word in str(error.value) for word in words), error.value


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"format": "h5"}, ValueError, ["`format`", "format='h5'", *map(repr, FORMATS[BACKEND])]),
        ({"batch_size": 0}, ValueError, ["`batch_size`", "batch_size=0", "at least 1"]),
        ({"batch_size": None}, TypeError, ["`batch_size`", "batch_size=None", "integer"]),
        ({"time_distributed": ["dense"]}, TypeError, ["`time_distributed`", "'dense'"]),
        ({"calibration": np.ones((2, 5, 4))}, ValueError, ["`calibration`", "format='litert'", FORMATS[BACKEND][0]]),
    ],
)
def test_bad_arguments(arguments, error, words, tmp_path):
    with pytest.raises(error) as raised:
        kar.export_step(sequential(kar.LSTM(3)), tmp_path / "step", **{"format": FORMATS[BACKEND][0], **arguments})
    assert all(word in str(raised.value) for word in words), raised.value
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(BACKEND != "tensorflow", reason="TensorFlow writes LiteRT files")
@pytest.mark.parametrize(
    ("name", "shape", "words"),
    [
        ("step.c", (3, 5, 3), ["`calibration`", "(None, 5, 4)", "(3, 5, 3)"]),
        ("step.c", (3, 4), ["`calibration`", "(3, 4)"]),
        ("step.c", (0, 5, 4), ["`calibration`", "(0, 5, 4)"]),
        ("step.h", (3, 5, 4), ["`filepath`", "`.c`", "step.h"]),
        ("a step.c", (3, 5, 4), ["`filepath`", "a step.c"]),
    ],
)
def test_bad_arguments_for_c(name, shape, words, tmp_path):
    with pytest.raises(ValueError, match="Argument") as raised:
        kar.export_step(sequential(kar.LSTM(3)), tmp_path / name, "c", calibration=np.ones(shape), verbose=False)
    assert all(word in str(raised.value) for word in words), raised.value
    assert not list(tmp_path.iterdir())
