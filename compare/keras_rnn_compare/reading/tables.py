"""The columns of a table, each as the texts in its file: what they say is read exactly, or refused with its row.

Libraries that read tables guess what a text means, and round what does not fit. Here a wrong guess would be a wrong
recommendation, so nothing is guessed. `csv` and `pyarrow` only divide a file into texts, which pandas holds: its own
reader fills up rows that are too short, and does not know the lines of the others.
"""

import copy
import csv
import decimal
import functools
import io
import itertools
import re
import unicodedata
import zipfile

import numpy as np
import pandas as pd

from keras_rnn_compare.reading.calendar import Moments
from keras_rnn_compare.reading.dates import DAY_AND_MONTH, EPOCH, date_of, matched, to_datetime
from keras_rnn_compare.reading.texts import read_text

# With nothing but these, `float` accepts what a number looks like everywhere; it also accepts 1_000, nan and ١٢.
OF_NUMBERS = frozenset("0123456789+-.eE")
# What stands for no value, in pandas, SQL, R and spreadsheets.
MISSING = {"", "na", "n/a", "#na", "#n/a", "<na>", "nan", "-nan", "+nan", "nat", "null", "?"}
TRUTHS = {"true": 1.0, "false": 0.0}
SPREADSHEET_ERRORS = re.compile(r"#[A-Z/0]+[!?]")
INTEGER = re.compile(r"0|-?[1-9]\d{0,17}", re.ASCII)
# Words hold no digit, unless they are identifiers, as in `class_1`; but EUR20 is an amount.
WORD = re.compile(r"(?!inf(inity)?$)(?!(?-i:[A-Z]{3}|kr|Rs)\d+$)([^\W\d_]\D*|[^\W\d]\w*)", re.IGNORECASE)
# The names of a column that has none: pandas's index, written to CSV, read and written again, and in Parquet.
NAMELESS = re.compile(r"|Unnamed: \d+|__index_level_\d+__")
# Unicode's other forms of characters that do not look like them: m² and m2 differ.
OF_OTHER_LOOKS = ("<super>", "<sub>", "<fraction>", "<circle>", "<square>", "<font>")
# What takes no room: control and format characters, and selectors of variants.
OF_NO_WIDTH = re.compile("[\u034f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
# Dates, or months, as numbers that sort like them.
YEAR_FIRST = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])([0-2]\d|3[01])?")
# Parts of a second, or of one, that tell times apart, and the largest one, whose distances 64 bits hold.
PARTS, LARGEST = 10**18, 4 * 10**18
# How many rows are read at a time: strings of Python's take several times the memory of those of pandas.
BLOCK = 65_536


def shown(text):
    """Returns a text as messages quote it."""
    return repr(text if len(text) <= 40 else f"{text[:40]}...")


def listed(names):
    """Returns names as messages list them, in one line."""
    names = [name if len(name) <= 40 else f"{name[:40]}..." for name in map(str, names)]
    names = [name if name.isprintable() else repr(name) for name in names]
    return ", ".join(names[:20]) + (f" and {len(names) - 20:,} more" if len(names) > 20 else "")


def appearance(text):
    """Returns a text such that two which look alike are the same, but for letters of different scripts."""
    if not (text.isascii() and text.isprintable()):
        seen = [c for c in text if c.isspace() or not (unicodedata.category(c) in ("Cc", "Cf") or OF_NO_WIDTH.match(c))]
        text = unicodedata.normalize("NFC", "".join(seen)).replace("\u2010", "-").replace("\u2011", "-")
        text = "".join(
            c if unicodedata.decomposition(c).startswith(OF_OTHER_LOOKS) else unicodedata.normalize("NFKC", c)
            for c in text
        )
    return " ".join(text.split())


def alike(names):
    """Returns two of different names that look alike, or `None`."""
    seen = {}
    for name in names:
        other = seen.setdefault(appearance(name), name)
        if other != name:
            return other, name
    return None


