"""Arguments: checked when given, listed for signatures, and turned into a config."""

import functools
import inspect
import numbers
import types

import keras

from keras_adaptive_rnn import activations

# What `keras.layers.Layer` itself takes and every layer of ours hands on.
LAYER_ARGUMENTS = ("name", "dtype", "trainable")


@functools.cache
def parameters(cls):
    """Returns the `inspect.Parameter` of every argument of `cls`, by name, its own first.

    Classes of this package take what their bases take through `**kwargs`; this walks the bases, so that one
    declaration of an argument serves the signature, the config and the error messages of every subclass. A class that
    decides an argument of its bases for itself names it in `fixed_arguments`: it is then no argument of the class.
    """
    found, fixed = {}, set()
    for base in cls.__mro__:
        if base.__module__.startswith("keras."):
            break
        init = vars(base).get("__init__")
        if init is None:
            fixed.update(vars(base).get("fixed_arguments", ()))
            continue
        own = list(inspect.signature(init).parameters.values())[1:]
        named = [p for p in own if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        for parameter in named:
            if parameter.name not in fixed:
                found.setdefault(parameter.name, parameter)
        if len(named) == len(own):
            break
        fixed.update(vars(base).get("fixed_arguments", ()))
    return types.MappingProxyType(found)


def signature(*groups):
    """Returns a signature that joins groups of parameters, the first group's order and defaults first."""
    joined = {}
    for group in groups:
        for parameter in group.values():
            joined.setdefault(parameter.name, parameter)
    for name in LAYER_ARGUMENTS:
        joined.setdefault(name, inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None))
    first, *others = joined.values()
    return inspect.Signature([first, *(p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in others)])


def reject_unknown(cls, received, allowed):
    """Raises `TypeError` if `received` (a dict) holds names that are not in `allowed`."""
    unknown = {name: value for name, value in received.items() if name not in allowed}
    if unknown:
        names = ", ".join(f"`{name}`" for name in unknown)
        raise TypeError(
            f"{cls.__name__} has no argument {names}. Received: "
            f"{', '.join(f'{name}={value!r}' for name, value in unknown.items())}. Allowed: {', '.join(allowed)}."
        )


def divide(cls, received):
    """Divides `received` into the arguments that `cls` and its bases declare, and the others."""
    own = {*parameters(cls), *LAYER_ARGUMENTS}
    return (
        {name: value for name, value in received.items() if name in own},
        {name: value for name, value in received.items() if name not in own},
    )


def integer(name, value, minimum=1, optional=False):
    """Returns `value` as an `int`, or raises an error that names the argument; `minimum=None` allows any integer."""
    if value is None and optional:
        return None
    allowed = "an integer" if minimum is None else f"an integer of at least {minimum}"
    allowed += ", or None" if optional else ""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise TypeError(f"Argument `{name}` must be {allowed}. Received: {name}={value!r}")
    if minimum is not None and value < minimum:
        raise ValueError(f"Argument `{name}` must be {allowed}. Received: {name}={value!r}")
    return int(value)


def number(name, value, minimum=None, below=None, positive=False, optional=False):
    """Returns `value` as a `float`, or raises an error that names the argument and its range."""
    if value is None and optional:
        return None
    allowed = "a positive number" if positive else "a number"
    if minimum is not None:
        allowed += f" of at least {minimum}"
    if below is not None:
        allowed += f" and below {below}"
    allowed += ", or None" if optional else ""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise TypeError(f"Argument `{name}` must be {allowed}. Received: {name}={value!r}")
    in_range = (
        value == value
        and abs(value) != float("inf")
        and (not positive or value > 0)
        and (minimum is None or value >= minimum)
        and (below is None or value < below)
    )
    if not in_range:
        raise ValueError(f"Argument `{name}` must be {allowed}. Received: {name}={value!r}")
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
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(
            f"Argument `{name}` must be one of {', '.join(repr(a) for a in allowed)}. Received: {name}={value!r}"
        )
    return value


def resolve(name, value, get):
    """Returns `get(value)`, such as `keras.initializers.get("zeros")`, with errors that name the argument."""
    try:
        return get(value)
    except (ValueError, TypeError) as error:
        raise ValueError(f"Argument `{name}` is not understood. Received: {name}={value!r}. {error}") from error


def config(instance, names):
    """Returns the config of `instance`: the attribute behind each of the argument `names`, serialized."""
    return {name: serialize(getattr(instance, name)) for name in names}


def serialize(value):
    if inspect.isfunction(value) or inspect.isbuiltin(value):
        return activations.serialize(value)
    return keras.saving.serialize_keras_object(value)
