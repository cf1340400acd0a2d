"""A table of series, as sequences: what each column is, what is missing, the windows and their parts."""

import dataclasses

import numpy as np

from keras_rnn_compare.reading.calendar import cycles, frequency_of, season_of, steps_between
from keras_rnn_compare.reading.data import (
    FEWEST,
    PARTS,
    SHARES,
    Series,
    Targets,
    TooFew,
    Windows,
    carried,
    check_scales,
    check_sizes,
    prepare,
    split_rows,
)
from keras_rnn_compare.reading.tables import NAMELESS, columns_of, listed

# Rows of a window, and the fewest that are chosen where series are short.
ROWS, SHORTEST = 32, 8
# What to do with cells, and times, that have no value.
MISSING = ("refuse", "interpolate", "drop", "mask")
# Whether models read and forecast the target as changes.
DIFFERENCES = ("auto", "yes", "no")
# The last share of the rows to train on, whose levels are compared with the usual range of those before.
LATE, USUAL = 0.3, 0.95
# Cuts of one table: with more, the first one would have too little to train on.
MOST_FOLDS = 4
# Validation windows with more of which one cut suffices to rank the baselines.
MANY_WINDOWS = 300
DONE = {"interpolate": "interpolated", "drop": "left out", "mask": "masked"}


@dataclasses.dataclass
class Rows:
    """The rows of a table, one series after the other, in order of time, with those whose time is missing.

    Args:
        places: Array, the row in the file of each, or -1 where it is missing.
        owners: Array, the series of each.
        ticks: Array, when each is, within its series: at the usual distance from each other, if there is one.
    """

    places: np.ndarray
    owners: np.ndarray
    ticks: np.ndarray

    def __len__(self):
        return len(self.places)

    def of(self, owner):
        """Returns the rows of a series."""
        return np.arange(*np.searchsorted(self.owners, [owner, owner + 1]))

    def first(self):
        """Returns the first row of the series of each row."""
        return np.searchsorted(self.owners, self.owners)

    def take(self, column):
        """Returns a column of the file; NaN where a row is missing."""
        return np.where(self.places < 0, np.nan, column[self.places])


@dataclasses.dataclass
class Features:
    """What models read of each row: decided on the rows to train on, and the same for new ones.

    Args:
        observed: Names of the columns that are read up to the last row of a window; of a forecast, the target last.
        known: Names of those that are known in advance.
        means: Dict of the mean of each column, which stands for what is missing before the first value of a series.
        flags: Dict of the feature that says where a column has no value, by column.
        cycles: Names of the features of the calendar.
        differenced: Name of the column that is read, and forecast, as changes; `None` if none is.
    """

    observed: list[str]
    known: list[str]
    means: dict[str, float]
    flags: dict[str, str]
    cycles: list[str] = dataclasses.field(default_factory=list)
    differenced: str | None = None

    @classmethod
    def of(cls, values, known, trained, taken=None, static=()):
        """Returns those of columns, given as arrays by name.

        A feature that says what is missing is only of use where the rows to train on show both, and not for what never
        changes.

        Args:
            values: Dict of arrays [rows], NaN where a value is missing.
            known: Names of the columns that are known in advance.
            trained: Array [rows], which rows are trained on.
            taken: Names that features may not have; `None` means that nothing says what is missing.
            static: Names of the columns that never change within a series.
        """
        means, flags = {}, {}
        for name, column in values.items():
            missing = np.isnan(column)
            if missing[trained].all():
                raise ValueError(f"column {name!r} has no number in the rows to train on: leave it out by --columns")
            means[name] = float(column[trained & ~missing].mean())
            if taken is not None and missing[trained].any() and name not in static:
                flags[name] = distinct(f"{name} is missing", taken)
        return cls([name for name in values if name not in known], list(known), means, flags)

    @property
    def advance(self):
        """The names of the features that are known in advance."""
        return [*self._with_flags(self.known), *self.cycles]

    @property
    def names(self):
        return [*self._with_flags(self.observed), *self.advance]

    def _with_flags(self, columns):
        return [*columns, *(self.flags[name] for name in columns if name in self.flags)]

    def rolls(self, static):
        """Returns whether a model of the next row can read its own forecasts: all else is known of the rows to come.

        Args:
            static: Names of the columns that never change within a series.
        """
        return not self.flags and set(self.observed[:-1]) <= set(static)

    def matrix(self, values, owners, of_calendar, ahead):
        """Returns the features of rows, `[rows, features]`.

        Of what is known in advance, each row shows what is `ahead` of it: the last one of a window, the last goal's.
        """
        later = np.minimum(np.arange(len(owners)) + ahead, len(owners) - 1)
        in_advance = self.in_advance(values, owners, of_calendar)
        return np.concatenate([self._columns(values, self.observed, owners), in_advance[later]], axis=1)

    def in_advance(self, values, owners, of_calendar):
        """Returns what is known in advance of rows, `[rows, features]`."""
        of_calendar = [of_calendar[name][:, None] for name in self.cycles]
        return np.concatenate([self._columns(values, self.known, owners), *of_calendar], axis=1)

    def last(self, values, name, owners):
        """Returns a column with the last value where one is missing, and the mean before the first one of a series."""
        last = carried(values[name], owners)
        return np.where(np.isnan(last), self.means[name], last)

    def _columns(self, values, names, owners):
        """Returns columns with the last value where one is missing, and then those that say where."""
        columns = []
        for name in names:
            last = self.last(values, name, owners)
            columns.append(changes(last, owners) if name == self.differenced else last)
        columns += [np.isnan(values[name]).astype(float) for name in names if name in self.flags]
        return np.stack(columns, axis=1) if columns else np.zeros((len(owners), 0))


