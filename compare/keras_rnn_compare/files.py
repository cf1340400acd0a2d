"""Data in files: a text, a table of series, or arrays."""

import pathlib
import zipfile
import zlib

import numpy as np

from keras_rnn_compare import arguments, texts
from keras_rnn_compare.data import PARTS, SHARES, from_arrays, prepare
from keras_rnn_compare.series import Table
from keras_rnn_compare.tables import listed

TABLES = (".csv", ".tsv", ".parquet")
# Steps of a sequence.
CHARACTERS = 100
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
    missing="refuse",
    calendar=True,
    known=None,
    differences="auto",
    folds=1,
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

    Raises:
        ValueError: The file cannot be read, or says something that is in doubt. The message names the file, the row and
            the column, and what to do. Or an argument has a value that is not allowed.
        TypeError: An argument has a wrong type.
    """
    steps = arguments.integer("steps", steps, optional=True)
    horizon, folds = arguments.integer("horizon", horizon), arguments.integer("folds", folds)
    seed = arguments.integer("seed", seed, minimum=0)
    arguments.boolean("calendar", calendar)
    for name, names in (("columns", columns), ("known", known)):
        if names is not None and not isinstance(names, (list, tuple)):
            raise TypeError(f"Argument `{name}` must be a list of columns, or None. Received: {name}={names!r}")
    path = pathlib.Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder, and should be a file: a text, a table (.csv, .tsv, .parquet) or .npz")
    if not path.exists():
        raise ValueError(f"there is no file {path}")
    kind = path.suffix.lower()
    of_table = {"target": target, "time": time, "group": group, "task": task, "columns": columns, "known": known}
    if kind not in TABLES:
        passed = [name for name, value in of_table.items() if value is not None]
        passed += ["horizon"] if horizon != 1 else []
        passed += ["decimal"] if decimal != "." else []
        passed += ["missing"] if missing != "refuse" else []
        passed += ["no-calendar"] if not calendar else []
        passed += ["differences"] if differences != "auto" else []
        passed += ["folds"] if folds != 1 else []
        if passed:
            raise ValueError(f"--{passed[0]} is for tables ({', '.join(TABLES)}), and {path} is none")
    try:
        if kind in (".npz", ".npy"):
            if steps is not None:
                raise ValueError("--steps is for texts and tables, and this file holds sequences already")
            data = read_arrays(path, split, seed)
        elif kind in TABLES:
            data = Table(
                path,
                **of_table,
                steps=steps,
                horizon=horizon,
                split=split,
                seed=seed,
                decimal=decimal,
                missing=missing,
                calendar=calendar,
                differences=differences,
            ).data(folds)
        else:
            if split not in (None, "time"):
                raise ValueError(f"--split must be 'time' for a text, and is {split!r}")
            data = read_text(path, steps or CHARACTERS)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    # Names of files may hold what is no Unicode.
    data.file = str(path)
    data.card["file"] = path.name.encode(errors="replace").decode()
    return data


def read_arrays(path, split, seed):
    """Returns the `Data` of arrays in a file of `numpy.savez`."""
    arrays = read_npz(path, ("x", "y"), ("groups",))
    return from_arrays(arrays["x"], arrays["y"], arrays.get("groups"), split, seed)


def read_npz(path, needed, optional=()):
    """Returns arrays of a file of `numpy.savez`, by name."""
    arrays = {}
    try:
        with path.open("rb") as file:
            archive = np.load(file)
            names = [] if isinstance(archive, np.ndarray) else archive.files
            for name in [name for name in (*needed, *optional) if name in names]:
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
    if not set(needed) <= set(arrays):
        what = " and ".join(needed)
        what = f"arrays named {what}" if len(needed) > 1 else f"an array named {what}"
        raise ValueError(f"needs {what}, and holds {listed(names) or 'none with a name'}")
    return arrays


# Texts.


def read_text(path, steps):
    """Returns the `Data` of a language model: characters in, the next ones out."""
    text = texts.read_text(path)
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
    data.card["read"] = {
        "characters": f"{len(codes):,}, {len(known):,} of them different; others are rarer than {RARE} in the part to "
        "train on, and read as one",
        "task": "the next character",
        **{
            part: f"characters {start + 1:,} to {end:,}, {len(parts[part][0]):,} sequences of {steps:,}"
            for part, start, end in zip(PARTS, ends[:-1], ends[1:], strict=True)
        },
    }
    return data
