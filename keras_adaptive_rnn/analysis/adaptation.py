"""The matrices that adaptive layers compute for each input, and their singular values."""

import functools

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
            return {"x": to_numpy(layer.diagonals(ops.cast(ops.convert_to_tensor(inputs), layer.compute_dtype))[0])}
    paths, gates = _adaptive_cells(layer, "sva"), trace(layer, inputs).gates
    return {f"{path}{name}": gates[f"{path}policy_{name}1"] for path in paths for name in ("x", "h")}


def adapted_matrices(layer: keras.layers.Layer, inputs: Tensor) -> dict[str, np.ndarray]:
    r"""Returns the matrices $W(x)$ by which an adaptive layer multiplies, for each example.

    $$W(x) = D^{(2)}(x)\, W D^{(1)}(x)$$

    with `adaptation="io"`; the other adaptations, and more matrices, likewise. As the kernels of Keras, they have a row
    for each input.

    Args:
        layer: A built `AdaptiveDense`, or a recurrent layer around adaptive cells.
        inputs: Tensor or array, the inputs of the layer.

    Returns: Dict of arrays. An `AdaptiveDense` has `"x"`, `[..., inputs, units]`. A recurrent layer has `"x"`, `[batch,
        time, inputs, gates * units]`, and `"h"`, `[batch, time, units, gates * units]`. A cell inside another one adds
        its path: `"cells/0/x"`.

    Example:

    >>> layer = keras_adaptive_rnn.AdaptiveDense(4, use_bias=False)
    >>> x = np.ones((5, 3), "float32")
    >>> outputs = keras.ops.convert_to_numpy(layer(x))
    >>> matrices = keras_adaptive_rnn.analysis.adapted_matrices(layer, x)["x"]
    >>> bool(np.allclose(outputs, np.einsum("bi,bio->bo", x, matrices), atol=1e-5))
    True

    Reference: Flennerhag, Yin, Keane, Elliot, Breaking the Activation Function Bottleneck through Adaptive
    Parameterization (2018), sections 2 and 3, equations 2 to 6, and figure 1.
    """
    if isinstance(layer, AdaptiveDense):
        check_built(layer)
        with engine.inference():
            x = ops.cast(ops.convert_to_tensor(inputs), layer.compute_dtype)
            # Each row of the matrices is the product with a unit vector.
            diagonals = [ops.expand_dims(each, -2) for each in layer.diagonals(x)]
            return {"x": to_numpy(layer.adapted(ops.eye(x.shape[-1], dtype=layer.compute_dtype), diagonals))}
    cells, gates, matrices = _adaptive_cells(layer), trace(layer, inputs).gates, {}
    runner = loop_of(layer).runner
    for path, cell in cells.items():
        policies = {key: gates[f"{path}policy_{key}"] for key in cell.policy_sizes}
        steps = next(iter(policies.values())).shape[:2]
        to_tensor = functools.partial(ops.convert_to_tensor, dtype=cell.compute_dtype)
        for name, size in (("x", cell.input_size), ("h", cell.core_state_size[0])):
            unit_vectors = np.tile(np.eye(size), (steps[0] * steps[1], 1))
            rows = {key: np.repeat(each.reshape(-1, each.shape[-1]), size, axis=0) for key, each in policies.items()}
            with engine.inference():
                rows = {key: to_tensor(each) for key, each in rows.items()}
                product = cell.adapted(to_tensor(unit_vectors), name, rows, runner.start(len(unit_vectors)))
            matrices[f"{path}{name}"] = to_numpy(product).reshape(*steps, size, -1)
    return matrices


def _adaptive_cells(layer, adaptation=None):
    """Returns the adaptive cells of a recurrent layer by path, or raises an error if there are none."""
    cells = cells_of(loop_of(layer).cell) if isinstance(layer, keras.layers.RNN) else {}
    cells = {path: cell for path, cell in cells.items() if isinstance(cell, AdaptiveGatedCell)}
    cells = {path: cell for path, cell in cells.items() if adaptation in (None, cell.adaptation)}
    if not cells:
        required = "" if adaptation is None else f", with adaptation={adaptation!r}"
        raise ValueError(
            f"Argument `layer` must be an `AdaptiveDense`, or a recurrent layer around adaptive cells{required}. "
            f"Received: layer={layer!r}"
        )
    return cells