class Column:
    """A column of a table, which holds each of its different texts once.

    Args:
        name: Its name.
        texts: What its rows say; empty where they say nothing.
        lines: Array of the line of each row in the file, or `None` where there are no lines.
        decimal: What precedes the decimals of a number: `"."` or `","`.
        is_text: Whether the file declares it to be text.

    Attributes:
        codes: Array of the place of each row's text in `words`.
        words: The different texts, in the order in which they come first.
        rows: Array of the rows of the file that these are, or `None` for all.
    """

    rows = None

    def __init__(self, name, texts, lines=None, decimal=".", is_text=False):
        self.name, self.lines, self.decimal, self.is_text = name, lines, decimal, is_text
        self.codes, self.words = pd.factorize(as_strings(texts))

    def __len__(self):
        return len(self.codes)

    def text(self, row):
        """Returns what a row says."""
        return self.words[self.codes[row]]

    def row(self, row):
        """Returns how messages name a row."""
        row = row if self.rows is None else self.rows[row]
        return f"row {row + 1}" + (f" (line {self.lines[row]})" if self.lines is not None else "")

    @property
    def first_rows(self):
        """The first row of each of `words`."""
        return np.unique(self.codes, return_index=True)[1]

    def rows_with(self, is_wanted):
        """Returns the rows whose text is wanted, as an array."""
        wanted = np.array([bool(is_wanted(word)) for word in self.words], bool)
        return np.flatnonzero(wanted[self.codes])

    def first(self, is_wanted):
        """Returns the first row whose text is wanted, or `None`."""
        # `words` are in the order of their first rows.
        found = next((code for code, word in enumerate(self.words) if is_wanted(word)), None)
        return None if found is None else int((self.codes == found).argmax())

    def missing(self):
        """Returns which rows say that they have no value."""
        missing = np.zeros(len(self), bool)
        missing[self.rows_with(is_missing)] = True
        return missing

    def without_missing(self):
        """Returns the column of the rows that have a value."""
        return self.of_rows(np.flatnonzero(~self.missing()))

    def of_rows(self, rows):
        """Returns the column of some rows."""
        column = copy.copy(self)
        column.codes, words = pd.factorize(self.codes[rows])
        column.words, column.rows = self.words[words], rows if self.rows is None else self.rows[rows]
        return column

    def at(self, row):
        return f"{shown(self.text(row))} in {self.row(row)}"

    def error(self, says, hint):
        return ValueError(f"column {self.name!r} {says}: {hint}")

    def or_commas(self, row, hint):
        text = self.text(row)
        # 1,234 may be either.
        if self.decimal == "," or not re.fullmatch(r"[+-]?\d+,\d+", text) or re.fullmatch(r"\D?\d{1,3},\d{3}", text):
            return hint
        return f"if these are decimal commas, --decimal , reads them; else {hint}"

    def or_missing(self, row, hint):
        if not is_missing(self.text(row)):
            return self.or_commas(row, hint)
        return f"if that means no value, --missing interpolate, drop or mask reads it so; else {hint}"

    def plain(self, text):
        """Returns a number with a decimal point, whatever the file has in its place."""
        return text if self.decimal == "." else text.translate({ord(","): ".", ord("."): ","})

    def is_number(self, text):
        text = self.plain(text)
        if not OF_NUMBERS.issuperset(text):
            return False
        try:
            decimal.Decimal(text)
        except decimal.InvalidOperation:
            return False
        return True

    def fault(self, text):
        """Returns why a text is not a number that float64 holds, or `None` if it is."""
        if not text:
            return "no number"
        if not self.is_number(text):
            return f"{shown(text)}, which is not a plain number such as -1234{self.decimal}5,"
        number, value = decimal.Decimal(self.plain(text)), float(self.plain(text))
        if not np.isfinite(value) or (value == 0 and number != 0):
            return f"{shown(text)}, which is beyond the range of float64,"
        if abs(value) >= 2**53 and number != decimal.Decimal(value) and not set(text) & set(".,eE"):
            return f"{shown(text)}, which has more digits than float64 holds,"
        return None

    def numbers(self, hint):
        """Returns the column in float64, or raises an error that says which row has no number, and `hint`."""
        fault, values = self.fault, self.floats()
        if values is None and self.holds_truths():
            fault, values = fault_of_truth, self.truths()
        if values is None:
            rows = self.rows_with(fault)
            more = f", and {len(rows) - 1:,} more such rows" if len(rows) > 1 else ""
            raise self.error(
                f"has {fault(self.text(rows[0]))} in {self.row(rows[0])}{more}", self.or_missing(rows[0], hint)
            )
        self.check_thousands()
        return values[self.codes]

    def floats(self):
        """Returns `words` as an array of numbers, or `None` if one has a fault."""
        words = self.words.tolist()
        if not OF_NUMBERS.issuperset(self.plain("".join(words))):
            return None
        try:
            values = np.array([float(self.plain(word)) for word in words], "float64")
        except ValueError:
            return None
        doubtful = np.flatnonzero(~np.isfinite(values) | (values == 0) | (np.abs(values) >= 2**53))
        return None if any(self.fault(words[code]) for code in doubtful) else values

    def holds_truths(self):
        """Returns whether most rows that say something are true or false."""
        return 2 * len(self.rows_with(lambda text: text.lower() in TRUTHS)) > (~self.missing()).sum()

    def truths(self):
        """Returns `words` as ones and zeros, or `None` if one is neither true nor false."""
        values = [TRUTHS.get(word.lower()) for word in self.words]
        return None if None in values else np.array(values)

    def numbers_and_gaps(self, hint):
        """Returns the column in float64, NaN where it says that it has no value."""
        values = np.full(len(self), np.nan)
        values[~self.missing()] = self.without_missing().numbers(hint)
        return values

    def check_thousands(self):
        """Raises an error if points seem to divide thousands: 850, 1.020."""
        thousands = re.compile(r"[+-]?([1-9]\d{0,2}(\.\d{3})?|0)")
        if self.decimal == "." and self.first(lambda text: not thousands.fullmatch(text)) is None:
            row = self.first(lambda text: "." in text)
            if row is not None and self.first(lambda text: "." not in text) is not None:
                raise self.error(
                    f"has {self.at(row)}, whose point may divide thousands, and numbers without a point",
                    "write 1234 for a thousand and more, and 12.000 for what has decimals, in every row",
                )

    def is_forecast(self):
        """Returns whether the column holds numbers, not words; raises an error if that is in doubt."""
        hint = "correct that, or say what the column is: --task forecast (numbers) or --task classify (names)"
        if self.first(self.is_number) is None:
            what = "neither a plain number nor a word"
            row = self.first(lambda text: not is_missing(text) and not WORD.fullmatch(text))
            if row is None:
                return False
        else:
            what = f"not a plain number, as {self.at(self.first(self.is_number))} is"
            row = self.first(lambda text: text and not self.is_number(text))
            if row is None and self.is_text:
                what = "a number, in a column of texts"
                row = self.first(self.is_number)
            elif row is None:
                what = "a number with a leading zero, as in codes"
                row = self.first(lambda text: re.match(r"[+-]?0\d", text))
                if row is None:
                    return True
        raise self.error(f"has {self.at(row)}, which is {what}", self.or_missing(row, hint))

    def labels(self, what):
        """Returns the column as names: integers if all are, else the texts as they are; no two fall together."""
        first = dict(zip(self.words, self.first_rows, strict=True))
        for text, row in first.items():
            if not appearance(text):
                says = f"no {what}" if not text else f"{text!a}, of which nothing is seen,"
                raise self.error(f"has {says} in {self.row(row)}", f"give the row a {what}, or delete it")
            if text.lower() in MISSING or text == "None" or SPREADSHEET_ERRORS.fullmatch(text):
                raise self.error(
                    f"has {self.at(row)}, which usually stands for no value",
                    f"delete the row, or write the {what} otherwise if it is one"
                    + ("; --missing drop leaves such rows out" if what == "class" and text.lower() in MISSING else ""),
                )
        if all(INTEGER.fullmatch(text) for text in first):
            return np.array([int(text) for text in first], "int64")[self.codes]
        written = {}
        for text, row in first.items():
            if not self.is_number(text):
                continue
            if "e" in text.lower():
                raise self.error(
                    f"has {self.at(row)}, a number that may have been rounded",
                    f"write each {what} with all its digits, as text",
                )
            other = written.setdefault(decimal.Decimal(self.plain(text)), text)
            # 7 and 007 differ as names do.
            if other != text and not (other + text).isdigit():
                raise self.error(
                    f"has {self.at(first[other])} and {self.at(row)}", f"write the {what} alike if it is the same"
                )
        pair = alike(first)
        if pair:
            both = " and ".join(f"{text!a} in {self.row(first[text])}" for text in pair)
            raise self.error(f"has {both}, which look alike", f"write the {what} alike if it is the same")
        return np.array(list(first))[self.codes]

    def moments(self):
        """Returns the `Moments` of the rows, or raises an error that says which row has no time."""
        hint = "write all times of --time as numbers, or all as dates such as 2024-01-31 or 2024-01-31T23:59:00+01:00"
        times = [self.time(word) for word in self.words]
        kinds = {}
        for (kind, *_), row in zip(times, self.first_rows, strict=True):
            if kind is None:
                raise self.error(self.no_time(row), self.or_pandas(row, hint))
            kinds.setdefault(kind, row)
        whole, parts, zones = (np.array(values, "int64")[self.codes] for values in list(zip(*times, strict=True))[1:])
        if len(kinds) > 1:
            (one, first), (other, second) = list(kinds.items())[:2]
            raise self.error(f"has {one}, {self.at(first)}, and {other}, {self.at(second)}", hint)
        order = np.lexsort((parts, whole))
        first = order[0]
        later = (np.diff(whole[order]) != 0) | (np.diff(parts[order]) != 0)
        places = np.empty(len(self), int)
        places[order] = np.concatenate([[0], np.cumsum(later)])
        dates = None
        if "a number" in kinds:
            self.check_epochs(first, order[-1], hint)
        else:
            # A clock on the wall shows the hours that people live by, not those of UTC.
            dates = np.datetime64(EPOCH, "s") + (whole + zones).astype("timedelta64[s]")
        return Moments(places, (whole - whole[first]) + (parts - parts[first]) / PARTS, dates)

    def or_pandas(self, row, hint):
        """Returns a hint, or where the day and the month of a date may be either way round, the line that tells."""
        if not DAY_AND_MONTH.fullmatch(self.text(row)):
            return hint
        return f"{hint}. In pandas: {to_datetime(self.name, self.words)}"

    def no_time(self, row):
        """Returns what a row has in place of a time."""
        text = self.text(row)
        if not text:
            return f"has no time in {self.row(row)}"
        what = (
            "a number beyond 4e18, or with more than 18 digits after its point"
            if self.is_number(text) and not re.match(r"[+-]?0\d", text)
            else "a date or a time that does not exist"
            if matched(text)
            else "a date whose day and month may be either way round"
            if DAY_AND_MONTH.fullmatch(text)
            else "neither a number nor such a date"
        )
        return f"has {self.at(row)}, which is {what}"

    def dates(self):
        """Returns the column of the rows with a date, or `None` if most of those with a text have none."""
        rows = self.rows_with(date_of)
        return self.of_rows(rows) if len(rows) and 2 * len(rows) > (~self.missing()).sum() else None

    def time(self, text):
        """Returns what a time is written as, or `None`, its number or its seconds in UTC, what is beyond that in
        `PARTS` of one, and its time zone in seconds.
        """
        nothing = (None, 0, 0, 0)
        if self.is_number(text) and not re.match(r"[+-]?0\d", text):
            sign, digits, exponent = decimal.Decimal(self.plain(text)).as_tuple()
            if len(digits) > 37 or not -18 <= exponent <= 18:
                return nothing
            number = int("".join(map(str, digits))) * 10 ** (exponent + 18) * (-1 if sign else 1)
            return ("a number", *divmod(number, PARTS), 0) if abs(number) <= LARGEST * PARTS else nothing
        date = date_of(text)
        if date is None:
            return nothing
        return date.kind, date.seconds - date.zone, int(date.fraction.ljust(18, "0")), date.zone

    def check_epochs(self, first, last, hint):
        """Raises an error if numbers are dates that do not sort as numbers do, or times in several units.

        Args:
            first, last: The rows of the lowest and the highest one.
        """
        low, high = (decimal.Decimal(self.plain(self.text(row))) for row in (first, last))
        if low >= 10**8 and high > 300 * low:
            raise self.error(
                f"has {self.at(first)} and {self.at(last)}, which seem to be seconds and fractions of them", hint
            )
        year_last = re.compile(r"\d{3,4}(19\d\d|20\d\d|2100)")
        if self.first(lambda text: not year_last.fullmatch(text)) is None and (
            self.first(lambda text: not YEAR_FIRST.fullmatch(text)) is not None
        ):
            raise self.error(f"has {self.at(0)}, which seems to be a date that ends in its year", hint)

    def check_no_dates(self):
        """Raises an error if numbers seem to be dates, which jump where a month or a year ends."""
        if self.first(lambda text: not YEAR_FIRST.fullmatch(text)) is None:
            at = self.at(0)
            raise self.error(f"has {at}, which seems to be a date written as a number", "write 2024-01-31, or 2024-01")


