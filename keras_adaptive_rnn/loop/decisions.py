"""The decisions of cells: collected along with the output of each step, and turned into losses after the loop."""

import dataclasses

from keras import ops

from keras_adaptive_rnn import engine
from keras_adaptive_rnn.cells.bases.any_cell import split_sizes


def scan(cells, step, run, inputs, states, output, mask, options):
    """Runs `engine.scan` and collects what `cells` emit in each step, appended to the output.

    Args:
        cells: List of the cells whose decisions are wanted.
        step, run, inputs, states, output, mask, options: As in `engine.scan`.

    Returns:
        `(last_output, outputs, states, emitted)`: the results of `engine.scan`, and `None` or float32
        `[time, batch, sizes]`, what the cells emitted, concatenated.
    """
    if not cells:
        return *engine.scan(step, run, inputs, states, output, mask, options), None

    def emitting_step(inputs, states, run):
        # A step may be traced more than once, even after the loop, so every call has a dict of its own.
        run = run.changed(emitted={})
        output, states = step(inputs, states, run)
        return join([output, *(value for cell in cells for value in run.emitted[cell])]), states

    # In float32, as sums over time lose digits in half precision.
    def join(tensors):
        return ops.concatenate([ops.cast(tensor, "float32") for tensor in tensors], axis=-1)

    sizes = [output.shape[-1], sum(cell.aux_size for cell in cells)]
    start = join([output, ops.zeros((ops.shape(output)[0], sizes[1]))])
    collecting = dataclasses.replace(options, return_sequences=True)
    last, outputs, states = engine.scan(emitting_step, run, inputs, states, start, mask, collecting)
    outputs, emitted = split_sizes(outputs, sizes)
    last = ops.cast(last[..., : sizes[0]], output.dtype)
    return last, ops.cast(outputs, output.dtype) if options.return_sequences else None, states, emitted


def losses_and_decisions(cells, emitted, mask):
    """Returns the losses of a run and its decisions, float32 `[batch, time]` for each cell.

    Args:
        cells: List of the cells whose decisions were collected.
        emitted: Tensor `[time, batch, sizes]` from `scan`.
        mask: Boolean tensor `[batch, time]` in the order of reading, or `None`.
    """
    emitted = ops.transpose(emitted, (1, 0, 2))
    counted = ops.ones_like(emitted[..., 0])
    if mask is not None:
        counted = ops.cast(ops.reshape(mask, ops.shape(counted)), "float32")
    emitted = split_sizes(emitted * ops.expand_dims(counted, -1), [cell.aux_size for cell in cells])
    by_cell = list(zip(cells, emitted, strict=True))
    losses = [cell.sequence_loss(values, counted) for cell, values in by_cell if cell.adds_loss]
    return losses, [values[..., 0] for _, values in by_cell]
