"""Values of variables, for a step whose gradient is that of a function of them."""

import keras

from keras_adaptive_rnn._keras import AutocastScope, stateless_values


def values_of(variables):
    """Returns the values of variables as they are, whatever dtype is computed in."""
    with AutocastScope(None):
        return [variable.value for variable in variables]


def reading(variables, values, function, *args, assigning=None):
    """Returns `function(*args)`, which reads `values` as those of `variables`, unless it assigns a variable.

    Args:
        variables: List of Keras variables.
        values: List of tensors.
        function: Function of `args`.
        assigning: Function to call in its place if it assigns a variable. `None` (default) for `function` itself.
    """
    before = {**stateless_values(), **dict(zip(map(id, variables), values, strict=True))}
    with keras.StatelessScope() as scope:
        scope.state_mapping.update(before)
        results = function(*args)
    assigns = any(scope.state_mapping[key] is not value for key, value in before.items())
    if assigns or len(scope.state_mapping) > len(before):
        return (assigning or function)(*args)
    return results
