"""Types of public arguments. Signatures and `help` show them by name."""

import typing
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import keras

if TYPE_CHECKING:
    from typing_extensions import TypeAliasType
else:

    class TypeAliasType:
        """A type with a name, in place of `typing.TypeAliasType`, which Python 3.11 lacks."""

        def __init__(self, name, value):
            self.__name__, self.__value__, self.__module__ = name, value, __name__

        def __repr__(self):
            return self.__name__

    TypeAliasType = getattr(typing, "TypeAliasType", TypeAliasType)

Activation = TypeAliasType("Activation", str | Callable[..., Any] | None)
Initializer = TypeAliasType("Initializer", str | dict | keras.initializers.Initializer | None)
Regularizer = TypeAliasType("Regularizer", str | dict | keras.regularizers.Regularizer | None)
Constraint = TypeAliasType("Constraint", str | dict | keras.constraints.Constraint | None)
# A backend tensor or an array.
Tensor = Any
