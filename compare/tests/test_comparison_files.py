"""What files say to `compare` is read exactly, or refused with its row, its column and a way out."""

import contextlib
import datetime
import decimal
import json
import math
import re

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
import keras_rnn_compare as krc
from keras_rnn_compare.cli import main
from keras_rnn_compare.reading import data as data_module
from keras_rnn_compare.reading import files
from keras_rnn_compare.reading.data import PARTS, Targets, from_arrays

ROWS = 120


def wave(row):
    return 20 + 5 * math.sin(row / 5) + (row * 7919 % 13) / 10


def table(folder, rows=ROWS, delimiter=",", name="table.csv", **columns):
    """Writes a table of functions `row -> value`, and returns its path."""
    lines = [delimiter.join(columns)]
    lines += [delimiter.join(str(column(row)) for column in columns.values()) for row in range(rows)]
    path = folder / name
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def refused(path, *says, **arguments):
    """Asserts that a file is refused, in one line that names it and says all of `says`; returns the line."""
    with pytest.raises(ValueError, match=re.escape(str(path))) as caught:
        files.read(path, **{"steps": 4, **arguments})
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 600
    for each in says:
        assert each in message, message
    return message


# Numbers.

NOTATIONS = {
    "NA": "NA",
    "n/a": "n/a",
    "question mark": "?",
    "dash": "-",
    "null": "null",
    "None": "None",
    "spreadsheet": "#DIV/0!",
    "censored": "<0.5",
    "decimal comma": '"20,53"',
    "thousands": '"1,234"',
    "thousands of Switzerland": "1'234",
    "thin space": "1\u2009234",
    "percent": "12.5%",
    "currency": "€20.10",
    "currency after": "20.10 €",
    "currency before": "USD 5.10",
    "unit": "20.1 kWh",
    "typographic minus": "\u22122.5",
    "hexadecimal": "0x1F",
    "underscore": "1_000",
    "Arabic digits": "١٢",
    "full-width digits": "１２",
    "nan": "nan",
    "inf": "inf",
    "infinity": "-Infinity",
    "fraction": "1/2",
    "parentheses": "(5.10)",
    "two points": "1.234.567",
    "Fortran": "1.5D3",
    "truth": "True",
    "ordinal": "3rd",
}


@pytest.mark.parametrize("everywhere", [False, True], ids=["in one row", "in every row"])
@pytest.mark.parametrize("text", NOTATIONS.values(), ids=NOTATIONS)
def test_a_notation_in_the_target_is_not_a_class(tmp_path, text, everywhere):
    if everywhere and text == "True":
        pytest.skip("words")
    where = "row 1 (line 2)" if everywhere else "row 10 (line 11)"
    path = table(tmp_path, temp=wave, sold=lambda row: text if everywhere or row == 9 else f"{wave(row):.2f}")
    found = refused(path, "column 'sold'", target="sold")
    # A column that says nothing but "None" or "NA" is refused as such.
    assert where in found
    refused(path, "column 'sold'", where, target="sold", task="forecast")


@pytest.mark.parametrize("text", NOTATIONS.values(), ids=NOTATIONS)
def test_a_notation_in_a_feature_is_not_a_number(tmp_path, text):
    path = table(tmp_path, temp=lambda row: text if row == 9 else row % 7, sold=wave)
    refused(path, "column 'temp'", "row 10 (line 11)", "--columns", target="sold")
    assert files.read(path, target="sold", columns=["sold"], steps=4).card["columns"] == ["sold"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no number in row 10 (line 11)"),
        ("1e400", "beyond the range"),
        ("1e-400", "beyond the range"),
        ("1e99999999999999999999", "row 10"),
        ("0e99999999999999999999", "row 10"),
        ("9007199254740993", "more digits"),
        ("123456789012345678901", "more digits"),
    ],
)
def test_numbers_that_float64_does_not_hold(tmp_path, text, says):
    path = table(tmp_path, temp=lambda row: text if row == 9 else row, sold=wave)
    refused(path, "column 'temp'", says, target="sold")


def test_plain_numbers_are_read(tmp_path):
    texts = ["1", "+2", "-3", "4.5", ".5", "6.", "1e2", "1E-2", " 9 ", '"10"', "0", "-0.0"]
    path = table(tmp_path, x=lambda row: texts[row % len(texts)], sold=wave)
    read = files.Table(path, files.ReadOptions("sold", None, steps=4)).columns["x"].numbers("")
    np.testing.assert_array_equal(read[:12], [1, 2, -3, 4.5, 0.5, 6, 100, 0.01, 9, 10, 0, 0])


