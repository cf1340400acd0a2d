"""From one seed, every place draws numbers of its own, however deep it is, and a copy draws the same ones."""

import keras
import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import maps
from keras_adaptive_rnn._keras import flatten_layers
from keras_adaptive_rnn._seeds import fold_in
from keras_adaptive_rnn.cells.bases.composite import CompositeCell
from keras_adaptive_rnn.layers.cell_layer import CellLayer
from tests.backends import RUNS_ALL

seeds = st.integers(0, 2**31 - 1)
paths = st.lists(st.integers(0, 10_000) | st.text(max_size=8), max_size=6).map(tuple)


@given(seeds, st.sets(paths, min_size=2, max_size=50))
def test_no_two_places_have_one_seed(seed, places):
    found = {fold_in(seed, *place) for place in places}
    assert len(found) == len(places)
    assert all(isinstance(each, int) and 0 <= each < 2**31 for each in found)


@given(seeds, paths, paths)
def test_places_nest(seed, outer, inner):
    assert fold_in(fold_in(seed, *outer), *inner) == fold_in(seed, *outer, *inner)


def test_a_seed_is_the_same_in_every_process_and_version():
    assert fold_in(0) == 0
    assert fold_in(0, "cell", 1) == 2_067_624_978
    assert fold_in(None, "cell", 1) is None


@keras.saving.register_keras_serializable(package="tests.test_seeds")
class Drawn(keras.initializers.RandomNormal):
    """Remembers the seed of each of its draws."""

    seeds = []

    def __call__(self, shape, dtype=None):
        self.seeds.append(self.seed)
        return super().__call__(shape, dtype)


class Group(CompositeCell):
    """Three like cells."""

    takes_arguments_of = kar.LSTMCell

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.cells = [self.make(k, units) for k in range(3)]
        self.state_size, self.output_size = self.cells[0].state_size, self.cells[0].output_size

    def first_part(self):
        return self.cells[0]

    def build(self, input_shape):
        for cell in self.cells:
            cell.build(input_shape)
        super().build(input_shape)


def around(kind, inner, level):
    """Returns a new class of cells, a group or a wrapper, whose cells are of the class `inner`."""
    base = {"group": Group, "mogrifier": kar.MogrifierCell, "multiplicative": kar.MultiplicativeLSTMCell}[kind]
    more = {} if kind == "group" else {"cores": {"lstm": inner}}
    return type(f"{kind.title()}{level}", (base,), {"takes_arguments_of": inner, **more})


INNERMOST = {
    "lstm": (kar.LSTMCell, lambda: {"projection_units": 2, "recurrent_map": maps.DropConnect(0.5, seed=8)}),
    "low_rank": (kar.GRUCell, lambda: {"kernel_map": maps.LowRank(2), "recurrent_map": maps.LowRank(2, tied=True)}),
    "deep": (kar.DeepRNNCell, lambda: {"depth": 3, "kernel_map": maps.LowRank(2, initializer=Drawn(seed=9))}),
    "weight_drop": (kar.WeightDropLSTMCell, dict),
    "adaptive": (kar.AdaptiveLSTMCell, lambda: {"policy_units": 2, "adaptation": "sva", "tied": False}),
    "highway": (kar.RecurrentHighwayCell, lambda: {"depth": 2, "recurrent_map": maps.LowRank(2, tied=True)}),
}


def drawn(layer):
    """Builds a layer, and returns the seeds of its initializers' draws and those of its generators."""
    Drawn.seeds.clear()
    layer.build((None, None, 4))
    seeded = [vars(part).values() for part in flatten_layers(layer) if getattr(part, "seed", None) is not None]
    generators = [each for values in seeded for each in values if isinstance(each, keras.random.SeedGenerator)]
    return list(Drawn.seeds), [int(ops.convert_to_numpy(generator.state)[0]) for generator in generators]


def assert_different(make):
    layer = make()
    initial, noise = drawn(layer)
    assert len(set(initial)) == len(initial) > 1
    assert len(set(noise)) == len(noise) > 0
    assert drawn(type(layer).from_config(layer.get_config())) == (initial, noise)


# What fails is small, and each try builds layers.
@settings(max_examples=10 if RUNS_ALL else 4, deadline=None, phases=set(Phase) - {Phase.shrink, Phase.explain})
@given(
    st.sampled_from(sorted(INNERMOST)),
    st.lists(st.sampled_from(["group", "mogrifier", "multiplicative"]), max_size=3),
    st.integers(1, 3),
)
def test_no_two_parts_of_a_nesting_draw_the_same(innermost, kinds, size):
    cls, arguments = INNERMOST[innermost]
    for level, kind in enumerate(kinds):
        cls = around(kind, cls, level)
    layer_class = type("Layer", (CellLayer,), {}, cell_class=cls)
    kernel, recurrent = Drawn(seed=0), Drawn(seed=10_000)
    assert_different(
        lambda: layer_class(
            [4] * size, seed=0, kernel_initializer=kernel, recurrent_initializer=recurrent, **arguments()
        )
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda **given: kar.GridLSTM([4, 4], depth=2, **given),
        lambda **given: kar.AdaptiveLSTM([4, 4], policy_units=2, policy_initializer=Drawn(seed=5), **given),
        lambda **given: kar.Mogrifier([4, 4], core="gru", rank=2, gate_initializer=Drawn(seed=5), **given),
        lambda **given: kar.Zoneout([4, 4], zoneout=0.1, **given),
    ],
    ids=["grid", "adaptive", "mogrifier", "zoneout"],
)
def test_no_two_parts_of_a_layer_draw_the_same(make):
    assert_different(lambda: make(seed=3, kernel_initializer=Drawn(seed=1), recurrent_initializer=Drawn(seed=2)))


def test_rates_and_widths_of_a_delta_net_are_drawn_apart():
    cell = kar.GatedDeltaNetCell(64, num_heads=64, seed=1)
    cell.build((1, 2))
    rates, widths = (keras.ops.convert_to_numpy(weight) for weight in (cell.rate, cell.width))
    # Where in its range each is: from one stream of numbers, the two would be alike.
    places = np.exp(rates), np.log(np.log1p(np.exp(widths)))
    assert abs(np.corrcoef(*places)[0, 1]) < 0.5
