"""`compare`: what it reads and refuses, what it calls noise, and whole comparisons of toys."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import keras
import numpy as np
import pytest
from forgetful import Forgetful
from keras import ops

import keras_adaptive_rnn as kar
import keras_rnn_compare as krc
from keras_rnn_compare import commands
from keras_rnn_compare.cli import main
from keras_rnn_compare.models import candidates, measures, trials
from keras_rnn_compare.reading import files
from keras_rnn_compare.reading.data import PARTS, Data, from_arrays
from keras_rnn_compare.running import schedule
from keras_rnn_compare.scoring import baselines
from keras_rnn_compare.study import training
from keras_rnn_compare.study.study import Study
from tests.backends import nightly

# Sizes.


@pytest.mark.parametrize("name", candidates.offered())
def test_the_size_of_a_layer_is_known_without_making_it(name):
    candidate = candidates.offered()[name]
    for count, inputs in ((7, 3), (10, 20)):
        units = count * candidate.multiple
        layer = candidate.layer(units, inputs)
        layer.build((None, None, inputs))
        assert layer.count_params() == candidate.size(units, inputs)


class Averages(keras.layers.Layer):
    """A recurrent layer that has no cell: averages of dense features."""

    def __init__(self, units, return_sequences=False, **kwargs):
        super().__init__(**kwargs)
        self.units, self.return_sequences = units, return_sequences
        self.dense = keras.layers.Dense(units)

    def build(self, input_shape):
        self.dense.build(input_shape)

    def call(self, inputs):
        sums = ops.cumsum(self.dense(inputs), axis=1)
        averages = sums / ops.cast(ops.arange(1, ops.shape(sums)[1] + 1), sums.dtype)[:, None]
        return averages if self.return_sequences else averages[:, -1]

    def get_config(self):
        return {**super().get_config(), "units": self.units, "return_sequences": self.return_sequences}


LAYERS = {
    "class": keras.layers.LSTM,
    "function": lambda units: keras.layers.GRU(units, reset_after=False),
    "ours": kar.Mogrifier,
    "around_a_cell": lambda units: keras.layers.RNN(keras.layers.LSTMCell(units)),
    "without_a_cell": Averages,
    "cell": keras.layers.GRUCell,
    "stack": lambda units: [kar.LSTMCell(units), kar.GRUCell(units)],
}


@pytest.mark.every_backend
@pytest.mark.parametrize("name", LAYERS)
def test_any_recurrent_layer_is_a_candidate(name):
    candidate = candidates.resolve_candidates({"mine": LAYERS[name]}, fewest=1)["mine"]
    for sequences in (False, True):
        layer = candidate.layer(4, 3, return_sequences=sequences)
        assert layer(np.ones((2, 5, 3))).shape == ((2, 5, 4) if sequences else (2, 4))
        assert layer.count_params() == candidate.size(4, 3)


@pytest.mark.every_backend
def test_layers_of_keras_are_compared(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "QUICK", 60)
    cells = {"keras": keras.layers.LSTM, "averages": Averages}
    options = {"weights": 300, "minutes": 0.001, "trials": 1, "seeds": 1, "depth": 2, "memory": False, "verbose": False}
    found = krc.compare(X, Y, cells=cells, output=tmp_path / "out", **options)
    assert {row["name"] for row in found.results["rows"]} == set(cells)
    steps = {row["name"]: row["latency"] for row in found.results["rows"]}
    assert steps["averages"] is None
    assert steps["keras"] > 0


@pytest.mark.parametrize(
    ("features", "vocabulary", "depth", "weights"), [(1, None, 1, 20_000), (8, None, 2, 200_000), (None, 90, 1, 50_000)]
)
def test_models_have_equally_many_weights(features, vocabulary, depth, weights):
    shape = candidates.ModelShape(features, vocabulary, 5, depth)
    units, note = candidates.equal_sizes(shape, candidates.offered(), weights)
    sizes = [shape.size(candidate, units[name]) for name, candidate in candidates.offered().items()]
    assert max(sizes) / min(sizes) <= 1.02
    assert 0.88 * weights < min(sizes) <= max(sizes) < 1.12 * weights
    assert note is None


def test_few_weights_leave_no_equal_sizes_and_the_note_says_so():
    _, note = candidates.equal_sizes(candidates.ModelShape(1, None, 1, 1), candidates.offered(), 60)
    assert "differ by" in note


@pytest.mark.parametrize("name", ["min_gru", "min-gru", "MinGRU", "minGRU", "Min GRU"])
def test_a_cell_is_found_however_its_name_is_written(name):
    assert list(candidates.resolve_candidates(["LSTM", name])) == ["lstm", "min_gru"]
    assert candidates.resolve_candidates({"mine": name}, fewest=1)["mine"].title == "minGRU"


@pytest.mark.parametrize(
    ("name", "meant"), [("lsmt", "lstm"), ("MoGrifir", "mogrifier"), ("LowRankGRUs", "low_rank_gru")]
)
def test_an_unknown_cell_gets_a_suggestion(name, meant):
    with pytest.raises(ValueError, match=f"Received: '{name}'. Did you mean '{meant}'"):
        candidates.resolve_candidates(["gru", name])


def test_the_sample_is_real_and_overwrites_nothing(tmp_path, monkeypatch):
    pytest.importorskip("statsmodels")
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        commands.write_sample()
    data = files.read("sunspots.csv", target="sunspots", time="year")
    assert data.card["frequency"]["name"] == "every 1"
    assert len(data.series.values) == 309
    pathlib.Path("sunspots.csv").write_text("year,sunspots\n1700,5\n")
    with pytest.raises(ValueError, match="another file of this name"):
        commands.write_sample()
    with pytest.raises(SystemExit):
        main(["compare", "data.csv", "--sample"])


# The schedule.


def test_rungs_halve_the_rates():
    assert [schedule.rungs(trials) for trials in (1, 2, 3, 4, 8)] == [[], [2], [3, 2], [4, 2], [8, 4, 2]]
    assert schedule.rates(4) == [0.001, 0.0031, 0.0097, 0.03]


# Scores.


@pytest.mark.parametrize("classes", [None, np.arange(3)])
def test_the_score_is_the_mean_of_the_contributions(classes):
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=50) if classes is not None else rng.normal(size=(50, 1))
    data = Data({}, {"validation": y}, classes, deviation=np.array([7.0]))
    outputs = rng.normal(size=(50, 3 if classes is not None else 1))
    losses, _ = data.losses("validation", outputs)
    found = data.contributions(losses)
    np.testing.assert_allclose(np.mean(found), data.score(losses))
    # Leaving a sample out changes the score as it changes the mean.
    left_out = [data.score(np.delete(losses, k)) - data.score(losses) for k in range(50)]
    np.testing.assert_allclose(left_out, (np.mean(found) - found) / 49, rtol=0.1, atol=1e-3)


# What is read.


def table(path, groups="ab", length=100, **columns):
    """Writes a table of series, and returns its path."""
    header = ["day", "value", "other", "shop", *columns]
    lines = [",".join(header)]
    for shift, name in enumerate(groups):
        for t in reversed(range(length)):
            day = np.datetime64("2024-01-01") + np.timedelta64(t, "D")
            cells = [day, 1000 * shift + t, t % 7, name, *(column(t) for column in columns.values())]
            lines.append(",".join(map(str, cells)))
    path.write_text("\n".join(lines))
    return path


def test_a_forecast_reads_windows_of_each_series_in_the_order_of_time(tmp_path):
    data = files.read(
        table(tmp_path / "a.csv"),
        "value",
        time="day",
        group="shop",
        columns=["other"],
        steps=5,
        horizon=3,
        calendar=False,
        differences="no",
    )
    goals = {part: (data.y[part] * data.deviation + data.mean).round() for part in PARTS}
    assert data.card["columns"] == ["other", "value"]
    for part in PARTS:
        x = data.x[part]
        assert x.shape[1:] == (5, 2)
        # One series in one window, its rows in order, and the targets of the next three rows.
        np.testing.assert_array_equal(np.diff(x[:, :, 1]), 1)
        np.testing.assert_array_equal(goals[part], x[:, -1:, 1] + [1, 2, 3])
        np.testing.assert_array_equal(x[:, :, 0], x[:, :, 1] % 1000 % 7)
    days = {part: goals[part] % 1000 for part in PARTS}
    assert days["train"].max() < days["validation"].min()
    assert days["validation"].max() < days["test"].min()


def test_groups_are_classified_as_a_whole_and_never_divided(tmp_path):
    names = [f"s{k}" for k in range(60)]
    path = table(tmp_path / "b.csv", names, 4, kind=lambda t: "KIND")
    lines = path.read_text().splitlines()
    kinds = ["up" if line.split(",")[3] < "s4" else "down" for line in lines]
    path.write_text("\n".join(line.replace("KIND", kind) for line, kind in zip(lines, kinds, strict=True)))
    data = files.read(path, "kind", time="day", group="shop", columns=["value"])
    assert data.classes.tolist() == ["down", "up"]
    assert {part: data.x[part].shape for part in PARTS} == {
        "train": (42, 4, 1),
        "validation": (9, 4, 1),
        "test": (9, 4, 1),
    }
    owners = [set((data.x[part] // 1000).ravel()) for part in PARTS]
    assert sum(map(len, owners)) == len(set.union(*owners)) == 60


def test_parquet_is_read_as_csv_is(tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow.csv
    import pyarrow.parquet

    path = table(tmp_path / "a.csv")
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(path), tmp_path / "a.parquet")
    given = {"target": "value", "time": "day", "group": "shop", "steps": 5}
    found = [files.read(tmp_path / name, **given).fingerprint() for name in ("a.csv", "a.parquet")]
    assert found[0] == found[1]


def test_a_text_is_read_as_characters_and_the_next_ones(tmp_path):
    path = tmp_path / "text"
    path.write_text("the cat sat. " * 100 + "ß", encoding="utf-8")
    data = files.read(path, steps=10)
    assert data.is_text
    characters = data.card["characters"]
    read = "".join(characters[k] for k in data.x["train"][:3].ravel())
    assert read == ("the cat sat. " * 3)[:30]
    np.testing.assert_array_equal(data.y["train"].ravel()[:-1], data.x["train"].ravel()[1:])
    # What the training part does not know is the unknown character.
    assert data.vocabulary == len(characters) == len(set("the cat sat. ")) + 1


def test_groups_and_time_divide_arrays():
    x, y = np.arange(120.0)[:, None, None], np.arange(120.0)
    groups = np.arange(120) // 4
    data = from_arrays(x, y, groups)
    owners = [set((data.x[part] // 4).ravel()) for part in PARTS]
    assert sum(map(len, owners)) == 30
    data = from_arrays(x, y, split="time")
    assert [data.x[part].ravel()[0] for part in PARTS] == [0, 84, 102]


# Bad input, told before any training.

X, Y = np.zeros((80, 5, 2)), np.arange(80) % 2


def with_nan(at, value=np.nan):
    x = X.copy()
    x[at] = value
    return x


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"x": with_nan((3, 2, 1))}, r"`x` must hold finite.*nan at x\[3, 2, 1\]"),
        ({"x": with_nan((3, 2), np.inf)}, r"inf at x\[3, 2, 0\], and 1 more"),
        ({"y": np.where(Y, 1.0, np.nan)}, r"nan at y\[0\]"),
        ({"y": np.zeros(80, int)}, "two classes at least.*0 in every sample"),
        ({"y": np.ones(80)}, "must vary"),
        # Its deviation is not zero, by rounding.
        ({"y": np.full(80, 0.1)}, "must vary.*0.1 in each of 56 samples"),
        ({"x": [[[1.0]] * (3 + k % 2) for k in range(80)]}, "equal length.*from 3 to 4"),
        ({"x": X[:, :, 0]}, "axis of features"),
        ({"x": X[:, 0, 0]}, r"\[samples, steps, features\]"),
        ({"x": np.full((80, 5), -1)}, "not negative"),
        ({"x": [["a"] * 3] * 80}, "array of numbers"),
        ({"y": Y[:70]}, "equally long.*80 and 70"),
        ({"y": np.zeros((80, 4), int)}, r"y of shape \(80, 4\)"),
        ({"x": X[:20], "y": Y[:20]}, "8 samples at least.*14 for train"),
        ({"groups": Y}, "three groups"),
        ({"groups": Y[:5]}, "one entry per sample"),
        ({"split": "group"}, "without `groups`"),
        ({"split": "half"}, "`split` must be one of"),
        ({"cells": ["lstm", "lsmt"]}, "`cells` must name.*'mogrifier'.*'lsmt'"),
        ({"cells": ["lstm"]}, "two cells at least"),
        ({"cells": ["gru", "gru"]}, "each cell once"),
        ({"cells": {"a/b": kar.LSTMCell, "c": "gru"}}, "names of letters"),
        ({"equal": "size"}, "`equal` must be one of"),
        ({"minutes": 0}, "`minutes` must be a positive number"),
        ({"seeds": 0}, "`seeds` must be an integer of at least 1"),
    ],
)
def test_bad_arguments(given, message, tmp_path):
    with pytest.raises(ValueError, match=re.compile(message, re.DOTALL)):
        krc.compare(**{"x": X, "y": Y, "output": tmp_path / "out", **given})
    assert not (tmp_path / "out").exists()


def test_arguments_of_wrong_types():
    with pytest.raises(TypeError, match="`cells` must be None, a list"):
        krc.compare(X, Y, cells="lstm")
    with pytest.raises(TypeError, match="functions `units -> layer`"):
        krc.compare(X, Y, cells={"a": 3, "b": kar.LSTMCell})
    for other in (os.system, int):
        with pytest.raises(TypeError, match=r"functions `units -> layer`.* Received: a: "):
            krc.compare(X, Y, cells={"a": other, "b": kar.LSTMCell})
    for other in (keras.layers.Dense, lambda units: units, lambda units: keras.layers.LSTM):
        with pytest.raises(ValueError, match=r"`cells` must make a recurrent layer, .* or a cell"):
            krc.compare(X, Y, cells={"a": other, "b": kar.LSTMCell})
    with pytest.raises(ValueError, match="`cells` must make layers that read forwards alone"):
        krc.compare(X, Y, cells={"a": lambda u: keras.layers.Bidirectional(kar.GRU(u)), "b": kar.LSTMCell})
    with pytest.raises(TypeError, match="`seeds` must be an integer"):
        krc.compare(X, Y, seeds=1.5)


def bad_files(folder):
    """Returns arguments of the command, and the error that each gives."""
    good = str(table(folder / "good.csv"))
    missing = table(folder / "missing.csv", gap=lambda t: "" if t == 90 else t)
    words = table(folder / "words.csv", city=lambda t: "Paris")
    short = table(folder / "short.csv", length=20)
    unequal = folder / "unequal.csv"
    unequal.write_text("\n".join(table(folder / "u.csv", kind=lambda t: "k").read_text().splitlines()[:-1]))
    (folder / "ragged.csv").write_text("a,b\n1,2\n3\n")
    (folder / "twice.csv").write_text("a,a\n1,2\n")
    (folder / "header.csv").write_text("a,b\n")
    (folder / "empty.csv").write_text("")
    (folder / "short.txt").write_text("too short")
    (folder / "binary.txt").write_bytes(b"a\0b")
    (folder / "latin.txt").write_bytes("é".encode("latin-1") * 3)
    (folder / "not.npz").write_text("no")
    np.savez(folder / "named.npz", a=X)
    yield [good], "--target must name the column to predict, one of day, value, other, shop"
    yield [good, "--target", "price"], "--target must be one of the columns .* 'price'"
    yield [good, "--target", "value", "--time", "when"], "--time must be one of"
    yield [good, "--target", "value", "--columns", "other,price"], "--columns must be one of"
    yield (
        [good, "--target", "value"],
        r"column 'day' holds dates that do not ascend, such as '2024-04-08' in row 2 .*--time day orders",
    )
    yield (
        [good, "--target", "value", "--time", "shop", "--group", "day"],
        "which is neither a number nor such a date: write all times",
    )
    yield [good, "--target", "value", "--time", "value"], "different columns"
    twice = "the same time, 2024-01-01, in row 100 .* and row 200 .*: --group names"
    yield [good, "--target", "value", "--time", "day", "--columns", "other"], twice
    yield (
        [good, "--target", "shop", "--task", "forecast", "--time", "day"],
        "column 'shop' has 'a', which is not a plain number",
    )
    yield [good, "--target", "shop", "--time", "day", "--horizon", "2"], "--horizon is for forecasts"
    yield [good, "--target", "value", "--time", "day", "--split", "group"], "'shop' holds|needs --group"
    series = ["--target", "value", "--time", "day", "--group", "shop"]
    yield [str(missing), *series], r"column 'gap' has no number in row 10 \(line 11\), and 1 more such rows"
    yield (
        [str(words), *series],
        "column 'city' has 'Paris', which is not a plain number such as -1234.5, in row 1 .* --columns",
    )
    yield [str(short), *series], "is too short: its longest series has 20 rows, and a window takes 32"
    yield [str(unequal), "--target", "kind", "--time", "day", "--group", "shop"], r"from 99 \(b\) to 100 rows \(a\)"
    yield [str(folder / "ragged.csv"), "--target", "a"], r"1 values in row 2 \(line 3\), and 2 columns"
    yield [str(folder / "twice.csv"), "--target", "a"], "two columns named 'a'"
    yield [str(folder / "header.csv"), "--target", "a"], "no rows"
    yield [str(folder / "empty.csv"), "--target", "a"], "is empty"
    yield [str(folder / "short.txt")], r"is too short: its 9 characters .* Give \d[\d,]+ characters"
    yield [str(folder / "binary.txt")], "not a text"
    yield [str(folder / "latin.txt")], "is not UTF-8: .* at byte 0"
    yield [str(folder / "short.txt"), "--target", "a"], "--target is for tables"
    yield [str(folder / "short.txt"), "--horizon", "2"], "--horizon is for tables"
    yield [good, "--target", "value", "--time", "day", "--columns", "day,other"], "'day' is --time or --group"
    yield [good, "--target", "shop", "--time", "day", "--columns", "shop"], "'shop' is the class to predict"
    yield [str(folder / "not.npz")], "is not a file of numpy.savez"
    yield [str(folder / "named.npz")], "needs arrays named x and y, and holds a"
    yield [str(folder)], "is a folder"
    yield [str(folder / "nowhere.csv")], "there is no file"
    yield [good, *series, "--cells", "lstm,lsmt"], "'lsmt'"
    for name in ("os:system", "os:makedirs", "builtins:int", "keras:layers"):
        yield [good, *series, "--cells", f"lstm,{name}"], f"`units -> layer`, .* Received: {name}, <"


def test_bad_files(tmp_path):
    for arguments, message in bad_files(tmp_path):
        with pytest.raises(SystemExit) as stop:
            main(["compare", *arguments, "--output", str(tmp_path / "out")])
        assert re.search(f"error: .*{message}", str(stop.value), re.DOTALL), (arguments, stop.value)
    assert not (tmp_path / "out").exists()


# Whole comparisons.


SMALL = {"weights": 300, "minutes": 0.001, "seeds": 2, "memory": False, "verbose": False}


def memory_task(samples=160):
    """Returns sequences whose class is told by the first step alone."""
    x = np.random.default_rng(0).normal(size=(samples, 3, 2)).astype("float32")
    return x, np.where(x[:, 0, 0] > 0, "high", "low")


def test_a_cell_without_a_memory_loses(tmp_path, monkeypatch):
    # A logistic regression on the first steps would do as well.
    monkeypatch.setattr(baselines, "installed", lambda package: False)
    monkeypatch.setattr(schedule, "FEWEST", 30)
    monkeypatch.setattr(schedule, "DECENT", 30)
    monkeypatch.setattr(schedule, "LOWEST", 0.01)
    monkeypatch.setattr(Study, "has_time", lambda *_: True)
    monkeypatch.setattr(schedule, "PIECES", 3)  # Each `fit` takes TensorFlow a tenth of a second.
    x, y = memory_task()
    cells = {"none": Forgetful, "gru": "gru"}
    found = krc.compare(x, y, cells=cells, trials=2, output=tmp_path / "out", **{**SMALL, "seeds": 3, "weights": 600})
    assert found.winner == "gru"
    assert "more than noise" in found.recommendation
    first, second, *others = found.table()
    assert [row["cell"] for row in others] == [row["title"] for row in found.results["baselines"]]
    assert first["cell"] == "GRU"
    assert first["validation"] < 0.4 < second["validation"]
    assert first["test accuracy"] > 0.8
    assert first["weights"] == found.results["rows"][0]["weights"]

    # The model reads what was given, and its file holds all it needs but the names of the classes.
    classes = json.loads((tmp_path / "out" / "best.json").read_text())["classes"]
    predicted = np.array(classes)[found.best_model().predict(x, verbose=0).argmax(axis=-1)]
    assert np.mean(predicted == y) > 0.85

    # The report needs nothing but itself.
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<svg" in page
    assert not re.search(r"<(script|link|img|iframe)|url\((?!#)|@import", page)
    assert found._repr_html_() in page
    assert found.recommendation in " ".join(str(found).split())

    # A trial is what its settings make it.
    record = json.loads((tmp_path / "out" / "trials" / "gru-seed0.json").read_text())
    data = from_arrays(x, y)
    shape = candidates.ModelShape(2, None, 2, 1)
    learner = trials.Learner(data, shape, candidates.offered()["gru"], first["units"], 32)
    plan = found.results["plan"]["schedule"]["final"]
    again = learner.train(record["rate"], record["seed"], plan)
    assert again["curve"] == record["curve"]
    assert learner.judge("test")[0] == record["test"]

    # The lines of the winner run.
    names = {}
    exec(re.sub(r"epochs=\d+", "epochs=1, verbose=0", found.code), names)
    assert names["model"].predict(x, verbose=0).shape == (len(x), 2)
    model = names["train"](x, (y == "low").astype(int))
    assert sum(np.prod(w.shape) for w in model.trainable_weights) == first["weights"]


@pytest.mark.skipif(not pathlib.Path("/proc/self/clear_refs").exists(), reason="only Linux tells the peak of memory")
@nightly
def test_the_memory_of_a_large_model():
    x, y = memory_task(64)
    learner = trials.Learner(
        from_arrays(x, y), candidates.ModelShape(2, None, 2, 1), candidates.offered()["lstm"], 1000, 32
    )
    # Its weights, their gradient, and the two moments of Adam, in four bytes each.
    assert measures.peak_megabytes(learner) > 4 * 4 * learner.model.count_params() / 1e6


def test_another_comparison_in_the_folder_is_refused(tmp_path):
    x, y = memory_task()
    (tmp_path / "settings.json").write_text(json.dumps({"weights": 500}))
    with pytest.raises(ValueError, match=r"another comparison, with .*weights 500 instead of 300"):
        krc.compare(x, y, cells=["lstm", "gru"], output=tmp_path, **SMALL)
    (tmp_path / "settings.json").unlink()
    (tmp_path / "mine.txt").write_text("")
    with pytest.raises(ValueError, match="holds other files"):
        krc.compare(x, y, cells=["lstm", "gru"], output=tmp_path, **SMALL)


@nightly
def test_a_comparison_at_equal_time_of_numbers_for_each_step(tmp_path):
    x = np.random.default_rng(0).normal(size=(80, 3, 2)).astype("float32")
    y = x.sum(axis=-1, keepdims=True) * 100 + 7
    found = krc.compare(x, y, cells=["gru", "mogrifier"], equal="time", trials=1, depth=2, output=tmp_path, **SMALL)
    assert found.results["measure"] == "RMSE"
    assert found.best_model().predict(x[:, :2], verbose=0).shape == (80, 2, 1)
    # In the unit of the target.
    np.testing.assert_allclose(found.results["baselines"][0]["test_mean"], 100 * 2**0.5, rtol=0.3)
    assert all(row["weights"] <= 4 * 1.1 * 300 for row in found.results["rows"])


def test_ctrl_c_keeps_what_is_done(tmp_path, monkeypatch, capsys):
    (tmp_path / "book.txt").write_text("the cat sat on the mat. " * 60)
    command = ["compare", str(tmp_path / "book.txt"), "--cells", "lstm,gru", "--weights", "600", "--steps", "8"]
    command += ["--minutes", "0.001", "--trials", "2", "--seeds", "1", "--no-memory", "--output", str(tmp_path / "out")]
    train, calls = trials.Learner.train, []

    def interrupted(self, *args):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return train(self, *args)

    monkeypatch.setattr(trials.Learner, "train", interrupted)
    with pytest.raises(SystemExit) as stop:
        main(command)
    assert stop.value.code == 130
    assert "the same command goes on" in capsys.readouterr().err
    main(command)
    # Two trials were kept; the third was run again.
    assert len(calls) == 1 + 6
    out, err = capsys.readouterr()
    assert "Resuming after 2 trials" in err
    assert "bits per character" in out
    model = keras.saving.load_model(tmp_path / "out" / "best.keras")
    characters = json.loads((tmp_path / "out" / "best.json").read_text())["characters"]
    probabilities = model.predict(np.array([[characters.index(c) for c in "the cat"]]), verbose=0)
    np.testing.assert_allclose(ops.convert_to_numpy(probabilities).sum(axis=-1), 1, rtol=1e-5)


# Ctrl-C and a full disk, which stop it as well, are seen every time.
@nightly
@pytest.mark.skipif(keras.backend.backend() != "torch", reason="the folder is the same on every backend")
def test_a_comparison_that_is_killed_goes_on_to_the_same_numbers(tmp_path, monkeypatch):
    # How many baselines there is time for may differ.
    monkeypatch.setattr(baselines, "installed", lambda package: False)
    x, y = memory_task(80)
    np.savez(tmp_path / "data.npz", x=x, y=y)
    command = ["compare", str(tmp_path / "data.npz"), "--cells", "lstm,gru", "--weights", "300", "--minutes", "0.001"]
    command += ["--trials", "2", "--seeds", "2", "--no-memory", "--output"]
    folder, whole = tmp_path / "killed", tmp_path / "whole"
    process = subprocess.Popen(
        [sys.executable, "-m", "keras_adaptive_rnn", *command, str(folder)],
        cwd=pathlib.Path(kar.__file__).parents[1],
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    while process.poll() is None and not list(folder.glob("trials/*-rung0-*.json")):
        time.sleep(0.001)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (folder / "results.json").exists()
    # Another comparison with the same plan, which is never stopped.
    whole.mkdir()
    for name in ("settings.json", "plan.json"):
        (whole / name).write_text((folder / name).read_text())
    results = []
    for path in (folder, whole):
        main([*command, str(path)])
        results.append(json.loads((path / "results.json").read_text()))
    for name in ("winner", "recommendation"):
        assert results[0][name] == results[1][name]
    for one, other in zip(results[0]["rows"], results[1]["rows"], strict=True):
        for name in ("validation", "test", "accuracy", "curves", "rate", "units", "weights"):
            assert one[name] == other[name]


def test_a_rate_that_is_too_high_for_a_whole_training_gives_way_to_the_next_lower_one(monkeypatch):
    def trial(rate, steps, *scores):
        curve = [[k + 1, score] for k, score in enumerate(scores)]
        return {"rate": rate, "steps": steps, "score": scores[-1], "curve": curve}

    high, low = (trial(0.03, 100, 3.0, 2.0), trial(0.01, 100, 3.5, 2.1))
    searched = {name: {"rate": 0.03, "trials": [high, low]} for name in ("lasts", "diverges", "fails")}
    searched["lowest"] = {"rate": 0.01, "trials": [low]}
    diverged = trial(0.03, 400, 2.5, None)
    records = {"lasts": [trial(0.03, 400, 2.2, 1.9)], "lowest": [trial(0.01, 400, 2.2, 2.2)]}
    records |= {"diverges": [diverged], "fails": [diverged]}
    again = {"diverges": trial(0.01, 400, 2.3, 1.8), "fails": trial(0.01, 400, 2.6, None)}
    asked = []

    def full_trial(study, plan, name, rate, *rest):
        asked.append((name, rate, *rest))
        return name

    monkeypatch.setattr(training, "full_trial", full_trial)
    titles = {"diverges": "Cell", "fails": "Other"}
    said = []
    has_time = []
    study = SimpleNamespace(title=titles.get, progress=SimpleNamespace(line=said.append))
    study.has_time = lambda *given: has_time.append(given) or True
    plan, runner = SimpleNamespace(final={"steps": 400}), SimpleNamespace(records=lambda names: map(again.get, names))
    monkeypatch.setattr(training, "seconds_of_seed", lambda *_: 7.0)
    found = training.lower_rates(study, plan, runner, searched, records, "direct")
    assert has_time == [("lower", 7.0)]

    assert asked == [("diverges", 0.01, 0, "direct", True), ("fails", 0.01, 0, "direct", True)]
    assert found == {"diverges": again["diverges"]}
    assert said[0].endswith("too high for a whole training: Cell (0.01).")
