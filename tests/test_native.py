"""PyTorch's own recurrent operations in place of the loop: where they run, and that they change no number."""

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import engine
from keras_adaptive_rnn.engine import tuning
from tests import exporting
from tests.backends import nightly

pytestmark = pytest.mark.skipif(keras.backend.backend() != "torch", reason="other backends have no such operation")

LAYERS = {
    "lstm": kar.LSTM,
    "gru": kar.GRU,
    "elman": kar.Elman,
    "relu": lambda *args, **kwargs: kar.Elman(*args, activation="relu", **kwargs),
    "weight drop": kar.WeightDropLSTM,
}
MASKS = {
    "right-padded": [[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0]],
    "left-padded": [[1, 1, 1, 1, 1], [0, 0, 1, 1, 1], [0, 0, 0, 0, 1]],
    "both": [[0, 1, 1, 1, 0], [0, 0, 1, 1, 1], [1, 1, 1, 1, 0]],
}
HOLES = {"a hole": [[1, 1, 1, 1, 1], [1, 0, 1, 1, 1], [1, 1, 1, 1, 1]], "an empty row": [[1] * 5, [0] * 5, [1] * 5]}


@pytest.fixture
def native(monkeypatch):
    """Counts the runs of the operation, and turns it off with `native.off = True`."""

    class Native:
        off, runs, original = False, 0, staticmethod(engine.native_scan)

        def scan(self, *args):
            results = None if self.off else self.original(*args)
            self.runs += results is not None
            return results

    counting = Native()
    monkeypatch.setattr(engine, "native_scan", counting.scan)
    return counting


def results_of(layer, x, **call):
    """Returns the outputs of a layer, the gradients of its weights and inputs, and second derivatives."""
    import torch

    x = torch.tensor(x, requires_grad=True)
    outputs = keras.tree.flatten(layer(x, **call))
    variables = [x, *(variable.value for variable in layer.trainable_weights)]
    first = torch.autograd.grad(sum((each**2).sum() for each in outputs), variables, create_graph=True)
    second = torch.autograd.grad(sum((each**2).sum() for each in first), variables)
    return [each.detach().numpy() for each in (*outputs, *first, *second)]


def compare(native, make, x, runs, **call):
    """Compares a layer with itself without the operation, which must have run so many times."""
    layer = make()
    layer.build(x.shape)
    rng = np.random.default_rng(0)
    for weight in layer.trainable_weights:
        weight.assign(0.4 * rng.normal(size=weight.shape))
    states = [[np.array(each) for each in layer.variables] for _ in (0, 1)]
    found = []
    for native.off in (False, True):
        for variable, value in zip(layer.variables, states[native.off], strict=True):
            variable.assign(value)
        found.append(results_of(layer, x, **call))
    assert native.runs == runs
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=2e-6 * max(1, np.abs(theirs).max()))


@pytest.fixture
def x(rng):
    return rng.normal(size=(3, 5, 4)).astype("float32")


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"return_sequences": True, "return_state": True},
        {"return_sequences": True, "go_backwards": True, "use_bias": False},
    ],
    ids=str,
)
def test_the_numbers_and_derivatives_are_those_of_the_loop(kind, arguments, native, x):
    compare(native, lambda: LAYERS[kind](6, **arguments), x, 1)


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize("padding", MASKS)
@pytest.mark.parametrize("zeros", [False, True])
def test_padded_sequences_are_packed(kind, padding, zeros, native, x):
    mask = np.array(MASKS[padding], bool)
    arguments = {"return_sequences": True, "return_state": True, "zero_output_for_mask": zeros}
    compare(native, lambda: LAYERS[kind](6, **arguments), x, 1, mask=mask)
    compare(native, lambda: LAYERS[kind](6, go_backwards=True), x, 2, mask=mask)


def test_noise_is_drawn_as_for_the_loop(native, x):
    compare(native, lambda: kar.WeightDropLSTM(6, dropout=0.3, seed=1, return_sequences=True), x, 1, training=True)
    compare(native, lambda: kar.GRU([6, 5], dropout=0.3, seed=1), x, 3, training=True)


@pytest.mark.parametrize("wrapper", [keras.layers.Bidirectional, kar.layers.Bidirectional])
def test_both_directions_and_stacks(wrapper, native, x):
    mask = np.array(MASKS["right-padded"], bool)
    compare(native, lambda: wrapper(kar.LSTM(6, return_sequences=True)), x, 2, mask=mask)
    compare(native, lambda: kar.LSTM([6, 5, 6], return_state=True), x, 5, mask=mask)


