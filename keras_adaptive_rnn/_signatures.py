"""Signatures of classes whose constructors pass arguments on."""

import functools
import inspect
import types
from typing import Any


def _layer(*, name: str | None = None, dtype: Any = None, trainable: bool = True):
    """Declares the arguments of `keras.layers.Layer`, which has no annotations."""


LAYER_ARGUMENTS = inspect.signature(_layer).parameters


class _Signature:
    """The signature of a class, made when it is asked for: most programs need those of a few classes."""

    def __get__(self, instance: Any, owner: type) -> inspect.Signature:
        return signature(owner)


class HasSignature:
    """Mixin of a class whose signature joins those of its `__init__`, its bases and the parts that it makes."""

    # Arguments of the bases that the class sets itself: they are not arguments of the class.
    fixed_arguments: tuple[str, ...] = ()
    # The class, or classes, of the parts that it makes, whose arguments it takes too, except for the refused ones.
    takes_arguments_of: type | tuple[type, ...] = ()
    refused_arguments: tuple[str, ...] = ()

    __signature__ = _Signature()

    @classmethod
    def accepted_arguments(cls):
        """Returns the parameters that the class takes, by name: its own, those of its parts, those of its bases."""
        declared, of_parts = parameters(cls), part_arguments(cls)
        own = {name: declared[name] for name in _parameters_of(vars(cls).get("__init__")) if name in declared}
        return {**own, **of_parts, **declared}


def _parameters_of(init):
    """Returns the parameters of an `__init__`, by name, without `self`."""
    return {} if init is None else dict(list(inspect.signature(init).parameters.items())[1:])


def _constructors(cls):
    """Yields `(parameters, fixed)` for the `__init__` of `cls`, and of each base to which it passes arguments on."""
    fixed = set()
    for base in cls.__mro__:
        if base.__module__.startswith("keras."):
            break
        init = vars(base).get("__init__")
        if init is not None:
            listed = _parameters_of(init)
            yield listed, frozenset(fixed)
            if not any(p.kind is p.VAR_KEYWORD for p in listed.values()):
                break
        fixed.update(vars(base).get("fixed_arguments", ()))


@functools.cache
def parameters(cls):
    """Returns the `inspect.Parameter` of every argument that `cls` or a base declares, by name, its own first."""
    declared = {}
    for listed, fixed in _constructors(cls):
        for name, parameter in listed.items():
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) and name not in fixed:
                declared.setdefault(name, parameter)
    return types.MappingProxyType(declared)


def part_classes(cls):
    """Returns the classes of the parts whose arguments `cls` takes, as a tuple."""
    parts = cls.takes_arguments_of
    return parts if isinstance(parts, tuple) else (parts,)


@functools.cache
def part_arguments(cls):
    """Returns the parameters that `cls` takes for the parts that it makes, by name."""
    accepted = {}
    for part in part_classes(cls):
        for name, parameter in part.accepted_arguments().items():
            if name not in cls.refused_arguments:
                accepted.setdefault(name, parameter)
    return types.MappingProxyType(accepted)


@functools.cache
def positional(cls):
    """Returns the names of the arguments that `cls` takes by position.

    `*args` stands for those of the next base, or, where the class sets the first of these itself, of its part.
    """
    passes_on = False
    for listed, fixed in _constructors(cls):
        names = [name for name, p in listed.items() if p.kind is p.POSITIONAL_OR_KEYWORD]
        if passes_on and names[:1] and names[0] in fixed:
            return next(map(positional, part_classes(cls)), ())
        if not any(p.kind is p.VAR_POSITIONAL for p in listed.values()):
            return tuple(names)
        passes_on = True
    return ()


@functools.cache
def signature(cls):
    """Returns the signature of `cls`: the arguments that it takes by position, then all others, by name alone."""
    accepted = {**cls.accepted_arguments()}
    for name, parameter in LAYER_ARGUMENTS.items():
        accepted.setdefault(name, parameter)
    by_position = [accepted.pop(name) for name in positional(cls)]
    by_name = [parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in accepted.values()]
    return inspect.Signature([p.replace(kind=p.POSITIONAL_OR_KEYWORD) for p in by_position] + by_name)
