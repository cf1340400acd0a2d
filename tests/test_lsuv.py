"""Layer-sequential unit variance: the algorithm, the layers it knows, the callback, bad arguments."""

import importlib.util
import json
import os
import pathlib
import warnings

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import activations, maps
from keras_adaptive_rnn.callbacks import LSUV, lsuv
from keras_adaptive_rnn.callbacks.unit_variance.cell_scaling import is_known_cell
from tests.backends import RUNS_ALL, dealt, in_turns
from tests.table import CELLS, LAYERS

pytestmark = in_turns

FOLDER = pathlib.Path(os.environ.get("KAR_GOLDEN_DIR", pathlib.Path(__file__).parent / "golden"))
EXAMPLE = pathlib.Path(__file__).parents[1] / "examples" / "resnet_lsuv.py"
TOLERANCE = 0.01


def to_numpy(x):
    return ops.convert_to_numpy(x)


def variances(model, x, **arguments):
    """Returns the variance of each layer, measured and not changed."""
    return np.array([s.variance for s in lsuv(model, x, orthogonal=False, max_iterations=0, **arguments)])


def assert_unit(measured):
    assert len(measured)
    assert np.all(np.abs(measured - 1) <= TOLERANCE * 1.001), measured


def normal(*shape):
    return np.random.default_rng(0).normal(size=shape).astype("float32")


def dense_stack(depth=36, **arguments):
    arguments = {"activation": "relu", **arguments}
    return keras.Sequential([keras.Input((16,)), *(keras.layers.Dense(16, **arguments) for _ in range(depth))])


def elman_stack(depth=36):
    return kar.RNN(kar.StackedCells([kar.ElmanCell(16, activation="belu") for _ in range(depth)]))


# The algorithm.


@pytest.mark.parametrize("path", sorted(FOLDER.glob("lsuv_dense_*.npz")), ids=lambda path: path.stem)
@pytest.mark.parametrize("orthogonal", [False, True])
def test_golden_dense(path, orthogonal):
    """Its start is orthonormal, so that it does not matter whether it is made so."""
    data, config = np.load(path), json.loads(str(np.load(path)["meta"]))["config"]
    sizes, last = [data[f"w.kernel{k}"].shape[1] for k in range(3)], [activations.get("relu")] * 2 + [None]
    model = keras.Sequential(
        [keras.Input((5,)), *(keras.layers.Dense(n, f, use_bias=False) for n, f in zip(sizes, last, strict=True))]
    )
    model.set_weights([data[f"w.kernel{k}"] for k in range(3)])
    scaled = lsuv(
        model,
        data["x"],
        orthogonal=orthogonal,
        activated="post" in path.stem,
        tolerance=config["tol"],
        max_iterations=config["max_iterations"],
        ddof=config["ddof"],
    )
    np.testing.assert_allclose([s.variance for s in scaled], data["variance"], rtol=1e-5)
    assert [s.iterations for s in scaled] == data["iterations"].tolist()
    for k, weight in enumerate(model.get_weights()):
        np.testing.assert_allclose(weight, data[f"w_after.kernel{k}"], rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(to_numpy(model(data["x"])), data["y"], rtol=1e-5, atol=1e-5)


def belu(x):
    even = np.arange(x.shape[-1]) % 2 == 0

    def elu(y):
        return np.where(y > 0, y, np.expm1(np.minimum(y, 0)))

    return np.where(even, elu(x), -elu(-x))


def reference(x, states, kernels, recurrent, biases, skip_every=None, scale=0.99, tolerance=0.001, limit=40, ddof=1):
    """The recurrent algorithm, from the paper; returns the matrices and the variances."""
    h = skipped = x
    found = []
    for i, (U, W, b) in enumerate(zip(kernels, recurrent, biases, strict=True)):
        skips = bool(skip_every) and (i + 1) % skip_every == 0

        def step(U, W, b=b, below=h, state=states[i], skipped=skipped, skips=skips):
            return belu(below @ U + state @ W + b) + (scale * skipped if skips else 0)

        tries = 0
        while abs(np.var(step(U, W), ddof=ddof) - 1) > tolerance and tries < limit:
            deviation = np.std(step(U, W), ddof=ddof)
            U, W, tries = U / deviation, W / deviation, tries + 1
        h = step(U, W)
        skipped = h if skips else skipped
        found.append((U, W, np.var(h, ddof=ddof), tries))
    return found


def randomize(cell, rng):
    cell.set_weights([rng.normal(size=w.shape) * 0.2 for w in cell.weights])


def matches(scaled, expected):
    np.testing.assert_allclose([s.variance for s in scaled], [e[2] for e in expected], rtol=1e-4)
    assert [s.iterations for s in scaled] == [e[3] for e in expected]


def noise_of(seed, shapes):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in shapes]