def as_strings(texts):
    """Returns texts as strings of pandas, of which each is what it was."""
    return texts if isinstance(texts, pd.Series) else pd.Series(texts, dtype="str")


def is_missing(text):
    """Returns whether a text says that there is no value."""
    return text.lower() in MISSING


def fault_of_truth(text):
    """Returns why a text is neither true nor false, or `None` if it is."""
    if text.lower() in TRUTHS:
        return None
    return f"{shown(text)}, which is neither true nor false, as others are," if text else "neither true nor false"


def lines_of(path):
    """Yields the lines of a file in UTF-8, or raises an error that says where it is none."""
    return io.StringIO(read_text(path), newline="")


def read_csv(path, decimal="."):
    """Returns the columns of a table, by name."""
    if not any(line.strip() for line in lines_of(path)):
        raise ValueError("is empty")
    delimiter = "\t" if path.suffix.lower() == ".tsv" else delimiter_of(path, decimal)
    records = records_of(path, delimiter)
    header = [name.strip() for name in next(records)[1]]
    check_names(header)
    lines, pieces, count = [], [[] for _ in header], 0
    filled = filled_rows(records, is_single=len(header) == 1)
    while block := list(itertools.islice(filled, BLOCK)):
        for k, (line, row) in enumerate(block):
            if len(row) != len(header):
                raise ValueError(
                    f"has {len(row)} values in row {count + k + 1} (line {line}), and {len(header)} columns: give each "
                    'row a value for each column, and put one that holds the delimiter into "quotes"'
                )
        count += len(block)
        of_block, rows = zip(*block, strict=True)
        lines.append(np.array(of_block))
        for piece, values in zip(pieces, zip(*rows, strict=True), strict=True):
            piece.append(as_strings([value.strip() for value in values]))
    if not count:
        raise ValueError("has no rows below its first one, which names the columns")
    numbers = [name for name in header if OF_NUMBERS.issuperset(name) and name]
    if len(numbers) == len(header) and numbers not in ([str(k + s) for k in range(len(header))] for s in (0, 1)):
        raise ValueError(f"has numbers in its first row, {listed(header)}, which should name the columns")
    lines = np.concatenate(lines)
    # The pieces of a column are forgotten as soon as they are joined.
    return {name: Column(name, pd.concat(pieces.pop(0)), lines, decimal) for name in header}


