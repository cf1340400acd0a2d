"""Data to learn from: arrays, checked and divided into training, validation and test."""

import dataclasses
import functools
import hashlib
import json
import math
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from keras_rnn_compare.reading.tables import alike, listed

PARTS = ("train", "validation", "test")
SHARES = (0.7, 0.15, 0.15)
# Fewer samples in a part than this, and its score says nothing.
FEWEST = 8
# Models compute in float32. Beyond these, its variance, or Keras's `Normalization` with it, is not a number's own; and
# a standard deviation must be so many times the distance of neighboring numbers in float32.
LARGEST, SMALLEST, STEPS_OF_FLOAT32 = 1e18, 1e-6, 100
# What the results know of the model, and its file does not.
BESIDE_THE_MODEL = ("intervals", "quantiles", "strategy")
# Bytes that are gathered at once.
BLOCK = 2**25


class Windows:
    """The windows of a table as an array `[windows, steps, features]`, gathered where it is indexed.

    Together they would take as many times the memory of the table as they have steps.

    Args:
        table: Array [rows, features].
        begins: Array [windows], the first row of each.
        steps: How many rows each has.
    """

    ndim = 3

    def __init__(self, table, begins, steps):
        self.table, self.begins = table, begins
        self.shape, self.dtype = (len(begins), steps, table.shape[1]), table.dtype

    def __len__(self):
        return len(self.begins)

    def __getitem__(self, index):
        windows, *others = index if isinstance(index, tuple) else (index,)
        if windows is Ellipsis:
            return self[:][index]
        begins = self.begins[windows]
        gathered = self.table[np.asarray(begins)[..., None] + np.arange(self.shape[1])]
        return gathered[(slice(None),) * np.ndim(begins) + tuple(others)]

    def __array__(self, dtype=None, copy=None):
        return self[:] if dtype is None else self[:].astype(dtype)

    @property
    def arrays(self):
        """What it is made of."""
        return self.table, self.begins


