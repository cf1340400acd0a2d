"""A model of one time step, made of the layers of a model of sequences."""

from collections.abc import Sequence

import keras
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._keras import get_mask
from keras_adaptive_rnn.one_step.calls import calls_of, timed_tensors
from keras_adaptive_rnn.one_step.recurrent_step import RecurrentStep, outputs_its_state


def step_model(
    model: keras.Model, batch_size: int = 1, *, time_distributed: Sequence[keras.Layer | type[keras.Layer]] = ()
) -> keras.Model:
    """Returns a model of a single time step, made of the layers of a model of sequences.

    The model takes the inputs of one step and the states, and returns the outputs and the next states, as dicts:

    - `"inputs"`: `[batch_size, features]`, or `[batch_size]` if `model` reads tokens: the input of `model` without the
      axis of time. If `model` has several inputs, each keeps its own name.
    - `"state_0"`, `"state_1"`, ...: the states of the recurrent layers, layer by layer, each `[batch_size, size]`. They
      are **zeros before the first step**, whatever the layers start from: initial states that are not zero, such as
      trained ones, are part of the model.
    - `"output"`: the output of `model` without the axis of time; `"output_0"`, `"output_1"`, ... if there are several.
    - `"next_state_0"`, `"next_state_1"`, ...: the states to pass to the next step.

    The outputs of the steps are those of `model.predict`. If `model` returns only its last output, the output of step
    $t$ is that of a sequence of $t$ steps. The model shares its weights with `model`, has no loop, and all its shapes
    are known. Cells that decide how much to compute run in full. A masked step keeps all states, as in `predict`.

    `model` consists of recurrent layers (those of `keras_adaptive_rnn`, `keras.layers.LSTM`, `GRU`, `SimpleRNN` and
    `RNN`), layers that compute each time step by itself (`Dense`, `Embedding`, `Masking`, `TimeDistributed`,
    activations, dropout, normalization, merging layers, the feed-forward layers of `keras_adaptive_rnn`), operations
    such as `x + y`, and models of all these. Layers that read a vector, such as the last output, may be any.

    Args:
        model: A `keras.Sequential` or functional model whose input shape is known.
        batch_size: Positive integer, the number of sequences that are read side by side. Defaults to `1`.
        time_distributed: List of layers, or of their classes, that compute each time step by itself but do not say so:
            a class of your own does with an attribute, `is_time_distributed = True`. Defaults to `()`.

    Raises:
        ValueError: `model` has no recurrent layer, a layer that cannot run one step at a time, which the message names,
            or no known input shape; or `batch_size` is not positive.
        TypeError: `batch_size` is not an integer, or `time_distributed` holds something else than layers.

    Example:

    >>> model = keras.Sequential([keras.Input((None, 3)), keras_adaptive_rnn.Mogrifier(8), keras.layers.Dense(1)])
    >>> step = keras_adaptive_rnn.step_model(model)
    >>> states = {"state_0": np.zeros((1, 8)), "state_1": np.zeros((1, 8))}
    >>> for x in np.ones((5, 1, 3)):
    ...     outputs = step.predict_on_batch({"inputs": x, **states})
    ...     states = {name: outputs[f"next_{name}"] for name in states}
    >>> np.allclose(outputs["output"], model.predict(np.ones((1, 5, 3)), verbose=0), atol=1e-5)
    True
    """
    batch_size = _arguments.integer("batch_size", batch_size)
    declared = _declared(time_distributed)
    inputs, calls, outputs = calls_of(model)
    timed = timed_tensors(calls)
    for call in calls:
        call.check(timed, declared)
    if not any(call.is_recurrent for call in calls):
        raise ValueError(f"Argument `model` must have a recurrent layer. Received: model={model!r}")
    feeds, fetches = _one_step(inputs, calls, outputs, timed, batch_size)
    return keras.Model(feeds, fetches, name=f"{model.name}_step")


def _one_step(inputs, calls, outputs, timed, batch_size):
    """Returns the inputs and the outputs of one step, by name. Inside, a sequence is one of a single step."""
    feeds, fetches, values, steps, states, next_states = {}, {}, {}, {}, [], []
    for x in inputs:
        name = "inputs" if len(inputs) == 1 else x.name
        shape = x.shape[2:] if id(x) in timed else x.shape[1:]
        feeds[name] = keras.Input(shape, batch_size, dtype=x.dtype, name=name)
        values[id(x)] = ops.expand_dims(feeds[name], 1) if id(x) in timed else feeds[name]
    for call in calls:
        args, kwargs = call.arguments(values)
        if call.is_recurrent:
            step = steps.setdefault(id(call.operation), RecurrentStep(call.operation))
            before = [
                keras.Input(batch_shape=zeros.shape, dtype=zeros.dtype, name=f"state_{k}")
                for k, zeros in enumerate(step.zero_states(batch_size), len(states))
            ]
            mask = kwargs.get("mask", get_mask(args[0]))
            if mask is not None and not outputs_its_state(call.operation.cell):
                raise call.refused(
                    f"is masked and has a {type(call.operation.cell).__name__}, whose first state is not known to be "
                    "its output, which a masked step repeats"
                )
            results, after = step(args[0], before, mask=mask, resets=kwargs.get("resets"))
            states, next_states = states + before, next_states + after
        else:
            results = call.operation(*args, **kwargs)
        values |= call.values(results, timed)
    if any(state.name in feeds for state in states):
        raise ValueError(f"Argument `model` must have inputs of other names than the states. Received: {list(feeds)}")
    for k, x in enumerate(outputs):
        name = "output" if len(outputs) == 1 else f"output_{k}"
        fetches[name] = ops.squeeze(values[id(x)], 1) if id(x) in timed else values[id(x)]
    feeds |= {state.name: state for state in states}
    fetches |= {f"next_state_{k}": state for k, state in enumerate(next_states)}
    return feeds, fetches


def _declared(layers):
    """Returns `time_distributed` as a tuple, or raises an error."""
    layers = tuple(layers) if isinstance(layers, (list, tuple)) else (layers,)
    if not all(
        isinstance(each, keras.Layer) or (isinstance(each, type) and issubclass(each, keras.Layer)) for each in layers
    ):
        raise TypeError(
            "Argument `time_distributed` must be a list of layers, or of classes of layers. "
            f"Received: time_distributed={layers!r}"
        )
    return layers
