"""check_cell finds what is wrong with a cell: each broken cell below breaks one rule, and each check finds one."""

import inspect
import re

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn.testing import check_cell
from keras_adaptive_rnn.testing.checks import CELL_CHECKS
from tests.backends import in_turns

pytestmark = in_turns


@keras.saving.register_keras_serializable(package="tests")
class Plain(keras.layers.Layer):
    """A good cell in plain Keras, written without this package."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = self.state_size = self.output_size = units

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units), name="kernel")
        self.recurrent_kernel = self.add_weight(shape=(self.units, self.units), name="recurrent_kernel")

    def call(self, inputs, states, training=False):
        h = states[0] if isinstance(states, (list, tuple)) else states
        h = ops.tanh(ops.matmul(inputs, self.kernel) + ops.matmul(h, self.recurrent_kernel))
        return h, [h] if isinstance(states, (list, tuple)) else h

    def get_initial_state(self, batch_size=None):
        return ops.zeros((batch_size, self.units), dtype=self.compute_dtype)

    def get_config(self):
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable(package="tests")
class Minimal(keras.layers.Layer):
    """The cell of Keras's documentation, which has neither an `output_size` nor a `get_initial_state`."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = self.state_size = units

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], self.units), name="kernel")
        self.recurrent_kernel = self.add_weight(shape=(self.units, self.units), name="recurrent_kernel")

    def call(self, inputs, states):
        h = ops.matmul(inputs, self.kernel) + ops.matmul(states[0], self.recurrent_kernel)
        return h, [h]

    def get_config(self):
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable(package="tests")
class OutputIsNotAState(kar.ElmanCell):
    def step(self, projected, states, run):
        output, states = super().step(projected, states, run)
        return 2 * output, states


@keras.saving.register_keras_serializable(package="tests")
class ProjectsOneAxis(kar.ElmanCell):
    def project(self, inputs, run):
        projected = super().project(inputs, run)
        return projected + ops.flip(projected, axis=-2)


@keras.saving.register_keras_serializable(package="tests")
class ForgetsAnArgument(kar.ElmanCell):
    def get_config(self):
        return {**super().get_config(), "activation": "relu"}


@keras.saving.register_keras_serializable(package="tests")
class DeadWeight(kar.ElmanCell):
    def build(self, input_shape):
        self.unused = self.add_weight(shape=(2,), name="unused")
        super().build(input_shape)


@keras.saving.register_keras_serializable(package="tests")
class KeepsNoise(kar.ElmanCell):
    """Drops the same features of every batch, for ever."""

    mask = None

    def project(self, inputs, run):
        if self.mask is None:
            self.mask = np.array([0, 2, 0, 2], "float32")
        return super().project(ops.multiply(inputs, self.mask) if run.training else inputs, run)


@keras.saving.register_keras_serializable(package="tests")
class WrongDtype(kar.ElmanCell):
    def step(self, projected, states, run):
        output, states = super().step(projected, states, run)
        return ops.cast(output, "float32"), [ops.cast(s, "float32") for s in states]


class NotRegistered(kar.ElmanCell):
    pass


@keras.saving.register_keras_serializable(package="tests")
class CountsSteps(kar.ElmanCell):
    """A loop that is traced calls `step` once, one that is unrolled in every step."""

    steps = 0

    def step(self, projected, states, run):
        self.steps += 1
        return super().step(projected / self.steps, states, run)


@keras.saving.register_keras_serializable(package="tests")
class MixesRows(kar.ElmanCell):
    def step(self, projected, states, run):
        return super().step(projected - ops.mean(projected, axis=0), states, run)


@keras.saving.register_keras_serializable(package="tests")
class CountsSequences(kar.ElmanCell):
    def build(self, input_shape):
        self.sequences = self.add_weight(shape=(), initializer="zeros", trainable=False, name="sequences")
        super().build(input_shape)

    def get_initial_state(self, batch_size=None):
        self.sequences.assign(self.sequences + 1)
        return [state + self.sequences for state in super().get_initial_state(batch_size)]


@keras.saving.register_keras_serializable(package="tests")
class StartsAtRandom(kar.ElmanCell):
    def get_initial_state(self, batch_size=None):
        return [keras.random.normal((batch_size, self.units), dtype=self.compute_dtype)]


