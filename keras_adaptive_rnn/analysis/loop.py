"""One pass over a sequence in a Python loop, in which every step and every level of a stack can be seen and changed."""

import contextlib
import itertools

import keras
import numpy as np
from keras import ops, tree

from keras_adaptive_rnn import _sequence
from keras_adaptive_rnn._keras import AutocastScope
from keras_adaptive_rnn.cells.bases.any_cell import output_size, parts_of
from keras_adaptive_rnn.cells.bases.cell import Cell
from keras_adaptive_rnn.cells.deep import DeepRNNCell
from keras_adaptive_rnn.engine.masking import masked
from keras_adaptive_rnn.loop.rnn import RNN


def loop_of(layer):
    """Returns `layer` as our `RNN`, or raises an error if it is no built recurrent layer."""
    if not isinstance(layer, keras.layers.RNN):
        raise ValueError(
            "Argument `layer` must be a recurrent layer, such as `keras_adaptive_rnn.RNN(cell)`; of a `Bidirectional` "
            f"give `forward_layer` or `backward_layer`. Received: layer={layer!r}"
        )
    if not (layer.built and getattr(layer.cell, "built", True)):
        raise ValueError(f"Layer '{layer.name}' must be built before it is looked at: call it once.")
    if isinstance(layer, RNN):
        return layer
    flags = {name: getattr(layer, name) for name in ("return_sequences", "go_backwards", "zero_output_for_mask")}
    return RNN(layer.cell, **flags)


def check_inputs(inputs, layer):
    """Returns `inputs` as a tensor `[batch, time, features]`, or raises an error that says what it should be."""
    inputs = ops.convert_to_tensor(inputs)
    if len(inputs.shape) != 3 or inputs.shape[1] == 0:
        raise ValueError(
            f"Argument `inputs` must be of shape (batch, time, features) for layer '{layer.name}', with one step at "
            f"least. Received: {tuple(inputs.shape)}"
        )
    return inputs


def run(loop, sequences, initial_state=None, mask=None, see=None):
    """Returns the outputs of all steps in inference, `[batch, time, size]`, from a Python loop over the steps.

    Args:
        loop: An `RNN` of ours, or what `loop_of` made of one.
        sequences: Tensor `[batch, time, features]`.
        initial_state: List of states; `None` for those of the cell, also where the layer is stateful.
        mask: Boolean array `[batch, time]`, or `None`.
        see: Function of the states after each step, a list of tensors.
    """
    cell, batch, dtype = loop.cell, sequences.shape[0], loop._cell_dtype
    given = initial_state is not None
    states = tree.map_structure(ops.convert_to_tensor, initial_state) if given else loop.get_initial_state(batch)
    states = loop._check_states(states, batch)
    steps = ops.unstack(ops.cast(sequences, dtype), axis=1)
    masks = [None] * len(steps) if mask is None else [ops.convert_to_tensor(m[:, None]) for m in np.asarray(mask).T]
    order = slice(None, None, -1) if loop.go_backwards else slice(None)
    output, outputs = loop._first_output(states), []
    with AutocastScope(dtype), _sequence.started(parts_of(cell), batch, training=False):
        _, step = loop._split_cell(None, False, hoist=False)
        step = masked(step, loop.zero_output_for_mask)
        for x, m in zip(steps[order], masks[order], strict=True):
            output, states = step(x, m, output, states)
            outputs.append(output)
            if see is not None:
                see(tree.flatten(states))
    return ops.stack(outputs, axis=1)


# The levels of a stack.


def levels_of(cell):
    """Returns the size of the output of each level of a cell, the lowest first; one where it is no stack."""
    if isinstance(cell, DeepRNNCell):
        return [cell.units] * cell.depth
    return [output_size(part) for part in _parts(cell)]


def _parts(cell):
    """Returns the cells that are stacked in `cell`, or itself."""
    parts = getattr(cell, "cells", None)
    return list(parts) if isinstance(parts, (list, tuple)) and parts else [cell]


@contextlib.contextmanager
def hooked(cell, hook):
    """Has every level of `cell` put out `hook(level, output)`, which is also what its own next step reads.

    Of a `DeepRNNCell` the hook sees what the nonlinearity puts out, to which the skip connection is added: a change of
    it is a change of the level's output.
    """
    if isinstance(cell, DeepRNNCell):
        activation, calls = cell.activation, itertools.cycle(range(cell.depth))
        replaced = [(cell, "activation", lambda a: hook(next(calls), activation(a)))]
    else:
        # A cell of ours runs by `step`, also inside another; one of Keras by `call`.
        names = [(part, "step" if isinstance(part, Cell) else "call") for part in _parts(cell)]
        replaced = [(part, name, _changed(getattr(part, name), hook, k)) for k, (part, name) in enumerate(names)]
    before = [vars(owner).get(name) for owner, name, _ in replaced]
    try:
        for owner, name, function in replaced:
            object.__setattr__(owner, name, function)
        yield
    finally:
        for (owner, name, _), function in zip(replaced, before, strict=True):
            if function is None:
                object.__delattr__(owner, name)
            else:
                object.__setattr__(owner, name, function)


def _changed(function, hook, level):
    """Returns a step whose output, which is its first state, is what `hook` makes of it."""

    def changed(*args, **kwargs):
        output, states = function(*args, **kwargs)
        output = hook(level, output)
        return output, [output, *states[1:]] if isinstance(states, (list, tuple)) else output

    return changed


# Layers one after the other.


def chain_of(layers):
    """Returns a list of layers that are to be called one after the other, from one layer, a list or a `Sequential`."""
    if isinstance(layers, keras.Sequential):
        chain = layers.layers
    elif isinstance(layers, keras.Model):
        raise ValueError(
            "Argument `layers` must be a layer, a `keras.Sequential`, or a list of layers that are called one after "
            f"the other. Received: {type(layers).__name__} '{layers.name}'; of a model without branches, give its "
            "`layers` after the input."
        )
    else:
        chain = list(layers) if isinstance(layers, (list, tuple)) else [layers]
    if not chain or not all(isinstance(layer, keras.layers.Layer) for layer in chain):
        raise ValueError(
            f"Argument `layers` must be a layer, a `keras.Sequential`, or a list of layers. Received: layers={layers!r}"
        )
    for layer in chain:
        if isinstance(layer, keras.layers.RNN):
            loop_of(layer)
        elif not layer.built:
            raise ValueError(f"Layer '{layer.name}' must be built before it is looked at: call it once.")
    return chain


def run_chain(chain, x, hook, see=None):
    """Returns the output of a chain in inference; recurrent layers run in `run`, without masks.

    `hook(layer, level, output)` changes what a level of a recurrent layer puts out in a step; `see(layer, output)` is
    shown the output of every other layer.
    """
    for layer in chain:
        if isinstance(layer, keras.layers.RNN):
            with hooked(layer.cell, lambda level, output, layer=layer: hook(layer, level, output)):
                outputs = run(loop_of(layer), check_inputs(x, layer))
            x = outputs if layer.return_sequences else outputs[:, -1]
        else:
            kwargs = {"training": False} if getattr(layer, "_call_has_training_arg", False) else {}
            x = layer(x, **kwargs)
            if see is not None:
                see(layer, x)
    return x
