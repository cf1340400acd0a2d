"""`compare` on public series and on made ones whose best forecast is known.

    pip install scikit-learn statsmodels sktime
    KERAS_BACKEND=jax python -m benchmarks.forecasts runs/forecasts

The folder keeps the data and the comparisons; a run that was stopped goes on. All rows go to
`benchmarks/forecasts.json`, from which the site makes a page, which is printed. It takes up to forty minutes.
"""

import argparse
import json
import pathlib

import numpy as np

from keras_rnn_compare import Comparison, cli

RESULTS = pathlib.Path(__file__).parent / "forecasts.json"
# What `benchmarks/forecasters.py` adds.
FORECASTERS = RESULTS.with_name("forecasters.json")
CELLS = ("--cells", "lstm,gru,low_rank_gru,mogrifier,min_gru", "--no-memory")
ROWS = 3000
PAGE = """\
# Forecasts of public and synthetic series

The public series are those of statsmodels and sktime. The synthetic ones have 3,000 hours each, and their best forecast
is known: a day and a week that repeat; a line; an autoregression whose sign changes every fiftieth hour on average; and
a level that a cue sets up to forty hours before. Each was compared with five cells, LSTM, GRU, low-rank GRU, Mogrifier
and minGRU, three seeds, for 3 minutes at most (the last one 6), on JAX, on one core beside other work. The figures are
RMSE on the test part, of what was best on validation; in bold, what `compare` recommends. The LSTM of neuralforecast
and the AutoETS of statsforecast have the same windows, horizons and parts, and their own defaults otherwise.

{table}

- **Synthetic ones.** A day and a week that repeat are best forecast by exponential smoothing, which knows nothing else,
  and nearly as well by an LSTM, row by row. On a line, all that can follow it are alike. What linear models and trees
  cannot express, an autoregression that changes its sign, and a product of what is remembered with what is known in
  advance, the cells find: they are about three quarters of the way from the linear model to the best possible. On the
  last one, the Mogrifier is ahead of the LSTM by more than noise, and is what is recommended.
- **Public ones.** Their validation parts have 13 to 304 windows, in which hardly a difference is more than noise. So
  mostly a baseline is recommended, also where a cell turned out better on test (CO₂, lynx), and the GRU on sunspots.
- **Intervals** hold 77 to 81 % and 92 to 97 % where the series stay as they were and there are three hundred windows or
  more to test: CO₂ and the synthetic ones. They hold 78 to 84 % and 99 % of El Niño and sunspots, with 94 and 37.
  Unemployment rose in 2008 as never before, and airline passengers vary more every year; there they hold much less than
  they should, and no choice on the validation part could have foreseen it. Nile, airline and lynx have 14 to 16 windows
  to test, which tell little. With fewer than 19 windows for validation, there is no interval of 95 %.

`python -m benchmarks.forecasts FOLDER` runs it ([program](forecasts.py)), and [`forecasters.py`](forecasters.py) the
other two. [All rows](forecasts.json), and [theirs](forecasters.json).
"""


def write(path, **columns):
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")


# Public series.


def sunspots(path):
    from statsmodels.datasets import sunspots

    data = sunspots.load_pandas().data
    write(path, time=data["YEAR"].astype(int), value=data["SUNACTIVITY"])


def co2(path):
    from statsmodels.datasets import co2

    data = co2.load_pandas().data
    write(path, time=data.index.strftime("%Y-%m-%d"), value=data["co2"].astype(object).where(data["co2"].notna(), ""))


def elnino(path):
    from statsmodels.datasets import elnino

    data = elnino.load_pandas().data
    months = [f"{int(year)}-{month:02d}" for year in data["YEAR"] for month in range(1, 13)]
    write(path, time=months, value=data.drop(columns="YEAR").to_numpy().ravel())


