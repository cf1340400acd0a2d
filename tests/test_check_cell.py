"""check_cell finds what is wrong with a cell: each broken cell below breaks one rule."""

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
class OutputIsNotAState(kar.ElmanCell):
    def step(self, projected, states, training=False):
        output, states = super().step(projected, states, training)
        return 2 * output, states


@keras.saving.register_keras_serializable(package="tests")
class ProjectsOneAxis(kar.ElmanCell):
    def project(self, inputs, training=False):
        projected = super().project(inputs, training)
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

    def project(self, inputs, training=False):
        if self.mask is None:
            self.mask = np.array([0, 2, 0, 2], "float32")
        return super().project(ops.multiply(inputs, self.mask) if training else inputs, training)


@keras.saving.register_keras_serializable(package="tests")
class WrongDtype(kar.ElmanCell):
    def step(self, projected, states, training=False):
        output, states = super().step(projected, states, training)
        return ops.cast(output, "float32"), [ops.cast(s, "float32") for s in states]


class NotRegistered(kar.ElmanCell):
    pass


def test_a_good_cell_in_plain_keras_passes():
    check_cell(Plain(4), (3, 5, 4))


# A cell, the check that must fail, and what it must say: a check that raises for another reason finds nothing.
BROKEN = [
    (OutputIsNotAState, "protocol", "AssertionError: .*state 0 must be the output"),
    (ProjectsOneAxis, "protocol", "AssertionError: .*project must treat any leading axes alike"),
    (ForgetsAnArgument, "config", "AssertionError: `activation` is .* in a cell made from the config"),
    (DeadWeight, "loops_agree", "AssertionError: no gradient reaches .*unused"),
    (KeepsNoise, "noise", "AssertionError: .*two batches of training had the same noise"),
    (WrongDtype, "mixed_precision", "AssertionError: a step under mixed_bfloat16 returns float32"),
    (NotRegistered, "saving", "TypeError: .*Could not locate class 'NotRegistered'"),
]


@pytest.mark.parametrize(("make", "check", "message"), BROKEN, ids=[make.__name__ for make, *_ in BROKEN])
def test_a_broken_cell_fails(make, check, message):
    others = tuple(c.__name__ for c in CELL_CHECKS if c.__name__ != check)
    with pytest.raises(AssertionError, match=rf"(?s)- {check} \(.*\): {message}"):
        check_cell(make(4), (3, 5, 4), skip=others)


@pytest.mark.parametrize("shape", [(3, 5), (1, 5, 4), (3, 2, 4), (3, None, 4)])
def test_input_shape_is_checked(shape):
    with pytest.raises(ValueError, match="input_shape"):
        check_cell(Plain(4), shape)


def test_skip_is_checked():
    with pytest.raises(ValueError, match=r"skip.*no_such_check"):
        check_cell(Plain(4), (3, 5, 4), skip=("no_such_check",))
