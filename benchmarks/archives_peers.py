"""sktime's classifiers and statsforecast's models on the data sets of `archives`, beside what `compare` recommended.

    pip install sktime statsforecast numba
    KERAS_BACKEND=torch python -m benchmarks.archives_peers runs/archives --minutes 2

in the folder that `archives` has written for these minutes, which are the time that each model has to be fitted and to
predict; what takes longer is ended. The models get the parts that `compare` made, read training and validation at once,
and are scored on the test part: classes by accuracy, forecasts by RMSE. statsforecast's models, those that darts and
AutoGluon offer too, are fitted to what comes before the first test window and go on from what comes before each. Rows
go to `benchmarks/archives_peers.json` and `docs/tables/`.
"""

import argparse
import json
import multiprocessing
import pathlib
import time

import numpy as np
from rich.progress import track

from benchmarks.archives import CLASSES, FORECASTS, written
from benchmarks.rows import write_tables

RESULTS = pathlib.Path(__file__).with_suffix(".json")


def classifiers(minutes):
    from sktime.classification.interval_based import DrCIF
    from sktime.classification.kernel_based import RocketClassifier

    return {
        "ROCKET": lambda: RocketClassifier(random_state=0),
        "DrCIF": lambda: DrCIF(time_limit_in_minutes=0.7 * minutes, random_state=0),
    }


def forecasters(season):
    from statsforecast import models

    return {
        name: lambda name=name: getattr(models, name)(season_length=season or 1)
        for name in ("AutoARIMA", "AutoETS", "AutoTheta")
    }


def accuracy(model, data):
    """Returns the accuracy of a classifier on the test part."""
    x = {part: np.swapaxes(np.asarray(data.x[part], "float64"), 1, 2) for part in data.x}
    model.fit(*(np.concatenate([each["train"], each["validation"]]) for each in (x, data.y)))
    return float(np.mean(model.predict(x["test"]) == data.y["test"]))


def error(make, data):
    """Returns the RMSE of a model, which `make` makes for each series, on the test part."""
    from keras_rnn_compare.reading.data import carried

    series, errors = data.series, []
    values = carried(series.values, series.owners)
    for owner in np.unique(series.owners[series.ends["test"]]):
        first = np.searchsorted(series.owners, owner)
        ends = np.sort(series.ends["test"][series.owners[series.ends["test"]] == owner])
        model = make().fit(values[first : ends[0] + 1])
        for end in ends:
            found = model.forward(y=values[first : end + 1], h=series.horizon)["mean"]
            errors.append(found - series.values[series.goals(np.array([end]))[0]])
    return float(np.sqrt(np.mean(np.square(errors))))


def scored(name, data, minutes, results):
    """Puts the score of a model into a queue, or what went wrong."""
    try:
        if data.classes is not None:
            results.put(accuracy(classifiers(minutes)[name](), data))
        else:
            results.put(error(forecasters(data.series.season)[name], data))
    except Exception as failure:
        results.put(f"{type(failure).__name__}: {failure}"[:200])


def measured(name, data, minutes):
    """Returns the score of a model and its seconds; a score of `None` if it takes longer than the minutes."""
    results, begun = multiprocessing.Queue(), time.perf_counter()
    process = multiprocessing.Process(target=scored, args=(name, data, minutes, results))
    process.start()
    process.join(60 * minutes)
    if process.is_alive():
        process.kill()
        return {"score": None, "seconds": 60 * minutes}
    return {"score": results.get(), "seconds": round(time.perf_counter() - begun, 1)}


def of_compare(folder, has_classes):
    """Returns what `compare` recommended, and its score on the test part."""
    results = json.loads((folder / "results.json").read_text())
    rows = {row["name"]: row for row in (*results["rows"], *results["behind"], *results["baselines"])}
    score = {
        name: np.mean(row["accuracy"]) if has_classes else row["test_mean"]
        for name, row in rows.items()
        if row["test_mean"] is not None
    }
    taken = results["baseline"] or results["winner"]
    return {"taken": taken, "score": float(score[taken])}


def row_of(name, folder, minutes):
    """Returns the row of a data set."""
    from keras_rnn_compare.reading.files import read

    path, options = written(name, folder)
    if "columns" in options:
        options["columns"] = options["columns"].split(",")
    data = read(path, **options)
    has_classes = data.classes is not None
    peers = classifiers(minutes) if has_classes else forecasters(data.series.season)
    found = {peer: measured(peer, data, minutes) for peer in peers}
    return {**of_compare(folder / f"{name}_{minutes:g}", has_classes), "peers": found}


def tables(results):
    """Returns the table: a line for each data set and budget, a column for each peer."""
    columns = ["ROCKET", "DrCIF", "AutoARIMA", "AutoETS", "AutoTheta"]
    lines = [["data", "minutes", "`compare` takes", "test", *columns]]
    for minutes, rows in results.items():
        for name, row in rows.items():
            shown = "{:.1%}" if name in CLASSES else "{:.4g}"
            scores = [row["peers"].get(column, {"score": ""})["score"] for column in columns]
            scores = ["too late" if s is None else s if isinstance(s, str) else shown.format(s) for s in scores]
            lines.append([name, minutes, row["taken"], shown.format(row["score"]), *scores])
    return {"archives_peers": lines}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=2)
    options = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    rows = results.setdefault(f"{options.minutes:g}", {})
    done = [
        name
        for name in (*FORECASTS, *CLASSES)
        if (options.folder / f"{name}_{options.minutes:g}" / "results.json").exists()
    ]
    for name in track([name for name in done if name not in rows], description="Data sets"):
        rows[name] = row_of(name, options.folder, options.minutes)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        write_tables(tables(results))


if __name__ == "__main__":
    main()
