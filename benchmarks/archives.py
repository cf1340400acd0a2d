"""`compare` on public data sets that packages ship, in little time: what it recommends, and what would be best.

    pip install statsmodels scikit-learn vega_datasets
    pip install --no-deps aeon
    KERAS_BACKEND=torch python -m benchmarks.archives runs/archives --minutes 1

Each set is compared by the command, as it stands. A run that was stopped goes on, and so does one with other
`--minutes`; all rows go to `benchmarks/archives.json` and `docs/tables/`, and their summary is printed. The rows that
are there are from PyTorch, on one core which it shared with other programs. Those of ten minutes are not complete.

The regret is how much worse the recommended row is on the test part than the best of all rows, cells and baselines.
"""

import argparse
import importlib.util
import json
import pathlib
import statistics
import subprocess
import sys
import time

import numpy as np

from benchmarks.rows import write_tables

RESULTS = pathlib.Path(__file__).with_suffix(".json")


def shipped(package, *path):
    """Returns the path of a file in a package, which is not imported."""
    return pathlib.Path(importlib.util.find_spec(package).origin).parent.joinpath(*path)


# Forecasts: what makes the table, and the options.


def csv(package, *path):
    return lambda: shipped(package, *path).read_text()


def of_statsmodels(name, columns):
    """Returns a function that makes a table of a data set of statsmodels, by a function of its DataFrame."""

    def table():
        data = importlib.import_module(f"statsmodels.datasets.{name}").load_pandas().data
        return columns(data).to_csv(index=False)

    return table


def months(data):
    """Returns a row for each month of a table with a row for each year."""
    long = data.melt("YEAR", var_name="month", value_name="value")
    numbers = {name: k for k, name in enumerate(data.columns[1:], 1)}
    long["time"] = [f"{int(year)}-{numbers[name]:02d}" for year, name in zip(long["YEAR"], long["month"], strict=True)]
    return long.sort_values("time")[["time", "value"]]


def quarters(data):
    time = [f"{int(year)} Q{int(quarter)}" for year, quarter in zip(data["year"], data["quarter"], strict=True)]
    return data.assign(time=time)[["time", "unemp", "infl", "tbilrate"]]


AEON = ("aeon", "datasets", "data")
VEGA = ("vega_datasets", "_data")
FORECASTS = {
    "sunspots": (of_statsmodels("sunspots", lambda data: data), "SUNACTIVITY", "YEAR", 1),
    "nile": (of_statsmodels("nile", lambda data: data), "volume", "year", 1),
    "co2": (of_statsmodels("co2", lambda data: data.rename_axis("time").reset_index()), "co2", "time", 4),
    "elnino": (of_statsmodels("elnino", months), "value", "time", 12),
    "unemployment": (of_statsmodels("macrodata", quarters), "unemp", "time", 4),
    "airline": (csv(*AEON, "Airline", "Airline.csv"), "Passengers", "Date", 12),
    "lynx": (csv(*AEON, "Lynx", "Lynx.csv"), "0", "", 1),
    "solar": (csv(*AEON, "solar", "solar.csv"), "solar_gen", "datetime_gmt", 48),
    "uschange": (csv(*AEON, "Uschange", "Uschange.csv"), "Consumption", "Quarter", 4),
    "scripts": (csv(*AEON, "PBS_dataset", "PBS_dataset.csv"), "Scripts", "Month", 12),
    "seattle": (csv(*VEGA, "seattle-weather.csv"), "temp_max", "date", 7),
    "temperatures": (csv(*VEGA, "sf-temps.csv"), "temp", "date", 24),
    "employment": (csv(*VEGA, "us-employment.csv"), "nonfarm", "month", 6),
    "stocks": (csv(*VEGA, "stocks.csv"), "price", "date", 1),
}
MORE = {
    "co2": {"missing": "interpolate"},
    "seattle": {"columns": "precipitation,temp_min,wind"},
    "employment": {"columns": "nonfarm"},
    "stocks": {"group": "symbol"},
    "temperatures": {"missing": "interpolate"},
}


# Classes: arrays of series, and their classes.


def ts(folder, name=None):
    """Returns a function that reads the series and the classes of an archive's two files."""

    def arrays():
        x, y = [], []
        for part in ("TRAIN", "TEST"):
            for line in shipped(*AEON, folder, f"{name or folder}_{part}.ts").read_text().splitlines():
                if line.strip() and line[0] not in "@#":
                    *series, label = line.strip().split(":")
                    x.append(np.array([each.split(",") for each in series], "float64").T)
                    y.append(label)
        return np.stack(x), np.array(y)

    return arrays


def digits():
    from sklearn.datasets import load_digits

    data = load_digits()
    return data.images, data.target


