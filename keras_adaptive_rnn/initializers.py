"""Initializers, as in `keras.initializers`."""

import keras


def fresh(initializer, index):
    """Returns a copy of `initializer` that draws other numbers: the `index`-th relative of its seed.

    A Keras initializer returns the same numbers whenever it is called, so two weights of one shape must not share one.
    An initializer with an integer seed gives a copy with another integer seed, so that a seeded layer stays repeatable.
    """
    initializer = keras.initializers.get(initializer)
    if index == 0 or not isinstance(initializer, keras.initializers.Initializer):
        return initializer
    config = initializer.get_config()
    if isinstance(config.get("seed"), int):
        config["seed"] += index
    return type(initializer).from_config(config)
