"""What a cell may be: Keras's contract for cells of any package, and subclasses of the cells of this one."""

import keras
import numpy as np
import pytest
from keras import ops
from keras.ops import convert_to_numpy as to_numpy

import keras_adaptive_rnn as kar
from keras_adaptive_rnn.callbacks.unit_variance.cell_scaling import is_known_cell
from keras_adaptive_rnn.loop import layer_by_layer
from tests import exporting
from tests.backends import alternating

LENGTHS = np.array([[5], [3], [0], [4]])
MASK = np.arange(5) < LENGTHS


@keras.saving.register_keras_serializable("tests")
class MinimalCell(keras.Layer):
    """The cell of Keras's documentation: its `state_size` is an integer, and `states` is a list all the same."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = self.state_size = units

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units))
        self.recurrent_kernel = self.add_weight(shape=(self.units, self.units))

    def call(self, inputs, states):
        h = ops.tanh(inputs @ self.kernel + states[0] @ self.recurrent_kernel)
        return h, [h]


class FrameCell(MinimalCell):
    """Reads a stack of vectors in each step."""

    def call(self, inputs, states):
        return super().call(ops.mean(inputs, axis=1), states)


class TokenCell(keras.Layer):
    """Looks its inputs up in an embedding."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.state_size = self.output_size = units
        self.embedding = keras.layers.Embedding(50, units)

    def build(self, input_shape):
        self.embedding.build(input_shape[:1])

    def call(self, inputs, states):
        h = ops.tanh(self.embedding(inputs[:, 0]) + states[0])
        return h, [h]


