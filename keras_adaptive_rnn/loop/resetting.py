"""Resets inside a sequence: the states start over where an episode or a document begins."""

from typing import Any, NamedTuple

from keras import ops

from keras_adaptive_rnn import engine
from keras_adaptive_rnn.cells.bases.linear import last_entry
from keras_adaptive_rnn.engine.masking import where_rows

# The key of the initial states in a run.
INITIAL = "initial states"


class Resets(NamedTuple):
    """Places at which a cell starts over, and the states from which it does.

    Attributes:
        flags: Boolean tensor `[time, batch, 1]`: whether the states are reset before a step. Never at a masked step.
        states: List of the initial states, nested like the states of the cell.
        fresh: Boolean tensor `[time, batch, 1]`: whether a step is masked, and only masked steps lie between it and the
            last reset, so that it still has the initial states. `None` without a mask.
    """

    flags: Any
    states: list
    fresh: Any = None

    @classmethod
    def at(cls, resets, mask, states):
        """Returns the `Resets` at `resets`, those of masked steps moved to the next unmasked one.

        A loop keeps the states of masked steps, so they get their initial `states` after it, in `restarted`.
        """
        if mask is None:
            return cls(resets, states)
        masked, reset = 1.0 - ops.cast(mask, "float32"), ops.cast(resets, "float32")
        before = ops.zeros(ops.shape(reset)[1:], "float32")
        fresh = engine.linear_scan(masked * (1.0 - reset), masked * reset, before, associative=True)
        earlier = ops.concatenate([0.0 * fresh[:1], fresh[:-1]])
        return cls(ops.logical_and(reset + earlier > 0, mask), states, fresh > 0)

    def of(self, states):
        """Returns these resets with other initial states, those of a part of the cell."""
        return self._replace(states=states)

    def restarted(self, last, outputs, states, first_output, zero_output_for_mask):
        """Returns the results of `engine.scan`, with the initial output and states where steps are `fresh`."""
        ends_fresh = last_entry(ops.zeros_like(last[:, :1], "bool"), self.fresh)
        states = where_rows(ends_fresh, self.states, states)
        if not zero_output_for_mask:
            last = ops.where(ends_fresh, first_output, last)
            outputs = None if outputs is None else ops.where(self.fresh, first_output, outputs)
        return last, outputs, states


def restarting(step, run, inputs, resets):
    """Returns the first arguments of `engine.scan`, `step, run, inputs`, for a loop with `Resets`, or `None`."""
    if resets is None:
        return step, run, inputs

    def restarting_step(now, states, run):
        inputs, flags = now
        return step(inputs, reset(states, flags, run), run)

    return restarting_step, holding(run, resets.states), (inputs, resets.flags)


def holding(run, states):
    """Returns the run with initial states for `reset`, as a step gets tensors with gradients from its run."""
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