CLASSES = {
    "italy": ts("ItalyPowerDemand"),
    "motions": ts("BasicMotions"),
    "arrows": ts("ArrowHead"),
    "gun": ts("GunPoint"),
    "leaves": ts("OSULeaf"),
    "appliances": ts("ACSF1"),
    "gestures": ts("PickupGestureWiimoteZ", "PickupGestureWiimoteZ_eq"),
    "vowels": ts("JapaneseVowels", "JapaneseVowels_eq"),
    "digits": digits,
}


# Texts: what `help` says of Python's topics.


def topics():
    from pydoc_data.topics import topics

    return "".join(topics.values())[:110_000]


TEXTS = {"topics": topics}
SETS = [*FORECASTS, *CLASSES, *TEXTS]


def written(name, folder):
    """Writes a data set to a file, and returns its path and the options that read it."""
    if name in CLASSES:
        x, y = CLASSES[name]()
        np.savez(folder / f"{name}.npz", x=x, y=y)
        return folder / f"{name}.npz", {}
    if name in TEXTS:
        (folder / f"{name}.txt").write_text(TEXTS[name]())
        return folder / f"{name}.txt", {}
    table, target, when, horizon = FORECASTS[name]
    path = folder / f"{name}.csv"
    path.write_text(table())
    return path, {"target": target, "time": when, "horizon": horizon, **MORE.get(name, {})}


def measured(name, minutes, folder):
    """Compares on a data set, and returns its row."""
    output = folder / f"{name}_{minutes:g}"
    path, options = written(name, folder)
    options = {**options, "minutes": f"{minutes:g}", "output": output}
    command = [str(path), *(f"--{option}={value}" for option, value in options.items())]
    begun = time.perf_counter()
    subprocess.run([sys.executable, "-m", "keras_rnn_compare", *command], check=True, stdout=subprocess.DEVNULL)
    seconds = time.perf_counter() - begun
    results = json.loads((output / "results.json").read_text())
    rows = [*results["rows"], *results["behind"], *results["baselines"]]
    scores = {row["name"]: row["test_mean"] for row in rows if row["test_mean"] is not None}
    taken = results["baseline"] or results["winner"]
    ranked = sorted(scores, key=scores.get)
    interval = results["intervals"].get("80")
    return {
        "seconds": round(seconds, 1),
        "measure": results["measure"],
        "verdict": results["verdict"],
        "taken": taken,
        "test": scores[taken],
        "best": ranked[0],
        "test of the best": scores[ranked[0]],
        "regret": scores[taken] / scores[ranked[0]] - 1,
        "rank": 1 + ranked.index(taken),
        "coverage": None if interval is None else interval["coverage"],
        "cells": [row["name"] for row in (*results["rows"], *results["behind"])],
        "baselines": [row["name"] for row in results["baselines"]],
    }


def tables(results):
    """Returns the table: a line for each data set and budget."""
    scores = ["measure", "taken", "test", "best", "test of the best", "regret", "80 % hold"]
    lines = [["data", "minutes", *scores, "seconds"]]
    for minutes, rows in results.items():
        for name, row in rows.items():
            covered = "" if row["coverage"] is None else f"{row['coverage']:.0%}"
            figures = f"{row['test']:.4g}", row["best"], f"{row['test of the best']:.4g}", share(row["regret"]), covered
            lines.append([name, minutes, row["measure"], row["taken"], *figures, f"{row['seconds']:.0f}"])
    return {"archives": lines}


def share(regret):
    """Returns a regret as text; a best row without any error makes it infinite."""
    return f"{regret:.1%}" if regret < 100 else "over 100 times"


def summary(rows, minutes):
    """Returns what the rows of a budget have in common."""
    regrets, covered = ([row[key] for row in rows.values() if row[key] is not None] for key in ("regret", "coverage"))
    first_two = sum(row["rank"] <= 2 for row in rows.values())
    lines = [f"--minutes {minutes:g}: median regret {statistics.median(regrets):.1%}"]
    lines += [f"recommended among the best two: {first_two} of {len(rows)}"]
    lines += [f"median coverage of intervals of 80 %: {statistics.median(covered):.0%}"] if covered else []
    lines += [f"longest: {max(row['seconds'] for row in rows.values()) / 60 / minutes:.2f} times the minutes"]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=1)
    parser.add_argument("--sets", type=lambda text: text.split(","), default=SETS, help=",".join(SETS))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    rows = results.setdefault(f"{options.minutes:g}", {})
    for name in options.sets:
        if name not in rows:
            print(name, flush=True)
            rows[name] = measured(name, options.minutes, options.folder)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
            write_tables(tables(results))
    print(summary(rows, options.minutes))


if __name__ == "__main__":
    main()
