"""layers.RNN where it differs from keras.layers.RNN, or where Keras is known to go wrong."""

import gc

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import engine, maps
from keras_adaptive_rnn.testing import given_noise
from tests.table import CELLS, OPTIONS

X = np.random.default_rng(1).normal(size=(3, 6, 5)).astype("float32")


def array(tensor):
    return ops.convert_to_numpy(tensor)


def close(a, b, tolerance=1e-5):
    np.testing.assert_allclose(array(a), array(b), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda: kar.Mogrifier(7, rounds=0), lambda: keras.layers.LSTM(7)),
        (lambda: kar.RNN(kar.LSTMCell(7)), lambda: keras.layers.LSTM(7)),
        (lambda: kar.RNN(kar.GRUCell(7)), lambda: keras.layers.GRU(7)),
        (lambda: kar.RNN(kar.GRUCell(7, reset_after=False)), lambda: keras.layers.GRU(7, reset_after=False)),
        (lambda: kar.RNN(kar.ElmanCell(7)), lambda: keras.layers.SimpleRNN(7)),
    ],
)
def test_takes_the_weights_of_keras_as_they_are(ours, theirs, rng):
    ours, theirs = ours(), theirs()
    ours.build(X.shape)
    theirs.build(X.shape)
    theirs.set_weights([rng.normal(size=w.shape) for w in theirs.weights])
    ours.set_weights(theirs.get_weights())
    close(ours(X), theirs(X))
    with pytest.raises(ValueError, match="weight"):
        ours.set_weights(theirs.get_weights()[:-1])


def test_starts_like_keras():
    keras.utils.set_random_seed(3)
    ours = kar.RNN(kar.LSTMCell(7))
    ours.build(X.shape)
    bias = ours.get_weights()[2]
    np.testing.assert_array_equal(bias, np.repeat([0.0, 1.0, 0.0, 0.0], 7))
    recurrent = ours.get_weights()[1]
    np.testing.assert_allclose(recurrent @ recurrent.T, np.eye(7), atol=1e-5)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: kar.LSTM(4, recurrent_dropout=0.5), (2, 3, 4)),
        (lambda: kar.Skim(kar.GRUCell(4), kar.GRUCell(2)), (2, 3, 4)),
        (lambda: kar.URNN(3), (2, 3, 4)),
        (lambda: kar.MultidimensionalGridLSTM(4), (2, 3, 3, 4)),
    ],
)
def test_bfloat16_everywhere(make, shape):
    """On JAX, Keras then takes integers of NumPy and Python for floats."""
    usual = keras.config.floatx(), keras.config.dtype_policy()
    try:
        keras.config.set_floatx("bfloat16")
        keras.config.set_dtype_policy("bfloat16")
        outputs = make()(np.ones(shape), training=True)
    finally:
        keras.config.set_floatx(usual[0])
        keras.config.set_dtype_policy(usual[1])
    outputs = keras.tree.flatten(outputs)[0]
    assert keras.backend.standardize_dtype(outputs.dtype) == "bfloat16"
    assert np.isfinite(array(ops.cast(outputs, "float32"))).all()


def test_gates_with_zero_weights_are_one():
    mogrifier, lstm = kar.Mogrifier(7, gate_initializer="zeros"), kar.Mogrifier(7, rounds=0)
    mogrifier.build(X.shape)
    lstm.build(X.shape)
    lstm.set_weights(mogrifier.get_weights()[:3])
    close(mogrifier(X), lstm(X))


def test_weights_of_one_shape_start_apart():
    cell = kar.MogrifierCell(5, rank=2, seed=1, gate_initializer=keras.initializers.GlorotUniform(seed=4))
    cell.build((2, 5))
    gates = [array(w) for w in cell.weights if "gate_" in w.path]
    assert len({g.tobytes() for g in gates}) == len(gates)
    again = kar.MogrifierCell(5, rank=2, gate_initializer=keras.initializers.GlorotUniform(seed=4))
    again.build((2, 5))
    for a, b in zip(gates, [array(w) for w in again.weights if "gate_" in w.path], strict=True):
        np.testing.assert_array_equal(a, b)


