"""Data in files: a text, a table of series, or arrays."""

import dataclasses
import pathlib
import zipfile
import zlib

import numpy as np

from keras_rnn_compare.reading import texts
from keras_rnn_compare.reading.data import PARTS, SHARES, from_arrays, prepare
from keras_rnn_compare.reading.options import ReadOptions
from keras_rnn_compare.reading.series import Table
from keras_rnn_compare.reading.tables import is_frame, listed, time_of

TABLES = (".csv", ".tsv", ".parquet", ".xlsx")
# Steps of a sequence.
CHARACTERS = 100
# A character that is rarer in the training part is an unknown one.
RARE = 5


def read(path, *args, **options):
    """Returns the `Data` of a file, by its suffix, and whether it is text, table or arrays; or of a DataFrame.

    Args:
        path: Path of a text in UTF-8, a table (`.csv`, `.tsv`, `.parquet`, `.xlsx`), or `.npz` with `x`, `y` and maybe
            `groups`; or a DataFrame of pandas or polars.
        args, options: The arguments of `ReadOptions`.

    Raises:
        ValueError: The file cannot be read, or says something that is in doubt. The message names the file, the row and
            the column, and what to do. Or an argument has a value that is not allowed.
        TypeError: An argument has a wrong type.
    """
    options = ReadOptions(*args, **options)
    if is_frame(path):
        return of_frame(path, options)
    path = pathlib.Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder, and should be a file: a text, a table ({', '.join(TABLES)}) or .npz")
    if not path.exists():
        raise ValueError(f"there is no file {path}")
    kind = path.suffix.lower()
    if kind not in TABLES:
        passed = options.of_tables()
        if passed:
            raise ValueError(f"--{passed[0]} is for tables ({', '.join(TABLES)}), and {path} is none")
    try:
        if kind in (".npz", ".npy"):
            if options.steps is not None:
                raise ValueError("--steps is for texts and tables, and this file holds sequences already")
            data = read_arrays(path, options.split, options.seed)
        elif kind in TABLES:
            data = Table(path, options).data(options.folds)
        else:
            if options.split not in (None, "time"):
                raise ValueError(f"--split must be 'time' for a text, and is {options.split!r}")
            data = read_text(path, options.steps or CHARACTERS)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    # Names of files may hold what is no Unicode.
    data.file = str(path)
    data.card["file"] = path.name.encode(errors="replace").decode()
    return data


def of_frame(frame, options):
    """Returns the `Data` of a DataFrame, whose index orders the rows if it holds times."""
    try:
        if options.time is None and time_of(frame) is not None:
            options = dataclasses.replace(options, time=time_of(frame))
        data = Table(frame, options).data(options.folds)
    except ValueError as error:
        raise ValueError(f"DataFrame: {error}") from None
    data.card["file"] = "DataFrame"
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