def filled_rows(records, is_single):
    """Yields the rows that have values; empty lines between those of a single column are rows without one."""
    held = []
    for line, row in records:
        if row:
            yield from held
            yield line, row
            held = []
        elif is_single:
            held.append((line, [""]))


def check_names(names):
    """Raises an error if two columns have one name; the nameless ones are left out anyway."""
    seen = set()
    for name in names:
        if name and name in seen:
            raise ValueError(f"has two columns named {shown(name)}: its first row must name each column once")
        seen.add(name)


def reader(path, delimiter):
    return csv.reader(lines_of(path), delimiter=delimiter, strict=True, skipinitialspace=True)


def delimiter_of(path, decimal):
    """Returns the delimiter that divides the first row into the most columns."""
    counts = {}
    for delimiter in "\t;,|":
        if delimiter == decimal:
            continue
        try:
            counts[delimiter] = len(next(row for row in reader(path, delimiter) if row))
        except (csv.Error, StopIteration):
            counts[delimiter] = 0
    best = max(counts, key=counts.get)
    others = [delimiter for delimiter, count in counts.items() if count == counts[best] and delimiter != best]
    if counts[best] > 1 and others:
        raise ValueError(
            f"has a first row that {best!r} and {others[0]!r} divide into equally many columns: use one of them only"
        )
    return best


