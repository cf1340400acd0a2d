"""The arguments of every class: positions, names, and their place in `repr` and errors."""

import inspect

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import maps
from keras_adaptive_rnn._export import PUBLIC
from tests.backends import in_turns

pytestmark = in_turns

X = np.ones((2, 5, 3), "float32")
OURS_OF_KERAS = {
    "LSTM": kar.LSTM,
    "LSTMCell": kar.LSTMCell,
    "GRU": kar.GRU,
    "GRUCell": kar.GRUCell,
    "SimpleRNN": kar.Elman,
    "SimpleRNNCell": kar.ElmanCell,
    "RNN": kar.RNN,
}
# Those of `hub`, which another test may have imported, take arguments as the classes of KerasHub do.
LAYERS = [cls for cls in PUBLIC if issubclass(cls, keras.Layer) and ".hub." not in cls.__module__]
CLASSES = [cls for cls in LAYERS if cls.__module__.startswith("keras_adaptive_rnn.")]
CLASSES.remove(kar.Bidirectional)  # It has Keras's constructor.


def by_position(signature):
    return [name for name, p in signature.parameters.items() if p.kind is p.POSITIONAL_OR_KEYWORD and name != "self"]


# Positions.


@pytest.mark.parametrize("name", OURS_OF_KERAS)
def test_positions_begin_as_those_of_keras(name):
    ours = by_position(inspect.signature(OURS_OF_KERAS[name]))
    theirs = by_position(inspect.signature(getattr(keras.layers, name).__init__))
    assert ours == theirs[: len(ours)]
    assert len(ours) >= 3


@pytest.mark.parametrize(
    ("ours", "theirs", "arguments"),
    [
        (kar.LSTM, keras.layers.LSTM, (4, "relu", "tanh", False)),
        (kar.LSTMCell, keras.layers.LSTMCell, (4, "relu", "tanh", False)),
        (kar.GRU, keras.layers.GRU, (4, "relu", "tanh", False)),
        (kar.GRUCell, keras.layers.GRUCell, (4, "relu", "tanh", False)),
        (kar.Elman, keras.layers.SimpleRNN, (4, "relu", False)),
        (kar.ElmanCell, keras.layers.SimpleRNNCell, (4, "relu", False)),
    ],
    ids=lambda case: getattr(case, "__name__", ""),
)
def test_a_position_means_the_same_as_in_keras(ours, theirs, arguments):
    ours, theirs = ours(*arguments).get_config(), theirs(*arguments).get_config()
    shared = set(ours) & set(theirs) - {"name"}
    assert not ours["use_bias"]
    assert {name: ours[name] for name in shared} == {name: theirs[name] for name in shared}


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_a_signature_is_true(cls):
    """One more than the listed positional arguments raises, and the error names them."""
    names = by_position(cls.__signature__)
    with pytest.raises(TypeError) as caught:
        cls(*[4] * (len(names) + 1))
    assert all(word in str(caught.value) for word in (cls.__name__, "by position", *names))


def test_a_subclass_passes_positions_on():
    class Relu(kar.LSTMCell):
        def __init__(self, units, **kwargs):
            super().__init__(units, "relu", **kwargs)

    assert by_position(Relu.__signature__) == ["units"]
    assert Relu(4, use_bias=False).activation is keras.activations.relu
    with pytest.raises(TypeError, match="`units` twice"):
        kar.LSTMCell(4, units=3)

    class Layer(kar.LSTM):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)

    assert by_position(Layer.__signature__) == by_position(kar.LSTM.__signature__)
    assert Layer(4, "relu").activation is keras.activations.relu


REDECLARED = [
    (kar.LSTM, "use_bias", False),
    (kar.GRU, "return_sequences", True),
    (kar.LSTM, "stateful", True),
    (kar.Mogrifier, "dropout", 0.5),
    (kar.Mogrifier, "rounds", 2),
    (kar.MogrifierCell, "use_bias", False),
    (kar.MogrifierCell, "dropout", 0.5),
    (kar.AdaptiveLSTM, "output_dropout", 0.5),
    (kar.AdaptiveLSTM, "policy_dropout", 0.5),
    (kar.StackedAdaptiveLSTMCells, "dropout", 0.5),
    (kar.GridLSTMCell, "depth", 2),
    (kar.GridLSTMBlock, "use_bias", False),
    (kar.WeightDropLSTMCell, "dropout", 0.5),
]