def test_named_layer_is_rnn_around_its_cell():
    layer = kar.Mogrifier(7, rounds=3, rank=2, return_sequences=True, dtype="mixed_bfloat16", name="m")
    assert (layer.units, layer.rounds, layer.rank, layer.core) == (7, 3, 2, "lstm")
    assert layer.cell.dtype_policy.name == layer.cell.cell.dtype_policy.name == "mixed_bfloat16"
    plain = kar.RNN(kar.MogrifierCell(7, rounds=3, rank=2), return_sequences=True)
    layer = kar.Mogrifier(7, rounds=3, rank=2, return_sequences=True)
    layer.build(X.shape)
    plain.build(X.shape)
    plain.set_weights(layer.get_weights())
    close(layer(X), plain(X))
    frozen = kar.Mogrifier(7, trainable=False)
    frozen.build(X.shape)
    assert not frozen.trainable_weights


def test_signature_lists_every_argument():
    import inspect

    names = list(inspect.signature(kar.Mogrifier).parameters)
    assert names[:6] == ["units", "rounds", "rank", "zigzag", "gate_bias", "core"]
    assert {"dropout", "recurrent_dropout", "seed", "return_sequences", "stateful", "dtype", "name"} <= set(names)
    assert {"tied_gates", "kernel_initializer", "units"} <= set(inspect.signature(kar.LSTMCell).parameters)


# Noise.


def test_one_mask_a_sequence():
    """A cell whose output is its dropped input shows the mask of each step."""

    @keras.saving.register_keras_serializable(package="tests")
    class Echo(kar.cells.Cell):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.state_size, self.output_size = [5], 5

        def project(self, inputs, run):
            return self.drop(inputs, "dropout", run)

        def step(self, projected, states, run):
            return projected, [projected]

    for rnn in (kar.RNN, keras.layers.RNN):
        layer = rnn(Echo(dropout=0.5, seed=2), return_sequences=True)
        ones = np.ones((4, 6, 5), "float32")
        first, second = array(layer(ones, training=True)), array(layer(ones, training=True))
        assert set(np.unique(first)) == {0.0, 2.0}
        np.testing.assert_array_equal(first, np.repeat(first[:, :1], 6, axis=1))
        assert (first != second).any(), "two batches had one mask"
        assert (first[0] != first[1:]).any(), "all rows had one mask"
        np.testing.assert_array_equal(array(layer(ones)), ones)


def test_the_seed_decides_the_noise():
    def run():
        layer = kar.Mogrifier(7, dropout=0.4, recurrent_dropout=0.4, update_dropout=0.4, seed=5)
        layer.build(X.shape)
        layer.set_weights([np.full(w.shape, 0.1) for w in layer.weights])
        return [array(layer(X, training=True)) for _ in range(2)]

    first, second = run(), run()
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)
    assert (first[0] != first[1]).any()


def test_inference_draws_nothing():
    layer = kar.Mogrifier(7, dropout=0.5, recurrent_map=maps.DropConnect(0.5))
    layer(X)
    before = [array(v) for v in layer.variables if "seed" in v.path]
    layer(X)
    for a, b in zip(before, [array(v) for v in layer.variables if "seed" in v.path], strict=True):
        np.testing.assert_array_equal(a, b)


def test_given_noise_is_used():
    cell = kar.ElmanCell(4)
    layer = kar.RNN(cell, return_sequences=True)
    layer(X)
    mask = np.array([[0, 2, 0, 2, 2.0]] * 3, "float32")
    with given_noise(cell, dropout=mask):
        dropped = layer(X, training=True)
    close(dropped, layer(X * mask[:, None]))
    close(layer(X, training=True), layer(X))
    with pytest.raises(ValueError, match="no_such_rate"), given_noise(cell, no_such_rate=mask):
        pass