def records_of(path, delimiter):
    """Yields the rows from the first one with values on, each with the line in which it begins."""
    begin, count = 1, 0
    records = reader(path, delimiter)
    try:
        for row in records:
            count += bool(row)
            if count:
                yield begin, row
            begin = records.line_num + 1
    except csv.Error as error:
        where = f"row {count} (line {begin})" if count else f"line {begin}"
        hint = (
            "a quote that is opened there is never closed"
            if "unexpected end" in str(error)
            else f"its values are longer than {csv.field_size_limit():,} characters; is a quote left open there?"
            if "limit" in str(error)
            else f"{error}; write a quote inside of quotes twice"
        )
        raise ValueError(f"cannot be read from {where} on: {hint}") from None


def columns_of(source, decimal="."):
    """Returns the columns of a table, by name.

    Args:
        source: Path of a file, or a DataFrame of pandas or polars.
        decimal: What precedes the decimals of a number.
    """
    if decimal not in (".", ","):
        raise ValueError(f"--decimal must be '.' or ',', and is {decimal!r}")
    suffix = None if is_frame(source) else source.suffix.lower()
    if suffix in (".csv", ".tsv"):
        return read_csv(source, decimal)
    if decimal != ".":
        raise ValueError("--decimal is for .csv and .tsv: numbers elsewhere have no such form")
    if suffix == ".parquet":
        return read_parquet(source)
    return read_frame(read_excel(source) if suffix == ".xlsx" else source)


