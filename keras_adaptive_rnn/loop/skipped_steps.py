"""Skip RNN in inference: a loop over the updated steps, in which each row of a batch moves at its own pace."""

from keras import ops

from keras_adaptive_rnn import engine
from keras_adaptive_rnn.cells.skip import SkipCell


def scans_taken_steps(cell):
    """Returns whether `scan_taken_steps` returns what a loop over all steps would.

    In half precision, a loop would round in every step, and a subclass may have equations of its own.
    """
    return type(cell) is SkipCell and cell.compute_dtype == "float32"


def scan_taken_steps(cell, run, inputs, states, mask, options, wants_taken):
    """Runs a `SkipCell` over the steps that update its state.

    Args:
        cell: A `SkipCell`.
        run, inputs, states, mask, options: As in `engine.scan`; `run` is one of inference.
        wants_taken: Whether to return which steps were updates.

    Returns:
        `(last_output, outputs, states, taken)`: the results of `engine.scan`, and `None` or float32 `[time, batch, 1]`,
        one for each updated step.
    """
    length, batch_size = ops.shape(inputs)[:2]
    times, ends = None, ops.zeros((batch_size,), dtype="int32") + length
    if mask is not None:
        # Unmasked steps come first, in order.
        times = ops.broadcast_to(ops.arange(length, dtype="int32")[:, None], (length, batch_size))
        times = ops.sort(ops.where(mask[..., 0], times, times + length), axis=0) % length
        inputs = ops.take_along_axis(inputs, times[..., None], axis=0)
        ends = ops.sum(ops.cast(mask[..., 0], "int32"), axis=0)

    def step(inputs, states, run):
        states = cell.update(inputs, states, run)
        return states, 1 + cell.skipped_steps(states)[:, 0]

    collect = options.return_sequences or wants_taken
    given, states = states, cell.settled(states)
    first = cell.skipped_steps(states)[:, 0]
    states, reached, path = engine.ragged_scan(step, run, inputs, states, first, ends, collect)
    done = reached - cell.skipped_steps(states)[:, 0]
    states = cell.skip(states, (ends - done)[:, None])
    has_steps = (ends > 0)[:, None]
    states = [ops.where(has_steps, new, old) for new, old in zip(states, given, strict=True)]
    held = mask is not None and options.zero_output_for_mask and inputs.shape[0] != 0
    output = ops.where(mask[-1], states[0], 0) if held else states[0]
    if not collect:
        return output, None, states, None

    outputs, visited = path
    rows = ops.arange(batch_size, dtype="int32")

    def index(times):
        return times * batch_size + rows

    if times is not None:
        # One extra row, after the last time step, for rows that have ended.
        times = ops.concatenate([times, ops.zeros((1, batch_size), dtype="int32") + length])
        visited = ops.take(ops.reshape(times, (-1,)), index(visited))
    visited = ops.reshape(index(visited), (-1, 1))
    taken = ops.scatter(visited, ops.ones_like(visited[:, 0]), ((length + 1) * batch_size,))
    taken = ops.reshape(taken, (length + 1, batch_size))[:length]
    decisions = ops.cast(taken, "float32")[..., None] if wants_taken else None
    if not options.return_sequences:
        return output, None, states, decisions
    # Flat, as `take` on JAX returns a wrong shape for more than one axis of no rows.
    places, size = ops.reshape(index(ops.cumsum(taken, axis=0)), (-1,)), outputs.shape[-1]
    outputs = ops.take(ops.reshape(outputs, (-1, size)), places, axis=0)
    outputs = ops.reshape(outputs, (length, batch_size, size))
    return output, ops.where(mask, outputs, 0) if held else outputs, states, decisions
