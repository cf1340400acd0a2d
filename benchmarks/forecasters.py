"""The LSTM of neuralforecast and the AutoETS of statsforecast on the same parts as `benchmarks.forecasts`.

In an environment of its own, after `python -m benchmarks.forecasts FOLDER`:

    pip install neuralforecast statsforecast
    python benchmarks/forecasters.py FOLDER

Both run as they come: windows and horizons are those of `compare`, all else is their default. Each forecasts from every
window of the test part, fitted once, on the rows before it. The RMSE go to `benchmarks/forecasters.json`.
"""

import argparse
import csv
import json
import logging
import pathlib

import numpy as np
import pandas as pd

HERE = pathlib.Path(__file__).parent
# Rows of a season, as far as AutoETS takes them: 24 at most.
SEASONS = {"sunspots": 11, "elnino": 12, "unemployment": 4, "airline": 12, "lynx": 10, "seasonal": 24}


def table(path):
    """Returns the rows of a file as both packages read them, and which ones have a value."""
    with path.open() as file:
        rows = list(csv.DictReader(file))
    data = pd.DataFrame(rows).drop(columns="time").replace("", np.nan).astype(float)
    present = data["value"].notna().to_numpy()
    data = data.ffill().rename(columns={"value": "y"})
    return data.assign(unique_id="series", ds=np.arange(1, len(data) + 1)), present


def error(forecasts, name, present, horizon):
    """Returns the RMSE of the windows all of whose rows have a value."""
    squares = []
    for _, window in forecasts.groupby("cutoff"):
        rows = window["ds"].to_numpy().astype(int) - 1
        if len(rows) == horizon and present[rows].all():
            squares.append((window[name] - window["y"]).to_numpy() ** 2)
    return float(np.sqrt(np.mean(squares)))


def lstm(data, present, horizon, steps, samples):
    from neuralforecast import NeuralForecast
    from neuralforecast.models import LSTM

    options = {"enable_progress_bar": False, "logger": False, "enable_checkpointing": False}
    covariates = [name for name in data if name not in ("y", "unique_id", "ds")]
    known = [name for name in covariates if name == "sign"]
    model = LSTM(
        h=horizon,
        input_size=steps,
        futr_exog_list=known or None,
        hist_exog_list=[name for name in covariates if name not in known] or None,
        random_seed=0,
        **options,
    )
    sizes = {part: samples[part] + horizon - 1 for part in ("validation", "test")}
    forecaster = NeuralForecast(models=[model], freq=1)
    found = forecaster.cross_validation(
        data, val_size=sizes["validation"], test_size=sizes["test"], n_windows=None, step_size=1, verbose=0
    )
    return error(found, "LSTM", present, horizon)


def auto_ets(data, present, horizon, season, samples):
    from statsforecast import StatsForecast
    from statsforecast.models import AutoETS

    forecaster = StatsForecast(models=[AutoETS(season_length=season)], freq=1)
    found = forecaster.cross_validation(
        df=data[["unique_id", "ds", "y"]],
        h=horizon,
        test_size=samples["test"] + horizon - 1,
        n_windows=None,
        step_size=1,
        refit=False,
    )
    return error(found, "AutoETS", present, horizon)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="that of benchmarks.forecasts")
    folder = parser.parse_args().folder
    logging.disable(logging.INFO)
    results = {}
    for name, ours in json.loads((HERE / "forecasts.json").read_text()).items():
        card = ours["data"]
        data, present = table(folder / f"{name}.csv")
        horizon, samples = card["horizon"], card["samples"]
        results[name] = {
            "LSTM of neuralforecast": {"test": lstm(data, present, horizon, card["steps"], samples)},
            "AutoETS": {"test": auto_ets(data, present, horizon, SEASONS.get(name, 1), samples)},
        }
        print(name, results[name], flush=True)
        (HERE / "forecasters.json").write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
