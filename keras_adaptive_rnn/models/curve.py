"""How accuracy and cost depend on the threshold of a model that decides for itself how closely to read."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class ReadingCurve:
    """Share of the inputs that were read, and accuracy, over the threshold of `SkimOrRead`; `str` makes a table.

    Attributes:
        thresholds: Array `[points]`, rising; an input is read where the confidence is not above the threshold.
        shares: Array `[points]`, share of the inputs that reach the LSTM: from 0 to 1, never falling.
        accuracies: Array `[points]`, share of the inputs that are classified rightly: of the bag of words alone at
            the first point, of the LSTM alone at the last.
    """

    thresholds: np.ndarray
    shares: np.ndarray
    accuracies: np.ndarray

    @classmethod
    def of(cls, confidence, skim_is_right, read_is_right, thresholds=None):
        """Returns the curve of what is known of each input; without thresholds, of about 20 even steps in cost."""
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
