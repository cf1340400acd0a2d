"""Recurrent matrices and Jacobians, whatever the parameterization, and their spectra."""

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import _arguments, engine
from keras_adaptive_rnn._run import Run
from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.analysis.tracing import to_numpy
from keras_adaptive_rnn.cells import RecurrentHighwayCell

# The gates of Keras's cells, in the order of their kernels.
KERAS_GATES = {
    keras.layers.SimpleRNNCell: ("h",),
    keras.layers.GRUCell: ("z", "r", "h"),
    keras.layers.LSTMCell: ("i", "f", "c", "o"),
}


def recurrent_matrices(cell: Any) -> dict[str, np.ndarray]:
    r"""Returns the dense recurrent matrix $U_g$ of each gate of a cell, by the name of the gate.

    The recurrent map is applied to the identity, so its parameters may be low-rank factors, diagonals or normalized
    weights. The matrix multiplies the state before any layer normalization, without dropout. A cell around another one,
    such as a Mogrifier, returns the matrices of the inner cell; an adaptive cell with `"sva"` returns $L$,
    `[rank, units]`.

    Args:
        cell: A built cell of this package with a single recurrent map, or an LSTM, GRU or SimpleRNN cell of Keras, or
            the layer around one. For a stack, pass one of its `cells`.

    Returns: Dict of arrays `[state, units]`. If every layer of a cell has its own matrix (`RecurrentHighwayCell`,
        `DeepRNNCell`), the names are numbered from the lowest layer: `"h_1"`, `"h_2"`.

    Example:

    >>> cell = keras_adaptive_rnn.LowRankGRUCell(4, rank=2)
    >>> cell.build((None, 3))
    >>> {gate: u.shape for gate, u in keras_adaptive_rnn.analysis.recurrent_matrices(cell).items()}
    {'z': (4, 4), 'r': (4, 4), 'h': (4, 4)}
    """
    inner = _gated_cell(cell)
    _arguments.check(inner.built, "Argument `cell` must be built", cell=cell)
    if hasattr(inner, "recurrent_map"):
        gates, matrix = inner.gates, _dense(inner.recurrent_map)
    else:
        gates = next(gates for cls, gates in KERAS_GATES.items() if isinstance(inner, cls))
        matrix = to_numpy(inner.recurrent_kernel)
    blocks = matrix.shape[1] // inner.units
    layers = blocks // len(gates)
    names = [f"{gate}_{k + 1}" for k in range(layers) for gate in gates] if layers > 1 else gates
    return dict(zip(names, np.split(matrix, blocks, axis=1), strict=True))


def _gated_cell(cell):
    """Returns the cell with a recurrent map inside a layer and inside wrapper cells."""
    inner = cell.cell if isinstance(cell, keras.layers.RNN) else cell
    while not hasattr(inner, "recurrent_map") and hasattr(inner, "cell"):
        inner = inner.cell
    if not hasattr(inner, "recurrent_map") and not isinstance(inner, tuple(KERAS_GATES)):
        raise ValueError(
            "Argument `cell` must be a cell with a single recurrent map, such as one of the `cells` of a stack, or the "
            f"layer around it. Received: cell={cell!r}"
        )
    return inner


def _dense(linear_map):
    """Returns the dense matrix of a map, with its groups side by side."""
    identity = ops.eye(linear_map.input_spec.axes[-1], dtype=linear_map.compute_dtype)
    with engine.inference():
        groups = [to_numpy(linear_map(identity, Run(), group=k)) for k in range(len(linear_map.blocks))]
    return np.concatenate(groups, axis=1)