@pytest.mark.parametrize(
    "name",
    [
        "elman",
        "gru_reset_before",
        "lstm",
        "mogrifier_low_rank",
        "multiplicative_lstm",
        "recurrent_highway",
        "grid_lstm",
        "adaptive_lstm",
    ],
)
def test_both_loops_agree_under_noise(name, rng):
    cell = (CELLS | OPTIONS)[name]()
    cell.build((3, 5))
    cell.set_weights([0.5 * rng.normal(size=w.shape) for w in cell.weights])
    sizes = {rate: size if isinstance(size, tuple) else (size,) for rate, size in cell.noise_sizes.items()}
    masks = {rate: 2.0 * (rng.random((3, *size)) < 0.5).astype("float32") for rate, size in sizes.items()}

    def results(rnn):
        layer = rnn(cell)
        layer.build(X.shape)
        with given_noise(cell, **masks):
            return engine.gradients(lambda x: ops.sum(layer(x, training=True)), cell.trainable_variables, [X])

    (value, by_variable, by_tensor), (keras_value, *keras_gradients) = results(kar.RNN), results(keras.layers.RNN)
    close(value, keras_value)
    for ours, theirs in zip([*by_variable, *by_tensor], [g for group in keras_gradients for g in group], strict=True):
        close(ours, theirs)
    assert np.abs(value - engine.gradients(lambda x: ops.sum(kar.RNN(cell)(x)), [], [X])[0]) > 1e-3


@pytest.mark.parametrize("rnn", [kar.RNN, keras.layers.RNN])
def test_drop_connect_drops_weights(rnn):
    cell = kar.ElmanCell(40, recurrent_map=maps.DropConnect(0.5, seed=1), recurrent_initializer="ones")
    layer = rnn(cell)
    x = np.zeros((2, 1, 5), "float32")
    h = np.full((2, 40), 1e-3, "float32")
    layer.build(x.shape)
    close(layer(x, initial_state=[h]), np.tanh(np.full((2, 40), 0.04)))
    noisy = array(layer(x, initial_state=[h], training=True))
    assert noisy.std() > 1e-3, "nothing was dropped"
    np.testing.assert_allclose(noisy[0], noisy[1], rtol=1e-6, err_msg="one mask holds for the batch")
    assert abs(noisy.mean() - 0.04) < 0.01
    assert (noisy != array(layer(x, initial_state=[h], training=True))).any(), "two sequences had one mask"


@pytest.mark.parametrize(
    "name", ["gru", "low_rank_gru", "weight_drop_lstm", "adaptive_lstm_sva", "grid_lstm", "mogrifier_gru"]
)
def test_what_is_hoisted_changes_no_number(name, monkeypatch, rng):
    layer = kar.RNN((CELLS | OPTIONS)[name](), return_sequences=True)
    layer.build(X.shape)
    # Not from zeros, where layer normalisation multiplies rounding errors by thousands. Elsewhere it magnifies them
    # too: hence the tolerance.
    tensors = [X, *(rng.normal(size=(3, size)).astype("float32") for size in layer.state_size)]

    def loss(x, *states):
        return ops.sum(ops.square(layer(x, initial_state=list(states))))

    results = []
    for hoisted in (True, False):
        monkeypatch.setattr(engine, "should_hoist", lambda *_, hoisted=hoisted: hoisted)
        value, by_variable, by_tensor = engine.gradients(loss, layer.trainable_variables, tensors)
        results.append([value, *(g for g in [*by_variable, *by_tensor] if g is not None)])
    for ours, theirs in zip(*results, strict=True):
        close(ours, theirs, tolerance=1e-4)


# States.


