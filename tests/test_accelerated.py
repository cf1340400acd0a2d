"""`RNN.accelerated` says of which cells the loop forms the products."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn._products import override_matmul
from tests.table import CELLS, OPTIONS

OF_KERAS_INSIDE = {"stack_skip", "mogrifier_around_keras", "skip_around_stack", "skim_of_two_kinds"}


class Own(keras.layers.Layer):
    """A cell of a user's own."""

    state_size = 4

    def build(self, input_shape):
        self.kernel = self.add_weight(shape=(input_shape[-1], 4))

    def call(self, inputs, states):
        output = ops.tanh(ops.matmul(inputs, self.kernel) + states[0])
        return output, [output]


@pytest.mark.parametrize("name", [*CELLS, *OPTIONS])
def test_our_cells(name):
    assert kar.RNN({**CELLS, **OPTIONS}[name]()).accelerated == (name not in OF_KERAS_INSIDE)


def test_stacks_and_strangers():
    assert kar.LSTM(4).accelerated
    assert kar.RNN([kar.LSTMCell(4), kar.GRUCell(4)]).accelerated
    assert not kar.RNN([kar.LSTMCell(4), keras.layers.GRUCell(4)]).accelerated


@pytest.mark.parametrize("make", [lambda: kar.GRUCell(4), lambda: keras.layers.LSTMCell(4), Own])
def test_it_is_what_the_loop_finds(make):
    layer, found = kar.RNN(make()), []
    layer.build((2, 3, 5))

    def form(a, kernel):
        found.append(kernel)
        return ops.matmul(a, kernel)

    with override_matmul(form):
        inputs = np.ones((2, 5), "float32")
        layer.step_uncompiled(ops.convert_to_tensor(inputs), layer.get_initial_state(2))
    # Outside a sequence a map forms its products itself.
    assert not found
    found.clear()
    kar.cells.bases.any_cell.start_sequence(layer.cell, 2, False, 5)
    try:
        with override_matmul(form):
            layer.step_uncompiled(ops.convert_to_tensor(inputs), layer.get_initial_state(2))
    finally:
        kar.cells.bases.any_cell.end_sequence(layer.cell)
    assert bool(found) == layer.accelerated