class Targets:
    """The rows after windows as an array `[windows, horizon]`, gathered and scaled where it is indexed.

    Args:
        column: Array [rows], the numbers to forecast, in float64.
        ends: Array [windows], the last row of each.
        horizon: How many rows after it are forecast.
        origin: Array [rows], the value since which the changes after each row are forecast, or `None`.
    """

    ndim = 2
    dtype = np.dtype("float32")

    def __init__(self, column, ends, horizon, origin=None):
        self.column, self.ends, self.origin = column, ends, origin
        self.shape, self.mean, self.deviation = (len(ends), horizon), 0.0, 1.0

    def __len__(self):
        return len(self.ends)

    def exact(self, windows=slice(None)):
        """Returns the numbers of some windows in float64, in the unit of the column."""
        ends = self.ends[windows]
        found = self.column[np.asarray(ends)[..., None] + np.arange(1, self.shape[1] + 1)]
        return found if self.origin is None else found - self.origin[ends][..., None]

    def blocks(self):
        """Yields the numbers of all windows, so many at once as take little memory."""
        size = max(1, BLOCK // (8 * self.shape[1]))
        for start in range(0, len(self), size):
            yield self.exact(slice(start, start + size))

    def moments(self):
        """Returns the mean and the standard deviation of all numbers."""
        size = math.prod(self.shape)
        mean = sum(block.sum() for block in self.blocks()) / size
        deviation = np.sqrt(sum(((block - mean) ** 2).sum() for block in self.blocks()) / size)
        # Changes have the rounding of what they are changes of.
        return mean, true_deviation(deviation, np.nanmax(np.abs(self.column)))

    def is_constant(self):
        """Returns whether all numbers are the same."""
        return not self.moments()[1]

    def __getitem__(self, index):
        windows, *others = index if isinstance(index, tuple) else (index,)
        found = ((self.exact(windows) - self.mean) / self.deviation).astype(self.dtype)
        return found[(slice(None),) * np.ndim(self.ends[windows]) + tuple(others)] if others else found

    def __array__(self, dtype=None, copy=None):
        return self[:] if dtype is None else self[:].astype(dtype)

    @property
    def arrays(self):
        """What it is made of."""
        return self.column, self.ends, *(() if self.origin is None else (self.origin,))


@dataclasses.dataclass
class Series:
    """The series that the windows of a forecast are cut from: some forecasts look further back than a window.

    Args:
        values: Array [rows], the target of one series after the other, in order of time; NaN where it is missing.
        owners: Array [rows], the series of each row, ascending.
        ticks: Array [rows], the place of each row in time, within its series.
        ends: Dict of the parts; the last row of each window.
        horizon: How many rows after it are forecast.
        trained: Array [rows], which rows are trained on.
        known: Array [rows, features], what is known in advance; in windows, the last features, `horizon` rows later.
        season: After how many ticks the series repeat themselves, or `None`.
        origin: Array [rows], the value since which the changes after each row are forecast; `None` for levels.
        times: Array [rows], when each row is, as dates or numbers, or `None`.
        names: The names of the series; `None` for a single one.
    """

    values: np.ndarray
    owners: np.ndarray
    ticks: np.ndarray
    ends: dict[str, np.ndarray]
    horizon: int
    trained: np.ndarray
    known: np.ndarray
    season: int | None = None
    origin: np.ndarray | None = None
    times: np.ndarray | None = None
    names: Sequence[Any] = (None,)

    def level(self, ends):
        """Returns what is to be added to forecasts from windows with these last rows, `[windows, 1]`, or 0."""
        return 0 if self.origin is None else self.origin[ends][:, None]

    def goals(self, ends):
        """Returns the rows that are forecast from windows with these last rows, `[windows, horizon]`."""
        return ends[:, None] + np.arange(1, self.horizon + 1)

    @functools.cached_property
    def span(self):
        """Returns the first tick of all series, and how many they have at most."""
        return self.ticks.min(), np.ptp(self.ticks) + 1

    @functools.cached_property
    def keys(self):
        first, count = self.span
        return self.owners * count + self.ticks - first

    def at(self, owners, ticks):
        """Returns the values of series at ticks of theirs; NaN where there is none."""
        first, count = self.span
        wanted = owners * count + ticks - first
        found = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        is_there = (self.keys[found] == wanted) & (ticks >= first) & (ticks < first + count)
        return np.where(is_there, self.values[found], np.nan)


@dataclasses.dataclass
class Data:
    """Sequences and targets of the three parts, ready for training.

    Args:
        x: Dict of the parts; each `[samples, steps, features]` in float32, as an array or `Windows`, or
            `[samples, steps]` tokens in int32.
        y: Dict of the parts; classes as int32 from zero on, or numbers in units of their standard deviation, as an
            array or `Targets`.
        classes: The classes as they were given, or `None` for numbers.
        vocabulary: Number of tokens, or `None` for features.
        mean, deviation: Those of the numbers to predict, in training.
        card: What is known about the data, for the report and for whoever uses the model.
        is_text: Whether the tokens are characters, and the score is in bits.
        series: The `Series` of a forecast, or `None`.
        one_step: The `Data` of the same windows whose goal is the next row only, or `None` if a whole horizon cannot be
            forecast row by row.
        earlier: The `Data` of earlier cuts of a forecast, for backtests.
        origins: The `Data` of earlier cuts by which the baselines of a short series are ranked, the latest first.
        file: Path of the file that it was read from, or `None`.
    """

    x: dict[str, np.ndarray]
    y: dict[str, np.ndarray]
    classes: np.ndarray | None = None
    vocabulary: int | None = None
    mean: np.ndarray | None = None
    deviation: np.ndarray | None = None
    card: dict[str, Any] = dataclasses.field(default_factory=dict)
    is_text: bool = False
    series: Series | None = None
    one_step: "Data | None" = None
    earlier: list["Data"] = dataclasses.field(default_factory=list)
    origins: list["Data"] = dataclasses.field(default_factory=list)
    file: str | None = None

    @property
    def per_step(self):
        """Whether there is a target for every step."""
        return self.y["train"].ndim == (2 if self.classes is not None else 3)

    @property
    def outputs(self):
        return self.y["train"].shape[-1] if self.classes is None else len(self.classes)

    @property
    def measure(self):
        """What a score is; lower is better."""
        if self.classes is None:
            return "RMSE"
        return "bits per character" if self.is_text else "cross entropy"

    def rows(self, part, count=None):
        """Returns the rows of a part, or `count` of them, evenly spread."""
        total = len(self.x[part])
        return np.arange(total)[spread(total, count)]

    def fingerprint(self):
        """Returns a text that differs if the data do."""
        digest = hashlib.sha256()
        for part in PARTS:
            arrays = [of for each in (self.x[part], self.y[part]) for of in getattr(each, "arrays", (each,))]
            arrays += [] if self.series is None else [self.series.values, self.series.ticks, self.series.ends[part]]
            for array in arrays:
                digest.update(f"{array.shape}{array.dtype}".encode())
                digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()[:16]

    def losses(self, part, outputs, rows=slice(None)):
        """Returns the loss of each row by the outputs of a model, and its accuracy where there are classes."""
        y, outputs = self.y[part][rows], np.asarray(outputs, "float64")
        inner = tuple(range(1, y.ndim))
        if self.classes is None:
            return np.mean((outputs - y) ** 2, axis=inner), None
        shifted = outputs - outputs.max(axis=-1, keepdims=True)
        of_target = np.take_along_axis(shifted, y[..., None], -1)[..., 0]
        losses = np.mean(np.log(np.exp(shifted).sum(axis=-1)) - of_target, axis=inner)
        return losses / np.log(2) if self.is_text else losses, np.mean(outputs.argmax(axis=-1) == y, axis=inner)

    def residuals(self, part, outputs, rows=slice(None)):
        """Returns the outputs of a model less the numbers to predict, in the unit of the target."""
        return (np.asarray(outputs, "float64") - self.y[part][rows]) * self.deviation

    def score(self, losses):
        """Returns the score of the losses of a part: their mean, or its root in the unit of the target."""
        return float(np.mean(losses) if self.classes is not None else self.in_units(np.sqrt(np.mean(losses))))

    def contributions(self, losses):
        """Returns a number per loss: their mean is the score, and to first order they vary as the score does."""
        root = np.sqrt(np.mean(losses))
        if self.classes is not None or root == 0:
            return losses
        return self.in_units(root / 2 + losses / (2 * root))

    def in_units(self, error):
        """Returns an error in the unit of the target, if there is a single one."""
        return error * self.deviation[0] if self.deviation.size == 1 else error


# Checks.


def arrays(x: Any, y: Any, groups: Any = None) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Returns `x` and `y` as arrays, or raises an error that says what is wrong, and where."""
    x, y = as_array("x", x), as_array("y", y)
    if x.ndim not in (2, 3):
        raise ValueError(
            "Argument `x` must be numbers [samples, steps, features] or tokens [samples, steps]. "
            f"Received: x of shape {x.shape}"
        )
    if x.ndim == 2 and not np.issubdtype(x.dtype, np.integer):
        raise ValueError(
            "Argument `x` must have an axis of features if it holds numbers: `x[..., None]` adds one. "
            f"Received: x of shape {x.shape} and dtype {x.dtype}"
        )
    if x.ndim == 2 and x.size and not 0 <= x.min() <= x.max() < 2**31 - 1:
        raise ValueError(
            "Argument `x` must hold tokens that are not negative and below 2**31 - 1. "
            f"Received: from {x.min()} to {x.max()}"
        )
    if not y.ndim:
        raise ValueError(f"Argument `y` must have an entry per sample, {len(x):,}. Received: y of shape ()")
    if len(x) != len(y):
        raise ValueError(f"Arguments `x` and `y` must be equally long. Received: {len(x):,} and {len(y):,} samples")
    if len(x) and not (x.shape[1] and (x.ndim == 2 or x.shape[2])):
        raise ValueError(f"Argument `x` must have steps and features. Received: x of shape {x.shape}")
    if y.dtype.kind in "Ub":
        steps = y.ndim == 2
    elif np.issubdtype(y.dtype, np.integer):
        if y.ndim == 2 and y.shape[1] == 1:
            y = y[:, 0]
        steps = y.ndim == 2
    else:
        steps = y.ndim == 3
    if y.ndim > (3 if y.dtype.kind == "f" else 2) or (steps and y.shape[1] != x.shape[1]):
        raise ValueError(
            "Argument `y` must be classes [samples] or [samples, steps], or numbers [samples], [samples, outputs] or "
            f"[samples, steps, outputs]. Received: y of shape {y.shape} and dtype {y.dtype}, x of shape {x.shape}"
        )
    for name, array in (("x", x), ("y", y)):
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            where = tuple(int(k) for k in np.argwhere(~np.isfinite(array))[0])
            count = int((~np.isfinite(array)).sum())
            raise ValueError(
                f"Argument `{name}` must hold finite numbers only. Received: {array[where]} at {name}{list(where)}"
                + (f", and {count - 1:,} more" if count > 1 else "")
            )
    if groups is not None:
        groups = as_array("groups", groups)
        if groups.shape != (len(x),):
            raise ValueError(
                f"Argument `groups` must have one entry per sample, {len(x):,}. Received: shape {groups.shape}"
            )
        if groups.dtype.kind == "f" and not (np.abs(groups) < 2**53).all():
            row = int(np.flatnonzero(~(np.abs(groups) < 2**53))[0])
            raise ValueError(
                "Argument `groups` must hold names or integers; floats do not tell large ones apart. "
                f"Received: {groups[row]} at groups[{row}]"
            )
    return x, y, groups


def as_array(name, value):
    """Returns an array of numbers, or of strings where names are allowed; never one that NumPy made of a mixture."""
    if np.ma.is_masked(value):
        raise ValueError(
            f"Argument `{name}` must have no masked entries. Received: {np.ma.count_masked(value):,} of them"
        )
    try:
        array = np.asarray(value)
    except ValueError:
        check_lengths(name, value)
        array = np.empty(0, object)
    if name == "x":
        return of_numbers(array, value)
    if array.dtype.kind == "U" and not isinstance(value, np.ndarray):
        # NumPy turns the numbers of a mixture into strings.
        array = np.asarray(value, object)
    if array.dtype.kind in "OT":
        array = of_objects(name, array)
    if array.dtype.kind not in "fiubU":
        raise ValueError(
            f"Argument `{name}` must hold integers, floats, booleans or strings. Received: dtype {array.dtype}; "
            f"`{name}.astype(...)` makes one of these of it"
        )
    if array.dtype.kind == "U":
        for k, entry in enumerate(array.flat):
            try:
                entry.encode()
            except UnicodeEncodeError:
                at = list(map(int, np.unravel_index(k, array.shape)))
                raise ValueError(
                    f"Argument `{name}` must hold valid Unicode. Received: {entry!r} at {name}{at}"
                ) from None
        check_looks(name, array)
    return array


def check_looks(name, array):
    """Raises an error if two different names in an array look alike: one class would be two."""
    names, first = np.unique(array, return_index=True)
    pair = alike(names[np.argsort(first)].tolist())
    if pair:
        places = [np.unravel_index(first[names == each][0], array.shape) for each in pair]
        both = " and ".join(f"{each!a} at {name}{list(map(int, at))}" for each, at in zip(pair, places, strict=True))
        raise ValueError(f"Argument `{name}` must not hold names that look alike. Received: {both}")


def of_numbers(array, value):
    if array.dtype.kind == "b":
        return array.astype("float32")
    if array.dtype.kind in "fiu":
        return array
    check_lengths("x", value)
    raise ValueError(
        f"Argument `x` must be an array of numbers. Received: {type(value).__name__} of dtype {array.dtype}"
    )


def check_lengths(name, value):
    lengths = sorted({len(row) for row in value if hasattr(row, "__len__") and not isinstance(row, str)})
    if len(lengths) > 1:
        raise ValueError(
            f"Argument `{name}` must have sequences of equal length: pad or cut them. "
            f"Received: lengths from {lengths[0]} to {lengths[-1]}"
        )


def of_objects(name, array):
    """Returns objects of one kind, all strings or all numbers, as an array of that kind."""
    kinds = {
        "strings": str,
        "booleans": (bool, np.bool_),
        "integers": (int, np.integer),
        "floats": (float, np.floating),
    }

    def kind(entry):
        return next((kind for kind, types in kinds.items() if isinstance(entry, types)), None)

    expected = None
    for k, entry in enumerate(array.flat):
        entry_kind = kind(entry)
        expected = expected or entry_kind
        if entry_kind is None or entry_kind != expected:
            at = list(map(int, np.unravel_index(k, array.shape)))
            raise ValueError(
                f"Argument `{name}` must hold strings only, or numbers of one type only. Received: {entry!r} "
                f"({type(entry).__name__}) at {name}{at}" + (f", after {expected}" if entry_kind else "")
            )
    if expected == "integers" and not all(-(2**63) <= entry < 2**63 for entry in array.flat):
        raise ValueError(f"Argument `{name}` must hold integers of 64 bits. Received: larger ones")
    return array.astype({"strings": str, "booleans": bool, "integers": "int64", "floats": "float64"}.get(expected, "f"))


def split_rows(count, split, seed, groups=None):
    """Returns the rows of the three parts."""
    if split == "group":
        if groups is None:
            raise ValueError("Argument `split` must not be 'group' without `groups`. Received: split='group'")
        names, of_row = np.unique(groups, return_inverse=True)
        if len(names) < 3:
            raise ValueError(f"Argument `groups` must have three groups at least, one a part. Received: {len(names)}")
        parts = split_rows(len(names), "random", seed)
        return {part: np.flatnonzero(np.isin(of_row, chosen)) for part, chosen in parts.items()}
    order = np.arange(count) if split == "time" else np.random.default_rng(seed).permutation(count)
    ends = [round(SHARES[0] * count), count - max(1, round(SHARES[2] * count))]
    return dict(zip(PARTS, (np.sort(rows) for rows in np.split(order, ends)), strict=True))


def prepare(parts, kind, card=None, classes=None, text=False):
    """Returns the `Data` of three parts `{part: (x, y)}`: enough of each, classes counted, numbers normalised.

    Args:
        parts: Dict of arrays, as they were given, or `Windows` in float32 of rows that have been checked.
        kind: What the data is, for the report.
        card: Dict of what else to keep about it.
        classes: The classes, if `y` holds their places already.
        text: Whether the tokens are characters.
    """
    sizes = {part: len(x) for part, (x, _) in parts.items()}
    check_sizes(sizes)
    x, y = ({part: pair[k] for part, pair in parts.items()} for k in (0, 1))
    data = Data(x, y, card={"kind": kind, "samples": sizes, **(card or {})}, is_text=text)
    if x["train"].ndim == 2:
        data.vocabulary = int(max(part.max() for part in x.values())) + 1
        data.x = {part: array.astype("int32") for part, array in x.items()}
    elif not isinstance(x["train"], Windows):
        check_scales(x, data.card.get("columns"), "x")
        data.x = {part: array.astype("float32", copy=False) for part, array in x.items()}
    data.card |= {"steps": x["train"].shape[1], "features": x["train"].shape[2:], "vocabulary": data.vocabulary}
    if y["train"].dtype.kind == "f":
        _numbers(data)
    else:
        _classes(data, classes)
        data.card |= {} if text else {"classes": data.classes.tolist()}
    return data


class TooFew(ValueError):
    """There are too few rows, or samples."""


def check_sizes(sizes):
    """Raises an error if a part has too few samples."""
    if min(sizes.values()) < FEWEST:
        raise TooFew(
            f"The data must give each part {FEWEST} samples at least. Received: "
            + ", ".join(f"{size} for {part}" for part, size in sizes.items())
        )


def check_scales(parts, columns, argument):
    """Raises an error if float32 does not hold how the numbers of a column vary.

    `Normalization` takes the level away inside the model, in float32, so that the file reads the data as it is given.
    What is lost before, in a series of a hundred million that varies by one, no layer brings back.
    """
    for k in range(parts["train"].shape[-1]):
        column = {part: array[..., k].astype("float64", copy=False) for part, array in parts.items()}
        name = f"`{argument}[..., {k}]`" if columns is None else f"column {columns[k]!r}"
        largest = max(map(magnitude, column.values()))
        check_magnitude(name, largest)
        check_deviation(name, largest, column["train"].mean(), column["train"].std())


def magnitude(array):
    return max(-array.min(), array.max())


def check_magnitude(name, largest):
    """Raises an error if models in float32 cannot scale numbers that are at most so large."""
    if largest > LARGEST:
        raise ValueError(
            f"{name} has numbers as large as {largest:.3g}, beyond the {LARGEST:g} that models in float32 can "
            "scale: give it in a larger unit"
        )


def check_deviation(name, largest, mean, deviation):
    """Raises an error if float32 does not hold how numbers vary that are at most so large."""
    spacing = float(np.spacing(np.float32(largest)))
    if not true_deviation(deviation, largest):
        return
    if deviation < STEPS_OF_FLOAT32 * spacing:
        raise ValueError(
            f"{name} varies by {deviation:.3g} about {mean:.10g}, and float32, in which models compute, holds only "
            f"multiples of {spacing:.3g} there: subtract a constant such as {mean:.6g} from it, or take its changes"
        )
    if deviation < SMALLEST:
        raise ValueError(
            f"{name} varies by {deviation:.3g} only, less than the {SMALLEST:g} that models in float32 can scale: "
            "give it in a smaller unit"
        )


def _numbers(data):
    if isinstance(data.y["train"], Targets):
        return _targets(data)
    data.y = {part: array.astype("float64", copy=False) for part, array in data.y.items()}
    if data.y["train"].ndim == 1:
        data.y = {part: array[:, None] for part, array in data.y.items()}
    check_scales(data.y, None, "y")
    data.mean, data.deviation = mean_and_deviation(data.y["train"])
    check_varies("`y`", data.mean, data.deviation, len(data.y["train"]))
    data.y = {part: ((array - data.mean) / data.deviation).astype("float32") for part, array in data.y.items()}


def _targets(data):
    """As `_numbers`, for the rows of a horizon, which are one column with one unit."""
    name = f"column {data.card['target']!r}"
    largest = max(magnitude(block) for targets in data.y.values() for block in targets.blocks())
    check_magnitude(name, largest)
    mean, deviation = data.y["train"].moments()
    check_deviation(name, largest, mean, deviation)
    data.mean, data.deviation = rounded(np.array([mean])), np.array([deviation])
    check_varies(name, data.mean, data.deviation, len(data.y["train"]))
    for targets in data.y.values():
        targets.mean, targets.deviation = data.mean, data.deviation


def check_varies(name, mean, deviation, samples):
    """Raises an error if a target is constant: it has no unit to learn it in, and nothing to learn."""
    if not (deviation > 0).all():
        each = f"each of {samples:,} samples" if samples > 1 else "1 sample"
        raise ValueError(
            f"{name} must vary: every sample to train on has the same number, which it takes no model to predict. "
            f"Received: {mean[deviation == 0][0]:g} in {each}"
        )


def mean_and_deviation(numbers):
    """Returns the mean and the standard deviation of each column, over all other axes."""
    axes = tuple(range(numbers.ndim - 1))
    return rounded(numbers.mean(axes)), true_deviation(numbers.std(axes), np.abs(numbers).max(axes))


def true_deviation(deviation, largest):
    """Returns the deviation of numbers that are at most so large; zero where rounding gives one to a constant."""
    return np.where(deviation <= 1e-14 * largest, 0.0, deviation)


def rounded(mean):
    """Returns a mean as the model adds it, in float32: so it shifts nothing."""
    return mean.astype("float32").astype("float64")


def _classes(data, classes):
    if classes is None:
        classes = np.unique(np.concatenate([np.unique(array) for array in data.y.values()]))
        data.y = {part: np.searchsorted(classes, array) for part, array in data.y.items()}
    data.classes = np.asarray(classes)
    data.y = {part: array.astype("int32") for part, array in data.y.items()}
    samples = data.y["train"].size
    if 2 * len(data.classes) > samples and not data.is_text:
        raise ValueError(
            f"The targets must be classes with two samples each, on average, to train on. Received: "
            f"{len(data.classes):,} classes, such as {data.classes[0].item()!r}, in {samples:,} samples. Numbers are "
            "forecast: give floats, or --task forecast for a column"
        )
    present = np.unique(data.y["train"])
    if len(present) < 2:
        raise ValueError(
            "The targets to train on must have two classes at least. "
            f"Received: {data.classes[present[0]].item()!r} in every sample"
        )


def from_arrays(x, y, groups=None, split=None, seed=0):
    """Returns the `Data` of arrays."""
    x, y, groups = arrays(x, y, groups)
    split = ("random" if groups is None else "group") if split is None else split
    if split not in ("random", "time", "group"):
        raise ValueError(f"Argument `split` must be one of 'random', 'time', 'group'. Received: split={split!r}")
    rows = split_rows(len(x), split, seed, groups)
    parts = {part: (x[chosen], y[chosen]) for part, chosen in rows.items()}
    data = prepare(parts, "arrays", {"split": split})
    what = f"{data.outputs:,} numbers" if data.classes is None else f"{data.outputs:,} classes"
    how = {"random": "drawn at random", "time": "in order", "group": "in groups of their own"}[split]
    data.card["read"] = {
        "x": f"{x.shape[0]:,} samples of {x.shape[1]:,} steps, "
        + (f"{x.shape[2]:,} features" if x.ndim == 3 else "tokens"),
        "y": f"{what}, for each {'step' if data.per_step else 'sample'}",
        **{part: f"{len(chosen):,} samples, {how}" for part, chosen in rows.items()},
    }
    return data


def spread(total, count):
    """Returns the places of `count` of `total` rows, evenly spread, or of all."""
    return slice(None) if count is None or count >= total else np.linspace(0, total - 1, count).round().astype(int)


def carried(values, owners):
    """Returns each value, or the last one before it in its series where it is missing; NaN before the first one."""
    rows = np.arange(len(values))
    last = np.maximum.accumulate(np.where(np.isnan(values), -1, rows))
    return np.where(last >= np.searchsorted(owners, owners), values[last], np.nan)


def describe_source(read):
    """Returns lines that tell what was read: columns of the same role in one."""
    by_role = {}
    for name, role in read.get("columns", {}).items():
        by_role.setdefault(role, []).append(name or "''")
    lines = [f"{name}: {text}" for name, text in read.items() if name != "columns"]
    return [*lines[:1], *(f"{listed(names)}: {role}" for role, names in by_role.items()), *lines[1:]]


# Preprocessing, inside the model.


def first_layers(data, inputs):
    """Returns the layers that read the data as it is given, and turn it into so many inputs of unit variance."""
    if data.vocabulary is not None:
        initializer = keras.initializers.RandomNormal(stddev=1.0)
        return [keras.layers.Embedding(data.vocabulary, inputs, embeddings_initializer=initializer)]
    x = data.x["train"].astype("float64")
    mean, variance = x.mean(axis=(0, 1)), x.var(axis=(0, 1))
    normalization = keras.layers.Normalization(
        mean=mean.tolist(), variance=np.where(variance > 0, variance, 1.0).tolist()
    )
    if inputs == x.shape[-1]:
        return [normalization]
    return [normalization, keras.layers.Dense(inputs, use_bias=False, kernel_initializer="lecun_normal")]


def last_layers(data, outputs=None):
    """Returns the layers that turn outputs into probabilities, or into numbers in the unit of the target."""
    if data.classes is not None:
        return [keras.layers.Softmax()]
    mean, deviation = (np.broadcast_to(each, outputs or data.outputs) for each in (data.mean, data.deviation))
    return [keras.layers.Normalization(mean=mean.tolist(), variance=(deviation**2).tolist(), invert=True)]


def beside_the_model(data, results=None):
    """Returns what the model file cannot hold, as JSON."""
    results = results or {"intervals": {}, "quantiles": False, "strategy": "direct"}
    description = {
        **data.card,
        **{name: results[name] for name in BESIDE_THE_MODEL},
        "outputs": "probabilities of the classes" if data.classes is not None else "numbers",
    }
    return json.dumps(description, ensure_ascii=False, indent=1)