class Table:
    """A table of series, as sequences.

    Args:
        source: Path of the file, or a DataFrame.
        options: The `ReadOptions`.
    """

    def __init__(self, source, options):
        self.target, self.time, self.group = options.target, options.time, options.group
        self.steps, self.horizon, self.seed = options.steps, options.horizon, options.seed
        self.missing, self.calendar, self.differences = options.missing, options.calendar, options.differences
        self.decimal = options.decimal
        self.known = list(options.known or ())
        columns = options.columns
        if self.missing not in MISSING:
            raise ValueError(f"--missing must be one of {', '.join(MISSING)}, and is {self.missing!r}")
        if self.differences not in DIFFERENCES:
            raise ValueError(f"--differences must be one of {', '.join(DIFFERENCES)}, and is {self.differences!r}")
        self.columns = columns_of(source, options.decimal)
        self.check_arguments(columns, options.task, options.split)
        self.roles, self.notes, self.static = {}, [], set()
        self.choose_columns(columns)
        self.moments = None if self.time is None else self.columns[self.time].moments()

    @property
    def times(self):
        """The place of each row in time, or `None`."""
        return None if self.moments is None else self.moments.places

    def check_arguments(self, columns, task, split):
        named = [name for name in self.columns if not NAMELESS.fullmatch(name)]
        if self.target is None:
            raise ValueError(f"--target must name the column to predict, one of {listed(named)}")
        special = {"target": self.target, "time": self.time, "group": self.group}
        for name, value in special.items():
            if value is not None:
                self.check(name, value)
        for option, names in (("columns", columns or ()), ("known", self.known)):
            for name in names:
                self.check(option, name)
                if name in (self.time, self.group):
                    raise ValueError(f"--{option} names what to learn from, and {name!r} is --time or --group")
            if len(set(names)) < len(names):
                raise ValueError(f"--{option} must name each column once")
        used = [name for name in special.values() if name is not None]
        if len(set(used)) < len(used):
            raise ValueError("--target, --time and --group must name different columns")
        if task not in (None, "forecast", "classify"):
            raise ValueError(f"--task must be 'forecast' or 'classify', and is {task!r}")
        column = self.columns[self.target]
        column = column if self.missing == "refuse" else column.without_missing()
        if not len(column):
            raise ValueError(f"column {self.target!r} has no value in any row, and --target names what to predict")
        self.task = task or ("forecast" if column.is_forecast() else "classify")
        self.why = f"--task {task}" if task else f"{self.target!r} holds {'numbers' if self.is_forecast else 'words'}"
        if not self.is_forecast and self.target in (columns or ()):
            raise ValueError(f"--columns names what to learn from, and {self.target!r} is the class to predict")
        if not self.is_forecast and self.horizon != 1:
            raise ValueError(f"--horizon is for forecasts, and is {self.horizon} with --task classify")
        if not self.is_forecast and self.differences != "auto":
            raise ValueError(f"--differences is for forecasts, and is {self.differences!r} with --task classify")
        if not self.is_forecast and self.known:
            raise ValueError(f"--known is for forecasts, and is {listed(self.known)} with --task classify")
        if self.target in self.known:
            raise ValueError(f"--known names what is known in advance, and {self.target!r} is what to forecast")
        self.split = split or ("group" if not self.is_forecast and self.group is not None else "time")
        if self.split not in ("time", "group"):
            raise ValueError(f"--split must be 'time' or 'group' for a table, and is {split!r}")
        if self.split == "group" and self.group is None:
            raise ValueError("--split group needs --group")

    def check(self, argument, name):
        if name not in self.columns:
            raise ValueError(f"--{argument} must be one of the columns {listed(self.columns)}, and is {name!r}")

    def choose_columns(self, columns):
        """Decides which columns are features; those that nobody named may turn out to be clocks."""
        special = {self.target, self.time, self.group, *self.known}
        names = dict.fromkeys(self.columns if columns is None else columns)
        # A dict, as it keeps the order, and there may be many.
        self.features = dict.fromkeys(name for name in names if name not in special)
        self.unasked = set(self.features) if columns is None else set()
        for name in self.columns:
            if name not in names and name not in special:
                self.roles[name] = "left out: --columns does not name it"
        for name in [name for name in self.unasked if NAMELESS.fullmatch(name)]:
            self.leave_out(
                name,
                "it has no name of its own (an index?); --columns would include it"
                if name
                else "it has no name (an index?); --time '' takes it for the time",
            )

    @property
    def is_forecast(self):
        return self.task == "forecast"

    def leave_out(self, name, why):
        del self.features[name]
        self.roles[name] = f"left out: {why}"

    # Rows.

    def series(self):
        """Returns the rows of each series, in order."""
        count = len(self.columns[self.target])
        order = np.arange(count) if self.times is None else np.argsort(self.times, kind="stable")
        if self.group is None:
            self.check_times(order, "names the series that they belong to, if there are several")
            return {None: order}
        names, of_row = np.unique(self.columns[self.group].labels("series"), return_inverse=True)
        ends = np.cumsum(np.bincount(of_row))[:-1]
        series = dict(zip(names.tolist(), np.split(order[np.argsort(of_row[order], kind="stable")], ends), strict=True))
        for name, rows in series.items():
            self.check_times(rows, f"has both in {listed([name])}")
        return series

    def check_times(self, rows, hint):
        """Raises an error if two rows of one series have the same time."""
        if self.times is None:
            return
        same = np.flatnonzero(np.diff(self.times[rows]) == 0)
        if len(same):
            first, second = sorted(rows[same[0] : same[0] + 2])
            column = self.columns[self.time]
            raise ValueError(
                f"column {self.time!r} has the same time, {column.text(first)}, in {column.row(first)} and "
                f"{column.row(second)}: --group {hint}"
            )

    def numbers(self, name):
        """Returns a column in float64, NaN where a value is missing."""
        hint = "name the columns to read with --columns, or turn it into numbers"
        if name == self.target:
            hint = "forecasts need a number in every row; --task classify would take what is written as names"
        column = self.columns[name]
        return column.numbers(hint) if self.missing == "refuse" else column.numbers_and_gaps(hint)

    def goals(self):
        """Returns what is to be predicted in each row, and which rows have it."""
        if self.is_forecast:
            target = self.numbers(self.target)
            return target, ~np.isnan(target)
        column = self.columns[self.target]
        if self.missing == "refuse":
            return column.labels("class"), np.ones(len(column), bool)
        present = ~column.missing()
        labels = column.without_missing().labels("class")
        target = np.zeros(len(column), labels.dtype)
        target[present] = labels
        return target, present

    def leave_out_dates(self, series):
        """Leaves out columns of dates that are not --time, unless they show that the rows are in disorder."""
        dates = {name: self.columns[name].dates() for name in self.features if name in self.unasked}
        for name, column in dates.items():
            if column is None:
                continue
            if self.time is None:
                places = np.full(len(self.columns[name]), -1)
                places[column.rows] = column.moments().places
                for rows in series.values():
                    rows = rows[places[rows] >= 0]
                    back = np.flatnonzero(np.diff(places[rows]) < 0)
                    if len(back):
                        row = np.searchsorted(column.rows, rows[back[0] + 1])
                        raise column.error(
                            f"holds dates that do not ascend, such as {column.at(row)}",
                            f"--time {name} orders the rows by them; --columns without it keeps the order of the file",
                        )
            self.leave_out(name, f"it holds dates, as a clock does; --time {name} would order the rows by it")

    def leave_out_counters(self, numbers, series):
        """Leaves out columns that count up evenly, as a clock or an index does."""
        for name in [name for name in self.features if name in self.unasked]:
            known = [np.flatnonzero(~np.isnan(numbers[name][rows])) for rows in series.values()]
            each = zip(series.values(), known, strict=True)
            steps = np.concatenate([np.diff(numbers[name][rows[at]]) / np.diff(at) for rows, at in each])
            if len(steps) > 1 and steps[0] > 0 and np.allclose(steps, steps[0], rtol=1e-6, atol=0):
                self.leave_out(name, "it counts up evenly, as a clock does; --columns would include it")

    def arranged(self, series, numbers, present):
        """Returns the `Rows` of the table, once it is known what to do with those that are missing."""
        self.frequency = None if self.moments is None else self.frequency_of(list(series.values()))
        ticks = None if self.frequency is None else self.frequency.ticks
        if self.missing == "drop":
            whole = present & ~np.isnan(list(numbers.values())).any(axis=0)
            series = {name: rows[whole[rows]] for name, rows in series.items()}
        self.gaps = []
        if ticks is not None:
            self.gaps = [(rows[row], count) for rows in series.values() for row, count in steps_between(ticks[rows])]
        if self.gaps:
            self.columns[self.time].check_no_dates()
        if self.gaps and self.missing == "refuse":
            self.refuse_gaps()
        if self.gaps and self.missing != "drop":
            if sum(count for _, count in self.gaps) > len(self.moments.places):
                raise ValueError(f"{self.about_gaps()}, more than there are rows: check the times")
            return on_the_grid(series, ticks)
        places = np.concatenate(list(series.values()))
        if not len(places):
            raise TooFew("has no row without an empty cell: give --missing interpolate or mask, or fewer --columns")
        if ticks is None:
            ticks = np.zeros(len(self.columns[self.target]), "int64")
            for rows in series.values():
                ticks[rows] = np.arange(len(rows))
        owners = np.repeat(np.arange(len(series)), [len(rows) for rows in series.values()])
        return Rows(places, owners, ticks[places])

    def frequency_of(self, series):
        return frequency_of(self.moments, series)

    def about_gaps(self):
        """Returns how many rows are missing, and after which one, as a message says it."""
        (row, count), column = self.gaps[0], self.columns[self.time]
        more = f", and has {counted(len(self.gaps) - 1, 'more gap')}" if len(self.gaps) > 1 else ""
        return (
            f"column {self.time!r} is {self.frequency.name}, and lacks {counted(count, 'row')} after "
            f"{column.at(row)}{more}"
        )

    def refuse_gaps(self):
        raise ValueError(
            f"{self.about_gaps()}: --missing interpolate fills them, mask shows the models that they are missing, and "
            "drop takes the rows as if they followed each other"
        )

    def dates(self, rows):
        """Returns when each row is, also those that are missing, or `None`."""
        if self.moments is None or self.moments.dates is None:
            return None
        dates, missing = self.moments.dates[rows.places], rows.places < 0
        if missing.any():
            # The first row of a series is never missing.
            before = np.maximum.accumulate(np.where(missing, 0, np.arange(len(rows))))[missing]
            dates[missing] = self.frequency.later(dates[before], rows.ticks[missing] - rows.ticks[before])
        return dates

    # Sequences.

    def data(self, folds=1):
        """Returns the `Data`; with more than one fold, those of earlier cuts are in its `earlier`."""
        if folds > 1:
            if not self.is_forecast or self.split != "time":
                raise ValueError(f"--folds is for forecasts that are divided by time, and is {folds}")
            if folds > MOST_FOLDS:
                raise ValueError(f"--folds must be {MOST_FOLDS} at most, and is {folds}: the first one has to train")
        found = self.cut(1.0)
        found.earlier = [self.cut(1 - SHARES[2] * k) for k in range(folds - 1, 0, -1)]
        found.origins = found.earlier[::-1]
        if not found.origins and self.is_forecast and self.split == "time":
            found.origins = self.origins() if len(found.x["validation"]) <= MANY_WINDOWS else []
        return found

    def origins(self):
        """Returns the `Data` of as many earlier cuts as the rows suffice for, the latest first."""
        found = []
        for k in range(1, MOST_FOLDS):
            try:
                found.append(self.cut(1 - SHARES[2] * k))
            except ValueError:  # What came before has too few windows, or does not vary.
                break
        return found

    def cut(self, until):
        """Returns the `Data` of the windows up to a share of all, whose last rows are for testing."""
        self.notes, self.until = [], until
        target, present = self.goals()
        series = self.series()
        self.leave_out_dates(series)
        numbers = {name: self.numbers(name) for name in (*self.features, *self.known)}
        numbers |= {self.target: target} if self.is_forecast else {}
        self.leave_out_counters(numbers, series)
        observed = [*self.features, *([self.target] if self.is_forecast else [])]
        if not observed:
            left_out = [name for name, role in self.roles.items() if role.startswith("left out")]
            raise ValueError(
                f"has no column to learn from beside {listed([n for n in (self.target, self.time, self.group) if n])}"
                + (f": {listed(left_out)} are left out, and --columns would include them" if left_out else "")
            )
        numbers = {name: numbers[name] for name in (*observed, *self.known)}
        for name, column in numbers.items():
            if np.isnan(column).all():
                raise ValueError(f"column {name!r} has no number in any row: leave it out by --columns")
        self.tell_roles(numbers, observed, series)
        card = {
            "columns": observed,
            "target": self.target,
            "time": self.time,
            "group": self.group,
            "task": self.task,
            "split": self.split,
            "missing": self.missing,
            "decimal": self.decimal,
            "notes": self.notes,
        }
        whole = not self.is_forecast and self.group is not None and self.steps is None
        make = self.whole_groups if whole else self.windows
        rows = None
        try:
            rows = self.arranged(series, numbers, present)
            values = {name: rows.take(column) for name, column in numbers.items()}
            return make(values, target, present, rows, list(series), card)
        except TooFew as error:
            raise ValueError(f"{error}. {self.way_out(rows)}{self.about_missing(numbers)}") from None

    def way_out(self, rows):
        """Returns what to do where windows are too few, as a message says it."""
        longest = 0 if rows is None else np.bincount(rows.owners).max()
        ahead = self.horizon if self.is_forecast else 0
        fewer = longest - rows_of_parts(ahead)
        if fewer >= 1:
            return f"--steps {fewer} or fewer would do"
        horizon = (longest + 1) // 3 - FEWEST
        if ahead > 1 and horizon >= 1:
            return f"--horizon {horizon} with --steps 1 would do, or more rows"
        return "Give more rows, or fewer --steps"

    def about_missing(self, numbers):
        """Returns which column has the most empty cells, as a message says it."""
        count, name = max((int(np.isnan(column).sum()), name) for name, column in numbers.items())
        rows = len(self.columns[self.target])
        return f". Column {name!r} has no number in {count:,} of {rows:,} rows" if count else ""

    def whole_groups(self, values, target, present, rows, names, card):
        lengths = np.bincount(rows.owners, minlength=len(names))
        if len(set(lengths)) > 1:
            short, long = lengths.argmin(), lengths.argmax()
            raise ValueError(
                f"the series of {self.group!r} must be equally long, and have from {lengths[short]} "
                f"({listed([names[short]])}) to {lengths[long]} rows ({listed([names[long]])}): --steps cuts them into "
                "windows"
            )
        if self.split == "time":
            raise ValueError("--split time needs --steps: whole series are divided by group")
        shape = (len(names), lengths[0])
        places = rows.places.reshape(shape)
        if not present.all() or (places < 0).any():
            y = self.one_class_each(target, present, places, names)
        else:
            y = target[places]
            y = y[:, 0] if (y == y[:, :1]).all() else y
        parts = split_rows(len(names), "random", self.seed)
        if self.missing == "interpolate":
            values = {name: self.interpolated(column, rows, edges=True) for name, column in values.items()}
        trained = np.isin(rows.owners, parts["train"])
        features = self.features_of(values, rows, trained)
        x = features.matrix(values, rows.owners, {}, 0).reshape(*shape, -1)
        card |= {"columns": features.names, "reads": dataclasses.asdict(features)}
        data = prepare({part: (x[chosen], y[chosen]) for part, chosen in parts.items()}, "series", card)
        data.card["read"] = self.read({part: f"{len(chosen):,} series" for part, chosen in parts.items()})
        return data

    def one_class_each(self, target, present, rows, names):
        """Returns the class of each series, some of whose rows have none."""
        y = []
        for name, of_series in zip(names, rows, strict=True):
            of_series = of_series[of_series >= 0]
            found = np.unique(target[of_series[present[of_series]]])
            if len(found) != 1:
                raise ValueError(
                    f"column {self.target!r} has rows without a class, so each series of {self.group!r} must have one "
                    f"class, and {listed([name])} has {len(found)}: --steps cuts series into windows"
                )
            y.append(found[0])
        return np.array(y)

    def windows(self, values, target, present, rows, names, card):
        ahead = self.horizon if self.is_forecast else 0
        steps = self.steps or self.usual_steps(rows, ahead)
        # The goals, from the end of a window: all rows of a horizon, or the last row itself.
        first, last = (1, ahead) if ahead else (0, 0)
        begins = self.begins(rows, len(names), steps, ahead)
        lacking = np.concatenate([[0], np.cumsum((rows.places < 0) | ~present[rows.places])])
        usable = lacking[begins + steps - 1 + first] == lacking[begins + steps + last]
        if self.missing == "interpolate":
            values, without_gaps, may_end = self.without_gaps(values, rows)
            count = np.concatenate([[0], np.cumsum(without_gaps)])
            usable &= may_end[begins + steps - 1] & (count[begins + steps] - count[begins] == steps)
        if not usable.all():
            self.notes.append(
                f"left out: {int((~usable).sum()):,} of {len(begins):,} windows, whose target"
                + (", or last row, is missing" if self.missing == "interpolate" else " is missing")
            )
        begins = begins[usable]
        ends = begins + steps - 1
        parts = (
            split_rows(len(ends), "group", self.seed, rows.owners[ends])
            if self.split == "group"
            else self.by_time(rows, ends + first, ends + last)
        )
        check_sizes({part: len(chosen) for part, chosen in parts.items()})
        between = len(ends) - sum(map(len, parts.values()))
        if between and self.until == 1:
            self.notes.append(f"left out: {between:,} windows whose {ahead} rows to forecast are of two parts")
        begins, ends = ({part: each[chosen] for part, chosen in parts.items()} for each in (begins, ends))
        of_part = {part: covered(each, steps, len(rows)) for part, each in begins.items()}
        features = self.features_of(values, rows, of_part["train"])
        of_calendar, told_calendar = self.calendar_of(rows, of_part["train"])
        features.cycles = list(of_calendar)
        goals, origin = target[rows.places], None
        if self.is_forecast:
            trained = covered(begins["train"], steps + ahead, len(rows))
            if self.is_differenced(values[self.target], rows, trained):
                features.differenced = self.target
                origin = features.last(values, self.target, rows.owners)
                if self.differences == "auto" and Targets(goals, ends["train"], ahead, origin).is_constant():
                    features.differenced, origin = None, None
                    self.notes.append(
                        f"{self.target!r} changes by the same number from each row to the next: drift goes on like "
                        "that, and models, which learn its levels, hardly do"
                    )
        if features.known and steps < ahead:
            raise ValueError(
                f"--steps must be --horizon at least, {ahead}, and is {steps}: in each row of a window, models see "
                f"what --known says of the row {ahead} later ({listed(features.known)})"
            )
        matrix = features.matrix(values, rows.owners, of_calendar, ahead)
        card |= {
            "columns": features.names,
            "known": features.advance,
            "horizon": ahead,
            "frequency": None if self.frequency is None else self.frequency.card(),
            "reads": dataclasses.asdict(features),
        }
        check_scales({part: matrix[read] for part, read in of_part.items()}, features.names, "x")
        matrix = matrix.astype("float32")

        def sequences(matrix, count):
            parts = {
                part: (
                    Windows(matrix, begins[part], steps),
                    Targets(goals, each, count, origin) if self.is_forecast else goals[each],
                )
                for part, each in ends.items()
            }
            return prepare(parts, "series", card)

        data = sequences(matrix, ahead)
        if self.is_forecast:
            data.series = Series(
                values[self.target],
                rows.owners,
                rows.ticks,
                ends,
                ahead,
                trained,
                season=self.season(values[self.target], rows, trained),
                known=features.in_advance(values, rows.owners, of_calendar),
                origin=origin,
                times=self.when(rows),
                names=names,
            )
            steps_vary = not Targets(goals, ends["train"], 1, origin).is_constant()
            if features.rolls(self.static) and ahead > 1 and steps_vary:
                next_row = features.matrix(values, rows.owners, of_calendar, 1).astype("float32")
                data.one_step = sequences(next_row, 1)
        said = {part: self.about_part(rows, each + first, each + last) for part, each in ends.items()}
        data.card["read"] = self.read(said, data.series, told_calendar)
        return data

    def is_differenced(self, values, rows, trained):
        """Returns whether changes are forecast: most series have left the levels that they had.

        That is, in the last rows to train on, the median is none that 95 % of the rows before had: a model that has
        learned levels would soon read, and have to forecast, those that it has never seen.
        """
        if self.differences != "auto":
            return self.differences == "yes"
        left = []
        for owner in np.unique(rows.owners[trained]):
            chosen = rows.of(owner)
            of_series = values[chosen[trained[chosen]]]
            of_series = of_series[~np.isnan(of_series)]
            before, late = np.split(of_series, [round((1 - LATE) * len(of_series))])
            if len(before) and len(late):
                low, high = np.quantile(before, [(1 - USUAL) / 2, (1 + USUAL) / 2])
                left.append(not low <= np.median(late) <= high)
        return 2 * sum(left) > len(left)

    def when(self, rows):
        """Returns when each row is, as dates or numbers, or `None` where that is not told."""
        if self.moments is None or self.moments.dates is not None:
            return self.dates(rows)
        column = self.columns[self.time]
        numbers = np.array([float(column.plain(word)) for word in column.words])[column.codes]
        return numbers[rows.places] if (rows.places >= 0).all() else None

    def usual_steps(self, rows, ahead):
        """Returns the length of windows: fewer rows than usual where these would leave a part too few windows."""
        usual, spare = max(ROWS, ahead), int(np.bincount(rows.owners).max()) - rows_of_parts(ahead)
        if ahead and self.split == "time" and not rows.owners.any() and 2 * SHORTEST <= spare < 2 * usual:
            # As many to read as windows to learn from.
            steps = max(SHORTEST, min(usual, spare // 2), ahead if self.known else 0)
            if steps < usual:
                self.notes.append(f"windows have {steps} rows, not {usual}, as the series is short; --steps decides")
            return steps
        return usual

    def begins(self, rows, count, steps, ahead):
        """Returns the first row of each window of `count` series."""
        lengths = np.bincount(rows.owners, minlength=count)
        if lengths.max() < steps + ahead:
            raise TooFew(
                f"is too short: its longest series has {lengths.max()} rows, and a window takes {steps} and {ahead} to "
                "look ahead"
            )
        short = int((lengths < steps + ahead).sum())
        if short:
            self.notes.append(
                f"left out: {short:,} of {count:,} series, which are shorter than a window of {steps} rows and "
                f"{ahead} to look ahead"
            )
        before_end = np.cumsum(lengths)[rows.owners] - np.arange(len(rows))
        return np.flatnonzero(before_end >= steps + ahead)

    def features_of(self, values, rows, trained):
        taken = self.columns if self.missing == "mask" else None
        return Features.of(values, self.known, trained, taken, self.static)

    def calendar_of(self, rows, trained):
        """Returns the cycles of the calendar by name, for each row, and what is said of them."""
        of_calendar, too_long, dates = {}, [], self.dates(rows) if self.calendar else None
        if dates is not None:
            span = (dates[trained].max() - dates[trained].min()).astype(float)
            of_calendar, too_long = cycles(dates, self.frequency.seconds, span)
        of_calendar = {distinct(name, self.columns): column for name, column in of_calendar.items()}
        return of_calendar, self.told_calendar(of_calendar, too_long)

    def without_gaps(self, values, rows):
        """Returns the columns interpolated, which rows have all values then, and in which ones windows may end.

        They may not end in a gap: what fills it is computed from the next value, too.
        """
        observed = [name for name in values if name not in self.known]
        may_end = ~np.isnan([values[name] for name in observed]).any(axis=0)
        values = {name: self.interpolated(column, rows, name in self.known) for name, column in values.items()}
        return values, ~np.isnan([values[name] for name in observed]).any(axis=0), may_end

    def interpolated(self, column, rows, edges):
        """Returns a column with lines through its gaps, inside of series, or, with `edges`, also before and after."""
        column, times = column.copy(), rows.ticks
        if self.moments is not None and self.frequency.ticks is None:
            times = self.moments.values[rows.places]
        for owner in np.unique(rows.owners[np.isnan(column)]):
            chosen = rows.of(owner)
            known = chosen[~np.isnan(column[chosen])]
            outside = None if edges else np.nan
            if len(known):
                column[chosen] = np.interp(times[chosen], times[known], column[known], outside, outside)
        return column

    def by_time(self, rows, first, last):
        """Returns the windows of each part: what is to be predicted in a later part is later than all before.

        A window whose horizon reaches from one part into the next one is in neither.

        Args:
            rows: The `Rows`.
            first, last: Arrays [windows], the first and the last row to predict from each.
        """
        begin, end = (rows.ticks[of] if self.times is None else self.times[rows.places[of]] for of in (first, last))
        if not len(end):
            return dict.fromkeys(PARTS, np.zeros(0, int))
        three = np.quantile(end, self.until)
        two = latest_cut(begin[end <= three], np.quantile(end, self.until - SHARES[2]))
        one = latest_cut(begin[end <= two], np.quantile(end, self.until - SHARES[1] - SHARES[2]))
        masks = (end <= one, (begin > one) & (end <= two), (begin > two) & (end <= three))
        return {part: np.flatnonzero(mask) for part, mask in zip(PARTS, masks, strict=True)}

    def season(self, values, rows, trained):
        """Returns after how many ticks the rows to train on repeat themselves, or `None`."""
        pieces = []
        for owner in np.unique(rows.owners[trained]):
            chosen = rows.of(owner)
            chosen = chosen[trained[chosen]]
            places = rows.ticks[chosen] - rows.ticks[chosen[0]]
            piece = np.full(places[-1] + 1, np.nan)
            piece[places] = values[chosen]
            pieces.append(piece)
        return season_of(pieces, [] if self.frequency is None else self.frequency.seasons())

    # What was read.

    def tell_roles(self, numbers, observed, series):
        """Notes the role of each column."""
        roles = {self.target: "target, whose past is read" if self.is_forecast else "target"}
        roles |= {self.time: "time", self.group: "name of the series"}
        order = np.concatenate(list(series.values()))
        ends = np.cumsum([len(rows) for rows in series.values()])[:-1]
        for name in [*observed, *self.known]:
            role = roles.get(name) or ("known in advance" if name in self.known else "feature")
            column = numbers[name]
            if not np.delete(np.diff(column[order]), ends - 1).any():
                role += ", constant" if len(np.unique(column)) == 1 else ", constant in each series"
                self.static.add(name)
            count = int(np.isnan(column).sum())
            roles[name] = role + (f", {counted(count, 'missing value')} {DONE[self.missing]}" if count else "")
        self.roles |= {name: role for name, role in roles.items() if name is not None}

    def about_part(self, rows, first, last):
        """Returns how many windows a part has, and which times they predict."""
        count, chosen = f"{len(first):,} windows", rows.places[np.concatenate([first, last])]
        if self.times is None:
            if self.group is not None:
                return f"{count} of {len(np.unique(rows.owners[first])):,} series"
            return f"{count}, to predict rows {chosen.min() + 1:,} to {chosen.max() + 1:,}"
        text, times = self.columns[self.time].text, self.times[chosen]
        return f"{count}, to predict {text(chosen[times.argmin()])} to {text(chosen[times.argmax()])}"

    def read(self, parts, series=None, of_calendar=None):
        """Returns what was read, in words."""
        count = len(self.columns[self.target])
        of_series = f" in {len(self.columns[self.group].words):,} series" if self.group is not None else ""
        found = {"rows": f"{count:,}{of_series}", "columns": {name: self.roles[name] for name in self.columns}}
        if self.moments is None:
            found["times"] = "none: the rows are taken to be in order, and equally far apart"
        else:
            text, places = self.columns[self.time].text, self.times
            found["times"] = (
                f"{self.frequency.name}, {text(places.argmin())} to {text(places.argmax())}, {self.told_gaps()}"
            )
        if of_calendar is not None:
            found["calendar"] = of_calendar
        found["task"] = (
            f"{self.task}, because of {self.why}" if self.why.startswith("--") else f"{self.task}: {self.why}"
        )
        if series is not None:
            found["horizon"] = "the next row" if series.horizon == 1 else f"the next {series.horizon:,} rows"
            found["season"] = f"{series.season} rows" if series.season else "none found"
            found["models read and forecast"] = self.told_differences(series.origin is not None)
        return found | parts

    def told_gaps(self):
        if self.frequency.ticks is None:
            return "gaps cannot be told"
        if not self.gaps:
            return "no gaps"
        count = sum(count for _, count in self.gaps)
        done = "closed up" if self.missing == "drop" else DONE[self.missing]
        after = self.columns[self.time].text(self.gaps[0][0])
        return f"{counted(count, 'row')} missing in {counted(len(self.gaps), 'gap')}, the first after {after}: {done}"

    def told_differences(self, is_differenced):
        what = "changes of the target" if is_differenced else "the target as it is"
        if self.differences != "auto":
            return f"{what}, because of --differences {self.differences}"
        return f"{what}: it has left the levels that it had; --differences no takes them" if is_differenced else what

    def told_calendar(self, of_calendar, too_long):
        if not self.calendar:
            return "none: --no-calendar"
        if self.moments is None:
            return "none: --time names no column"
        if self.moments.dates is None:
            return "none: times are numbers; write dates to have it"
        left_out = f"not the {listed(too_long)}: the rows to train on do not cover one" if too_long else ""
        read = listed(dict.fromkeys(name.rpartition(" (")[0] for name in of_calendar))
        return "; ".join(filter(None, [read, left_out])) or "none at this frequency"


def latest_cut(begins, cut):
    """Returns a cut of time, or an earlier one, such that enough windows have all their goals after it.

    Args:
        begins: Array, the time of the first goal of each window up to the next cut.
        cut: The time.
    """
    return min(cut, np.sort(begins)[-FEWEST] - 1) if len(begins) >= FEWEST else cut


def changes(column, owners):
    """Returns the change of each row since the one before it in its series; that of the first one is zero."""
    found = np.diff(column, prepend=column[:1])
    found[np.flatnonzero(np.diff(owners, prepend=owners[0]))] = 0
    return found


def rolled(predict, x, later, column, is_change):
    """Returns forecasts `[windows, horizon]` of a model of the next row, which reads its own forecasts.

    Args:
        predict: Function of windows `[windows, steps, features]` that returns the next numbers, `[windows]`.
        x: The windows.
        later: The rows after them, `[windows, horizon - 1, features]`, of which a column is unknown.
        column: Which one.
        is_change: Whether the numbers are changes since the row before.
    """
    found = [predict(x)]
    for k in range(later.shape[1]):
        row = later[:, k].copy()
        row[:, column] = found[-1]
        x = np.concatenate([x[:, 1:], row[:, None]], axis=1)
        found.append(predict(x))
    found = np.stack(found, axis=1)
    return np.cumsum(found, axis=1) if is_change else found


def rows_of_parts(ahead):
    """Returns how many rows the parts of a series take at least, beside those that the first window reads."""
    return len(PARTS) * (FEWEST + max(0, ahead - 1))


def counted(count, what):
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def distinct(name, names):
    """Returns a name that is not among others."""
    while name in names:
        name += "_"
    return name


def covered(begins, length, count):
    """Returns which of `count` rows lie in a window."""
    changes = np.zeros(count + 1, int)
    np.add.at(changes, begins, 1)
    np.add.at(changes, begins + length, -1)
    return np.cumsum(changes[:-1]) > 0


def on_the_grid(series, ticks):
    """Returns the `Rows` of series, with those that are missing between their ticks."""
    pieces = []
    for owner, of_series in enumerate(series.values()):
        grid = np.arange(ticks[of_series[0]], ticks[of_series[-1]] + 1)
        places = np.full(len(grid), -1)
        places[ticks[of_series] - grid[0]] = of_series
        pieces.append((places, np.full(len(grid), owner), grid))
    return Rows(*(np.concatenate(each) for each in zip(*pieces, strict=True)))
