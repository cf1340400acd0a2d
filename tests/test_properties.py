"""Any valid configuration survives its config, and computes the same afterwards; any invalid one raises."""

import json
import os

import keras
import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import maps
from tests.backends import dealt, in_turns

pytestmark = in_turns

# Other examples in every run: a failure prints `@reproduce_failure(...)`, which repeats it on any backend.
EXAMPLES = int(os.environ.get("KAR_EXAMPLES", 8))
quiet = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
    print_blob=True,
    # What fails is small, and each try builds layers.
    phases=set(Phase) - {Phase.shrink, Phase.explain},
)
flags = st.booleans()


def made_of(cls, **arguments):
    """A strategy of objects yet to be made, as `(class, arguments)`: Keras draws seeds when it makes them."""
    return st.fixed_dictionaries(arguments).map(lambda drawn: (cls, drawn))


def make(value):
    if isinstance(value, list):
        return [make(each) for each in value]
    if isinstance(value, tuple):
        cls, arguments = value
        return cls(**{name: make(argument) for name, argument in arguments.items()})
    return value


rates = st.sampled_from([0.0, 0.25, 0.9])
linear_maps = st.one_of(
    st.just("full"),
    made_of(maps.LowRank, rank=st.integers(1, 2), tied=flags),
    made_of(maps.DropConnect, rate=rates, variational=flags),
    made_of(maps.Full, weight_normalization=flags),
)
common = {
    "units": st.integers(2, 5),
    "activation": st.sampled_from(["tanh", "relu", keras.activations.elu]),
    "use_bias": flags,
    "kernel_initializer": st.sampled_from(["glorot_uniform", keras.initializers.RandomNormal(seed=3)]),
    "recurrent_regularizer": st.sampled_from([None, "l2", keras.regularizers.L1(0.1)]),
    "kernel_constraint": st.sampled_from([None, "unit_norm"]),
    "dropout": rates,
    "recurrent_dropout": rates,
    "seed": st.sampled_from([None, 0, 7]),
    "trainable_initial_state": flags,
    "layer_normalization": flags,
    "kernel_map": linear_maps,
    "recurrent_map": linear_maps,
    "dtype": st.sampled_from([None, "float32", "mixed_bfloat16"]),
}
lstm = {
    **common,
    "unit_forget_bias": flags,
    "projection_units": st.sampled_from([None, 3]),
    "cell_clip": st.sampled_from([None, 0.5]),
    "update_dropout": rates,
}
low_rank = {name: value for name, value in common.items() if name not in ("kernel_map", "recurrent_map")}
low_rank |= {
    "rank": st.integers(1, 2),
    "diagonal": flags,
    "tied": flags,
    "carry_bias": st.sampled_from([0.0, 4.0]),
    "weight_normalization": flags,
}
adaptive = {name: value for name, value in common.items() if name != "layer_normalization"}
adaptive |= {
    "policy_units": st.integers(1, 3),
    "policy": st.sampled_from(["static", "recurrent"]),
    "adaptation": st.sampled_from(["io", "input", "output", "sva"]),
    "tied": flags,
    "policy_dropout": rates,
    "policy_initializer": st.sampled_from(["orthogonal", keras.initializers.RandomNormal(seed=5)]),
}
sva = adaptive | {"adaptation": st.just("sva"), "rank": st.just(2)}
depth = st.integers(1, 3)
cores = st.one_of(
    made_of(kar.ElmanCell, **common, per_gate_dropout=flags),
    made_of(kar.GRUCell, **common, reset_after=flags, per_gate_dropout=flags),
    made_of(kar.LSTMCell, **lstm, tied_gates=flags),
    made_of(kar.LSTMCell, **lstm, cap_input_gate=flags),
)
new_cells = st.one_of(
    made_of(kar.LowRankGRUCell, **low_rank, reset_after=flags),
    made_of(kar.LowRankLSTMCell, **low_rank, tied_gates=flags),
    made_of(kar.AdaptiveLSTMCell, **adaptive),
    made_of(kar.AdaptiveRNNCell, **adaptive),
    made_of(kar.AdaptiveLSTMCell, **sva),
    made_of(
        kar.RecurrentHighwayCell,
        **common,
        depth=depth,
        coupled=flags,
        transform_bias=st.sampled_from([-2.0, 1.0]),
        per_gate_dropout=flags,
    ),
    made_of(
        kar.WeightDropLSTMCell,
        **{name: value for name, value in lstm.items() if name != "recurrent_map"},
        recurrent_weight_dropout=rates,
        variational=flags,
        per_gate_dropout=flags,
    ),
    made_of(
        kar.DeepRNNCell,
        **{name: value for name, value in common.items() if name != "layer_normalization"},
        depth=depth,
        skip_every=st.integers(1, 3),
        block_dropout=rates,
    ),
)
sizes = st.lists(st.integers(2, 4), min_size=1, max_size=3)
plain = [kar.ElmanCell, kar.GRUCell, kar.LSTMCell, keras.layers.GRUCell]
cells = st.one_of(cores, new_cells)
composites = st.one_of(
    made_of(kar.GridLSTMCell, **{k: v for k, v in common.items() if k != "seed"}, depth=depth, tied=flags),
    made_of(kar.StackedAdaptiveLSTMCells, **adaptive | {"units": sizes}),
    made_of(kar.StackedAdaptiveRNNCells, **adaptive | {"units": sizes}),
    made_of(kar.StackedCells, cells=st.lists(cells, min_size=1, max_size=3), trainable_initial_state=flags),
    # The connections ask for outputs of one size.
    st.integers(2, 4).flatmap(
        lambda units: made_of(
            kar.StackedCells,
            cells=st.lists(
                st.one_of([made_of(cell, units=st.just(units), dropout=rates) for cell in plain]),
                min_size=1,
                max_size=3,
            ),
            connection=st.sampled_from(["skip", "residual"]),
        )
    ),
)
noise = {name: common[name] for name in ("dropout", "recurrent_dropout", "seed", "trainable_initial_state")}
# Wrappers refuse a cell that does not read its output in the next step, as one that may leave its last block out.
readers = cells.filter(lambda drawn: not drawn[1].get("block_dropout"))
modulators = st.one_of(
    made_of(
        kar.MogrifierCell,
        cell=readers,
        rounds=st.integers(0, 6),
        rank=st.sampled_from([None, 1, 2]),
        zigzag=flags,
        gate_bias=flags,
        gate_activation=st.sampled_from(["sigmoid", "tanh"]),
        **noise,
    ),
    made_of(kar.MultiplicativeLSTMCell, cell=readers, factor_bias=flags, **noise),
    made_of(kar.ZoneoutCell, cell=readers, zoneout=rates, seed=common["seed"]),
    made_of(kar.ZoneoutCell, **lstm, zoneout=st.lists(rates, min_size=2, max_size=2)),
    made_of(
        kar.MogrifierCell,
        **common,
        rounds=st.integers(0, 3),
        static_gates=flags,
        core=st.sampled_from(["lstm", "gru", "elman"]),
    ),
)