@pytest.mark.parametrize(("cls", "name", "value"), REDECLARED)
def test_a_subclass_declares_arguments_again(cls, name, value):
    def init(self, units, **kwargs):
        cls.__init__(self, units, **{name: value, **kwargs})

    parameters = inspect.signature(init).parameters
    again = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
    init.__signature__ = inspect.Signature(
        [parameters["self"], parameters["units"], again, parameters["kwargs"]],
    )
    units = [4] if "Stacked" in cls.__name__ else 4
    subclass = type("Subclass", (cls,), {"__init__": init})
    config = subclass(units).get_config()
    assert (config["units"], config[name]) == (units, value)
    assert subclass.from_config(config).get_config() == config


# Names.


@pytest.mark.parametrize("cls", [kar.LSTM, kar.GRU])
def test_use_cudnn_is_that_of_keras(cls):
    assert cls(4, use_cudnn=False).get_config()["use_cudnn"] is False
    for bad in ("yes", 0, None):
        with pytest.raises(ValueError, match="`use_cudnn` must be 'auto', True or False"):
            cls(4, use_cudnn=bad)
    # As in Keras, the layer can be made, copied and wrapped, and raises where it would have to run.
    layer = cls.from_config(cls(4, use_cudnn=True).get_config())
    assert layer.use_cudnn is True
    for needed in (layer, keras.layers.Bidirectional(layer)):
        with pytest.raises(ValueError, match="cannot run with `use_cudnn=True`"):
            needed(keras.Input((None, 3)))
    theirs = getattr(keras.layers, cls.__name__)(4, dropout=0.1, use_cudnn=False)
    layer = cls.from_config(theirs.get_config())
    assert (layer.units, layer.dropout, layer.use_cudnn) == (4, 0.1, "auto")


@pytest.mark.parametrize("cls", [kar.LSTM, kar.GRU, kar.LSTMCell, kar.GRUCell])
def test_implementation_changes_nothing(cls):
    class Subclass(cls):
        def __init__(self, units, **kwargs):
            super().__init__(units, use_bias=False, **kwargs)

    assert Subclass(4).use_bias is False
    for value in (0, 1, 2):
        layer = cls(4, implementation=value, name="same")
        assert layer.get_config() == cls(4, name="same").get_config()
        assert cls.from_config({**layer.get_config(), "implementation": value}).units == 4
        assert Subclass(4, implementation=value).use_bias is False
    for bad in (3, -1, "auto", None, True):
        with pytest.raises(ValueError, match=f"`implementation` must be one of 0, 1, 2.*implementation={bad!r}"):
            cls(4, implementation=bad)
    with pytest.raises(TypeError, match="has no argument `implementation`"):
        kar.Elman(4, implementation=1)


@pytest.mark.parametrize("make", [kar.LSTMCell, kar.Mogrifier, kar.MogrifierCell, kar.GridLSTMBlock, kar.Maxout])
def test_an_unknown_argument_names_the_nearest(make):
    with pytest.raises(TypeError) as caught:
        make(4, unit=3)
    assert "did you mean `units`?" in str(caught.value)
    assert len(str(caught.value)) < 200


# In texts and errors.


@pytest.mark.parametrize(
    ("instance", "text"),
    [
        (lambda: kar.LSTMCell(4), "LSTMCell(units=4)"),
        (lambda: kar.MogrifierCell(8, rank=2, tied_gates=True), "MogrifierCell(units=8, rank=2, tied_gates=True)"),
        (lambda: kar.Mogrifier([8, 6], connection=None, rounds=4), "Mogrifier(units=[8, 6], rounds=4)"),
        (lambda: kar.Skip(kar.GRUCell(4)), "Skip(cell=GRUCell(units=4))"),
        (lambda: kar.RNN(kar.ElmanCell(4, "relu")), "RNN(cell=ElmanCell(units=4, activation='relu'))"),
        (lambda: kar.LSTMCell(4, kernel_map=maps.LowRank(2)), "LSTMCell(units=4, kernel_map=LowRank(rank=2))"),
        (lambda: kar.ElmanCell(4, bias_initializer="ones"), "ElmanCell(units=4, bias_initializer=Ones(...))"),
        (lambda: kar.Maxout(4, 2), "Maxout(units=4, pieces=2)"),
        (lambda: maps.Full(3, weight_normalization=True), "Full(units=3, weight_normalization=True)"),
    ],
)
def test_repr_shows_what_is_not_the_default(instance, text):
    assert repr(instance()) == text


