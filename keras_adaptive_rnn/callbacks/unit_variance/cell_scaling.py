"""LSUV in recurrent layers: one time step, with standard normal numbers instead of the states."""

import keras
import numpy as np
from keras import ops, tree

from keras_adaptive_rnn import engine
from keras_adaptive_rnn._keras import flatten_layers, get_mask
from keras_adaptive_rnn.callbacks.unit_variance.matrices import LayerMatrices, MapMatrices, is_known_map, own_kernels
from keras_adaptive_rnn.cells.bases.any_cell import KERAS_CELLS, as_list, memory_states
from keras_adaptive_rnn.cells.bases.cell import runs_in_parts
from keras_adaptive_rnn.cells.bases.gated import GatedCell
from keras_adaptive_rnn.cells.deep import DeepRNNCell
from keras_adaptive_rnn.loop.rnn import RNN

LARGE = 1e4


def hook_layer(layer, lsuv_pass):
    """Makes the next call of a recurrent layer scale its cells, in one time step."""
    cells = [cell for cell in flatten_layers(layer.cell) if is_known_cell(cell)]
    for cell in cells:
        hook_cell(cell, lsuv_pass)
    if cells:
        call = layer.call

        def scaled(sequences, initial_state=None, mask=None, training=False, **resets):
            if lsuv_pass.is_first(layer):
                return one_step(layer, sequences, mask, lsuv_pass)
            return call(sequences, initial_state=initial_state, mask=mask, training=training, **resets)

        lsuv_pass.replace(layer, call=scaled)


def one_step(layer, sequences, mask, lsuv_pass):
    """Returns outputs like those of `layer`, with all time steps as samples of a single step."""
    batch, time, features = sequences.shape
    mask = get_mask(sequences) if mask is None else mask
    if mask is not None:
        lsuv_pass.rows = ops.convert_to_numpy(mask).reshape(-1).astype(bool)
    # Scaling needs values, which a compiled step does not have.
    step = layer.runner.step if isinstance(layer, RNN) else layer.cell
    with engine.inference():
        inputs = ops.reshape(sequences, (batch * time, features))
        output, states = step(inputs, normal_states(layer, batch * time, lsuv_pass))
    lsuv_pass.rows = None
    output, *states = [ops.reshape(t, (batch, time, -1)) for t in (output, *tree.flatten(states))]
    output = output if layer.return_sequences else output[:, -1]
    result = (output, *(state[:, -1] for state in states)) if layer.return_state else (output,)
    if getattr(layer, "return_decisions", False):
        # A single step makes no decisions for a sequence, and none are needed for scaling.
        result += (ops.zeros((batch, time), output.dtype),) * len(layer.runner.deciding)
    return result if len(result) > 1 else output


def normal_states(layer, size, lsuv_pass):
    states = layer.get_initial_state(size)
    flat = [
        ops.cast(lsuv_pass.normal(state.shape), state.dtype) if is_memory else state
        for state, is_memory in zip(tree.flatten(states), memory_flags(layer.cell), strict=True)
    ]
    return tree.pack_sequence_as(states, flat)


def memory_flags(cell):
    """Returns for each state of a cell, flattened, whether it is memory rather than, say, a step count."""
    if isinstance(cell, keras.layers.StackedRNNCells):
        return [flag for inner in cell.cells for flag in memory_flags(inner)]
    return memory_states(cell)


def is_known_cell(cell):
    """Returns whether a cell uses its matrices only in $x U + h W + b$."""
    if isinstance(cell, KERAS_CELLS):
        return len(own_kernels(cell)) == 2
    known = getattr(cell, "is_affine", False) and runs_in_parts(cell) and not overrides(cell, "project", "is_affine")
    if not known or cell.layer_normalization:
        return False
    every = [cell.kernel_map, cell.recurrent_map, *([cell.inner_map] if isinstance(cell, DeepRNNCell) else [])]
    return all(map(is_known_map, every))


def overrides(cell, method, attribute):
    """Returns whether the class of a cell overrides `method` without redefining `attribute`."""
    first = {
        name: next(k for k, base in enumerate(type(cell).__mro__) if name in vars(base)) for name in (method, attribute)
    }
    return first[method] < first[attribute]


def is_bounded(cell):
    """Returns whether the output of a cell stays between -1 and 1, so that no scale gives unit variance."""
    if (isinstance(cell, GatedCell) and len(cell.gates) > 1) or isinstance(cell, KERAS_CELLS[1:]):
        return True
    signs = np.where(np.arange(2 * cell.units).reshape(2, -1) % 3 == 0, LARGE, -LARGE).astype("float32")
    return float(ops.max(ops.abs(cell.activation(ops.convert_to_tensor(signs))))) <= 1


