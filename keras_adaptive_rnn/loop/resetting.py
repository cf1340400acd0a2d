"""Resets inside a sequence: where an episode or a document begins, the states start again from the initial ones."""

from typing import Any, NamedTuple

from keras import ops

from keras_adaptive_rnn import engine
from keras_adaptive_rnn.engine.masking import where_rows

# Under which a run holds the initial states.
INITIAL = "initial states"


class Resets(NamedTuple):
    """Where a cell starts again, and from which states.

    Attributes:
        flags: Boolean tensor `[time, batch, 1]`: whether the states are reset before a step. Never at a masked step.
        states: List of the initial states, nested like the states of the cell.
    """

    flags: Any
    states: list

    def of(self, states):
        """Returns these resets with other initial states, those of a part of the cell."""
        return self._replace(states=states)


def scan(step, run, inputs, states, output, mask, options, resets=None):
    """Does what `engine.scan` does, with `Resets`, or `None`."""
    if resets is None:
        return engine.scan(step, run, inputs, states, output, mask, options)

    def resetting_step(now, states, run):
        inputs, flags = now
        return step(inputs, reset(states, flags, run), run)

    run = holding(run, resets.states)
    return engine.scan(resetting_step, run, (inputs, resets.flags), states, output, mask, options)


def holding(run, states):
    """Returns the run with initial states, for `reset`: a step gets tensors from its run, which may have gradients."""
    return run.changed(prepared={**run.prepared, INITIAL: {"states": states}})


def reset(states, flags, run):
    """Returns the states of one step, which are the initial ones where `flags`, `[batch, 1]`, are true."""
    return where_rows(flags, run.prepared_by(INITIAL)["states"], states)


def split(resets, split_states, count):
    """Returns a list of the resets of each of `count` parts of a cell, whose states `split_states` splits."""
    if resets is None:
        return [None] * count
    return [resets.of(states) for states in split_states(resets.states)]


def in_order(resets, go_backwards):
    """Returns resets `[batch, time]` in the order of reading.

    Read backwards, a piece begins at its last step, the one before the next piece.
    """
    if not go_backwards:
        return resets
    return ops.flip(ops.concatenate([resets[:, 1:], ops.zeros_like(resets[:, :1])], axis=1), axis=1)


def at_unmasked(resets, mask):
    """Moves resets at masked steps to the next unmasked one, as a loop keeps the states of masked steps.

    Args:
        resets: Boolean tensor `[time, batch, 1]`.
        mask: Boolean tensor `[time, batch, 1]`.

    Returns:
        `(flags, fresh)`, boolean tensors `[time, batch, 1]`: the moved resets, and whether a step comes after a reset,
        with only masked steps in between, so that it still has the initial states.
    """
    masked, reset = 1.0 - ops.cast(mask, "float32"), ops.cast(resets, "float32")
    before = ops.zeros(ops.shape(reset)[1:], "float32")
    fresh = engine.linear_scan(masked * (1.0 - reset), masked * reset, before, associative=True)
    earlier = ops.concatenate([0.0 * fresh[:1], fresh[:-1]])
    return ops.logical_and(reset + earlier > 0, mask), fresh > 0
