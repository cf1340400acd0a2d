"""Layers of Keras under test."""

import inspect
import re

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import engine
from keras_adaptive_rnn.testing.case import with_dtype
from keras_adaptive_rnn.testing.layer_case import LayerCase
from keras_adaptive_rnn.testing.results import NotApplicable


class KerasCase(LayerCase):
    """A layer of Keras, which returns sequences and states if it can."""

    def missing(self, what):
        return None if what == "Keras" else super().missing(what)

    def copied(self, layer, dtype=None):
        config = _returning_all(layer.get_config())
        layer = type(layer).from_config(config if dtype is None else with_dtype(config, dtype))
        layer.build(self.input_shape)
        return layer

    def layer_in(self, dtype):
        # Keras's users mix: its initializers have no bfloat16.
        layer = self.copied(self.original, "mixed_bfloat16" if dtype == "bfloat16" else dtype)
        layer.set_weights(self.layer.get_weights())
        return layer

    def make(self, **changes):
        """Returns a new layer of the original's config, with changes."""
        return type(self.original).from_config({**self.original.get_config(), **changes})

    def model(self):
        inputs = keras.Input(self.input_shape[1:])
        return keras.Model(inputs, self.call(self.layer, inputs)[0])

    def default_call(self):
        names = {"states": "initial_state", "mask": "mask", "resets": "resets"}
        takes = inspect.signature(self.layer.call).parameters

        def call(layer, inputs, **given):
            result = layer(inputs, **{names[name]: value for name, value in given.items()})
            outputs, *states = result if isinstance(result, (list, tuple)) else [result]
            return outputs, states or None

        return call, {name for name, of_keras in names.items() if of_keras in takes}

    def variables(self):
        # Keras numbers the names of layers, and of the cells inside, in the order in which they are made.
        paths = [v.path.partition("/")[2] for v in self.layer.trainable_variables]
        names = [re.sub(r"_\d+/", "/", path) for path in paths]
        names = names if len(set(names)) == len(names) else paths
        return dict(zip(names, self.layer.trainable_variables, strict=True))

    def set_weights(self, weights):
        variables = self.variables()
        for name, value in weights.items():
            variables[name].assign(value)

    def to_tensor(self, array, dtype):
        return ops.convert_to_tensor(array, dtype)

    def to_array(self, tensor):
        return np.array(ops.convert_to_numpy(tensor))

    def gradients(self):
        coefficients = self.tensor(self.coefficients)

        def loss(inputs):
            return ops.sum(self.call(self.layer, inputs)[0] * coefficients)

        variables = self.variables()
        _, by_variable, (by_inputs,) = engine.gradients(loss, list(variables.values()), [self.tensor(self.inputs)])
        return {"inputs": by_inputs, **dict(zip(variables, by_variable, strict=True))}

    def exported(self, folder):
        if keras.backend.backend() != "tensorflow":
            raise NotApplicable("what Keras exports here is ONNX")
        self.model().export(str(folder), format="tf_saved_model", verbose=False)
        return keras.layers.TFSMLayer(str(folder), call_endpoint="serve")

    def write_onnx(self, path):
        signature = [keras.InputSpec(shape=self.input_shape, dtype="float32")]
        self.model().export(path, format="onnx", verbose=False, input_signature=signature)


def _returning_all(config):
    """Returns the config of a layer, or of a wrapper around some, that returns sequences and states."""
    changed = {name: True for name in ("return_sequences", "return_state") if name in config}
    for name in ("layer", "backward_layer"):
        if isinstance(config.get(name), dict):
            changed[name] = {**config[name], "config": _returning_all(config[name]["config"])}
    return {**config, **changed}