def test_stateful_fit_carries_the_state():
    """Keras 3.15 on JAX loses it: its state variables are not among the layer's."""
    model = keras.Sequential([keras.Input((2, 5), batch_size=3), kar.Mogrifier(7, stateful=True)])
    model.compile(keras.optimizers.SGD(0.0), "mse")
    batches = [(X[:, t : t + 2], np.zeros((3, 7), "float32")) for t in (0, 2, 4)]
    for batch in batches:
        model.train_on_batch(*batch)
    carried = [array(v) for v in model.layers[0].variables if v.name.startswith("state_")]
    whole = kar.Mogrifier(7, return_state=True)
    whole.build(X.shape)
    whole.set_weights(model.get_weights())
    for a, b in zip(carried, whole(X)[1:], strict=True):
        close(a, b)
    model.layers[0].reset_state()
    assert not np.any([array(v) for v in model.layers[0].variables if v.name.startswith("state_")])


@pytest.mark.parametrize("is_trained", [False, True], ids=["zeros", "trained"])
def test_stateful_carries_the_state_in_mixed_precision(is_trained):
    """Inside a layer's call, variables are cast, and on PyTorch an assignment to the cast copy is lost."""
    cell = kar.LSTMCell(7, trainable_initial_state=is_trained, dtype="mixed_bfloat16")
    layer = kar.RNN(cell, stateful=True, return_sequences=True, dtype="mixed_bfloat16")
    x = np.random.default_rng(0).normal(size=(3, 12, 5)).astype("float32")
    layer.build(x.shape)
    layer.set_weights([np.random.default_rng(1).normal(size=w.shape) for w in layer.get_weights()])
    layer.reset_state()
    whole = ops.convert_to_numpy(ops.cast(layer(x), "float32"))
    layer.reset_state()
    parts = [ops.convert_to_numpy(ops.cast(layer(x[:, k : k + 4]), "float32")) for k in (0, 4, 8)]
    np.testing.assert_array_equal(np.concatenate(parts, axis=1), whole)


class StartCell(keras.layers.GRUCell):
    """Trains the state before the first step, as a user may write it."""

    def build(self, input_shape):
        self.start = self.add_weight(shape=(self.units,), name="initial_state")
        super().build(input_shape)

    def get_initial_state(self, batch_size=None):
        return [ops.broadcast_to(self.start, (batch_size, self.units))]


def trained_lstm():
    return kar.LSTMCell(4, trainable_initial_state=True)


WITH_TRAINED_STATES = {
    "a cell": trained_lstm,
    "a list": lambda: [trained_lstm(), kar.ElmanCell(3)],
    "a list in a list": lambda: [kar.ElmanCell(3), keras.layers.StackedRNNCells([kar.GRUCell(3), trained_lstm()])],
    "a wrapper in a list": lambda: [kar.ZoneoutCell(cell=trained_lstm()), kar.ElmanCell(3)],
    "a user's cell": lambda: StartCell(4),
    "a user's cell in a wrapper": lambda: kar.ZoneoutCell(cell=StartCell(4)),
}


@pytest.mark.parametrize("name", WITH_TRAINED_STATES)
def test_stateful_keeps_the_gradient_of_a_trained_initial_state(name):
    layer = kar.RNN(WITH_TRAINED_STATES[name](), stateful=True)
    layer.build(X.shape)
    initial = [v for v in layer.trainable_variables if v.name.startswith("initial_state")]
    assert initial

    def gradients():
        _, found, _ = engine.gradients(lambda x: ops.sum(layer(x)), initial, [X])
        return [0.0 if g is None else np.abs(g).max() for g in found]

    assert min(gradients()) > 0
    layer.reset_state()
    layer(X)
    assert max(gradients()) == 0, "a carried state does not come from the weight"
    layer.reset_state()
    assert min(gradients()) > 0


