"""The config of a layer around a cell, which another layer may share."""

import weakref
from typing import Any

import keras

from keras_adaptive_rnn._keras import shares_objects

# The layers around each cell.
_layers_of: weakref.WeakKeyDictionary[Any, weakref.WeakSet] = weakref.WeakKeyDictionary()


class CellConfig:
    """Mixin of `RNN` that leaves the cell in the config to `DeclaredArguments`.

    `keras.layers.RNN` would serialize it once more, and Keras takes what is serialized twice for shared: within
    `load_model`, the two layers of a `Bidirectional` would get the same cell.
    """

    def get_config(self):
        return keras.layers.Layer.get_config(self)

    @classmethod
    def from_config(cls, config, custom_objects=None):
        cell = config["cell"]
        if isinstance(cell, dict):
            cell = keras.saving.deserialize_keras_object(cell, custom_objects=custom_objects)
        return cls(**{**config, "cell": cell})


def note_layer(layer):
    """Registers `layer` as one around its cell, which must be a layer itself."""
    _layers_of.setdefault(layer.cell, weakref.WeakSet()).add(layer)


def with_shared_cell(layer, config):
    """Returns the config of a layer, in which a cell that several layers share has one ID."""
    if "cell" in config and len(_layers_of.get(layer.cell, ())) > 1 and shares_objects():
        # Keras only marks the last config of a shared object, and would load the others as separate objects.
        config["cell"]["shared_object_id"] = id(layer.cell)
    return config
