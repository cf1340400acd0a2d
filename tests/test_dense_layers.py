"""The feed-forward layers and the initializers: equations, sizes, files, bad arguments."""

import json

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import initializers
from keras_adaptive_rnn._keras import layer_test_case
from tests.backends import in_turns
from tests.table import LAYERS

pytestmark = in_turns


def run(layer, x, **arguments):
    return ops.convert_to_numpy(layer(np.asarray(x, "float32"), **arguments))


def close(ours, theirs, tolerance=1e-5):
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance)


def randomized(layer, input_shape, rng):
    """Returns the layer with random weights, biases too."""
    layer.build(input_shape)
    layer.set_weights([rng.normal(size=w.shape) for w in layer.weights])
    return layer


FEED_FORWARD = [name for name, make in LAYERS.items() if not isinstance(make(), keras.layers.RNN)]


# All of them.


# "bipolar" counts along time.
@pytest.mark.parametrize("name", [name for name in FEED_FORWARD if name != "bipolar"])
def test_positions_do_not_mix_and_masks_pass_through(name, rng):
    make, x = LAYERS[name], rng.normal(size=(2, 6, 4)).astype("float32")
    layer = randomized(make(), x.shape, rng)
    close(run(layer, x)[1, 2], run(layer, x[1:, 2:3])[0, 0])
    mask = np.array([[True] * 4 + [False] * 2, [True] * 6])
    masked = keras.layers.Masking()(x * mask[..., None])
    assert (ops.convert_to_numpy(layer(masked)._keras_mask) == mask).all()


@pytest.mark.parametrize("name", FEED_FORWARD)
def test_unknown_batch_and_time(name):
    layer = LAYERS[name]()
    inputs = keras.Input((5 if getattr(layer, "axis", -1) == 1 else None, 4))
    outputs = layer(inputs)
    predicted = keras.Model(inputs, outputs).predict(np.ones((3, 5, 4)), verbose=0)
    assert predicted.shape == (3, 5, outputs.shape[-1])
    assert tuple(outputs.shape) == tuple(layer.compute_output_shape(inputs.shape))


# The slopes of this PReLU are shared along the time of sequences.
@pytest.mark.parametrize("name", [name for name in FEED_FORWARD if name != "bipolar_prelu"])
@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 5, 4)])
def test_any_leading_axes(name, shape, rng):
    layer = LAYERS[name]()
    x = rng.normal(size=shape).astype("float32")
    assert run(layer, x).shape == tuple(layer.compute_output_shape(shape))


LOGARITHMS = {"mixture_of_softmaxes"}  # Log-probabilities are in single precision under any policy.


@pytest.mark.parametrize("name", FEED_FORWARD)
def test_mixed_precision(name, rng):
    make, x = LAYERS[name], rng.normal(size=(2, 5, 4)).astype("float32")
    single = randomized(make(), x.shape, rng)
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        half = make()
    finally:
        keras.config.set_dtype_policy("float32")
    half.build(x.shape)
    half.set_weights([0.3 * w for w in single.get_weights()])
    single.set_weights([0.3 * w for w in single.get_weights()])
    y = half(x)
    assert keras.backend.standardize_dtype(y.dtype) == ("float32" if name in LOGARITHMS else "bfloat16")
    assert all(w.dtype == "float32" for w in half.weights)
    close(ops.convert_to_numpy(ops.cast(y, "float32")), run(single, x), 0.1)


# Bipolar, CReLU, OPLU.


def test_crelu_along_time_doubles_the_mask(rng):
    x = rng.normal(size=(2, 3, 4)).astype("float32")
    x[0, 2] = 0
    y = kar.CReLU(axis=1)(keras.layers.Masking()(x))
    assert tuple(y.shape) == (2, 6, 4)
    assert ops.convert_to_numpy(y._keras_mask).tolist() == [[True, True, False] * 2, [True] * 6]


def test_bipolar_trains_the_slopes_of_its_activation(rng):
    x = rng.normal(size=(3, 4))
    layer = kar.Bipolar(keras.layers.PReLU())
    layer.build((3, 4))
    layer.set_weights([np.full(4, 0.25)])
    signs = np.array([1, -1, 1, -1])
    close(run(layer, x), signs * np.where(signs * x > 0, signs * x, 0.25 * signs * x))
    assert len(layer.trainable_weights) == 1


# Maxout.


