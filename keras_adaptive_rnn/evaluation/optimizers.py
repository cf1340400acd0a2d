"""Optimizers of dynamic evaluation: one accumulates squared gradients; the other steps and decays back."""

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
        gradient = _dense(gradient, variable)
        if _is_mutable(gradient):
            self._sums[place].value.data.addcmul_(gradient, gradient)
        else:
            self.assign_add(self._sums[place], ops.square(gradient))

    def root_means(self, count):
        """Returns $RMS_g$ over `count` gradients, an array for each variable."""
        sums = [ops.convert_to_numpy(variable.value).astype("float64") for variable in self._sums]
        return [(array / count) ** 0.5 for array in sums]


class DynamicEvaluationOptimizer(keras.optimizers.Optimizer):
    r"""Steps against the gradient, entry by entry at rates of their own, and back towards the first weights.

    $$\theta \leftarrow \theta - \alpha g + \beta (\theta_0 - \theta)$$

    `rates` and `decay_rates` are lists of arrays, $\alpha$ and $\beta$ of each variable.
    """

    def __init__(self, rates, decay_rates):
        super().__init__(learning_rate=0.0, name="dynamic_evaluation")
        # In a tuple: Keras tracks what lists hold.
        self._initial_values = tuple(zip(rates, decay_rates, strict=True))

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._rates = self.add_optimizer_variables(variables, "rate")
        # Precompute all but the gradient: a step is bound by memory.
        self._factors = self.add_optimizer_variables(variables, "factor")
        self._offsets = self.add_optimizer_variables(variables, "offset")
        for k, variable in enumerate(variables):
            rate, decay_rate = self._initial_values[k]
            self._rates[k].assign(rate)
            self._factors[k].assign(1 - decay_rate)
            self._offsets[k].assign(decay_rate * ops.convert_to_numpy(variable.value))

    def update_step(self, gradient, variable, learning_rate):
        k = self._get_variable_index(variable)
        gradient = _dense(gradient, variable)
        rates, factors, offsets = self._rates[k], self._factors[k], self._offsets[k]
        if _is_mutable(gradient):
            variable.value.data.mul_(factors.value).add_(offsets.value).addcmul_(rates.value, gradient, value=-1)
        else:
            self.assign(variable, factors * variable + offsets - rates * gradient)


def _is_mutable(tensor):
    """Returns whether tensors change in place, on PyTorch: new ones of this size cost more than the arithmetic."""
    return hasattr(tensor, "addcmul_")


def _dense(gradient, variable):
    """Returns a gradient as a tensor; TensorFlow lists the rows of an embedding, some of them twice, which add up."""
    gradient = ops.cast(gradient, variable.dtype)
    return (
        ops.add(ops.zeros(variable.shape, variable.dtype), gradient) if hasattr(gradient, "dense_shape") else gradient
    )
