"""The data of `LSTMJump`: the path of a reading, its episode for the loss, and the result for users."""

import dataclasses
import weakref
from contextvars import ContextVar
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_adaptive_rnn._contexts import held


class Paths(keras.Model):
    """A model of the places where an `LSTMJump` reads, so that `predict` compiles it and batches its inputs."""

    def __init__(self, model):
        super().__init__()
        self.model = model
        self.autocast = False

    def call(self, tokens):
        tokens, mask = self.model.tokens_and_mask(tokens, None)
        if not self.model.built:
            self.model.build(tokens.shape)
        path = self.model._find_path(tokens, mask, self.model._runner.start(ops.shape(tokens)[0]))
        return path.starts, path.jumps, path.counts, path.end


# Episodes whose loss is still to be computed, by model; in a context, which other threads do not see.
_EPISODES: ContextVar[weakref.WeakKeyDictionary | None] = ContextVar("episodes", default=None)


def expecting_episode(model):
    """Keeps the episode of the next call of `model` for its loss, in inference too, and nothing after the block."""
    return held(_EPISODES, _episodes({model: None}))


def keep_episode(model, episode, training):
    """Keeps an episode for the loss: always in training, as a training loop may call the model and its loss itself."""
    if training or _episodes().get(model, model) is None:
        _EPISODES.set(_episodes({model: episode}))


def take_episode(model):
    """Returns the episode of the last call of `model`, or `None`, and forgets it."""
    episodes = _episodes()
    episode = episodes.pop(model, None)
    _EPISODES.set(episodes)
    return episode


def _episodes(added=()):
    """Returns a copy of the episodes that are kept, with those `added`, by model."""
    episodes = weakref.WeakKeyDictionary(_EPISODES.get())
    episodes.update(added)
    return episodes


@dataclasses.dataclass
class Path:
    """The path through a batch, as tensors: segment starts, jumps (-1: none), token counts, ends, final states."""

    starts: Any
    jumps: Any
    counts: Any
    end: Any
    states: list


@dataclasses.dataclass
class Episode:
    """The tensors of one forward pass that the loss needs; only `counts` in inference."""

    counts: Any
    log_p: Any = None
    entropy: Any = None
    baseline: Any = None
    drawn: Any = None


@dataclasses.dataclass(frozen=True)
class Reading:
    """The tokens of each sample that an `LSTMJump` has read.

    Attributes:
        positions: Boolean array `[samples, time]`, whether a token was read.
        starts: Integer array `[samples, segments]`, where each run of R tokens begins; `time` or larger if there was
            none.
        jumps: Integer array `[samples, segments - 1]`, the jump after each run; -1 if none was drawn.
        counts: Integer array `[samples]`, number of tokens that were read.
    """

    positions: np.ndarray
    starts: np.ndarray
    jumps: np.ndarray
    counts: np.ndarray


def bounds(mask):
    """Returns the positions of the first token of each row and past its last one; both are 0 in an empty row."""
    length = ops.shape(mask)[1]
    mask = ops.cast(mask, "int32")
    begin = ops.cast(ops.argmax(mask, axis=1), "int32")
    end = length - ops.cast(ops.argmax(ops.flip(mask, axis=1), axis=1), "int32")
    return begin, ops.where(ops.any(mask > 0, axis=1), end, 0)


def reward(y, y_pred):
    """Returns 1 where the most probable class is correct and -1 elsewhere, `[batch]`."""
    classes = y_pred.shape[-1]
    if len(y.shape) == 2 and y.shape[-1] == classes:
        y = ops.argmax(y, axis=-1)
    right = ops.equal(ops.argmax(y_pred, axis=-1), ops.cast(ops.reshape(y, (-1,)), "int32"))
    return ops.where(right, 1.0, -1.0)