@keras.saving.register_keras_serializable(package="tests")
class SharesALayer(Plain):
    """Python evaluates a default once, for all cells."""

    def __init__(self, units, embed=keras.layers.Dense(4), **kwargs):  # noqa: B008
        super().__init__(units, **kwargs)
        self.embed = embed

    def build(self, input_shape):
        if not self.embed.built:
            self.embed.build(input_shape)
        super().build((None, 4))

    def call(self, inputs, states, training=False):
        return super().call(self.embed(inputs), states, training)


@keras.saving.register_keras_serializable(package="tests")
class KeepsTheBatchSize(kar.ElmanCell):
    def build(self, input_shape):
        self.batch_size = input_shape[0]
        super().build(input_shape)

    def step(self, projected, states, run):
        return super().step(projected * ops.ones((self.batch_size, 1), projected.dtype), states, run)


@keras.saving.register_keras_serializable(package="tests")
class RootOfZero(kar.ElmanCell):
    def step(self, projected, states, run):
        squares = ops.square(self.recurrent(states[0], run))
        return super().step(projected + ops.sqrt(ops.sum(squares, axis=-1, keepdims=True)), states, run)


@keras.saving.register_keras_serializable(package="tests")
class WrongOutputSize(kar.ElmanCell):
    def __init__(self, units, **kwargs):
        super().__init__(units, **kwargs)
        self.output_size = 2 * units


@pytest.mark.parametrize("cell", [Plain, Minimal])
def test_a_good_cell_in_plain_keras_passes(cell):
    check_cell(cell(4), (3, 5, 4))


CHECKS = {check.__name__: check for check in CELL_CHECKS}
# A cell, the check that must fail, and what it must say: a check that raises for another reason finds nothing.
BROKEN = [
    (OutputIsNotAState, "protocol", "AssertionError: .*state 0 must be the output"),
    (ProjectsOneAxis, "protocol", "AssertionError: .*project must treat any leading axes alike"),
    (WrongOutputSize, "protocol", "AssertionError: output of shape .*, output_size says 8"),
    (ForgetsAnArgument, "config", "AssertionError: `activation` is .* in a cell made from the config"),
    (DeadWeight, "loops_agree", "AssertionError: no gradient reaches .*unused"),
    (CountsSteps, "masks_and_directions", "AssertionError: .*our RNN and Keras's with a mask"),
    (MixesRows, "padding", "AssertionError: .*a row's padding changes another row"),
    (KeepsNoise, "noise", "AssertionError: .*two batches of training had the same noise"),
    (CountsSequences, "streaming", "AssertionError: .*steps and one pass"),
    (StartsAtRandom, "resets", "AssertionError: .*the pieces apart"),
    (StartsAtRandom, "stateful", "AssertionError: .*two stateful halves and one pass"),
    (SharesALayer, "wrappers", "AssertionError: Bidirectional has 6 weights, expected 8: two copies share some"),
    (WrongDtype, "mixed_precision", "AssertionError: a step under mixed_bfloat16 returns float32"),
    # Each backend has an error of its own for shapes that do not fit.
    (KeepsTheBatchSize, "unknown_sizes", r"\w+Error: .*[\[(]3,.*[\[(]1,"),
    (RootOfZero, "training", "AssertionError: losses .*nan"),
    (NotRegistered, "saving", "TypeError: .*Could not locate class 'NotRegistered'"),
    (WrongOutputSize, "keras_layer_test", "AssertionError: .*Expected output shapes"),
]


@pytest.mark.parametrize(
    ("make", "check", "message"), BROKEN, ids=[f"{make.__name__}-{check}" for make, check, _ in BROKEN]
)
def test_a_broken_cell_fails(make, check, message):
    others = tuple(name for name in CHECKS if name != check)
    advice = " ".join(inspect.getdoc(CHECKS[check]).split("\n\n")[1].split())
    with pytest.raises(AssertionError, match=rf"(?s)- {check} \(.*\): {message}.*\n  {re.escape(advice)}$"):
        check_cell(make(4), (3, 5, 4), skip=others)


def test_every_check_finds_a_broken_cell():
    assert {check for _, check, _ in BROKEN} == set(CHECKS)


@pytest.mark.parametrize("shape", [(3, 5), (1, 5, 4), (3, 2, 4), (3, None, 4)])
def test_input_shape_is_checked(shape):
    with pytest.raises(ValueError, match="input_shape"):
        check_cell(Plain(4), shape)


def test_skip_is_checked():
    with pytest.raises(ValueError, match=r"skip.*no_such_check"):
        check_cell(Plain(4), (3, 5, 4), skip=("no_such_check",))
