"""A cell that every cell with a memory must beat."""

import keras


@keras.saving.register_keras_serializable(package="tests")
class Forgetful(keras.layers.Layer):
    """A cell without a memory."""

    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = self.state_size = self.output_size = units
        self.dense = keras.layers.Dense(units, "tanh")

    def build(self, input_shape):
        self.dense.build(input_shape)
        self.built = True

    def call(self, inputs, states):
        output = self.dense(inputs) + 0 * states[0]
        return output, [output]

    def get_config(self):
        return {**super().get_config(), "units": self.units}
