"""The states and gates of each step of a recurrent layer."""

import dataclasses

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import engine
from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.analysis.hooks import check_inputs, loop_of, run
from keras_adaptive_rnn.cells.bases.cell import Cell


@dataclasses.dataclass(frozen=True)
class Trace:
    """The outputs, states and gates of every step of a recurrent layer, as NumPy arrays.

    Attributes:
        outputs: Array `[batch, time, size]`.
        states: List of arrays `[batch, time, size]`, the states after each step, flattened, in the order of the cell.
        gates: Dict of arrays `[batch, time, size]`, the named gates; a nested cell adds its path, as in `"cell/f"`.
    """

    outputs: np.ndarray
    states: list[np.ndarray]
    gates: dict[str, np.ndarray]


def trace(
    layer: keras.layers.RNN,
    inputs: Tensor,
    initial_state: list[Tensor] | None = None,
    mask: Tensor | None = None,
) -> Trace:
    r"""Returns the states and the named gates of each step of a recurrent layer, in inference mode.

    $$o_t, s_t = \mathrm{cell}(x_t, s_{t-1}), \qquad t = 1, \dots, T$$

    Gates have the names of the cell's equations, such as `i`, `f`, `j` and `o` in an LSTM. A cell inside another one
    adds the name of the attribute that holds it, without a final `_cell`: `"cell/f"` for the LSTM inside a Mogrifier,
    `"policy/i"` for the policy of an adaptive cell, `"cells/0/f"` for the lowest cell of a stack. A gate that a cell
    computes twice in a step (a grid LSTM with tied weights) appears again as `"f_2"`. Keras's cells have no named
    gates.

    A masked step repeats the states, and its output is that of the layer: the previous output, or zeros. Its gates are
    NaN, as they depend on an input that does not count.

    Args:
        layer: A built recurrent layer, `keras_adaptive_rnn.RNN` or any `keras.layers.RNN`.
        inputs: Tensor or array `[batch, time, features]`.
        initial_state: List of the cell's states, each `[batch, size]`. `None` (default) means the initial states of the
            cell, even in a stateful layer, whose own states are neither read nor changed.
        mask: Boolean array `[batch, time]`. `None` (default) masks nothing.

    Returns: A `Trace`. With `go_backwards`, time is in the order of reading, as in the outputs of the layer.

    Example:

    >>> layer = keras_adaptive_rnn.Mogrifier(4, rounds=2)
    >>> _ = layer(np.ones((2, 5, 3)))
    >>> seen = keras_adaptive_rnn.analysis.trace(layer, np.ones((2, 5, 3)))
    >>> seen.outputs.shape, len(seen.states)
    ((2, 5, 4), 2)
    >>> sorted(seen.gates)
    ['cell/f', 'cell/i', 'cell/j', 'cell/o', 'gate_1', 'gate_2']

    Reference: Karpathy, Johnson, Fei-Fei, Visualizing and Understanding Recurrent Networks (2015), for how
    to interpret gates.
    """
    loop = loop_of(layer)
    inputs = check_inputs(inputs, layer)
    mask = _check_mask(mask, inputs)
    states, gates = [], []
    sown: list[tuple] = []

    paths = {cell: path for path, cell in cells_of(loop.cell).items()}

    def see(now):
        states.append([to_numpy(state) for state in now])
        gates.append({name: to_numpy(gate) for name, gate in _by_path(sown, paths).items()})
        sown.clear()

    with engine.inference():
        outputs = to_numpy(run(loop, inputs, initial_state, mask, see, sown))
    seen = {name: _joined([step[name] for step in gates], inputs.shape[0]) for name in gates[0]}
    if mask is not None:
        read = np.flip(mask, axis=1) if loop.go_backwards else mask
        seen = {name: np.where(read[..., None], gate, np.nan).astype(gate.dtype) for name, gate in seen.items()}
    return Trace(outputs, [np.stack(of_state, axis=1) for of_state in zip(*states, strict=True)], seen)


def _check_mask(mask, inputs):
    if mask is None:
        return None
    mask = np.asarray(ops.convert_to_numpy(mask)).astype(bool)
    if mask.shape != tuple(inputs.shape[:2]):
        raise ValueError(f"Argument `mask` must have shape {tuple(inputs.shape[:2])}. Received: shape {mask.shape}")
    return mask


def _joined(steps, batch_size):
    """Returns one gate as `[batch, time, size]`; a scalar gate gets size one."""
    return np.stack([np.broadcast_to(g, (batch_size, g.shape[-1] if g.ndim else 1)) for g in steps], axis=1)


def to_numpy(tensor):
    """Returns an array of at least 32 bits per entry, as NumPy supports little arithmetic in bfloat16."""
    array = np.asarray(ops.convert_to_numpy(tensor))
    return array.astype("float32") if array.dtype.itemsize < 4 or array.ndim == 0 else array


def _by_path(sown, paths):
    """Returns sown values by path and name; a name that a cell sows again in the same step is numbered."""
    values = {}
    for cell, name, value in sown:
        name = unique = paths[cell] + name
        times = 1
        while unique in values:
            times += 1
            unique = f"{name}_{times}"
        values[unique] = value
    return values


def cells_of(cell, path=""):
    """Returns the cells of this package in `cell`, including itself, by path, such as `"cell/"`."""
    cells = {path: cell} if isinstance(cell, Cell) else {}
    if not isinstance(cell, keras.layers.Layer):
        return cells
    # On PyTorch, submodules are in a dict of their own.
    for name, value in {**vars(cell), **vars(cell).get("_modules", {})}.items():
        if name.startswith("_"):
            continue
        in_list = isinstance(value, (list, tuple))
        for k, part in enumerate(value if in_list else [value]):
            if hasattr(part, "state_size"):
                cells |= cells_of(part, f"{path}{name.removesuffix('_cell')}/" + (f"{k}/" if in_list else ""))
    return cells
