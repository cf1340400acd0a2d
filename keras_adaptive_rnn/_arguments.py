"""Arguments of layers: checks, errors and configs, from their declaration in `__init__`."""

import difflib
import inspect
import math
import numbers

import keras
import numpy as np

from keras_adaptive_rnn import _synonyms, activations
from keras_adaptive_rnn._freezing import Freezes
from keras_adaptive_rnn._saving import SavesExtraState
from keras_adaptive_rnn._signatures import LAYER_ARGUMENTS, HasSignature, parameters, part_arguments, positional
from keras_adaptive_rnn._state_dict import StateDictByPosition

# Levels of lists and dicts in a config; a cell in a cell is two.
DEEPEST = 100
# Examples in errors about missing arguments; of other integers, 4.
EXAMPLES = {
    "activation": '"relu"',
    "cell": "LSTMCell(32)",
    "cells": "[LSTMCell(32), LSTMCell(32)]",
    "embedding": "10_000",
    "model": "model",
    "small_cell": "LSTMCell(8)",
    "units": "32",
}
# Weights that an error lists.
MOST_LISTED = 40


class DeclaredArguments(HasSignature, Freezes, SavesExtraState, StateDictByPosition):
    """Mixin of a layer whose arguments are declared once, as parameters of `__init__`.

    The signature, the config, `repr` and the error messages are derived from that declaration. `__init__` passes other
    arguments on through `**kwargs`. The attributes of `HasSignature` state what a declaration cannot.
    """

    # Arguments of Keras's class of that name that change nothing here, with the values that they may have.
    ignored_arguments: dict[str, tuple] = {}

    def __new__(cls, *args, **kwargs):
        values = by_name(cls, args, kwargs)
        for name in cls.ignored_arguments.keys() & values.keys():
            value, allowed = values.pop(name), cls.ignored_arguments[name]
            rule = f"Argument `{name}` must be one of {', '.join(map(repr, allowed))}, as in Keras; it changes nothing"
            check(value in allowed and not isinstance(value, bool), rule, **{name: value})
        reject_unknown(cls, values)
        # Elsewhere, an `__init__` may add what its bases need.
        if next(base for base in cls.__mro__ if "__init__" in vars(base)).__module__.startswith(f"{__package__}."):
            reject_missing(cls, values, parameters(cls))
        return super().__new__(cls, *args, **kwargs)

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **{n: v for n, v in kwargs.items() if n not in self.ignored_arguments})

    def first_part(self):
        """Returns the part whose arguments the config holds beside the layer's own, if it makes parts."""

    def get_config(self):
        part, taken = self.first_part(), part_arguments(type(self))
        # What a subclass declares again and passes on may be an attribute of the part alone.
        names = [name for name in parameters(type(self)) if name not in taken or hasattr(self, name)]
        others = {} if part is None else part.get_config()
        others = {name: value for name, value in others.items() if name in taken and name not in names}
        return {**super().get_config(), **{name: serialize(self.config_value(name)) for name in names}, **others}

    def config_value(self, name):
        """Returns the value of an argument as the config holds it: as it was passed."""
        return getattr(self, name)

    @classmethod
    def from_config(cls, config, *args, **kwargs):
        check_config(cls, config)
        try:
            return super().from_config(of_config(config), *args, **kwargs)
        except (AttributeError, KeyError, IndexError, RecursionError) as error:
            # Keras takes the objects in a config for granted, and fails somewhere inside.
            raise ValueError(
                f"The config of {cls.__name__} is damaged: {type(error).__name__}: {error}. Received: {config!r:.500}"
            ) from error

    def set_weights(self, weights):
        check_weights(self, weights)
        super().set_weights(weights)

    def __repr__(self):
        try:
            return f"{type(self).__name__}({', '.join(_changed(self))})"
        except AttributeError:  # Its `__init__` has not ended.
            return super().__repr__()


