"""What `compare` says that it read, what it knows of times, and its baselines."""

import itertools
import json
import math
import re
import types

import numpy as np
import pandas as pd
import pytest

import keras_adaptive_rnn as kar
from keras_rnn_compare import commands
from keras_rnn_compare.cli import main
from keras_rnn_compare.models.candidates import ModelShape, offered
from keras_rnn_compare.reading import calendar, files
from keras_rnn_compare.reading import series as tables
from keras_rnn_compare.reading.data import PARTS, describe_source, from_arrays
from keras_rnn_compare.reporting import code
from keras_rnn_compare.scoring import baselines
from keras_rnn_compare.threads import one_thread

HOURS = np.datetime64("2024-01-01T00", "s") + np.arange(900) * np.timedelta64(1, "h")
DAILY = 50 + 20 * np.sin(2 * np.pi * np.arange(24) / 24) + np.random.default_rng(0).normal(size=24)


def table(folder, **columns):
    """Writes a table of columns, and returns its path."""
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    path = folder / "table.csv"
    path.write_text("\n".join(lines))
    return path


def hourly(folder, values=None, **columns):
    """Writes an hourly series, whose days are alike unless there are `values`."""
    values = np.resize(DAILY, len(HOURS)) if values is None else values
    return table(folder, time=HOURS[: len(values)], load=np.asarray(values).tolist(), **columns)


def read(path, **arguments):
    return files.read(path, **{"target": "load", "time": "time", "steps": 6, **arguments})


def rows(data):
    return {row["name"]: row for row in baselines.baseline_rows(data)}


def forecasts(data, maker, part="test"):
    """Returns what a baseline forecasts, in the unit of the target."""
    return maker(data)[1](part, np.arange(len(data.x[part]))) * data.deviation + data.mean


# Times.


@pytest.mark.parametrize(
    ("times", "name", "seasons"),
    [
        (HOURS, "hourly", [24, 168]),
        (HOURS[::2], "every 2 hours", [12, 84]),
        (HOURS[::24], "daily", [7, 365]),
        (np.datetime64("2024-01-01", "s") + np.arange(99) * np.timedelta64(15, "m"), "every 15 minutes", [96, 672]),
        (np.arange("2024-01-01", "2025-02-24", 7, "datetime64[D]"), "weekly", [52]),
        (np.arange("2020-01", "2025-01", dtype="datetime64[M]"), "monthly", [12]),
        (
            np.arange("2020-02", "2025-02", dtype="datetime64[M]").astype("datetime64[D]") - np.timedelta64(1, "D"),
            "monthly",
            [12],
        ),
        (np.arange("2020-01", "2025-01", 3, "datetime64[M]").astype("datetime64[D]"), "quarterly", [4]),
        (np.arange("1990", "2010", dtype="datetime64[Y]").astype("datetime64[D]"), "yearly", []),
        (np.busday_offset("2024-01-01", np.arange(60)), "every business day", [5]),
        (np.arange(60) / 50, "every 0.02", []),
        (np.arange(60) ** 2, "irregular, usually 59 apart", []),
    ],
)
def test_frequencies(tmp_path, times, name, seasons):
    path = table(tmp_path, time=times, load=np.random.default_rng(0).permutation(len(times)))
    of_file = files.Table(path, files.ReadOptions("load", "time", steps=4))
    found = calendar.frequency_of(of_file.moments, [np.arange(len(times))])
    assert (found.name, found.seasons()) == (name, seasons)
    if found.ticks is not None:
        np.testing.assert_array_equal(found.ticks, np.arange(len(times)))
        if of_file.moments.dates is not None:
            # A month later than the 31st, and than the 29th of February where all dates are such, is the end of one.
            for place in (0, 1):
                begin = np.repeat(of_file.moments.dates[place : place + 1], len(times))
                later = found.later(begin, found.ticks - place)
                np.testing.assert_array_equal(later, of_file.moments.dates)


def test_the_calendar_of_known_dates():
    dates = np.array(["2024-01-01T06:00", "2023-07-02T12:00", "2024-02-29T18:00"], "datetime64[s]")
    found, too_long = calendar.cycles(dates, 3600, 2 * calendar.YEAR)
    assert too_long == []
    np.testing.assert_allclose(found["hour (sine)"], [1, 0, -1], atol=1e-12)
    np.testing.assert_allclose(found["hour (cosine)"], [0, -1, 0], atol=1e-12)
    # A Monday, a Sunday and a Thursday.
    weekdays = 2 * np.pi * np.array([0, 6, 3]) / 7
    np.testing.assert_allclose(found["weekday (sine)"], np.sin(weekdays), atol=1e-12)
    # 182 days after the first of 365, and 59 after the first of 366.
    days = 2 * np.pi * np.array([0, 182 / 365, 59 / 366])
    np.testing.assert_allclose(found["day of the year (cosine)"], np.cos(days), atol=1e-12)


@pytest.mark.parametrize(
    ("seconds", "names"),
    [
        (3600, ["hour", "weekday", "day of the year"]),
        (86400, ["weekday", "day of the year"]),
        (calendar.MONTH, ["day of the year"]),
        (calendar.YEAR, []),
        (np.nan, []),
    ],
)
def test_the_calendar_has_the_cycles_of_the_frequency(seconds, names):
    found, _ = calendar.cycles(HOURS, seconds, 2 * calendar.YEAR)
    assert list(dict.fromkeys(name.rpartition(" (")[0] for name in found)) == names
    # Of a year, half of which no model has seen, nothing is said.
    found, too_long = calendar.cycles(HOURS, seconds, calendar.YEAR / 2)
    assert too_long == names[-1:]


def test_hours_are_those_of_the_clock_on_the_wall(tmp_path):
    dates = [f"2024-03-31T{hour:02d}:00:00{zone}" for hour, zone in ((1, "+01:00"), (3, "+02:00"), (4, "+02:00"))]
    path = table(tmp_path, time=dates, load=[1, 2, 3])
    moments = files.Table(path, files.ReadOptions("load", "time", steps=4)).moments
    assert [str(date) for date in moments.dates] == [date[:19] for date in dates]
    np.testing.assert_array_equal(moments.values, [0, 3600, 7200])


@pytest.mark.parametrize(("freq", "name", "seasons"), [("D", "daily", [7, 365]), ("W", "weekly", [52])])
def test_days_are_those_of_the_clock_on_the_wall(tmp_path, freq, name, seasons):
    times = pd.date_range("2024-01-07", periods=90, freq=freq, tz="Europe/Berlin")
    path = table(tmp_path, time=[str(time) for time in times], load=np.arange(90) % 7)
    read = files.Table(path, files.ReadOptions("load", "time", steps=4))
    assert {str(time)[-6:] for time in times} == {"+01:00", "+02:00"}
    found = calendar.frequency_of(read.moments, [np.arange(90)])
    assert (found.name, found.seasons()) == (name, seasons)
    np.testing.assert_array_equal(found.ticks, np.arange(90))
    again = calendar.frequency_again(**found.card(), moments=read.moments, series=[np.arange(90)])
    np.testing.assert_array_equal(again.ticks, np.arange(90))