def unemployment(path):
    from statsmodels.datasets import macrodata

    data = macrodata.load_pandas().data
    quarters = [
        f"{int(year)}-{3 * int(quarter) - 2:02d}" for year, quarter in zip(data["year"], data["quarter"], strict=True)
    ]
    write(path, time=quarters, value=data["unemp"], inflation=data["infl"], interest=data["tbilrate"])


def nile(path):
    from statsmodels.datasets import nile

    data = nile.load_pandas().data
    write(path, time=data["year"].astype(int), value=data["volume"])


def airline(path):
    from sktime.datasets import load_airline

    data = load_airline()
    write(path, time=data.index.strftime("%Y-%m"), value=data)


def lynx(path):
    from sktime.datasets import load_lynx

    data = load_lynx()
    write(path, time=data.index.strftime("%Y"), value=data)


# Made ones. Each returns the RMSE of the best forecast that knows how the series was made.


def hours():
    return [f"{time}:00" for time in np.datetime64("2024-01-01T00", "h") + np.arange(ROWS)]


def seasonal(path):
    """A day and a week that repeat, and independent noise: at best, the noise remains."""
    rng = np.random.default_rng(1)
    day, week = 10 * rng.normal(size=24), 5 * rng.normal(size=168)
    write(path, time=hours(), value=(np.resize(day, ROWS) + np.resize(week, ROWS) + rng.normal(size=ROWS)).round(4))
    return 1.0


def trend(path):
    """A line, and independent noise: at best, the noise remains."""
    rng = np.random.default_rng(2)
    write(path, time=hours(), value=(0.01 * np.arange(ROWS) + rng.normal(size=ROWS)).round(4))
    return 1.0


def regimes(path):
    """An autoregression that is positive or negative, by a regime that changes every fiftieth row on average."""
    rng = np.random.default_rng(3)
    factor, change = 0.95, 0.02
    regime = np.cumsum(rng.random(ROWS) < change) % 2
    values = np.zeros(ROWS)
    for k in range(1, ROWS):
        values[k] = factor * (1 if regime[k] else -1) * values[k - 1] + rng.normal()
    write(path, time=hours(), value=values.round(4))
    # The probability of the regime by the rows so far, and the mean of both forecasts.
    positive, errors = 0.5, []
    for k in range(1, ROWS):
        before = positive * (1 - change) + (1 - positive) * change
        forecast = factor * values[k - 1] * (2 * before - 1)
        errors.append(values[k] - forecast)
        likely = [np.exp(-((values[k] - sign * factor * values[k - 1]) ** 2) / 2) for sign in (1, -1)]
        positive = before * likely[0] / (before * likely[0] + (1 - before) * likely[1])
    return float(np.sqrt(np.mean(np.square(errors[round(0.85 * ROWS) :]))))


def memory(path):
    """A level that a cue sets, up to forty rows before, times a sign that is known in advance, and noise."""
    rng = np.random.default_rng(4)
    starts = rng.random(ROWS) < 1 / 15
    for k in range(40, ROWS):
        starts[k] |= not starts[k - 39 : k].any()
    level = np.where(starts, rng.normal(size=ROWS), np.nan)
    cue = np.nan_to_num(level)
    held = np.zeros(ROWS)
    for k in range(1, ROWS):
        held[k] = held[k - 1] if np.isnan(level[k - 1]) else level[k - 1]
    sign = rng.choice([-1, 1], ROWS)
    write(path, time=hours(), cue=cue.round(4), sign=sign, value=(held * sign + 0.5 * rng.normal(size=ROWS)).round(4))
    return 0.5