BEYOND = {
    "activation": lambda: kar.GRU(6, activation="relu"),
    "gates": lambda: kar.LSTM(6, recurrent_activation="hard_sigmoid"),
    "reset": lambda: kar.GRU(6, reset_after=False),
    "peepholes": lambda: kar.LSTM(6, peepholes=True),
    "projection": lambda: kar.LSTM(6, projection_units=3),
    "clip": lambda: kar.LSTM(6, cell_clip=1.0),
    "normalization": lambda: kar.LSTM(6, layer_normalization=True),
    "a map": lambda: kar.LSTM(6, recurrent_map=kar.maps.LowRank(2)),
    "recompute": lambda: kar.LSTM(6, recompute=True),
    "float64": lambda: kar.LSTM(6, dtype="float64"),
    "bfloat16": lambda: kar.LSTM(6, dtype="bfloat16"),
    "a subclass": lambda: kar.layers.RNN(Doubled(6)),
    "a stack": lambda: kar.layers.RNN(kar.StackedCells([kar.LSTMCell(6), kar.ElmanCell(6, activation="elu")])),
}


class Doubled(kar.LSTMCell):
    def update(self, a, states, run):
        return super().update(2 * a, states, run)


@pytest.mark.parametrize("what", BEYOND)
def test_other_equations_run_in_the_loop(what, native, x):
    BEYOND[what]()(x)
    assert not native.runs


def test_no_cell_of_a_stack_runs_in_vain(native, x, monkeypatch):
    monkeypatch.setitem(tuning.NATIVE_UNITS, "lstm", (6, 6))
    kar.LSTM([6, 7])(x)
    assert not native.runs
    kar.LSTM([6, 6])(x)
    assert native.runs == 2


@pytest.mark.parametrize("what", HOLES)
def test_other_masks_run_in_the_loop(what, native, x):
    kar.LSTM(6)(x, mask=np.array(HOLES[what], bool))
    assert not native.runs


def test_recurrent_dropout_and_resets_run_in_the_loop(native, x):
    layer = kar.LSTM(6, recurrent_dropout=0.5)
    layer(x)
    assert native.runs == 1
    layer(x, training=True)
    layer(x, resets=np.zeros((3, 5), bool))
    assert native.runs == 1


def test_other_derivatives_run_in_the_loop(native, x):
    import torch

    layer = kar.LSTM(6)
    layer.build(x.shape)
    x = torch.tensor(x)
    _, slope = torch.func.jvp(layer, (x,), (torch.ones_like(x),))
    each = torch.func.vmap(torch.func.grad(lambda row: layer(row[None]).sum()))(x)
    assert not native.runs
    whole = torch.func.grad(lambda x: layer(x).sum())(x)
    np.testing.assert_allclose(each.detach(), whole.detach(), atol=1e-6)
    np.testing.assert_allclose(slope.sum().item(), whole.sum().item(), rtol=1e-4)


@nightly
def test_a_model_trains_to_the_same_weights(native, rng):
    x, y = rng.normal(size=(32, 9, 4)).astype("float32"), rng.normal(size=(32, 1)).astype("float32")
    found = []
    for native.off in (False, True):
        keras.utils.set_random_seed(0)
        layers = [kar.LSTM(8, return_sequences=True), kar.GRU(8), keras.layers.Dense(1)]
        model = keras.Sequential([keras.Input((9, 4)), keras.layers.Masking(), *layers])
        model.compile("adam", "mse")
        model.fit(x, y, epochs=3, batch_size=8, verbose=0, shuffle=False)
        found.append([*model.get_weights(), model.predict(x, verbose=0)])
    assert native.runs
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@nightly
@pytest.mark.filterwarnings("ignore")  # Of the exporters.
@pytest.mark.parametrize("kind", ["lstm", "gru", "elman"])
def test_a_file_in_openvino_holds_the_loop(kind, rng, tmp_path):
    """Its converter reads no GRU whose gates are in another order, and traces with and without gradients."""
    exporting.skip_without("openvino")
    model = keras.Sequential([keras.Input((7, 3)), LAYERS[kind](4)])
    x = rng.normal(size=(2, 7, 3)).astype("float32")
    expected, path = model.predict(x, verbose=0), tmp_path / "model.xml"
    exporting.export(model, path, "openvino", (None, 7, 3))
    np.testing.assert_allclose(exporting.run(path, "openvino", x), expected, rtol=1e-5, atol=1e-5)