def test_parts_of_a_second_are_no_days(tmp_path):
    path = table(tmp_path, time=[f"2024-01-07T00:00:00.{part}" for part in range(10)], load=np.arange(10))
    moments = files.Table(path, files.ReadOptions("load", "time", steps=4)).moments
    assert calendar.frequency_of(moments, [np.arange(10)]).name == "every 0.1 seconds"


def test_seasons_are_found_and_trends_are_none():
    rng = np.random.default_rng(0)
    rows = np.arange(1000)
    for season, candidates in ((24, [24, 168]), (168, [24, 168]), (11, []), (7, [7, 365])):
        pattern = rng.normal(size=season)
        wave = np.resize(pattern, 1000) + 0.5 * rng.normal(size=1000)
        assert calendar.season_of([wave], candidates) == season
        assert calendar.season_of([wave + 0.1 * rows], candidates) == season
        with_gaps = np.where(rng.random(1000) < 0.1, np.nan, wave)
        assert calendar.season_of([with_gaps[:500], with_gaps[500:]], candidates) == season
    nothing = [
        calendar.season_of([series], candidates)
        for candidates in ([], [24, 168])
        for series in (rows * 1.0, rng.normal(size=1000), rng.normal(size=1000).cumsum(), np.ones(1000), np.ones(3))
    ]
    assert nothing.count(None) == len(nothing)


# What was read.


def test_it_says_what_it_read(tmp_path):
    shops = np.repeat(["a", "b"], 100)
    path = table(
        tmp_path,
        time=[*HOURS[:100], *HOURS[:100]],
        load=np.random.default_rng(0).normal(size=200),
        shop=shops,
        size=np.where(shops == "a", 3, 4),
        holiday=np.arange(200) % 3,
        one=np.ones(200),
        step=np.arange(200) % 100 * 0.5,
        sent=np.datetime64("2020-01-01") + np.arange(200, dtype="timedelta64[D]"),
        other=np.arange(200) % 5,
    )
    data = read(path, group="shop", known=["holiday"], horizon=2)
    said = data.card["read"]
    assert said["rows"] == "200 in 2 series"
    assert said["columns"] == {
        "time": "time",
        "load": "target, whose past is read",
        "shop": "name of the series",
        "size": "feature, constant in each series",
        "holiday": "known in advance",
        "one": "feature, constant",
        "step": "left out: it counts up evenly, as a clock does; --columns would include it",
        "sent": "left out: it holds dates, as a clock does; --time sent would order the rows by it",
        "other": "feature",
    }
    assert said["times"] == "hourly, 2024-01-01T00:00:00 to 2024-01-05T03:00:00, no gaps"
    assert said["task"] == "forecast: 'load' holds numbers"
    assert said["horizon"] == "the next 2 rows"
    assert said["calendar"].startswith("hour; not the weekday, day of the year")
    assert said["validation"] == "26 windows, to predict 2024-01-04T00:00:00 to 2024-01-04T13:00:00"
    assert "size: feature, constant in each series" in describe_source(said)
    assert data.card["columns"][-3:] == ["holiday", "hour (sine)", "hour (cosine)"]
    assert "step" in read(path, group="shop", columns=["step"]).card["columns"]
    assert read(path, group="shop", columns=["size"]).card["read"]["columns"]["other"].startswith("left out: --columns")


def test_the_code_says_which_rows_it_needs(tmp_path):
    path = table(tmp_path, time=HOURS, load=np.sin(np.arange(900)), holiday=np.arange(900) % 3)
    data = read(path, known=["holiday"], horizon=2)
    said = code.lines(learner_of(data), 0.003, 100, tmp_path, "load.csv")
    assert "\n# The file must also hold the next 2 rows, with holiday.\nfound = " in said
    assert "found.predict('load.csv'):" in said
    compile(said, "code", "exec")


def test_the_code_reads_decimal_commas_again(tmp_path, capsys):
    path = table(tmp_path, time=HOURS, load=np.sin(np.arange(900)))
    path.write_text(path.read_text().replace(",", ";").replace(".", ","))
    data = read(path, decimal=",")
    said = code.lines(learner_of(data), 0.003, 100, tmp_path, "load.csv")
    assert "found.predict('load.csv', decimal=\",\"):" in said
    compile(said, "code", "exec")
    results = {"data": {"kind": "series", **data.card}}
    commands.show(types.SimpleNamespace(text=str, code=said, path=tmp_path, results=results), wide=False)
    assert capsys.readouterr().out.endswith(f"predict {tmp_path} DATA --decimal ,\n")


def learner_of(data):
    return types.SimpleNamespace(
        data=data,
        shape=ModelShape(data.x["train"].shape[-1], data.vocabulary, data.outputs, 1),
        candidate=offered()["gru"],
        units=4,
        recurrent=[kar.GRU(4)],
        batch_size=32,
    )


def test_dates_that_order_nothing_are_doubtful(tmp_path):
    path = table(tmp_path, time=HOURS[::-1], load=np.arange(900) % 7)
    with pytest.raises(ValueError, match=r"do not ascend, such as .* in row 2 \(line 3\): --time time orders"):
        read(path, time=None)
    read(path, time=None, columns=["load"])
    path = table(tmp_path, time=HOURS, load=np.arange(900) % 7)
    assert read(path, time=None).card["columns"] == ["load"]


def test_nothing_but_clocks_is_nothing_to_learn_from(tmp_path):
    path = table(tmp_path, t=np.arange(90), kind=np.resize(["up", "down"], 90))
    with pytest.raises(ValueError, match="no column to learn from beside kind: t are left out, and --columns"):
        read(path, target="kind", time=None)


# What is known in advance.


