"""Files of the rows that benchmarks have measured, in JSON, one row per line, and the tables made from them."""

import csv
import json
import math
import pathlib

TABLES = pathlib.Path(__file__).parents[1] / "docs" / "tables"


def key(row, names):
    """Returns what makes a row another row, in place of a new measurement of the same."""
    return tuple(row[name] for name in names)


def read(path, names):
    """Returns the rows of a file by their keys; none of no file."""
    return {key(row, names): row for row in json.loads(path.read_text())} if path and path.exists() else {}


def worse(new, old, allowed):
    """Returns which figure of a row is worse than that of an older one, as text, or `None`.

    Args:
        new, old: Rows.
        allowed: Dict of the name of a figure, and of the `(factor, summand)` by which it may be larger.
    """
    for name, (factor, summand) in allowed.items():
        if name in old and not (name in new and new[name] <= factor * old[name] + summand):
            return f"{name}: {new.get(name, math.nan):g}, and {old[name]:g} before"
    return None


def worse_than_known(path, names, row, allowed):
    """Returns what is worse in a row than in that of the file with its key, as text that names it, or `None`."""
    fault = worse(row, read(path, names)[key(row, names)], allowed)
    return fault and f"{', '.join(map(str, key(row, names)))}: {fault}"


def add(path, names, rows):
    """Adds rows to the file, in the place of older ones with their keys."""
    new = {key(row, names): row for row in rows}
    lines = [json.dumps(row) for row in {**read(path, names), **new}.values()]
    # Measuring takes hours: a missing folder, or a full disk, must not cost the rows.
    path.parent.mkdir(parents=True, exist_ok=True)
    new_file = path.with_suffix(".new")
    new_file.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    new_file.replace(path)


def write_tables(tables):
    """Writes tables, lists of lines of cells by name, to the files that the pages of `docs/` link to."""
    TABLES.mkdir(exist_ok=True)
    for name, lines in tables.items():
        with (TABLES / f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(lines)
