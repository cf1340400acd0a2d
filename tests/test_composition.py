"""Modulators over cores over maps: they train, and survive a file; or they say at once why not.

Every modulator meets every core and every map, and every core every map, if not all three at once; all on PyTorch,
and a third of the pairs on each of the other backends.
"""

import itertools

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import maps
from tests.backends import dealt

UNITS = 4

MAPS = {
    "full": lambda: "full",
    "low_rank": lambda: maps.LowRank(2),
    "low_rank_tied": lambda: maps.LowRank(2, diagonal=True, tied=True),
    "normalized": lambda: maps.LowRank(2, weight_normalization=True),
    "drop_connect": lambda: maps.DropConnect(0.3),
}
CORES = {
    "elman": lambda **maps: kar.ElmanCell(UNITS, **maps),
    "gru": lambda **maps: kar.GRUCell(UNITS, **maps),
    "gru_reset_before": lambda **maps: kar.GRUCell(UNITS, reset_after=False, **maps),
    "lstm": lambda **maps: kar.LSTMCell(UNITS, **maps),
    "recurrent_highway": lambda **maps: kar.RecurrentHighwayCell(UNITS, depth=2, **maps),
    "adaptive_lstm": lambda **maps: kar.AdaptiveLSTMCell(UNITS, policy_units=2, **maps),
    "adaptive_rnn": lambda **maps: kar.AdaptiveRNNCell(UNITS, policy_units=2, tied=False, **maps),
}
# Cells that decide their maps themselves, and cells of cells.
WHOLE_CELLS = {
    "low_rank": [
        lambda: kar.LowRankGRUCell(UNITS, rank=2),
        lambda: kar.LowRankLSTMCell(UNITS, rank=2),
        lambda: kar.WeightDropLSTMCell(UNITS),
    ],
    "keras": [lambda: keras.layers.LSTMCell(UNITS, dropout=0.2), lambda: keras.layers.GRUCell(UNITS)],
    "stacks": [
        lambda: kar.StackedCells([kar.LSTMCell(3), keras.layers.SimpleRNNCell(UNITS)]),
        lambda: kar.StackedAdaptiveLSTMCells([3, UNITS], policy_units=2),
    ],
    "modulators": [
        lambda: kar.MogrifierCell(UNITS, rounds=2),
        lambda: kar.MultiplicativeLSTMCell(UNITS),
        lambda: kar.ZoneoutCell(UNITS),
        lambda: kar.SkipCell(kar.GRUCell(UNITS)),
    ],
}
MODULATORS = {
    "mogrifier": lambda cell: kar.MogrifierCell(cell=cell, rounds=2, rank=2),
    "multiplicative": lambda cell: kar.MultiplicativeLSTMCell(cell=cell),
    "zoneout": lambda cell: kar.ZoneoutCell(cell=cell),
}
DECIDERS = {
    "skip": lambda cell: kar.SkipCell(cell),
    "skim": lambda cell: kar.SkimCell(cell, kar.ElmanCell(2)),
}


def cells(modulator, core):
    """Returns cells of a kind: with two of the maps, other ones for each modulator."""
    if core in WHOLE_CELLS:
        return [make() for make in WHOLE_CELLS[core]]
    # Three modulators with two each go around all maps.
    first = 2 * list(MODULATORS).index(modulator) + list(CORES).index(core)
    chosen = [list(MAPS.values())[(first + k) % len(MAPS)] for k in range(2)]
    return [CORES[core](kernel_map=make(), recurrent_map=make()) for make in chosen]


@pytest.mark.parametrize(
    ("modulator", "core"),
    dealt(
        [
            *itertools.product(MODULATORS, [*CORES, *WHOLE_CELLS]),
            *itertools.product(DECIDERS, ["stacks", "modulators"]),
        ]
    ),
)
def test_it_trains_and_is_saved(modulator, core, rng, tmp_path):
    make = (MODULATORS | DECIDERS)[modulator]
    layers = [kar.RNN(make(cell), return_sequences=True) for cell in cells(modulator, core)]
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
@pytest.mark.parametrize("modulator", [*MODULATORS, "skim"])
def test_what_cannot_be_composed_says_so(modulator, make):
    with pytest.raises(ValueError, match=r"`cell` of \w+ must be a cell that reads its output in the next step"):
        (MODULATORS | DECIDERS)[modulator](make())