def test_maxout_is_the_largest_of_its_maps(rng):
    layer = randomized(kar.Maxout(3, pieces=5), (None, 4), rng)
    kernel, bias = layer.get_weights()
    x = rng.normal(size=(2, 6, 4))
    pieces = [x @ w + b for w, b in zip(np.split(kernel, 5, axis=1), np.split(bias, 5), strict=True)]
    close(run(layer, x), np.max(pieces, axis=0))


def test_the_pieces_of_a_maxout_start_apart():
    layer = kar.Maxout(3, pieces=2, bias_initializer=keras.initializers.RandomNormal(seed=1))
    layer.build((None, 4))
    kernel, bias = layer.get_weights()
    assert not np.allclose(kernel[:, :3], kernel[:, 3:])
    assert not np.allclose(bias[:3], bias[3:])


# Highway.


@pytest.mark.parametrize("coupled", [True, False])
def test_highway_starts_by_carrying(coupled, rng):
    x = rng.normal(size=(3, 6))
    layer = kar.Highway(coupled=coupled, transform_bias=-20.0, kernel_initializer="zeros")
    close(run(layer, x), x)
    free = layer.get_weights()[1]
    close(free, [0] * 6 + [-20] * 6 + [20] * 6 * (not coupled))


HIGHWAYS = [
    {},
    {"coupled": False},
    {"rank": 2, "diagonal": True},
    {"units": 7},
    {"units": 3, "coupled": False, "rank": 2},
    {"units": 1},
    {"batch_normalization": True, "units": 3},
    {"batch_normalization": True, "rank": 2, "diagonal": True, "coupled": False},
    {"batch_normalization": True, "rank": 3, "units": 7},
]


