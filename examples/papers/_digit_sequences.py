"""Handwritten digits, read row by row or pixel by pixel, in the order of the image or in another one."""

import keras
import numpy as np

from examples.papers import _digits, _study
from keras_adaptive_rnn import GRU, LSTM, LowRankGRU, Mogrifier
from keras_adaptive_rnn.cells import GRUCell
from keras_adaptive_rnn.layers import Skip

SIDE = 28
INPUT, FORGET = 0, 1  # The places of the gates of an LSTM.
UPDATE = 0  # The place of that gate in a GRU.
MODELS = ("LSTM", "GRU", "low-rank GRU", "Mogrifier", "skip GRU", "skip GRU, cost x 4")
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
    if name == "LSTM":
        return LSTM(units)
    if name == "GRU":
        return GRU(units)
    if name == "low-rank GRU":
        return LowRankGRU(units, min(settings["rank"], units), carry_bias=settings["carry_bias"])
    if name == "Mogrifier":
        return Mogrifier(units)
    times = 4 if name.endswith("x 4") else 1
    return Skip(GRUCell(units), cost_weight=times * settings["cost"], return_decisions=True)


def make(name, settings, data):
    _, steps, features = data["train"][0].shape

    def count(units):
        return _study.weights_of(make_layer(name, units, settings), features) + (units + 1) * _digits.CLASSES

    layer = make_layer(name, _study.equal_units(count, settings["weights"]), settings)
    inputs = keras.Input((steps, features))
    outputs = layer(inputs)
    last = outputs[0] if isinstance(layer, Skip) else outputs
    model = keras.Model(inputs, keras.layers.Dense(_digits.CLASSES)(last))
    carry = settings["carry_bias"]
    if name in ("LSTM", "Mogrifier"):
        _study.set_gate_biases(layer.cell, {FORGET: carry})
    elif name != "low-rank GRU":
        _study.set_gate_biases(layer.cell.cell if isinstance(layer, Skip) else layer.cell, {UPDATE: carry})
    model.compile(
        keras.optimizers.Adam(settings["rate"], clipnorm=1.0),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    return model


def draw(rng, updates, settings, data):
    return _digits.draw(rng, updates * BATCH, data)


def score(model, settings, data, part):
    x, y = data[part]
    skips = [layer for layer in model.layers if isinstance(layer, Skip)]
    outputs = [model.outputs[0], *(layer.output[1] for layer in skips)]
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
        f"diagonal. An update of the skip GRU costs {common['cost']:.2g}, or four times as much. Nothing is tuned; "
        "curves are on 5,000 held-out images.",
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
        outcome=outcome,
        found=found,
    )
