"""The folder of a comparison: its settings, its plan, and a file for each trial that is done."""

import json
import os
import pathlib


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
            if self.path.exists() and any(self.path.iterdir()):
                raise ValueError(f"{self.path} holds other files: choose an empty or a new folder for the results")
            (self.path / "trials").mkdir(parents=True, exist_ok=True)
            self.write("settings", settings)
            return
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
        self.write_text(f"{name}.json", json.dumps(value, indent=1))

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
        return found