class MatrixCell(keras.Layer):
    """Remembers a matrix."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = self.output_size = units
        self.state_size = [units, (units, 2)]

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units))
        self.read = self.add_weight(shape=(input_shape[-1], 2))

    def get_initial_state(self, batch_size=None):
        return [ops.zeros((batch_size, self.units)), ops.ones((batch_size, self.units, 2))]

    def call(self, inputs, states):
        h, memory = states
        read = ops.expand_dims(inputs @ self.read, 1)
        memory = 0.9 * memory + ops.expand_dims(inputs @ self.kernel, 2) * read
        h = ops.tanh(h + ops.sum(memory * read, axis=-1))
        return h, [h, memory]


def vectors(rng):
    return rng.normal(size=(4, 5, 3)).astype("float32")


CELLS = {
    "integer": (MinimalCell, vectors),
    "frames": (FrameCell, lambda rng: rng.normal(size=(4, 5, 2, 3)).astype("float32")),
    "tokens": (TokenCell, lambda rng: rng.integers(0, 50, size=(4, 5, 1))),
    "matrix": (MatrixCell, vectors),
}
WRAPPERS = {
    "stack": lambda cell: kar.StackedCells([cell, kar.GRUCell(4)]),
    "stack, above": lambda cell: kar.StackedCells([kar.GRUCell(4), cell]),
    "mogrifier": lambda cell: kar.MogrifierCell(cell=cell),
    "multiplicative": lambda cell: kar.MultiplicativeLSTMCell(cell=cell),
    "zoneout": lambda cell: kar.ZoneoutCell(cell=cell),
    "skip": lambda cell: kar.SkipCell(cell, update_bias=0.3),
    "skim": lambda cell: kar.SkimCell(cell, small_cell=MinimalCell(2)),
}


def arrays(results):
    return [to_numpy(result) for result in keras.tree.flatten(results)]


def agree(ours, theirs, *args, **kwargs):
    for a, b in zip(arrays(ours(*args, **kwargs)), arrays(theirs(*args, **kwargs)), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@alternating
@pytest.mark.parametrize("name", CELLS)
@pytest.mark.parametrize("options", [{}, {"unroll": True}, {"go_backwards": True}, {"recompute": True}], ids=str)
def test_cells_of_others_run_as_in_keras(name, options, rng):
    make, draw = CELLS[name]
    cell, x = make(4), draw(rng)
    returned = {"return_sequences": True, "return_state": True}
    theirs = {key: value for key, value in options.items() if key != "recompute"}
    ours, theirs = kar.RNN(cell, **returned, **options), keras.layers.RNN(cell, **returned, **theirs)
    agree(ours, theirs, x)
    last_output, *states = arrays(ours(x, mask=MASK))
    for row, length in enumerate(LENGTHS[:, 0]):
        if length and not options.get("go_backwards"):
            alone, *alone_states = (
                arrays(ours(x[row : row + 1, :length]))
                if not options.get("unroll")
                else arrays(kar.RNN(cell, **returned)(x[row : row + 1, :length]))
            )
            np.testing.assert_allclose(last_output[row, :length], alone[0], atol=1e-5)
            for state, alone_state in zip(states, alone_states, strict=True):
                np.testing.assert_allclose(state[row], alone_state[0], atol=1e-5)


@pytest.mark.parametrize("name", CELLS)
def test_cells_of_others_step(name, rng):
    make, draw = CELLS[name]
    layer, x, states, outputs = kar.RNN(make(4), return_sequences=True), draw(rng), None, []
    layer.build(x.shape)
    for t in range(x.shape[1]):
        output, states = layer.step(x[:, t], states)
        outputs.append(to_numpy(output))
    np.testing.assert_allclose(np.stack(outputs, axis=1), to_numpy(layer(x)), atol=1e-6)


@pytest.mark.parametrize("wrap", WRAPPERS.values(), ids=WRAPPERS)
def test_rows_of_an_integer_state_stay_apart(wrap, rng):
    layer, x = kar.RNN(wrap(MinimalCell(4))), vectors(rng)
    together = to_numpy(layer(x))
    alone = [to_numpy(layer(row[None]))[0] for row in x]
    np.testing.assert_allclose(together, alone, atol=1e-5)
    agree(layer, keras.layers.RNN(layer.cell), x) if wrap is not WRAPPERS["skim"] else None


def test_bidirectional_of_an_integer_state(rng):
    layer, x = keras.layers.Bidirectional(kar.RNN(MinimalCell(4))), vectors(rng)
    together = to_numpy(layer(x))
    np.testing.assert_allclose(together, [to_numpy(layer(row[None]))[0] for row in x], atol=1e-5)


# Subclasses.


def louder(base):
    """Returns a subclass of a cell whose `call`, which is all that Keras asks of a cell, changes the output."""

    class Louder(base):
        def call(self, inputs, states, training=False):
            output, states = super().call(inputs, states, training=training)
            return output * 3.0, states

    return Louder


def limited(base):
    class Limited(base):
        def call(self, inputs, states, training=False):
            _, (h, *others) = super().call(inputs, states, training=training)
            h = ops.minimum(h, 0.02)
            return h, [h, *others]

    return Limited


SUBCLASSES = {
    "lstm": lambda change: change(kar.LSTMCell)(4),
    "mogrifier": lambda change: change(kar.MogrifierCell)(4),
    "deep": lambda change: change(kar.DeepRNNCell)(4, depth=4),
    "adaptive": lambda change: change(kar.AdaptiveLSTMCell)(4),
    "skip": lambda change: change(kar.SkipCell)(kar.GRUCell(4)),
    "stack": lambda change: change(kar.StackedCells)([kar.GRUCell(4) for _ in range(4)]),
    "in a stack": lambda change: kar.StackedCells([change(kar.GRUCell)(4) for _ in range(4)]),
    "large": lambda change: change(kar.LSTMCell)(256),
}


@alternating
@pytest.mark.parametrize("change", [louder, limited])
@pytest.mark.parametrize("make", SUBCLASSES.values(), ids=SUBCLASSES)
def test_an_overridden_call_counts(make, change, rng):
    cell, x = make(change), vectors(rng)
    ours, theirs = kar.RNN(cell, return_sequences=True), keras.layers.RNN(cell, return_sequences=True)
    agree(ours, theirs, x)
    agree(ours, theirs, x, training=True)
    _, states = ours.step(x[:, 0])
    np.testing.assert_allclose(to_numpy(ours.step(x[:, 1], states)[0]), to_numpy(ours(x[:, :2]))[:, -1], atol=1e-5)


def test_an_overridden_call_is_no_layer_of_a_schedule():
    assert layer_by_layer.stack_depth(kar.StackedCells([kar.GRUCell(4) for _ in range(4)]))
    assert not layer_by_layer.stack_depth(kar.StackedCells([louder(kar.GRUCell)(4) for _ in range(4)]))
    assert not is_known_cell(louder(kar.GRUCell)(4))


@pytest.mark.parametrize("name", ["zoneout", "skip", "skim"])
def test_a_wrapper_that_changes_states_needs_the_output_among_them(name, rng):
    plain, limited_ = (kar.RNN(WRAPPERS[name](make(4))) for make in (kar.LSTMCell, limited(kar.LSTMCell)))
    x = vectors(rng)
    limited_(x)
    plain(x)
    limited_.set_weights(plain.get_weights())
    assert np.max(np.abs(to_numpy(limited_(x)) - to_numpy(plain(x)))) > 1e-3
    model = keras.Sequential([kar.RNN(WRAPPERS[name](louder(kar.LSTMCell)(4)))])
    model.compile("sgd", "mse")
    # Before 3.15, Keras raises another error around it.
    error = ValueError if exporting.IS_LATER_KERAS else RuntimeError
    with pytest.raises(error, match="must return its output as its first state"):
        model.fit(x, x[:, 0, :1], verbose=0)


def test_a_composite_cell_runs_steps():
    class Stack(kar.StackedAdaptiveLSTMCells):
        takes_arguments_of = louder(kar.AdaptiveLSTMCell)

    with pytest.raises(TypeError, match="must not override `call`"):
        Stack([4, 4])


def test_an_overridden_inner_loop_is_refused():
    with pytest.raises(TypeError, match="would never run"):

        class Mine(kar.LSTM):
            def inner_loop(self, sequences, initial_state, mask, training=False):
                raise NotImplementedError


# Lists of cells.

LISTS = {
    "two states, then one": lambda: [keras.layers.LSTMCell(4), keras.layers.GRUCell(3)],
    "ours, then Keras's": lambda: [kar.MogrifierCell(4), kar.LSTMCell(2), keras.layers.SimpleRNNCell(3)],
    "one state, then two": lambda: [MinimalCell(4), kar.LSTMCell(3)],
    "one cell": lambda: [keras.layers.GRUCell(3)],
    "a list inside": lambda: [kar.LSTMCell(2), keras.layers.StackedRNNCells([kar.GRUCell(4), kar.LSTMCell(3)])],
}


@pytest.mark.parametrize("make", LISTS.values(), ids=LISTS)
def test_lists_of_cells_run_as_in_keras(make, rng):
    cells, x = make(), vectors(rng)
    # On JAX, Keras fails on a list of one cell.
    ours = kar.RNN(cells, return_sequences=True)
    theirs = keras.layers.RNN(cells if len(cells) > 1 else cells[0], return_sequences=True)
    agree(ours, theirs, x)
    model = keras.Sequential([keras.Input((5, 3)), ours])
    np.testing.assert_allclose(model.predict(x, verbose=0), to_numpy(ours(x)), atol=1e-5)


@pytest.mark.parametrize("make", LISTS.values(), ids=LISTS)
def test_a_masked_first_step_repeats_the_state_of_the_highest_cell(make, rng):
    layer = kar.RNN(make(), return_sequences=True)
    states = keras.tree.map_structure(lambda state: ops.ones_like(state) / 2, layer.get_initial_state(1))
    highest = keras.tree.flatten(states[-1])
    states[-1] = keras.tree.pack_sequence_as(states[-1], [0.9 * ops.ones_like(state) for state in highest])
    masked = np.array([[False, True, True]])
    outputs = to_numpy(layer(vectors(rng)[:1, :3], initial_state=states, mask=masked))
    np.testing.assert_allclose(outputs[0, 0], 0.9, atol=1e-6)


def test_cells_of_other_dtypes(rng):
    x = vectors(rng)
    layer = kar.RNN([keras.layers.LSTMCell(4), kar.GRUCell(3, dtype="mixed_bfloat16")], return_sequences=True)
    exact = kar.RNN([keras.layers.LSTMCell(4), kar.GRUCell(3)], return_sequences=True)
    exact.build(x.shape)
    model = keras.Sequential([keras.Input((5, 3)), layer])
    exact.set_weights(layer.get_weights())
    assert keras.backend.standardize_dtype(layer(x).dtype) == "float32"
    for outputs in (to_numpy(layer(x)), model.predict(x, verbose=0)):
        np.testing.assert_allclose(outputs, to_numpy(exact(x)), atol=0.02)


# Masks.

LAYERS = {
    "mogrifier": lambda: kar.Mogrifier(4, return_sequences=True),
    "skip": lambda: kar.Skip(kar.GRUCell(4)),
    "keras cell": lambda: kar.RNN(keras.layers.LSTMCell(4)),
    "bidirectional": lambda: keras.layers.Bidirectional(kar.GRU(4)),
    "regularization": lambda: _Regularized(),
    "jump": lambda: kar.models.LSTMJump(
        vocabulary_size=50, embedding_units=4, classes=2, units=4, read=2, max_jump=2, max_jumps=2
    ),
}
WRONG_MASKS = {
    "time first": MASK.T,
    "flat": MASK.ravel(),
    "as many entries": MASK.reshape(2, 10),
    "too many steps": np.ones((4, 6), bool),
    "too few steps": np.ones((4, 4), bool),
    "too few rows": np.ones((3, 5), bool),
    "one row for all": np.ones((1, 5), bool),
    "one step for all": np.ones((4, 1), bool),
    "lengths": LENGTHS[:, 0],
    "a number for each feature": np.ones((4, 5, 3), bool),
    "a scalar": np.array(True),
}


class _Regularized(kar.layers.ActivationRegularization):
    def __call__(self, x, mask):
        return super().__call__(x, x, mask=mask)


@alternating
@pytest.mark.parametrize("mask", WRONG_MASKS.values(), ids=WRONG_MASKS)
@pytest.mark.parametrize("name", LAYERS)
def test_a_mask_that_does_not_fit(name, mask, rng):
    x = rng.integers(1, 50, size=(4, 5)) if name == "jump" else vectors(rng)
    layer = LAYERS[name]()
    layer(x, mask=MASK)
    with pytest.raises(ValueError, match="mask") as caught:
        layer(x, mask=mask)
    assert all(str(tuple(shape)) in str(caught.value) for shape in ((4, 5), mask.shape))


@pytest.mark.parametrize("kind", ["bool", "int32", "float32"])
def test_the_numbers_of_a_mask(kind, rng):
    layer, x = kar.GRU(4), vectors(rng)
    expected = to_numpy(layer(x, mask=MASK))
    np.testing.assert_array_equal(to_numpy(layer(x, mask=MASK.astype(kind))), expected)
    np.testing.assert_array_equal(to_numpy(layer(x, mask=MASK.tolist())), expected)


@pytest.mark.parametrize("shape", [(4, 1), (1, 5), (4, 6), (5, 4), (2, 10)])
def test_a_mask_that_does_not_fit_in_a_graph_of_unknown_sizes(shape, rng):
    inputs, mask = keras.Input((None, 3)), keras.Input((None,), dtype="bool")
    model = keras.Model([inputs, mask], kar.GRU(4)(inputs, mask=mask))
    x = vectors(rng)
    model.predict([x, MASK], verbose=0)
    call = model.make_predict_function() if keras.backend.backend() == "tensorflow" else model
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        call = tf.function(
            lambda x, mask: model([x, mask]),
            input_signature=[tf.TensorSpec((None, None, 3)), tf.TensorSpec((None, None), "bool")],
        )
        np.testing.assert_allclose(call(x, MASK), model([x, MASK]), atol=1e-6)
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError)):
            call(x, np.ones(shape, bool))
    else:
        with pytest.raises(ValueError, match="mask"):
            model([x, np.ones(shape, bool)])


def test_a_map_of_a_cell_wants_the_run():
    cell = kar.LSTMCell(4)
    cell.build((2, 3))
    with pytest.raises(TypeError, match="was called without the `run` of its cell's step"):
        cell.kernel_map(np.ones((2, 3), "float32"))


@pytest.mark.parametrize("arguments", [{}, {"tied_gates": True}, {"projection_units": 3}], ids=str)
def test_peepholes_start_as_none_and_are_trained(arguments, rng):
    keras.utils.set_random_seed(0)
    plain, layer = kar.LSTM(4, **arguments), kar.LSTM(4, peepholes=True, recompute=True, **arguments)
    x = rng.normal(size=(2, 5, 3)).astype("float32")
    plain.build(x.shape)
    model = keras.Sequential([keras.Input((5, 3)), layer])
    *others, peepholes = layer.weights
    for weight, other in zip(others, plain.weights, strict=True):
        weight.assign(other)
    assert tuple(peepholes.shape) == (8 if "tied_gates" in arguments else 12,)
    before = keras.ops.convert_to_numpy(layer(x))
    np.testing.assert_allclose(before, keras.ops.convert_to_numpy(plain(x)), rtol=1e-6, atol=1e-7)
    model.compile("sgd", "mse")
    model.fit(x, np.ones((2, layer.cell.output_size)), verbose=0)
    assert (keras.ops.convert_to_numpy(peepholes) != 0).all()
