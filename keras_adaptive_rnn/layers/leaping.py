"""Skip RNN in inference: a loop over the steps that are taken, in which each row of a batch is at its own place."""

from keras import ops

from keras_adaptive_rnn import engine
from keras_adaptive_rnn.cells.skip import SkipCell


def leaps(cell):
    """Returns whether `leap` gives what a loop over all steps would: half precision rounds the sum in each of them."""
    return isinstance(cell, SkipCell) and cell.compute_dtype == "float32"


def leap(cell, inputs, states, mask, options, wants_taken):
    """Runs a `SkipCell` over the steps that it takes.

    Args:
        cell: A `SkipCell`, within a sequence of inference.
        inputs: Tensor `[time, batch, features]`.
        states: List of tensors `[batch, size]`, the states before the first step.
        mask: Boolean tensor `[time, batch, 1]`, or `None`. A masked step keeps every state.
        options: `engine.Options`.
        wants_taken: Whether to return which steps were taken.

    Returns:
        `(last_output, outputs, states, taken)`: as of `engine.scan`, and `None` or float32 `[time, batch, 1]`, one
        where a step was taken.
    """
    length, batch_size = ops.shape(inputs)[:2]
    rows = ops.arange(batch_size, dtype="int32")
    # The place of each row's k-th step that is not masked, and how many there are.
    times = ops.broadcast_to(ops.arange(length, dtype="int32")[:, None], (length, batch_size))
    count = ops.full((batch_size,), length, dtype="int32")
    places = times
    if mask is not None:
        places = ops.sort(ops.where(mask[..., 0], times, times + length), axis=0)
        count = ops.sum(ops.cast(mask[..., 0], "int32"), axis=0)

    def take(table, times):
        """Returns the row of `[time, batch, ...]` at each row's own time."""
        return ops.take(ops.reshape(table, (-1, *table.shape[2:])), times * batch_size + rows, axis=0)

    def next_step(done, states):
        return done + cell.skipped_steps(states)[:, 0]

    def step(carry):
        _, done, step, states = carry
        goes_on = step < count
        step = ops.minimum(step, length - 1)
        place = take(places, step)
        new = cell.update(take(inputs, ops.minimum(place, length - 1)), states)
        states = [ops.where(goes_on[:, None], a, b) for a, b in zip(new, states, strict=True)]
        done = ops.where(goes_on, step + 1, done)
        place = ops.where(goes_on, place, length)
        return [[states[0], place][:kept], done, ops.where(goes_on, next_step(done, states), count), states]

    kept = 2 if options.return_sequences or wants_taken else 0
    nowhere, nothing = ops.full_like(count, length), ops.zeros_like(count)
    carry = [[states[0], nowhere][:kept], nothing, next_step(nothing, states), list(states)]
    carry, reached = engine.repeat(step, lambda carry: ops.any(carry[2] < count), carry, length)
    _, done, _, states = carry
    states = cell.skip(states, (count - done)[:, None])
    output = states[0]
    if mask is not None and options.zero_output_for_mask:
        output = ops.where(mask[-1], output, 0)
    if not kept:
        return output, None, states, None

    # What stands behind the last time, where the rows are that have ended, is dropped.
    outputs, places = reached
    index = ops.reshape(places * batch_size + rows, (-1, 1))
    taken = ops.scatter(index, ops.ones_like(index[:, 0]), ((length + 1) * batch_size,))
    taken = ops.reshape(taken, (length + 1, batch_size))[:length]
    outputs = take(outputs, ops.cumsum(taken, axis=0))
    if mask is not None and options.zero_output_for_mask:
        outputs = ops.where(mask, outputs, 0)
    return output, outputs, states, ops.cast(taken, "float32")[..., None]
