"""The orders in which the layers of a deep cell can take the steps of a sequence."""

import contextlib
import dataclasses

from keras import ops

from keras_adaptive_rnn import engine
from keras_adaptive_rnn.cells.deep import DeepRNNCell
from keras_adaptive_rnn.cells.stacked import StackedCells
from keras_adaptive_rnn.loop.deep_stack import DeepLayers
from keras_adaptive_rnn.loop.layer_stack import CellStack, fold_layers_into_batch

ORDERS = ("auto", "steps", "layers", "wavefront")
# By exact class: a subclass may have equations of its own.
LAYER_STACKS = {DeepRNNCell: DeepLayers, StackedCells: CellStack}


def stack_depth(cell):
    """Returns the number of layers of a deep cell that can be run one by one, else 0."""
    layers = LAYER_STACKS.get(type(cell))
    return 0 if layers is None else layers.depth_of(cell)


def layer_stack(cell, training):
    """Returns the layers of a deep cell, whose sequence has started."""
    return LAYER_STACKS[type(cell)](cell, training)


def scan(stack, sequence, states, output, mask, options, wavefront):
    """`engine.scan` over the steps of a deep cell in another order: the lowest layer takes all of them first.

    All that a layer reads of the one below it is then known, so that the products with it are one large product. The
    numbers are the same, also with a mask: what a layer puts out at a masked step, nobody reads.

    Args:
        stack: The `LayerStack` of the cell, whose sequence has started.
        sequence: Tensor `[time, batch, features]`.
        states, output, mask, options: As in `engine.scan`.
        wavefront: Whether the layers above go through the steps together; else one after the other.
    """
    every = dataclasses.replace(options, return_sequences=True, zero_output_for_mask=False)
    carry = [sequence]
    step_count, lowest, above = stack.divide(states)
    if step_count:
        # The step_count as each step finds it.
        _, step_counts, step_count = engine.scan(
            lambda _, now: (now[0], stack.advance(now)), sequence, step_count, step_count[0], mask, every
        )
        carry.append(step_counts)
    carry, lowest = _one(stack, carry, lowest, None, mask, every)
    climb = _in_waves if wavefront else _one_by_one
    now, above = climb(stack, carry, above, mask, every)
    # A masked step repeats the output before it, or puts out zeros; where the output is a state, that is kept.
    last, outputs, (kept,) = engine.scan(lambda now, _: (now, [now]), now, [output], output, mask, options)
    return last, outputs, stack.join(kept, step_count, lowest, above)


def _one(stack, carry, states, layer, mask, options):
    """Returns what a layer passes on, and its last states, from what has come to it in all steps."""

    def step(projected, states):
        return stack.step(projected, states, layer)

    inside = dataclasses.replace(_resuming(stack, layer, options), inside_layers=True)
    with stack.with_weights_of(layer):
        projected = stack.project(carry, layer)
        _, outputs, states = engine.scan(step, projected, states, states[0], mask, inside)
        return stack.to_next_layer(carry, outputs, layer), states


def _resuming(stack, layer, options):
    @contextlib.contextmanager
    def resume():
        with options.resume(), stack.with_weights_of(layer):
            yield

    return dataclasses.replace(options, resume=resume)


def _one_by_one(stack, carry, states, mask, options):
    """Each layer takes the whole sequence before the next one does: one loop over layers, compiled once."""

    def layer(carry, states, tensors):
        return _one(stack, carry, states, stack.unpack(tensors), mask, options)

    carry, states = engine.scan_layers(layer, carry, states, stack.tensors)
    return stack.output(carry), states


def _in_waves(stack, carry, states, mask, options):
    """In wave s layer l takes step s - l: one loop over waves, in which each product is one batched product of layers.

    The layers are so many more rows of the batch. What flows upwards goes from wave to wave as a state, and with it
    whether the step is one of the sequence, and not masked: then it changes the states of the layer that takes it.
    """
    layers, (length, batch_size, _) = states[0].shape[0], ops.shape(carry[0])
    # As a float, which every backend takes for a state.
    dtype = carry[0].dtype
    mask = ops.ones((length, batch_size, 1), dtype) if mask is None else ops.cast(mask, dtype)
    inputs = [ops.concatenate([x, ops.zeros((layers - 1, batch_size, x.shape[-1]), x.dtype)]) for x in (*carry, mask)]
    handed = [ops.zeros((layers * batch_size, x.shape[-1]), x.dtype) for x in inputs]
    layer = stack.vectorized(batch_size)

    def wave(now, carried):
        old, before = carried[: len(states)], carried[len(states) :]
        *carry, live = (ops.concatenate([x, b[:-batch_size]]) for x, b in zip(now, before, strict=True))
        projected = stack.project(carry, layer)
        output, new = stack.step(projected, old, layer)
        carry = stack.to_next_layer(carry, output, layer)
        new = [ops.where(live > 0, a, b) for a, b in zip(new, old, strict=True)]
        return stack.output([x[-batch_size:] for x in carry]), [*new, *carry, live]

    first = [fold_layers_into_batch(state) for state in states]
    with stack.with_weights_of(layer):
        start = stack.output([x[-batch_size:] for x in handed[:-1]])
        _, outputs, last = engine.scan(wave, inputs, [*first, *handed], start, None, _resuming(stack, layer, options))
    last = [ops.reshape(state, (layers, -1, state.shape[-1])) for state in last[: len(states)]]
    return outputs[layers - 1 :], last