@pytest.mark.parametrize(
    ("layer", "words"),
    [
        (
            lambda: kar.Mogrifier(8, rank=8, name="mog"),
            ["the map `gate_1` of MogrifierCell 'mog/", "units, 3", "rank=8"],
        ),
        (lambda: kar.LSTM(4, kernel_map=maps.LowRank(4), name="net"), ["`rank` of the map 'net/", "kernel_map'"]),
        (lambda: kar.LSTM(4, recurrent_map=maps.LowRank(5)), ["`rank` of the map `recurrent_map` of LSTMCell 'lstm_"]),
    ],
)
def test_an_error_inside_a_cell_says_where(layer, words):
    with pytest.raises(ValueError, match="`rank`") as caught:
        layer()(X)
    assert not [word for word in words if word not in str(caught.value)], str(caught.value)


@pytest.mark.parametrize("cls", [kar.LowRankGRU, kar.LowRankLSTM])
def test_the_rank_is_a_quarter_of_the_units_unless_it_is_given(cls):
    for units, rank in ((3, 1), (4, 1), (32, 8)):
        layer = cls(units)
        assert layer.cell.recurrent_map.rank == rank
        assert layer.get_config()["rank"] is None
    assert cls(32, 5).cell.recurrent_map.rank == cls(32, rank=5).rank == 5
    # Each layer of a stack has its own, in a copy as well, and a config with a number means that number.
    stack = cls([16, 8])
    copy = cls.from_config(stack.get_config())
    assert [cell.recurrent_map.rank for cell in copy.cell.cells] == [4, 2]
    given = cls.from_config({**stack.get_config(), "rank": 3})
    assert [cell.recurrent_map.rank for cell in given.cell.cells] == [3, 3]


def test_too_many_rounds_are_refused_at_once():
    with pytest.raises(ValueError, match=r"`rounds` must be at most 100.*rounds=3000"):
        kar.MogrifierCell(8, rounds=3000)


# Public names.


@pytest.mark.parametrize("namespace", [kar.activations, kar.initializers, kar.cells, kar.layers, kar])
def test_star_imports_bring_what_is_ours_alone(namespace):
    names = {}
    exec(f"from {namespace.__name__} import *", names)
    assert not {"keras", "np", "ops", "math", "random", "engine"} & set(names)
    assert not {"Cell", "CellLayer", "CoreWrapperCell", "GatedCell", "WrapperCell"} & set(names)


@pytest.mark.parametrize("name", ["Cell", "CoreWrapperCell", "GatedCell", "WrapperCell"])
def test_bases_are_for_those_who_write_cells(name):
    assert hasattr(kar.cells, name)
    assert not hasattr(kar, name)
    assert not hasattr(kar.layers, name)


# Configs from files.


def nested(depth):
    config = {"cell": None}
    for _ in range(depth):
        config = {"cell": {"module": "keras_adaptive_rnn", "class_name": "ZoneoutCell", "config": config}}
    return config


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (3, "The config of ZoneoutCell must be a dict"),
        ({3: 4}, "The config of ZoneoutCell must be a dict"),
        ({"cell": {"class_name": 3, "config": {}}}, "`cell` in the config of ZoneoutCell must hold objects"),
        ({"cell": {"class_name": "LSTMCell"}}, "`cell` in the config of ZoneoutCell must hold objects"),
        ({"cell": {"class_name": "LSTMCell", "module": [], "config": {}}, "rate": 3}, None),
        (nested(5000), "`cell` in the config of ZoneoutCell must have at most 100 levels"),
        ({"cell": 3}, "`cell`"),
        ({}, "ZoneoutCell"),
    ],
)
def test_a_damaged_config_names_its_class_and_argument(config, message):
    with pytest.raises((ValueError, TypeError), match=message):
        kar.ZoneoutCell.from_config(config)