def by_name(cls, args, kwargs):
    """Returns all arguments by name, or raises `TypeError` for a position that is not there or that is given twice."""
    names = positional(cls)
    if len(args) > len(names):
        listed = ", ".join(f"`{name}`" for name in names) or "nothing"
        raise TypeError(
            f"{cls.__name__} takes {listed} by position, and all other arguments by name. "
            f"Received: {', '.join(map(repr, args))}"
        )
    named = dict(zip(names, args, strict=False))
    for name in named.keys() & kwargs.keys():
        raise TypeError(
            f"{cls.__name__} received argument `{name}` twice. Received: {named[name]!r}, {name}={kwargs[name]!r}"
        )
    return {**named, **kwargs}


def of_config(config):
    """Returns the arguments in a config, with the layers among them made.

    They are made first, as in `Outer(Inner())`: after `keras.utils.set_random_seed`, a copy draws the same numbers.
    """
    return {name: _made(value) for name, value in config.items()}


def _made(value):
    if isinstance(value, list):
        return [_made(each) for each in value]
    return keras.saving.deserialize_keras_object(value) if _is_of_layer(value) else value


def _is_of_layer(config):
    """Returns whether a config is that of a layer, of Keras or registered."""
    if not isinstance(config, dict) or not isinstance(config.get("class_name"), str):
        return False
    cls = keras.saving.get_registered_object(config.get("registered_name") or "")
    cls = getattr(keras.layers, config["class_name"], None) if config.get("module") == "keras.layers" else cls
    return isinstance(cls, type) and issubclass(cls, keras.layers.Layer)


def check_config(cls, config):
    """Raises `ValueError` with the argument if a config, which may come from a file, does not have the form of one."""
    if not isinstance(config, dict) or not all(isinstance(name, str) for name in config):
        raise ValueError(f"The config of {cls.__name__} must be a dict of arguments. Received: {config!r:.500}")
    for argument, value in config.items():
        rest = [(value, 0)]
        while rest:
            part, depth = rest.pop()
            if depth > DEEPEST:
                raise ValueError(
                    f"Argument `{argument}` in the config of {cls.__name__} must have at most {DEEPEST} levels. "
                    "Received: more"
                )
            if isinstance(part, dict) and "class_name" in part:
                names = [part["class_name"], *(part.get(name) or "" for name in ("module", "registered_name"))]
                if not all(isinstance(name, str) for name in names) or "config" not in part:
                    raise ValueError(
                        f"Argument `{argument}` in the config of {cls.__name__} must hold objects as Keras serializes "
                        f"them, with the strings 'module' and 'class_name', and 'config'. Received: {part!r:.500}"
                    )
            if isinstance(part, (dict, list, tuple)):
                parts = part.values() if isinstance(part, dict) else part
                rest += [(each, depth + 1) for each in parts]


def reject_unknown(cls, received, allowed=None):
    """Raises `TypeError` if `received` (a dict) holds names that `cls` does not take, or that are not in `allowed`."""
    allowed = cls.__signature__.parameters if allowed is None else allowed
    unknown = {name: value for name, value in received.items() if name not in allowed}
    if unknown:
        hints = {name: _synonyms.advice(cls, name, received, allowed) for name in unknown}
        for name in unknown:
            for match in difflib.get_close_matches(name, allowed, n=1, cutoff=0.7):
                hints[name] = hints[name] or f"did you mean `{match}`?"
        raise TypeError(
            f"{cls.__name__} has no argument "
            f"{', '.join(f'`{name}` ({hint})' if hint else f'`{name}`' for name, hint in hints.items())}. "
            f"Received: {', '.join(f'{name}={value!r}' for name, value in unknown.items())}. "
            f"`help({cls.__name__})` lists all arguments."
        )


