"""A model of one time step, made of the layers of a model of sequences."""

from collections.abc import Sequence

import keras
from keras import ops

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn.one_step.calls import calls_of, timed_tensors
from keras_adaptive_rnn.one_step.recurrent_step import RecurrentStep


def step_model(
    model: keras.Model, batch_size: int = 1, *, time_distributed: Sequence[keras.Layer | type[keras.Layer]] = ()
) -> keras.Model:
    """Returns a model of one time step, with the layers of a model of sequences and therefore with their weights.

    It takes the input of one step and the states, and returns the output of this step and the next states, as dicts:

    - `"inputs"` `[batch_size, ...]`, the input without its axis of time: `[batch_size, features]`, or
      `[batch_size]` for tokens; of a model with several inputs, each by its name.
    - `"state_0"`, `"state_1"`, ...: the states of all recurrent layers, in the order of the layers. **Zeros before the
      first step**, also where initial states are trained: the model adds these.
    - `"output"` `[batch_size, ...]`, without the axis of time; of a model with several outputs, each by its name.
    - `"next_state_0"`, ...: the states to pass to the next step.

    The outputs of `T` steps are those of `model.predict`; if `model` returns only the last one, that of step `t` is its
    output for the first `t` steps. There is no loop in the model, and all shapes are known. Cells that decide how much
    to compute compute every step in full.

    `model` is a `Sequential` or functional model, also with such models inside. Its recurrent layers may be
    those of `keras_adaptive_rnn` and of Keras. What they read must be computed step by step: by `Dense`, `Embedding`,
    `Masking`, activations, dropout, normalization and merging layers, operations such as `x + y`, `TimeDistributed`,
    and the feed-forward layers of `keras_adaptive_rnn`. What reads a single vector, such as the last output, may be any
    layer. A masked step keeps the states.

    Args:
        model: A built `Sequential` or functional model with a recurrent layer.
        batch_size: Positive integer, how many sequences are read side by side. Defaults to `1`.
        time_distributed: Layers, or classes of layers, that are not known to Keras, and that compute each time step by
            itself. Defaults to none.

    Raises:
        ValueError: A layer of `model` cannot run one step at a time; the message names it. Or `model` has no recurrent
            layer, or is not built, or is neither `Sequential` nor functional.
        TypeError: `batch_size` is no integer.

    Example:

    >>> model = keras.Sequential([keras.Input((None, 3)), keras_adaptive_rnn.Mogrifier(8), keras.layers.Dense(1)])
    >>> step = keras_adaptive_rnn.step_model(model)
    >>> states = {f"state_{k}": np.zeros((1, 8)) for k in range(2)}
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
    feeds, values, steps, states, next_states = {}, {}, {}, [], []
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
            results, after = step(args[0], before, mask=kwargs.get("mask"))
            states, next_states = states + before, next_states + after
        else:
            results = call.operation(*args, **kwargs)
        values |= call.values(results, timed)
    if any(state.name in feeds for state in states):
        raise ValueError(f"Argument `model` must have inputs of other names than the states. Received: {list(feeds)}")
    fetches = {}
    for k, x in enumerate(outputs):
        name = "output" if len(outputs) == 1 else f"output_{k}"
        fetches[name] = ops.squeeze(values[id(x)], 1) if id(x) in timed else values[id(x)]
    feeds |= {state.name: state for state in states}
    fetches |= {f"next_state_{k}": state for k, state in enumerate(next_states)}
    return keras.Model(feeds, fetches, name=f"{model.name}_step")


def _declared(layers):
    """Returns `time_distributed` as a tuple, or raises an error."""
    layers = tuple(layers) if isinstance(layers, (list, tuple)) else (layers,)
    if not all(isinstance(each, keras.Layer) or issubclass(type(each), type) and issubclass(each, keras.Layer) for each in layers):
        raise TypeError(
            f"Argument `time_distributed` must be a list of layers or of classes of layers. Received: {layers!r}"
        )
    return layers
