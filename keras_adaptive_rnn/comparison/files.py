"""Data in files: a text, a table of series, or arrays."""

import pathlib
import zipfile
import zlib

import numpy as np

from keras_adaptive_rnn.comparison.data import PARTS, SHARES, from_arrays, prepare, split_rows
from keras_adaptive_rnn.comparison.tables import NAMELESS, decoded, listed, read_csv, read_parquet

TABLES = (".csv", ".tsv", ".parquet")
# Steps of a sequence, where it is cut from something longer.
CHARACTERS, ROWS = 100, 32
# A character that is rarer in the training part is an unknown one.
RARE = 5


def read(
    path,
    target=None,
    time=None,
    group=None,
    task=None,
    columns=None,
    steps=None,
    horizon=1,
    split=None,
    seed=0,
    decimal=".",
):
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
        decimal: What precedes the decimals of a number in a table: `"."` or `","`.

    Raises:
        ValueError: The file cannot be read, or says something that is in doubt. The message names the file, the row and
            the column, and what to do.
    """
    path = pathlib.Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder, and should be a file: a text, a table (.csv, .tsv, .parquet) or .npz")
    if not path.exists():
        raise ValueError(f"there is no file {path}")
    kind = path.suffix.lower()
    of_table = {"target": target, "time": time, "group": group, "task": task, "columns": columns}
    if kind not in TABLES:
        passed = [name for name, value in of_table.items() if value is not None]
        passed += ["horizon"] if horizon != 1 else []
        passed += ["decimal"] if decimal != "." else []
        if passed:
            raise ValueError(f"--{passed[0]} is for tables ({', '.join(TABLES)}), and {path} is none")
    try:
        if kind in (".npz", ".npy"):
            if steps is not None:
                raise ValueError("--steps is for texts and tables, and this file holds sequences already")
            data = read_arrays(path, split, seed)
        elif kind in TABLES:
            data = Table(path, **of_table, steps=steps, horizon=horizon, split=split, seed=seed, decimal=decimal).data()
        else:
            if split not in (None, "time"):
                raise ValueError(f"--split must be 'time' for a text, and is {split!r}")
            data = read_text(path, steps or CHARACTERS)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    # Names of files may hold what is no Unicode.
    data.card["file"] = path.name.encode(errors="replace").decode()
    return data


def read_arrays(path, split, seed):
    arrays = {}
    try:
        with path.open("rb") as file:
            archive = np.load(file)
            names = [] if isinstance(archive, np.ndarray) else archive.files
            for name in [name for name in ("x", "y", "groups") if name in names]:
                try:
                    arrays[name] = archive[name]
                except ValueError as error:
                    raise ValueError(f"the array {name} cannot be read: {error}") from None
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError, ValueError, EOFError, OSError) as error:
        why = str(error).partition("\n")[0]
        if "Object arrays" in why:
            raise ValueError(
                f"{why.partition(' cannot')[0]} holds Python objects, which are not read: save numbers, or strings "
                "with `.astype(str)`"
            ) from None
        raise ValueError(f"is not a file of numpy.savez, or a damaged one: {why}") from None
    missing = [name for name in ("x", "y") if name not in arrays]
    if missing:
        raise ValueError(f"needs arrays named x and y, and holds {listed(names) or 'none with a name'}")
    return from_arrays(arrays["x"], arrays["y"], arrays.get("groups"), split, seed)


# Texts.


def read_text(path, steps):
    """Returns the `Data` of a language model: characters in, the next ones out."""
    text = decoded(path)
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
                f"is too short: its {len(codes):,} characters give {max(0, count)} sequences of {steps} for "
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

    def __init__(self, path, target, time, group, task, columns, steps, horizon, split, seed, decimal):
        self.target, self.time, self.group, self.steps, self.horizon, self.seed = (
            target,
            time,
            group,
            steps,
            horizon,
            seed,
        )
        if decimal not in (".", ","):
            raise ValueError(f"--decimal must be '.' or ',', and is {decimal!r}")
        if path.suffix.lower() != ".parquet":
            self.columns = read_csv(path, decimal)
        elif decimal == ".":
            self.columns = read_parquet(path)
        else:
            raise ValueError("--decimal is for .csv and .tsv: numbers in Parquet have no such form")
        named = [name for name in self.columns if not NAMELESS.fullmatch(name)]
        if target is None:
            raise ValueError(f"--target must name the column to predict, one of {listed(named)}")
        for name, value in (("target", target), ("time", time), ("group", group)):
            if value is not None:
                self.check(name, value)
        for name in columns or ():
            self.check("columns", name)
            if name in (time, group):
                raise ValueError(f"--columns names what to learn from, and {name!r} is --time or --group")
        if len(set(columns or ())) < len(columns or ()):
            raise ValueError("--columns must name each column once")
        used = [name for name in (target, time, group) if name is not None]
        if len(set(used)) < len(used):
            raise ValueError("--target, --time and --group must name different columns")
        if task not in (None, "forecast", "classify"):
            raise ValueError(f"--task must be 'forecast' or 'classify', and is {task!r}")
        self.task = task or ("forecast" if self.columns[target].is_forecast() else "classify")
        if self.task == "classify" and target in (columns or ()):
            raise ValueError(f"--columns names what to learn from, and {target!r} is the class to predict")
        self.features = [name for name in columns or named if name not in used]
        self.features += [target] if self.task == "forecast" else []
        if not self.features:
            raise ValueError(f"has no column to learn from beside {listed(used)}")
        nameless = [] if columns else [n for n in self.columns if NAMELESS.fullmatch(n) and n not in used]
        self.notes = [
            f"left out: the column {name!r}, which has no name of its own (an index?); --columns would include it"
            if name
            else "left out: the column without a name (an index?); name it in the first row to include it"
            for name in nameless
        ]
        if self.task == "classify" and horizon != 1:
            raise ValueError(f"--horizon is for forecasts, and is {horizon} with --task classify")
        by_group = self.task == "classify" and group is not None
        self.split = split or ("group" if by_group else "time")
        if self.split not in ("time", "group"):
            raise ValueError(f"--split must be 'time' or 'group' for a table, and is {split!r}")
        if self.split == "group" and group is None:
            raise ValueError("--split group needs --group")
        self.times = None if time is None else self.columns[time].times()

    def check(self, argument, name):
        if name not in self.columns:
            raise ValueError(f"--{argument} must be one of the columns {listed(self.columns)}, and is {name!r}")

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
                f"column {self.time!r} has the same time, {column.texts[first]}, in {column.row(first)} and "
                f"{column.row(second)}: --group {hint}"
            )

    def data(self):
        hint = "name the columns to read with --columns, or turn it into numbers"
        of_target = "forecasts need a number in every row; --task classify would take what is written as names"
        features = np.stack(
            [self.columns[name].numbers(of_target if name == self.target else hint) for name in self.features], axis=1
        )
        series = self.series()
        target = features[:, -1] if self.task == "forecast" else self.columns[self.target].labels("class")
        card = {
            "columns": self.features,
            "target": self.target,
            "time": self.time,
            "group": self.group,
            "task": self.task,
            "split": self.split,
            "notes": self.notes,
        }
        if self.task == "classify" and self.group is not None and self.steps is None:
            return self.whole_groups(features, target, series, card)
        return self.windows(features, target, series, card)

    def whole_groups(self, features, target, series, card):
        lengths = {name: len(rows) for name, rows in series.items()}
        if len(set(lengths.values())) > 1:
            short, long = min(lengths, key=lengths.get), max(lengths, key=lengths.get)
            raise ValueError(
                f"the series of {self.group!r} must be equally long, and have from {lengths[short]} "
                f"({listed([short])}) to {lengths[long]} rows ({listed([long])}): --steps cuts them into windows"
            )
        x = np.stack([features[rows] for rows in series.values()])
        y = np.stack([target[rows] for rows in series.values()])
        if (y == y[:, :1]).all():
            y = y[:, 0]
        if self.split == "time":
            raise ValueError("--split time needs --steps: whole series are divided by group")
        rows = split_rows(len(x), "random", self.seed)
        return prepare({part: (x[chosen], y[chosen]) for part, chosen in rows.items()}, "series", card)

    def windows(self, features, target, series, card):
        steps, ahead = self.steps or ROWS, self.horizon if self.task == "forecast" else 0
        long = [rows for rows in series.values() if len(rows) >= steps + ahead]
        if not long:
            longest = max(map(len, series.values()))
            raise ValueError(
                f"is too short: its longest series has {longest} rows, and a window takes {steps} and {ahead} to look "
                "ahead. Give fewer --steps"
            )
        if len(long) < len(series):
            self.notes.append(
                f"left out: {len(series) - len(long):,} of {len(series):,} series, which are shorter than a window of "
                f"{steps} rows and {ahead} to look ahead"
            )
        windows = [np.lib.stride_tricks.sliding_window_view(rows, steps + ahead) for rows in long]
        owners = np.repeat(np.arange(len(long)), [len(each) for each in windows])
        windows = np.concatenate(windows)
        histories, ends, goals = windows[:, :steps], windows[:, steps - 1], windows[:, -1]
        if self.split == "group":
            parts = split_rows(len(goals), "group", self.seed, owners)
        else:
            parts = self.by_time(series, goals)
        card |= {"horizon": ahead}
        x, y = features[histories], target[goals]
        persistence = {part: target[ends[rows]][:, None] for part, rows in parts.items()}
        return prepare(
            {part: (x[rows], y[rows]) for part, rows in parts.items()},
            "series",
            card,
            persistence=persistence if self.task == "forecast" else None,
        )

    def by_time(self, series, goals):
        """Returns the windows of each part: what is to be predicted in a later part is later than all before."""
        times = self.times
        if times is None:
            times = np.empty(len(self.columns[self.target]))
            for rows in series.values():
                times[rows] = np.arange(len(rows))
        keys = times[goals]
        first, second = np.quantile(keys, [SHARES[0], SHARES[0] + SHARES[1]])
        masks = (keys <= first, (keys > first) & (keys <= second), keys > second)
        return {part: np.flatnonzero(mask) for part, mask in zip(PARTS, masks, strict=True)}
