"""The decisions of cells: collected with the output of each step, and turned into losses after the loop."""

import dataclasses
from contextvars import ContextVar
from typing import Any, NamedTuple

from keras import ops

from keras_adaptive_rnn import engine
from keras_adaptive_rnn._contexts import held
from keras_adaptive_rnn.cells.bases.any_cell import split_sizes


def scan(cells, step, run, inputs, states, output, mask, options):
    """Runs `engine.scan` and collects the decisions of `cells`, which are appended to the output of each step.

    Args:
        cells: List of the cells whose decisions are collected.
        step, run, inputs, states, output, mask, options: As in `engine.scan`.

    Returns:
        `(last_output, outputs, states, emitted)`: the results of `engine.scan`, and the decisions, concatenated,
        float32 `[time, batch, sizes]`.
    """

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


class Episode(NamedTuple):
    """The decisions that a layer has drawn for a batch, for training them; tensors `[batch]`.

    Attributes:
        log_likelihood: The log-probability of the decisions.
        loss: Their part of the loss of each sequence, which may be zero.
    """

    log_likelihood: Any
    loss: Any


# The episodes of the call of a model, or `None` outside of one; in a context, which other threads do not see.
_EPISODES: ContextVar[list[Episode] | None] = ContextVar("drawn", default=None)


def collecting_episodes():
    """A context whose value is a list, to which layers add their episodes."""
    return held(_EPISODES, [])


def add_losses(layer, cells, emitted, mask, training):
    """Adds the loss of a run's decisions to `layer`, and returns the decisions, `[batch, time]` for each cell.

    Hands the decisions that were drawn to the model that trains them, or raises an error if there is none.

    Args:
        layer: An `RNN`.
        cells: List of the cells whose decisions were collected.
        emitted: Tensor `[time, batch, sizes]` from `scan`.
        mask: Boolean tensor `[batch, time]` in the order of reading, or `None`.
        training: Whether the run was one of training.
    """
    emitted = ops.transpose(emitted, (1, 0, 2))
    counted = ops.ones_like(emitted[..., 0])
    if mask is not None:
        counted = ops.cast(ops.reshape(mask, ops.shape(counted)), "float32")
    emitted = split_sizes(emitted * ops.expand_dims(counted, -1), [cell.aux_size for cell in cells])
    by_cell = list(zip(cells, emitted, strict=True))
    losses = [cell.sequence_loss(values, counted) for cell, values in by_cell if cell.adds_loss]
    if losses:
        layer.add_loss(ops.mean(sum(losses)))
    log_likelihoods = [cell.log_likelihood(values) for cell, values in by_cell if cell.draws_decisions]
    if log_likelihoods and training:
        episodes = _EPISODES.get()
        if episodes is None:
            raise ValueError(
                f"Layer '{layer.name}' has a cell with estimator='reinforce', which draws decisions in training, and "
                "only a `keras_adaptive_rnn.models.Reinforce` around the whole model can train them. "
                "Received: a call with training=True outside of one"
            )
        episodes.append(Episode(sum(log_likelihoods), sum(losses)))
    return [ops.cast(values[..., 0], layer.compute_dtype) for _, values in by_cell]
