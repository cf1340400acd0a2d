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
        gradient = _dense(gradient, variable)
        if _is_mutable(gradient):
            self._sums[place].value.data.addcmul_(gradient, gradient)
        else:
            self.assign_add(self._sums[place], ops.square(gradient))

    def root_means(self, count):
        """Returns $RMS_g$ over `count` gradients, an array for each variable."""
        sums = [ops.convert_to_numpy(variable.value).astype("float64") for variable in self._sums]
        return [(array / count) ** 0.5 for array in sums]


class Adapting(keras.optimizers.Optimizer):
    r"""Steps against the gradient, entry by entry at rates of their own, and back towards the first weights.

    $$\theta \leftarrow \theta - \alpha g + \beta (\theta_0 - \theta)$$

    Args:
        rates: List of arrays, $\alpha$ of each variable.
        pulls: List of arrays, $\beta$ of each variable, from 0 to 1.
    """

    def __init__(self, rates, pulls):
        super().__init__(learning_rate=0.0, name="adapting")
        # In a tuple: Keras tracks what lists hold.
        self._given = tuple(zip(rates, pulls, strict=True))

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        self._rates = self.add_optimizer_variables(variables, "rate")
        # All but the gradient is prepared, as a step takes as long as the reading of what it reads.
        self._kept = self.add_optimizer_variables(variables, "kept")
        self._returned = self.add_optimizer_variables(variables, "returned")
        for k, variable in enumerate(variables):
            rate, pull = self._given[k]
            self._rates[k].assign(rate)
            self._kept[k].assign(1 - pull)
            self._returned[k].assign(pull * ops.convert_to_numpy(variable.value))

    def update_step(self, gradient, variable, learning_rate):
        k = self._get_variable_index(variable)
        gradient = _dense(gradient, variable)
        rates, kept, returned = self._rates[k], self._kept[k], self._returned[k]
        if _is_mutable(gradient):
            variable.value.data.mul_(kept.value).add_(returned.value).addcmul_(rates.value, gradient, value=-1)
        else:
            self.assign(variable, kept * variable + returned - rates * gradient)


def _is_mutable(tensor):
    """Returns whether tensors change in place, on PyTorch: new ones of this size cost more than the arithmetic."""
    return hasattr(tensor, "addcmul_")


def _dense(gradient, variable):
    """Returns a gradient as a tensor; TensorFlow lists the rows of an embedding, some of them twice, which add up."""
    gradient = ops.cast(gradient, variable.dtype)
    return (
        ops.add(ops.zeros(variable.shape, variable.dtype), gradient) if hasattr(gradient, "dense_shape") else gradient
    )