def recurrent_matrix(cell: Any, gate: str | None = None) -> np.ndarray:
    """Returns the dense recurrent matrix of one gate of a cell, or of all gates side by side, as Keras stores them.

    Args:
        cell: As in `keras_adaptive_rnn.analysis.recurrent_matrices`.
        gate: Name of a gate, a key of `recurrent_matrices(cell)`. `None` (default) means all gates.

    Returns: Array `[state, units]`, or `[state, gates * units]` without `gate`.

    Example:

    >>> cell = keras_adaptive_rnn.LSTMCell(4)
    >>> cell.build((None, 3))
    >>> keras_adaptive_rnn.analysis.recurrent_matrix(cell, "f").shape
    (4, 4)
    """
    matrices = recurrent_matrices(cell)
    if gate is None:
        return np.concatenate(list(matrices.values()), axis=1)
    _arguments.check(gate in matrices, f"Argument `gate` must be one of {', '.join(map(repr, matrices))}", gate=gate)
    return matrices[gate]


def singular_values(cell: Any, gate: str | None = None) -> np.ndarray:
    r"""Returns the singular values of a recurrent matrix, the largest first.

    The gradients of an Elman cell vanish over time if $\gamma \sigma_{max} < 1$, where $\gamma$ is the largest slope of
    the activation, and can explode only if it is larger.

    Args:
        cell, gate: As in `keras_adaptive_rnn.analysis.recurrent_matrix`.

    Example:

    >>> cell = keras_adaptive_rnn.ElmanCell(4, recurrent_initializer="identity")
    >>> cell.build((None, 3))
    >>> keras_adaptive_rnn.analysis.singular_values(cell).tolist()
    [1.0, 1.0, 1.0, 1.0]

    Reference: Pascanu, Mikolov, Bengio, On the difficulty of training recurrent neural networks (2013), section 2.
    """
    return np.linalg.svd(recurrent_matrix(cell, gate), compute_uv=False)


class SingularValues(keras.callbacks.Callback):
    """Records the largest singular value of each gate's recurrent matrix during training.

    Args:
        cell: As in `keras_adaptive_rnn.analysis.recurrent_matrices`; it must be built when training begins.

    Attributes:
        history: Dict of lists by gate: the value before the first epoch, and after each epoch.

    Example:

    >>> layer = keras_adaptive_rnn.GRU(4)
    >>> model = keras.Sequential([keras.Input((5, 3)), layer])
    >>> model.compile("sgd", "mse")
    >>> values = keras_adaptive_rnn.analysis.SingularValues(layer)
    >>> _ = model.fit(np.ones((2, 5, 3)), np.ones((2, 4)), epochs=2, verbose=0, callbacks=[values])
    >>> {gate: len(largest) for gate, largest in values.history.items()}
    {'z': 3, 'r': 3, 'h': 3}
    """

    def __init__(self, cell: Any):
        super().__init__()
        self.cell = cell
        self.history: dict = {}

    def on_train_begin(self, logs=None):
        self.history = {}
        self._record()

    def on_epoch_end(self, epoch, logs=None):
        self._record()

    def _record(self):
        for gate, matrix in recurrent_matrices(self.cell).items():
            self.history.setdefault(gate, []).append(float(np.linalg.norm(matrix, 2)))


