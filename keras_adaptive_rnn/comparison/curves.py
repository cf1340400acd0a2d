"""Learning curves: their band over the seeds, whether they still fall, and how a terminal shows them."""

import dataclasses
import math

import numpy as np

BLOCKS = "▁▂▃▄▅▆▇█"
# Curves with fewer points say little about whether training sufficed.
FEW = 8
# A curve still falls if its last third brings more than these shares of the whole fall and of the score.
OF_FALL, OF_SCORE = 0.05, 0.02
# A power law with exponent 1/2: twice the training leaves so much of what a third of it brings.
SHRINKS = 0.7
MOST_DOUBLINGS = 6


def band(curves):
    """Returns `[step, mean, lowest, highest]` for each point that the curves of all seeds have."""
    points = zip(*curves, strict=False)
    columns = [(column[0][0], [score for _, score in column]) for column in points]
    return [
        [step, sum(scores) / len(scores), min(scores), max(scores)] for step, scores in columns if None not in scores
    ]


@dataclasses.dataclass(frozen=True)
class Fall:
    """What the last third of a training brought: the mean over the seeds and its limit below which it is nothing."""

    gain: float
    limit: float

    @property
    def goes_on(self):
        return self.gain > self.limit

    @property
    def doublings(self):
        """How often training must be doubled until a third of it brings no more than the limit."""
        needed = math.ceil(math.log(self.limit / self.gain, SHRINKS)) if self.goes_on else 0
        return min(needed, MOST_DOUBLINGS)


def last_fall(curves):
    """Returns the `Fall` of the curves of a cell, or `None` if they have too few points to tell."""
    ends, gains, falls = [], [], []
    for curve in curves:
        if len(curve) < 4 or None in (scores := [score for _, score in curve]):
            return None
        # The weights that are kept are the best so far.
        best, steps = np.minimum.accumulate(scores), [step for step, _ in curve]
        ends.append(best[-1])
        gains.append(np.interp(2 / 3 * steps[-1], steps, best) - best[-1])
        falls.append(best[0] - best[-1])
    if not curves:
        return None
    gain = float(np.mean(gains))
    error = np.std(gains, ddof=1) / math.sqrt(len(gains)) if len(gains) > 1 else 0.0
    return Fall(gain, float(max(OF_FALL * np.mean(falls), OF_SCORE * abs(np.mean(ends)), 2 * error)))


def blocks(scores):
    """Returns a row of block characters, as high as the scores are."""
    low, high = min(scores), max(scores)
    scale = (len(BLOCKS) - 1) / (high - low) if high > low else 0
    return "".join(BLOCKS[round((score - low) * scale)] for score in scores)


def lines(rows):
    """Returns a line per cell for a terminal: its curve, where it began and where it ended."""
    drawn = {row["title"]: [mean for _, mean, *_ in band(row["curves"])] for row in rows}
    width = max((len(title) for title in drawn), default=0)
    length = max((len(scores) for scores in drawn.values()), default=0)
    return [
        f"{title:{width}}  {blocks(scores):{length}}  {scores[0]:.4g} → {scores[-1]:.4g}"
        for title, scores in drawn.items()
        if scores
    ]


def note(rows):
    """Returns what to say about curves of few points, or `None`."""
    fewest = min((len(curve) for row in rows for curve in row["curves"] if curve), default=FEW)
    if fewest >= FEW:
        return None
    return f"The curves have {fewest} points only, too few to tell whether training sufficed."
