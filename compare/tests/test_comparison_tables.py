"""Tables that people have: DataFrames, workbooks, dates in many forms, and series that are short for their horizon."""

import datetime
import decimal
import types

import numpy as np
import pandas as pd
import pytest

import keras_rnn_compare as krc
from keras_rnn_compare.reading import dates, files
from keras_rnn_compare.reading.data import FEWEST, PARTS
from keras_rnn_compare.reporting.prediction import NewTable
from keras_rnn_compare.study.experiment import read_given

MONTHS = pd.date_range("1949-01", periods=144, freq="MS")
PASSENGERS = 100.0 + np.arange(144) + (20 * np.sin(np.arange(144) * np.pi / 6)).round(2)


def same(frame, **arguments):
    """Returns the `Data` of a DataFrame that reads as the months of a CSV file do."""
    found = files.read(frame, target="n", **arguments)
    assert found.card["frequency"]["name"] == "monthly"
    assert found.card["read"]["season"] == "12 rows"
    np.testing.assert_allclose(found.series.values, PASSENGERS)
    return found


@pytest.mark.parametrize("index", [MONTHS, MONTHS.to_period(), MONTHS.rename("month")])
def test_an_index_of_times_orders_the_rows(index):
    data = same(pd.DataFrame({"n": PASSENGERS}, index=index))
    assert data.card["time"] == (index.name or "index")
    assert data.card["read"]["times"].startswith("monthly, 1949-01")


@pytest.mark.parametrize("kind", ["pandas", "parquet"])
def test_times_with_a_zone_read_as_in_a_file(tmp_path, kind):
    pytest.importorskip("pyarrow")
    times = pd.date_range("2024-03-30", periods=90, freq="h", tz="Europe/Berlin")
    frame = pd.DataFrame({"time": times, "n": np.arange(90) % 24 + 0.5})
    frame.to_csv(tmp_path / "table.csv", index=False)
    frame.to_parquet(tmp_path / "table.parquet")
    given = {"target": "n", "time": "time", "steps": 8}
    expected = files.read(tmp_path / "table.csv", **given)
    found = files.read(frame if kind == "pandas" else tmp_path / "table.parquet", **given)
    assert found.card["read"] == expected.card["read"]
    np.testing.assert_array_equal(found.x["train"], expected.x["train"])


@pytest.mark.parametrize(
    "column",
    [
        pd.array(PASSENGERS, dtype="Float64"),
        pd.Categorical(PASSENGERS),
        [decimal.Decimal(str(value)) for value in PASSENGERS],
        PASSENGERS.astype(object),
    ],
    ids=lambda column: str(getattr(column, "dtype", "decimal")),
)
def test_columns_of_any_type_hold_numbers(column):
    assert same(pd.DataFrame({"n": column}, index=MONTHS)).card["task"] == "forecast"


def test_nullable_values_are_missing_and_never_rounded():
    whole = pd.array([2**53 - 1 + k % 2 for k in range(143)] + [None], dtype="Int64")
    with pytest.raises(ValueError, match=r"column 'n' has no number in row 144.*--missing"):
        files.read(pd.DataFrame({"n": whole}, index=MONTHS), target="n", task="forecast")
    huge = pd.DataFrame({"n": pd.array([2**53 + 1] * 144, dtype="Int64")}, index=MONTHS)
    with pytest.raises(ValueError, match="more digits than float64 holds"):
        files.read(huge, target="n")


def test_a_dataframe_of_polars_reads_as_one_of_pandas():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"month": MONTHS.to_pydatetime().tolist(), "n": PASSENGERS})
    found = same(frame, time="month")
    expected = same(pd.DataFrame({"month": MONTHS, "n": PASSENGERS}), time="month")
    assert found.fingerprint() == expected.fingerprint()


def test_dates_in_cells_of_excel(tmp_path):
    pytest.importorskip("openpyxl")
    pd.DataFrame({"month": MONTHS, "n": PASSENGERS}).to_excel(tmp_path / "table.xlsx", index=False)
    same(tmp_path / "table.xlsx", time="month")
    cells = pd.DataFrame({"month": [date.to_pydatetime() for date in MONTHS], "n": PASSENGERS}, dtype=object)
    same(cells, time="month")


def test_what_is_no_table_is_refused():
    two = pd.MultiIndex.from_product([["a", "b"], range(72)])
    with pytest.raises(ValueError, match="reset_index"):
        files.read(pd.DataFrame({"n": PASSENGERS}, index=two), target="n")
    mixed = pd.DataFrame({"n": PASSENGERS, "x": [1, "a"] * 72})
    with pytest.raises(ValueError, match=r"column 'x' has 'a', which is not a plain number.* in row 2"):
        files.read(mixed, target="n")
    files.read(mixed, target="n", columns=["n"])
    with pytest.raises(ValueError, match="DataFrame: --target must name the column"):
        krc.compare(mixed)


def test_arguments_of_tables_and_of_arrays_are_not_mixed(tmp_path):
    reading = files.ReadOptions(horizon=3)
    with pytest.raises(ValueError, match="`horizon` is for a file or a DataFrame"):
        read_given(np.zeros((9, 2, 1)), np.zeros(9), None, reading)
    with pytest.raises(ValueError, match="`y` must be an array of targets"):
        krc.compare(np.zeros((9, 2, 1)))
    with pytest.raises(ValueError, match="`groups` is for arrays"):
        read_given(pd.DataFrame({"n": PASSENGERS}), None, [1], reading)
    with pytest.raises(ValueError, match="there is no file"):
        krc.compare(str(tmp_path / "sales.csv"), target="sold")


