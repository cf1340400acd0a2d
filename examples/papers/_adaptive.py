"""Digits, read at once, by layers whose matrix depends on the image."""

import keras

from examples.papers import _digits, _study
from keras_adaptive_rnn.initializers import SemiOrthogonal
from keras_adaptive_rnn.layers import AdaptiveDense

BATCH = 128
PIXELS = {"0 to 1": (1 / 255, 0.0), "standardised": (1 / _digits.DEVIATION, -_digits.MEAN / _digits.DEVIATION)}
SETTINGS = {"rate": 1e-3, "rounds": 200, "updates": 250}
TINY = {**SETTINGS, "rounds": 2, "updates": 2}


def read(path, settings):
    return _digits.read(path)


def feed_forward():
    """Returns the three layers of a hundred thousand weights that the paper compares with."""
    return [*(keras.layers.Dense(110, activation="relu") for _ in range(2)), keras.layers.Dense(_digits.CLASSES)]


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


def make(layers, pixels, momentum, rate):
    """Returns a compiled model that reads pixels from 0 to 255."""
    model = keras.Sequential([keras.Input((_digits.PIXELS,)), keras.layers.Rescaling(*PIXELS[pixels]), *layers])
    model.compile(
        keras.optimizers.SGD(rate, momentum=momentum),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        # PyTorch runs a step at a time.
        steps_per_execution=1 if keras.backend.backend() == "torch" else 50,
    )
    return model


def draw(rng, updates, settings, data):
    return _digits.draw(rng, updates * BATCH, data)


def study(**kwargs) -> _study.Study:
    return _study.Study(
        read=read, draw=draw, batch=BATCH, score=_digits.score, metric="accuracy (%)", bottom=88, **kwargs
    )
