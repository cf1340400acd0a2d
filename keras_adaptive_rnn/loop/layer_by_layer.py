"""Deep cells whose layers run over the sequence one by one, or as a wavefront."""

import dataclasses

from keras import ops

from keras_adaptive_rnn import engine
from keras_adaptive_rnn.cells.deep import DeepRNNCell
from keras_adaptive_rnn.cells.stacked import StackedCells
from keras_adaptive_rnn.loop import resetting
from keras_adaptive_rnn.loop.deep_stack import DeepLayers
from keras_adaptive_rnn.loop.layer_stack import CellStack, fold_layers_into_batch

SCHEDULES = ("layers", "wavefront")
# By exact class, as a subclass may have equations of its own.
LAYER_STACKS = {DeepRNNCell: DeepLayers, StackedCells: CellStack}


def stack_depth(cell):
    """Returns the number of layers of a deep cell that can be run one by one, else 0."""
    layers = LAYER_STACKS.get(type(cell))
    return 0 if layers is None else layers.depth_of(cell)


def scan(cell, run, sequence, states, output, mask, options, resets, wavefront):
    """Runs the layers of a deep cell one by one or as a wavefront, always starting with the lowest layer.

    Once a layer has finished, its outputs at all steps are known, so the next layer multiplies them in one large
    product. The results are the same, even with a mask: the output of a layer at a masked step is never read.

    Args:
        cell: A deep cell.
        run, sequence, states, output, mask, options: As in `engine.scan`.
        resets: `Resets`, or `None`.
        wavefront: Whether the upper layers run as a wavefront instead of one after the other.

    Returns:
        `(last_output, outputs, states)`, as `engine.scan` returns them.
    """
    all_steps = dataclasses.replace(options, return_sequences=True, zero_output_for_mask=False)
    stack, carry = LAYER_STACKS[type(cell)](cell), [sequence]
    lowest_run, upper_runs = stack.layer_runs(run)
    unprepared = run.changed(prepared=None)
    step_count, lowest, above = stack.split(states)
    of_count, of_lowest, of_above = resetting.split(resets, stack.split, 3)
    if step_count:
        # The step count before each step.
        loop = resetting.restarting(
            lambda _, now, run: (now[0], stack.advance(now, run)), unprepared, sequence, of_count
        )
        _, step_counts, step_count = engine.scan(*loop, step_count, step_count[0], mask, all_steps)
        carry.append(step_counts)
    carry, lowest = _run_layer(stack, carry, lowest, lowest_run, mask, all_steps, of_lowest)
    run_upper_layers = _in_waves if wavefront else _one_by_one
    now, above = run_upper_layers(stack, carry, above, upper_runs, mask, all_steps, of_above)
    # A masked step repeats the previous output or outputs zeros. If the output is a state, the state is kept.
    last, outputs, (kept,) = engine.scan(
        lambda now, _, run: (now, [now]), unprepared, now, [output], output, mask, options
    )
    return last, outputs, stack.join(kept, step_count, lowest, above)


def _run_layer(stack, carry, states, run, mask, options, resets):
    """Runs one layer over all steps, and returns the carry to the next layer and the last states."""
    inside = dataclasses.replace(options, inside_layers=True)
    projected = stack.project(carry, run)
    loop = resetting.restarting(stack.step, run, projected, resets)
    _, outputs, states = engine.scan(*loop, states, states[0], mask, inside)
    return stack.to_next_layer(carry, outputs, run), states


def _one_by_one(stack, carry, states, runs, mask, options, resets):
    """Runs each layer over the whole sequence before the next one, in one loop over layers, compiled once."""

    count, initial = len(runs.tensors), [] if resets is None else resets.states

    def layer(carry, states, tensors):
        of_layer = None if resets is None else resets.of(tensors[count:])
        return _run_layer(stack, carry, states, runs.of_layer(tensors[:count]), mask, options, of_layer)

    carry, states = engine.scan_layers(layer, carry, states, [*runs.tensors, *initial])
    return stack.output(carry), states


def _in_waves(stack, carry, states, runs, mask, options, resets):
    """Runs layer l at step s - l in wave s, in one loop over waves, in which the layers share batched products.

    The layers are folded into the batch axis. The carry to the next layer is a state of this loop, and so is a flag,
    without which the states of a layer do not change: that the step lies in the sequence and is not masked.
    """
    count, layers, (length, batch_size, _) = len(states), states[0].shape[0], ops.shape(carry[0])
    # As floats, which every backend accepts as a state.
    dtype = carry[0].dtype
    mask = ops.ones((length, batch_size, 1), dtype) if mask is None else ops.cast(mask, dtype)
    flags = [] if resets is None else [ops.cast(resets.flags, dtype)]
    inputs = [
        ops.concatenate([x, ops.zeros((layers - 1, batch_size, x.shape[-1]), x.dtype)]) for x in (*carry, mask, *flags)
    ]
    start_carry, width = [ops.zeros((layers * batch_size, x.shape[-1]), x.dtype) for x in inputs], len(carry)
    run = runs.folded(batch_size)
    if flags:
        run = resetting.holding(run, list(map(fold_layers_into_batch, resets.states)))

    def wave(now, carried, run):
        old, before = carried[:count], carried[count:]
        up = [ops.concatenate([x, b[:-batch_size]]) for x, b in zip(now, before, strict=True)]
        carry, (live, *flags) = up[:width], up[width:]
        if flags:
            old = resetting.reset(old, flags[0] > 0, run)
        projected = stack.project(carry, run)
        output, new = stack.step(projected, old, run)
        carry = stack.to_next_layer(carry, output, run)
        new = [ops.where(live > 0, a, b) for a, b in zip(new, old, strict=True)]
        return stack.output([x[-batch_size:] for x in carry]), [*new, *carry, live, *flags]

    first = [fold_layers_into_batch(state) for state in states]
    start = stack.output([x[-batch_size:] for x in start_carry[:width]])
    _, outputs, last = engine.scan(wave, run, inputs, [*first, *start_carry], start, None, options)
    last = [ops.reshape(state, (layers, -1, state.shape[-1])) for state in last[:count]]
    return outputs[layers - 1 :], last
