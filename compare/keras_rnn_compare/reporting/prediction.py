"""Predictions of the best model on new data: forecasts with intervals, or classes."""

import decimal
import os
import pathlib

import numpy as np

from keras_rnn_compare.reading.calendar import cycles, frequency_again
from keras_rnn_compare.reading.dates import written_like
from keras_rnn_compare.reading.files import TABLES, read_npz
from keras_rnn_compare.reading.options import ReadOptions
from keras_rnn_compare.reading.series import Features, Rows, Table, counted, rolled
from keras_rnn_compare.reading.tables import Column, is_frame, listed
from keras_rnn_compare.scoring.intervals import ascending, center, interval


def predictions(model, card, path, decimal=".", quantiles=None):
    """Returns a dict for each prediction, from a file like the one that was compared on.

    Args:
        model: The best model.
        quantiles: The model of the ends of intervals, or `None` for intervals about the forecast.
        card: Dict of what is known of the data, that of `best.json`.
        path: Path of the file, or a DataFrame of pandas or polars.
        decimal: What precedes the decimals of a number in a table: `"."` or `","`.

    Raises:
        ValueError: The file cannot be read, or lacks what the model reads.
        TypeError: `path` is neither a path nor a DataFrame.
    """
    if card["kind"] == "text":
        raise ValueError(
            "the best model predicts the next character of a text, not rows: best.keras returns its probabilities"
        )
    if is_frame(path):
        if card["kind"] != "series":
            raise ValueError("the model was compared on arrays: give a file .npz with x")
        return NewTable(card, path, decimal).predictions(model, quantiles)
    if not isinstance(path, (str, os.PathLike)):
        raise TypeError(
            "Argument `path` must be the path of a file, or a DataFrame of pandas or polars; "
            f"`best_model().predict` takes arrays. Received: an object of type {type(path).__name__}"
        )
    path = pathlib.Path(path)
    if not path.is_file():
        raise ValueError(f"there is no file {path}")
    suffixes = TABLES if card["kind"] == "series" else (".npz",)
    if path.suffix.lower() not in suffixes:
        raise ValueError(f"{path} must be of the kind that was compared on: {', '.join(suffixes)}")
    try:
        if card["kind"] == "arrays":
            return of_arrays(model, card, path)
        return NewTable(card, path, decimal).predictions(model, quantiles)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def of_arrays(model, card, path):
    x, features = read_npz(path, ("x",))["x"], tuple(card["features"])
    form = "[samples, steps" + "".join(f", {size}" for size in features) + "]"
    if x.ndim != 2 + len(features) or x.shape[2:] != features:
        raise ValueError(f"the array x must be {form}, and is of shape {x.shape}")
    if x.dtype.kind not in ("fiub" if features else "iu") or not np.isfinite(x).all():
        raise ValueError(f"the array x must hold {'finite numbers' if features else 'integers'} only")
    if not features and x.size and not 0 <= x.min() <= x.max() < card["vocabulary"]:
        raise ValueError(f"the array x must hold tokens from 0 to {card['vocabulary'] - 1:,}")
    if not len(x):
        raise ValueError(f"the array x must have samples, and is of shape {x.shape}")
    outputs = predicted(model, x.astype("float64" if features else "int32"))
    if outputs.ndim == 2:
        return [{"sample": k, **described(card, each)} for k, each in enumerate(outputs)]
    return [
        {"sample": k, "step": t, **described(card, each)}
        for k, sample in enumerate(outputs)
        for t, each in enumerate(sample)
    ]


def predicted(model, x):
    """Returns the outputs of a model, or raises an error if float32 does not hold what it reads, or returns."""
    with np.errstate(over="ignore"):
        given = x.astype("float32" if x.dtype.kind == "f" else "int32")
    outputs = model.predict(given, verbose=0) if np.isfinite(given).all() else None
    if outputs is None or not np.isfinite(outputs).all():
        raise ValueError(
            f"numbers to read are as large as {np.abs(x).max():.3g}, far beyond those that the model has learned from"
        )
    return outputs


def described(card, outputs):
    """Returns what the outputs of a model say: a class and the probabilities of all, or numbers."""
    if "classes" in card:
        probabilities = {f"probability of {name}": p for name, p in zip(card["classes"], outputs, strict=True)}
        return {card.get("target") or "class": card["classes"][int(outputs.argmax())], **in_float32(probabilities)}
    if len(outputs) > 1:
        return in_float32({f"y[{k}]": value for k, value in enumerate(outputs)})
    return in_float32({card.get("target") or "y": outputs[0]})


def forecast(card, value, ends, row):
    """Returns what is forecast for a row of the horizon, with its intervals."""
    found = {card["target"]: value}
    for level, each in card["intervals"].items():
        found[f"lower {level} %"], found[f"upper {level} %"] = interval(value, ends, level, each["width"][row])
    return in_float32(found)


def in_float32(numbers):
    """Returns numbers with the seven digits that float32 has."""
    return {name: float(f"{value:.7g}") for name, value in numbers.items()}


