"""The times of a table: how far apart its rows are, which ones are missing, and the cycles of the calendar."""

import dataclasses
import statistics

import numpy as np

MINUTE, HOUR, DAY, WEEK = 60, 3600, 86400, 604800
MONTH, YEAR = 365.25 * DAY / 12, 365.25 * DAY
UNITS = {DAY: "day", HOUR: "hour", MINUTE: "minute", 1: "second"}
NAMES = {1: "every second", MINUTE: "every minute", HOUR: "hourly", DAY: "daily", WEEK: "weekly"}
NAMES_OF_MONTHS = {1: "monthly", 3: "quarterly", 12: "yearly"}
# Of the distances between rows, so many must be the usual one: otherwise the times follow no rule, and nothing is
# missing between them.
USUAL = 0.8


@dataclasses.dataclass
class Moments:
    """When the rows of a table are.

    Args:
        places: Array [rows], the rank of each time.
        values: Array [rows], the numbers, or the seconds, since the first time.
        dates: Array [rows] of `datetime64[s]`, as a clock on the wall shows them, or `None` where times are numbers.
    """

    places: np.ndarray
    values: np.ndarray
    dates: np.ndarray | None = None


@dataclasses.dataclass
class Frequency:
    """How the rows of a table follow each other in time.

    Args:
        name: Such as `"hourly"`.
        ticks: Array [rows], the place of each row among all times at the usual distance, or `None` where times follow
            no rule.
        kind: Unit of the distance: `"seconds"`, `"months"`, `"business days"` or `"numbers"`.
        step: The usual distance, in that unit.
        at_month_ends: Whether all rows are on the last days of months.
    """

    name: str
    ticks: np.ndarray | None
    kind: str
    step: float
    at_month_ends: bool = False

    @property
    def seconds(self):
        """The usual distance in seconds, or `None` where times are numbers."""
        return {"seconds": 1, "months": MONTH, "business days": DAY}.get(self.kind, np.nan) * self.step

    def seasons(self):
        """Returns how many rows a day, a week and a year have, where these are cycles of the rows."""
        if self.ticks is None or self.kind == "numbers":
            return []
        if self.kind == "business days":
            return [5]
        if self.kind == "months":
            return [round(12 / self.step)] if self.step < 12 and 12 % self.step == 0 else []
        found = [cycle / self.step for cycle in (DAY, WEEK) if cycle % self.step == 0]
        # A year is no whole number of days or weeks, but nearly so.
        found += [round(YEAR / self.step)] if self.step >= DAY else []
        return [int(season) for season in found if season >= 2]

    def card(self):
        """Returns what tells the frequency of other rows."""
        return {"name": self.name, "kind": self.kind, "step": self.step, "is_regular": self.ticks is not None}

    def later(self, date, ticks):
        """Returns the date that is so many ticks later."""
        if self.kind == "months":
            month = date.astype("datetime64[M]") + np.multiply(ticks, int(self.step)).astype("timedelta64[M]")
            last = (month + np.timedelta64(1, "M")).astype("datetime64[D]") - np.timedelta64(1, "D")
            days, time = (
                date.astype("datetime64[D]") - date.astype("datetime64[M]"),
                date - date.astype("datetime64[D]"),
            )
            # From the 28th of February, those at the ends of months go on to the 31st of March.
            return (last if self.at_month_ends else np.minimum(month.astype("datetime64[D]") + days, last)) + time
        if self.kind == "business days":
            return np.busday_offset(date.astype("datetime64[D]"), ticks).astype("datetime64[s]")
        return date + np.round(ticks * self.step).astype("timedelta64[s]")


def frequency_of(moments, series):
    """Returns the `Frequency` of rows, given as arrays of the rows of each series in order of time."""
    dates = moments.dates
    grids = [] if dates is None else [("months", months(dates)), ("business days", business_days(dates))]
    for kind, places in [*grids, ("numbers" if dates is None else "seconds", numbers(moments))]:
        found = None if places is None else regular(places, series)
        # Every fifth business day is every week.
        if found is not None and not (kind == "business days" and found[0] > 1):
            return Frequency(name_of(kind, found[0]), found[1], kind, found[0], are_month_ends(dates))
    distances = np.concatenate([np.diff(moments.values[rows]) for rows in series])
    median = float(np.median(distances)) if len(distances) else np.nan
    usual = f"usually {duration(median) if dates is not None else f'{median:g}'} apart" if len(distances) else "one row"
    return Frequency(f"irregular, {usual}", None, "numbers" if dates is None else "seconds", median)


