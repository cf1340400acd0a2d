"""Freezing of layers: Keras freezes only the parts that exist when `trainable` is set, and does not save it."""

import functools

import keras

from keras_adaptive_rnn._keras import enclosing_layers, flatten_layers, is_functional


class Freezes:
    """Mixin of a layer that, frozen at any time and in any way, has no weight that trains."""

    def __new__(cls, *args, **kwargs):
        layer = super().__new__(cls, *args, **kwargs)
        after_build(layer, lambda: freeze_parts(layer))
        return layer


def freeze_parts(layer):
    """Freezes all that exists by now in a layer that is frozen, or is in one that is."""
    # `Bidirectional(trainable=False)` and `keras.layers.RNN(trainable=False)` do not tell what they contain.
    if not layer.trainable or any(not outer.trainable for outer in enclosing_layers()):
        set_trainable(layer, False)


def set_trainable(layer, value):
    """Makes a layer and all of its parts trainable or not, whatever they have been."""
    for part in flatten_layers(layer):
        # TensorFlow ignores `layer.trainable = value` where the layer, though not its parts, has that value.
        type(part).trainable.fset(part, value)


def trainable_parts(layer):
    """Returns whether each part of `layer` is trainable that differs from what contains it, by path, for a config."""
    return {path: part.trainable for outer, part, path in _walk(layer, "", {}) if part.trainable != outer.trainable}


def set_trainable_parts(layer, flags):
    """Makes the parts of `layer` that exist by now trainable or not, as `trainable_parts` says."""
    parts = {path: part for _, part, path in _walk(layer, "", {}, into_unbuilt=True)}
    existing = {path: flag for path, flag in flags.items() if path in parts}
    # Setting one sets the parts inside it, and a part may be inside several.
    for _ in existing:
        for path, flag in existing.items():
            if parts[path].trainable != flag:
                set_trainable(parts[path], flag)


def _walk(layer, path, seen, into_unbuilt=False):
    """Yields each layer, one of its parts, and the first path to this part, which `seen` keeps by its id."""
    if not (layer.trainable or layer.built or into_unbuilt):
        # Once it is built, all of its parts will be frozen.
        return
    for name, part in _parts(layer):
        is_new = id(part) not in seen
        first = seen.setdefault(id(part), f"{path}{name}")
        yield layer, part, first
        if is_new:
            yield from _walk(part, f"{first}.", seen, into_unbuilt)


def _parts(layer):
    """Yields the name and the layer of each attribute, or of each place in a list or dict, that is a layer."""
    if is_functional(layer):
        held = {part.name: part for part in layer.layers}
    else:
        # PyTorch moves layers into a dict of its own.
        held = {**vars(layer), **vars(layer).get("_modules", {})}
        held = {name: held[name] for name in sorted(held) if not name.startswith("_")}
    pending = list(held.items())
    while pending:
        name, value = pending.pop(0)
        if isinstance(value, keras.Layer):
            yield name, value
        elif isinstance(value, dict):
            pending += [(f"{name}.{key}", part) for key, part in value.items()]
        elif isinstance(value, (list, tuple)):
            pending += [(f"{name}.{k}", part) for k, part in enumerate(value)]


def set_when_built(layer, flags):
    """Makes the parts of `layer` trainable or not as `flags` says; those that `build` makes, when it has made them."""
    # All others are as the layer is, even if they are made from the config of one that is not.
    trainable = layer.trainable
    set_trainable(layer, trainable)
    set_trainable_parts(layer, flags)
    # What the user has set in the meantime counts more.
    after_build(layer, lambda: layer.trainable == trainable and set_trainable_parts(layer, flags))


def after_build(layer, function):
    """Calls a function whenever `layer.build` has ended."""
    build = layer.build

    @functools.wraps(build)
    def build_and_call(*args, **kwargs):
        build(*args, **kwargs)
        function()

    layer.build = build_and_call
