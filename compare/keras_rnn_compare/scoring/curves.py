"""Learning curves: a band over the seeds, a test of whether they still fall, and text for a terminal."""

import dataclasses
import math
import textwrap

import numpy as np

from keras_rnn_compare.rounding import rounded

BLOCKS = "▁▂▃▄▅▆▇█"
# Characters of a title before its curve.
TITLE = 30
# Curves with fewer points say little about whether training sufficed.
FEW = 8
# A curve still falls if twice the training would bring more than this share of the score, or, where only its tail can
# tell, than this share of its whole fall.
OF_SCORE, OF_FALL = 0.02, 0.05
# The share of the steps after which the best point of a curve that still falls is, on average over the seeds.
LATE = 2 / 3
# Falls are taken for power laws of the steps with an exponent between these, 1/2 for a single number.
EXPONENTS = (0.25, 1.0)


def band(curves):
    """Returns `[step, mean, lowest, highest]` for each point that the curves of all seeds have."""
    points = zip(*curves, strict=False)
    columns = [(column[0][0], [score for _, score in column]) for column in points]
    return [
        [step, sum(scores) / len(scores), min(scores), max(scores)] for step, scores in columns if None not in scores
    ]


@dataclasses.dataclass(frozen=True)
class Fall:
    """What twice the training would bring, at most and at least, and the limit below which that is nothing."""

    gain: float
    limit: float
    most: float = 0.0
    least: float = 0.0

    @property
    def goes_on(self):
        return self.gain > self.limit


def fall(curves, shorter=None):
    """Returns the `Fall` of a cell, or `None` if its curves have too few points to tell.

    Args:
        curves: A list of steps and scores for each seed.
        shorter: Steps and score of a shorter training with the same rate; in its second half, too, the rate fell, which
            a curve's tail does not tell from learning. Defaults to `None`, which means that the last third of the
            curves must tell.
    """
    if not curves or any(len(curve) < 4 or None in (score for _, score in curve) for curve in curves):
        return None
    # The weights that are kept are the best so far.
    bests = [np.minimum.accumulate([score for _, score in curve]) for curve in curves]
    ends = np.array([best[-1] for best in bests])
    least = OF_SCORE * abs(np.mean(ends))
    # Where the best is well before the end, more training of this kind only overfits.
    if (
        np.mean([curve[int(np.argmin(best))][0] / curve[-1][0] for curve, best in zip(curves, bests, strict=True)])
        < LATE
    ):
        return Fall(0.0, float(least))
    if shorter is None:
        length = 1.5
        gains = [
            np.interp(curve[-1][0] / length, [step for step, _ in curve], best) - best[-1]
            for curve, best in zip(curves, bests, strict=True)
        ]
        least = max(least, OF_FALL * np.mean([best[0] - best[-1] for best in bests]))
    else:
        length = curves[0][-1][0] / shorter[0]
        gains = shorter[1] - ends
    error = np.std(gains, ddof=1) / math.sqrt(len(gains)) if len(gains) > 1 else 0.0
    if np.mean(gains) <= 2 * error:
        return Fall(0.0, float(least))
    gain, score = np.mean(gains), abs(np.mean(ends))

    def of_twice(power, gain):
        # No law falls below zero: none brings more than it would without a floor.
        return float(min(gain * (1 - 2**-power) / (length**power - 1), score * (1 - 2**-power)))

    found = [of_twice(power, each) for power in EXPONENTS for each in (gain - 2 * error, gain + 2 * error)]
    return Fall(of_twice(0.5, gain), float(least), max(found), min(found))


def blocks(scores):
    """Returns a row of block characters, as high as the scores are."""
    low, high = min(scores), max(scores)
    scale = (len(BLOCKS) - 1) / (high - low) if high > low else 0
    return "".join(BLOCKS[round((score - low) * scale)] for score in scores)


def lines(rows):
    """Returns a line per cell for a terminal, its curve, where it began and where it ended; more for long titles."""
    drawn = {row["title"]: [mean for _, mean, *_ in band(row["curves"])] for row in rows}
    width = min(TITLE, max(map(len, drawn), default=0))
    length = max(map(len, drawn.values()), default=0)
    found = []
    for title, scores in drawn.items():
        if scores:
            first, *rest = textwrap.wrap(title, width, subsequent_indent="  ")
            found += [
                f"{first:{width}}  {blocks(scores):{length}}  {rounded(scores[0])} → {rounded(scores[-1])}",
                *rest,
            ]
    return found


def note(rows):
    """Returns what to say about curves of few points, or `None`."""
    fewest = min((len(curve) for row in rows for curve in row["curves"] if curve), default=FEW)
    if fewest >= FEW:
        return None
    return f"The curves have {fewest} points only, too few to tell whether training sufficed."
