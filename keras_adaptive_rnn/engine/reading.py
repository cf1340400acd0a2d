"""Steps that read variables, as functions of the values of these variables."""

import keras

from keras_adaptive_rnn._keras import AutocastScope, stateless_values


def values_of(variables):
    """Returns the values of variables as they are, whatever dtype is computed in."""
    with AutocastScope(None):
        return [variable.value for variable in variables]


def reading(function, variables, values):
    """Returns `function`, which reads `values` as those of `variables`, unless it assigns a variable.

    Args:
        function: Function of any arguments.
        variables: List of Keras variables.
        values: List of tensors.
    """

    def read(*args):
        before = {**stateless_values(), **dict(zip(map(id, variables), values, strict=True))}
        with keras.StatelessScope() as scope:
            scope.state_mapping.update(before)
            results = function(*args)
        assigns = any(scope.state_mapping[key] is not value for key, value in before.items())
        return function(*args) if assigns or len(scope.state_mapping) > len(before) else results

    return read
