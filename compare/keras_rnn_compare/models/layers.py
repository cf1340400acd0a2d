"""The layers that `compare` and `probe` know by name.

A row has a formula for the number of weights: on JAX, making a layer to count them costs seconds.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import keras

from keras_adaptive_rnn import layers


@dataclasses.dataclass(frozen=True)
class NamedLayer:
    """A kind of layer.

    Args:
        title: Its name in tables.
        layer_class: Its class.
        size: Function `units, inputs` that returns its number of weights.
        arguments: Function `units, inputs` that returns its arguments besides `units`. Defaults to none.
        multiple: What the units must be a multiple of. Defaults to `1`.
    """

    title: str
    layer_class: type[keras.layers.RNN]
    size: Callable[[int, int], int]
    arguments: Callable[[int, int], dict[str, Any]] = lambda units, inputs: {}
    multiple: int = 1


def quarter(units):
    """Returns the rank, or the size of a policy: a quarter of the units, as in the papers' models of words."""
    return max(1, units // 4)


def lstm_size(units, inputs):
    return 4 * units * (inputs + units + 1)


def mogrifier_rank(units, inputs):
    # Below this width of the input, a full matrix is thinner than a low-rank one.
    return None if inputs <= 16 else min(inputs, quarter(units))


def mogrifier_size(units, inputs):
    rank = mogrifier_rank(units, inputs)
    gates = 5 * (units * inputs if rank is None else rank * (units + inputs))
    return lstm_size(units, inputs) + gates


def adaptive_lstm_size(units, inputs):
    policy = quarter(units)
    return lstm_size(units, inputs) + lstm_size(policy, inputs + units) + policy * (inputs + 13 * units)


NAMED_LAYERS = {
    "gru": NamedLayer("GRU", layers.GRU, lambda units, inputs: 3 * units * (inputs + units + 2)),
    "lstm": NamedLayer("LSTM", layers.LSTM, lstm_size),
    "mogrifier": NamedLayer(
        "Mogrifier",
        layers.Mogrifier,
        mogrifier_size,
        lambda units, inputs: {"rank": mogrifier_rank(units, inputs)},
    ),
    "min_gru": NamedLayer("minGRU", layers.MinGRU, lambda units, inputs: 2 * units * (inputs + 1)),
    "min_lstm": NamedLayer("minLSTM", layers.MinLSTM, lambda units, inputs: 3 * units * (inputs + 1)),
    "rglru": NamedLayer("RG-LRU", layers.RGLRU, lambda units, inputs: units * (inputs + 2 * units + 4)),
    "adaptive_linear": NamedLayer(
        "adaptive linear",
        layers.AdaptiveLinear,
        lambda units, inputs: (4 * quarter(units) + 2 * units) * (inputs + quarter(units) + 1),
    ),
    "slstm": NamedLayer("sLSTM", layers.SLSTM, lstm_size),
    "mlstm": NamedLayer("mLSTM", layers.MLSTM, lambda units, inputs: (4 * units + 8) * (inputs + 1), multiple=4),
    "gated_delta_net": NamedLayer(
        "Gated DeltaNet",
        layers.GatedDeltaNet,
        lambda units, inputs: (4 * units + 8) * inputs + units // 4 + 8,
        multiple=4,
    ),
    "multiplicative_lstm": NamedLayer(
        "multiplicative LSTM",
        layers.MultiplicativeLSTM,
        lambda units, inputs: units * (5 * (inputs + units) + 4),
    ),
    "low_rank_gru": NamedLayer(
        "low-rank GRU",
        layers.LowRankGRU,
        lambda units, inputs: 3 * units * (inputs + 2 * quarter(units) + 2),
    ),
    "low_rank_lstm": NamedLayer(
        "low-rank LSTM",
        layers.LowRankLSTM,
        lambda units, inputs: 4 * units * (inputs + 2 * quarter(units) + 2),
    ),
    "recurrent_highway": NamedLayer(
        "recurrent highway",
        layers.RecurrentHighway,
        lambda units, inputs: 2 * units * inputs + 5 * 2 * units * (units + 1),
    ),
    "adaptive_lstm": NamedLayer(
        "adaptive LSTM",
        layers.AdaptiveLSTM,
        adaptive_lstm_size,
        lambda units, inputs: {"policy_units": quarter(units)},
    ),
}
