"""Public names: the decorator that registers a class for saving and lists it."""

from collections.abc import Callable
from typing import Any

import keras

PUBLIC: list[type] = []


def export(cls):
    """Registers `cls` under `keras_adaptive_rnn>Name` and adds it to the public names.

    A saved model that contains the class then loads without `custom_objects`, provided that `keras_adaptive_rnn` has
    been imported.
    """
    PUBLIC.append(cls)
    return keras.saving.register_keras_serializable(package="keras_adaptive_rnn")(cls)


def exported(namespace: dict[str, Any]) -> list[str]:
    """Returns the names of the public classes in a namespace: `__all__ = exported(globals())`."""
    return sorted(name for name, value in namespace.items() if isinstance(value, type) and value in PUBLIC)


def directory(names: list[str], *more: str) -> Callable[[], list[str]]:
    """Returns what shows these names where Python lists those of a module: `__dir__ = directory(__all__)`."""
    return lambda: sorted([*names, *more])