def hook_cell(cell, lsuv_pass):
    """Makes the first step of a cell scale it."""
    if isinstance(cell, KERAS_CELLS):
        call = cell.call

        def called(inputs, states, training=False):
            if lsuv_pass.is_first(cell):
                scale_keras(cell, inputs, states, lsuv_pass)
            return call(inputs, states, training=training)

        lsuv_pass.replace(cell, call=called)
        return

    project, step, read = cell.project, cell.step, []

    def projected_(inputs, run):
        read[:] = [inputs]
        return project(inputs, run)

    def stepped(projected, states, run):
        if read and lsuv_pass.is_first(cell):
            scale = scale_deep if isinstance(cell, DeepRNNCell) else scale_gated
            scale(cell, read[0], states, run, lsuv_pass)
            projected = project(read[0], run)
        return step(projected, states, run)

    lsuv_pass.replace(cell, project=projected_, step=stepped)


def scale_both(name, kernel, recurrent, output, lsuv_pass):
    """Scales both matrices of a cell together, and then applies the factors of `horizon`."""
    if lsuv_pass.settings.orthogonal:
        kernel.make_orthonormal()
        recurrent.make_orthonormal()

    def scale(factor):
        kernel.scale(factor)
        recurrent.scale(factor)

    lsuv_pass.scale(name, output, scale)
    of_input, of_state = horizon_factors(lsuv_pass)
    kernel.scale(of_input)
    recurrent.scale(of_state)


def horizon_factors(lsuv_pass):
    """Returns the factors of `horizon` for the matrices of the input and of the state."""
    gamma = lsuv_pass.settings.horizon
    return (1.0, 1.0) if gamma is None else ((2 * (1 - gamma)) ** 0.5, (2 * gamma) ** 0.5)


def scale_gated(cell, inputs, states, run, lsuv_pass):
    step, project = type(cell).step, type(cell).project
    groups = range(len(cell.recurrent_map.blocks))

    def output():
        if is_bounded(cell):
            products = [cell.recurrent(states[0], run, group=group) for group in groups]
            return project(cell, inputs, run) + ops.concatenate(products, axis=-1)
        return step(cell, project(cell, inputs, run), states, run)[0]

    scale_both(cell.path, MapMatrices(cell.kernel_map), MapMatrices(cell.recurrent_map), output, lsuv_pass)


def scale_keras(cell, inputs, states, lsuv_pass):
    h = as_list(states)[0]
    blocks = cell.kernel.shape[-1] // cell.units
    matrices = [LayerMatrices(cell, [kernel], blocks) for kernel in (cell.kernel, cell.recurrent_kernel)]

    def output():
        if is_bounded(cell):
            return ops.matmul(inputs, cell.kernel) + ops.matmul(h, cell.recurrent_kernel)
        return type(cell).call(cell, inputs, states)[0]

    scale_both(cell.path, *matrices, output, lsuv_pass)


def scale_deep(cell, inputs, states, run, lsuv_pass):
    """Scales the layers of a deep cell from the lowest up; as they are linear, each product is computed once."""
    recurrent, of_state = MapMatrices(cell.recurrent_map), np.ones(cell.depth)
    kernels = [MapMatrices(cell.kernel_map), *([MapMatrices(cell.inner_map)] if cell.depth > 1 else [])]
    of_input = np.ones(cell.depth)
    if lsuv_pass.settings.orthogonal:
        for matrices in (*kernels, recurrent):
            matrices.make_orthonormal()
    products, bounded = cell.recurrent_products(list(states[cell.layer_states])[::-1], run), is_bounded(cell)
    outputs = [inputs]
    for i, skip in enumerate(cell.skips()):
        product = cell.kernel_map(inputs, run) if i == 0 else cell.inner_map(outputs[-1], run, i - 1)

        def affine(i=i, product=product):
            a = float(of_input[i]) * product + float(of_state[i]) * products[i]
            return cell.bias_layer(a, run, i) if cell.use_bias else a

        def activated(affine=affine, skip=skip):
            h = cell.activation(affine())
            return h if skip is None else h + skip[1] * outputs[skip[0] + 1]

        def scale(factor, i=i):
            of_input[i] *= factor
            of_state[i] *= factor

        lsuv_pass.scale(f"{cell.path}[{i + 1}]", affine if bounded else activated, scale)
        factors = horizon_factors(lsuv_pass)
        of_input[i] *= factors[0]
        of_state[i] *= factors[1]
        outputs.append(activated())
    for matrices, scales in zip(kernels, (of_input[:1], of_input[1:]), strict=False):
        matrices.scale(scales)
    recurrent.scale(of_state)