# What makes each file, and the arguments of the command.
SMALL = ("--weights", "2000", "--minutes", "3")
PUBLIC = {
    "sunspots": (sunspots, "yearly", (*SMALL, "--horizon", "5")),
    "co2": (
        co2,
        "weekly",
        ("--weights", "5000", "--minutes", "3", "--horizon", "8", "--steps", "64", "--missing", "mask"),
    ),
    "elnino": (elnino, "monthly", (*SMALL, "--horizon", "12", "--steps", "24")),
    "unemployment": (unemployment, "quarterly", (*SMALL, "--horizon", "4", "--steps", "12")),
    "nile": (nile, "yearly", (*SMALL, "--horizon", "1", "--steps", "10")),
    "airline": (airline, "monthly", (*SMALL, "--horizon", "6", "--steps", "13")),
    "lynx": (lynx, "yearly", (*SMALL, "--horizon", "1", "--steps", "11")),
}
MADE = {
    "seasonal": (seasonal, "hourly", ("--weights", "5000", "--minutes", "3", "--horizon", "24", "--steps", "48")),
    "trend": (trend, "hourly", ("--weights", "5000", "--minutes", "3", "--horizon", "12", "--no-calendar")),
    "regimes": (regimes, "hourly", ("--weights", "5000", "--minutes", "3", "--steps", "32", "--no-calendar")),
    "memory": (
        memory,
        "hourly",
        ("--weights", "5000", "--minutes", "6", "--steps", "48", "--no-calendar", "--known", "sign"),
    ),
}


def kept(found, best):
    """Returns what is kept of a comparison."""
    names = ("data", "settings", "verdict", "winner", "tied", "baseline", "recommendation", "intervals", "notes")
    titles = {row["name"]: row["title"] for row in found.results["rows"]}
    more = {"table": found.table(), "winner title": titles[found.winner], "best": best}
    return {**{name: found.results[name] for name in names}, **more}


def line(name, result, others):
    """Returns the line of a comparison in the table: RMSE on the test part, and who was chosen on validation."""
    cells = [row for row in result["table"] if "units" in row]
    baselines = [row for row in result["table"] if "units" not in row]
    winner = next(row for row in cells if row["cell"] == result["winner title"])

    def shown(row, is_taken):
        error = f" ± {float(format(row['test error'], '.1g')):g}" if row.get("test error") else ""
        text = f"{row['cell'].partition(' (')[0]} {row['test']:.3g}{error}"
        return f"**{text}**" if is_taken else text

    by_baseline = result["verdict"] == "baseline"
    best = "" if result["best"] is None else f"{result['best']:.3g}"
    coverage = " / ".join(f"{each['coverage']:.0%}" for each in result["intervals"].values())
    theirs = [f"{others[each]['test']:.3g}" if each in others else "" for each in OTHERS]
    columns = [
        f"{name}, {result['data']['horizon']}",
        shown(baselines[0], by_baseline),
        shown(winner, not by_baseline),
        best,
        *theirs,
        coverage,
    ]
    return f"| {' | '.join(columns)} |"


OTHERS = ("LSTM of neuralforecast", "AutoETS")
HEAD = ("series, rows ahead", "best baseline", "cell", "best possible", *OTHERS, "within 80 / 95 %")


def page():
    """Returns the page of what was measured, in Markdown. Its links start from the folder of this file."""
    results, beside = (json.loads(file.read_text()) for file in (RESULTS, FORECASTERS))
    lines = [f"| {' | '.join(HEAD)} |", "| --- | --- | --- | ---: | ---: | ---: | --- |"]
    lines += [line(name, result, beside.get(name, {})) for name, result in results.items()]
    return PAGE.format(table="\n".join(lines))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="for the data and the comparisons")
    folder = parser.parse_args(argv).folder
    folder.mkdir(parents=True, exist_ok=True)
    results = {}
    for name, (make, frequency, arguments) in {**PUBLIC, **MADE}.items():
        path, output = folder / f"{name}.csv", folder / f"out_{name}"
        best = make(path)
        cli.main([str(path), "--target", "value", "--time", "time", *CELLS, *arguments, "--output", str(output)])
        results[name] = {**kept(Comparison(output), best), "frequency": frequency}
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    print(page())


if __name__ == "__main__":
    main()
