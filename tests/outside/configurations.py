"""Random configurations: layers around cells around cells, written as the Python that makes them."""

import dataclasses
import functools
import inspect

import keras
from hypothesis import strategies as st

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import maps
from tests.outside import strangers

NAMESPACE = {"keras": keras, "kar": kar, "maps": maps, "strangers": strangers}
IMPORTS = """import keras
import keras_adaptive_rnn as kar
from keras_adaptive_rnn import maps
from tests.outside import strangers
from tests.outside.search import Configuration
"""


@dataclasses.dataclass(frozen=True)
class Made:
    """An object yet to be made: the name of its class, and its arguments, which may be such objects and lists."""

    name: str
    arguments: dict

    def source(self, seeded):
        arguments = dict(self.arguments)
        if seeded:
            arguments = {**initializers(self.name), **arguments}
        return f"{self.name}({', '.join(f'{name}={source(value, seeded)}' for name, value in arguments.items())})"


def source(value, seeded=False):
    """Returns the Python that makes a value; with `seeded`, every random initializer has a seed."""
    if isinstance(value, Made):
        return value.source(seeded)
    if isinstance(value, list):
        return f"[{', '.join(source(each, seeded) for each in value)}]"
    return repr(value)


@functools.cache
def initializers(name):
    """Returns an initializer with a seed for each argument of a class that takes one, as `Made`."""
    cls = eval(name, NAMESPACE)
    if not issubclass(cls, keras.Layer) or name.startswith("strangers"):
        return {}
    parameters = inspect.signature(cls).parameters.values()
    names = [p.name for p in parameters if p.name.endswith("_initializer") and p.default != "zeros"]
    if name in WRAPPERS:
        names = [each for each in names if each in ("gate_initializer", "factor_initializer", "decision_initializer")]
    return {each: Made("keras.initializers.RandomNormal", {"stddev": 0.3, "seed": k}) for k, each in enumerate(names)}


def made(name, required, **optional):
    return st.fixed_dictionaries(required, optional=optional).map(lambda arguments: Made(name, settled(arguments)))


def settled(arguments):
    """Returns arguments without those that exclude each other."""
    sizes = arguments.get("units", 4)
    smallest = min(sizes) if isinstance(sizes, list) else sizes
    left = dict(arguments)
    if smallest == 1:
        # The normalization of a single number is zero but for rounding, which it enlarges thirty thousand times.
        left.pop("layer_normalization", None)
    if "tied_gates" in left:
        left.pop("cap_input_gate", None)
    if "weight_normalization" in left:
        left.pop("kernel_map", None)
    if isinstance(left.get("rank"), int):
        left["rank"] = min(left["rank"], smallest)
    return left


flags = st.booleans()
yes, no = st.just(True), st.just(False)
units = st.integers(1, 4)
rates = st.just(0.4)
rank = st.integers(1, 2)
linear_maps = st.one_of(
    made("maps.LowRank", {"rank": st.just(1)}, tied=yes, weight_normalization=yes),
    made("maps.Full", {}, weight_normalization=yes),
    made("maps.DropConnect", {"rate": rates}, variational=yes),
)
square_maps = st.one_of(linear_maps, made("maps.LowRank", {"rank": st.just(1), "diagonal": yes}))
noise = {"dropout": rates, "recurrent_dropout": rates, "seed": st.integers(0, 3)}
initial = {"trainable_initial_state": yes}
gated = {
    **noise,
    **initial,
    "activation": st.sampled_from(["relu", "linear", "belu"]),
    "use_bias": no,
    "kernel_regularizer": st.just("l2"),
    "recurrent_constraint": st.just("unit_norm"),
    "layer_normalization": yes,
    "per_gate_dropout": yes,
    "kernel_map": linear_maps,
    "recurrent_map": square_maps,
}
lstm = {
    **gated,
    "unit_forget_bias": no,
    "projection_units": units,
    "cell_clip": st.just(0.3),
    "update_dropout": rates,
    "tied_gates": yes,
    "cap_input_gate": yes,
}


def without(arguments, *names):
    return {name: value for name, value in arguments.items() if name not in names}


