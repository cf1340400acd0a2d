"""Copies from a config: the same weights in the same order, from the same numbers."""

import inspect

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import layers, maps
from tests.backends import dealt, dealt_once, in_turns
from tests.table import CELL_ROWS, CELLS, OPTIONS

pytestmark = in_turns

EQUATIONS = {
    f"{row_name}_{name}": make for row_name, row in CELL_ROWS.items() for name, (make, _) in row.equations.items()
}
MAPS = {
    "full": lambda: maps.Full(),
    "normalized": lambda: maps.Full(weight_normalization=True),
    "initialized": lambda: maps.Full(initializer="random_normal"),
    "low_rank": lambda: maps.LowRank(2, diagonal_initializer="ones"),
    "block_diagonal": lambda: maps.BlockDiagonal(1),
    "drop_connect": lambda: maps.DropConnect(0.2),
}


def with_given_maps():
    """Yields every cell that takes a map, with each kind of map in each of its slots."""
    sizes = {"GridLSTMCell": {"depth": 1}, "DeepRNNCell": {"depth": 3}}
    for cls in {type(make()) for make in CELLS.values()}:
        accepted = inspect.signature(cls).parameters
        slots = [name for name in accepted if name.endswith("_map")]
        units = [3, 3] if "Stacked" in cls.__name__ else 4
        own = sizes.get(cls.__name__, {})
        for slot in slots:
            for name, make_map in MAPS.items():
                yield (
                    f"{cls.__name__}_{slot}_{name}",
                    lambda cls=cls, units=units, own=own, slot=slot, m=make_map: cls(units, **own, **{slot: m()}),
                )


WITH_MAPS = dict(sorted(with_given_maps()))
LAYERS = {
    "stack": lambda: layers.Mogrifier([4, 3, 3], recurrent_map=maps.LowRank(2), kernel_initializer="he_normal"),
    "stack_of_defaults": lambda: layers.LSTM([4, 3]),
    "adaptive_stack": lambda: layers.AdaptiveLSTM([4, 3], policy_units=2, kernel_map=maps.LowRank(2)),
    "grid": lambda: layers.GridLSTM(4, depth=2, kernel_initializer="he_normal"),
    "block": lambda: kar.GridLSTMBlock(4, recurrent_map=maps.Full(), recurrent_initializer="he_normal"),
    "nested": lambda: layers.RNN(
        kar.SkipCell(kar.StackedCells([kar.LSTMCell(4, recurrent_map=maps.DropConnect(0.2)), kar.MogrifierCell(4)]))
    ),
    "skim": lambda: layers.Skim(kar.LSTMCell(4), keras.layers.LSTMCell(2)),
    "adaptive_dense": lambda: layers.AdaptiveDense(4, policy=keras.layers.Dense(12), rank=2),
    "mixture": lambda: layers.MixtureOfSoftmaxes(2, layers.TiedEmbedding(5, 3)),
}


def built(make, build):
    keras.utils.set_random_seed(3)
    layer = make()
    build(layer)
    return layer


def build_layer(layer):
    shapes = ([(2, 4)] * 2, [(2, 4)] * 2) if isinstance(layer, kar.GridLSTMBlock) else ((2, 3, 5),)
    layer.build(*shapes)


def assert_copied(make, build):
    layer = built(make, build)
    expected = [keras.ops.convert_to_numpy(w) for w in layer.weights]
    assert expected
    for config in (make().get_config(), layer.get_config()):
        copy = built(lambda config=config: type(layer).from_config(config), build)
        assert [w.name for w in copy.weights] == [w.name for w in layer.weights]
        for ours, theirs in zip(copy.weights, expected, strict=True):
            np.testing.assert_array_equal(keras.ops.convert_to_numpy(ours), theirs)


@pytest.mark.parametrize(("name", "make"), dealt_once({**CELLS, **OPTIONS, **EQUATIONS}.items()))
def test_a_copy_of_a_cell_starts_like_the_cell(name, make):
    assert_copied(make, lambda cell: cell.build((2, 5)))


@pytest.mark.parametrize(("name", "make"), dealt_once(WITH_MAPS.items()))
def test_a_copy_of_a_cell_with_a_given_map_starts_like_the_cell(name, make):
    assert_copied(make, lambda cell: cell.build((2, 5 if "diagonal" not in name else 4)))


@pytest.mark.parametrize(("name", "make"), dealt(LAYERS.items()))
def test_a_copy_of_a_layer_starts_like_the_layer(name, make):
    assert_copied(make, build_layer)


@pytest.mark.parametrize(
    "make",
    [
        lambda: kar.StackedAdaptiveLSTMCells([3, 3], policy_units=2, recurrent_map=maps.LowRank(1)),
        lambda: kar.GridLSTMCell(3, depth=1, recurrent_map=maps.Full()),
    ],
    ids=["stack", "grid"],
)
def test_the_optimizer_goes_on_after_loading(make, rng, tmp_path):
    model = keras.Sequential([keras.Input((4, 3)), layers.RNN(make()), keras.layers.Dense(1)])
    model.compile(keras.optimizers.Adam(0.01), "mse")
    x, y = rng.normal(size=(8, 4, 3)), rng.normal(size=(8, 1))

    def losses(model):
        return model.fit(x, y, epochs=3, verbose=0, shuffle=False).history["loss"]

    losses(model)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(losses(loaded), losses(model), rtol=1e-5)
