"""Cells as users of Keras write them (`strangers.py`), wherever ours go, beside `keras.layers.RNN`."""

import keras
import numpy as np
import pytest
from keras import ops, tree

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import engine
from keras_adaptive_rnn.engine import tuning
from tests.backends import in_turns
from tests.outside import strangers

BATCH, TIME, FEATURES, UNITS = 3, 4, 2, 3
MASK = np.array([[True] * 4, [True, False, True, True], [True, True, False, False]])


class Capped(kar.LSTMCell):
    """A subclass of ours with Keras's own contract, `call`."""

    def call(self, inputs, states, training=False):
        _, (h, c) = super().call(inputs, states, training=training)
        h = ops.minimum(h, 0.02)
        return h, [h, c]


class Scaled(kar.GRUCell):
    """A subclass of ours that changes `project`."""

    def project(self, inputs, run):
        return super().project(2 * inputs, run)


class Residual(kar.ElmanCell):
    """A subclass of ours with a weight of its own, an argument of its own, and a step that uses both."""

    def __init__(self, units, scale=0.5, **kwargs):
        super().__init__(units, **kwargs)
        self.scale = scale

    def build(self, input_shape):
        self.gain = self.add_weight(shape=(self.units,), initializer="ones", name="gain")
        super().build(input_shape)

    def step(self, projected, states, run):
        _, (h,) = super().step(projected, states, run)
        h = self.scale * h + self.gain * states[0]
        return h, [h]


class Started(kar.GRUCell):
    """A subclass of ours that starts elsewhere."""

    def get_initial_state(self, batch_size=None):
        return [ops.ones((batch_size, self.units), dtype=self.compute_dtype)]


class FromKeras(keras.layers.GRUCell):
    """A subclass of Keras's."""

    def call(self, inputs, states, training=False):
        output, states = super().call(2 * inputs, states, training=training)
        return output, states


class ListCell(strangers.TupleCell):
    """The same cell, whose state is in a list."""

    def call(self, inputs, states):
        output, states = super().call(inputs, states)
        return output, list(states)


OF_OURS = (Capped, Scaled, Residual, Started, FromKeras)
CELLS = {cls.__name__: cls for cls in (*strangers.WRAPPABLE, strangers.PlainCell, *OF_OURS)}
ALL = {**CELLS, "ScoringCell": strangers.ScoringCell}
# On JAX, Keras's loop takes no states in a tuple.
FOR_KERAS = {**ALL, **({"TupleCell": ListCell} if keras.backend.backend() == "jax" else {})}
WRAPPERS = {
    "ZoneoutCell": lambda cell: kar.ZoneoutCell(cell=cell, zoneout=0.3),
    "MogrifierCell": lambda cell: kar.MogrifierCell(cell=cell, rounds=2),
    "MultiplicativeLSTMCell": lambda cell: kar.MultiplicativeLSTMCell(cell=cell),
    "SkipCell": lambda cell: kar.SkipCell(cell),
    "SkimCell": lambda cell: kar.SkimCell(cell, type(cell)(2)),
    "StatesOutput": lambda cell: kar.StatesOutput(cell, truncate=2),
    "StackedCells": lambda cell: kar.StackedCells([type(cell)(2), cell]),
    "a stack around a wrapper": lambda cell: kar.StackedCells([kar.ZoneoutCell(cell=cell), type(cell)(2)]),
    "StackedRNNCells": lambda cell: keras.layers.StackedRNNCells([type(cell)(2), cell]),
    "a list": lambda cell: [type(cell)(2), kar.LSTMCell(2), cell],
}
INPUTS = np.random.default_rng(0).normal(size=(BATCH, TIME, FEATURES)).astype("float32")


def built(layer):
    """Returns a built layer with weights that are the same for every layer of the same cell."""
    layer.build(INPUTS.shape)
    rng = np.random.default_rng(1)
    for weight in layer.trainable_weights:
        weight.assign(0.5 * rng.normal(size=weight.shape))
    return layer