def test_decimal_commas(tmp_path):
    def german(number):
        return f"{number:.2f}".replace(".", ",")

    columns = {
        "Datum": lambda row: np.datetime64("2024-01-01") + np.timedelta64(row, "D"),
        "Umsatz": lambda row: german(wave(row)),
    }
    path = table(tmp_path, delimiter=";", **columns)
    refused(path, "column 'Umsatz'", "--decimal ,", target="Umsatz", time="Datum")
    data = files.read(path, target="Umsatz", time="Datum", steps=4, decimal=",")
    expected = np.round([wave(row) for row in range(ROWS)], 2)
    np.testing.assert_allclose(data.x["train"][:, 0, 0], expected[: len(data.x["train"])], rtol=1e-6)
    # With commas, a point would divide thousands.
    path = table(tmp_path, delimiter=";", y=lambda row: "1.020" if row == 5 else german(wave(row)))
    refused(path, "'1.020' in row 6", target="y", decimal=",")
    # Without, it may.
    path = table(tmp_path, delimiter=";", y=lambda row: "1.020" if row == 5 else 800 + row)
    refused(path, "'1.020' in row 6", "thousands", target="y")
    # One comma and three digits may be both.
    path = table(tmp_path, delimiter=";", y=lambda row: "1,020")
    assert "--decimal" not in refused(path, "row 1", target="y")


def test_true_and_false_are_features_and_classes(tmp_path):
    path = table(tmp_path, open=lambda row: row % 3 == 0, sold=wave)
    data = files.read(path, target="sold", steps=4)
    np.testing.assert_array_equal(data.x["train"][0, :, 0], [1, 0, 0, 1])
    data = files.read(path, target="open", steps=4)
    assert data.classes.tolist() == ["False", "True"]


# Classes and series.


@pytest.mark.parametrize("text", ["", "NA", "nan", "?", "None", "null", "#N/A"])
def test_a_missing_class_is_not_a_class(tmp_path, text):
    path = table(tmp_path, temp=wave, gait=lambda row: text if row == 9 else ("walk", "run")[row % 2])
    for task in (None, "classify"):
        refused(path, "column 'gait'", "row 10 (line 11)", target="gait", task=task)


@pytest.mark.parametrize(
    "words", [("walk", "run"), ("s1", "s2"), ("class_1", "class_2"), ("abc1", "abc2"), ("gehen", "größer")]
)
def test_words_are_classes(tmp_path, words):
    path = table(tmp_path, temp=wave, gait=lambda row: words[row % 2])
    assert files.read(path, target="gait", steps=4).classes.tolist() == sorted(words)


@pytest.mark.parametrize(
    "texts",
    [("<5", ">5"), ("10-20", "20-30"), ("01", "02"), ("EUR20", "EUR35"), ("kr5", "kr7"), ("1st", "2nd"), ("+", "-")],
)
def test_classes_that_may_be_numbers_must_be_asked_for(tmp_path, texts):
    path = table(tmp_path, temp=wave, kind=lambda row: texts[row % 2])
    refused(path, "--task classify", target="kind")
    assert files.read(path, target="kind", steps=4, task="classify").classes.tolist() == sorted(texts)


def test_classes_are_kept_as_they_are_written(tmp_path):
    def classes(*texts):
        path = table(tmp_path, temp=wave, kind=lambda row: texts[row % len(texts)])
        return files.read(path, target="kind", steps=4, task="classify").classes.tolist()

    assert classes("10", "9", "-1") == [-1, 9, 10]
    assert classes("7", "007", "07") == ["007", "07", "7"]
    assert classes("12345678901234567", "12345678901234568") == [12345678901234567, 12345678901234568]
    assert classes("12345678901234567890", "12345678901234567891") == ["12345678901234567890", "12345678901234567891"]
    for pair in (("1", "1.0"), ("1.50", "1.5"), ("0", "-0"), ("5", "+5")):
        path = table(tmp_path, temp=wave, kind=lambda row, pair=pair: pair[row % 2])
        refused(path, f"{pair[0]!r} in row 1", f"{pair[1]!r} in row 2", target="kind", task="classify")
    path = table(tmp_path, temp=wave, kind=lambda row: ("1.23457E+16", "5")[row % 2])
    refused(path, "rounded", target="kind", task="classify")


