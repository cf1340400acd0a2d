"""Digits, read at once, by layers whose matrix depends on the image."""

import keras
import numpy as np

from examples import mnist_sva
from examples.papers import _study
from keras_adaptive_rnn.initializers import SemiOrthogonal
from keras_adaptive_rnn.layers import AdaptiveDense

CLASSES, PIXELS = mnist_sva.CLASSES, mnist_sva.PIXELS
BATCH = 128
HELD_OUT = 5000  # Images of the training part that the choices are made on.
SETTINGS = {"rate": 1e-3, "rounds": 200, "updates": 250}
TINY = {**SETTINGS, "rounds": 2, "updates": 2}


def read(path, settings):
    """Returns images `[count, 784]` from 0 to 255, and labels, of each part."""
    (x, y), test = mnist_sva.read_parts(path)
    held_out = min(HELD_OUT, len(x) // 2)
    return {"train": (x[:-held_out], y[:-held_out]), "valid": (x[-held_out:], y[-held_out:]), "test": test}


def sva(units, rank, policy="linear", hidden=None, **kwargs):
    """Returns an adaptive layer; with `hidden`, its policy is a network with so many hidden units."""
    if hidden is not None:
        policy = keras.Sequential([keras.layers.Dense(hidden, "relu"), keras.layers.Dense(rank)])
    # An adapted bias would add as many policy weights as units, which is more than half of a small model.
    return AdaptiveDense(units, "sva", rank=rank, policy=policy, use_bias=False, **kwargs)


def sva_of_features(units, rank, policy="linear"):
    """Returns layers that compute the same, but for a policy that reads the product with the first matrix."""
    first = keras.layers.Dense(rank, use_bias=False, kernel_initializer=SemiOrthogonal())
    return [first, AdaptiveDense(units, "input", policy=policy, use_bias=False)]


def make(layers, scaling, momentum, rate):
    """Returns a compiled model that reads pixels from 0 to 255."""
    factor, shift = {"0 to 1": (1 / 255, 0.0), "standardised": (1 / 78.57, -33.32 / 78.57)}[scaling]
    inputs = [keras.Input((PIXELS,)), keras.layers.Rescaling(factor, shift)]
    model = keras.Sequential([*inputs, *layers])
    model.compile(
        keras.optimizers.SGD(rate, momentum=momentum),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        # PyTorch runs a step at a time.
        steps_per_execution=1 if keras.backend.backend() == "torch" else 50,
    )
    return model


def draw(rng, updates, settings, data):
    x, y = data["train"]
    chosen = rng.integers(len(x), size=updates * BATCH)
    return x[chosen], y[chosen]


def score(model, settings, data, part):
    found = {}
    for name in ("train", part):
        x, y = data[name]
        found[name] = 100 * float(np.mean(model.predict(x, batch_size=5000, verbose=0).argmax(axis=1) == y))
    return {"training accuracy": found["train"], "accuracy": found[part]}


def study(**kwargs) -> _study.Study:
    return _study.Study(read=read, draw=draw, batch=BATCH, score=score, metric="accuracy", **kwargs)
