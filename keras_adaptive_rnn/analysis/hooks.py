"""A Python loop over a sequence, with hooks into each step of each level of a stack."""

import contextlib
import itertools

import keras
import numpy as np
from keras import ops, tree

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn._keras import replaced, takes_training
from keras_adaptive_rnn.cells.bases.any_cell import output_size
from keras_adaptive_rnn.cells.bases.cell import runs_in_parts
from keras_adaptive_rnn.cells.deep import DeepRNNCell
from keras_adaptive_rnn.engine.masking import masked
from keras_adaptive_rnn.loop.rnn import RNN


def loop_of(layer):
    """Returns `layer` as an `RNN` of this package, or raises an error if it is not a built recurrent layer."""
    if not isinstance(layer, keras.layers.RNN):
        raise ValueError(
            "Argument `layer` must be a recurrent layer, such as `keras_adaptive_rnn.RNN(cell)`, or the "
            f"`forward_layer` or `backward_layer` of a `Bidirectional`. Received: layer={layer!r}"
        )
    check_built(layer)
    if isinstance(layer, RNN):
        return layer
    options = {name: getattr(layer, name) for name in ("return_sequences", "go_backwards", "zero_output_for_mask")}
    return RNN(layer.cell, **options)


def check_built(layer):
    if not (layer.built and getattr(getattr(layer, "cell", None), "built", True)):
        raise ValueError(f"Layer '{layer.name}' must be built before it is inspected: call it once.")


def check_inputs(inputs, layer):
    """Returns `inputs` as a tensor `[batch, time, features]`, or raises an error."""
    inputs = ops.convert_to_tensor(inputs)
    if len(inputs.shape) != 3 or inputs.shape[1] == 0:
        raise ValueError(
            f"Argument `inputs` must have shape (batch, time, features), with at least one step, for layer "
            f"'{layer.name}'. Received: {tuple(inputs.shape)}"
        )
    return inputs


def run(loop, sequences, initial_state=None, mask=None, see=None, sown=None):
    """Returns the outputs of all steps in inference, `[batch, time, size]`, from a Python loop over the steps.

    Without `initial_state`, it starts from those of the cell, also where the layer is stateful. After each step, `see`
    takes the list of its states.
    """
    runner, batch = loop.runner, sequences.shape[0]
    states = runner.initial_states(batch) if initial_state is None else initial_state
    states = runner.check_states(tree.map_structure(ops.convert_to_tensor, states), batch, f"Layer '{loop.name}'")
    steps = ops.unstack(ops.cast(sequences, runner.dtype), axis=1)
    masks = [None] * len(steps) if mask is None else [ops.convert_to_tensor(m[:, None]) for m in np.asarray(mask).T]
    order = slice(None, None, -1) if loop.go_backwards else slice(None)
    output, outputs = runner.first_output(states), []
    run = runner.start(batch, sown=sown)
    for x, m in zip(steps[order], masks[order], strict=True):
        new = runner.step_projected(runner.project(x, run), states, run)
        output, states = masked(m, new, (output, states), loop.zero_output_for_mask)
        outputs.append(output)
        if see is not None:
            see(tree.flatten(states))
    return ops.stack(outputs, axis=1)


# The levels of a stack.


def levels_of(cell):
    """Returns the output size of each level of a cell, the lowest first; a cell that is not a stack has one level."""
    if isinstance(cell, DeepRNNCell):
        return [cell.units] * cell.depth
    return [output_size(part) for part in _parts(cell)]


def _parts(cell):
    """Returns the cells of a stack, or a list of the cell itself."""
    parts = getattr(cell, "cells", None)
    return list(parts) if isinstance(parts, (list, tuple)) and parts else [cell]


@contextlib.contextmanager
def output_hook(cell, hook):
    """Replaces the output of every level of `cell`, also where its next step reads it, by `hook(level, output)`.

    In a `DeepRNNCell`, the hook sees the output of the nonlinearity, before the skip connection is added.
    """
    with contextlib.ExitStack() as stack:
        if isinstance(cell, DeepRNNCell):
            activation, calls = cell.activation, itertools.cycle(range(cell.depth))
            stack.enter_context(replaced(cell, activation=lambda a: hook(next(calls), activation(a))))
        else:
            for level, part in enumerate(_parts(cell)):
                # Our cells run by `step`, even inside another cell; others run by `call`.
                name = "step" if runs_in_parts(part) else "call"
                stack.enter_context(replaced(part, **{name: _changed(getattr(part, name), hook, level)}))
        yield


def _changed(function, hook, level):
    """Returns a step that passes its output, which is also its first state, through `hook`."""

    def changed(*args, **kwargs):
        output, states = function(*args, **kwargs)
        output = hook(level, output)
        return output, [output, *states[1:]] if isinstance(states, (list, tuple)) else output

    return changed


# Layers that are called in turn.


def layers_of(layers):
    """Returns a list of layers, or a list of the one layer, all checked."""
    found = list(layers) if isinstance(layers, (list, tuple)) else [layers]
    fits = found and all(isinstance(layer, keras.layers.Layer) for layer in found)
    rule = "Argument `layers` must be a layer, a model, or a list of layers that are called in turn"
    _arguments.check(fits, rule, layers=layers)
    for layer in found:
        check_built(layer)
    return found


def chain_of(layers):
    """Returns the layers of a `Sequential`, a list of layers, or a list of the one layer, all checked."""
    if isinstance(layers, keras.Sequential):
        layers = layers.layers
    elif isinstance(layers, keras.Model):
        raise ValueError(
            "Argument `layers` must be a layer, a `keras.Sequential`, or a list of layers that are called in turn, "
            f"such as the `layers`, after the input, of a model without branches. Received: layers={layers!r}"
        )
    return layers_of(layers)


def run_chain(chain, x, hook):
    """Returns the output of layers that are called in turn, in inference mode and without masks.

    In each step, `hook(layer, level, output)` replaces the output of a level of a recurrent layer.
    """
    for layer in chain:
        if isinstance(layer, keras.layers.RNN):
            with output_hook(layer.cell, lambda level, output, layer=layer: hook(layer, level, output)):
                outputs = run(loop_of(layer), check_inputs(x, layer))
            x = outputs if layer.return_sequences else outputs[:, -1]
        else:
            x = infer(layer, x)
    return x


def infer(layer, x):
    """Returns the output of a layer in inference mode."""
    return layer(x, training=False) if takes_training(layer) else layer(x)