def highway(layer, x, mask=None):
    """Returns the outputs for `[rows, inputs]`; with a mask of rows, normalized by the statistics of these rows."""
    w = {weight.path.split("/", 1)[1]: ops.convert_to_numpy(weight) for weight in layer.weights}

    def normalized(a, name):
        if f"{name}/moving_mean" not in w:
            return a
        if mask is None:
            mean, variance = w[f"{name}/moving_mean"], w[f"{name}/moving_variance"]
        else:
            mean, variance = a[mask].mean(axis=0), a[mask].var(axis=0)
        return (a - mean) / np.sqrt(variance + 1e-3) * w.get(f"{name}/gamma", 1)

    gates, units = 2 if layer.coupled else 3, layer.units or x.shape[1]
    kernels = {name.rsplit("/", 1)[1]: value for name, value in w.items() if name.split("/")[-1] in KERNELS}
    if "kernel" in kernels:
        a = x @ kernels["kernel"]
    else:
        inner = normalized(np.concatenate([x @ right for right in kernels["right"]], axis=1), "inner_norm")
        pieces = zip(np.split(inner, gates, axis=1), kernels["left"], strict=True)
        a = np.concatenate([piece @ left for piece, left in pieces], axis=1)
        a = a + np.tile(x, (1, gates)) * kernels["diagonal_kernel"] if layer.diagonal else a
    h, t, *c = np.split(normalized(a, "norm") + w["bias/bias"], gates, axis=1)
    t = 1 / (1 + np.exp(-t))
    c = 1 - t if layer.coupled else 1 / (1 + np.exp(-c[0]))
    padded = np.concatenate([x, np.zeros((len(x), max(0, units - x.shape[1])))], axis=1)
    carried = padded[:, [j * x.shape[1] // units for j in range(units)]] if units < x.shape[1] else padded
    return np.maximum(h, 0) * t + carried * c


KERNELS = ("kernel", "right", "left", "diagonal_kernel")


def random_highway(arguments, rng):
    layer = kar.Highway(**arguments)
    layer.build((None, None, 5))
    for weight in layer.weights:
        value = rng.normal(size=weight.shape)
        weight.assign(value**2 if "variance" in weight.path else value)
    return layer


@pytest.mark.parametrize("arguments", HIGHWAYS, ids=str)
def test_highway_is_its_equations(arguments, rng):
    layer, x = random_highway(arguments, rng), rng.normal(size=(4, 3, 5))
    y = run(layer, x)
    assert y.shape == layer.compute_output_shape(x.shape)
    close(y.reshape(12, -1), highway(layer, x.reshape(12, 5)), 1e-4)


@pytest.mark.parametrize("arguments", [each for each in HIGHWAYS if "batch_normalization" in each], ids=str)
def test_batch_normalization_in_training(arguments, rng):
    layer, x = random_highway(arguments, rng), rng.normal(size=(4, 3, 5))
    mask = rng.random((4, 3)) < 0.7
    expected = highway(layer, x.reshape(12, 5), mask.reshape(12))
    moving = [w for w in layer.non_trainable_weights if "moving" in w.path]
    before = [ops.convert_to_numpy(w) for w in moving]
    close(run(layer, x, training=True, mask=ops.convert_to_tensor(mask)).reshape(12, -1), expected, 1e-4)
    assert len(moving) == (4 if "rank" in arguments else 2)
    assert all((ops.convert_to_numpy(w) != old).all() for w, old in zip(moving, before, strict=True))
    # What is masked does not count, whatever it is.
    again = random_highway(arguments, np.random.default_rng(0))
    first = run(again, x, training=True, mask=ops.convert_to_tensor(mask))
    changed = np.where(mask[..., None], x, 100.0)
    close(run(again, changed, training=True, mask=ops.convert_to_tensor(mask))[mask], first[mask], 1e-4)


@pytest.mark.parametrize("arguments", [each for each in HIGHWAYS if "batch_normalization" in each], ids=str)
def test_batch_normalization_is_trained_saved_and_in_half_precision(arguments, rng, tmp_path):
    x, y = rng.normal(size=(16, 5)).astype("float32"), rng.normal(size=(16, 1)).astype("float32")
    layer = kar.Highway(**arguments, dtype="mixed_bfloat16")
    model = keras.Sequential([keras.Input((5,)), layer, keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    before = model.get_weights()
    history = model.fit(x, y, batch_size=8, epochs=2, verbose=0).history["loss"]
    assert np.isfinite(history).all()
    assert all((a != b).any() for a, b in zip(before, model.get_weights(), strict=True))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded.predict(x, verbose=0), model.predict(x, verbose=0))


# FixedEmbedding.


def test_fixed_embedding(tmp_path):
    ids = np.array([[0, 5, 999], [5, 5, 1]])
    layer = kar.FixedEmbedding(1000, 50, seed=3)
    model = keras.Sequential([keras.Input((None,), dtype="int32"), layer])
    (table,) = layer.get_weights()
    assert (run(layer, ids) == table[ids]).all()
    assert abs(table.mean()) < 0.02
    assert abs(table.std() - 1) < 0.02
    assert layer.trainable_weights == []
    # The same numbers on every backend, and without a seed others, which the global seed decides.
    close(table[0, :3], [2.0409186, -2.555665, 0.41809884])
    tables = []
    for seed in (1, 1, 2):
        keras.utils.set_random_seed(seed)
        fresh = kar.FixedEmbedding(10, 4)
        fresh.build(None)
        tables.append(fresh.get_weights()[0])
    assert (tables[0] == tables[1]).all()
    assert (tables[0] != tables[2]).all()
    layer.set_weights([2 * table])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert (loaded.predict(ids, verbose=0) == 2 * table[ids]).all()


def test_fixed_embedding_conforms_to_keras():
    keras_test = layer_test_case().run_layer_test
    keras_test(
        kar.FixedEmbedding,
        init_kwargs={"input_dim": 4, "output_dim": 3, "seed": 1},
        input_shape=(2, 5),
        input_dtype="int32",
        expected_output_shape=(2, 5, 3),
        expected_num_trainable_weights=0,
        expected_num_non_trainable_weights=1,
        supports_masking=True,
        run_training_check=False,
    )


def test_fixed_embedding_tells_large_numbers_apart_in_half_precision():
    layer = kar.FixedEmbedding(4000, 2, seed=0, dtype="mixed_bfloat16")
    y = ops.convert_to_numpy(ops.cast(layer(np.array([3001.0, 3002.0], "float32")), "float32"))
    close(y, layer.get_weights()[0][[3001, 3002]], 0.02)


# AdaptiveDense.

WIDTHS = {"io": [], "input": [], "output": [], "sva": [3], "sva_rank": [2], "blocks": [6, 2]}


@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("policy", ["linear", "tanh", "relu", "glu"])
@pytest.mark.parametrize("kind", WIDTHS)
def test_adaptive_dense_is_equation_3(kind, policy, use_bias, rng):
    arguments = {"sva_rank": {"adaptation": "sva", "rank": 2}, "blocks": {"adaptation": [6, 2]}}
    arguments = arguments.get(kind, {"adaptation": kind})
    layer = kar.AdaptiveDense(3, **arguments, policy=policy, activation="tanh", use_bias=use_bias)
    randomized(layer, (None, 4), rng)
    *weights, kernel, offset = layer.get_weights()
    bias = weights.pop(0) if use_bias else None

    def pi(x):
        a = kernel.T @ x + offset
        half = len(a) // 2
        if policy == "glu":
            return a[:half] / (1 + np.exp(-a[half:]))
        return {"linear": a, "tanh": np.tanh(a), "relu": np.maximum(a, 0)}[policy]

    def equation(x):
        vector = pi(x)
        sizes = [4, *WIDTHS[kind], 3]
        # Which of D(1), ..., D(q) are one.
        ones = {"input": {1}, "output": {0}, "sva": {0, 2}, "sva_rank": {0, 2}}.get(kind, set())
        diagonals = []
        for k, size in enumerate(sizes):
            diagonals.append(np.eye(size) if k in ones else np.diag(vector[:size]))
            vector = vector if k in ones else vector[size:]
        product = diagonals[0] @ x
        for w, d in zip(weights, diagonals[1:], strict=True):
            product = d @ w.T @ product
        if use_bias:
            product = product + np.diag(vector) @ bias
            vector = vector[3:]
        assert vector.size == 0
        return np.tanh(product)

    x = rng.normal(size=(5, 4))
    close(run(layer, x), [equation(v) for v in x], 1e-4)


def with_policy_vector(layer, inputs, vector):
    """Returns the layer with a policy that says the same whatever comes in."""
    layer.build((None, inputs))
    for weight in layer.policy_layer.weights:
        weight.assign(np.zeros(weight.shape))
    layer.policy_layer.bias.assign(vector)
    return layer


@pytest.mark.parametrize("k", range(4))
def test_property_1(k, rng):
    """For any W, x and G there are D1, D2 with G x = D2 W D1 x: those of the proof, for each k."""
    inputs, units = 4, 3
    g, w, x = rng.normal(size=(units, inputs)), rng.normal(size=(units, inputs)), rng.normal(size=inputs)
    d1, d2 = np.zeros(inputs), (g @ x) / w[:, k]
    d1[k] = 1 / x[k]
    layer = with_policy_vector(kar.AdaptiveDense(units, use_bias=False), inputs, np.concatenate([d1, d2]))
    layer.kernel_maps[0].kernel.assign(w.T)
    close(run(layer, x[None])[0], g @ x, 1e-4)


def test_an_adaptive_layer_of_ones_is_a_dense_layer(rng):
    x = rng.normal(size=(2, 5, 4))
    layer = with_policy_vector(kar.AdaptiveDense(3, activation="elu"), 4, np.ones(4 + 3 + 3))
    dense = keras.layers.Dense(3, activation="elu")
    dense.build((None, 4))
    dense.set_weights([rng.normal(size=(4, 3)), rng.normal(size=3)])
    layer.kernel_maps[0].kernel.assign(dense.kernel)
    layer.bias.assign(dense.bias)
    close(run(layer, x), run(dense, x))


def test_the_empty_list_is_io(rng):
    x = rng.normal(size=(2, 4))
    io, blocks = (randomized(kar.AdaptiveDense(3, a), (None, 4), np.random.default_rng(0)) for a in ("io", []))
    close(run(io, x), run(blocks, x))


def latent(hidden, size):
    return keras.Sequential([keras.layers.Dense(hidden, activation="relu"), keras.layers.Dense(size)])


@pytest.mark.parametrize(
    ("layers", "weights", "row"),
    [
        ([kar.AdaptiveDense(10, "sva", rank=5, policy="linear", use_bias=False)], 7895, 8),
        ([kar.AdaptiveDense(10, "sva", rank=5, policy=latent(5, 5 + 10))], 7995, 8),
        ([kar.AdaptiveDense(10, "sva", rank=62, policy="linear", use_bias=False)], 97898, 100),
        ([kar.AdaptiveDense(10, "sva", rank=60, policy=latent(60, 60 + 10))], 99020, 100),
    ],
)
def test_sizes_of_table_1(layers, weights, row):
    model = keras.Sequential([keras.Input((784,)), *layers])
    assert model.count_params() == weights
    assert abs(weights / 1000 - row) / row < 0.03


def test_a_policy_of_the_users_own_is_saved_and_trained(tmp_path, rng):
    policy = keras.Sequential([keras.layers.Dense(2), keras.layers.Dropout(0.5), keras.layers.Dense(4 + 3 + 3)])
    layer = kar.AdaptiveDense(3, policy=policy)
    model = keras.Sequential([keras.Input((None, 4)), layer])
    assert layer.policy is layer.policy_layer is policy
    assert len(model.trainable_weights) == 6
    x = rng.normal(size=(2, 5, 4)).astype("float32")
    assert not np.allclose(run(layer, x, training=True), run(layer, x, training=True))
    close(run(layer, x), run(layer, x, training=False))
    model.compile("sgd", "mse")
    before = model.get_weights()
    model.fit(x, np.ones((2, 5, 3)), verbose=0)
    assert all((a != b).any() for a, b in zip(before, model.get_weights(), strict=True) if a.any())
    model.save(tmp_path / "model.keras")
    close(keras.models.load_model(tmp_path / "model.keras").predict(x, verbose=0), model.predict(x, verbose=0))


@keras.saving.register_keras_serializable("tests")
class BuildsInCall(keras.layers.Layer):
    """A policy without a `build`, whose inner layer is built by its call."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = keras.layers.Dense(10)

    def call(self, inputs):
        return self.dense(inputs)


@pytest.mark.parametrize("policy", [lambda: BuildsInCall(), lambda: keras.layers.LSTM(10, return_sequences=True)])
def test_any_layer_is_a_policy(policy):
    layer = kar.AdaptiveDense(3, policy=policy())
    layer.build((None, None, 4))
    assert len(layer.weights) >= 4
    assert run(layer, np.ones((2, 5, 4))).shape == (2, 5, 3)


def test_kernel_and_bias_arguments():
    layer = kar.AdaptiveDense(
        3,
        "sva",
        rank=2,
        kernel_initializer=keras.initializers.RandomNormal(seed=1),
        kernel_regularizer="l2",
        kernel_constraint="non_neg",
        bias_initializer="ones",
        bias_regularizer="l1",
        bias_constraint="unit_norm",
        activity_regularizer="l1",
    )
    y = layer(np.ones((2, 2), "float32"))
    bias, first, second, policy, _ = layer.weights
    a, b, c, d = (ops.convert_to_numpy(w) for w in (first, second, bias, policy))
    assert not np.allclose(a[:, :2], b[:2, :2])
    assert not np.allclose(a[:, :2], d[:2, :2])
    assert (c == 1).all()
    expected = 0.01 * (np.square(a).sum() + np.square(b).sum() + c.sum() + np.abs(ops.convert_to_numpy(y)).sum() / 2)
    close(sum(ops.convert_to_numpy(loss) for loss in layer.losses), expected, 1e-4)
    for weight, kind in ((first, "NonNeg"), (second, "NonNeg"), (bias, "UnitNorm")):
        assert type(weight.constraint).__name__ == kind


@pytest.mark.parametrize("make", [kar.AdaptiveDense, lambda n, **kwargs: kar.Maxout(n, 2, **kwargs)])
def test_config_survives_json(make):
    layer = make(3, kernel_regularizer="l2", bias_initializer="ones", name="a", dtype="mixed_bfloat16")
    made = keras.saving.serialize_keras_object(layer)
    again = keras.saving.deserialize_keras_object(json.loads(json.dumps(made)))
    assert keras.saving.serialize_keras_object(again) == made


# Initializers.


@pytest.mark.parametrize("shape", [(6, 3), (3, 6), (4, 4), (2, 3, 5)])
def test_semi_orthogonal(shape):
    w = ops.convert_to_numpy(initializers.SemiOrthogonal(gain=2.0, seed=1)(shape)).reshape(-1, shape[-1])
    product = w.T @ w if w.shape[0] >= w.shape[1] else w @ w.T
    close(product, 4 * np.eye(len(product)))


def test_semi_orthogonal_blocks():
    w = ops.convert_to_numpy(initializers.SemiOrthogonal(blocks=4, seed=1)((5, 20)))
    blocks = np.split(w, 4, axis=1)
    for block in blocks:
        close(block.T @ block, np.eye(5))
    assert not np.allclose(blocks[0], blocks[1])
    # A cell draws its gates with it.
    cell = kar.LSTMCell(5, recurrent_initializer=initializers.SemiOrthogonal(blocks=4, seed=1))
    cell.build((None, 3))
    close(ops.convert_to_numpy(cell.recurrent_map.kernel), w)


@pytest.mark.parametrize("kind", [initializers.SemiOrthogonal, initializers.MirroredOrthogonal])
def test_seeds_and_configs(kind):
    def draw(**arguments):
        return ops.convert_to_numpy(kind(**arguments)((4, 4)))

    assert (draw(seed=1) == draw(seed=1)).all()
    assert (draw(seed=1) != draw(seed=2)).any()
    drawn = []
    for seed in (5, 5, 6):
        keras.utils.set_random_seed(seed)
        drawn.append(draw())
    assert (drawn[0] == drawn[1]).all()
    assert (drawn[0] != drawn[2]).any()
    original = kind(gain=0.5, blocks=2, seed=3)
    config = json.loads(json.dumps(keras.saving.serialize_keras_object(original)))
    copy = keras.saving.deserialize_keras_object(config)
    assert type(copy) is kind
    assert (ops.convert_to_numpy(copy((4, 4))) == ops.convert_to_numpy(original((4, 4)))).all()
    name = {initializers.SemiOrthogonal: "semi_orthogonal"}.get(kind, "mirrored_orthogonal")
    assert type(initializers.get(name)) is kind


def test_the_same_numbers_on_every_backend():
    w = ops.convert_to_numpy(initializers.SemiOrthogonal(seed=7)((3, 2)))
    close(w, [[0.00231701, 0.76282686], [-0.5163426, -0.55282384], [-0.856379, 0.33538184]])


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_semi_orthogonal_in_half_precision(dtype):
    w = initializers.SemiOrthogonal(seed=1)((8, 4), dtype=dtype)
    assert keras.backend.standardize_dtype(w.dtype) == dtype
    w = ops.convert_to_numpy(ops.cast(w, "float32"))
    close(w.T @ w, np.eye(4), 0.02)


@pytest.mark.parametrize("make", [lambda **k: keras.layers.Dense(5, **k), lambda **k: keras.layers.Conv1D(5, 3, **k)])
def test_mirrored_weights_make_a_crelu_layer_linear(make, rng):
    layer = keras.Sequential([kar.CReLU(), make(kernel_initializer=initializers.MirroredOrthogonal(seed=0))])
    x, y = rng.normal(size=(2, 2, 7, 4))
    close(run(layer, 2 * x - 3 * y), 2 * run(layer, x) - 3 * run(layer, y), 1e-4)


def test_mirrored_weights_keep_the_norm(rng):
    layer = keras.Sequential([kar.CReLU(), keras.layers.Dense(4, kernel_initializer=initializers.MirroredOrthogonal())])
    x = rng.normal(size=(3, 4))
    close(np.square(run(layer, x)).sum(axis=1), np.square(x).sum(axis=1))


@pytest.mark.parametrize("blocks", [1, 3])
def test_near_identity(blocks):
    initializer = initializers.NearIdentity(gain=0.9, stddev=0.01, seed=1, blocks=blocks)
    w = ops.convert_to_numpy(initializer((50, 50 * blocks)))
    drawn = []
    for block in np.split(w, blocks, axis=1):
        assert (np.diag(block) == np.float32(0.9)).all()
        drawn.append(block[~np.eye(50, dtype=bool)])
        assert abs(drawn[-1].std() / 0.01 - 1) < 0.1
        assert abs(drawn[-1].mean()) < 0.001
        # Its eigenvalues lie near the diagonal, within the circular law.
        assert np.abs(np.linalg.eigvals(block) - 0.9).max() < 1.5 * 0.01 * np.sqrt(50)
    assert len({tuple(each) for each in drawn}) == blocks
    again = initializers.get(keras.initializers.serialize(initializer))
    np.testing.assert_array_equal(ops.convert_to_numpy(again((50, 50 * blocks))), w)
    fresh = []
    for seed in (5, 5, 6):
        keras.utils.set_random_seed(seed)
        fresh.append(ops.convert_to_numpy(initializers.get("near_identity")((4, 4))))
    assert (fresh[0] == fresh[1]).all()
    assert (fresh[0] != fresh[2]).any()
    exact = initializers.NearIdentity(stddev=0.0, blocks=blocks)
    np.testing.assert_array_equal(ops.convert_to_numpy(exact((4, 4 * blocks))), np.tile(np.eye(4), (1, blocks)))


def test_near_identity_in_a_cell():
    layer = kar.Elman(6, "relu", recurrent_initializer="near_identity")
    layer.build((None, None, 3))
    u = ops.convert_to_numpy(layer.cell.recurrent_kernel)
    assert 0 < np.abs(u - np.eye(6)).max() < 0.01
    with pytest.raises(ValueError, match=r"`shape` must be that of 1 square matrices.*\(6, 24\), blocks=1"):
        kar.LSTM(6, recurrent_initializer="near_identity").build((None, None, 3))


# Bad arguments.

X = np.ones((2, 5, 4), "float32")
BAD_ARGUMENTS = [
    (lambda: kar.Bipolar("rel"), ValueError, ["`activation`", "rel"]),
    (lambda: kar.Bipolar("relu", axis=1.0), TypeError, ["`axis`", "axis=1.0", "integer"]),
    (lambda: kar.Bipolar("relu", layout="half"), ValueError, ["`layout`", "'half'", "'halves'", "'interleaved'"]),
    (lambda: kar.Bipolar("relu", axis=3)(X), ValueError, ["`axis`", "axis=3", "(2, 5, 4)"]),
    (lambda: kar.Bipolar("relu", axes=3), TypeError, ["`axes`", "axes=3", "axis"]),
    (lambda: kar.CReLU(axis="x"), TypeError, ["`axis`", "'x'"]),
    (lambda: kar.OPLU(axis=None), TypeError, ["`axis`", "None"]),
    (lambda: kar.OPLU(axis=1)(X), ValueError, ["`axis`", "axis=1", "even", "(2, 5, 4)"]),
    (lambda: kar.Maxout(0, 2), ValueError, ["`units`", "units=0"]),
    (lambda: kar.Maxout(3, 0), ValueError, ["`pieces`", "pieces=0", "at least 1"]),
    (lambda: kar.Maxout(3, 2, use_bias="no"), TypeError, ["`use_bias`", "'no'"]),
    (lambda: kar.Maxout(3, 2, kernel_initializer="x"), ValueError, ["`kernel_initializer`", "'x'"]),
    (lambda: kar.Maxout(3, 2, bias_initializer="x"), ValueError, ["`bias_initializer`", "'x'"]),
    (lambda: kar.Maxout(3, 2, kernel_regularizer="l3"), ValueError, ["`kernel_regularizer`", "l3"]),
    (lambda: kar.Maxout(3, 2, bias_regularizer="l3"), ValueError, ["`bias_regularizer`", "l3"]),
    (lambda: kar.Maxout(3, 2, kernel_constraint="x"), ValueError, ["`kernel_constraint`", "'x'"]),
    (lambda: kar.Maxout(3, 2, bias_constraint="x"), ValueError, ["`bias_constraint`", "'x'"]),
    (lambda: kar.Maxout(3, 2, activity_regularizer="l3"), ValueError, ["`activity_regularizer`", "l3"]),
    (lambda: kar.Maxout(3, 2)(keras.Input((5, None))), ValueError, ["feature size", "None"]),
    (lambda: kar.Highway(coupled=1), TypeError, ["`coupled`", "coupled=1"]),
    (lambda: kar.Highway(rank=0), ValueError, ["`rank`", "rank=0"]),
    (lambda: kar.Highway(rank=5)(X), ValueError, ["`rank`", "rank=5", "at most", "4"]),
    (lambda: kar.Highway(diagonal=True), ValueError, ["`diagonal`", "`rank`", "diagonal=True"]),
    (lambda: kar.Highway(rank=2, diagonal=0), TypeError, ["`diagonal`", "diagonal=0"]),
    (lambda: kar.Highway(transform_bias="low"), TypeError, ["`transform_bias`", "'low'", "number"]),
    (lambda: kar.Highway(activation="rel"), ValueError, ["`activation`", "rel"]),
    (lambda: kar.Highway(4, True), TypeError, ["Highway", "`units` by position", "by name", "4, True"]),
    (lambda: kar.Highway(0), ValueError, ["`units`", "units=0", "at least 1"]),
    (lambda: kar.Highway(3, rank=4)(X), ValueError, ["`rank`", "rank=4", "at most", "3"]),
    (lambda: kar.Highway(3, rank=2, diagonal=True)(X), ValueError, ["`diagonal`", "not square", "4", "3"]),
    (lambda: kar.Highway(batch_normalization=1), TypeError, ["`batch_normalization`", "True or False"]),
    (lambda: kar.Highway(use_bias=False), TypeError, ["`use_bias`", "help(Highway)"]),
    (lambda: kar.FixedEmbedding(0, 2), ValueError, ["`input_dim`", "input_dim=0"]),
    (lambda: kar.FixedEmbedding(2, 1.5), TypeError, ["`output_dim`", "1.5"]),
    (lambda: kar.FixedEmbedding(2, 2, seed=-1), ValueError, ["`seed`", "seed=-1", "at least 0"]),
    (lambda: kar.AdaptiveDense(-1), ValueError, ["`units`", "units=-1"]),
    (lambda: kar.AdaptiveDense(3, "svd"), ValueError, ["`adaptation`", "'svd'", "'sva'", "list"]),
    (lambda: kar.AdaptiveDense(3, [4, 0]), ValueError, ["`adaptation`", "[4, 0]", "positive"]),
    (lambda: kar.AdaptiveDense(3, policy="gru"), ValueError, ["`policy`", "'gru'", "'glu'", "Keras layer"]),
    (lambda: kar.AdaptiveDense(3, policy=np.tanh), ValueError, ["`policy`", "tanh", "Keras layer"]),
    (lambda: kar.AdaptiveDense(3, "sva", rank=0), ValueError, ["`rank`", "rank=0"]),
    (lambda: kar.AdaptiveDense(3, [4], rank=2), ValueError, ["`rank`", "rank=2", "adaptation=[4]"]),
    (lambda: kar.AdaptiveDense(3, rank=4)(X), ValueError, ["`rank`", "rank=4", "at most", "3"]),
    (lambda: kar.AdaptiveDense(3, activation="tanhh"), ValueError, ["`activation`", "tanhh"]),
    (lambda: kar.AdaptiveDense(3, use_bias=0), TypeError, ["`use_bias`", "use_bias=0"]),
    (lambda: kar.AdaptiveDense(3, kernel_initializer="semi"), ValueError, ["`kernel_initializer`", "semi"]),
    (lambda: kar.AdaptiveDense(3, unit=2), TypeError, ["`unit`", "unit=2", "units"]),
    (
        lambda: kar.AdaptiveDense(3, policy=keras.layers.Dense(9))(X),
        ValueError,
        ["`policy`", "10 entries (4 + 3 + 3)", "(2, 5, 9)", "adaptation='io'"],
    ),
    (lambda: kar.AdaptiveDense(3)(keras.Input((5, None))), ValueError, ["feature size", "None"]),
    (lambda: _built(kar.AdaptiveDense(3))(X[..., :2]), ValueError, ["4", "2"]),
    (lambda: initializers.SemiOrthogonal(gain="x"), TypeError, ["`gain`", "'x'"]),
    (lambda: initializers.SemiOrthogonal(blocks=0), ValueError, ["`blocks`", "blocks=0"]),
    (lambda: initializers.SemiOrthogonal(seed="x"), TypeError, ["`seed`", "'x'"]),
    (lambda: initializers.SemiOrthogonal()((3,)), ValueError, ["`shape`", "(3,)"]),
    (lambda: initializers.SemiOrthogonal(blocks=2)((3, 5)), ValueError, ["`blocks`", "blocks=2", "(3, 5)"]),
    (lambda: initializers.MirroredOrthogonal()((3, 4)), ValueError, ["`shape`", "(3, 4)", "even"]),
    (lambda: initializers.NearIdentity(stddev=-1), ValueError, ["`stddev`", "stddev=-1", "at least 0"]),
    (lambda: initializers.NearIdentity(blocks=2)((3, 4)), ValueError, ["`shape`", "(3, 2)", "blocks=2"]),
]


def _built(layer):
    layer.build(X.shape)
    return layer


@pytest.mark.parametrize(("call", "error", "words"), BAD_ARGUMENTS)
def test_bad_input(call, error, words):
    with pytest.raises(error) as caught:
        call()
    missing = [word for word in words if word not in str(caught.value)]
    assert not missing, f"{missing} not in: {caught.value}"
