"""The frameworks of layers under test, each imported only for a layer of its own."""

import keras

from keras_adaptive_rnn.testing.keras_case import KerasCase


def layer_case(layer, input_shape, seed=0, call=None, equation=None):
    """Returns the `LayerCase` of a layer of Keras, PyTorch or Flax; the arguments are those of `check_layer`."""
    bases = {f"{cls.__module__}.{cls.__name__}" for cls in type(layer).__mro__}
    # Keras's layers are modules of PyTorch, too, if Keras runs on it.
    if isinstance(layer, keras.layers.Layer):
        return KerasCase(layer, input_shape, seed, call, equation)
    # Imported here: each imports its framework.
    if "torch.nn.modules.module.Module" in bases:
        from keras_adaptive_rnn.testing.torch_case import TorchCase

        return TorchCase(layer, input_shape, seed, call, equation)
    if "flax.nnx.module.Module" in bases:
        from keras_adaptive_rnn.testing.flax_case import FlaxCase

        return FlaxCase(layer, input_shape, seed, call, equation)
    raise TypeError(
        "Argument `layer` must be a layer of Keras, a torch.nn.Module or a flax.nnx.Module. Received: "
        f"layer={layer!r} of type {type(layer).__name__}"
    )
