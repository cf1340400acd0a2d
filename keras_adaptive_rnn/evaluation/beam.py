"""Beam search over any step function, and a penalty on copying."""

import functools
import heapq
from collections.abc import Callable
from typing import Any, NamedTuple

import keras
import numpy as np
from keras import tree

from keras_adaptive_rnn import _arguments


class Hypothesis(NamedTuple):
    """A sequence that a beam search has found.

    Attributes:
        tokens: Integers `[length]`, from the start token to the stop token, or to where the search was cut off.
        score: Number, by which hypotheses are ranked: their log-probability, less the penalty; if lengths are
            normalized, for each token.
        log_prob: Number, the log-probability of the tokens after the start token.
        extras: Dict of arrays `[length - 1, ...]`: what the step function returned for each token but the first.
    """

    tokens: np.ndarray
    score: float
    log_prob: float
    extras: dict[str, np.ndarray]


class CopyPenalty:
    r"""A penalty on hypotheses that copy more than a share of their tokens.

    $$\eta_t \max(0, m^* - \bar m_t)$$

    is subtracted from the log-probability of $t$ tokens, where $\bar m_t$ is the mean probability of generating among
    them, and not copying. The strength $\eta_t$ may vary with the step; in the authors' code, it is $\eta \, (t - 1)$.

    Args:
        target: Number in `[0, 1]`, $m^*$, the share of tokens that should be generated. Defaults to `0.4`.
        strength: Non-negative number $\eta$, for $\eta_t = \eta \, (t - 1)$; or a function of $t = 1, 2, \dots$ that
            returns $\eta_t$, such as a `keras.optimizers.schedules.LearningRateSchedule`. Defaults to `0.5`.
        accumulate: Whether the penalties of all steps add up, as they do in the authors' code, or only the one of the
            last step counts, as in the paper. Defaults to `False`.
        name: String, the entry of the step function's `extras` that holds the probability of generating. Defaults to
            `"p_gen"`.

    Raises:
        ValueError, TypeError: an argument is out of its range, or of the wrong type.

    Example:

    >>> generated = [0.1, 0.2, 0.3]
    >>> round(keras_adaptive_rnn.evaluation.CopyPenalty(target=0.4)(generated), 4)
    0.2
    >>> round(keras_adaptive_rnn.evaluation.CopyPenalty(target=0.4, strength=lambda t: 9 / t)(generated), 4)
    0.6

    Reference: Weber et al., Controlling Decoding for More Abstractive Summaries with Copy-Based Networks (2018),
    section 3.
    """

    def __init__(
        self,
        target: float = 0.4,
        strength: float | Callable[[int], Any] = 0.5,
        accumulate: bool = False,
        name: str = "p_gen",
    ):
        self.target = _arguments.number("target", target, minimum=0, maximum=1)
        self.strength = strength if callable(strength) else _arguments.number("strength", strength, minimum=0)
        # Once a step, and not for each hypothesis, as the schedules of Keras compute with tensors.
        self._strength_at = functools.cache(self._checked_strength)
        self.accumulate = _arguments.boolean("accumulate", accumulate)
        if not isinstance(name, str):
            raise TypeError(f"Argument `name` must be a string. Received: name={name!r}")
        self.name = name

    def __call__(self, generated):
        """Returns the penalty of a hypothesis.

        Args:
            generated: Array `[tokens]`, the probability of generating at each token.
        """
        counts = np.arange(1, len(generated) + 1)
        missing = np.maximum(0.0, self.target - np.cumsum(np.asarray(generated, "float64")) / counts)
        first = 0 if self.accumulate else -1
        strengths = [self._strength_at(int(t)) for t in counts[first:]]
        return float(np.dot(strengths, missing[first:]))

    def _checked_strength(self, t):
        if not callable(self.strength):
            return self.strength * (t - 1)
        return _arguments.number("strength", float(keras.ops.convert_to_numpy(self.strength(t))), minimum=0)


