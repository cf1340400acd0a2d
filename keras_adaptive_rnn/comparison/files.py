"""Data in files: a text, a table of series, or arrays."""

import csv
import pathlib
import zipfile

import numpy as np

from keras_adaptive_rnn._command_line import in_utf8
from keras_adaptive_rnn.comparison.data import PARTS, SHARES, divided, from_arrays, prepare

TABLES = (".csv", ".tsv", ".parquet")
# Steps of a sequence, where it is cut from something longer.
CHARACTERS, ROWS = 100, 32
# A character that is rarer in the training part is an unknown one.
RARE = 5


def read(path, target=None, time=None, group=None, task=None, columns=None, steps=None, horizon=1, split=None, seed=0):
    """Returns the `Data` of a file, by its suffix, and whether it is text, table or arrays.

    Args:
        path: Path of a text in UTF-8, a table (`.csv`, `.tsv`, `.parquet`), or `.npz` with `x`, `y` and maybe `groups`.
        target: Name of the column to predict.
        time: Name of the column that orders the rows; `None` means that they are in order.
        group: Name of the column that says which series a row belongs to; `None` means that there is one series.
        task: `"forecast"` or `"classify"`; `None` means to forecast numbers and to classify words.
        columns: Names of the columns to read; `None` means all.
        steps: Length of a sequence; `None` means 100 characters, 32 rows, or, to classify groups, the whole group.
        horizon: How many rows ahead to forecast.
        split, seed: As in `keras_adaptive_rnn.compare`.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder, and should be a file: a text, a table (.csv, .tsv, .parquet) or .npz")
    if not path.exists():
        raise ValueError(f"there is no file {path}")
    kind = path.suffix.lower()
    of_table = {"target": target, "time": time, "group": group, "task": task, "columns": columns}
    if kind not in TABLES:
        given = [name for name, value in of_table.items() if value is not None]
        given += ["horizon"] if horizon != 1 else []
        if given:
            raise ValueError(f"--{given[0]} is for tables ({', '.join(TABLES)}), and {path} is none")
    if kind == ".npz":
        if steps is not None:
            raise ValueError(f"--steps is for texts and tables, and {path} holds sequences already")
        data = read_arrays(path, split, seed)
    elif kind in TABLES:
        data = Table(path, **of_table, steps=steps, horizon=horizon, split=split, seed=seed).data()
    else:
        if split not in (None, "time"):
            raise ValueError(f"--split must be 'time' for a text, and is {split!r}")
        data = read_text(path, steps or CHARACTERS)
    data.card["file"] = path.name
    return data


def read_arrays(path, split, seed):
    try:
        with np.load(path) as file:
            found = {name: file[name] for name in file.files}
    except (zipfile.BadZipFile, ValueError, EOFError) as error:
        raise ValueError(f"{path} is not a file of numpy.savez: {error}") from None
    missing = [name for name in ("x", "y") if name not in found]
    if missing:
        raise ValueError(f"{path} needs arrays named x and y, and holds {', '.join(found) or 'none'}")
    return from_arrays(found["x"], found["y"], found.get("groups"), split, seed)


# Texts.


def read_text(path, steps):
    """Returns the `Data` of a language model: characters in, the next ones out."""
    raw = path.read_bytes()
    if b"\0" in raw:
        raise ValueError(f"{path} is not a text: it has a byte of zero")
    with in_utf8(path):
        text = raw.decode("utf-8-sig")
    codes = np.frombuffer(text.encode("utf-32-le"), "uint32")
    ends = [0, round(SHARES[0] * len(codes)), round((1 - SHARES[2]) * len(codes)), len(codes)]
    known, counts = np.unique(codes[: ends[1]], return_counts=True)
    known = known[counts >= min(RARE, counts.max(initial=0))]
    # 0 is any other character.
    ids = np.where(np.isin(codes, known), np.searchsorted(known, codes) + 1, 0).astype("int32")
    parts = {}
    for part, start, end in zip(PARTS, ends[:-1], ends[1:], strict=True):
        count = (end - start - 1) // steps
        if count < 8:
            needed = round(8 * (steps + 1) / min(SHARES)) + 1
            raise ValueError(
                f"{path} is too short: its {len(codes):,} characters give {max(0, count)} sequences of {steps} for "
                f"{part}, and 8 are needed. Give {needed:,} characters, or fewer --steps"
            )
        piece = ids[start : start + count * steps + 1]
        parts[part] = piece[:-1].reshape(count, steps), piece[1:].reshape(count, steps)
    characters = [None, *(chr(code) for code in known)]
    data = prepare(
        parts, "text", {"characters": characters, "split": "time"}, classes=range(len(characters)), text=True
    )
    data.vocabulary = len(characters)
    return data


# Tables.


class Table:
    """A table of series, as sequences.

    Arguments: As in `read`.
    """

    def __init__(self, path, target, time, group, task, columns, steps, horizon, split, seed):
        self.path, self.target, self.time, self.group = path, target, time, group
        self.steps, self.horizon, self.seed = steps, horizon, seed
        self.columns = read_parquet(path) if path.suffix.lower() == ".parquet" else read_csv(path)
        if target is None:
            raise ValueError(f"--target must name the column to predict, one of {', '.join(self.columns)}")
        for name, value in (("target", target), ("time", time), ("group", group)):
            if value is not None:
                self.check(name, value)
        for name in columns or ():
            self.check("columns", name)
            if name in (time, group):
                raise ValueError(f"--columns names what to learn from, and {name!r} is --time or --group")
        used = [name for name in (target, time, group) if name is not None]
        if len(set(used)) < len(used):
            raise ValueError("--target, --time and --group must name different columns")
        self.features = [n for n in columns or self.columns if n not in (time, group)]
        words = self.columns[target].dtype.kind in "OU"
        if task not in (None, "forecast", "classify"):
            raise ValueError(f"--task must be 'forecast' or 'classify', and is {task!r}")
        self.task = task or ("classify" if words else "forecast")
        if self.task == "forecast" and words:
            self.numeric(target)
        if self.task == "classify" and target in (columns or ()):
            raise ValueError(f"--columns names what to learn from, and {target!r} is the class to predict")
        self.features = [n for n in self.features if n != target] + ([target] if self.task == "forecast" else [])
        if not self.features:
            raise ValueError(f"{path} has no column to learn from beside {', '.join(used)}")
        if self.task == "classify" and horizon != 1:
            raise ValueError(f"--horizon is for forecasts, and is {horizon} with --task classify")
        by_group = self.task == "classify" and group is not None
        self.split = split or ("group" if by_group else "time")
        if self.split not in ("time", "group"):
            raise ValueError(f"--split must be 'time' or 'group' for a table, and is {split!r}")
        if self.split == "group" and group is None:
            raise ValueError("--split group needs --group")

    def check(self, argument, name):
        if name not in self.columns:
            raise ValueError(f"--{argument} must be one of the columns {', '.join(self.columns)}, and is {name!r}")

    def numeric(self, name):
        """Returns a column as numbers, or raises an error that says which row has none."""
        column = self.columns[name]
        if column.dtype.kind in "OU":
            row = next(k for k, value in enumerate(column) if not is_number(value))
            raise ValueError(
                f"column {name!r} holds words, such as {str(column[row])!r} in row {row + 1}: name the columns to read "
                "with --columns, or turn it into numbers"
            )
        values = column.astype("float64")
        bad = np.flatnonzero(~np.isfinite(values))
        if len(bad):
            raise ValueError(
                f"column {name!r} has {'no number' if np.isnan(values[bad[0]]) else values[bad[0]]} in row "
                f"{bad[0] + 1}" + (f", and {len(bad) - 1:,} more such rows" if len(bad) > 1 else "")
            )
        return values

    def times(self):
        """Returns numbers that order the rows."""
        if self.time is None:
            return None
        column = self.columns[self.time]
        if column.dtype.kind in "OU":
            try:
                times = column.astype("datetime64[ns]")
            except ValueError as error:
                raise ValueError(
                    f"column {self.time!r} must hold numbers or dates such as 2024-01-31: {error}"
                ) from None
        else:
            times = column
        missing = np.flatnonzero(np.isnat(times) if times.dtype.kind == "M" else ~np.isfinite(times.astype("float64")))
        if len(missing):
            raise ValueError(f"column {self.time!r} has no time in row {missing[0] + 1}")
        return times.astype("int64" if times.dtype.kind == "M" else "float64")

    def series(self):
        """Returns the rows of each series, in order."""
        times, count = self.times(), len(self.columns[self.target])
        order = np.arange(count) if times is None else np.argsort(times, kind="stable")
        if self.group is None:
            self.check_times(times, order, "names the series that they belong to, if there are several")
            return {None: order}
        names = self.columns[self.group]
        missing = np.flatnonzero(names == "" if names.dtype.kind in "OU" else np.isnan(names))
        if len(missing):
            raise ValueError(f"column {self.group!r} names no series in row {missing[0] + 1}")
        found = {name: order[names[order] == name] for name in np.unique(names)}
        for name, rows in found.items():
            self.check_times(times, rows, f"has both in {name}")
        return found

    def check_times(self, times, rows, hint):
        """Raises an error if two rows of one series have the same time."""
        if times is None:
            return
        same = np.flatnonzero(np.diff(times[rows]) == 0)
        if len(same):
            first, second = sorted(rows[same[0] : same[0] + 2] + 1)
            raise ValueError(
                f"column {self.time!r} has the same time, {self.columns[self.time][first - 1]}, in the rows {first} "
                f"and {second}: --group {hint}"
            )

    def data(self):
        features = np.stack([self.numeric(name) for name in self.features], axis=1)
        series = self.series()
        target = self.columns[self.target] if self.task == "classify" else self.numeric(self.target)
        if self.task == "classify" and target.dtype.kind == "f":
            target = self.numeric(self.target)
            if (target == np.round(target)).all():
                target = target.astype("int64")
        if self.task == "classify":
            target = target.astype(str) if target.dtype.kind in "OU" else target
        card = {
            "columns": self.features,
            "target": self.target,
            "time": self.time,
            "group": self.group,
            "task": self.task,
            "split": self.split,
        }
        if self.task == "classify" and self.group is not None and self.steps is None:
            return self.whole_groups(features, target, series, card)
        return self.windows(features, target, series, card)

    def whole_groups(self, features, target, series, card):
        lengths = {name: len(rows) for name, rows in series.items()}
        if len(set(lengths.values())) > 1:
            short, long = min(lengths, key=lengths.get), max(lengths, key=lengths.get)
            raise ValueError(
                f"the series of {self.group!r} must be equally long, and have from {lengths[short]} ({short}) to "
                f"{lengths[long]} rows ({long}): --steps cuts them into windows"
            )
        x = np.stack([features[rows] for rows in series.values()])
        y = np.stack([target[rows] for rows in series.values()])
        if (y == y[:, :1]).all():
            y = y[:, 0]
        if self.split == "time":
            raise ValueError("--split time needs --steps: whole series are divided by group")
        rows = divided(len(x), "random", self.seed)
        return prepare({part: (x[chosen], y[chosen]) for part, chosen in rows.items()}, "series", card)

    def windows(self, features, target, series, card):
        steps, ahead = self.steps or ROWS, self.horizon if self.task == "forecast" else 0
        times, ends, goals, owners, histories = self.times(), [], [], [], []
        for name, rows in series.items():
            last = np.arange(steps - 1, len(rows) - ahead)
            histories += [rows[end - steps + 1 : end + 1] for end in last]
            ends += rows[last].tolist()
            goals += rows[last + ahead].tolist()
            owners += [name] * len(last)
        if not histories:
            longest = max(map(len, series.values()))
            raise ValueError(
                f"{self.path} is too short: its longest series has {longest} rows, and a window takes {steps} and "
                f"{ahead} to look ahead. Give fewer --steps"
            )
        histories, ends, goals = np.stack(histories), np.asarray(ends), np.asarray(goals)
        if self.split == "group":
            parts = divided(len(goals), "group", self.seed, np.asarray(owners))
        else:
            parts = self.by_time(times, series, goals)
        card |= {"horizon": ahead}
        x, y = features[histories], target[goals]
        persistence = {part: target[ends[rows]][:, None] for part, rows in parts.items()}
        return prepare(
            {part: (x[rows], y[rows]) for part, rows in parts.items()},
            "series",
            card,
            persistence=persistence if self.task == "forecast" else None,
        )

    def by_time(self, times, series, goals):
        """Returns the windows of each part: what is to be predicted in a later part is later than all before."""
        if times is None:
            times = np.empty(len(self.columns[self.target]))
            for rows in series.values():
                times[rows] = np.arange(len(rows))
        keys = times[goals]
        first, second = np.quantile(keys, [SHARES[0], SHARES[0] + SHARES[1]])
        masks = (keys <= first, (keys > first) & (keys <= second), keys > second)
        return {part: np.flatnonzero(mask) for part, mask in zip(PARTS, masks, strict=True)}


def read_csv(path):
    """Returns the columns of a table as arrays: floats, with NaN where nothing is, or words."""
    with path.open(newline="", encoding="utf-8-sig") as file, in_utf8(path):
        sample = file.read(1 << 14)
        if not sample.strip():
            raise ValueError(f"{path} is empty")
        file.seek(0)
        first = sample.splitlines()[0]
        delimiter = max("\t;,", key=first.count)
        header, *rows = [row for row in csv.reader(file, delimiter=delimiter) if row]
    header = [name.strip() for name in header]
    if len(set(header)) < len(header):
        name = next(name for name in header if header.count(name) > 1)
        raise ValueError(f"{path} has two columns named {name!r}: its first row must name each column once")
    for k, row in enumerate(rows):
        if len(row) != len(header):
            raise ValueError(f"{path} has {len(row)} values in row {k + 1}, and {len(header)} columns")
    if not rows:
        raise ValueError(f"{path} has no rows below its first one, which names the columns")
    return {name: as_column([row[k].strip() for row in rows]) for k, name in enumerate(header)}


def as_column(values):
    """Returns texts as numbers, if all are numbers or missing; else as words."""
    if all(is_number(value) for value in values):
        return np.array([float(value) if value else np.nan for value in values])
    return np.array(values)


def is_number(value):
    try:
        float(value or "nan")
    except ValueError:
        return False
    return True


def read_parquet(path):
    """Returns the columns of a table as arrays."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError(
            'reading Parquet needs pyarrow. Install it with: pip install "keras_adaptive_rnn[compare]"'
        ) from None
    try:
        table = pyarrow.parquet.read_table(path)
    except pyarrow.ArrowInvalid as error:
        raise ValueError(f"{path} is not a Parquet file: {error}") from None
    found = {}
    for name in table.column_names:
        column = table.column(name).to_numpy()
        if column.dtype.kind in "iub":
            column = column.astype("float64")
        elif column.dtype.kind not in "fM":
            column = np.array(["" if value is None else str(value) for value in column])
        found[name] = column
    return found
