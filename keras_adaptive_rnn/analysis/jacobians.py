"""The Jacobians of the layers of a recurrent highway, in closed form."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import engine
from keras_adaptive_rnn._run import Run
from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.analysis.spectra import recurrent_matrix
from keras_adaptive_rnn.analysis.tracing import to_numpy
from keras_adaptive_rnn.cells import RecurrentHighwayCell


def recurrent_highway_jacobians(cell: Any, inputs: Tensor, state: Tensor) -> np.ndarray:
    r"""Returns the Jacobian of each layer of a recurrent highway in one step of inference.

    $$A^l = \mathrm{diag}(c^l) + H' \mathrm{diag}(t^l) + C' \mathrm{diag}(s^{l-1}) + T' \mathrm{diag}(h^l), \qquad
      A^l_{ij} = \frac{\partial s^l_j}{\partial s^{l-1}_i}$$
    $$H' = U^l_h \mathrm{diag}(\phi'(a_h)), \qquad T' = U^l_t \mathrm{diag}(\sigma'(a_t)), \qquad
      C' = U^l_c \mathrm{diag}(\sigma'(a_c))$$

    where $a$ are what the activations are applied to, and $C' = -T'$ if the gates are coupled. The Jacobian of the step
    is $A^1 A^2 \cdots A^L$.

    `keras_adaptive_rnn.analysis.gersgorin_discs` of a Jacobian bounds its eigenvalues: the gates move the centres
    $A_{ii}$ and scale the radii $\sum_{j \ne i} |A_{ij}|$ of its discs from step to step, where those of an Elman
    network have the centres and radii of its matrix, scaled by slopes alone. With $c = 1$ and saturated gates, $t = 0$,
    all eigenvalues are 1.

    Args:
        cell: A built `keras_adaptive_rnn.RecurrentHighwayCell` without layer normalization, or the layer around one.
        inputs: Tensor or array `[batch, features]`.
        state: Tensor or array `[batch, units]`, $s^0$.

    Returns: Array `[batch, depth, units, units]`.

    Raises:
        ValueError: `cell` is another cell, is not built or normalizes layers, or a shape does not fit.

    Example:

    >>> cell = keras_adaptive_rnn.RecurrentHighwayCell(4, depth=2)
    >>> cell.build((None, 3))
    >>> a = keras_adaptive_rnn.analysis.recurrent_highway_jacobians(cell, np.ones((1, 3)), np.zeros((1, 4)))
    >>> centres, radii = keras_adaptive_rnn.analysis.gersgorin_discs(a)
    >>> a.shape, radii.shape
    ((1, 2, 4, 4), (1, 2, 4))

    Reference: Zilly, Srivastava, Koutnik, Schmidhuber, Recurrent Highway Networks (2017), section 4.
    """
    inner = cell.cell if isinstance(cell, keras.layers.RNN) else cell
    if not isinstance(inner, RecurrentHighwayCell) or not inner.built or inner.layer_normalization:
        raise ValueError(
            "Argument `cell` must be a built RecurrentHighwayCell without layer normalization, or the layer around "
            f"one. Received: cell={cell!r}"
        )
    inputs, s = (ops.convert_to_tensor(x, dtype=inner.compute_dtype) for x in (inputs, state))
    expected = [(len(s), inner.input_size), (len(s), inner.units)]
    if [tuple(inputs.shape), tuple(s.shape)] != expected:
        raise ValueError(
            "Arguments `inputs` and `state` must have the shapes (batch, features) and (batch, units), with "
            f"features={inner.input_size} and units={inner.units}. Received: {tuple(inputs.shape)}, {tuple(s.shape)}"
        )

    run, jacobians = Run(), []
    with engine.inference():
        projected = inner.project(inputs, run)
    for layer, u in enumerate(np.split(recurrent_matrix(inner), inner.depth, axis=1)):
        with engine.inference():
            a = inner.recurrent(s, run, group=layer)
            a = to_numpy(a + projected if layer == 0 else inner.bias_layer(a, run, layer))
        s = to_numpy(s)
        a_h, a_t, *a_c = np.split(a, len(inner.gates), axis=1)
        u_h, u_t, *u_c = np.split(u, len(inner.gates), axis=1)
        h, slope_h = _value_and_slope(inner.activation, a_h)
        t, slope_t = _value_and_slope(inner.recurrent_activation, a_t)
        if inner.coupled:
            u_carry, c, slope_c = u_t, 1 - t, -slope_t
        else:
            u_carry, (c, slope_c) = u_c[0], _value_and_slope(inner.recurrent_activation, a_c[0])
        # One row for each sample, over the columns of a matrix.
        of_h, of_t, of_c = ((x * slope)[:, None] for x, slope in ((t, slope_h), (h, slope_t), (s, slope_c)))
        jacobians.append(c[:, None] * np.eye(inner.units, dtype=c.dtype) + u_h * of_h + u_t * of_t + u_carry * of_c)
        s = ops.convert_to_tensor(h * t + s * c, dtype=inner.compute_dtype)
    return np.stack(jacobians, axis=1)


def _value_and_slope(function, a):
    """Returns a function of each entry of `a`, and its derivative there."""
    with engine.inference():
        value = to_numpy(function(ops.convert_to_tensor(a)))
    _, _, (slope,) = engine.gradients(lambda a: ops.sum(function(a)), [], [a])
    return value, slope