class _Beam:
    """A hypothesis that is still growing: its tokens, sums, and the row of the batch where its states are."""

    def __init__(self, tokens, log_prob, extras, row, penalty, normalized):
        self.tokens, self.log_prob, self.extras, self.row = tokens, log_prob, extras, row
        deducted = penalty([e[penalty.name] for e in extras]) if penalty and extras else 0.0
        self.score = (log_prob - deducted) / (len(tokens) if normalized else 1)

    def finished(self):
        extras = {name: np.stack([e[name] for e in self.extras]) for name in self.extras[0]}
        return Hypothesis(np.array(self.tokens, "int64"), float(self.score), float(self.log_prob), extras)


def beam_search(
    step: Callable[[np.ndarray, Any], tuple],
    states: Any,
    start: int,
    stop: int,
    beam: int = 4,
    max_length: int = 100,
    min_length: int = 0,
    penalty: CopyPenalty | None = None,
    length_normalization: bool = True,
) -> list[Hypothesis]:
    r"""Returns the most probable sequences of a step function, the best first.

    In each step, every one of the `beam` hypotheses is continued by its `2 beam` most probable tokens. The best
    continuations by score are kept; those that end in `stop` are set aside. The search ends when `beam` hypotheses are
    set aside, or after `max_length` tokens. The score of a hypothesis is

    $$\frac{\sum_t \log p(y_t) - \text{penalty}}{\text{number of tokens, the start token counted}}$$

    or, without length normalization, its numerator, as in the paper; then a shorter hypothesis is more probable.

    Args:
        step: Function of `(tokens, states)`, integers `[beam]` and a structure of arrays or tensors `[beam, ...]`. It
            returns `(log_probs, states)` or `(log_probs, states, extras)`: log-probabilities `[beam, vocabulary]`, the
            next states, and a dict of arrays `[beam, ...]`, such as `{"p_gen": ...}`. It is always called with the same
            shapes, so it compiles once.
        states: Structure of arrays or tensors `[1, ...]`, the states before the start token; `None` if there are none.
        start: Integer, the token that every hypothesis begins with.
        stop: Integer, the token that ends one.
        beam: Positive integer, number of hypotheses. Defaults to `4`; `1` is a greedy search.
        max_length: Positive integer, largest number of tokens after the start token, the stop token counted. Defaults
            to `100`.
        min_length: Non-negative integer, smallest number of tokens between the start and the stop token: an earlier
            stop token is not chosen. Defaults to `0`.
        penalty: A `CopyPenalty`, or `None` (default).
        length_normalization: Whether to divide by the number of tokens. Defaults to `True`, as in the authors' code.

    Returns: A list of up to `beam` `Hypothesis(tokens, score, log_prob, extras)`. Those without a stop token, cut off
        at `max_length`, are returned only if none has ended. None has probability zero, so the list may be empty.

    Raises:
        ValueError: an argument is out of its range, the step function returns other shapes, or no `extras` that the
            penalty reads.
        TypeError: an argument is of the wrong type.

    Example:

    >>> table = np.log([[0.1, 0.6, 0.3], [0.1, 0.1, 0.8], [0.5, 0.25, 0.25]])  # From the row's token to the column's.
    >>> def step(tokens, states):
    ...     return table[tokens], states
    >>> best = keras_adaptive_rnn.evaluation.beam_search(step, None, start=0, stop=2, beam=2)[0]
    >>> best.tokens.tolist(), round(float(np.exp(best.log_prob)), 2)
    ([0, 1, 2], 0.48)

    Reference: Weber et al., Controlling Decoding for More Abstractive Summaries with Copy-Based Networks (2018), for
    the penalty; ranking and stopping are those of its code, which follows See et al., Get To The Point (2017).
    """
    beam, max_length = _arguments.integer("beam", beam), _arguments.integer("max_length", max_length)
    min_length = _arguments.integer("min_length", min_length, minimum=0)
    _arguments.boolean("length_normalization", length_normalization)
    start, stop = (_arguments.integer(n, v, minimum=0) for n, v in (("start", start), ("stop", stop)))
    rule = "Argument `min_length` must be below `max_length`, which counts the stop token"
    _arguments.check(min_length < max_length, rule, min_length=min_length, max_length=max_length)
    if not callable(step):
        raise TypeError(f"Argument `step` must be a function. Received: step={step!r}")
    if penalty is not None and not isinstance(penalty, CopyPenalty):
        raise TypeError(f"Argument `penalty` must be a `CopyPenalty`, or None. Received: penalty={penalty!r}")

    states = tree.map_structure(lambda s: _rows(s, np.zeros(beam, "int64"), 1), states)
    scoring = penalty, length_normalization
    beams, ended = [_Beam([start], 0.0, [], 0, *scoring)], []
    for length in range(1, max_length + 1):
        # Always as many rows, so that nothing is compiled again; those after the last hypothesis are not read.
        tokens = np.full(beam, start, "int32")
        tokens[: len(beams)] = [b.tokens[-1] for b in beams]
        log_probs, states, extras = _checked(step(tokens, states), beam, stop, penalty)
        continued = []
        for row, b in enumerate(beams):
            best = np.argsort(-log_probs[row], kind="stable")[: 2 * beam]
            best = best[log_probs[row, best] > -np.inf]
            added = [*b.extras, {name: array[row] for name, array in extras.items()}]
            continued += [
                _Beam([*b.tokens, int(t)], b.log_prob + log_probs[row, t], added, row, *scoring) for t in best
            ]
        beams = []
        for b in sorted(continued, key=lambda b: -b.score):
            if b.tokens[-1] != stop:
                beams.append(b)
            elif length > min_length:
                ended.append(b)
            if beam in (len(beams), len(ended)):
                break
        if len(ended) == beam or not beams:
            break
        order = np.array([b.row for b in beams] + [0] * (beam - len(beams)))
        states = tree.map_structure(lambda s, order=order: _rows(s, order, beam), states)
    return [b.finished() for b in heapq.nlargest(beam, ended or beams, key=lambda b: b.score)]


