"""The folder of a comparison: its settings, its plan, and a file for each trial that is done."""

import json
import os
import pathlib

import numpy as np


class Folder:
    """A folder that holds one comparison, from its first to its last trial.

    Args:
        path: Path of the folder, which need not exist.
        settings: Dict of everything that decides about the result. A folder with other settings raises `ValueError`.
    """

    def __init__(self, path, settings):
        self.path = pathlib.Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise ValueError(f"{self.path} is a file, and should be the folder for the results")
        before = self.read("settings")
        if before is None:
            if self.path.exists() and any(file.suffix != ".new" for file in self.path.iterdir()):
                raise ValueError(f"{self.path} holds other files: choose an empty or a new folder for the results")
            self.path.mkdir(parents=True, exist_ok=True)
            self.write("settings", settings)
            before = self.read("settings")
        (self.path / "trials").mkdir(exist_ok=True)
        settings = json.loads(json.dumps(settings))
        changed = [name for name in settings if settings[name] != before.get(name)]
        if changed:
            raise ValueError(
                f"{self.path} holds another comparison, with "
                + ", ".join(f"{name} {before.get(name)!r} instead of {settings[name]!r}" for name in changed)
                + ": choose another folder, or delete it"
            )

    def read(self, name):
        """Returns what a JSON file holds, or `None` if there is none."""
        path = self.path / f"{name}.json"
        return json.loads(path.read_text()) if path.exists() else None

    def write(self, name, value):
        """Writes a JSON file as a whole: whoever reads it sees the old one or the new one."""
        self.write_text(f"{name}.json", json.dumps(finite(value), indent=1))

    def write_text(self, name, text):
        path = self.path / name
        new = path.with_name(path.name + ".new")
        new.write_text(text, encoding="utf-8")
        os.replace(new, path)

    def once(self, name, make):
        """Returns what a JSON file holds, and writes it first if there is none."""
        found = self.read(name)
        if found is None:
            found = make()
            self.write(name, found)
            found = self.read(name)
        return found


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
