"""Names of arguments in PyTorch, TensorFlow Addons, haste and older versions of Keras, and their counterparts."""

# For each name, its counterparts: arguments, of which the first that the class has counts, or else a sentence, with
# `{cls}` for the class, `{value}` for the received value, `{units}`, and `{layer}` for a layer around the object.
SYNONYMS = {
    "hidden_size": ["units"],
    "num_units": ["units"],
    "input_size": ["leave it out, as it is that of the first input"],
    "num_layers": ["{stack}"],
    "bias": ["use_bias"],
    "recurrent_bias": ["use_bias"],
    "nonlinearity": ["activation"],
    "proj_size": ["projection_units", "put a `keras.layers.Dense` after the layer"],
    "batch_first": ["leave it out: inputs are always (batch, time, features)"],
    "time_major": ["leave it out: inputs are always (batch, time, features)"],
    "bidirectional": ["use `keras.layers.Bidirectional({layer})`"],
    "direction": ["use `keras.layers.Bidirectional({layer})`"],
    "device": ['make and call it inside `with keras.device("gpu"):`'],
    "kernel_init": ["kernel_initializer"],
    "recurrent_kernel_init": ["recurrent_initializer"],
    "bias_init": ["bias_initializer"],
    "forget_bias": ["unit_forget_bias", "carry_bias", "bias_initializer"],
    "unit_forget_bias": ["carry_bias", "bias_initializer"],
    "reset_after": ["leave it out: it is for a GRU"],
    "use_cudnn": ["leave it out: the time loop is this package's own"],
    "implementation": ["leave it out: there is one implementation"],
    "weights": ["build the layer and call `set_weights`"],
    "input_shape": ["begin the model with `keras.Input({value})`"],
    "batch_input_shape": ["begin the model with `keras.Input(batch_shape={value})`"],
    "batch_size": ["begin the model with `keras.Input(shape, batch_size={value})`"],
    "input_dim": ["begin the model with `keras.Input((None, {value}))`"],
    "input_length": ["begin the model with `keras.Input(({value}, features))`"],
    "lengths": ["pass `mask=keras.ops.arange(time) < keras.ops.reshape(lengths, (-1, 1))` to the call"],
    "sequence_length": ["pass `mask=keras.ops.arange(time) < keras.ops.reshape(lengths, (-1, 1))` to the call"],
}


def advice(cls, name, received, allowed):
    """Returns what to write instead of the argument `name`, which is not among those that `cls` allows, or `None`."""
    for instead in SYNONYMS.get(name, ()):
        if not instead.isidentifier():
            is_layer = "return_sequences" in allowed
            layer = f"{cls.__name__}(...)" if is_layer else f"keras_adaptive_rnn.RNN({cls.__name__}(...))"
            units = received.get("units", received.get("hidden_size", 64))
            stack = f"pass `units=[{units!r}] * {received[name]!r}`"
            if "units" not in allowed or not is_layer:
                stack = "pass a list of cells to `keras_adaptive_rnn.RNN` or `keras_adaptive_rnn.StackedCells`"
            return instead.format(cls=cls.__name__, layer=layer, value=repr(received[name]), stack=stack)
        if instead in allowed:
            return f"use `{instead}`"
    return None