@pytest.mark.parametrize("horizon", [1, 5])
def test_each_step_shows_what_is_known_of_the_row_a_horizon_later(tmp_path, horizon):
    values = np.random.default_rng(0).normal(size=300)
    place = np.random.default_rng(1).permutation(300)
    data = read(hourly(tmp_path, values, place=place), horizon=horizon, known=["place"])
    assert data.card["columns"] == [
        "load",
        "place",
        "hour (sine)",
        "hour (cosine)",
        "weekday (sine)",
        "weekday (cosine)",
    ]
    assert data.card["known"] == data.card["columns"][1:]
    hours = calendar.cycles(HOURS, 3600, calendar.WEEK)[0]["hour (cosine)"]
    for part in PARTS:
        for x, end in zip(data.x[part], data.series.ends[part], strict=True):
            seen = np.arange(end - 5, end + 1)
            np.testing.assert_allclose(x[:, 0], values[seen], rtol=1e-6)
            np.testing.assert_array_equal(x[:, 1], place[seen + horizon])
            np.testing.assert_allclose(x[:, 3], hours[seen + horizon], atol=1e-6)
    without = read(hourly(tmp_path, values), horizon=horizon, calendar=False)
    assert without.card["columns"] == ["load"]
    assert without.card["read"]["calendar"] == "none: --no-calendar"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"known": ["price"]}, "--known must be one of the columns"),
        ({"known": ["load"]}, "'load' is what to forecast"),
        ({"known": ["time"]}, "'time' is --time or --group"),
        ({"known": ["kind"]}, "column 'kind' has 'up', which is not a plain number"),
        ({"known": ["place", "place"]}, "--known must name each column once"),
        ({"target": "kind", "known": ["place"]}, "--known is for forecasts"),
        ({"missing": "mean"}, "--missing must be one of refuse, interpolate, drop, mask, and is 'mean'"),
    ],
)
def test_options_that_do_not_fit(tmp_path, given, says):
    path = hourly(tmp_path, np.arange(300) % 7, place=np.arange(300) % 3, kind=np.resize(["up", "down"], 300))
    with pytest.raises(ValueError, match=says):
        read(path, **given)