def is_frame(value):
    """Returns whether a value is a DataFrame of pandas or polars."""
    return type(value).__name__ == "DataFrame" and type(value).__module__.partition(".")[0] in ("pandas", "polars")


def imported_pyarrow():
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError(
            'Parquet and DataFrames need pyarrow. Install it with: pip install "keras_rnn_compare[report]"'
        ) from None
    return pyarrow


def read_parquet(path):
    """Returns the columns of a table, by name."""
    pyarrow = imported_pyarrow()
    try:
        # `read_table` would make columns of the names of folders.
        table = pyarrow.parquet.ParquetFile(path).read()
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"is not a Parquet file, or a damaged one: {str(error).splitlines()[0]}") from None
    return arrow_columns(table)


def read_excel(path):
    """Returns the first sheet of a workbook as a DataFrame."""
    try:
        return pd.read_excel(path)
    except ImportError:
        raise ImportError(".xlsx needs openpyxl. Install it with: pip install openpyxl") from None
    except (ValueError, KeyError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"is not a workbook of Excel, or a damaged one: {error}") from None


def read_frame(frame):
    """Returns the columns of a DataFrame, by name; an index that was set is one of them."""
    if hasattr(frame, "to_arrow"):
        return arrow_columns(frame.to_arrow())
    pyarrow = imported_pyarrow()
    index = index_of(frame)
    if index is not None:
        if isinstance(frame.index, pd.MultiIndex):
            raise ValueError("has an index of several levels: frame.reset_index() makes columns of them")
        frame = frame.reset_index(names=index)
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1)
    check_names(list(frame.columns))
    if not len(frame):
        raise ValueError("has no rows")
    columns = {}
    for name, column in frame.items():
        if isinstance(column.dtype, pd.PeriodDtype):
            # Such as 2020Q1 and 2020-01.
            column = column.astype("str").where(column.notna())
        try:
            columns[name] = ArrowColumn(name, pyarrow.chunked_array([pyarrow.array(column, from_pandas=True)]))
        except (pyarrow.ArrowException, OverflowError):
            # Values of several kinds: each is refused by its row if it is needed.
            columns[name] = Column(name, column.astype(object).where(column.notna(), "").map(str))
    return columns