def reject_missing(cls, received, needed):
    """Raises `TypeError` if `received` lacks one of the parameters `needed`, dicts by name, that has no default."""
    required = [name for name, parameter in needed.items() if parameter.default is parameter.empty]
    missing = [name for name in required if name not in received]
    if missing:
        shown = [f"{name}={EXAMPLES.get(name, 4 if needed[name].annotation is int else '...')}" for name in required]
        if required[0] in positional(cls)[:1]:
            shown[0] = shown[0].partition("=")[2]
        raise TypeError(
            f"{cls.__name__} needs {', '.join(f'`{name}`' for name in missing)}, such as "
            f"`{cls.__name__}({', '.join(shown)})`. "
            f"Received: {', '.join(f'{name}={value!r}' for name, value in received.items()) or 'nothing'}"
        )


def check_weights(layer, weights):
    """Raises `ValueError` with all names and shapes unless `weights` have the shapes of those of the layer."""
    shapes = [tuple(np.shape(weight)) for weight in weights]
    if shapes == _shapes(layer):
        return
    listed = [f"{variable.path} {tuple(variable.shape)}" for variable in layer.weights[:MOST_LISTED]]
    more = len(layer.weights) - len(listed)
    hint, inner, place = "", layer, "layer"
    while hint == "" and hasattr(inner, "cell"):
        inner, place = inner.cell, f"{place}.cell"
        if shapes == _shapes(inner):
            hint = f" They fit the {type(inner).__name__} inside it: `{place}.set_weights(weights)`."
    if not layer.weights:
        hint = " It has none before it is built: call it once, or call `build(input_shape)`."
    raise ValueError(
        f"Layer '{layer.name}' expected {len(layer.weights)} weights in `set_weights`: "
        f"{', '.join([*listed, *([f'and {more} more'] if more else [])]) or 'none'}. "
        f"Received: {len(shapes)}, of shapes {', '.join(map(str, shapes[:MOST_LISTED]))}"
        f"{', ...' if len(shapes) > MOST_LISTED else ''}.{hint}"
    )


def _shapes(layer):
    return [tuple(variable.shape) for variable in getattr(layer, "weights", ())]


def split_arguments(cls, base, received):
    """Splits `received` into arguments for `base`, a base class of `cls`, and those for the parts that `cls` makes.

    A subclass may declare any of them itself and pass them on to its bases, as layers of Keras do.
    """
    of_base = {*(set(parameters(cls)) & set(parameters(base))), *LAYER_ARGUMENTS}
    return (
        {name: value for name, value in received.items() if name in of_base},
        {name: value for name, value in received.items() if name not in of_base},
    )


def _changed(instance):
    """Yields `name=value` for each argument of an instance that differs from its default."""
    values, declared, part = instance.get_config(), parameters(type(instance)), instance.first_part()
    for name, parameter in type(instance).__signature__.parameters.items():
        if name in LAYER_ARGUMENTS or name not in values or _is_default(values[name], parameter.default):
            continue
        value, attribute = values[name], getattr(instance if name in declared else part, name, None)
        if isinstance(attribute, list):
            value = list(attribute)
        elif isinstance(attribute, keras.layers.Layer):
            value = attribute
        yield f"{name}={value['class_name'] + '(...)' if isinstance(value, dict) else repr(value)}"


def _is_default(value, default):
    """Returns whether a value in a config is the default; an object is, if its class has the name of the default."""
    if isinstance(value, dict) and isinstance(default, str):
        return value["class_name"].lower() == default.replace("_", "")
    return value in (default, (default,))


def check(fits, rule, /, **received):
    """Raises `ValueError` with the rule, a sentence without its full stop, and the arguments, unless they fit."""
    if not fits:
        listed = ", ".join(f"{name}={value!r}" for name, value in received.items())
        raise ValueError(f"{rule}. Received: {listed}")


def integer(name, value, minimum=1, optional=False):
    """Returns `value` as an `int`, or raises an error that names the argument; `minimum=None` allows any integer."""
    if value is None and optional:
        return None
    rule = f"Argument `{name}` must be an integer"
    rule += "" if minimum is None else f" of at least {minimum}"
    rule += ", or None" if optional else ""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"{rule}. Received: {name}={value!r}")
    check(minimum is None or value >= minimum, rule, **{name: value})
    return int(value)