adaptive = without(gated, "layer_normalization", "per_gate_dropout") | {
    "policy_units": st.integers(1, 2),
    "policy": st.just("static"),
    "adaptation": st.sampled_from(["input", "output", "sva"]),
    "tied": no,
    "policy_dropout": rates,
}
low_rank = without(gated, "recurrent_map") | {
    "diagonal": no,
    "tied": yes,
    "carry_bias": st.just(2.0),
    "weight_normalization": yes,
}
depth = st.integers(1, 3)
core_of_mogrifier = {
    "rounds": st.integers(0, 3),
    "rank": st.just(1),
    "zigzag": no,
    "gate_bias": yes,
    "gate_activation": st.just("tanh"),
}
decider = {"cost_weight": st.just(0.1)}
of_size = {"units": units}
# The arguments of cells that a layer makes, too, by the name of cell and layer.
OWN = {
    "Elman": (of_size, gated),
    "GRU": (of_size, {**gated, "reset_after": no}),
    "LSTM": (of_size, lstm),
    "Mogrifier": (of_size, {**gated, **core_of_mogrifier, "core": st.sampled_from(["gru", "elman"])}),
    "MultiplicativeLSTM": (of_size, {**gated, "factor_bias": yes, "core": st.just("elman")}),
    "LowRankGRU": ({**of_size, "rank": rank}, {**low_rank, "reset_after": yes}),
    "LowRankLSTM": ({**of_size, "rank": rank}, low_rank),
    "RecurrentHighway": (of_size, {**gated, "depth": depth, "coupled": no, "transform_bias": st.just(1.0)}),
    "GridLSTM": ({**of_size, "depth": depth}, {**without(lstm, "projection_units"), "tied": yes}),
    "WeightDropLSTM": (of_size, {**without(lstm, "recurrent_map"), "recurrent_weight_dropout": rates}),
    "DeepRNN": (
        {**of_size, "depth": depth},
        {
            **without(gated, "layer_normalization", "per_gate_dropout"),
            "skip_every": st.integers(1, 2),
            "block_dropout": rates,
        },
    ),
    "AdaptiveLSTM": (of_size, adaptive),
    "AdaptiveRNN": (of_size, adaptive),
    "VariableComputation": (
        of_size,
        {
            **without(gated, "kernel_map", "recurrent_map", "per_gate_dropout"),
            **decider,
            "core": st.just("gru"),
            "soft_inference": yes,
        },
    ),
}
WRAPPERS = (
    "kar.ZoneoutCell",
    "kar.MogrifierCell",
    "kar.MultiplicativeLSTMCell",
    "kar.SkipCell",
    "kar.SkimCell",
    "kar.StatesOutput",
    "kar.StackedCells",
)
keras_noise = {"dropout": rates, "recurrent_dropout": rates, "seed": st.integers(0, 3)}
leaves = st.one_of(
    *(made(f"kar.{name}Cell", *arguments[:1], **arguments[1]) for name, arguments in OWN.items()),
    *(
        made(f"kar.Stacked{name}Cells", {"units": st.lists(units, min_size=1, max_size=2)}, **adaptive)
        for name in ("AdaptiveLSTM", "AdaptiveRNN")
    ),
    made("keras.layers.SimpleRNNCell", of_size, use_bias=no, **keras_noise),
    made("keras.layers.GRUCell", of_size, reset_after=no, **keras_noise),
    made("keras.layers.LSTMCell", of_size, unit_forget_bias=no, **keras_noise),
    *(
        made(f"strangers.{cls.__name__}", of_size, **(noise if cls is strangers.DroppingCell else {}))
        for cls in strangers.WRAPPABLE
    ),
)


def wrapped(cells):
    """Returns a strategy of cells around `cells`."""
    return st.one_of(
        made("kar.ZoneoutCell", {"cell": cells}, zoneout=rates, seed=st.integers(0, 3), **initial),
        made("kar.MogrifierCell", {"cell": cells}, **core_of_mogrifier, **noise, **initial),
        made("kar.MultiplicativeLSTMCell", {"cell": cells}, factor_bias=yes, **noise, **initial),
        made("kar.SkipCell", {"cell": cells}, update_bias=st.just(-1.0), held_increment=yes, **decider, **initial),
        made("kar.SkimCell", {"cell": cells, "small_cell": leaves}, skim_loss=st.just(0.1), **initial),
        made("kar.StatesOutput", {"cell": cells}, truncate=st.integers(1, 2), **initial),
        made(
            "kar.StackedCells",
            {"cells": st.lists(cells, min_size=1, max_size=3)},
            connection=st.sampled_from(["skip", "residual"]),
            **initial,
        ),
    )


cells = st.recursive(leaves, wrapped, max_leaves=3)
# Keras's stack fails with a cell that returns its state without a list.
of_stack = cells.filter(lambda cell: cell.name != "strangers.BareStateCell")
# What only a layer takes: no cell can be put around it.
outermost = st.one_of(
    cells,
    st.lists(of_stack, min_size=1, max_size=3),
    made("keras.layers.StackedRNNCells", {"cells": st.lists(of_stack, min_size=1, max_size=2)}),
    made("strangers.ScoringCell", of_size),
    made("strangers.PlainCell", of_size),
)
options = {
    "return_sequences": yes,
    "return_state": yes,
    "go_backwards": yes,
    "stateful": yes,
    "unroll": yes,
    "zero_output_for_mask": yes,
}
OWN_OPTIONS = ("recompute", "schedule", "return_decisions")
own_options = {"recompute": yes, "schedule": st.sampled_from(["steps", "layers", "wavefront"])}
stacks = st.one_of(units, st.lists(units, min_size=1, max_size=3))
layers = st.one_of(
    made("kar.RNN", {"cell": outermost}, **options, **own_options),
    made("kar.RNN", {"cell": outermost}, **options, **own_options),
    *(
        made(f"kar.{name}", {**arguments[0], "units": stacks}, **arguments[1], **options, **own_options)
        for name, arguments in OWN.items()
    ),
)


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A layer, and what it meets.

    Args:
        layer: The Python that makes the layer.
        features, batch, time: Sizes of its inputs.
        mask: `None`, or `"tail"`, `"holes"`.
        initial_state: Whether it is given initial states.
        bidirectional: Whether `keras.layers.Bidirectional` is around it.
        training: Whether it runs as in training; without effect where there is noise.
        policy: The global dtype policy.
    """

    layer: str
    features: int = 2
    batch: int = 2
    time: int = 3
    mask: str | None = None
    initial_state: bool = False
    bidirectional: bool = False
    training: bool = False
    policy: str = "float32"


def drawn(kind=Drawn):
    def configuration(layer, seeded, **others):
        return kind(source(layer, seeded), **others)

    return st.builds(
        configuration,
        layer=layers,
        seeded=flags,
        features=st.integers(1, 3),
        batch=st.integers(2, 3),
        time=st.integers(2, 4),
        mask=st.sampled_from([None, "tail", "holes"]),
        initial_state=flags,
        bidirectional=st.sampled_from([False, False, False, True]),
        training=flags,
        policy=st.sampled_from(["float32", "float32", "float32", "float32", "mixed_bfloat16"]),
    )