ARGUMENTS = {"orthogonal": False, "tolerance": 0.001, "max_iterations": 40, "ddof": 1, "seed": 3}


def test_recurrent_stack_as_in_the_paper(rng):
    cells = [kar.ElmanCell(6, activation="belu") for _ in range(4)]
    layer = kar.RNN(kar.StackedCells(cells))
    x = normal(32, 1, 5)
    layer.build(x.shape)
    randomize(layer.cell, rng)
    weights = [[to_numpy(w) for w in cell.weights] for cell in cells]
    states = noise_of(3, [(32, 6)] * 4)[::-1]
    expected = reference(x[:, 0], states, *zip(*weights, strict=True))
    matches(lsuv(layer, x, **ARGUMENTS), expected)
    for cell, before, (U, W, *_) in zip(cells, weights, expected, strict=True):
        for ours, theirs in zip(cell.get_weights(), (U, W, before[2]), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("skip_every", [None, 4])
def test_deep_cell_as_in_the_paper(skip_every, rng):
    cell = kar.DeepRNNCell(8, depth=8, skip_every=skip_every, recurrent_dropout=0.3)
    layer, x = kar.RNN(cell), normal(32, 1, 8)
    layer.build(x.shape)
    randomize(cell, rng)
    first, W, upper, b = [
        to_numpy(w)
        for part in (cell.kernel_map, cell.recurrent_map, cell.inner_map, cell.bias_layer)
        for w in part.weights
    ]
    states = noise_of(3, [(32, 8)] * 8)[::-1]
    expected = reference(x[:, 0], states, [first, *np.split(upper, 7, 1)], np.split(W, 8, 1), b, skip_every)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "[0-9]* of 8 layers are not within")
        matches(lsuv(layer, x, **ARGUMENTS), expected)
    kernels, recurrent = [e[0] for e in expected], [e[1] for e in expected]
    for ours, theirs in (
        (cell.kernel_map, kernels[0]),
        (cell.inner_map, np.concatenate(kernels[1:], 1)),
        (cell.recurrent_map, np.concatenate(recurrent, 1)),
    ):
        np.testing.assert_allclose(to_numpy(ours.weights[0]), theirs, rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(to_numpy(cell.bias_layer.weights[0]), b)


# Deep stacks.


# Initializers that leave a deep stack far from unit variance.
PLAIN = {"kernel_initializer": "glorot_uniform", "recurrent_initializer": "orthogonal"}
STACKS = {
    "dense": (dense_stack, (64, 16)),
    "elman": (elman_stack, (64, 1, 16)),
    "deep": (lambda: kar.DeepRNN(16, depth=36, skip_every=None, **PLAIN), (64, 1, 16)),
    "layers": (
        lambda: keras.Sequential([kar.Elman(16, activation="belu", return_sequences=True) for _ in range(6)]),
        (16, 4, 16),
    ),
}


DEEPEST = {"deep_144": (lambda: kar.DeepRNN(16, depth=144, skip_every=None, **PLAIN), (64, 1, 16))}
# To compile so many layers takes half a minute.
RUN = [*STACKS, *(DEEPEST if RUNS_ALL else [])]


@pytest.mark.parametrize("name", RUN)
def test_every_layer_of_a_stack_has_unit_variance(name):
    make, shape = {**STACKS, **DEEPEST}[name]
    model, x = make(), normal(*shape)
    model(x)
    before = variances(model, x, seed=1)
    far = np.abs(before[5:] - 1) > 5 * TOLERANCE
    # A layer may pass through one on its way.
    assert far.mean() > 0.8
    assert_unit(np.array([s.variance for s in lsuv(model, x, seed=1)]))
    assert_unit(variances(model, x, seed=1))


@pytest.mark.parametrize("orthogonal", [False, True])
@pytest.mark.parametrize("name", STACKS)
def test_a_second_run_changes_nothing(name, orthogonal):
    make, shape = STACKS[name]
    model, x = make(), normal(*shape)
    lsuv(model, x, orthogonal=orthogonal, seed=1)
    first = model.get_weights()
    again = lsuv(model, x, orthogonal=orthogonal, seed=1)
    assert orthogonal or all(s.iterations == 0 for s in again)
    for a, b in zip(first, model.get_weights(), strict=True):
        np.testing.assert_allclose(a, b, rtol=2 * TOLERANCE, atol=1e-5)


def test_a_seed_repeats():
    x, found = normal(8, 2, 16), []
    for seed in (1, 1, 2):
        keras.utils.set_random_seed(0)
        layer = elman_stack(3)
        lsuv(layer, x, seed=seed)
        found.append(layer.get_weights()[0])
    np.testing.assert_array_equal(found[0], found[1])
    assert np.abs(found[0] - found[2]).max() > 0


# Which layers.


FEED_FORWARD = {
    "dense": (lambda: keras.layers.Dense(6, "tanh"), (32, 5)),
    "dense_prelu": (lambda: keras.layers.Dense(6, keras.layers.PReLU()), (32, 5)),
    "einsum": (lambda: keras.layers.EinsumDense("ab,bcd->acd", (2, 3)), (32, 5)),
    "conv1d": (lambda: keras.layers.Conv1D(6, 3, groups=2), (8, 7, 4)),
    "conv2d": (lambda: keras.layers.Conv2D(6, 3), (8, 7, 7, 4)),
    "conv3d": (lambda: keras.layers.Conv3D(3, 2), (8, 4, 4, 4, 2)),
    "transposed": (lambda: keras.layers.Conv2DTranspose(3, 3), (8, 5, 5, 4)),
    "depthwise": (lambda: keras.layers.DepthwiseConv2D(3, depth_multiplier=2), (8, 7, 7, 4)),
    "separable": (lambda: keras.layers.SeparableConv2D(6, 3, depth_multiplier=2, activation="relu"), (8, 7, 7, 4)),
    "time_distributed": (lambda: keras.layers.TimeDistributed(keras.layers.Dense(6)), (32, 1, 5)),
    "map": (lambda: maps.Full(4), (32, 5)),
    "normalised_map": (lambda: maps.Full(4, weight_normalization=True), (32, 5)),
    "low_rank_map": (lambda: maps.LowRank(2, diagonal=True, units=4), (32, 4)),
    "highway": (lambda: kar.Highway(rank=2, diagonal=True), (32, 4)),
    "maxout": (lambda: kar.Maxout(3, pieces=4), (32, 4)),
    "adaptive": (lambda: kar.AdaptiveDense(3, "sva", rank=2), (32, 4)),
}


@pytest.mark.parametrize("name", FEED_FORWARD)
def test_feed_forward_layers(name):
    make, shape = FEED_FORWARD[name]
    layer, x = make(), normal(*shape)
    scaled = lsuv(layer, x)
    assert_unit(np.array([s.variance for s in scaled]))
    assert_unit(variances(layer, x))
    if hasattr(layer, "activation") and name not in ("highway", "adaptive"):
        layer.activation = None
        assert abs(to_numpy(layer(x)).var() - 1) < 2 * TOLERANCE


def test_kernels_are_orthonormal():
    def gram(matrices):
        return np.swapaxes(matrices, -1, -2) @ matrices

    model = keras.Sequential([keras.Input((9, 9, 4)), keras.layers.SeparableConv2D(5, 3, depth_multiplier=2)])
    lsuv(model, normal(8, 9, 9, 4))
    depthwise, pointwise, _ = model.get_weights()
    for matrices in (np.moveaxis(depthwise, 2, 0).reshape(4, 9, 2), pointwise.reshape(8, 5)):
        found = gram(matrices)
        scale = found.reshape(-1)[0]
        np.testing.assert_allclose(found / scale, np.broadcast_to(np.eye(found.shape[-1]), found.shape), atol=1e-5)
    np.testing.assert_allclose(gram(depthwise[:, :, 0].reshape(9, 2))[0, 0], gram(pointwise[0, 0])[0, 0], rtol=1e-4)


def test_the_gates_are_orthonormal_one_by_one():
    layer = kar.LSTM(4)
    lsuv(layer, normal(32, 2, 6))
    for gate in np.split(layer.get_weights()[1], 4, axis=1):
        np.testing.assert_allclose(gate.T @ gate / (gate.T @ gate)[0, 0], np.eye(4), atol=1e-5)


def test_separable_kernels_share_the_factor():
    layer, x = keras.layers.SeparableConv1D(6, 3), normal(8, 7, 4)
    layer.build(x.shape)
    before = layer.get_weights()
    lsuv(layer, x, orthogonal=False)
    ratios = [(a / b).mean() for a, b in zip(layer.get_weights()[:2], before[:2], strict=True)]
    np.testing.assert_allclose(ratios[0], ratios[1], rtol=1e-5)
    assert abs(ratios[0] - 1) > 0.05


# How many layers of each are scaled; the LSTM of a policy or in a grid is one.
SCALED = {
    "elman": 1, "gru": 1, "lstm": 1, "low_rank_gru": 1, "low_rank_lstm": 1, "weight_drop_lstm": 1,
    "recurrent_highway": 0, "deep_rnn_dropped": 4, "grid_lstm": 4, "adaptive_lstm": 1, "adaptive_rnn": 1,
    "stacked_adaptive_lstm": 2, "mogrifier_low_rank": 1, "multiplicative_lstm": 1, "zoneout": 1, "stack_skip": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", dealt(SCALED))
@pytest.mark.filterwarnings("ignore:[0-9]* of [0-9]* layers are not within")
def test_cells(name):
    layer, x = kar.RNN(CELLS[name](), return_sequences=True, return_state=True), normal(16, 3, 4)
    expected = SCALED[name]
    layer.build(x.shape)
    before = [to_numpy(w) for w in layer.weights]
    if expected == 0:
        with pytest.raises(ValueError, match="must have layers that can be scaled"):
            lsuv(layer, x)
    else:
        assert len(lsuv(layer, x, seed=0)) == expected
    changed = [not np.array_equal(a, to_numpy(b)) for a, b in zip(before, layer.weights, strict=True)]
    assert any(changed) == (expected > 0)
    outputs = layer(x)  # As it would without: nothing is left behind.
    assert tuple(outputs[0].shape) == (16, 3, layer.cell.output_size)
    assert "call" not in vars(layer)


class CoupledCell(kar.cells.GatedCell):
    gates, is_affine = ("f", "h"), True

    def update(self, a, states, run):
        f, candidate = self.split(a)
        f = ops.sigmoid(f)
        h = f * states[0] + (1 - f) * self.activation(candidate)
        return h, [h]


@pytest.mark.parametrize("is_affine", [True, False])
def test_a_cell_of_ones_own_says_whether_it_is_affine(is_affine, monkeypatch):
    monkeypatch.setattr(CoupledCell, "is_affine", is_affine)
    model = keras.Sequential([kar.RNN(CoupledCell(4)), keras.layers.Dense(3)])
    scaled = lsuv(model, normal(32, 3, 4), seed=0)
    assert len(scaled) == 1 + is_affine
    assert_unit(np.array([s.variance for s in scaled]))


def test_cells_that_normalise_stay():
    with pytest.raises(ValueError, match="must have layers that can be scaled"):
        lsuv(kar.RNN(kar.LSTMCell(4, layer_normalization=True)), normal(16, 3, 4))


def test_normalised_and_low_rank_maps_in_a_cell():
    cells = [
        kar.ElmanCell(4, "belu", kernel_map=maps.Full(weight_normalization=True), recurrent_map=low_rank)
        for low_rank in (maps.LowRank(2, diagonal=True), maps.LowRank(2, weight_normalization=True))
    ]
    layer, x = kar.RNN(kar.StackedCells([*cells, kar.LowRankGRUCell(4, rank=2, tied=True)])), normal(64, 2, 4)
    assert_unit(np.array([s.variance for s in lsuv(layer, x, seed=0)]))
    assert_unit(variances(layer, x, seed=0))


NOT_SCALED = {
    *("recurrent_highway", "variable_computation", "bipolar", "bipolar_prelu", "crelu", "oplu"),
    *("min_gru", "min_lstm", "rglru", "slstm", "mlstm", "gated_delta_net", "urnn"),
    *("multiplicative_integration_lstm", "multiplicative_integration_rnn", "nas", "isan"),
}


@pytest.mark.parametrize("name", dealt(LAYERS))
@pytest.mark.filterwarnings("ignore:[0-9]* of [0-9]* layers are not within")
def test_layers_go_through(name):
    layer, x = LAYERS[name](), normal(16, 5, 4)
    if name in NOT_SCALED:
        with pytest.raises(ValueError, match="must have layers that can be scaled"):
            lsuv(layer, x)
    else:
        assert all(np.isfinite(s.variance) for s in lsuv(layer, x, seed=0))


def test_keras_cells_and_layers():
    cells = [keras.layers.SimpleRNNCell(8, "relu"), keras.layers.LSTMCell(8), kar.ElmanCell(8)]
    model = keras.Sequential(
        [
            keras.layers.RNN(cells, return_sequences=True),
            keras.layers.Bidirectional(keras.layers.GRU(4, return_sequences=True)),
            keras.layers.SimpleRNN(4, activation="elu", dropout=0.5),
            keras.layers.Dense(2),
        ]
    )
    scaled = lsuv(model, normal(32, 3, 5), seed=0)
    assert len(scaled) == 3 + 2 + 1 + 1
    assert_unit(np.array([s.variance for s in scaled]))


def test_masked_steps_do_not_count():
    x = np.random.default_rng(0).integers(1, 9, size=(16, 6))
    x[:, 3:] = 0
    found = []
    for data in (x, x[:, :3]):
        keras.utils.set_random_seed(0)
        model = keras.Sequential([keras.layers.Embedding(9, 8, mask_zero=True), kar.Elman(64, activation="belu")])
        lsuv(model, data, seed=0)
        found.append(model.get_weights()[1])
    np.testing.assert_allclose(found[0], found[1], rtol=0.05, atol=1e-3)


def test_models_of_several_inputs_and_shared_layers():
    a, b = keras.Input((4,)), keras.Input((6,))
    shared = keras.layers.Dense(5, name="shared")
    joined = keras.layers.Concatenate()([shared(keras.layers.Dense(5, "relu")(a)), shared(keras.layers.Dense(5)(b))])
    model = keras.Model([a, b], keras.layers.Dense(2)(joined))
    assert len(lsuv(model, [normal(32, 4), normal(32, 6)])) == 4
    assert len(lsuv(model, (normal(32, 4), normal(32, 6)))) == 4


def test_frozen_layers_stay():
    model = dense_stack(3)
    model.layers[1].trainable = False
    before = model.layers[1].get_weights()[0]
    assert len(lsuv(model, normal(32, 16))) == 2
    np.testing.assert_array_equal(model.layers[1].get_weights()[0], before)


def test_dropout_is_off():
    model = keras.Sequential([keras.layers.Dropout(0.9), keras.layers.Dense(8)])
    x = normal(32, 8)
    lsuv(model, x)
    assert abs(to_numpy(model(x)).var() - 1) <= TOLERANCE


def test_mixed_precision():
    model, x = dense_stack(4, dtype="mixed_bfloat16"), normal(32, 16)
    assert_unit(np.array([s.variance for s in lsuv(model, x)]))
    assert model.weights[0].dtype == "float32"
    fine = to_numpy(model.weights[0]).view("uint32") & 0xFFFF
    assert fine.any()  # Not rounded to half precision.


# The horizon.


@pytest.mark.parametrize(
    "make", [lambda: elman_stack(2), lambda: kar.DeepRNN(16, depth=2), lambda: keras.layers.LSTM(8)]
)
@pytest.mark.parametrize("horizon", [0.0, 0.2, 0.5, 1.0])
def test_horizon(make, horizon):
    layers = make(), make()
    x = normal(64, 1, 16)
    for layer in layers:
        layer(x)
    layers[1].set_weights(layers[0].get_weights())
    lsuv(layers[0], x, seed=0)
    lsuv(layers[1], x, seed=0, horizon=horizon)
    for a, b in zip(layers[0].weights, layers[1].weights, strict=True):
        if "inner" in a.path or "bias" in a.path or "_1/" in a.path:
            continue  # What lies above sees other inputs.
        gamma = horizon if "recurrent" in a.path.split("/", 2)[-1] else 1 - horizon
        first = np.s_[:, :16]
        np.testing.assert_allclose(to_numpy(b)[first], to_numpy(a)[first] * (2 * gamma) ** 0.5, rtol=1e-4, atol=1e-6)


def test_horizon_keeps_the_variance():
    layer, x = elman_stack(36), normal(64, 1, 16)
    lsuv(layer, x, seed=0, horizon=0.8)
    np.testing.assert_allclose(variances(layer, x, seed=0), 1, atol=0.3)


# The callback.


def test_fit():
    x, y = normal(64, 16), normal(64, 16)
    model = dense_stack(12)
    model.compile(keras.optimizers.Adam(0.0), "mse")
    model.fit(x, y, verbose=0, batch_size=32)
    optimizer = [to_numpy(v) for v in model.optimizer.variables]
    biases = [to_numpy(w) for w in model.weights if w.name == "bias"]
    callback = LSUV(x)

    class Watch(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            for a, b in zip(optimizer, self.model.optimizer.variables, strict=True):
                np.testing.assert_array_equal(a, to_numpy(b))
            for a, b in zip(biases, [w for w in self.model.weights if w.name == "bias"], strict=True):
                np.testing.assert_array_equal(a, to_numpy(b))

    model.fit(x, y, verbose=0, batch_size=32, callbacks=[callback, Watch()])
    assert_unit(variances(model, x))  # The rate is zero.
    assert len(callback.scaled) == 12

    for weight in model.weights:
        weight.assign(weight * 2)
    model.fit(x, y, verbose=0, callbacks=[callback])
    assert variances(model, x)[0] > 3  # Once is enough.


def test_fit_trains_from_there():
    x, y = normal(32, 3, 8), normal(32, 2)
    model = keras.Sequential([kar.DeepRNN(8, depth=6, skip_every=None), keras.layers.Dense(2)])
    model.compile(keras.optimizers.Adam(0.01), "mse")
    history = model.fit(x, y, epochs=3, verbose=0, callbacks=[LSUV(x, seed=0)])
    assert history.history["loss"][-1] < history.history["loss"][0]


def test_it_says_what_it_does(capsys):
    lsuv(dense_stack(3), normal(32, 16), verbose=True)
    assert "LSUV: 3 layers" in capsys.readouterr().out


def test_it_warns_of_layers_that_miss():
    with pytest.warns(UserWarning, match=r"1 of 1 layers are not within 0.01 .* 'dense"):
        lsuv(keras.layers.Dense(4, "tanh", name="dense"), normal(32, 4), activated=True, max_iterations=3)


# Errors.


def test_a_dead_layer_is_named():
    model = keras.Sequential([keras.layers.Dense(4), keras.layers.Dense(4, "relu", name="dead"), keras.layers.Dense(1)])
    model.build((None, 4))
    model.get_layer("dead").bias.assign([-1e4] * 4)
    before = vars(model.layers[0]).get("call")
    with pytest.raises(ValueError, match=r"dead' cannot be scaled .* is constant"):
        lsuv(model, normal(32, 4), activated=True)
    assert vars(model.layers[0]).get("call") is before
    with pytest.raises(ValueError, match=r"elman.* cannot be scaled .* is not finite"):
        lsuv(kar.Elman(4), np.full((4, 2, 3), np.inf))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"orthogonal": 1}, TypeError, "`orthogonal`"),
        ({"activated": None}, TypeError, "`activated`"),
        ({"tolerance": 0}, ValueError, "`tolerance`"),
        ({"max_iterations": -1}, ValueError, "`max_iterations`"),
        ({"horizon": 1.5}, ValueError, "`horizon`"),
        ({"horizon": -0.1}, ValueError, "`horizon`"),
        ({"horizon": "long"}, TypeError, "`horizon`"),
        ({"ddof": 0.5}, TypeError, "`ddof`"),
        ({"seed": -1}, ValueError, "`seed`"),
        ({"verbose": 1}, TypeError, "`verbose`"),
        ({"data": "text"}, ValueError, "`data`"),
        ({"data": []}, ValueError, "`data`"),
        ({"data": np.zeros((0, 4))}, ValueError, "`data`"),
        ({"data": iter([1])}, ValueError, "`data`"),
        ({"max_tries": 3}, TypeError, "max_tries"),
    ],
)
def test_bad_arguments(arguments, error, message):
    arguments = {"data": np.ones((2, 4)), **arguments}
    with pytest.raises(error, match=message):
        LSUV(**arguments)
    with pytest.raises(error, match=message):
        lsuv(keras.layers.Dense(3), **arguments)


