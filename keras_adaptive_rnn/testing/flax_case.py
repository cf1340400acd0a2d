"""Modules of Flax under test."""

import jax
import numpy as np
from flax import nnx

from keras_adaptive_rnn.testing.layer_case import LayerCase
from keras_adaptive_rnn.testing.results import NotApplicable


def call_rnn(layer, inputs, states=None, lengths=None):
    """Calls an `nnx.RNN`."""
    states, outputs = layer(inputs, initial_carry=states, seq_lengths=lengths, return_carry=True)
    return outputs, states


class FlaxCase(LayerCase):
    """A `flax.nnx.Module`."""

    def copied(self, layer):
        return nnx.merge(*nnx.split(layer))

    def layer_in(self, dtype):
        graph, state = nnx.split(self.layer)

        def cast(x):
            return x.astype(dtype) if jax.numpy.issubdtype(x.dtype, jax.numpy.floating) else x

        layer = nnx.merge(graph, jax.tree.map(cast, state))
        for _, part in nnx.iter_graph(layer):
            if isinstance(part, nnx.Module):
                vars(part).update({name: dtype for name in ("dtype", "param_dtype") if hasattr(part, name)})
        return layer

    def default_call(self):
        if not isinstance(self.layer, nnx.RNN):
            raise ValueError(f"Argument `call` must say how to call a {type(self.layer).__name__}. Received: call=None")
        return call_rnn, {"states", "lengths"}

    def variables(self):
        leaves, _ = jax.tree_util.tree_flatten_with_path(nnx.to_pure_dict(nnx.state(self.layer, nnx.Param)))
        return {"/".join(str(key.key) for key in path): leaf for path, leaf in leaves}

    def set_weights(self, weights):
        state = nnx.state(self.layer, nnx.Param)
        leaves, structure = jax.tree.flatten(state)
        new = [
            jax.numpy.asarray(weights.get(name, leaf), leaf.dtype)
            for name, leaf in zip(self.variables(), leaves, strict=True)
        ]
        nnx.update(self.layer, jax.tree.unflatten(structure, new))

    def to_tensor(self, array, dtype):
        return jax.numpy.asarray(array, dtype)

    def to_array(self, tensor):
        return np.array(tensor)

    def function(self):
        """Returns the outputs as a function of the weights and the inputs, and the weights."""
        graph, weights, rest = nnx.split(self.layer, nnx.Param, ...)
        return (lambda weights, inputs: self.call(nnx.merge(graph, weights, rest, copy=True), inputs)[0]), weights

    def gradients(self):
        outputs, weights = self.function()
        coefficients = self.tensor(self.coefficients)
        by_weight, by_inputs = jax.grad(lambda w, x: (outputs(w, x) * coefficients).sum(), (0, 1))(
            weights, self.tensor(self.inputs)
        )
        found = [by_inputs, *jax.tree.leaves(by_weight)]
        return dict(zip(["inputs", *self.variables()], map(np.asarray, found), strict=True))

    def exported(self, folder):
        outputs, weights = self.function()
        exported = jax.export.export(jax.jit(lambda x: outputs(weights, x)))(self.tensor(self.inputs))
        path = folder / "layer.bin"
        path.write_bytes(exported.serialize())
        return jax.export.deserialize(bytearray(path.read_bytes())).call

    def write_onnx(self, path):
        raise NotApplicable("Flax writes no ONNX")
