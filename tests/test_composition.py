"""Wrappers around cells, over all kinds of linear maps: they train, and survive a file; or they say at once why not.

Every wrapper meets every cell of the table that it can wrap, cells of Keras, and a stack that holds one; where a cell
takes linear maps, each wrapper brings another kind. All on PyTorch, and a fifth on each of the other backends.
"""

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import maps
from tests.backends import dealt_once, in_turns
from tests.table import CELL_ROWS, OPTIONS

pytestmark = in_turns

UNITS = 4
# Cells in one model: Keras takes longer around a model than the model.
TOGETHER = 3

MAPS = [
    lambda: "full",
    lambda: maps.LowRank(2),
    lambda: maps.BlockDiagonal(2),
    lambda: maps.LowRank(2, diagonal=True, tied=True),
    lambda: maps.LowRank(2, weight_normalization=True),
    lambda: maps.DropConnect(0.3),
]
WRAPPERS = {name: row.wraps for name, row in CELL_ROWS.items() if row.wraps}
ALL = {
    **{name: row.make for name, row in CELL_ROWS.items()},
    "gru_reset_before": OPTIONS["gru_reset_before"],
    "keras_lstm": lambda: keras.layers.LSTMCell(UNITS, dropout=0.2),
    "keras_gru": lambda: keras.layers.GRUCell(UNITS),
    "stack": lambda: kar.StackedCells([kar.LSTMCell(3), keras.layers.SimpleRNNCell(UNITS)]),
}
CELLS = {name: make for name, make in ALL.items() if getattr(make(), "reads_output", True)}


def cell(name, wrapper):
    """Returns a cell of the table, over maps that differ from wrapper to wrapper."""
    made = CELLS[name]()
    config = made.get_config()
    # A stack has maps of several shapes, and a diagonal fits the square ones alone.
    if not {"kernel_map", "recurrent_map"} <= set(config) or hasattr(made, "cells"):
        return made
    # As many wrappers as maps: every cell meets every map.
    kind = MAPS[(list(WRAPPERS).index(wrapper) + list(CELLS).index(name)) % len(MAPS)]
    return type(made).from_config({**config, "kernel_map": kind(), "recurrent_map": kind()})


NAMES = [list(CELLS)[k : k + TOGETHER] for k in range(0, len(CELLS), TOGETHER)]
PAIRS = [pytest.param(wrapper, names, id="-".join([wrapper, *names])) for wrapper in WRAPPERS for names in NAMES]


@pytest.mark.parametrize(("wrapper", "names"), dealt_once(PAIRS))
def test_it_trains_and_is_saved(wrapper, names, rng, tmp_path):
    layers = [kar.RNN(WRAPPERS[wrapper](cell(name, wrapper)), return_sequences=True) for name in names]
    inputs = keras.Input((None, UNITS))
    model = keras.Model(inputs, keras.layers.Average()([layer(inputs) for layer in layers]))
    # TensorFlow takes far longer to lay the loops out in a graph than to run them, which `test_cells` has it do.
    eager = keras.backend.backend() == "tensorflow"
    model.compile(keras.optimizers.Adam(0.01), "mse", run_eagerly=eager)
    x, y = rng.normal(size=(2, 4, 3, UNITS)).astype("float32")
    before = [layer.get_weights() for layer in layers]
    losses = model.fit(x, y, batch_size=2, epochs=1, verbose=0).history["loss"]
    assert np.isfinite(losses).all()
    for layer, weights in zip(layers, before, strict=True):
        assert any(np.abs(a - b).max() > 1e-6 for a, b in zip(layer.get_weights(), weights, strict=True)), layer.cell
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded.predict(x, verbose=0), model.predict(x, verbose=0), rtol=1e-5, atol=1e-6)


# What reads only a part of its state cannot have its output changed on the way to the next step.
UNREAD_OUTPUTS = [
    lambda: kar.GridLSTMCell(UNITS, depth=2),
    lambda: kar.StackedCells([kar.LSTMCell(UNITS), kar.LSTMCell(UNITS)], connection="skip"),
    lambda: kar.StackedCells([kar.LSTMCell(UNITS), kar.GridLSTMCell(UNITS, depth=2)]),
]


@pytest.mark.parametrize("make", UNREAD_OUTPUTS)
@pytest.mark.parametrize("wrapper", [name for name in WRAPPERS if name != "skip"])
def test_what_cannot_be_composed_says_so(wrapper, make):
    with pytest.raises(ValueError, match=r"`cell` of \w+ must be a cell that reads its output in the next step"):
        WRAPPERS[wrapper](make())