def test_bad_models():
    with pytest.raises(TypeError, match="positional argument"):
        lsuv(keras.layers.Dense(3), np.ones((2, 4)), True)
    with pytest.raises(TypeError, match="positional argument"):
        LSUV(np.ones((2, 4)), True)
    with pytest.raises(TypeError, match="`model`"):
        lsuv("model", np.ones((2, 4)))
    with pytest.raises(ValueError, match="must have layers that can be scaled"):
        lsuv(keras.layers.Dropout(0.5), np.ones((2, 4)))


# ResNet-110.


@pytest.fixture(scope="module")
def example():
    pytest.importorskip("matplotlib")
    pytest.importorskip("rich")
    if not EXAMPLE.exists():
        pytest.skip("the examples are not part of the source distribution")
    spec = importlib.util.spec_from_file_location("resnet_lsuv", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(not RUNS_ALL, reason="LSUV runs its layers one by one: half a minute")
def test_resnet_110(example):
    model, x = example.make_model((8, 8, 3), 10, example.parse(["--width", "8"])), normal(8, 8, 8, 3)
    callback = LSUV(x, activated=True)
    # The layers are two for each of 54 blocks, the first, the last, and two shortcuts.
    assert np.abs(variances(model, x, activated=True)[-20:] - 1).max() > 1
    history = model.fit(x, np.arange(8), verbose=0, callbacks=[callback])
    assert len(callback.scaled) == 112
    assert_unit(np.array([s.variance for s in callback.scaled]))
    assert np.isfinite(history.history["loss"][0])


def test_resnet_example(example, tmp_path, capsys):
    images = tmp_path / "images.npz"
    np.savez(images, x_train=normal(8, 8, 8, 3), y_train=np.arange(8))
    small = ["--width", "8", "--depth", "8", "--steps", "2", "--batch", "4"]
    example.main([*small, "--data", str(images), "--output", str(tmp_path / "results")])
    assert {path.name for path in (tmp_path / "results").iterdir()} == {"results.json", "variance.png"}
    assert "stage3" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="cannot read"):
        example.main([*small, "--data", str(tmp_path / "none.npz")])
    with pytest.raises(SystemExit):
        example.parse(["--depth", "111"])


def test_a_cell_that_overrides_what_it_multiplies_is_not_known_to_be_affine():
    class Doubled(kar.GRUCell):
        def project(self, inputs, run):
            return super().project(2 * inputs, run)

    class DoubledAndSaidSo(Doubled):
        is_affine = True

    cells = [make(4) for make in (kar.GRUCell, Doubled, DoubledAndSaidSo)]
    for cell in cells:
        cell.build((None, 3))
    assert [is_known_cell(cell) for cell in cells] == [True, False, True]
