"""Handwritten digits, read row by row or pixel by pixel, in the order of the image or in another one."""

import keras
import numpy as np

from examples.papers import _digits, _study
from keras_adaptive_rnn import (
    GRU,
    LSTM,
    Elman,
    GRUCell,
    LowRankGRU,
    Mogrifier,
    RecurrentHighway,
    Skim,
    Skip,
    VariableComputation,
)

SIDE = 28
MODELS = (
    *("LSTM", "GRU", "low-rank GRU", "Mogrifier", "skip GRU", "skip GRU, cost x 4"),
    *("skim GRU", "VCGRU", "IRNN", "recurrent highway"),
)
# The place of the gate that keeps the state; the other cells take its bias as an argument, or have none.
FORGET, UPDATE = 1, 0
CARRY = {"LSTM": FORGET, "Mogrifier": FORGET}
CARRY |= dict.fromkeys(("GRU", "skip GRU", "skip GRU, cost x 4", "skim GRU", "VCGRU"), UPDATE)
DECIDING = (Skip, Skim, VariableComputation)
BATCH = 100


def read(path, settings):
    """Returns images `[count, steps, features]` and labels of each part."""
    places = np.arange(_digits.PIXELS)
    if settings["permuted"]:
        places = np.random.default_rng(0).permutation(places)

    def sequences(x):
        return ((x[:, places] - _digits.MEAN) / _digits.DEVIATION).reshape(len(x), settings["steps"], -1)

    return {part: (sequences(x), y) for part, (x, y) in _digits.read(path).items()}


def make_layer(name, units, settings):
    cost = settings["cost"] * settings["steps"]
    return {
        "LSTM": lambda: LSTM(units),
        "GRU": lambda: GRU(units),
        "low-rank GRU": lambda: LowRankGRU(units, min(settings["rank"], units), carry_bias=settings["carry_bias"]),
        "Mogrifier": lambda: Mogrifier(units),
        "skip GRU": lambda: Skip(GRUCell(units), cost_weight=settings["cost"], return_decisions=True),
        "skip GRU, cost x 4": lambda: Skip(GRUCell(units), cost_weight=4 * settings["cost"], return_decisions=True),
        "skim GRU": lambda: Skim(GRUCell(units), GRUCell(min(5, units)), skim_loss=cost, return_decisions=True),
        "VCGRU": lambda: VariableComputation(units, core="gru", sharpness=1.0, cost_weight=cost, return_decisions=True),
        "IRNN": lambda: Elman(
            units,
            activation="relu",
            kernel_initializer=keras.initializers.RandomNormal(stddev=0.001),
            recurrent_initializer="identity",
        ),
        "recurrent highway": lambda: RecurrentHighway(units, transform_bias=-settings["carry_bias"]),
    }[name]()


def make(name, settings, data):
    _, steps, features = data["train"][0].shape

    def count(units):
        return _study.weights_of(make_layer(name, units, settings), features) + (units + 1) * _digits.CLASSES

    layer = make_layer(name, _study.equal_units(count, settings["weights"]), settings)
    inputs = keras.Input((steps, features))
    outputs = layer(inputs)
    last = outputs[0] if isinstance(layer, DECIDING) else outputs
    model = keras.Model(inputs, keras.layers.Dense(_digits.CLASSES)(last))
    if name in CARRY:
        cell = layer.cell.cell if isinstance(layer, (Skip, Skim)) else layer.cell
        _study.set_gate_biases(cell, {CARRY[name]: settings["carry_bias"]})
    model.compile(
        keras.optimizers.Adam(settings["rate"], clipnorm=1.0),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    return model


def draw(rng, updates, settings, data):
    return _digits.draw(rng, updates * BATCH, data)


def score(model, settings, data, part):
    x, y = data[part]
    deciding = [layer for layer in model.layers if isinstance(layer, DECIDING)]
    outputs = [model.outputs[0], *(layer.output[1] for layer in deciding)]
    predicted = keras.Model(model.inputs, outputs).predict(x, batch_size=500, verbose=0)
    logits, *decisions = keras.tree.flatten(predicted)  # A single output comes without a list.
    right = float(np.mean(logits.argmax(axis=-1) == y))
    return {"accuracy": right, "share of updates": float(np.mean(decisions[0])) if decisions else 1.0}


def study(by: str, is_permuted: bool, claim: str, outcome: str, found: str) -> _study.Study:
    """Returns the study of images that are read by `"rows"` or by `"pixels"`."""
    name = f"mnist_{by}" + ("_permuted" if is_permuted else "")
    steps = SIDE if by == "rows" else SIDE**2
    # A bias for memory as long as the sequence; in the paper 5 for pixels. The cost of an image whose steps are all
    # updated is the same: 0.08.
    common = {"steps": steps, "permuted": is_permuted, "rank": 24, "carry_bias": 1.0 if by == "rows" else 5.0}
    common |= {"cost": 0.08 / steps, "weights": 20_000, "rate": 1e-3, "anneal": 0.5}
    return _study.Study(
        name=name,
        title=f"Digits by {by}, " + ("permuted" if is_permuted else "in order"),
        claim=claim,
        protocol=f"MNIST images as sequences of {steps} steps"
        + (", with their pixels in one random order. " if is_permuted else ". ")
        + "Twenty thousand weights; Adam with gradient clipping (norm 1), the learning rate falling to a tenth in the "
        f"second half. Carry-gate biases start at {common['carry_bias']:g}. Low-rank matrices have rank 24 and a "
        f"diagonal. An update of the skip GRU costs {common['cost']:.2g}, or four times as much. The IRNN starts at "
        "the identity, its input weights with a standard deviation of 0.001 (Le et al., 2015). "
        + (
            "For the skim GRU, which has a small cell of five units, and the VCGRU, the loss on decisions weighs 0.08. "
            "Share of updates: of the steps that a cell, or the big one of two, computes; of the VCGRU, of the units. "
            if by == "rows"
            else "The skim GRU and the VCGRU were not run. Share of updates: of the steps that a cell computes. "
        )
        + "Nothing is tuned; curves are on 5,000 held-out images.",
        models=MODELS,
        budgets={
            "test": {**common, "weights": 900, "rank": 2, "rounds": 1, "updates": 2},
            "small": {**common, "rounds": 20, "updates": 275 if by == "rows" else 75},
            "paper": {**common, "rounds": 100, "updates": 550},
        },
        read=read,
        make=make,
        draw=draw,
        batch=BATCH,
        score=score,
        metric="accuracy",
        bottom=0.9 if by == "rows" else None,
        pairs=tuple((name, "GRU") for name in MODELS if name != "GRU"),
        outcome=outcome,
        found=found,
    )