small = st.sampled_from([kar.GRUCell, kar.LSTMCell, keras.layers.GRUCell]).flatmap(
    lambda c: made_of(c, units=st.just(2))
)
deciders = st.one_of(
    made_of(kar.SkipCell, cell=cores, update_bias=st.sampled_from([-1.0, 1.0]), trainable_initial_state=flags),
    made_of(kar.SkimCell, cell=cores, small_cell=small, temperature=st.sampled_from([0.1, 2.0]), seed=common["seed"]),
    made_of(
        kar.VariableComputationCell,
        **common,
        core=st.sampled_from(["rnn", "gru"]),
        epsilon=st.sampled_from([0.0, 0.3]),
        soft_inference=flags,
    ),
)
KINDS = {"cores": cores, "new": new_cells, "made": composites, "modulators": modulators, "deciders": deciders}


@pytest.mark.parametrize("kind", dealt(KINDS))
def test_config_round_trip(kind):
    quiet(given(KINDS[kind])(check_round_trip))()


def check_round_trip(drawn):
    cell = make(drawn)
    config = keras.saving.serialize_keras_object(cell)
    revived = keras.saving.deserialize_keras_object(json.loads(json.dumps(config)))
    assert json.dumps(keras.saving.serialize_keras_object(revived)) == json.dumps(config)
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    outputs = []
    for each in (cell, revived):
        layer = kar.RNN(each)
        layer.build(x.shape)
        layer.set_weights([np.linspace(-1, 1, max(1, int(np.prod(w.shape)))).reshape(w.shape) for w in layer.weights])
        outputs.append(keras.ops.convert_to_numpy(keras.ops.cast(layer(x), "float32")))
    np.testing.assert_array_equal(*outputs)
    assert np.isfinite(outputs[0]).all()


INVALID = st.one_of(
    st.integers(max_value=-1),
    st.floats(min_value=1.0),
    st.floats(max_value=-1e-9),
    st.just(float("nan")),
    st.text(max_size=3),
    st.just([]),
    st.booleans(),
)
# Arguments that take a positive integer or a rate, and what their class needs beside them.
CHECKED = [
    *(
        (kar.MogrifierCell, name, {})
        for name in ("units", "rounds", "rank", "dropout", "recurrent_dropout", "update_dropout", "seed")
    ),
    (kar.AdaptiveLSTMCell, "policy_units", {}),
    (kar.AdaptiveLSTMCell, "policy_dropout", {}),
    (kar.AdaptiveRNNCell, "rank", {"adaptation": "sva"}),
    (kar.AdaptiveLSTM, "output_dropout", {}),
    (kar.LowRankGRUCell, "rank", {}),
    (kar.RecurrentHighwayCell, "depth", {}),
    (kar.GridLSTMCell, "depth", {}),
    (kar.GridLSTMBlock, "dimensions", {}),
    (kar.WeightDropLSTMCell, "recurrent_weight_dropout", {}),
    (kar.ZoneoutCell, "zoneout", {}),
    (kar.DeepRNNCell, "depth", {}),
    (kar.VariableComputationCell, "target", {}),
    (kar.DeepRNNCell, "skip_every", {"depth": 2}),
    (kar.DeepRNNCell, "block_dropout", {"depth": 2}),
]


@settings(quiet, max_examples=8 * EXAMPLES)
@given(checked=st.sampled_from(CHECKED), value=INVALID)
def test_an_invalid_argument_is_named(checked, value):
    cls, name, needed = checked
    with pytest.raises((ValueError, TypeError)) as caught:
        cls(**{"units": 4, **needed, name: value})
    assert f"`{name}`" in str(caught.value)
    assert repr(value) in str(caught.value)