def test_reset_state_goes_back_to_the_trained_initial_state():
    layer = kar.RNN([kar.LSTMCell(4, trainable_initial_state=True), kar.ElmanCell(3)], stateful=True)
    layer.build(X.shape)
    layer.set_weights([np.full(w.shape, 0.3) for w in layer.weights])
    layer.reset_state()
    first = array(layer(X))
    assert (first != array(layer(X))).any()
    layer.reset_state()
    close(layer(X), first)


def test_trainable_initial_state_is_trained_and_saved(tmp_path):
    model = keras.Sequential([keras.Input((None, 5)), kar.Mogrifier(7, trainable_initial_state=True)])
    model.compile("adam", "mse")
    model.fit(X, np.ones((3, 7)), epochs=2, verbose=0)
    rows = [array(w) for w in model.weights if "initial_state" in w.path]
    assert len(rows) == 2
    assert all(np.abs(row).min() > 0 for row in rows)
    model.save(tmp_path / "m.keras")
    close(keras.models.load_model(tmp_path / "m.keras").predict(X, verbose=0), model.predict(X, verbose=0))


def test_a_checkpoint_of_a_stateful_model_goes_on_with_the_same_numbers(tmp_path):
    model = keras.Sequential([keras.Input((6, 5), batch_size=3), kar.Mogrifier(7, stateful=True)])
    model.predict(X, batch_size=3, verbose=0)
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    close(loaded.predict(X, batch_size=3, verbose=0), model.predict(X, batch_size=3, verbose=0))


def test_a_file_of_more_than_ten_states_keeps_their_order(tmp_path):
    cells = [kar.LSTMCell(2) for _ in range(6)]
    model = keras.Sequential([keras.Input((6, 5), batch_size=3), kar.RNN(cells, stateful=True)])
    model.predict(X, batch_size=3, verbose=0)
    model.save(tmp_path / "m.keras")
    loaded = keras.models.load_model(tmp_path / "m.keras")
    close(loaded.predict(X, batch_size=3, verbose=0), model.predict(X, batch_size=3, verbose=0), tolerance=1e-7)


def test_loads_the_weights_file_of_a_keras_rnn(tmp_path):
    def model(rnn):
        return keras.Sequential([keras.Input((6, 5), batch_size=3), rnn(kar.MogrifierCell(7), stateful=True, name="r")])

    theirs, ours = model(keras.layers.RNN), model(kar.RNN)
    theirs.save_weights(tmp_path / "w.weights.h5")
    ours.load_weights(tmp_path / "w.weights.h5")
    close(ours(X), theirs(X))


def test_a_mask_reaches_the_layer_beside_an_initial_state():
    """Keras fills in a mask only where the sequence is the only tensor."""
    tokens = np.array([[1, 2, 0, 0], [3, 1, 2, 0]])
    embedding = keras.layers.Embedding(4, 5, mask_zero=True)
    layer = kar.Mogrifier(7)
    states = [np.full((2, 7), 0.1, "float32")] * 2
    short = layer(embedding(tokens[:1, :2]), initial_state=[s[:1] for s in states])
    close(layer(embedding(tokens), initial_state=states)[:1], short)

    # Tracers cannot hold the mask as an attribute.
    inputs = [keras.Input((4,), dtype="int32"), keras.Input((7,)), keras.Input((7,))]
    model = keras.Model(inputs, layer(embedding(inputs[0]), initial_state=inputs[1:]))
    close(model.predict([tokens, *states], verbose=0)[:1], short)
    model.compile("sgd", "mse")
    expected = np.mean(ops.convert_to_numpy(layer(embedding(tokens), initial_state=states)) ** 2)
    close(model.evaluate([tokens, *states], np.zeros((2, 7)), verbose=0), expected)
    close(model.train_on_batch([tokens, *states], np.zeros((2, 7))), expected)