def test_options_of_tables_are_refused_elsewhere(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("text")
    for given in ({"missing": "mask"}, {"known": ["a"]}, {"calendar": False}):
        with pytest.raises(ValueError, match=r"--(missing|known|no-calendar) is for tables"):
            files.read(path, **given)


# What is missing.

GAPS = [40, 41, 90, 250]


def with_gaps(folder, by="", other=False):
    """Writes an hourly series that lacks some values, or some rows if `by` is `None`."""
    values = np.random.default_rng(0).normal(size=300)
    lines = [
        f"{time},{by if row in GAPS else value},{row % 4}"
        for row, (time, value) in enumerate(zip(HOURS[:300], values.tolist(), strict=True))
        if by is not None or row not in GAPS
    ]
    path = folder / "gaps.csv"
    path.write_text("\n".join(["time,load,place", *lines]))
    return path, values


@pytest.mark.parametrize("by", ["", "NA", "n/a", "?"])
def test_what_is_missing_is_refused_with_a_way_out(tmp_path, by):
    path, _ = with_gaps(tmp_path, by)
    with pytest.raises(ValueError, match=r"in row 41 \(line 42\).*--missing interpolate, drop or mask"):
        read(path, task=None if by else "forecast")


def test_rows_that_are_missing_are_refused_with_a_way_out(tmp_path):
    path, _ = with_gaps(tmp_path, None)
    says = r"'time' is hourly, and lacks 2 rows after '2024-01-02T15:00:00' in row 40 \(line 41\), and has 2 more gaps"
    with pytest.raises(ValueError, match=rf"{says}: --missing interpolate .* mask .* drop"):
        read(path)


@pytest.mark.parametrize("by", ["n/a", None])
def test_gaps_are_interpolated_but_end_no_window(tmp_path, by):
    path, values = with_gaps(tmp_path, by)
    data = read(path, missing="interpolate", columns=["load"], calendar=False)
    known = np.setdiff1d(np.arange(300), GAPS)
    expected = np.interp(np.arange(300), known, values[known])
    for part in PARTS:
        ends = data.series.ends[part]
        np.testing.assert_allclose(data.x[part][..., 0], expected[ends[:, None] + np.arange(-5, 1)], rtol=1e-5)
        assert not np.isin(ends, GAPS).any()
        assert not np.isin(ends + 1, GAPS).any()
    assert sum(map(len, data.series.ends.values())) == 294 - len({row - k for row in GAPS for k in (0, 1)})
    assert any("interpolated" in line for line in describe_source(data.card["read"]))


@pytest.mark.parametrize("by", ["n/a", None])
def test_gaps_are_masked(tmp_path, by):
    path, values = with_gaps(tmp_path, by)
    data = read(path, missing="mask", columns=["load"], calendar=False)
    assert data.card["columns"] == ["load", "load is missing"]
    last = values.copy()
    last[[40, 41, 90, 250]] = values[[39, 39, 89, 249]]
    for part in PARTS:
        windows = data.series.ends[part][:, None] + np.arange(-5, 1)
        gaps = np.isin(windows, GAPS)
        np.testing.assert_array_equal(data.x[part][..., 1], gaps)
        np.testing.assert_allclose(data.x[part][..., 0], last[windows], rtol=1e-5)
        assert not np.isin(data.series.ends[part] + 1, GAPS).any()
    assert data.card["notes"] == ["left out: 4 of 294 windows, whose target is missing"]


@pytest.mark.parametrize("by", ["n/a", None])
def test_gaps_are_closed_up(tmp_path, by):
    path, values = with_gaps(tmp_path, by)
    data = read(path, missing="drop", columns=["load"], calendar=False)
    kept = np.delete(values, GAPS)
    for part in PARTS:
        windows = data.series.ends[part][:, None] + np.arange(-5, 1)
        np.testing.assert_allclose(data.x[part][..., 0], kept[windows], rtol=1e-5)
    # What was a day before is told by the time, not by the number of rows.
    data.series.season = 24
    ends = data.series.ends["test"]
    places = np.delete(np.arange(300), GAPS)
    days = places[ends + 1] - 24
    found = baselines.Past(data).a_season_ago(ends)[:, 0]
    np.testing.assert_allclose(found, np.where(np.isin(days, GAPS), kept[ends], values[days]))


def test_before_the_first_value_of_a_series_stands_the_mean(tmp_path):
    shops = np.repeat(["a", "b"], 60)
    other = np.where(np.arange(120) % 60 < 3, "", np.where(shops == "a", 1, 5))
    path = table(
        tmp_path, time=np.tile(HOURS[:60], 2), load=np.random.default_rng(0).normal(size=120), shop=shops, other=other
    )
    x = read(path, group="shop", missing="mask", calendar=False).x["train"]
    np.testing.assert_array_equal(x[0, :, 2], [1, 1, 1, 0, 0, 0])
    np.testing.assert_array_equal(x[0, :, 0], [3, 3, 3, 1, 1, 1])


def test_a_mask_that_training_never_shows_is_no_feature(tmp_path):
    values = [str(value) for value in np.random.default_rng(0).normal(size=300)]
    values[290] = ""
    lines = [f"{time},{value}" for time, value in zip(HOURS, values, strict=False)]
    path = tmp_path / "late.csv"
    path.write_text("\n".join(["time,load", *lines]))
    assert read(path, missing="mask", calendar=False).card["columns"] == ["load"]


def test_what_is_constant_in_a_series_is_known_where_a_row_is_missing(tmp_path):
    kept = np.delete(np.arange(120), [20, 90])
    shops = np.repeat(["a", "b"], 60)
    path = table(
        tmp_path,
        time=np.tile(HOURS[:60], 2)[kept],
        load=np.random.default_rng(0).normal(size=118),
        shop=shops[kept],
        size=np.where(shops == "a", 3, 4)[kept],
    )
    data = read(path, group="shop", missing="mask", calendar=False)
    assert data.card["columns"] == ["size", "load", "load is missing"]
    assert (data.x["train"][..., 0] == data.x["train"][:, :1, 0]).all()


def test_a_missing_class_is_no_goal(tmp_path):
    kinds = [("up", "down", "")[row % 3] for row in range(300)]
    path = hourly(tmp_path, np.random.default_rng(0).normal(size=300), kind=kinds)
    with pytest.raises(ValueError, match="no class in row 3"):
        read(path, target="kind")
    data = read(path, target="kind", missing="mask")
    assert data.classes.tolist() == ["down", "up"]
    assert sum(map(len, data.y.values())) == 196
    assert sum(map(len, read(path, target="kind", missing="drop").y.values())) == 195


@pytest.mark.parametrize("missing", ["interpolate", "mask"])
def test_whole_series_with_gaps_are_classified(tmp_path, missing):
    # The series lack a row each, and one row has no class.
    times, values = [0, 1, 2, 4, 5, 6, 7, 8], [0.0, 1, 3, 5, 7, 7, 8, 8]
    people = np.repeat([f"p{k}" for k in range(60)], 8)
    kinds = np.where(np.arange(480) // 8 % 2, "up", "down").astype(object)
    kinds[9] = "NA"
    path = table(tmp_path, time=np.tile(times, 60), ax=np.tile(values, 60), person=people, kind=kinds)
    data = files.read(path, "kind", "time", "person", missing=missing)
    assert sum(map(len, data.y.values())) == 60
    filled = [[0, 1, 3, 4 if missing == "interpolate" else 3, 5, 7, 7, 8, 8]]
    filled += [] if missing == "interpolate" else [[0, 0, 0, 1, 0, 0, 0, 0, 0]]
    for x in data.x["train"]:
        np.testing.assert_array_equal(x.T, filled)
    with pytest.raises(ValueError, match="--missing drop leaves such rows out"):
        files.read(path, "kind", "time", "person")


def test_lines_through_gaps_follow_irregular_times(tmp_path):
    times = np.random.default_rng(0).integers(1, 100, 200).cumsum()
    values = np.sqrt(times)
    path = table(tmp_path, time=times, load=["" if row in GAPS else value for row, value in enumerate(values)])
    data = read(path, missing="interpolate", differences="no")
    kept = np.setdiff1d(np.arange(200), GAPS)
    expected = np.interp(times, times[kept], values[kept])
    np.testing.assert_allclose(data.x["train"][:, 0, 0], expected[data.series.ends["train"] - 5], rtol=1e-6)


def test_a_time_far_away_is_no_gap_to_fill(tmp_path):
    times = [*HOURS[:200], np.datetime64("2204-01-01T00:00:00")]
    path = table(tmp_path, time=times, load=np.arange(201) % 7)
    with pytest.raises(ValueError, match="more than there are rows: check the times"):
        read(path, missing="mask")


@pytest.mark.parametrize("missing", ["interpolate", "mask", "drop"])
def test_nothing_of_the_future_is_read(tmp_path, missing):
    """What comes after a window may change: neither its inputs nor its forecasts do."""
    rng = np.random.default_rng(0)
    values = np.resize(DAILY, 400) + rng.normal(size=400)
    other = rng.normal(size=400)
    gone = rng.random((2, 400)) < 0.05
    found = []
    for change in (0, 1000):
        later = np.arange(400) > 370
        columns = (
            np.where(gone[0], np.nan, values + change * later),
            np.where(gone[1], np.nan, other + change * later),
        )
        path = table(tmp_path, time=HOURS[:400], load=columns[0], other=columns[1])
        found.append(read(path, missing=missing, horizon=3))
    one, two = found
    np.testing.assert_array_equal(one.series.ends["test"], two.series.ends["test"])
    places = np.arange(400) if missing != "drop" else np.flatnonzero(~gone.any(axis=0))
    before = places[one.series.ends["test"]] <= 370
    assert 5 < before.sum() < len(before)
    np.testing.assert_array_equal(one.x["test"][before], two.x["test"][before])
    makers = [baselines.last_value, baselines.seasonal, baselines.drift, baselines.linear]
    makers += [baselines.trees] if baselines.installed("sklearn") else []
    makers += [baselines.exponential_smoothing, baselines.theta] if baselines.installed("statsmodels") else []
    for maker in makers:
        outputs = [maker(data)[1]("test", np.arange(len(data.x["test"]))) for data in found]
        assert np.isfinite(outputs[1]).all()
        np.testing.assert_allclose(outputs[0][before], outputs[1][before], rtol=1e-9, err_msg=maker.__name__)
        assert maker is baselines.drift or not np.allclose(outputs[0], outputs[1])


# Changes.


def test_a_series_that_leaves_its_levels_is_forecast_by_its_changes(tmp_path):
    rng = np.random.default_rng(0)
    values = 0.1 * np.arange(400) + rng.normal(size=400)
    values[50] = np.nan
    path = hourly(tmp_path, values)
    data = read(path, horizon=3, calendar=False, missing="mask")
    said = "models read and forecast"
    assert data.card["read"][said].startswith("changes of the target: it has left the levels")
    last = np.where(np.isnan(values), values[49], values)
    for part in PARTS:
        ends = data.series.ends[part]
        seen = ends[:, None] + np.arange(-5, 1)
        expected = np.where(seen > 0, last[seen] - last[np.maximum(seen - 1, 0)], 0)
        np.testing.assert_allclose(data.x[part][..., 0], expected, atol=1e-5)
        goals = data.y[part] * data.deviation + data.mean
        np.testing.assert_allclose(goals, values[data.series.goals(ends)] - last[ends][:, None], atol=1e-4)
    levels = read(path, horizon=3, calendar=False, missing="mask", differences="no")
    assert levels.card["read"][said] == "the target as it is, because of --differences no"
    # The baselines have the same forecasts, and errors, but for what is learnt.
    for name in ("last_value", "drift"):
        ours, theirs = rows(data)[name], rows(levels)[name]
        np.testing.assert_allclose(ours["test"], theirs["test"], rtol=1e-4)
        np.testing.assert_allclose(ours["figures"]["MAE"], theirs["figures"]["MAE"], rtol=1e-4)
    assert rows(data)["linear"]["test"][0] < 1.3


@pytest.mark.parametrize("values", [np.resize(DAILY, 600), np.random.default_rng(0).normal(size=600)])
def test_a_series_that_keeps_its_levels_is_forecast_as_it_is(tmp_path, values):
    assert read(hourly(tmp_path, values)).card["read"]["models read and forecast"] == "the target as it is"
    assert read(hourly(tmp_path, values), differences="yes").series.origin is not None


def test_a_straight_line_is_forecast_by_changes_if_these_differ(tmp_path):
    line = 0.1 * np.arange(600)
    data = read(hourly(tmp_path, line), horizon=3, calendar=False)
    assert data.series.origin is not None
    # Each next row is as far from the last one as any other, so a model of it has nothing to learn.
    assert data.one_step is None
    data = read(hourly(tmp_path, line), calendar=False)
    assert data.series.origin is None
    assert any("changes by the same number" in note for note in data.card["notes"])
    with pytest.raises(ValueError, match=r"column 'load' must vary: .* Received: 0\.1 in each of"):
        read(hourly(tmp_path, line), calendar=False, differences="yes")


# Forecasts.


@pytest.mark.parametrize("horizon", [1, 24, 30])
def test_a_season_is_repeated_exactly(tmp_path, horizon):
    data = read(hourly(tmp_path), horizon=horizon)
    assert data.series.season == 24
    row = rows(data)["seasonal"]
    assert row["title"] == "seasonal naive (24 rows)"
    assert row["validation"][0] < 1e-5
    assert row["test"][0] < 1e-5
    np.testing.assert_allclose(np.mean(row["contributions"][0]), row["validation"][0], atol=1e-5)


def test_a_season_that_a_series_has_not_seen_is_its_last_value(tmp_path):
    shops = np.repeat([f"s{k}" for k in range(10)], 90)
    days = np.tile(HOURS[:90], 10)
    path = table(tmp_path, time=days, load=np.tile(np.resize(DAILY, 90), 10), shop=shops)
    data = read(path, group="shop", split="group")
    ends = data.series.ends["test"]
    found = baselines.Past(data).a_season_ago(ends)[:, 0]
    values, place = data.series.values, ends % 90
    np.testing.assert_array_equal(found, np.where(place >= 23, values[np.maximum(ends - 23, 0)], values[ends]))


def test_the_last_value_and_the_drift(tmp_path):
    values = np.arange(300.0) ** 1.5
    values[0] = 5
    data = read(hourly(tmp_path, values), horizon=4, differences="no")
    ends = data.series.ends["test"][:, None]
    ahead = np.arange(1, 5)
    np.testing.assert_allclose(forecasts(data, baselines.last_value), np.repeat(values[ends], 4, axis=1))
    np.testing.assert_allclose(forecasts(data, baselines.drift), values[ends] + ahead * (values[ends] - 5) / ends)
    score = rows(data)["last_value"]["test"][0]
    np.testing.assert_allclose(score, np.sqrt(np.mean((values[ends + ahead] - values[ends]) ** 2)), rtol=1e-5)


@pytest.mark.parametrize("penalty", [1e-6, 0.1])
def test_ridge_is_the_solution_of_its_equations(penalty):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4)) * [1, 10, 1e-3, 0] + [5, 1e4, 0, 7]
    y = x[:, :2] @ rng.normal(size=(2, 2)) + rng.normal(size=(200, 2))
    moments = (200, x.sum(0), y.sum(0), x.T @ x, x.T @ y)
    coefficients, intercept = baselines.ridge(moments, penalty)
    z = (x[:, :3] - x[:, :3].mean(0)) / x[:, :3].std(0)
    expected = np.linalg.solve(z.T @ z + 200 * penalty * np.eye(3), z.T @ (y - y.mean(0)))
    np.testing.assert_allclose(x @ coefficients + intercept, z @ expected + y.mean(0), rtol=1e-6)
    np.testing.assert_array_equal(coefficients[3], 0)


