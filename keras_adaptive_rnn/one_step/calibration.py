"""The inputs of a model of one time step on its way through sequences."""

import keras
import numpy as np


def step_feeds(step, model, sequences):
    """Returns the inputs and states of every step over `sequences`, the inputs of `model`, as a list of dicts."""
    names = ["inputs"] if len(model.inputs) == 1 else [x.name for x in model.inputs]
    arrays = [np.asarray(array) for array in keras.tree.flatten(sequences)]
    batch_size = step.input[names[0]].shape[0]
    expected = [(None, *x.shape[1:]) for x in model.inputs]
    fits = len(arrays) == len(expected) and all(
        array.ndim == len(shape)
        and all(size in (None, given) for size, given in zip(shape[1:], array.shape[1:], strict=True))
        for array, shape in zip(arrays, expected, strict=True)
    )
    if not fits or len({len(array) for array in arrays}) > 1 or len(arrays[0]) % batch_size or not arrays[0].size:
        raise ValueError(
            f"Argument `calibration` must be inputs of the model, of shapes {expected}, and a multiple of {batch_size} "
            f"sequences. Received: arrays of shapes {[array.shape for array in arrays]}"
        )
    is_timed = {name: len(step.input[name].shape) < x.ndim for name, x in zip(names, arrays, strict=True)}
    feeds = []
    for first in range(0, len(arrays[0]), batch_size):
        batch = {
            name: array[first : first + batch_size].astype(step.input[name].dtype)
            for name, array in zip(names, arrays, strict=True)
        }
        states = {name: np.zeros(x.shape, x.dtype) for name, x in step.input.items() if name not in batch}
        for t in range(next(x.shape[1] for name, x in batch.items() if is_timed[name])):
            feeds.append({**{name: x[:, t] if is_timed[name] else x for name, x in batch.items()}, **states})
            outputs = step.predict_on_batch(feeds[-1])
            states = {name: np.asarray(outputs[f"next_{name}"]) for name in states}
    return feeds
