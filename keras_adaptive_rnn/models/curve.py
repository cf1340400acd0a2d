"""Accuracy and cost of `SkimOrRead` over its threshold."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class ReadingCurve:
    """Accuracy, and the share of inputs that are read, over the threshold of `SkimOrRead`; `str` makes a table.

    Attributes:
        thresholds: Array `[points]`, increasing. An input is read if its confidence is at most the threshold.
        shares: Array `[points]`, share of the inputs that reach the LSTM, from 0 to 1, non-decreasing.
        accuracies: Array `[points]`, share of the inputs that are classified correctly: by the bag of words alone at
            the first point, and by the LSTM alone at the last.
    """

    thresholds: np.ndarray
    shares: np.ndarray
    accuracies: np.ndarray

    @classmethod
    def of(cls, confidence, skim_is_right, read_is_right, thresholds=None):
        """Returns the curve from per-input arrays; without thresholds, it takes about 20 even steps in cost."""
        if thresholds is None:
            among = np.quantile(confidence, np.linspace(0, 1, 21)[1:], method="lower")
            thresholds = np.unique([np.nextafter(confidence.min(), -np.inf), *among])
        thresholds = np.sort(np.asarray(thresholds, dtype=confidence.dtype))
        is_read = confidence <= thresholds[:, None]
        is_right = np.where(is_read, read_is_right, skim_is_right)
        return cls(thresholds, is_read.mean(axis=1), is_right.mean(axis=1))

    def __str__(self):
        rows = zip(self.thresholds, self.shares, self.accuracies, strict=True)
        return "\n".join(["threshold    read  accuracy", *(f"{t:9.4f}  {s:6.1%}  {a:8.1%}" for t, s, a in rows)])