def arrays(results):
    return [ops.convert_to_numpy(each) for each in tree.flatten(results)]


def close(ours, theirs):
    ours, theirs = arrays(ours), arrays(theirs)
    assert len(ours) == len(theirs)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def gradients(layer, mask=None):
    """Returns a weighted sum of all results of a layer, and its gradients."""

    def total(inputs):
        results = [layer(inputs, mask=mask)] if mask is not None else [layer(inputs)]
        weigh = np.random.default_rng(2).normal
        return sum(
            ops.sum(each * ops.convert_to_tensor(weigh(size=tuple(each.shape)).astype("float32")))
            for each in tree.flatten(results)
        )

    value, by_variable, by_input = engine.gradients(total, layer.trainable_variables, [INPUTS])
    return [0.0 if each is None else each for each in (value, *by_variable, *by_input)]


EVERYTHING = {"return_sequences": True, "return_state": True}
OPTIONS = {
    "plain": {},
    "unroll": {"unroll": True},
    "recompute": {"recompute": True},
    "go_backwards": {"go_backwards": True},
}


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", ALL)
@in_turns
def test_in_our_layer(name, options):
    given = OPTIONS[options]
    of_keras = {key: value for key, value in given.items() if key == "go_backwards"}
    ours = built(kar.RNN(ALL[name](UNITS), **EVERYTHING, **given))
    theirs = built(keras.layers.RNN(FOR_KERAS[name](UNITS), **EVERYTHING, **of_keras))
    close(gradients(ours), gradients(theirs))
    # On JAX, Keras repeats a state where it should repeat the output; ours repeat the output everywhere.
    if options != "go_backwards" and not (name == "ScoringCell" and keras.backend.backend() == "jax"):
        close(gradients(ours, MASK), gradients(theirs, MASK))


@pytest.mark.parametrize("name", ALL)
@in_turns
def test_one_step_at_a_time(name):
    layer = built(kar.RNN(ALL[name](UNITS), **EVERYTHING))
    outputs, states = [], None
    for t in range(TIME):
        output, states = layer.step(INPUTS[:, t], states)
        outputs.append(output)
    close([ops.stack(outputs, 1), states], layer(INPUTS))


@pytest.mark.parametrize("name", [name for name in ALL if name != "PlainCell"])
@in_turns
def test_in_bidirectional(name):
    with keras.saving.custom_object_scope({cls.__name__: cls for cls in (ALL[name], FOR_KERAS[name])}):
        ours = keras.layers.Bidirectional(kar.RNN(ALL[name](UNITS), return_sequences=True))
        theirs = keras.layers.Bidirectional(keras.layers.RNN(FOR_KERAS[name](UNITS), return_sequences=True))
    close(gradients(built(ours)), gradients(built(theirs)))


# Keras's stack takes the length of what a cell returns, and so drops the rows of a batch of one.
IN_OTHERS = [
    (name, wrapper)
    for name in CELLS
    for wrapper in WRAPPERS
    if not (name == "BareStateCell" and wrapper in ("StackedRNNCells", "a list"))
]


@pytest.mark.parametrize(("name", "wrapper"), IN_OTHERS)
@in_turns
def test_in_other_cells(name, wrapper):
    ours = built(kar.RNN(WRAPPERS[wrapper](CELLS[name](UNITS)), **EVERYTHING))
    theirs = built(keras.layers.RNN(WRAPPERS[wrapper](FOR_KERAS[name](UNITS)), **EVERYTHING))
    close(gradients(ours), gradients(theirs))
    # A row sees nothing of the others.
    alone = ours(INPUTS[1:2])
    close(alone, [each[1:2] for each in arrays(ours(INPUTS))])
    for training in (True, False, True):
        assert all(np.isfinite(each).all() for each in arrays(ours(INPUTS, training=training)))