def gersgorin_discs(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    r"""Returns the centres and radii of the Gersgorin discs of a matrix, one per row, which contain its eigenvalues.

    $$\mathrm{spec}(A) \subset \bigcup_i \Big\{ \lambda \in \mathbb{C} : |\lambda - a_{ii}| \le \sum_{j \ne i} |a_{ij}|
    \Big\}$$

    The transposed matrix has the same eigenvalues but other discs.

    Args:
        matrix: Array `[n, n]`, real or complex, or several of them, `[..., n, n]`.

    Returns: `centres, radii`, each `[n]`, or `[..., n]` for several matrices.

    Example:

    >>> centres, radii = keras_adaptive_rnn.analysis.gersgorin_discs(np.array([[1.0, -0.5], [0.25, 2.0]]))
    >>> centres.tolist(), radii.tolist()
    ([1.0, 2.0], [0.5, 0.25])

    Reference: Zilly, Srivastava, Koutnik, Schmidhuber, Recurrent Highway Networks (2017), section 3.
    """
    matrix = np.asarray(matrix)
    if matrix.ndim < 2 or matrix.shape[-2] != matrix.shape[-1]:
        raise ValueError(f"Argument `matrix` must be square. Received: an array of shape {matrix.shape}")
    centres = np.diagonal(matrix, axis1=-2, axis2=-1).copy()
    return centres, np.abs(matrix).sum(axis=-1) - np.abs(centres)


def recurrent_highway_jacobians(cell: Any, inputs: Tensor, state: Tensor) -> np.ndarray:
    r"""Returns the Jacobian of each layer of a recurrent highway in one step of inference.

    $$A^l_{ij} = \frac{\partial s^l_j}{\partial s^{l-1}_i}, \qquad s^l = h^l t^l + s^{l-1} c^l$$

    The Jacobian of the step is $A^1 A^2 \cdots A^L$. `keras_adaptive_rnn.analysis.gersgorin_discs` bounds the
    eigenvalues of each: the gates move the centres $A_{ii}$ and scale the radii $\sum_{j \ne i} |A_{ij}|$ from step to
    step, where an Elman network has those of its matrix, scaled by slopes alone. With $c = 1$ and saturated gates,
    $t = 0$, all eigenvalues are 1.

    Args:
        cell: A built `keras_adaptive_rnn.RecurrentHighwayCell`, or the layer around one.
        inputs: Tensor or array `[batch, features]`.
        state: Tensor or array `[batch, units]`, $s^0$.

    Returns: Array `[batch, depth, units, units]`.

    Example:

    >>> cell = keras_adaptive_rnn.RecurrentHighwayCell(4, depth=2)
    >>> cell.build((None, 3))
    >>> keras_adaptive_rnn.analysis.recurrent_highway_jacobians(cell, np.ones((1, 3)), np.zeros((1, 4))).shape
    (1, 2, 4, 4)

    Reference: Zilly, Srivastava, Koutnik, Schmidhuber, Recurrent Highway Networks (2017), section 4.
    """
    inner = cell.cell if isinstance(cell, keras.layers.RNN) else cell
    fits = isinstance(inner, RecurrentHighwayCell) and inner.built
    _arguments.check(fits, "Argument `cell` must be a built RecurrentHighwayCell, or the layer around one", cell=cell)
    units, run = inner.units, Run()
    inputs, s = (np.asarray(ops.convert_to_numpy(x), inner.compute_dtype) for x in (inputs, state))
    if [inputs.shape, s.shape] != [(len(s), inner.input_size), (len(s), units)]:
        raise ValueError(
            "Arguments `inputs` and `state` must have the shapes (batch, features) and (batch, units), with "
            f"features={inner.input_size} and units={units}. Received: {inputs.shape}, {s.shape}"
        )
    # Each sample is repeated for each unit, whose gradient is a column of the Jacobian.
    inputs, s = (np.repeat(x, units, axis=0) for x in (inputs, s))
    chosen = ops.tile(ops.eye(units, dtype=inner.compute_dtype), (len(s) // units, 1))
    jacobians = []
    with engine.inference():
        projected = inner.project(ops.convert_to_tensor(inputs), run)
    for layer in range(inner.depth):

        def highway(s, layer=layer):
            a = inner.recurrent(s, run, group=layer)
            h, t, *c = inner.split(a + projected if layer == 0 else inner.bias_layer(a, run, layer))
            t = inner.recurrent_activation(t)
            return inner.activation(h) * t + s * (1 - t if inner.coupled else inner.recurrent_activation(c[0]))

        _, _, (gradient,) = engine.gradients(lambda s: ops.sum(highway(s) * chosen), [], [s])
        jacobians.append(gradient.reshape(-1, units, units).swapaxes(1, 2))
        with engine.inference():
            s = ops.convert_to_numpy(highway(ops.convert_to_tensor(s)))
    return np.stack(jacobians, axis=1)