def numbers(moments):
    """Returns the numbers of times, or their seconds: on the wall, where days differ by the change of clocks alone."""
    dates = moments.dates
    if dates is None or (moments.values % 1).any() or len(np.unique(of_day(dates))) > 1:
        return moments.values
    return (dates - dates[0]).astype(float)


def months(dates):
    """Returns the months of dates, or `None` if they are not all at the same place of theirs."""
    days = dates.astype("datetime64[D]")
    of_month = (days - dates.astype("datetime64[M]")).astype(int)
    if len(np.unique(dates - days)) > 1 or not (len(np.unique(of_month)) == 1 or are_month_ends(dates)):
        return None
    return dates.astype("datetime64[M]").astype(int)


def are_month_ends(dates):
    """Returns whether all dates, if times are such, are the last days of their months."""
    if dates is None:
        return False
    after = dates.astype("datetime64[D]") + np.timedelta64(1, "D")
    return bool((after.astype("datetime64[M]") > dates.astype("datetime64[M]")).all())


def business_days(dates, fewest=14):
    """Returns the number of each business day, or `None` if dates are others, or of too few days to tell."""
    days = dates.astype("datetime64[D]")
    if (dates != days).any() or not np.is_busday(days).all() or days.max() - days.min() < np.timedelta64(fewest, "D"):
        return None
    return np.busday_count(days.min(), days)


def frequency_again(name, kind, step, is_regular, moments, series):
    """Returns a known frequency, with the ticks of other rows, or raises an error if they do not have it."""
    if not is_regular:
        return Frequency(name, None, kind, step)
    makers = {"months": months, "business days": lambda dates: business_days(dates, 0)}
    dated = kind != "numbers"
    places = None
    if dated == (moments.dates is not None):
        places = makers[kind](moments.dates) if kind in makers else numbers(moments)
    ticks = None if places is None else multiples(places, series, step)
    if ticks is None:
        raise ValueError(f"the rows are not {name}, as those are that the model has learned from")
    return Frequency(name, ticks, kind, step, are_month_ends(moments.dates))


def multiples(places, series, step):
    """Returns the place of each row of its series at a multiple of a distance, or `None` if one is elsewhere."""
    ticks = np.zeros(len(places), "int64")
    for rows in series:
        exact = (places[rows] - places[rows[0]]) / step
        ticks[rows] = np.round(exact)
        if np.abs(exact - ticks[rows]).max() > 1e-3:
            return None
    return ticks


def regular(places, series):
    """Returns the usual distance of rows, and the place of each at a multiple of it, or `None` without such."""
    distances = np.concatenate([np.diff(places[rows]) for rows in series]).astype(float)
    if not len(distances) or distances.min() <= 0:
        return None
    # Beyond nine digits, numbers such as 0.02 differ by how they were rounded.
    _, first, counts = np.unique((distances / np.median(distances)).round(9), return_index=True, return_counts=True)
    step = float(distances[first[counts.argmax()]])
    if counts.max() < USUAL * len(distances):
        return None
    ticks = multiples(places, series, step)
    return None if ticks is None else (step, ticks)


def name_of(kind, step):
    if kind == "numbers":
        return f"every {step:g}"
    if kind == "business days":
        return "every business day"
    if kind == "months":
        return NAMES_OF_MONTHS.get(step) or f"every {step:g} months"
    return NAMES.get(step) or f"every {duration(step)}"


def duration(seconds):
    """Returns a duration in the largest unit that divides it."""
    for unit, name in UNITS.items():
        if seconds % unit == 0 and seconds:
            count = round(seconds / unit)
            return f"{count:,} {name}{'s' if count > 1 else ''}"
    return f"{seconds:g} seconds"


# Cycles.


def of_day(dates):
    return (dates - dates.astype("datetime64[D]")).astype(float) / DAY


def of_week(dates):
    # The first day of 1970 was a Thursday.
    return (dates.astype("datetime64[D]").astype(int) + 3) % 7 / 7


