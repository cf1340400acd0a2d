"""The types of public arguments."""

from collections.abc import Callable
from typing import Any

import keras

Activation = str | Callable[..., Any] | None
Initializer = str | dict | keras.initializers.Initializer | None
Regularizer = str | dict | keras.regularizers.Regularizer | None
Constraint = str | dict | keras.constraints.Constraint | None
# A backend tensor or an array.
Tensor = Any