def test_the_linear_model_finds_a_linear_rule(tmp_path):
    rng = np.random.default_rng(0)
    known = rng.integers(2, size=400)
    values = np.zeros(400)
    for row in range(2, 400):
        values[row] = 1.2 * values[row - 1] - 0.6 * values[row - 2] + 3 * known[row] + 0.01 * rng.normal()
    data = read(hourly(tmp_path, values, known=known), known=["known"])
    assert rows(data)["linear"]["test"][0] < 0.012
    assert rows(read(hourly(tmp_path, values)))["linear"]["test"][0] > 1


def test_each_row_of_a_horizon_has_what_is_known_of_it(tmp_path):
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    known = rng.integers(2, size=900)
    values = 3.0 * known + 0.01 * rng.normal(size=900)
    found = rows(read(hourly(tmp_path, values, known=known), known=["known"], horizon=5))
    assert found["linear"]["test"][0] < 0.012
    assert found["trees"]["test"][0] < 0.1
    assert found["last_value"]["test"][0] > 1
    with pytest.raises(ValueError, match="--steps must be --horizon at least, 7, and is 6"):
        read(hourly(tmp_path, values, known=known), known=["known"], horizon=7)
    assert read(hourly(tmp_path, values, known=known), known=["known"], horizon=40, steps=None).card["steps"] == 40


def test_a_horizon_of_two_parts_is_left_out(tmp_path):
    data = read(hourly(tmp_path, np.random.default_rng(0).normal(size=300)), horizon=10)
    goals = {part: data.series.goals(data.series.ends[part]) for part in PARTS}
    assert goals["train"].max() < goals["validation"].min()
    assert goals["validation"].max() < goals["test"].min()
    assert data.card["notes"] == ["left out: 18 windows whose 10 rows to forecast are of two parts"]
    assert sum(map(len, goals.values())) + 18 == 300 - 6 - 9


