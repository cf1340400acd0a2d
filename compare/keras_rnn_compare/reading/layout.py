"""The order of time in the columns of a table."""

import dataclasses
import re

import numpy as np

# `lag_3`, or `price_lag_3` where there are several series.
LAG = re.compile(r"(?:(.+)_)?lag_(\d+)")
# Rows that tell whether each is a window one step after the one before.
FEWEST_ROWS = 10


@dataclasses.dataclass
class Layout:
    """How a row of a table becomes a sequence.

    Args:
        places: Array [steps, features], the column of each number, the oldest step first.
        rest: Array of the other columns, which every step repeats.
        names: What to call each feature in a message.
    """

    places: np.ndarray
    rest: np.ndarray
    names: list[str]

    def sequences(self, table):
        """Returns an array [samples, steps, features]."""
        repeated = np.repeat(table[:, None, self.rest], len(self.places), axis=1)
        return np.concatenate([table[:, self.places], repeated], axis=-1)


def by_name(columns):
    """Returns the `Layout` of columns that are called `lag_1`, `lag_2`, ..., or `None` if none is."""
    series = {}
    for place, name in enumerate(columns):
        found = LAG.fullmatch(name)
        if found:
            series.setdefault(found[1] or "", {})[int(found[2])] = place
    if not series:
        return None
    # Beside lags of the series, `price_lag_2` is a feature like any other.
    series = {"": series[""]} if "" in series else series
    lags = sorted(next(iter(series.values())), reverse=True)
    for name, found in series.items():
        if sorted(found, reverse=True) != lags:
            raise ValueError(
                f"Argument `X` must have the same lags of each series. Received: lags {lags[::-1]} of "
                f"{next(iter(series))!r}, and {sorted(found)} of {name!r}"
            )
    places = np.array([[found[lag] for found in series.values()] for lag in lags])
    rest = np.setdiff1d(np.arange(len(columns)), places)
    return Layout(places, rest, [*(name or "lags" for name in series), *(columns[place] for place in rest)])


def by_place(columns, lags, newest_first, features_first):
    """Returns the `Layout` of columns in order: of the lags, then of the others, or of feature after feature."""
    count = len(columns)
    steps = count if lags is None else lags
    if steps > count or (features_first and count % steps):
        allowed = "divide the number of columns of `X`" if features_first else "be at most the number of columns of `X`"
        raise ValueError(f"Argument `lags` must {allowed}, {count}. Received: lags={lags!r}")
    places = np.arange(count if features_first else steps).reshape(-1, steps).T
    rest = np.arange(places.size, count)
    names = [f"{columns[feature[0]]} to {columns[feature[-1]]}" for feature in places.T]
    return Layout(places[::-1] if newest_first else places, rest, [*names, *(columns[place] for place in rest)])


def check_order(table, lags, newest_first):
    """Raises an error if rows that are windows, each one step after the one before, are read in another way.

    skforecast passes on arrays, without the names of their columns; nothing else would show that time runs backwards.
    """
    count, newest = rolling(table)
    # Two columns may fit by chance, where a pipeline has scaled each by its own numbers.
    has_others = 2 < count < table.shape[1] <= 2 * count
    if (newest and newest_first is None) or (has_others and lags is None):
        raise ValueError(
            f"Arguments `lags` and `newest_first` must say what the {table.shape[1]} columns of `X` are: the first "
            f"{count} hold lags of one series, the {'newest' if newest else 'oldest'} first. "
            f"Received: lags={lags!r}, newest_first={newest_first!r}"
        )


def check_axes(x):
    """Raises an error if windows, each one step after the one before, have time as the last of their three axes."""
    if rolling(x[:, 0])[0] == x.shape[2] > 1 and rolling(x[:, :, 0])[0] == 1:
        raise ValueError(
            "Argument `features_first` must be True for an `X` whose last axis is that of time, as in sktime. "
            f"Received: features_first=False, and X of shape {x.shape}"
        )


def rolling(table):
    """Returns of how many columns, from the first one on, each row is the row before, one step later; or 1.

    The other number is whether the first column is the newest.
    """
    if len(table) < FEWEST_ROWS or table.shape[1] < 2:
        return 1, False
    shifted = [table[:-1, 1:] == table[1:, :-1], table[:-1, :-1] == table[1:, 1:]]
    oldest, newest = (int(np.logical_and.accumulate(each.all(axis=0)).sum()) for each in shifted)
    # What is constant is both.
    return (1, False) if oldest == newest else (1 + max(oldest, newest), newest > oldest)
