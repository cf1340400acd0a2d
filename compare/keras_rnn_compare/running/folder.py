"""The folder of a comparison, or of a probe: its settings, and a file for each trial that is done."""

import datetime
import hashlib
import json
import os
import pathlib
import platform
import sys
import zipfile
import zlib

import keras
import numpy as np

from keras_adaptive_rnn.files import alone_in, is_litter, replaced, writing

# How a damaged file comes back.
AGAIN = "the call that made it makes it again, from its trials"


class Damaged(ValueError):
    """A file that does not hold what was written into it."""


class Folder:
    """A folder that holds one comparison, or one probe, from its first to its last trial.

    Args:
        path: Path of the folder, which need not exist.
        settings: Dict of everything that decides about the result. A folder with other settings raises `ValueError`.
        warn: Function that tells the user something.
        what: What the folder holds, for messages. Defaults to `"comparison"`.
    """

    def __init__(self, path, settings, warn, what="comparison"):
        self.path, self.warn = pathlib.Path(path), warn
        try:
            before = self.read("settings")
        except Damaged as error:
            raise ValueError(
                f"{error}, so nothing tells which {what} the folder holds: choose another one, or delete it"
            ) from None
        if before is None:
            if self.path.exists() and any(not is_litter(file) for file in self.path.iterdir()):
                raise ValueError(
                    f"{self.path} holds other files, and no settings.json of a {what}: choose an empty or a new "
                    "folder for the results"
                )
            with writing(self.path):
                self.path.mkdir(parents=True, exist_ok=True)
            self.write("settings", settings)
            before = self.read("settings")
        with writing(self.path / "trials"):
            (self.path / "trials").mkdir(exist_ok=True)
        settings = json.loads(json.dumps(settings))
        changed = [name for name in settings if settings[name] != before.get(name)]
        if changed:
            raise ValueError(
                f"{self.path / 'settings.json'} is that of another {what}, with "
                + ", ".join(f"{name} {before.get(name)!r} instead of {settings[name]!r}" for name in changed)
                + ": choose another folder, or delete it"
            )

    def read(self, name, needs=()):
        """Returns the dict in a JSON file, or `None` if there is none; raises `Damaged` if it lacks what it `needs`."""
        path = self.path / f"{name}.json"
        return read_json(path, needs) if path.exists() else None

    def write(self, name, value):
        """Writes a JSON file."""
        self.write_text(f"{name}.json", json.dumps(finite(value), indent=1))

    def write_text(self, name, text):
        with self.replaced(name) as path:
            path.write_text(text, encoding="utf-8")

    def replaced(self, name):
        """Does what the function `replaced` does, for a file of the folder."""
        return replaced(self.path / name)

    def once(self, name, make, needs=(), fits=None):
        """Returns the dict in a JSON file; makes and writes it first if there is none, or a damaged one.

        Args:
            name: Name of the file, without its suffix.
            make: Function that returns the dict.
            needs: Names that the dict must have.
            fits: Function that returns what is wrong with a dict, or `None`.
        """
        record = self.kept(name, needs, fits)
        return self.put(name, make()) if record is None else record

    def kept(self, name, needs=(), fits=None):
        """Returns the dict in a JSON file, or `None` if there is none, or a damaged one, of which the user is told."""
        try:
            record = self.read(name, needs)
            wrong = fits(record) if fits is not None and record is not None else None
            if wrong:
                raise Damaged(f"{self.path / name}.json {wrong}")
        except Damaged as error:
            self.warn(f"{error}: it is made again")
            record = None
        return record

    def put(self, name, value):
        """Writes a JSON file, and returns the dict as it will be read."""
        self.write(name, value)
        return self.read(name)


def opened(path, doing):
    """Returns a context in which this process alone writes to the folder for results, or raises an error."""
    path = pathlib.Path(path)
    if path.exists() and not path.is_dir():
        raise ValueError(f"{path} is a file, and should be the folder for the results")
    return alone_in(path, doing)


def finished(path, needs, what="comparison"):
    """Returns the results in the folder of a finished comparison or probe, or raises `ValueError`."""
    file = pathlib.Path(path) / "results.json"
    if not file.exists():
        raise ValueError(f"{path} holds no finished {what}: it has no results.json")
    try:
        return read_json(file, needs)
    except ValueError as error:
        raise ValueError(f"{error}: {AGAIN}") from None


def origin():
    """Returns what figures are made with: versions, machine and date."""
    modules = ("keras_rnn_compare", "keras_adaptive_rnn", "keras", keras.backend.backend(), "numpy")
    return {
        "versions": {
            "python": platform.python_version(),
            **{name: sys.modules[name].__version__ for name in modules},
        },
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}",
        "date": datetime.date.today().isoformat(),
    }


def read_json(path, needs=()):
    """Returns the dict in a file, or raises `Damaged`."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise Damaged(f"{path} is damaged ({error})") from None
    if not isinstance(record, dict):
        raise Damaged(f"{path} is damaged (it holds no object of JSON)")
    missing = [name for name in needs if name not in record]
    if missing:
        raise Damaged(f"{path} is damaged (it has no {missing[0]!r})")
    return record


def fault_of_zip(path):
    """Returns what is wrong with a file of Keras, or `None`."""
    if not path.exists():
        return "is missing"
    try:
        with zipfile.ZipFile(path) as file:
            broken = file.testzip()
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
        return f"is damaged ({error})"
    return None if broken is None else f"is damaged (its part {broken})"


def digest(path):
    """Returns a text that differs if the file does, or `None` if there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None


def finite(value):
    """Returns what JSON can hold: `None` for numbers that are not finite."""
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return None
    return value