def test_folds_test_behind_earlier_cuts(tmp_path):
    path = hourly(tmp_path, np.random.default_rng(0).normal(size=500))
    data = read(path, horizon=4, folds=3)
    cuts = [*data.earlier, data]
    assert len(cuts) == 3
    goals = [{part: cut.series.goals(cut.series.ends[part]) for part in PARTS} for cut in cuts]
    for before, after in itertools.pairwise(goals):
        # What one cut tests, the next one judges by.
        np.testing.assert_allclose(before["test"].max(), after["validation"].max(), atol=1)
        assert before["train"].max() < after["train"].max()
        assert before["test"].max() < after["test"].min()
    for cut, of_cut in zip(cuts, goals, strict=True):
        assert of_cut["train"].max() < of_cut["validation"].min()
        assert of_cut["validation"].max() < of_cut["test"].min()
        # What comes later is not known.
        values = cut.series.values[: of_cut["train"].max() + 1]
        np.testing.assert_allclose(cut.mean, np.mean(values[goals_of(cut)]), atol=1e-6)
    one = read(path, horizon=4)
    assert one.fingerprint() == data.fingerprint()
    with pytest.raises(ValueError, match="--folds must be 4 at most, and is 5"):
        read(path, folds=5)
    shops = table(tmp_path, time=np.tile(HOURS[:90], 9), load=np.arange(810) % 7, shop=np.repeat(np.arange(9), 90))
    with pytest.raises(ValueError, match="--folds is for forecasts that are divided by time, and is 2"):
        read(shops, group="shop", split="group", folds=2)


def test_baselines_of_a_short_series_are_ranked_at_earlier_origins_too(tmp_path, monkeypatch):
    data = read(hourly(tmp_path, np.random.default_rng(0).normal(size=500)), horizon=4)
    fitted = baselines.fit(data)
    found = baselines.at_origins(data, fitted, math.inf)
    assert len(data.origins) == 3
    for k, origin in enumerate(data.origins):
        scores = {name: row["validation"][0] for name, row in rows(origin).items() if name in found}
        assert {name: of_name[k] for name, of_name in found.items()} == scores
        # What is forecast there comes before what is forecast by the cut after it.
        later = (data, *data.origins)[k].series
        assert origin.series.goals(origin.series.ends["validation"]).max() < later.goals(later.ends["test"]).min()
    # Without time for one of them, by none; all have the same.
    assert set(map(tuple, baselines.at_origins(data, fitted, 0).values())) == {()}
    assert len(set(map(len, baselines.at_origins(data, fitted, 0.05).values()))) == 1
    # A series that did not vary yet has none, nor one of which one cut has enough windows.
    calm = np.concatenate([np.zeros(300), np.random.default_rng(0).normal(size=200)])
    assert read(hourly(tmp_path, calm), horizon=4).origins == []
    monkeypatch.setattr(tables, "MANY_WINDOWS", 10)
    assert read(hourly(tmp_path, np.random.default_rng(0).normal(size=500)), horizon=4).origins == []


def goals_of(data):
    return data.series.goals(data.series.ends["train"])


def test_long_windows_are_read_in_part():
    x = np.random.default_rng(0).normal(size=(60, 300, 4))
    data = from_arrays(x, x[:, -1, 0])
    row = rows(data)["linear"]
    assert row["title"] == "linear (ridge, 100 of 300 steps)"
    assert row["test"][0] < rows(data)["mean"]["test"][0]


def test_trees_follow_a_trend(tmp_path):
    pytest.importorskip("sklearn")
    values = np.arange(300.0) + np.random.default_rng(0).normal(size=300) * 0.1
    assert rows(read(hourly(tmp_path, values)))["trees"]["test"][0] < 1


@pytest.mark.parametrize("horizon", [1, 30])
def test_exponential_smoothing_forecasts_as_statsmodels_does(tmp_path, horizon):
    smoothing = pytest.importorskip("statsmodels.tsa.exponential_smoothing.ets")
    values = np.resize(DAILY, 400) + np.random.default_rng(0).normal(size=400)
    data = read(hourly(tmp_path, values), horizon=horizon)
    title, forecast = baselines.exponential_smoothing(data)
    assert title == "exponential smoothing (ETS: level, season of 24)"
    ends = data.series.ends
    options = {"seasonal": "add", "seasonal_periods": 24, "initialization_method": "heuristic"}
    fitted = smoothing.ETSModel(values[: ends["train"].max() + horizon + 1], **options).fit(disp=False)
    for k in (0, 20):
        of_past = smoothing.ETSModel(values[: ends["test"][k] + 1], **options).smooth(fitted.params)
        found = forecast("test", np.arange(len(data.x["test"])))[k] * data.deviation + data.mean
        np.testing.assert_allclose(found, of_past.forecast(horizon), rtol=1e-6)


@pytest.mark.parametrize("horizon", [1, 30])
@pytest.mark.parametrize("level", [100, 0])
@pytest.mark.parametrize("season", [24, None])
def test_theta_forecasts_as_statsmodels_does(tmp_path, horizon, level, season):
    models = pytest.importorskip("statsmodels.tsa.forecasting.theta")
    rng = np.random.default_rng(0)
    # Factors of a season where all is positive, else terms.
    values = np.resize(DAILY - 50, 400) * (season is not None) + level + 0.05 * np.arange(400) + rng.normal(size=400)
    data = read(hourly(tmp_path, values), horizon=horizon)
    data.series.season = season
    title, forecast = baselines.theta(data)
    assert title == ("theta (season of 24)" if season else "theta")
    end = data.series.ends["train"].max() + horizon
    given = {"period": season, "deseasonalize": season is not None, "use_test": False}
    expected = models.ThetaModel(values[: end + 1], **given).fit().forecast(horizon)
    assert (season is None) or models.ThetaModel(values[: end + 1], **given).method.startswith("mul") == (level > 0)
    rows_of = np.flatnonzero(data.series.ends["validation"] == end)
    assert len(rows_of) == 1
    found = (
        forecast("validation", rows_of) * data.deviation
        + data.mean
        + data.series.level(data.series.ends["validation"][rows_of])
    )
    np.testing.assert_allclose(found[0], expected, rtol=1e-5)


def test_a_season_that_multiplies_is_found(tmp_path):
    pytest.importorskip("statsmodels")
    rows_of = np.arange(400)
    values = (50 + 0.2 * rows_of) * (1 + 0.3 * np.sin(2 * np.pi * rows_of / 24)) + np.random.default_rng(0).normal(
        size=400
    )
    data = read(hourly(tmp_path, values), horizon=24)
    title, forecast = baselines.exponential_smoothing(data)
    assert title.endswith("factors for a season of 24)")
    smoothing = pytest.importorskip("statsmodels.tsa.exponential_smoothing.ets")
    kind = {"trend": "add", "seasonal": "mul", "seasonal_periods": 24, "initialization_method": "heuristic"}
    kind |= {"damped_trend": "damped" in title}
    fitted = smoothing.ETSModel(values[: data.series.ends["train"].max() + 25], **kind).fit(disp=False)
    end = data.series.ends["test"][3]
    expected = smoothing.ETSModel(values[: end + 1], **kind).smooth(fitted.params).forecast(24)
    count = len(data.x["test"])
    found = (
        forecast("test", np.arange(count)) * data.deviation + data.mean + data.series.level(data.series.ends["test"])
    )
    np.testing.assert_allclose(found[3], expected, rtol=1e-6)
    assert rows(data)["exponential_smoothing"]["test"][0] < rows(data)["seasonal"]["test"][0]


