"""Dates as tables write them: with a year of four digits, and none that may be read in two ways."""

import dataclasses
import datetime
import re

EPOCH = datetime.datetime(1, 1, 1)
MONTHS = ["January", "February", "March", "April", "May", "June", "July"]
MONTHS += ["August", "September", "October", "November", "December"]
TIME = (
    r"(?:[T ](?P<hour>\d\d?)(?::(?P<minute>\d\d)(?::(?P<second>\d\d)(?P<fraction>[.,]\d{1,18})?)?)?\s?"
    r"(?P<zone>Z|[+-](?:[01]\d|2[0-3])(?::?[0-5]\d)?)?)?"
)
YEAR, DAY, NAME = r"(?P<year>\d{4})", r"(?P<day>\d\d?)", r"(?P<name>[a-z]{3,9})\.?"
# Without a day, points would make a number of a date: 2024.01.
FORMS = [
    re.compile(form, re.ASCII | re.IGNORECASE)
    for form in (
        rf"{YEAR}(?P<separator>[-/.])(?P<month>\d\d?)(?P=separator){DAY}{TIME}",
        rf"{YEAR}[-/M](?P<month>\d\d?)",
        rf"{YEAR}[ /-]?Q(?P<quarter>[1-4])",
        rf"Q(?P<quarter>[1-4])[ /-]?{YEAR}",
        rf"{NAME}[ /-]{DAY},?[ /-]{YEAR}{TIME}",
        rf"{DAY}\.?[ /-]{NAME}[ /-]{YEAR}{TIME}",
        rf"{NAME}[ /-]{YEAR}",
        rf"{YEAR}[ /-]{NAME}",
    )
]
DAY_AND_MONTH = re.compile(r"(\d\d?)[/.-](\d\d?)[/.-](?:\d{4}|\d\d)\b.*", re.ASCII)


@dataclasses.dataclass(frozen=True)
class Date:
    """A date that a text says.

    Args:
        kind: `"a quarter"`, `"a month"`, `"a day"`, or `"a time with a time zone"` or without one.
        seconds: Those since `EPOCH`, on a clock on the wall.
        fraction: The digits of the rest of a second.
        zone: How many seconds the clock is ahead of UTC.
    """

    kind: str
    seconds: int
    fraction: str
    zone: int


def matched(text):
    """Returns the parts of a date by name, as a match, or `None` if a text does not have the form of one."""
    return next(filter(None, (form.fullmatch(text) for form in FORMS)), None)


def date_of(text):
    """Returns the `Date` of a text, or `None` if it says none, or one that does not exist."""
    match = matched(text)
    if match is None:
        return None
    parts = {name: part for name, part in match.groupdict().items() if part is not None}
    month = month_of(parts)
    numbers = [int(parts.get(name, 0)) for name in ("hour", "minute", "second")]
    try:
        date = datetime.datetime(int(parts["year"]), month, int(parts.get("day", 1)), *numbers)
    except ValueError:
        return None
    kind = "a quarter" if "quarter" in parts else "a month"
    if "day" in parts:
        kind = "a day" if "hour" not in parts else f"a time with{'' if 'zone' in parts else 'out'} a time zone"
    seconds = (date - EPOCH) // datetime.timedelta(seconds=1)
    return Date(kind, seconds, parts.get("fraction", "")[1:], seconds_of_zone(parts.get("zone", "Z")))


def month_of(parts):
    """Returns the month of a date, 0 where there is none of this name."""
    if "quarter" in parts:
        return 3 * int(parts["quarter"]) - 2
    if "month" in parts:
        return int(parts["month"])
    name = parts["name"].lower()
    return next((k for k, month in enumerate(MONTHS, 1) if month.lower().startswith(name)), 0)


def seconds_of_zone(zone):
    if zone.upper() == "Z":
        return 0
    return 60 * (60 * int(zone[1:3]) + int(zone[3:].strip(":") or 0)) * (-1 if zone[0] == "-" else 1)


def written_like(text, date):
    """Returns a date, a `numpy.datetime64`, in the form of a text."""
    match, date = matched(text), date.astype("datetime64[s]").item()
    month = MONTHS[date.month - 1]
    parts = {"quarter": (date.month + 2) // 3, "fraction": "", "name": month}
    for name, old in sorted(match.groupdict().items(), key=lambda item: -match.start(item[0])):
        if old is None or name in ("separator", "zone"):
            continue
        new = parts.get(name, getattr(date, name, None))
        if name == "name":
            new = month[:3] if len(old) == 3 else month
            new = new.upper() if old.isupper() else new.lower() if old.islower() else new
        elif name != "fraction":
            new = f"{new:0{len(old)}d}"
        text = text[: match.start(name)] + new + text[match.end(name) :]
    return text


def to_datetime(name, texts):
    """Returns the line of pandas that reads dates whose day and month may be either way round."""
    found = [match for match in map(DAY_AND_MONTH.fullmatch, texts) if match]
    line = f"table[{name!r}] = pandas.to_datetime(table[{name!r}], dayfirst="
    is_day_first, is_month_first = (any(int(match[k]) > 12 for match in found) for k in (1, 2))
    if is_day_first == is_month_first:
        return f"{line}True) if the day is first, or dayfirst=False"
    return f"{line}{is_day_first})"