class NewTable(Table):
    """A table of new rows, in which what is to be predicted need not be there.

    Arguments: As in `predictions`.
    """

    def __init__(self, card, path, decimal):
        self.card, self.reads = card, Features(**card["reads"])
        options = ReadOptions(
            target=card["target"],
            time=card["time"],
            group=card["group"],
            task=card["task"],
            columns=[name for name in self.reads.observed if name != card["target"]],
            steps=card["steps"],
            horizon=card.get("horizon") or 1,
            decimal=decimal,
            missing=card["missing"],
            calendar=bool(self.reads.cycles),
            known=self.reads.known,
        )
        super().__init__(path, options)
        self.ahead = self.horizon if self.is_forecast else 0
        # Whether each series is a sequence, and not cut into windows.
        self.is_whole = "horizon" not in card

    def check(self, argument, name):
        if argument == "target" and name not in self.columns and self.card["task"] == "classify":
            count = len(next(iter(self.columns.values())))
            self.columns[name] = Column(name, [""] * count)
        if name not in self.columns:
            raise ValueError(f"has no column {name!r}, which the model reads; its columns are {listed(self.columns)}")

    def frequency_of(self, series):
        known = self.card.get("frequency")
        if known is None:
            return super().frequency_of(series)
        return frequency_again(**known, moments=self.moments, series=series)

    def predictions(self, model, quantiles):
        series = self.series()
        names = list(series)
        numbers = {name: self.numbers(name) for name in (*self.reads.observed, *self.reads.known)}
        to_come = self.rows_to_come(numbers, series)
        rows = self.arranged(series, {n: np.where(to_come, 0, column) for n, column in numbers.items()}, True)
        last = self.last_rows(rows, to_come, names)
        if self.is_forecast:
            rows, last = self.continued(rows, last)
        ends = last
        if not (self.is_forecast or self.is_whole):
            ends = np.flatnonzero((rows.places >= 0) & (np.arange(len(rows)) - rows.first() >= self.steps - 1))
        windows = ends[:, None] + np.arange(1 - self.steps, 1)
        values = {name: rows.take(column) for name, column in numbers.items()}
        if self.missing == "interpolate":
            inside = set() if self.is_whole else set(self.reads.observed)
            values = {name: self.interpolated(each, rows, name not in inside) for name, each in values.items()}
        self.check_values(rows, values, windows)
        dates = self.dates(rows) if self.has_rule or (rows.places >= 0).all() else None
        of_calendar = self.calendar_of_new(dates)
        if self.is_forecast:
            given = (values, rows.owners, of_calendar, windows)
            outputs = self.forecasts(model, *given)
            of_quantiles = center(outputs) if quantiles is None else ascending(self.at_once(quantiles, *given))
            return [
                {**self.place(rows, end, names, last, dates, k + 1), **forecast(self.card, *of_row, k)}
                for end, *of_series in zip(ends, outputs, of_quantiles, strict=True)
                for k, of_row in enumerate(zip(*of_series, strict=True))
            ]
        x = self.reads.matrix(values, rows.owners, of_calendar, 0)[windows]
        outputs = predicted(model, x)
        if outputs.ndim == 3:
            ends, outputs = windows.ravel(), outputs.reshape(-1, outputs.shape[-1])
        by_series = self.is_whole and len(outputs) == len(names)
        return [
            {**self.place(rows, end, names, last, dates, by_series=by_series), **described(self.card, each)}
            for end, each in zip(ends, outputs, strict=True)
        ]

    def forecasts(self, model, values, owners, of_calendar, windows):
        """Returns the forecasts from windows, `[windows, horizon]`."""
        if self.card["strategy"] == "direct":
            return self.at_once(model, values, owners, of_calendar, windows)
        matrix = self.reads.matrix(values, owners, of_calendar, 1).astype("float32")
        later = matrix[windows[:, -1:] + np.arange(1, self.ahead)]
        column, is_change = self.reads.names.index(self.target), self.reads.differenced is not None

        def predict(x):
            return predicted(model, x)[:, 0]

        outputs = rolled(predict, matrix[windows], later, column, is_change)
        return self.from_changes(outputs, values, owners, windows)

    def at_once(self, model, values, owners, of_calendar, windows):
        """Returns what a model predicts for whole horizons, `[windows, horizon, ...]`."""
        x = self.reads.matrix(values, owners, of_calendar, self.ahead)[windows]
        return self.from_changes(predicted(model, x), values, owners, windows)

    def from_changes(self, outputs, values, owners, windows):
        """Returns levels, if outputs are changes since the last row of each window, else the outputs."""
        if self.reads.differenced is None:
            return outputs
        last = self.reads.last(values, self.target, owners)[windows[:, -1]]
        return outputs + last.reshape(-1, *[1] * (outputs.ndim - 1))

    @property
    def has_rule(self):
        """Whether the times of rows to come follow from those that are there."""
        return self.frequency is not None and self.frequency.ticks is not None

    def numbers(self, name):
        hint = "turn it into numbers, as it was in the file that the model has learned from"
        # Rows to come are empty, and those that no window reaches are not read.
        return self.columns[name].numbers_and_gaps(hint)

    def rows_to_come(self, numbers, series):
        """Returns which rows are later than the last one with a target."""
        to_come = np.zeros(len(self.columns[self.target]), bool)
        for name, rows in series.items() if self.is_forecast else ():
            known = np.flatnonzero(~np.isnan(numbers[self.target][rows]))
            if not len(known):
                raise ValueError(f"column {self.target!r} has no number{in_series(name)}, from which to forecast")
            to_come[rows[known[-1] + 1 :]] = True
        return to_come

    def last_rows(self, rows, to_come, names):
        """Returns the last row of each series, before those to come, or raises an error if one is too short."""
        first = np.searchsorted(rows.owners, np.arange(len(names)))
        present = (rows.places >= 0) & ~to_come[rows.places]
        last = np.maximum.reduceat(np.where(present, np.arange(len(rows)), -1), first)
        counts = last - first + 1
        # The change of the first step is that since the row before.
        needed = self.steps + (self.reads.differenced is not None)
        wrong = np.flatnonzero((counts < needed) | (self.is_whole & (counts > needed)))
        if len(wrong):
            raise ValueError(
                f"has {counted(int(counts[wrong[0]]), 'row')}{in_series(names[wrong[0]])}"
                f"{' up to the last one with a target' if self.is_forecast else ''}, and the model reads "
                f"{needed}{'' if self.is_whole else ' at least'}"
            )
        return last

    def continued(self, rows, ends):
        """Returns the rows up to the ones to forecast, which may not be in the file, and the ends among them."""
        pieces, new_ends, count = [], [], 0
        for owner, end in enumerate(ends):
            of_series = rows.of(owner)
            kept = of_series[of_series <= end + self.ahead]
            more = end + self.ahead - kept[-1]
            ticks = np.concatenate([rows.ticks[kept], rows.ticks[kept[-1]] + 1 + np.arange(more)])
            places = np.concatenate([rows.places[kept], np.full(more, -1)])
            pieces.append((places, np.full(len(places), owner), ticks))
            new_ends.append(count + end - of_series[0])
            count += len(places)
        return Rows(*(np.concatenate(each) for each in zip(*pieces, strict=True))), np.array(new_ends)

    def calendar_of_new(self, dates):
        """Returns the features of the calendar, by name."""
        if not self.reads.cycles:
            return {}
        if dates is None:
            raise ValueError(
                f"the times follow no rule: give {counted(self.ahead, 'row')} more, with the times to come"
            )
        found, _ = cycles(dates, self.frequency.seconds, np.inf)
        return {name: found[name.rstrip("_")] for name in self.reads.cycles}

    def check_values(self, rows, values, windows):
        """Raises an error if a window lacks what the model has learned to find in each."""
        for name in self.reads.known:
            goals = windows[:, -1:] + np.arange(1, self.ahead + 1)
            lacking = np.isnan(values[name][goals]) & ((rows.places[goals] < 0) | (self.missing != "mask"))
            if lacking.any():
                first = counted(int(np.argwhere(lacking)[0][1]) + 1, "row")
                raise ValueError(
                    f"column {name!r} is known in advance, and has no value {first} after the last one with a target: "
                    f"add the {counted(self.ahead, 'row')} to come"
                )
        for name in self.reads.observed if self.missing in ("refuse", "interpolate") else ():
            lacking = np.isnan(values[name][windows])
            if lacking.any():
                at = windows[lacking][0]
                where = self.columns[name].row(rows.places[at]) if rows.places[at] >= 0 else "a row that is missing"
                between = "" if self.missing == "refuse" else ", and not on both sides of it, to interpolate"
                raise ValueError(f"column {name!r} has no number in {where}{between}; the model has learned from all")

    def place(self, rows, end, names, last, dates, ahead=0, by_series=False):
        """Returns which series, and which row of it, is predicted from the window that ends in a row."""
        owner, at = rows.owners[end], end + ahead
        found = {} if self.group is None else {self.group: names[owner]}
        if by_series:
            return found
        row = rows.places[at]
        if self.time is None:
            return found | ({"rows ahead": ahead} if self.is_forecast else {"row": int(row) + 1})
        column = self.columns[self.time]
        if self.is_forecast and not self.has_rule:
            return found | {self.time: column.text(row) if row >= 0 else "", "rows ahead": ahead}
        if row >= 0:
            return found | {self.time: column.text(row)}
        text = column.text(rows.places[last[owner]])
        if self.moments.dates is None:
            step = decimal.Decimal(repr(self.frequency.step))
            number = decimal.Decimal(column.plain(text)) + int(at - last[owner]) * step
            return found | {self.time: f"{number.normalize():f}"}
        return found | {self.time: written_like(text, dates[at])}


def in_series(name):
    return "" if name is None else f" in the series {listed([name])}"
