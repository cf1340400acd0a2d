"""Initializers, regularizers and constraints of layers and cells, and their biases."""

import keras

from keras_adaptive_rnn import _arguments, initializers
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
