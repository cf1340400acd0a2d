"""Saves layer state that Keras omits: random generators, quantization and freezing."""

import keras

from keras_adaptive_rnn._freezing import after_build, set_when_built, trainable_parts
from keras_adaptive_rnn._keras import flatten_layers


class SavesExtraState:
    """Mixin of a layer whose files and config hold this state, too."""

    # Keras tracks the states of generators as variables, but leaves them out of files.

    def _generators(self):
        generator = keras.random.SeedGenerator
        return {f"{name}_state": part.state for name, part in vars(self).items() if isinstance(part, generator)}

    def save_own_variables(self, store):
        super().save_own_variables(store)
        for name, state in self._generators().items():
            store[name] = state

    def load_own_variables(self, store):
        generators = self._generators()
        names = list(store.keys())
        super().load_own_variables({name: store[name] for name in names if name not in generators})
        # Older files hold no states: the generators start from their seeds.
        for name in generators.keys() & names:
            generators[name].assign(store[name])

    # Keras keeps the mode of a quantized layer in its dtype policy, where a layer that makes its parts does not look.

    def get_config(self):
        modes, parts = [_mode(part) for part in _quantizable(self)], trainable_parts(self)
        saved = {**({"quantized": modes} if any(modes) else {}), **({"trainable_parts": parts} if parts else {})}
        return {**super().get_config(), **saved}

    @classmethod
    def from_config(cls, config, *args, **kwargs):
        return restored(lambda arguments: super(SavesExtraState, cls).from_config(arguments, *args, **kwargs), config)


def restored(make, config):
    """Returns the layer `make(config)`, whose parts will be quantized and frozen as `config` says once they exist."""
    modes, parts = config.get("quantized"), config.get("trainable_parts")
    layer = make({name: value for name, value in config.items() if name not in ("quantized", "trainable_parts")})
    if modes is not None:
        after_build(layer, lambda: _quantize(layer, modes))
    if parts:
        set_when_built(layer, parts)
    return layer


def _quantizable(layer):
    """Returns the layers inside `layer`, itself included, that Keras can quantize, in a fixed order."""
    plain = keras.layers.Layer.quantized_build
    return [part for part in flatten_layers(layer) if type(part).quantized_build is not plain]


def _mode(part):
    """Returns how a layer is quantized, for a config; `None` if it is not."""
    if not part.quantization_mode:
        return None
    config = getattr(part, "quantization_config", None)
    return {"mode": part.quantization_mode, "config": keras.saving.serialize_keras_object(config)}


def _quantize(layer, modes):
    for part, mode in zip(_quantizable(layer), modes, strict=True):
        if mode is not None and not part.quantization_mode:
            config = keras.saving.deserialize_keras_object(mode["config"])
            part.quantize(mode["mode"], **({} if config is None else {"config": config}))


class StoredByCell:
    """Mixin of a part of a cell that may leave its variables, in a file, to the cell: see `hand_over`."""

    def save_own_variables(self, store):
        others = _take_over(self, store)
        if others is None:
            return super().save_own_variables(store)
        for name, state in others.items():
            store[name] = state

    def load_own_variables(self, store):
        others = _take_over(self, store)
        if others is None:
            return super().load_own_variables(store)
        for name in others.keys() & set(store.keys()):
            others[name].assign(store[name])


def hand_over(part, store, generators):
    """Lets a part save or load, when Keras comes to it in the same file, no variables but the states of generators."""
    vars(part)["_left_to_cell"] = store, generators


def _take_over(part, store):
    """Returns the variables that a part stores under a name, if the cell stores all others, or `None`."""
    left_in, generators = vars(part).pop("_left_to_cell", (None, {}))
    return {**generators, **getattr(part, "_generators", dict)()} if left_in is store else None
