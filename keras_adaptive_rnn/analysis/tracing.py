"""Every state and every gate of each step of a recurrent layer."""

import dataclasses

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn import _sequence, engine
from keras_adaptive_rnn._types import Tensor
from keras_adaptive_rnn.analysis.loop import check_inputs, loop_of, run
from keras_adaptive_rnn.cells.bases.cell import Cell


@dataclasses.dataclass(frozen=True)
class Trace:
    """What a recurrent layer has computed in every step of a sequence, as NumPy arrays.

    Attributes:
        outputs: Array `[batch, time, size]`.
        states: List of arrays `[batch, time, size]`, the states after each step, in the order of the cell, flat.
        gates: Dict of arrays `[batch, time, size]`: the named gates, of nested cells under a path, such as `"cell/f"`.
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
    r"""Returns every state and every named gate of each step of a recurrent layer, in inference.

    $$o_t, s_t = \mathrm{cell}(x_t, s_{t-1}), \qquad t = 1, \dots, T$$

    The gates have the names of the cell's equations (`i`, `f`, `j`, `o` of an LSTM). Those of a cell inside another one
    come under the name of the attribute that holds it, without `_cell` at its end: `"cell/f"` of the LSTM inside a
    Mogrifier, `"policy/i"` of an adaptive cell's policy, `"cells/0/f"` of the lowest cell of a stack. A gate that a
    cell computes twice in a step (a grid LSTM with tied weights) comes again as `"f_2"`. Cells of Keras name no gates.

    A masked step repeats the states, and what the layer puts out there (the output before it, or zeros). Its gates are
    NaN: they were computed from an input that does not count, and nothing has used them.

    Args:
        layer: A built recurrent layer, `keras_adaptive_rnn.RNN` or any `keras.layers.RNN`.
        inputs: Tensor or array `[batch, time, features]`.
        initial_state: List of the cell's states, each `[batch, size]`; `None` (default) for its initial states, also
            where the layer is stateful, whose carried states are neither read nor changed.
        mask: Boolean array `[batch, time]`; `None` (default) for none.

    Returns: A `Trace`. With `go_backwards` its time is in the order of reading, as the outputs of the layer are.

    Raises:
        ValueError: `layer` is no recurrent layer or not built, or a shape does not fit.

    Example:

    >>> layer = keras_adaptive_rnn.Mogrifier(4, rounds=2)
    >>> _ = layer(np.ones((2, 5, 3)))
    >>> seen = keras_adaptive_rnn.analysis.trace(layer, np.ones((2, 5, 3)))
    >>> seen.outputs.shape, len(seen.states)
    ((2, 5, 4), 2)
    >>> sorted(seen.gates)
    ['cell/f', 'cell/i', 'cell/j', 'cell/o', 'gate_1', 'gate_2']

    Reference: Karpathy, Johnson, Fei-Fei, Visualizing and Understanding Recurrent Networks (2015), for what one may see
    in gates.
    """
    loop = loop_of(layer)
    inputs = check_inputs(inputs, layer)
    mask = _check_mask(mask, inputs)
    states, gates = [], []

    paths = {cell: path for path, cell in cells_of(loop.cell).items()}
    with _sequence.changed(intermediates=[]) as sequence, engine.inference():

        def see(now):
            states.append([to_numpy(state) for state in now])
            gates.append({name: to_numpy(gate) for name, gate in _by_path(sequence.intermediates, paths).items()})
            sequence.intermediates.clear()

        outputs = to_numpy(run(loop, inputs, initial_state, mask, see))
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
        raise ValueError(f"Argument `mask` must be of shape {tuple(inputs.shape[:2])}. Received: {mask.shape}")
    return mask


def _joined(steps, batch_size):
    """Returns `[batch, time, size]` of one gate; a number that holds for all becomes an entry of size one."""
    return np.stack([np.broadcast_to(g, (batch_size, g.shape[-1] if g.ndim else 1)) for g in steps], axis=1)


def to_numpy(tensor):
    """Returns an array of at least 32 bits, for NumPy computes little with bfloat16."""
    array = np.asarray(ops.convert_to_numpy(tensor))
    return array.astype("float32") if array.dtype.itemsize < 4 or array.ndim == 0 else array


def _by_path(intermediates, paths):
    """Returns sown values by path and name; a name that a cell sows again in the same step is numbered."""
    found = {}
    for cell, name, value in intermediates:
        name = unique = paths[cell] + name
        times = 1
        while unique in found:
            times += 1
            unique = f"{name}_{times}"
        found[unique] = value
    return found


def cells_of(cell, path=""):
    """Returns the cells of ours in `cell`, itself included, by their paths, such as `"cell/"`."""
    found = {path: cell} if isinstance(cell, Cell) else {}
    if not isinstance(cell, keras.layers.Layer):
        return found
    # PyTorch keeps the parts of a module in a dict of their own.
    for name, value in {**vars(cell), **vars(cell).get("_modules", {})}.items():
        if name.startswith("_"):
            continue
        in_list = isinstance(value, (list, tuple))
        for k, part in enumerate(value if in_list else [value]):
            if hasattr(part, "state_size"):
                found |= cells_of(part, f"{path}{name.removesuffix('_cell')}/" + (f"{k}/" if in_list else ""))
    return found
