"""Mean and standard deviation of the activations of each layer."""

import contextlib
import dataclasses

import keras
import numpy as np
from keras import ops, tree

from keras_adaptive_rnn import engine
from keras_adaptive_rnn._keras import flatten_layers, replaced
from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.analysis.hooks import check_inputs, infer, layers_of, levels_of, loop_of, output_hook, run
from keras_adaptive_rnn.analysis.tracing import to_numpy
from keras_adaptive_rnn.layers.feed_forward import FeedForward


@dataclasses.dataclass(frozen=True)
class LayerStatistics:
    """The activations of each layer, in the order in which they were called.

    Attributes:
        names: List of strings, names of the layers; `"rnn/3"` is the third level of the stack in layer `"rnn"`.
        means: Array `[layers]`, means over batch, time and units.
        deviations: Array `[layers]`, standard deviations over batch, time and units.
    """

    names: list[str]
    means: np.ndarray
    deviations: np.ndarray


def layer_statistics(layers: keras.layers.Layer | list[keras.layers.Layer], inputs: Tensor) -> LayerStatistics:
    r"""Returns the mean and the standard deviation of the activations of each layer.

    $$m_l = \mathrm{E}[h_l], \qquad s_l = \sqrt{\mathrm{E}[(h_l - m_l)^2]}$$

    over batch, time and units. In a `DeepRNNCell`, the activations are the outputs of each nonlinearity, before a skip
    connection is added; in other stacks, the outputs of each cell. A model or a layer that is made of layers shows
    those. Everything runs in inference mode, without dropout; masked steps count like all others.

    Do not call the layers in another thread while it runs, as it replaces methods of the cells.

    Args:
        layers: A built model or layer, or a list of layers that are called in turn.
        inputs: Tensor or array, the inputs of the first layer, or a list or dict of them for a model that takes these.

    Returns: A `LayerStatistics`.

    Example:

    >>> model = keras.Sequential([keras_adaptive_rnn.RNN(keras_adaptive_rnn.DeepRNNCell(4, depth=2), name="deep")])
    >>> _ = model(np.ones((2, 5, 3)))
    >>> keras_adaptive_rnn.analysis.layer_statistics(model, np.ones((2, 5, 3))).names
    ['deep/1', 'deep/2']

    Reference: Eidnes, Nokland, Shifting Mean Activation Towards Zero with Bipolar Activation Functions (2018), section
    4.3, figure 5.
    """
    chain = layers_of(layers)
    seen: dict = {}

    def see(name, key, output):
        outputs = [to_numpy(array).astype("float64").ravel() for array in tree.flatten(output)]
        seen.setdefault(key, (name, []))[1].extend(outputs)
        return output

    with engine.inference(), contextlib.ExitStack() as stack:
        for part in {id(part): part for layer in chain for part in _parts(layer)}.values():
            seeing = _seeing_levels if isinstance(part, keras.layers.RNN) else _seeing
            stack.enter_context(replaced(part, call=seeing(part, see)))
        x = tree.map_structure(ops.convert_to_tensor, inputs)
        for layer in chain:
            x = infer(layer, x)
    names, arrays = [name for name, _ in seen.values()], [np.concatenate(arrays) for _, arrays in seen.values()]
    return LayerStatistics(names, np.array([a.mean() for a in arrays]), np.array([a.std() for a in arrays]))


def _parts(layer):
    """Returns the layers in `layer` that are not made of layers, and the recurrent ones, or `layer` if it is one."""
    if isinstance(layer, (keras.layers.RNN, FeedForward)):
        return [layer]
    inner = flatten_layers(layer, include_self=False, recursive=False)
    return [part for one in inner for part in _parts(one)] or [layer]


def _seeing(layer, see):
    """Returns the call of a layer, which shows its output to `see(name, key, output)`."""
    call = layer.call
    return lambda *args, **kwargs: see(layer.name, id(layer), call(*args, **kwargs))


def _seeing_levels(layer, see):
    """Returns the call of a recurrent layer, which first shows the outputs of its levels in a Python loop."""
    call, is_stack = layer.call, len(levels_of(layer.cell)) > 1

    def hook(level, output):
        return see(f"{layer.name}/{level + 1}" if is_stack else layer.name, (id(layer), level), output)

    def seen(sequences, initial_state=None, mask=None, **kwargs):
        with output_hook(layer.cell, hook):
            run(loop_of(layer), check_inputs(sequences, layer), initial_state, mask)
        return call(sequences, initial_state=initial_state, mask=mask, **kwargs)

    return seen
