"""The recovery of language models from a token that has surprised them."""

import dataclasses
from typing import Any

import numpy as np

from keras_adaptive_rnn import _arguments
from keras_adaptive_rnn.models.arrays import as_array


@dataclasses.dataclass(frozen=True)
class SurpriseRecovery:
    """The losses of models at, and after, the tokens of a text that surprised them.

    Attributes:
        losses: Dict of arrays `[surprises, distances]` by model, the loss of the surprising token, at distance 0, and
            of those after it, in nats; NaN after the end of a row.
        typical: Dict of numbers by model, the mean loss of all tokens.
        threshold: Number, the smallest loss of a surprising token, as a mean over the models.
    """

    losses: dict[str, np.ndarray]
    typical: dict[str, float]
    threshold: float

    @property
    def means(self):
        """Dict of arrays `[distances]` by model, the mean loss at each distance."""
        return {name: np.nanmean(losses, axis=0) for name, losses in self.losses.items()}

    def difference(self, first, second):
        """Returns the mean excess loss of a model over another, and its standard error, arrays `[distances]`."""
        each = self.losses[first] - self.losses[second]
        counts = np.sum(~np.isnan(each), axis=0)
        return np.nanmean(each, axis=0), np.nanstd(each, axis=0, ddof=1) / np.sqrt(counts)


def surprise_recovery(log_probs: dict[str, Any], distance: int = 10, share: float = 0.05) -> SurpriseRecovery:
    r"""Returns the losses of language models after tokens that surprised them.

    Let $\ell^m_n$ be the loss of model $m$ at token $n$. A token is surprising if $\frac1M \sum_m \ell^m_n$ is among
    the largest `share` of all tokens, so no model decides alone. At each distance $d$, the loss is that of token
    $n + d$, in the same row, averaged over the surprising tokens $n$; windows may overlap.

    A model that recovers faster has a smaller loss at $d = 1, 2, \dots$ than its distance to the others in `typical`
    explains. Krause et al. found this for the multiplicative LSTM; Melis et al. did not for the Mogrifier.

    Args:
        log_probs: Dict of arrays `[rows, tokens]` by model, the log-probabilities of the tokens of the same text:
            `keras_adaptive_rnn.evaluation.evaluate(...).log_probs`.
        distance: Positive integer, the largest distance. Defaults to `10`.
        share: Number in `(0, 1)`, the share of tokens that are surprising. Defaults to `0.05`.

    Returns: A `SurpriseRecovery(losses, typical, threshold)`.

    Example:

    >>> slow = np.log([[0.5, 0.1, 0.2, 0.4, 0.5, 0.5, 0.5, 0.5]])
    >>> fast = np.log([[0.5, 0.1, 0.4, 0.5, 0.5, 0.5, 0.5, 0.5]])
    >>> recovery = keras_adaptive_rnn.analysis.surprise_recovery({"slow": slow, "fast": fast}, distance=2, share=0.1)
    >>> np.exp(-recovery.means["slow"]).round(2), np.exp(-recovery.means["fast"]).round(2)
    (array([0.1, 0.2, 0.4]), array([0.1, 0.4, 0.5]))

    Reference: Krause et al., Multiplicative LSTM for Sequence Modelling (2016), for the hypothesis; Melis, Kočiský and
    Blunsom, Mogrifier LSTM (2020), section 4.2.
    """
    distance = _arguments.integer("distance", distance)
    share = _arguments.number("share", share, positive=True, below=1)
    losses = _checked_losses(log_probs, distance)
    mean = np.mean(list(losses.values()), axis=0)
    threshold = np.sort(mean, axis=None)[-max(1, round(share * mean.size))]
    rows, places = np.nonzero(mean >= threshold)
    window = places[:, None] + np.arange(distance + 1)

    def after(losses):
        return np.pad(losses, ((0, 0), (0, distance)), constant_values=np.nan)[rows[:, None], window]

    if (window >= mean.shape[1]).all(axis=0).any():
        raise ValueError(
            f"Argument `share` must leave a surprising token with {distance} tokens after it. Received: "
            f"share={share}, with {len(rows)} surprising tokens at the ends of rows"
        )
    typical = {name: float(each.mean()) for name, each in losses.items()}
    return SurpriseRecovery({name: after(each) for name, each in losses.items()}, typical, float(threshold))


def _checked_losses(log_probs, distance):
    if not isinstance(log_probs, dict):
        raise TypeError(
            "Argument `log_probs` must be a dict of arrays by the name of a model. Received: "
            f"a {type(log_probs).__name__}"
        )
    losses = {name: -as_array("log_probs", each, rank=2).astype("float64") for name, each in log_probs.items()}
    shapes = {each.shape for each in losses.values()}
    if len(shapes) != 1:
        raise ValueError(
            "Argument `log_probs` must hold arrays [rows, tokens] of one shape, those of the same text. Received: "
            f"{ {name: each.shape for name, each in losses.items()} }"
        )
    ((_, tokens),) = shapes
    rule = f"Argument `distance` must be below {tokens}, the tokens of a row"
    _arguments.check(distance < tokens, rule, distance=distance)
    for name, each in losses.items():
        # Rounding may take the logarithm of one above zero.
        if not (each > -1e-3).all():
            raise ValueError(
                f"Argument `log_probs` must hold log-probabilities. Received: greater than 0, or NaN, of '{name}'"
            )
    return losses
