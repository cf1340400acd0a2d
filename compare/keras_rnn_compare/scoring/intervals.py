"""Intervals of forecasts: about a forecast, or between quantiles that a model has learned; both are conformal.

Residuals of ends, `[forecasts, horizon, 4]`, are what is predicted for each of `QUANTILES`, less the truth. About a
forecast, all four are the forecast itself.

Source: Romano, Patterson and Candès, Conformalized Quantile Regression (2019).
"""

import math

import numpy as np

# The percentages of forecasts that intervals are to hold, and the places in `QUANTILES` of their ends.
LEVELS = {"80": (1, 2), "95": (0, 3)}
QUANTILES = (0.025, 0.1, 0.9, 0.975)


def center(forecasts):
    """Returns all ends of intervals about forecasts, `[..., 4]`."""
    return np.broadcast_to(forecasts[..., None], (*forecasts.shape, len(QUANTILES)))


def ascending(ends):
    """Returns quantiles in order: as a network computes them, a higher one may be below a lower one."""
    return np.sort(ends, axis=-1)


def conformal(validation, test):
    """Returns intervals by the percentage of forecasts that they are to hold.

    For each row of the horizon, both ends are moved as far as it takes to hold so many of the validation part, and a
    little farther, since it is a sample.

    Args:
        validation, test: Residuals of ends.

    Returns: A dict of dicts with `width`, how far either end is moved outwards, for each row of the horizon, and
        `coverage`, the share of the test part that the intervals hold; empty if the validation part is too small.
    """
    intervals, count = {}, len(validation)
    for level, (lower, upper) in LEVELS.items():
        outside, outside_of_test = (np.maximum(each[..., lower], -each[..., upper]) for each in (validation, test))
        rank = math.ceil((count + 1) * int(level) / 100)
        if rank <= count:
            width = np.sort(outside, axis=0)[rank - 1]
            intervals[level] = {"width": width.tolist(), "coverage": float(np.mean(outside_of_test <= width))}
    return intervals


def interval(forecasts, ends, level, width):
    """Returns the lower and the upper end of an interval; the forecast is always inside.

    Args:
        forecasts: Array.
        ends: Array `[..., 4]`, what is predicted for each of `QUANTILES`.
        level: Percentage of forecasts.
        width: How far either end is moved outwards, as an array or a number.
    """
    lower, upper = LEVELS[level]
    return np.minimum(forecasts, ends[..., lower] - width), np.maximum(forecasts, ends[..., upper] + width)


def pinball_losses(residuals, intervals):
    """Returns the pinball losses of the ends of intervals, as a list of arrays; empty if there are none.

    Args:
        residuals: Residuals of ends.
        intervals: What `conformal` returns.
    """
    losses = []
    for level, each in intervals.items():
        for place, sign in zip(LEVELS[level], (-1, 1), strict=True):
            # How far the truth is above the quantile.
            above = -residuals[..., place] - sign * np.asarray(each["width"])
            losses.append(pinball(above, QUANTILES[place]))
    return losses


def pinball(above, share):
    """Returns the pinball losses of quantiles, each of a share, by how far the truth is above them."""
    return np.maximum(share * above, (share - 1) * above)