def test_ridge_on_differences_is_that_of_scikit_learn(tmp_path):
    sklearn = pytest.importorskip("sklearn.linear_model")
    values = np.random.default_rng(0).normal(size=400).cumsum()
    data = read(hourly(tmp_path, values), horizon=3, differences="no", calendar=False)
    data.series.season = None
    inputs = baselines.Inputs(data, is_relative=True)
    found = [forecast("test", np.arange(20)) for forecast in baselines.ridges(data, inputs)]

    def of_windows(ends):
        last = values[ends][:, None]
        return values[ends[:, None] + np.arange(-5, 1)] - last, values[ends[:, None] + np.arange(1, 4)] - last, last

    x, y, _ = of_windows(data.series.ends["train"])
    new, _, last = of_windows(data.series.ends["test"][:20])
    # The difference of the last step is always zero.
    mean, scale = x[:, :5].mean(0), x[:, :5].std(0)
    for penalty, outputs in zip(baselines.PENALTIES, found, strict=True):
        model = sklearn.Ridge(alpha=penalty * len(x)).fit((x[:, :5] - mean) / scale, y)
        expected = model.predict((new[:, :5] - mean) / scale) + last
        np.testing.assert_allclose(outputs * data.deviation + data.mean, expected, rtol=1e-3, atol=1e-3)


def test_linear_models_read_harmonics_of_the_calendar(tmp_path):
    hours = np.arange(900) % 24
    values = np.cos(2 * np.pi * 3 * hours / 24) + 0.01 * np.random.default_rng(0).normal(size=900)
    data = read(hourly(tmp_path, values), steps=2)
    data.series.season = None
    assert rows(data)["linear"]["test"][0] < 0.02
    read_by = baselines.Inputs(data, harmonics=3)("train", np.arange(5))
    angle = 2 * np.pi * (data.series.ends["train"][:5] + 1) / 24
    # Two steps, then hour and weekday as sines and cosines, once, twice and three times as fast.
    np.testing.assert_allclose(read_by[:, 2 + 8], np.sin(3 * angle), atol=1e-6)


def test_trees_are_those_of_scikit_learn():
    ensemble = pytest.importorskip("sklearn.ensemble")
    x = np.random.default_rng(0).normal(size=(300, 4, 1))
    data = from_arrays(x, x[:, 0, 0] * x[:, -1, 0])
    _, forecast = baselines.trees(data)
    model = ensemble.HistGradientBoostingRegressor(random_state=0)
    model.fit(data.x["train"].reshape(-1, 4).astype("float64"), data.y["train"][:, 0])
    found = forecast("test", np.arange(len(data.x["test"])))
    np.testing.assert_allclose(found[:, 0], model.predict(data.x["test"].reshape(-1, 4).astype("float64")))


def test_baselines_keep_to_their_time(tmp_path):
    data, said = read(hourly(tmp_path)), []
    assert [each.name for each in baselines.fit(data, 0, said.append)] == ["last_value", "seasonal", "drift"]
    assert said[0].startswith("not compared, for lack of time: linear")
    everything = [each.name for each in baselines.fit(data, warn=said.append)]
    assert everything == [maker.__name__ for maker in baselines.makers_for(data)]
    assert len(said) == 1


def test_a_long_series_is_not_smoothed(tmp_path, monkeypatch):
    monkeypatch.setattr(baselines, "MOST_ROWS", 100)
    data = read(hourly(tmp_path))
    assert "exponential_smoothing" not in [fitted.name for fitted in baselines.fit(data)]
    line = "not compared with exponential smoothing (ETS) and theta, for 100 rows at most"
    assert line in baselines.not_compared(data)


def test_what_is_not_compared_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(baselines, "installed", lambda package: False)
    data = read(hourly(tmp_path))
    assert list(rows(data)) == ["last_value", "seasonal", "drift", "linear"]
    lines = baselines.not_compared(data)
    assert ["pip install scikit-learn" in lines[0], "pip install statsmodels" in lines[1]] == [True, True]
    assert "logistic regression" in baselines.not_compared(from_arrays(np.ones((60, 3, 1)), np.arange(60) % 2))[0]


# Classes.


def test_the_most_frequent_class():
    y = np.repeat(["a", "b"], [300, 100])
    data = from_arrays(np.random.default_rng(0).normal(size=(400, 3, 1)), y)
    row = rows(data)["frequencies"]
    share = np.mean(data.y["train"] == 0)
    of_test = np.mean(data.y["test"] == 0)
    np.testing.assert_allclose(row["accuracy"][0], of_test)
    expected = -of_test * np.log(share) - (1 - of_test) * np.log(1 - share)
    np.testing.assert_allclose(row["test"][0], expected, rtol=1e-2)


def test_a_logistic_regression_of_summaries():
    pytest.importorskip("sklearn")
    rng = np.random.default_rng(0)
    # The classes differ in their deviation only, and one class is missing where there is anything to learn.
    y = np.arange(400) % 2
    x = rng.normal(size=(400, 30, 1)) * (1 + y)[:, None, None]
    y[-1] = 2
    data = from_arrays(x, y, split="time")
    found = rows(data)
    assert found["logistic"]["accuracy"][0] > 0.9
    assert found["logistic"]["validation"][0] < 0.2 < found["frequencies"]["validation"][0]
    assert np.isfinite(found["logistic"]["test"][0])
    _, forecast = baselines.logistic(data)
    np.testing.assert_allclose(np.exp(forecast("test", np.arange(len(data.x["test"])))).sum(axis=1), 1)


def in_patterns(samples=300):
    """Returns series whose class is the place of a bump, and the classes."""
    rng = np.random.default_rng(0)
    y = np.arange(samples) % 3
    x = rng.normal(size=(samples, 24, 2))
    x[np.arange(samples), 5 + 6 * y, 0] += 8
    return x, y


def test_the_regression_on_all_steps_is_that_of_scikit_learn(monkeypatch):
    linear_model = pytest.importorskip("sklearn.linear_model")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    data = from_arrays(*in_patterns())
    monkeypatch.setattr(baselines, "LOGISTIC_PENALTIES", (0.1,))
    title, forecast = baselines.flat_logistic(data)
    assert title == "logistic regression on steps"
    flat = {part: x.reshape(len(x), -1).astype("float64") for part, x in data.x.items()}
    model = make_pipeline(StandardScaler(), linear_model.LogisticRegression(C=0.1, max_iter=300))
    model.fit(flat["train"], data.y["train"])
    found = np.exp(forecast("test", np.arange(len(data.x["test"]))))
    np.testing.assert_allclose(found, model.predict_proba(flat["test"]), rtol=1e-6)
    monkeypatch.setattr(baselines, "MOST_FLAT", 10)
    assert baselines.flat_logistic(data)[0] == "logistic regression on means of 5 steps"


