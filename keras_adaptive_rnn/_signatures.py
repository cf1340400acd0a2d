"""The signatures of classes whose constructors pass arguments on.

Nothing is imported but the standard library: `tools/make_stubs.py` derives the same signatures where Keras is missing.
"""

import functools
import inspect
import itertools
import types
from typing import Any


def _layer(*, name: str | None = None, dtype: Any = None, trainable: bool = True):
    """What `keras.layers.Layer` itself takes, and every layer of ours passes on. Keras has no annotations."""


LAYER_ARGUMENTS = inspect.signature(_layer).parameters
# The groups in which signatures and documentation show arguments: those of the class itself, which have none, then
# those of what it builds on. What most users set is shown before all groups.
GROUPS = (
    "",
    "the inner cell",
    "every gated cell",
    "every linear cell",
    "every cell",
    "every recurrent layer",
    "every layer",
)
COMMON = ("return_sequences", "return_state", "dropout", "recurrent_dropout")


class HasSignature:
    """Mixin of a class whose signature is that of its `__init__`, its bases and the parts that it makes."""

    # Arguments of the bases that the class sets itself: they are not arguments of the class.
    fixed_arguments = ()
    # The class, or classes, of the parts that the layer makes: it takes their arguments too, but for the refused ones.
    takes_arguments_of = ()
    refused_arguments = ()
    # The group in which subclasses show the arguments of this class, and the one for what its parts show in none.
    argument_group = ""
    group_of_parts = ""
    # The class whose positional arguments it shares, in order; by default they are those of its own `__init__`.
    positional_arguments_of = None

    __signature__: inspect.Signature
    _positional: tuple[str, ...] = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        init, model = (vars(cls).get(name) for name in ("__init__", "positional_arguments_of"))
        if model is not None:
            names = model._positional if issubclass(model, HasSignature) else _by_position(model.__init__)
            cls._positional = tuple(itertools.takewhile(cls.accepted_arguments().__contains__, names))
        elif init is not None:
            cls._positional = _by_position(init, inherited=cls._positional)
        cls.__signature__ = signature(cls)

    @classmethod
    def accepted_arguments(cls):
        """Returns the parameters that the class takes, by name: its own, then those of the parts that it makes."""
        return {**parameters(cls), **{n: p for n, p in part_arguments(cls).items() if n not in parameters(cls)}}


def _declarations(cls):
    """Yields `(class, inspect.Parameter)` for what `cls` and its bases declare, those of `cls` first."""
    fixed = set()
    for base in cls.__mro__:
        if base.__module__.startswith("keras."):
            break
        init = vars(base).get("__init__")
        if init is None:
            fixed.update(vars(base).get("fixed_arguments", ()))
            continue
        listed = list(inspect.signature(init).parameters.values())[1:]
        named = [p for p in listed if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        yield from ((base, parameter) for parameter in named if parameter.name not in fixed)
        if len(named) == len(listed):
            break
        fixed.update(vars(base).get("fixed_arguments", ()))


@functools.cache
def parameters(cls):
    """Returns the `inspect.Parameter` of every argument that `cls` or a base declares, by name, its own first."""
    declared = {}
    for _, parameter in _declarations(cls):
        declared.setdefault(parameter.name, parameter)
    return types.MappingProxyType(declared)


@functools.cache
def argument_groups(cls):
    """Returns the group of every argument of `cls`, by name."""
    groups = {}
    for base, parameter in _declarations(cls):
        groups.setdefault(parameter.name, "" if base is cls else vars(base).get("argument_group", ""))
    for part in part_classes(cls):
        for name in part.accepted_arguments():
            groups.setdefault(name, argument_groups(part)[name] or cls.group_of_parts)
    groups = {**dict.fromkeys(LAYER_ARGUMENTS, "every layer"), **groups}
    return types.MappingProxyType({**groups, **dict.fromkeys((*cls._positional, *COMMON), "")})


def part_classes(cls):
    """Returns the classes of the parts whose arguments `cls` takes, as a tuple."""
    taken = cls.takes_arguments_of
    return taken if isinstance(taken, tuple) else (taken,)


@functools.cache
def part_arguments(cls):
    """Returns the parameters that `cls` takes for the parts that it makes, by name."""
    accepted = {}
    for part in part_classes(cls):
        for name, parameter in part.accepted_arguments().items():
            if name not in cls.refused_arguments:
                accepted.setdefault(name, parameter)
    return types.MappingProxyType(accepted)


def _by_position(init, inherited=()):
    """Returns the names of the arguments that an `__init__` takes by position; `*args` are those of the bases."""
    listed = list(inspect.signature(init).parameters.values())[1:]
    names = [p.name for p in listed if p.kind is p.POSITIONAL_OR_KEYWORD]
    if any(p.kind is p.VAR_POSITIONAL for p in listed):
        names += [name for name in inherited if name not in names]
    return tuple(names)


def signature(cls):
    """Returns the signature of `cls`: what it takes by position first, all else by name alone, group by group."""
    joined = {**cls.accepted_arguments()}
    for name, parameter in LAYER_ARGUMENTS.items():
        joined.setdefault(name, parameter)
    first = [joined.pop(name).replace(kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in cls._positional]
    groups = argument_groups(cls)
    places = {name: (GROUPS.index(groups[name]), COMMON.index(name) + 1 if name in COMMON else 0) for name in joined}
    by_name = [joined[name].replace(kind=inspect.Parameter.KEYWORD_ONLY) for name in sorted(joined, key=places.get)]
    return inspect.Signature([*first, *by_name])
