"""The gradient of a loss at the last step, over layers and time."""

from collections.abc import Callable

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments, engine
from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.analysis.hooks import chain_of, check_inputs, levels_of, run_chain


def gradient_flow(
    layers: keras.layers.Layer | list[keras.layers.Layer],
    inputs: Tensor,
    loss: Callable[[Tensor], Tensor] | None = None,
) -> np.ndarray:
    r"""Returns the norm of the gradient of a loss at the last step, at each layer and time step.

    $$G_{l,t} = \frac{1}{B} \sum_b \Big\lVert \frac{\partial L}{\partial h^{(b)}_l(t)} \Big\rVert_2$$

    where $h_l(t)$ is the output of layer $l$, with all paths to the loss: through the layers above, the layer's next
    step, and skip connections. A layer here is a layer of a `DeepRNNCell`, a cell of a stack (`StackedCells`,
    `StackedAdaptiveLSTMCells`, `keras.layers.StackedRNNCells`), or any other recurrent layer, and a model may combine
    them. Everything runs in inference mode, without dropout; masks are ignored.

    Do not call the layers in another thread while it runs, as it replaces methods of the cells.

    Args:
        layers: A built recurrent layer, a `keras.Sequential`, or a list of layers that are called in turn, such as an
            `Embedding`, two `LSTM` and a `Dense`.
        inputs: Tensor or array, the inputs of the first layer.
        loss: Function from the final output `[batch, size]` (at the last step, if the last layer returns sequences) to
            a scalar $L$. If it sums over the batch, the norms do not depend on the batch size. `None` (default) means
            $\frac{1}{2} \lVert y \rVert^2$.

    Returns: Array `[layers, time]`, the lowest layer first.

    Example:

    >>> layer = keras_adaptive_rnn.RNN(keras_adaptive_rnn.DeepRNNCell(8, depth=6))
    >>> x = np.random.default_rng(0).normal(size=(2, 5, 3))
    >>> _ = layer(x)
    >>> keras_adaptive_rnn.analysis.gradient_flow(layer, x).shape
    (6, 5)

    Reference: Eidnes, Nokland, Shifting Mean Activation Towards Zero with Bipolar Activation Functions (2018),
    section 3, figure 4.
    """
    chain = chain_of(layers)
    recurrent = [layer for layer in chain if isinstance(layer, keras.layers.RNN)]
    _arguments.check(recurrent, "Argument `layers` must hold a recurrent layer", layers=layers)
    inputs = check_inputs(inputs, chain[0]) if recurrent[0] is chain[0] else ops.convert_to_tensor(inputs)
    batch, steps = inputs.shape[:2]
    sizes = [(layer, level, size) for layer in recurrent for level, size in enumerate(levels_of(layer.cell))]

    def value(*added):
        # The gradient of an output is the gradient of a tensor of zeros that is added to it.
        zeros_of = {
            (id(layer), level): iter(ops.unstack(zeros, steps))
            for (layer, level, _), zeros in zip(sizes, added, strict=True)
        }

        def add(layer, level, output):
            return output + ops.cast(next(zeros_of[id(layer), level]), output.dtype)

        output = run_chain(chain, inputs, add)
        output = ops.cast(output[:, -1] if len(output.shape) == 3 else output, "float32")
        return ops.sum(ops.square(output)) / 2 if loss is None else loss(output)

    zeros = [np.zeros((steps, batch, size), "float32") for *_, size in sizes]
    _, _, gradients = engine.gradients(value, [], zeros)
    norms = [np.zeros(steps) if g is None else np.linalg.norm(g, axis=-1).mean(axis=1) for g in gradients]
    return np.stack([n[::-1] if layer.go_backwards else n for (layer, *_), n in zip(sizes, norms, strict=True)])