@pytest.mark.parametrize("name", [name for name in ALL if name != "PlainCell"])
@in_turns
def test_training_and_files(name, tmp_path):
    cell = ALL[name](UNITS, **({"dropout": 0.3, "recurrent_dropout": 0.3} if name == "DroppingCell" else {}))
    model = keras.Sequential([keras.Input((None, FEATURES)), kar.RNN(cell), keras.layers.Dense(1)])
    model.compile("adam", "mse")
    before = model.get_weights()
    for _ in range(2):
        model.fit(INPUTS, np.ones((BATCH, 1)), verbose=0)
        model.predict(INPUTS, verbose=0)
    assert all((a != b).any() for a, b in zip(model.get_weights(), before, strict=True))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras", custom_objects={name: ALL[name]})
    close(loaded.predict(INPUTS, verbose=0), model.predict(INPUTS, verbose=0))
    assert [w.shape for w in loaded.weights] == [w.shape for w in model.weights]


def test_a_cell_that_draws_in_inference_beside_one_that_skips():
    def cells():
        return [
            strangers.DroppingCell(UNITS, dropout=0.3, seed=1),
            kar.SkipCell(cell=kar.ElmanCell(UNITS, seed=2), seed=3),
        ]

    ours = built(kar.RNN(cells()))
    theirs = built(keras.layers.RNN(cells()))
    close(gradients(ours), gradients(theirs))


def test_a_cell_whose_output_is_no_state_cannot_be_wrapped():
    with pytest.raises(ValueError, match="`cell` must be a cell whose first state is its output"):
        kar.ZoneoutCell(cell=strangers.ScoringCell(UNITS))


def test_a_masked_step_repeats_an_output_that_is_no_state(rng):
    layer = built(kar.RNN(strangers.ScoringCell(UNITS), return_sequences=True))
    x = rng.normal(size=(BATCH, TIME, FEATURES)).astype("float32")
    outputs, shorter = (ops.convert_to_numpy(layer(x[:, :time], mask=MASK[:, :time])) for time in (TIME, 2))
    np.testing.assert_allclose(outputs[2, 2:], np.stack([shorter[2, -1]] * 2), rtol=1e-6)
    assert (outputs[2, 1] != outputs[2, 0]).all()


class Reads(kar.GRUCell):
    """A subclass of ours that reads a tensor that it holds, such as the outputs of an encoder."""

    memory = None

    def step(self, projected, states, run):
        return super().step(projected, [states[0] + self.memory], run)


class ReadsByCall(keras.layers.GRUCell):
    """One of Keras's that does so."""

    memory = None

    def call(self, inputs, states, training=False):
        return super().call(inputs, [states[0] + self.memory], training=training)


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        lambda: Reads(4),
        lambda: kar.MogrifierCell(cell=Reads(4), rounds=2),
        lambda: kar.MogrifierCell(cell=ReadsByCall(4), rounds=2),
        lambda: kar.SkipCell(Reads(4)),
    ],
    ids=["subclass", "wrapped", "keras", "skip"],
)
@in_turns
def test_the_gradient_of_what_a_cell_holds(make, recompute, monkeypatch):
    """An engine that forms gradients itself would miss it."""
    monkeypatch.setattr(tuning, "BATCHED_GRADIENT_ENTRIES", 0)
    memory, cell = np.random.default_rng(3).normal(size=(BATCH, 4)).astype("float32"), make()
    reader = getattr(cell, "cell", cell)

    def found(layer, training):
        def total(inputs, memory):
            reader.memory = memory
            return ops.sum(ops.square(layer(inputs, training=training)))

        return tree.flatten(engine.gradients(total, layer.trainable_variables, [INPUTS, memory], compiled=True))

    ours = built(kar.RNN(cell, return_sequences=True, recompute=recompute))
    theirs = keras.layers.RNN(cell, return_sequences=True)
    theirs.build(INPUTS.shape)
    for training in (True, False):
        close(found(ours, training), found(theirs, training))