def _rows(state, order, rows):
    """Returns rows of an array or tensor of `rows` rows."""
    if state is None:
        return None
    if np.ndim(state) == 0 or state.shape[0] != rows:
        raise ValueError(
            f"Argument `{'states' if rows == 1 else 'step'}` must {'hold' if rows == 1 else 'return states of'} arrays "
            f"with {rows} row{'s' if rows > 1 else ''}. Received: one of shape {tuple(np.shape(state))}"
        )
    if keras.ops.is_tensor(state):
        return keras.ops.take(state, order, axis=0)
    return np.asarray(state)[order]


def _checked(returned, beam, stop, penalty):
    """Returns `(log_probs, states, extras)` of a step, the first and the last as NumPy arrays."""
    if not isinstance(returned, tuple) or len(returned) not in (2, 3):
        raise ValueError(
            "Argument `step` must return (log_probs, states) or (log_probs, states, extras). "
            f"Received: {type(returned).__name__}"
        )
    log_probs, states, extras = (*returned, {})[:3]
    log_probs = keras.ops.convert_to_numpy(log_probs).astype("float64")
    extras = {name: keras.ops.convert_to_numpy(value) for name, value in (extras or {}).items()}
    if log_probs.ndim != 2 or len(log_probs) != beam or log_probs.shape[1] <= stop:
        raise ValueError(
            f"Argument `step` must return log-probabilities [{beam}, vocabulary], with `stop` in the vocabulary. "
            f"Received: shape {log_probs.shape}, stop={stop}"
        )
    if np.isnan(log_probs).any() or (log_probs > 1e-3).any():
        raise ValueError("Argument `step` must return log-probabilities, at most 0. Received: greater ones, or NaN")
    for name, value in extras.items():
        if value.ndim == 0 or len(value) != beam:
            raise ValueError(f"Argument `step` must return extras [{beam}, ...]. Received: {name} {value.shape}")
    if penalty is not None and penalty.name not in extras:
        raise ValueError(
            f"Argument `penalty` reads {penalty.name!r} of the `extras` that `step` returns. Received: {sorted(extras)}"
        )
    return log_probs, states, extras
