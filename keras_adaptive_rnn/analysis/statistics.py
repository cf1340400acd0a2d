"""Mean and standard deviation of the activations of each layer."""

import dataclasses

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import engine
from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.analysis.hooks import chain_of, levels_of, run_chain
from keras_adaptive_rnn.analysis.tracing import to_numpy


@dataclasses.dataclass(frozen=True)
class LayerStatistics:
    """The activations of each layer, the lowest first.

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
    connection is added; in other stacks, the outputs of each cell. Everything runs in inference mode, without dropout;
    masks are ignored.

    Methods of the cells are replaced while it runs, in every thread: do not call the layers in another thread at the
    same time.

    Args:
        layers: A built layer, a `keras.Sequential`, or a list of layers that are called in turn.
        inputs: Tensor or array, the inputs of the first layer.

    Returns: A `LayerStatistics`.

    Raises:
        ValueError: a layer is not built, a model is not `Sequential`, or a shape does not match.

    Example:

    >>> model = keras.Sequential([keras_adaptive_rnn.RNN(keras_adaptive_rnn.DeepRNNCell(4, depth=2), name="deep")])
    >>> _ = model(np.ones((2, 5, 3)))
    >>> keras_adaptive_rnn.analysis.layer_statistics(model, np.ones((2, 5, 3))).names
    ['deep/1', 'deep/2']

    Reference: Eidnes, Nokland, Shifting Mean Activation Towards Zero with Bipolar Activation Functions (2018), section
    4.3, figure 5.
    """
    chain = chain_of(layers)
    seen: dict = {}

    def hook(layer, level, output):
        single = len(levels_of(layer.cell)) == 1
        seen.setdefault(layer.name if single else f"{layer.name}/{level + 1}", []).append(to_numpy(output))
        return output

    def see(layer, output):
        seen.setdefault(layer.name, []).append(to_numpy(output))

    with engine.inference():
        run_chain(chain, ops.convert_to_tensor(inputs), hook, see)
    arrays = [np.stack(steps).astype("float64") for steps in seen.values()]
    return LayerStatistics(list(seen), np.array([a.mean() for a in arrays]), np.array([a.std() for a in arrays]))
