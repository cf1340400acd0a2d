"""The two optimizers of dynamic evaluation: one that only watches, and one that adapts and forgets."""

import keras
from keras import ops


class SquaredGradients(keras.optimizers.Optimizer):
    """Adds up the squares of the gradients, and leaves the weights alone."""

    def __init__(self):
        super().__init__(learning_rate=0.0, name="squared_gradients")

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._sums = self.add_optimizer_variables(variables, "sum")

    def update_step(self, gradient, variable, learning_rate):
        place = self._get_variable_index(variable)
        # Added to zeros, a sparse gradient becomes dense, and what it says twice of one row adds up.
        gradient = ops.add(ops.zeros(variable.shape, variable.dtype), ops.cast(gradient, variable.dtype))
        self.assign_add(self._sums[place], ops.square(gradient))

    def root_means(self, count):
        """Returns $RMS_g$ over `count` gradients, an array for each variable."""
        sums = [ops.convert_to_numpy(variable.value).astype("float64") for variable in self._sums]
        return [(array / count) ** 0.5 for array in sums]


class Adapting(keras.optimizers.Optimizer):
    """Steps against the gradient in units of `rms`, and back towards the first weights at the rates `pulls`.

    Args:
        learning_rate: Non-negative number.
        rms: List of arrays, $RMS_g + \\epsilon$ of each variable.
        pulls: List of arrays, by what share of the distance each entry returns in a step.
    """

    def __init__(self, learning_rate, rms, pulls):
        super().__init__(learning_rate=learning_rate, name="adapting")
        # In a tuple: Keras tracks what lists hold.
        self._given = tuple(zip(rms, pulls, strict=True))

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._rms = self.add_optimizer_variables(variables, "rms")
        self._pulls = self.add_optimizer_variables(variables, "pull")
        self._first = self.add_optimizer_variables(variables, "first")
        for k, variable in enumerate(variables):
            rms, pull = self._given[k]
            self._rms[k].assign(rms)
            self._pulls[k].assign(pull)
            # A copy: on JAX a training step overwrites the buffer of the weight.
            self._first[k].assign(ops.convert_to_numpy(variable.value).copy())

    def update_step(self, gradient, variable, learning_rate):
        k = self._get_variable_index(variable)
        gradient = ops.add(ops.zeros(variable.shape, variable.dtype), ops.cast(gradient, variable.dtype))
        step = ops.cast(learning_rate, variable.dtype) * gradient / self._rms[k]
        self.assign_add(variable, self._pulls[k] * (self._first[k] - variable) - step)