# Dates.


@pytest.mark.parametrize(
    ("first", "kind", "later"),
    [
        ("2012/01/31", "a day", "2021/12/03"),
        ("2012.1.5", "a day", "2021.12.3"),
        ("1949-01", "a month", "2021-12"),
        ("2012/01", "a month", "2021/12"),
        ("2000M09", "a month", "2021M12"),
        ("2020Q1", "a quarter", "2021Q4"),
        ("1970 q4", "a quarter", "2021 q4"),
        ("Q1 1970", "a quarter", "Q4 2021"),
        ("Jan 1 2000", "a day", "Dec 3 2021"),
        ("January 1, 2000", "a day", "December 3, 2021"),
        ("01-JAN-2000", "a day", "03-DEC-2021"),
        ("Sep 1990", "a month", "Dec 2021"),
        ("2024-01-31 23:59", "a time without a time zone", "2021-12-03 04:05"),
        ("2024-01-31T23:59:59.5+01:00", "a time with a time zone", "2021-12-03T04:05:06+01:00"),
    ],
)
def test_dates_that_can_be_read_in_one_way(first, kind, later):
    assert dates.date_of(first).kind == kind
    date = np.datetime64("2021-12-03T04:05:06")
    assert dates.written_like(first, date) == later
    # What is written is read again, up to what the form leaves out.
    again = dates.EPOCH + datetime.timedelta(seconds=dates.date_of(later).seconds)
    assert (again.year, (again.month + 2) // 3) == (2021, 4)


@pytest.mark.parametrize("text", ["01/02/2024", "1.2.24", "2012.01", "2012/13/01", "Foo 1 2000", "2020Q5", "20", "May"])
def test_dates_in_doubt(text):
    assert dates.date_of(text) is None


@pytest.mark.parametrize(
    ("texts", "line"),
    [
        (["1/2/2020", "3/4/2020"], "dayfirst=True) if the day is first, or dayfirst=False"),
        (["1/2/2020", "13/2/2020"], "dayfirst=True)"),
        (["1-2-2020 10:00", "1-31-2020 10:00"], "dayfirst=False)"),
    ],
)
def test_the_line_of_pandas_that_reads_a_date_in_doubt(texts, line):
    found = dates.to_datetime("when", texts)
    assert found == f"table['when'] = pandas.to_datetime(table['when'], {line}"
    table = pd.DataFrame({"when": texts})
    exec(found.partition(" if ")[0], {"table": table, "pandas": pd})
    assert table["when"].dt.year.tolist() == [2020, 2020]


def test_quarters_are_forecast_as_quarters(tmp_path):
    quarters = pd.period_range("1970Q1", periods=80, freq="Q")
    path = tmp_path / "table.csv"
    path.write_text("quarter,n\n" + "".join(f"{q.year} Q{q.quarter},{k % 4}\n" for k, q in enumerate(quarters)))
    data = files.read(path, target="n", time="quarter", task="forecast", steps=8)
    assert data.card["frequency"]["name"] == "quarterly"
    assert data.card["read"]["season"] == "4 rows"
    card = {**data.card, "strategy": "direct", "intervals": {}}
    model = types.SimpleNamespace(predict=lambda x, verbose: np.zeros((len(x), 1)))
    assert NewTable(card, path, ".").predictions(model, None) == [{"quarter": "1990 Q1", "n": 0.0}]


# Short series.


@pytest.mark.parametrize("horizon", [1, 6, 12, 24])
def test_144_months_give_a_year_and_more_ahead(horizon):
    data = files.read(pd.DataFrame({"n": PASSENGERS}, index=MONTHS), target="n", horizon=horizon)
    ends, goals = data.series.ends, {part: data.series.goals(data.series.ends[part]) for part in PARTS}
    assert min(map(len, ends.values())) >= FEWEST
    # Targets are of one part alone; windows read as far back as they need.
    assert goals["train"].max() < goals["validation"].min()
    assert goals["validation"].max() < goals["test"].min()
    assert goals["test"].max() == 143
    assert data.x["test"].begins.min() < goals["validation"].max()
    assert type(data.card["steps"]) is int


def test_parts_are_of_15_percent_where_they_are_large_enough():
    data = files.read(pd.DataFrame({"n": PASSENGERS}), target="n", steps=44)
    assert [len(data.x[part]) for part in PARTS] == [70, 15, 15]


def test_a_series_that_is_too_short_says_what_would_do():
    frame = pd.DataFrame({"n": PASSENGERS[:60]})
    with pytest.raises(ValueError, match=r"Received: .* --steps 21 or fewer would do"):
        files.read(frame, target="n", horizon=6, steps=30)
    assert files.read(frame, target="n", horizon=6, steps=21).card["samples"]["train"] == FEWEST
    with pytest.raises(ValueError, match="--horizon 12 with --steps 1 would do"):
        files.read(frame, target="n", horizon=20)
    files.read(frame, target="n", horizon=12, steps=1)
    assert files.read(frame, target="n", horizon=6).card["notes"][0].startswith("windows have 10 rows, not 32")