def test_places_are_told_by_all_steps_and_by_convolutions():
    pytest.importorskip("sklearn")
    found = rows(from_arrays(*in_patterns()))
    assert found["flat_logistic"]["accuracy"][0] > 0.9
    # Wherever a shape is, convolutions see it.
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 60, 1)) / 4, np.arange(300) % 2
    for sample, place, kind in zip(x, rng.integers(50, size=300), y, strict=True):
        sample[place : place + 8, 0] += np.array([3, 3, -3, -3, 3, 3, -3, -3] if kind else [3, -3] * 4)
    found = rows(from_arrays(x, y))
    assert found["convolutions"]["title"] == "500 random convolutions (ROCKET)"
    assert found["convolutions"]["accuracy"][0] > 0.9 > 0.7 > found["flat_logistic"]["accuracy"][0]


@pytest.mark.parametrize("shape", [(30, 3), (5, 1), (1, 1)])
def test_a_random_convolution_by_hand(shape):
    x = np.random.default_rng(1).normal(size=(4, *shape))
    for weights, read_by, bias, dilation, is_padded in baselines.random_kernels(shape, 20):
        found = baselines.convolved(x, weights, read_by, bias, dilation, is_padded)
        np.testing.assert_allclose(weights.sum(0), 0, atol=1e-12)
        padding = (len(weights) - 1) * dilation // 2 if is_padded else 0
        for series, (most, share) in zip(x, found, strict=True):
            outputs = []
            for start in range(-padding, shape[0] + padding - (len(weights) - 1) * dilation):
                at = [start + k * dilation for k in range(len(weights))]
                inside = [(k, t) for k, t in enumerate(at) if 0 <= t < shape[0]]
                outputs.append(bias + sum(weights[k] @ series[t, read_by] for k, t in inside))
            np.testing.assert_allclose([most, share], [max(outputs), np.mean(np.array(outputs) > 0)])


# Texts.


def test_probabilities_of_an_n_gram_sum_to_one():
    rng = np.random.default_rng(0)
    x, y, read = rng.integers(4, size=(20, 9)), rng.integers(4, size=(20, 9)), rng.integers(5, size=(6, 9))
    model = baselines.NGrams(x, y, 5)
    for _ in range(4):
        model.lengthen()
    sums = sum(np.stack(list(model.probabilities(read, np.full_like(read, each)))) for each in range(5))
    np.testing.assert_allclose(sums, 1)


def test_an_n_gram_by_hand():
    # a a b a, then what follows each.
    x, y = np.array([[0, 0, 1, 0]]), np.array([[0, 1, 0, 1]])
    model = baselines.NGrams(x, y, 2)
    model.lengthen()
    none, one = model.probabilities(np.array([[0, 1]]), np.array([[1, 1]]))
    # Of 4 characters, 2 are b, and 2 kinds were seen: (2 + 2 / 2) / (4 + 2).
    np.testing.assert_allclose(none, [[0.5, 0.5]])
    # a is followed by a, b, b; b by a alone.
    np.testing.assert_allclose(one, [[(2 + 2 * 0.5) / (3 + 2), (0 + 1 * 0.5) / (1 + 1)]])


def test_an_n_gram_reads_nothing_of_another_sequence():
    rng = np.random.default_rng(0)
    model = baselines.NGrams(rng.integers(3, size=(30, 5)), rng.integers(3, size=(30, 5)), 3)
    for _ in range(3):
        model.lengthen()
    x, y = rng.integers(3, size=(4, 5)), rng.integers(3, size=(4, 5))
    *_, whole = model.probabilities(x, y)
    *_, single = model.probabilities(x[2:3], y[2:3])
    np.testing.assert_array_equal(whole[2:3], single)


def test_an_n_gram_of_a_text(tmp_path):
    path = tmp_path / "book.txt"
    path.write_text("the cat sat on the mat. a dog ate. " * 60)
    found = rows(files.read(path, steps=20))
    assert found["n_gram"]["test"][0] < 0.5 < 3 < found["frequencies"]["test"][0]
    assert found["n_gram"]["accuracy"] == [None]


# Whole comparisons.


def drift_to_infinity(data):
    return "drift", lambda part, rows: np.full_like(data.y[part][rows], np.inf)


def test_a_comparison_that_a_season_wins(tmp_path, capsys, monkeypatch):
    # Exponential smoothing is as exact.
    monkeypatch.setattr(baselines, "installed", lambda package: False)
    monkeypatch.setattr(baselines, "drift", drift_to_infinity)
    path = hourly(tmp_path, np.resize(DAILY, 400))
    command = ["compare", str(path), "--target", "load", "--time", "time", "--steps", "4", "--cells", "lstm,gru"]
    command += ["--weights", "300", "--minutes", "0.02", "--trials", "1", "--seeds", "1", "--no-memory"]
    command += ["--output", str(tmp_path / "out")]
    main(command)
    out, err = capsys.readouterr()
    assert "times: hourly" in err
    assert err.index("season: 24 rows") < err.index("pip install scikit-learn") < err.index("Seed 1")
    results = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [row["name"] for row in results["baselines"]] == ["seasonal", "linear", "last_value"]
    assert "left out: drift, whose score is not finite" in err
    assert results["data"]["read"]["season"] == "24 rows"
    assert (results["verdict"], results["baseline"]) == ("baseline", "seasonal")
    assert re.search(r"^Take seasonal naive \(24 rows\)", out, re.MULTILINE)
    assert re.search(r"^seasonal naive \(24 rows\) +\d", out, re.MULTILINE)
    report = (tmp_path / "out" / "report.html").read_text()
    assert "<li>times: hourly" in report
    assert '<tr class="baseline"><td data-of="cell">seasonal naive (24 rows)</td>' in report
    # What changes the data is another comparison.
    for option in (["--no-calendar"], ["--horizon", "2"]):
        with pytest.raises(SystemExit, match="another comparison"):
            main([*command, *option])


def test_linear_algebra_has_one_thread_too():
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def threads():
        return {pool["num_threads"] for pool in threadpoolctl.threadpool_info()}

    with threadpoolctl.threadpool_limits(2):
        with one_thread():
            assert threads() == {1}
        assert threads() == {2}
