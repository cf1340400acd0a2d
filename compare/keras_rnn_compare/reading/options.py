"""Options for reading a file."""

import dataclasses
from collections.abc import Sequence

from keras_rnn_compare import arguments


@dataclasses.dataclass(frozen=True)
class ReadOptions:
    """How a file is read.

    Args:
        target: Name of the column to predict.
        time: Name of the column that orders the rows; `None` means that they are in order.
        group: Name of the column that says which series a row belongs to; `None` means that there is one series.
        task: `"forecast"` or `"classify"`; `None` means to forecast numbers and to classify words.
        columns: Names of the columns to read; `None` means all.
        steps: Length of a sequence; `None` means 100 characters, 32 rows, or, to classify groups, the whole group.
        horizon: How many rows to forecast, those after a window.
        split, seed: As in `keras_rnn_compare.compare`.
        decimal: What precedes the decimals of a number in a table: `"."` or `","`.
        missing: What to do with empty cells and gaps in time: `"refuse"`; `"interpolate"`, by a line between the values
            before and after; `"drop"`, which takes the other rows as if they followed each other; or `"mask"`, which
            repeats the last value and adds a feature that says where.
        calendar: Whether the hour, the weekday and the day of the year are features, where `time` holds dates.
        known: Names of the columns that are known in advance, for all of the horizon.
        differences: Whether models read and forecast the target as changes: `"yes"`, `"no"`, or `"auto"`, where it has
            left the levels that it had.
        folds: Number of cuts between training, validation and test, of which the last one is the usual one.
    """

    target: str | None = None
    time: str | None = None
    group: str | None = None
    task: str | None = None
    columns: Sequence[str] | None = None
    steps: int | None = None
    horizon: int = 1
    split: str | None = None
    seed: int = 0
    decimal: str = "."
    missing: str = "refuse"
    calendar: bool = True
    known: Sequence[str] | None = None
    differences: str = "auto"
    folds: int = 1

    def __post_init__(self):
        arguments.integer("steps", self.steps, optional=True)
        arguments.integer("horizon", self.horizon)
        arguments.integer("folds", self.folds)
        arguments.integer("seed", self.seed, minimum=0)
        arguments.boolean("calendar", self.calendar)
        for name in ("target", "time", "group"):
            column = getattr(self, name)
            if column is not None and not isinstance(column, str):
                raise TypeError(
                    f"Argument `{name}` must be a string, the name of a column, or None. Received: {name}={column!r}"
                )
        for name in ("columns", "known"):
            names = getattr(self, name)
            if names is not None and not isinstance(names, (list, tuple)):
                raise TypeError(f"Argument `{name}` must be a list of columns, or None. Received: {name}={names!r}")

    def of_tables(self):
        """Returns the options of the command that are for tables alone, of those that differ from their defaults."""
        names = {"target": "target", "time": "time", "group": "group", "task": "task", "columns": "columns"}
        names |= {"known": "known", "horizon": "horizon", "decimal": "decimal", "missing": "missing"}
        names |= {"calendar": "no-calendar", "differences": "differences", "folds": "folds"}
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        return [option for name, option in names.items() if getattr(self, name) != defaults[name]]