def test_the_mask_reaches_a_second_layer():
    tokens = np.array([[1, 2, 0, 0]])
    model = keras.Sequential(
        [
            keras.layers.Embedding(4, 5, mask_zero=True),
            kar.Mogrifier(7, return_sequences=True),
            kar.Mogrifier(3),
        ]
    )
    close(model(tokens), model(tokens[:, :2]))


def test_a_masked_first_step_repeats_the_initial_state():
    mask = np.ones((3, 6), bool)
    mask[0, :2] = False
    h = np.full((3, 7), 0.5, "float32")
    layer = kar.Mogrifier(7, return_sequences=True)
    outputs = array(layer(X, initial_state=[h, h], mask=mask))
    np.testing.assert_allclose(outputs[0, :2], 0.5)
    assert not np.isclose(outputs[1, 0], 0.5).all()


@pytest.mark.parametrize("cells", [1, 3])
def test_stacks_of_any_depth(cells):
    """A stack of one cell fails in keras.layers.RNN on JAX."""
    layer = kar.RNN([kar.LSTMCell(4) for _ in range(cells)], return_sequences=True, return_state=True)
    outputs, *states = layer(X)
    assert tuple(outputs.shape) == (3, 6, 4)
    assert len(states) == cells
    close(outputs[:, -1], states[-1][0])


# Streaming.


def test_step_of_a_stack_and_of_a_keras_cell():
    for cell in ([kar.LSTMCell(4), kar.MogrifierCell(3)], keras.layers.GRUCell(4), keras.layers.LSTMCell(4)):
        layer = kar.RNN(cell, return_sequences=True)
        outputs = array(layer(X))
        states = None
        for t in range(6):
            output, states = layer.step(X[:, t], states)
            close(output, outputs[:, t])


def test_ten_thousand_steps_grow_no_memory():
    layer = kar.RNN(kar.ElmanCell(2))
    layer.build((None, None, 3))
    x, states = ops.ones((1, 3)), None

    def objects_after(steps):
        nonlocal states
        for _ in range(steps):
            _, states = layer.step(x, states)
        gc.collect()
        return len(gc.get_objects())

    objects_after(100)
    before = objects_after(100)
    assert objects_after(10_000) - before < 100


# Training.


def test_regularizers_and_constraints_act():
    layer = kar.Mogrifier(
        4,
        kernel_regularizer="l2",
        recurrent_regularizer="l2",
        bias_regularizer="l2",
        gate_regularizer="l2",
        kernel_constraint="non_neg",
        gate_constraint="non_neg",
        activity_regularizer="l2",
    )
    model = keras.Sequential([keras.Input((None, 5)), layer])
    model(X)
    assert len(model.losses) == 3 + 5 + 1
    model.compile("sgd", "mse")
    model.fit(X, np.ones((3, 4)), verbose=0)
    assert array(layer.cell.cell.kernel_map.kernel).min() >= 0
    assert all(array(gate.kernel).min() >= 0 for gate in layer.cell.gates)


@pytest.mark.parametrize("jit_compile", [True, False])
def test_fit_learns(jit_compile):
    if jit_compile and keras.backend.backend() == "torch":
        pytest.skip("on PyTorch it takes a C++ compiler and half a minute, and leaves the layer alone")
    model = keras.Sequential([keras.Input((None, 5)), kar.Mogrifier(8, dropout=0.1), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.03), "mse", jit_compile=jit_compile)
    x = np.random.default_rng(0).normal(size=(64, 6, 5)).astype("float32")
    y = x[:, 0, :1] * np.sign(x[:, 1, :1])
    losses = model.fit(x, y, epochs=25, batch_size=64, verbose=0).history["loss"]
    assert losses[-1] < 0.7 * losses[0]


@pytest.mark.skipif(keras.backend.backend() == "torch", reason="`test_graphs.py`")
def test_only_pytorch_has_graphs():
    layer = kar.RNN(kar.ElmanCell(4), graphs=True)
    with pytest.warns(UserWarning, match="only PyTorch"):
        layer(X)
