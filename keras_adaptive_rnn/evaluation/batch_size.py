"""A copy of a model for batches of another size."""

import keras

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._keras import flatten_layers
from keras_adaptive_rnn.loop.stateful import carried_states


def with_batch_size(model: keras.Model, batch_size: int) -> keras.Model:
    """Returns a copy of a model with stateful layers for batches of another size.

    The copy has the same layers and weights, in variables of its own, and its states are the initial ones. It is not
    compiled.

    Args:
        model: A built functional or `Sequential` model.
        batch_size: Positive integer.

    Returns: A `keras.Model`.

    Example:

    >>> rnn = keras_adaptive_rnn.LSTM(8, stateful=True, return_sequences=True)
    >>> model = keras.Sequential([keras.Input(batch_shape=(20, None, 3)), rnn])
    >>> keras_adaptive_rnn.evaluation.with_batch_size(model, 1).output_shape
    (1, None, 8)
    """
    batch_size = _arguments.integer("batch_size", batch_size)
    if not isinstance(model, keras.Model):
        raise TypeError(f"Argument `model` must be a Keras model. Received: model={model!r}")
    if not model.built or not getattr(model, "inputs", None):
        raise ValueError(
            f"Argument `model` must be a built functional or Sequential model. Received: model={model!r}, which is "
            f"{'none' if model.built else 'not built'}"
        )
    copy = _copied(model, batch_size)
    mine, theirs = _weights(model), _weights(copy)
    shapes = [[tuple(variable.shape) for variable in variables] for variables in (mine, theirs)]
    if shapes[0] != shapes[1]:
        raise ValueError(
            f"Argument `model` must have layers that can be copied by their config. Received: '{model.name}', whose "
            f"copy has {len(theirs)} weights instead of {len(mine)}, or others: do its layers share a layer?"
        )
    for variable, source in zip(theirs, mine, strict=True):
        variable.assign(keras.ops.convert_to_numpy(source.value))
    return copy


def _copied(model, batch_size):
    inputs = model.inputs[0] if isinstance(model, keras.Sequential) else model.input
    inputs = keras.tree.map_structure(
        lambda x: keras.Input(batch_shape=(batch_size, *x.shape[1:]), dtype=x.dtype, name=x.name), inputs
    )
    copies = {}

    def copied(layer):
        # Keras asks for a layer once for every call of it.
        if id(layer) not in copies:
            is_model = isinstance(layer, keras.Model) and getattr(layer, "inputs", None)
            copies[id(layer)] = _copied(layer, batch_size) if is_model else type(layer).from_config(config(layer))
        return copies[id(layer)]

    def config(layer):
        """Returns the config of a layer, in which a layer of the model, such as a tied embedding, is its copy."""
        parts = {name: getattr(layer, name, None) for name in layer.get_config()}
        shared = {name: copied(part) for name, part in parts.items() if any(part is other for other in model.layers)}
        return {**layer.get_config(), **shared}

    return keras.models.clone_model(model, input_tensors=inputs, clone_function=copied)


def _weights(model):
    """Returns the weights of a model without the states that stateful layers of Keras hold among them."""
    states = {id(state) for layer in flatten_layers(model) for state in carried_states(layer)}
    return [variable for variable in model.weights if id(variable) not in states]