def number(name, value, minimum=None, maximum=None, below=None, positive=False, optional=False):
    """Returns `value` as a `float`, or raises an error that names the argument and its range."""
    if value is None and optional:
        return None
    rule = f"Argument `{name}` must be {'a positive number' if positive else 'a number'}"
    if maximum is not None:
        rule += f" in [{minimum}, {maximum}]"
    elif minimum is not None:
        rule += f" of at least {minimum}"
    if below is not None:
        rule += f" and below {below}"
    rule += ", or None" if optional else ""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"{rule}. Received: {name}={value!r}")
    in_range = (
        math.isfinite(value)
        and (not positive or value > 0)
        and (minimum is None or value >= minimum)
        and (maximum is None or value <= maximum)
        and (below is None or value < below)
    )
    check(in_range, rule, **{name: value})
    return float(value)


def rate(name, value):
    """Returns a dropout rate, a number in [0, 1). Keras clamps bad rates in silence; we raise."""
    return number(name, value, minimum=0, below=1)


def boolean(name, value):
    """Returns `value` if it is a `bool`, or raises an error that names the argument."""
    if not isinstance(value, bool):
        raise TypeError(f"Argument `{name}` must be True or False. Received: {name}={value!r}")
    return value


def choice(name, value, allowed):
    """Returns `value` if it is one of the strings in `allowed`, or raises an error that lists them."""
    fits = isinstance(value, str) and value in allowed
    check(fits, f"Argument `{name}` must be one of {', '.join(map(repr, allowed))}", **{name: value})
    return value


def resolve(name, value, get):
    """Returns `get(value)`, such as `keras.initializers.get("zeros")`, with errors that name the argument."""
    try:
        return get(value)
    except (ValueError, TypeError) as error:
        raise ValueError(f"Could not interpret argument `{name}`. Received: {name}={value!r}. {error}") from error


def known_features(layer, shape):
    """Returns the size of the last axis of an input shape, or raises an error if it is not known."""
    if shape[-1] is None:
        raise ValueError(
            f"Layer '{layer.name}' needs a known feature size, the last axis of its input. "
            f"Received: input shape {tuple(shape)}"
        )
    return shape[-1]


def mask(layer, mask, sequence, name="mask"):
    """Returns the mask of a sequence `[batch, time, ...]`, if any, as booleans `[batch, time]`, or raises an error."""
    if mask is None:
        return None
    mask = keras.ops.cast(keras.ops.convert_to_tensor(mask), "bool")
    received, expected = tuple(mask.shape), tuple(sequence.shape[:2])
    # A size that is not known yet is `None`, or a symbol.
    known = [isinstance(size, int) for size in (*received, *expected)]
    fits = len(received) == 2 and all(
        a == b for a, b in zip(received, expected, strict=True) if isinstance(a, int) and isinstance(b, int)
    )
    if not fits:
        hint = ""
        if len(received) == 1 and name == "mask":
            hint = " For lengths, pass `keras.ops.arange(time) < keras.ops.reshape(lengths, (-1, 1))`."
        elif received == expected[::-1]:
            hint = " Its axes are swapped: transpose it."
        raise ValueError(
            f"Argument `{name}` of layer '{layer.name}' must have the shape (batch, time) of the sequence, {expected}. "
            f"Received: shape {received}.{hint}"
        )
    if all(known):
        return mask
    # In a graph, sizes may be known to the running program alone: it fails in the first operation if the axes differ,
    # and in the second if one of them is 1, which the first repeats.
    shape = keras.ops.shape(sequence)[:2]
    return keras.ops.logical_and(keras.ops.broadcast_to(mask, shape), keras.ops.reshape(mask, shape))


def serialize(value):
    if inspect.isfunction(value) or inspect.isbuiltin(value):
        return activations.serialize(value)
    return keras.saving.serialize_keras_object(value)
