"""The singular values that adaptive layers compute for each input."""

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import engine
from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.analysis.hooks import check_built, loop_of
from keras_adaptive_rnn.analysis.tracing import cells_of, to_numpy, trace
from keras_adaptive_rnn.cells.adaptive import AdaptiveGatedCell
from keras_adaptive_rnn.layers.adaptive_dense import AdaptiveDense


def adaptation_spectrum(layer: keras.layers.Layer, inputs: Tensor) -> dict[str, np.ndarray]:
    r"""Returns the adaptive singular values of a layer with `adaptation="sva"`, for each example.

    $$W(x) = W^{(2)} D(x) W^{(1)}, \qquad D(x) = \operatorname{diag}(\pi(x))$$

    Up to their signs, the entries of $D(x)$ are the singular values of $W(x)$ as long as $W^{(1)}$ and $W^{(2)}$ are
    semi-orthogonal. They are initialized so, but training does not keep them so.

    Args:
        layer: A built `AdaptiveDense`, or a recurrent layer around adaptive cells, with `adaptation="sva"`.
        inputs: Tensor or array, the inputs of the layer.

    Returns: Dict of arrays. An `AdaptiveDense` has `"x"`, `[..., rank]`. A recurrent layer has `"x"` and `"h"`, for the
        products with input and state, `[batch, time, rank]`; with `tied=False` gate after gate, `[batch, time, gates *
        rank]`. A cell inside another one adds its path: `"cells/0/x"`.

    Raises:
        ValueError: the layer is not built, or does not have `adaptation="sva"`.

    Example:

    >>> layer = keras_adaptive_rnn.AdaptiveDense(4, adaptation="sva", rank=2)
    >>> _ = layer(np.ones((5, 3)))
    >>> keras_adaptive_rnn.analysis.adaptation_spectrum(layer, np.ones((5, 3)))["x"].shape
    (5, 2)

    Reference: Flennerhag, Yin, Keane, Elliot, Breaking the Activation Function Bottleneck through Adaptive
    Parameterization (2018), section 2, equation 4, and section 5.1, figure 2.
    """
    if isinstance(layer, AdaptiveDense) and layer.adaptation == "sva":
        check_built(layer)
        with engine.inference():
            return {"x": to_numpy(layer._diagonals(ops.cast(ops.convert_to_tensor(inputs), layer.compute_dtype))[0])}
    cells = cells_of(loop_of(layer).cell) if isinstance(layer, keras.layers.RNN) else {}
    paths = [path for path, cell in cells.items() if isinstance(cell, AdaptiveGatedCell) and cell.adaptation == "sva"]
    if not paths:
        raise ValueError(
            "Argument `layer` must be an `AdaptiveDense`, or a recurrent layer around adaptive cells, with "
            f"adaptation='sva'. Received: layer={layer!r}"
        )
    gates = trace(layer, inputs).gates
    return {f"{path}{name}": gates[f"{path}policy_{name}1"] for path in paths for name in ("x", "h")}