def index_of(frame):
    """Returns the name of the column that the index of a DataFrame becomes, or `None` if it only counts rows."""
    index = getattr(frame, "index", None)
    if index is None or isinstance(index, pd.RangeIndex):
        return None
    return "index" if index.name is None else str(index.name)


def time_of(frame):
    """Returns the name of the index of a DataFrame if it holds times, or `None`."""
    is_time = isinstance(getattr(frame, "index", None), (pd.DatetimeIndex, pd.PeriodIndex))
    return index_of(frame) if is_time else None


def arrow_columns(table):
    """Returns the columns of a table of Arrow, by name."""
    check_names(table.column_names)
    if not table.num_rows:
        raise ValueError("has no rows")
    return {name: ArrowColumn(name, table.column(k)) for k, name in enumerate(table.column_names)}


class ArrowColumn(Column):
    """A column of a Parquet file or a DataFrame, whose texts are made when they are needed."""

    def __init__(self, name, values):
        self.name, self.values, self.lines, self.decimal = name, values, None, "."

    def __len__(self):
        return len(self.values)

    # Assigned as well, by `of_rows`.

    @functools.cached_property
    def codes(self):
        self.codes, self.words = pd.factorize(self.as_texts())
        return self.codes

    @functools.cached_property
    def words(self):
        self.codes, self.words = pd.factorize(self.as_texts())
        return self.words

    @property
    def is_text(self):
        import pyarrow

        kind = self.values.type
        kind = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
        return (
            pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind) or pyarrow.types.is_string_view(kind)
        )

    def as_texts(self):
        import pyarrow

        values, types = self.values, pyarrow.types
        if types.is_dictionary(values.type):
            values = values.cast(values.type.value_type)
        kind = values.type
        known = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null, types.is_date)
        if not (self.is_text or types.is_timestamp(kind) or any(check(kind) for check in known)):
            raise ValueError(
                f"column {self.name!r} holds {kind}, which is neither numbers, dates nor text: name the columns to "
                "read with --columns, or turn it into one of these"
            )
        if types.is_timestamp(kind) and kind.tz is not None:
            # As pandas writes them to CSV: the clock on the wall, and how far it is ahead of UTC.
            moments = values.to_pandas()
            return as_strings(moments.astype("str").where(moments.notna(), ""))
        if types.is_timestamp(kind):
            # As dates, or without fractions of a second, where that is all they say.
            for plain in (pyarrow.timestamp("s"), pyarrow.date32()):
                cast = values.cast(plain, safe=False)
                values = cast if cast.cast(kind).equals(values.cast(kind)) else values
        pieces = [as_strings([])]
        for start in range(0, len(values), BLOCK):
            try:
                texts = values.slice(start, BLOCK).cast(pyarrow.string()).to_pylist()
            except UnicodeDecodeError as error:
                raise ValueError(f"column {self.name!r} holds {error.object[:40]!r}, which is not UTF-8") from None
            pieces.append(as_strings(["" if text is None else text.strip() for text in texts]))
        return pd.concat(pieces)