@pytest.mark.parametrize("ids", [("12345678901234567", "12345678901234568"), ("1", "01"), ("007", "7"), ("a", "A")])
def test_series_of_different_names_do_not_fall_together(tmp_path, ids):
    path = table(tmp_path, id=lambda row: ids[row % 2], day=lambda row: row // 2, sold=wave)
    data = files.read(path, target="sold", time="day", group="id", columns=["sold"], steps=4)
    # Every window holds every other row.
    expected = [[wave(row) for row in range(start, start + 8, 2)] for start in range(2)]
    found = data.x["train"][..., 0]
    for window in expected:
        assert np.isclose(found, window).all(axis=1).any()


def test_a_row_without_a_series(tmp_path):
    path = table(tmp_path, id=lambda row: "" if row == 4 else "a", sold=wave)
    refused(path, "column 'id'", "no series in row 5 (line 6)", target="sold", group="id")


def test_too_many_classes(tmp_path):
    path = table(tmp_path, temp=wave, note=lambda row: "w" + "abcdefghij"[row // 10 % 10] * (1 + row % 10))
    refused(path, "classes", "two samples", target="note")
    with pytest.raises(ValueError, match="80 classes, such as 0, in 56 samples"):
        krc.compare(np.zeros((80, 3, 1)), np.arange(80))


def test_short_series_are_named(tmp_path):
    path = table(tmp_path, id=lambda row: "short" if row == 4 else "long", sold=wave)
    notes = files.read(path, target="sold", group="id", steps=4).card["notes"]
    assert notes == ["left out: 1 of 2 series, which are shorter than a window of 4 rows and 1 to look ahead"]


# Times.


def order(tmp_path, times):
    """Returns the order in which rows of these times are read."""
    rows = len(times)
    path = table(tmp_path, rows, time=lambda row: times[row], sold=lambda row: row)
    column = files.Table(path, files.ReadOptions("sold", "time", steps=4))
    return np.argsort(column.times).tolist()


@pytest.mark.parametrize(
    "times",
    [
        ["1500-06-01", "1676-01-01", "1980-01-01", "2300-01-01", "9999-12-31"],
        ["0001-01-01", "1969-12-31", "1970-01-01"],
        ["2024-01", "2024-02", "2024-11"],
        ["2024-01-31 23:59", "2024-02-01 00:00", "2024-02-01 00:01"],
        ["2024-01-31T23:59:59", "2024-01-31T23:59:59.5", "2024-02-01T00:00:00"],
        ["2024-01-31T00:00:00.000000001", "2024-01-31T00:00:00.000000002"],
        ["2024-01-31T12:00:00+02:00", "2024-01-31T10:30:00Z", "2024-01-31T06:00:00-05:00"],
        ["9", "10", "100"],
        ["-1.5", "1e-3", "2"],
        ["1700000000000000001", "1700000000000000002"],
        ["1700000000.1234567891", "1700000000.1234567892"],
        ["20231231", "20240101"],
    ],
)
def test_times_are_in_order(tmp_path, times):
    shuffled = np.random.default_rng(0).permutation(len(times))
    assert order(tmp_path, [times[k] for k in shuffled]) == np.argsort(shuffled).tolist()


@pytest.mark.parametrize(
    ("times", "row"),
    [
        (["01/02/2024", "02/02/2024"], "row 1"),
        (["31.12.2024", "01.01.2025"], "row 1"),
        (["2024-01-01", "01.02.2024"], "row 2"),
        (["2024-01-01", "2024-01-02 10:00"], "row 2"),
        (["2024-01-01T10:00Z", "2024-01-01T11:00"], "row 2"),
        (["2024-01-01", "20240102"], "row 2"),
        (["2024-01-01", ""], "row 2"),
        (["2024-01-01", "NaT"], "row 2"),
        (["2024-02-30", "2024-03-01"], "row 1"),
        (["24-01-31", "24-02-01"], "row 1"),
        (["Jan 5 24", "Jan 6 24"], "row 1"),
        (["10:30", "10:31"], "row 1"),
        (["1700000000", "1700000001000"], "row 2"),
        (["31012024", "01022024"], "row 2"),
        (["31012024", "28022024"], "row 1"),
        (["nan", "1"], "row 1"),
        (["1_000", "1"], "row 1"),
        (["٣", "1"], "row 1"),
    ],
)
def test_times_in_doubt(tmp_path, times, row):
    path = table(tmp_path, len(times), time=lambda row: times[row], sold=wave)
    refused(path, "column 'time'", row, "2024-01-31", target="sold", time="time")


@pytest.mark.parametrize(
    ("time", "says"),
    [
        ("2024-02-30", "does not exist"),
        ("2024-01-01T24:30", "does not exist"),
        ("2024-01-01T10:00+99:99", "neither"),
        ("2024-01-01T10:00+05:75", "neither"),
        ("01/02/2024", "day and month may be either way round"),
        ("1.2.24 10:00", "day and month may be either way round"),
        ("2024 01 31", "neither"),
    ],
)
def test_why_a_time_is_none(tmp_path, time, says):
    path = table(tmp_path, 2, time=lambda row: time, sold=wave)
    refused(path, repr(time), says, "--time", "2024-01-31", target="sold", time="time")


@pytest.mark.parametrize("missing", ["refuse", "drop", "interpolate"])
@pytest.mark.parametrize("unit", ["D", "M"])
def test_a_number_that_jumps_like_a_date_is_one(tmp_path, unit, missing):
    dates = [str(date).replace("-", "") for date in np.datetime64("2023-01", unit) + np.arange(ROWS)]
    path = table(tmp_path, time=lambda row: dates[row], sold=wave)
    refused(path, "'time'", repr(dates[0]), "row 1", "2024-01-31", target="sold", time="time", missing=missing)


def test_the_same_moment_in_two_time_zones(tmp_path):
    times = ["2024-01-31T12:00+01:00", "2024-01-31T11:00Z"]
    path = table(tmp_path, 2, time=lambda row: times[row], sold=wave)
    refused(path, "the same time", "row 1 (line 2) and row 2 (line 3)", target="sold", time="time")


# Tables.


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "__index_level_0__"])
def test_an_index_is_not_learnt_from(tmp_path, name):
    path = table(tmp_path, **{name: lambda row: row, "temp": lambda row: row % 7, "sold": wave})
    card = files.read(path, target="sold", steps=4).card
    assert card["columns"] == ["temp", "sold"]
    assert card["read"]["columns"][name].startswith("left out")
    # Its name is enough to use it.
    assert files.read(path, target="sold", time=name, steps=4).card["read"]["columns"][name] == "time"


LATE = b"1,2\n" * 5000
BROKEN = {
    "Latin-1, late": (b"a,b\n" + LATE + b"3,\xb0\n", "byte 20006, in line 5002"),
    "a zero byte, late": (b"a,b\n" + LATE + b"3,\0\n", "zero in line 5002, byte 20006"),
    "UTF-16, late": (b"a,b\n" + LATE + "3,4\n".encode("utf-16"), "invalid start byte at byte 20004, in line 5002"),
    "Latin-1 in lines of old Macs": (b"a,b\r1,2\r3,\xb0\r", "byte 10, in line 3"),
    "an open quote": (b'a,b\n1,2\n3,"4\n5,6\n', "row 2 (line 3)"),
    "a long open quote": (b'a,b\n1,2\n3,"4\n' + b"5,6\n" * 50_000, "row 2 (line 3)"),
    "a long value": (b"a,b\n1,2\n3," + b"x" * 200_000, "row 2 (line 3)"),
    "text after a quote": (b'a,b\n1,2\n"3"x,4\n', "row 2 (line 3)"),
    "a short row": (b"a,b\n1,2\n\n3\n", "1 values in row 2 (line 4), and 2 columns"),
    "a long row": (b"a,b\n1,2\n3,4,5\n", "3 values in row 2 (line 3)"),
    "Latin-1": (b"a,b\n1,2\n3,\xb0\n", "byte 10, in line 3"),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16"), "UTF-8"),
    "UTF-16 without a mark": ("a,b\n1,2\n".encode("utf-16-le"), "zero in line 1"),
    "a zero byte": (b"a,b\n1,2\n3,\0\n", "zero in line 3"),
    "two names": (b"a,b,a\n1,2,3\n", "two columns named 'a'"),
    "no names": (b"1.5,2.5\n3.5,4.5\n5.5,6.5\n", "first row"),
    "two delimiters": (b"a;b,c\n1;2,3\n", "';' and ','"),
    "a gap in one column": (b"b\n1\n\n2\n3\n", "no number in row 2 (line 3)"),
    "no rows": (b"a,b\n", "no rows"),
    "nothing": (b"\n \n", "empty"),
}


@pytest.mark.parametrize(("raw", "says"), BROKEN.values(), ids=BROKEN)
def test_broken_tables(tmp_path, raw, says):
    path = tmp_path / "table.csv"
    path.write_bytes(raw)
    refused(path, says, target="b")


@pytest.mark.parametrize(
    ("raw", "place"), [(b"caf\xe9", 3), (b"a\0b", 1), (b"\xff\xfea\0", 0)], ids=["Latin-1", "a zero byte", "UTF-16"]
)
def test_a_text_that_is_broken_late(tmp_path, raw, place):
    path = tmp_path / "book.txt"
    path.write_bytes(b"\xef\xbb\xbf" + b"a line of text\n" * 200_000 + raw)
    refused(path, "in line 200001", f"byte {3_000_003 + place}", steps=8)


def test_tables_of_all_kinds_are_read_alike(tmp_path):
    text = table(tmp_path, temp=lambda row: row % 7, sold=wave).read_text()
    expected = files.read(tmp_path / "table.csv", target="sold", steps=4).fingerprint()
    kinds = {
        "mark.csv": text.encode("utf-8-sig"),
        "windows.csv": text.replace("\n", "\r\n").encode(),
        "mac.csv": text.replace("\n", "\r").encode(),
        "blank.csv": text.replace("\n", "\n\n").encode() + b"\n\n",
        "semicolon.csv": text.replace(",", ";").encode(),
        "bar.csv": text.replace(",", "|").encode(),
        "tab.tsv": text.replace(",", "\t").encode(),
        "quoted.csv": re.sub(r"([^,\n]+)", r'"\1"', text).encode(),
        "spaces.csv": text.replace(",", " , ").encode(),
    }
    for name, raw in kinds.items():
        (tmp_path / name).write_bytes(raw)
        assert files.read(tmp_path / name, target="sold", steps=4).fingerprint() == expected, name


def test_quoted_newlines_and_the_lines_after_them(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('note,sold\n"two\nlines",1\nx,2\ny,z\n')
    refused(path, "'z' in row 3 (line 5)", target="sold", columns=["sold"])


def test_names_with_newlines_are_told_in_one_line(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('day,"a\nb",sold\n' + '1,"x\ny",2\n' * ROWS)
    refused(path, "day, 'a\\nb', sold", target="price")
    refused(path, "--group has both in 'x\\ny'", target="sold", time="day", group="a\nb")
    rows = [f'{row % 3},"x\ny",{row}\n' for row in range(9)] + [f"{row % 3},z,{row}\n" for row in range(10)]
    path.write_text('other,"a\nb",kind\n' + "".join(rows))
    refused(path, "from 9 ('x\\ny') to 10 rows (z)", target="kind", group="a\nb", task="classify", steps=None)


def test_messages_about_wide_tables_are_short(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(",".join(f"c{k}" for k in range(5000)) + "\n" + ",".join(["1"] * 5000))
    refused(path, "and 4,980 more", target="sold")


# Parquet.


def parquet(folder, **columns):
    arrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    path = folder / "year=2024" / "table.parquet"
    path.parent.mkdir(exist_ok=True)
    columns = {name: column if hasattr(column, "type") else arrow.array(column) for name, column in columns.items()}
    pyarrow.parquet.write_table(arrow.table(columns), path)
    return path


SOLD = [wave(row) for row in range(ROWS)]


def test_types_of_parquet_that_are_numbers(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    numbers = [row % 7 for row in range(ROWS)]
    types = [arrow.int8(), arrow.uint64(), arrow.float32(), arrow.float64(), arrow.decimal128(9, 2), arrow.string()]
    types += [arrow.large_string()]
    for kind in types:
        column = arrow.array([decimal.Decimal(number) for number in numbers] if "decimal" in str(kind) else numbers)
        for array in (column.cast(kind), column.cast(kind).dictionary_encode()):
            data = files.read(parquet(tmp_path, x=array, sold=SOLD), target="sold", steps=4)
            assert data.card["columns"] == ["x", "sold"]
            np.testing.assert_array_equal(data.x["train"][0, :, 0], numbers[:4])
    path = parquet(tmp_path, open=[row % 2 == 0 for row in range(ROWS)], sold=SOLD)
    np.testing.assert_array_equal(files.read(path, target="sold", steps=4).x["train"][0, :, 0], [1, 0, 1, 0])


def test_texts_of_parquet_that_are_not_utf8(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    names = arrow.array([b"\xff"] * ROWS).view(arrow.string())
    refused(parquet(tmp_path, shop=names, sold=SOLD), "column 'shop'", "UTF-8", target="sold")


def test_a_target_of_decimals_is_forecast(tmp_path):
    path = parquet(tmp_path, sold=[decimal.Decimal(row % 50) / 4 for row in range(ROWS)])
    assert files.read(path, target="sold", steps=4).classes is None


def test_types_of_parquet_that_are_refused(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    for column, says in (
        (arrow.nulls(ROWS), "no number in row 1"),
        ([[row] for row in range(ROWS)], "list"),
        ([{"a": row} for row in range(ROWS)], "struct"),
        ([b"x"] * ROWS, "binary"),
        ([datetime.timedelta(row) for row in range(ROWS)], "duration"),
        ([None if row == 3 else 1.0 for row in range(ROWS)], "no number in row 4"),
        ([math.nan if row == 3 else 1.0 for row in range(ROWS)], "row 4"),
        ([2**53 + 1] * ROWS, "more digits"),
    ):
        path = parquet(tmp_path, x=column, sold=SOLD)
        refused(path, "column 'x'", says, "--columns", target="sold")
        files.read(path, target="sold", columns=["sold"], steps=4)
    path = parquet(tmp_path, code=[str(row % 3) for row in range(ROWS)], sold=SOLD)
    refused(path, "column of texts", "--task classify", target="code")
    path = parquet(tmp_path, id=[float(2**54 + row % 3) for row in range(ROWS)], sold=SOLD)
    refused(path, "rounded", target="sold", group="id")
    path.write_bytes(path.read_bytes()[:-20])
    refused(path, "Parquet", target="sold")
    refused(parquet(tmp_path, x=[], sold=[]), "no rows", target="sold")


def test_dates_of_parquet(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    backwards = list(range(ROWS, 0, -1))
    for kind in (
        arrow.timestamp("ns"),
        arrow.timestamp("us", "Europe/Berlin"),
        arrow.timestamp("s"),
        arrow.date32(),
        arrow.uint64(),
    ):
        numbers = arrow.array(backwards, arrow.int32() if kind == arrow.date32() else arrow.int64())
        path = parquet(tmp_path, day=numbers.cast(kind), sold=SOLD)
        data = files.read(path, target="sold", time="day", steps=4)
        np.testing.assert_allclose(data.x["train"][0, :, 0], SOLD[:-5:-1], rtol=1e-6)


# What is odd, not what it differs from, is blamed.


def gapped(value, text=""):
    """Returns a column that holds a text in row 17."""
    return lambda row: text if row == 16 else value(row)


def truth(row):
    return ("true", "false")[row * 31 % 3 % 2]


@pytest.mark.parametrize(
    ("column", "says"),
    [
        (gapped(truth), ["neither true nor false in row 17", "--missing interpolate"]),
        (gapped(truth, "NA"), ["'NA', which is neither true nor false, as others are, in row 17", "--missing"]),
        (gapped(truth, "maybe"), ["'maybe'", "in row 17 (line 18): name"]),
        (gapped(lambda row: row % 7, "true"), ["'true', which is not a plain number", "in row 17 (line 18): name"]),
    ],
)
def test_one_odd_row_among_truths_and_numbers(tmp_path, column, says):
    refused(table(tmp_path, flag=column, sold=wave), "column 'flag'", *says, target="sold")


def test_numbers_and_words_in_a_target_are_both_named(tmp_path):
    path = table(tmp_path, temp=lambda row: row % 7, sold=gapped(truth, "1"))
    refused(path, "'true' in row 1 (line 2), which is not a plain number, as '1' in row 17 (line 18) is", target="sold")


@pytest.mark.parametrize("missing", ["interpolate", "drop", "mask"])
def test_gaps_do_not_make_a_feature_of_what_is_none(tmp_path, missing):
    def day(row):
        return np.datetime64("2024-01-01") + np.timedelta64(row, "D")

    columns = {"day": gapped(day), "note": gapped(day, "2024-13-01"), "count": gapped(lambda row: 3 * row)}
    path = table(tmp_path, **columns, sold=wave)
    card = files.read(path, target="sold", missing=missing, steps=4).card
    assert card["columns"] == ["sold"]
    path = table(tmp_path, day=gapped(lambda row: day(-row)), sold=wave)
    refused(path, "dates that do not ascend, such as '2023-12-31' in row 2", target="sold", missing=missing)


def test_a_truth_with_a_gap_is_masked(tmp_path):
    data = files.read(table(tmp_path, flag=gapped(truth), sold=wave), target="sold", missing="mask", steps=4)
    assert data.card["columns"][:2] == ["flag", "sold"]
    assert data.x["train"][13, :, 0].tolist() == [float(truth(row) == "true") for row in (13, 14, 15, 15)]


@pytest.mark.parametrize("missing", ["refuse", "interpolate", "drop", "mask"])
def test_an_empty_column_is_named(tmp_path, missing):
    path = table(tmp_path, temp=lambda row: row % 7, gap=lambda row: "", sold=wave)
    refused(path, "column 'gap' has no number in", target="sold", missing=missing)
    refused(path, "column 'gap' has no", target="gap", missing=missing)


@pytest.mark.parametrize("missing", ["interpolate", "drop"])
def test_a_column_that_leaves_too_few_rows_is_named(tmp_path, missing):
    path = table(tmp_path, temp=gapped(wave), gap=lambda row: 1 if row > 117 else "", sold=wave)
    refused(path, "Column 'gap' has no number in 118 of 120 rows", target="sold", missing=missing)


# Options, which the command checks as well.


@pytest.mark.parametrize(
    ("options", "error"),
    [
        *(({name: value}, ValueError) for name in ("horizon", "steps", "folds") for value in (0, -1)),
        *(({name: 1.5}, TypeError) for name in ("horizon", "steps", "folds", "seed")),
        ({"seed": -1}, ValueError),
        ({"calendar": "no"}, TypeError),
        *(({name: 1}, TypeError) for name in ("target", "time", "group")),
        ({"columns": "temp"}, TypeError),
        ({"known": "temp"}, TypeError),
    ],
)
def test_options_are_checked_in_python_too(tmp_path, options, error):
    path = table(tmp_path, temp=lambda row: row % 7, sold=wave)
    with pytest.raises(error, match=f"`{next(iter(options))}` must be"):
        files.read(path, **{"target": "sold", **options})


# Names that look alike.

LOOKS = {
    "composed": ("caf\u00e9", "cafe\u0301"),
    "no-break space": ("New York", "New\u00a0York"),
    "two spaces": ("New York", "New  York"),
    "no width": ("up", "u\u200bp"),
    "byte order mark": ("up", "\ufeffup"),
    "no-break hyphen": ("a-b", "a\u2011b"),
    "micro": ("\u00b5m", "\u03bcm"),
}


@pytest.mark.parametrize("names", LOOKS.values(), ids=LOOKS)
def test_names_that_look_alike_are_not_two(tmp_path, names):
    def name(row):
        return names[row == 11] if row % 2 else "other"

    path = table(tmp_path, temp=lambda row: row % 7, kind=name, sold=wave)
    says = f"{names[0]!a} in row 2 (line 3) and {names[1]!a} in row 12 (line 13), which look alike"
    refused(path, "column 'kind'", says, target="kind", task="classify")
    refused(path, "column 'kind'", says, target="sold", group="kind")
    of_rows = [name(row) for row in range(80)]
    says = re.escape(f"hold names that look alike. Received: {names[0]!a} at y[1] and {names[1]!a} at y[11]")
    with pytest.raises(ValueError, match=says):
        from_arrays(X, of_rows)
    with pytest.raises(ValueError, match=r"`groups` must not hold names that look alike.* at groups\[11\]"):
        from_arrays(X, [0, 1] * 40, of_rows)


def test_names_with_blanks_at_their_ends_look_alike():
    with pytest.raises(ValueError, match=r"'up' at y\[0\] and 'up ' at y\[1\]"):
        from_arrays(X, ["up", "up "] * 40)


def test_a_name_of_which_nothing_is_seen_is_none(tmp_path):
    path = table(tmp_path, temp=lambda row: row % 7, kind=lambda row: "\u200b" if row == 3 else "ab"[row % 2])
    refused(path, r"'\u200b', of which nothing is seen, in row 4", target="kind", task="classify")


def test_names_that_differ_to_the_eye_are_two(tmp_path):
    path = table(tmp_path, temp=lambda row: row % 7, kind=lambda row: ("m2", "m\u00b2", "M2", "m\u0308")[row % 4])
    assert len(files.read(path, target="kind", task="classify", steps=4).classes) == 4


# Arrays.

X = np.random.default_rng(0).normal(size=(80, 3, 1))


@pytest.mark.parametrize(
    ("y", "says"),
    [
        ([decimal.Decimal(k % 2) for k in range(80)], r"Decimal\) at y\[0\]"),
        ([datetime.date(2024, 1, 1 + k % 2) for k in range(80)], r"date\) at y\[0\]"),
        (np.array(["2024-01-01", "2024-01-02"] * 40, "datetime64[D]"), "datetime64"),
        (np.array([b"a", b"b"] * 40), "dtype |S1"),
        (np.array([1j, 2] * 40), "complex"),
        (["a", None] * 40, r"None \(NoneType\) at y\[1\]"),
        (["a", math.nan] * 40, r"nan \(float\) at y\[1\]"),
        (["1", 1] * 40, r"1 \(int\) at y\[1\]"),
        ([2**70, 2**71] * 40, "64 bits"),
        (np.array(["a", "\ud800"] * 40), "Unicode"),
        (np.ma.masked_equal([0, 1] * 40, 1), "masked"),
        (np.array(3), r"shape \(\)"),
    ],
)
def test_targets_that_no_file_of_results_holds_are_refused_before_training(tmp_path, y, says):
    with pytest.raises(ValueError, match=says):
        krc.compare(X, y, output=tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_objects_of_one_kind_are_read():
    assert from_arrays(X, np.array(["up", "down"] * 40, object)).classes.tolist() == ["down", "up"]
    assert from_arrays(X, np.array([3, 5] * 40, object)).classes.tolist() == [3, 5]
    assert from_arrays(X, [True, False] * 40).classes.tolist() == [False, True]
    assert from_arrays(X, np.array([0.5, 1.5] * 40, object)).classes is None


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        ([1, "1"] * 40, r"at groups\[1\]"),
        ([None, "a"] * 40, r"None \(NoneType\) at groups\[0\]"),
        (np.array([2.0**53, 1] * 40), r"at groups\[0\]"),
        (np.array([math.nan, 1] * 40), r"nan at groups\[0\]"),
    ],
)
def test_groups_in_doubt(groups, says):
    with pytest.raises(ValueError, match=says):
        from_arrays(X, [0, 1] * 40, groups)


def test_archives(tmp_path):
    path = tmp_path / "data.npz"
    y = np.array(["up", "down"] * 40, object)
    np.savez(path, x=X, y=y, note=np.array([{}], object))
    refused(path, "the array y", "objects", steps=None)
    np.savez(path, x=X, y=y.astype(str), note=np.array([{}], object))
    assert files.read(path).classes.tolist() == ["down", "up"]
    path.write_bytes(path.read_bytes()[:-30])
    refused(path, "numpy.savez", steps=None)
    for single in (path, tmp_path / "data.npy"):
        with single.open("wb") as file:
            np.save(file, X)
        refused(single, "needs arrays named x and y, and holds none with a name", steps=None)
    np.savez(path, x=X, y=np.full(80, np.nan))
    refused(path, "nan at y[0]", steps=None)


@pytest.mark.filterwarnings("ignore:::zipfile")
def test_archives_with_any_byte_damaged_or_cut_off(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, x=np.random.default_rng(0).normal(size=(80, 1, 1)), y=np.arange(80) % 2)
    raw = path.read_bytes()
    damaged = [raw[:end] for end in range(0, len(raw), 61)]
    damaged += [raw[:k] + bytes([raw[k] ^ 0xFF]) + raw[k + 1 :] for k in range(0, len(raw), 13)]
    for bad in damaged:
        path.write_bytes(bad)
        # Whatever else is raised would be a traceback to whoever runs the command.
        with contextlib.suppress(ValueError):
            files.read(path)


def test_sequences_of_targets_of_unequal_length():
    with pytest.raises(ValueError, match=r"`y` must have sequences of equal length.*from 1 to 2"):
        from_arrays(X, [[1.0], [1.0, 2.0]] * 40)


# What float32 holds.


def level(of):
    series = np.array([wave(row) for row in range(200)])
    x = np.lib.stride_tricks.sliding_window_view(series, 8)[:-1, :, None]
    return x + of, series[8:] + of


def test_a_level_that_float32_does_not_hold_is_refused(tmp_path):
    for of in (1e8, -1e8, 1e12):
        x, y = level(of)
        with pytest.raises(ValueError, match=r"`x\[..., 0\]` varies by 3.* multiples of .* subtract a constant"):
            from_arrays(x, y)
        with pytest.raises(ValueError, match=r"`y\[..., 0\]` varies by"):
            from_arrays(x - of, y)
        path = table(tmp_path, sold=lambda row, of=of: repr(of + wave(row)))
        refused(path, "column 'sold' varies by", "subtract a constant such as", target="sold")
    # A constant feature has nothing to lose.
    from_arrays(np.concatenate([level(0)[0], np.full((192, 8, 1), 123456789.1)], axis=-1), level(0)[1])


@pytest.mark.parametrize(("factor", "says"), [(1e300, "larger unit"), (1e25, "larger unit"), (1e-9, "smaller unit")])
def test_units_that_float32_does_not_scale_are_refused(factor, says):
    x, y = level(0)
    for given in ((x * factor, y), (x, y * factor)):
        with pytest.raises(ValueError, match=says):
            from_arrays(*given)


@pytest.mark.parametrize(("of", "factor"), [(0, 1), (1e5, 1), (-1e5, 1), (0, 1e15), (0, 1e-5)])
def test_the_saved_model_computes_what_was_measured(tmp_path, of, factor):
    x, y = level(of)
    x, y = x * factor, y * factor
    data = from_arrays(x, y)
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.Input((None, 1)),
            *data_module.first_layers(data, 1),
            kar.GRU(2),
            keras.layers.Dense(1),
        ]
    )
    whole = keras.Sequential([keras.Input((None, 1)), *model.layers, *data_module.last_layers(data)])
    whole.save(tmp_path / "whole.keras")
    outputs = model.predict(data.x["test"][:][:], verbose=0)
    measured = data.score(data.losses("test", outputs)[0])
    predicted = keras.saving.load_model(tmp_path / "whole.keras").predict(data.x["test"], verbose=0)
    actual = data.y["test"] * data.deviation + data.mean
    np.testing.assert_allclose(np.sqrt(np.mean((predicted - actual) ** 2)), measured, rtol=3e-3)
    # What the model reads varies about zero by one, whatever the level.
    scaled = model.layers[0](data.x["train"][:])
    np.testing.assert_allclose(keras.ops.convert_to_numpy(scaled).std(), 1, rtol=1e-2)


# The command.


def test_the_command_refuses_in_one_line(tmp_path, capsys):
    path = table(tmp_path, temp=wave, sold=lambda row: "NA" if row == 9 else row)
    with pytest.raises(SystemExit) as stop:
        main(["compare", str(path), "--target", "sold", "--output", str(tmp_path / "out")])
    assert re.fullmatch(r"error: \S+table.csv: column 'sold' has 'NA' in row 10 \(line 11\), .*", str(stop.value))
    assert not (tmp_path / "out").exists()


def test_names_of_files_that_are_no_unicode(tmp_path):
    path = tmp_path / "a\udcff.csv"
    try:
        table(tmp_path, sold=wave).rename(path)
    except OSError:
        pytest.skip("the file system has names in Unicode only")
    data = files.read(path, target="sold", steps=4)
    json.dumps(data.card, ensure_ascii=False).encode()
    assert PARTS


@pytest.mark.parametrize("is_change", [False, True])
def test_targets_are_gathered_where_they_are_read(is_change, rng, monkeypatch):
    monkeypatch.setattr(data_module, "BLOCK", 100)
    column, ends, origin = rng.normal(size=50), np.array([3, 7, 9, 20]), rng.normal(size=50)
    targets = Targets(column, ends, 4, origin if is_change else None)
    whole = column[ends[:, None] + [1, 2, 3, 4]] - (origin[ends][:, None] if is_change else 0)
    np.testing.assert_allclose(targets.moments(), (whole.mean(), whole.std()))
    targets.mean, targets.deviation = np.array([0.3]), np.array([2.0])
    whole = ((whole - 0.3) / 2).astype("float32")
    for index in (slice(None), slice(1, 3), 2, np.array([2, 0]), (np.array([2, 0]), 1), (2, 1), (slice(None), 3)):
        np.testing.assert_array_equal(targets[index], whole[index])
    np.testing.assert_array_equal(np.asarray(targets), whole)
    assert (len(targets), targets.shape, targets.dtype, targets.ndim) == (4, whole.shape, whole.dtype, whole.ndim)


def test_the_help_lists_every_kind_of_table(capsys):
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert [kind for kind in files.TABLES if kind not in text] == []
