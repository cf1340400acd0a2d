"""Mixins of layers and cells with initializers, regularizers and constraints of their weights."""

import keras

from keras_adaptive_rnn import _arguments, initializers
from keras_adaptive_rnn._types import Constraint, Initializer, Regularizer
from keras_adaptive_rnn.maps.bias import Bias

GETTERS = {
    "initializer": initializers.get,
    "regularizer": keras.regularizers.get,
    "constraint": keras.constraints.get,
}


class OwnsWeights:
    """Mixin of layers and cells with initializers, regularizers and constraints as arguments."""

    def set_resolved(self, **arguments):
        """Sets attributes that are initializers, regularizers or constraints, by the suffix of their names."""
        for name, value in arguments.items():
            setattr(self, name, _arguments.resolve(name, value, GETTERS[name.rsplit("_", 1)[1]]))

    def arguments_of(self, weight, **others):
        """Returns the initializer, the regularizer and the constraint of a weight, by these names, and the others."""
        return {**{kind: getattr(self, f"{weight}_{kind}") for kind in GETTERS}, **others}

    def make_bias(self, units, initializers, name="bias"):
        """Returns a built bias with the bias arguments of this layer, and initializers as `Bias` takes them."""
        bias = Bias(
            units,
            initializers,
            regularizer=self.bias_regularizer,
            constraint=self.bias_constraint,
            name=name,
            dtype=self.dtype_policy,
        )
        bias.build()
        return bias


class OwnsKernelAndBias(OwnsWeights):
    """Mixin of those with a kernel and a bias.

    Args:
        kernel_initializer: Initializer of the kernel. Defaults to `"glorot_uniform"`.
        bias_initializer: Initializer of the bias. Defaults to `"zeros"`.
        kernel_regularizer, bias_regularizer: Regularizers, `None` by default.
        kernel_constraint, bias_constraint: Constraints, `None` by default.
    """

    def __init__(
        self,
        *,
        kernel_initializer: Initializer = "glorot_uniform",
        bias_initializer: Initializer = "zeros",
        kernel_regularizer: Regularizer = None,
        bias_regularizer: Regularizer = None,
        kernel_constraint: Constraint = None,
        bias_constraint: Constraint = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.set_resolved(
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
        )