def of_year(dates):
    years, days = dates.astype("datetime64[Y]"), dates.astype("datetime64[D]")
    length = ((years + np.timedelta64(1, "Y")).astype("datetime64[D]") - years.astype("datetime64[D]")).astype(float)
    return (days - years.astype("datetime64[D]")).astype(float) / length


# The cycle, how long it is, the longest distance of rows that has it, and the share of it that has passed.
CYCLES = {
    "hour": (DAY, DAY / 2, of_day),
    "weekday": (WEEK, DAY, of_week),
    "day of the year": (YEAR, YEAR / 2, of_year),
}


def cycles(dates, seconds, span):
    """Returns the cycles of the calendar, by name, and the names of those that take longer than the training rows.

    Args:
        dates: Array of `datetime64[s]`.
        seconds: The usual distance of rows.
        span: How many seconds the rows to train on take. Of a cycle that they do not complete, the rest would be
            unknown to a model.

    Returns: A dict of arrays, a sine and a cosine for each cycle, and a list of names.
    """
    columns, too_long = {}, []
    for name, (length, longest, share) in CYCLES.items():
        if not seconds <= longest:
            continue
        if span < length:
            too_long.append(name)
            continue
        angle = 2 * np.pi * share(dates)
        columns |= {f"{name} (sine)": np.sin(angle), f"{name} (cosine)": np.cos(angle)}
    return columns, too_long


# Seasons.


def autocorrelation(pieces, longest):
    """Returns the autocorrelations of series about their trends up to a lag, and how many numbers they have.

    Args:
        pieces: List of arrays, NaN where a number is missing.
        longest: The longest lag.
    """
    products, pairs, count = np.zeros(longest + 1), np.zeros(longest + 1), 0
    for piece in pieces:
        known = np.flatnonzero(~np.isnan(piece))
        if len(known) < 3:
            continue
        rest = np.zeros(len(piece))
        rest[known] = piece[known] - np.polyval(np.polyfit(known, piece[known], 1), known)
        size, lags = 2 ** int(np.ceil(np.log2(2 * len(piece)))), min(longest + 1, len(piece))
        for values, total in ((rest, products), ((~np.isnan(piece)).astype(float), pairs)):
            total[:lags] += np.fft.irfft(np.abs(np.fft.rfft(values, size)) ** 2, size)[:lags]
        count += len(known)
    variance = products[0] / max(1, count)
    found = products / np.maximum(pairs.round(), 1)
    return (found / variance if variance > 0 else np.zeros(longest + 1)), count


def season_of(pieces, candidates):
    """Returns after how many rows series repeat themselves, or `None`.

    The autocorrelation at that lag must be more than noise, by Bartlett's formula, and more than at some shorter lag:
    that of a trend, or of a random walk, falls. Among the candidates, the shortest one is taken that is no lower than
    another beyond noise; without any, the highest of all lags. However many lags there are, noise has a season in one
    case of twenty.

    Args:
        pieces: List of arrays, NaN where a number is missing.
        candidates: List of the seasons that the calendar has.
    """
    length = max(map(len, pieces), default=0)
    longest = length // 2 if candidates else length // 3
    lags = [lag for lag in candidates or range(2, longest + 1) if 2 <= lag <= longest]
    if not lags:
        return None
    found, count = autocorrelation(pieces, max(lags))
    limit = statistics.NormalDist().inv_cdf(1 - 0.05 / len(lags)) / np.sqrt(max(1, count))
    before = np.cumsum(found[1:] ** 2)
    valley = np.minimum.accumulate(found[1:])
    confirmed = [
        lag
        for lag in lags
        if found[lag] > limit * np.sqrt(1 + 2 * before[lag - 2]) and found[lag] - valley[lag - 2] > limit
    ]
    if candidates:
        highest = max((found[lag] for lag in confirmed), default=0)
        return min((lag for lag in confirmed if found[lag] >= highest - limit), default=None)
    # Of 11, 22 and 33 years, the shortest.
    return max(confirmed, key=lambda lag: found[lag] * (1 - lag / length), default=None)


def steps_between(ticks):
    """Returns where ticks are left out, as pairs of the place before and how many are missing after it."""
    missing = np.diff(ticks) - 1
    return [(int(place), int(missing[place])) for place in np.flatnonzero(missing > 0)]
