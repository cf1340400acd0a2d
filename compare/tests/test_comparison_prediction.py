"""What a comparison predicts for new rows: its model reads them as it read those that it has learned from."""

import json

import numpy as np
import pytest

from keras_rnn_compare import Comparison
from keras_rnn_compare.cli import main
from keras_rnn_compare.models.candidates import ModelShape, offered
from keras_rnn_compare.models.strategies import Quantiles, Rolled, learned_intervals
from keras_rnn_compare.reading.data import Data, beside_the_model
from keras_rnn_compare.reading.files import read
from keras_rnn_compare.reporting import prediction
from keras_rnn_compare.scoring.intervals import LEVELS, ascending, center, conformal, interval, pinball_losses


class Watched:
    """A model that keeps what it reads, and returns the last value of a feature."""

    def __init__(self, feature=0, outputs=1):
        self.feature, self.outputs = feature, outputs

    def predict(self, x, verbose):
        self.read = x
        return np.repeat(x[:, -1, self.feature, None], self.outputs, axis=1)


def write(path, header, rows):
    path.write_text("\n".join([",".join(header), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def card_of(data, **more):
    return {**json.loads(beside_the_model(data)), **more}


def hours(count, start="2024-03-01T00"):
    return [f"{time}:00" for time in np.datetime64(start, "h") + np.arange(count, dtype="timedelta64[h]")]


def table(count, gaps=(), group=None):
    rng = np.random.default_rng(len(group or ""))
    rows = []
    for k, time in enumerate(hours(count)):
        cell = "" if k in gaps else f"{rng.normal():.3f}"
        rows.append([*([group] if group else []), time, f"{rng.normal():.3f}", cell, k % 7, f"{rng.normal():.3f}"])
    return rows


HEADER = ["time", "a", "b", "open", "load"]
SIZES = {"train": 2000, "validation": 1000, "test": 1000}
OPTIONS = {"target": "load", "time": "time", "known": ["open"], "steps": 5, "horizon": 3}


@pytest.mark.parametrize("missing", ["refuse", "interpolate", "drop", "mask"])
@pytest.mark.parametrize("groups", [None, ["north", "south"]])
def test_new_rows_are_read_like_old_ones(missing, groups, tmp_path):
    gaps = () if missing == "refuse" else (0, 60, 61, 130, 150)
    header = ["site", *HEADER] if groups else HEADER
    rows = [row for group in groups or [None] for row in table(200, gaps, group)]
    options = {**OPTIONS, "missing": missing, "group": "site" if groups else None}
    data = read(write(tmp_path / "old.csv", header, rows), **options)
    card = card_of(data)
    count, offset = 160 if missing != "drop" else 165, len(header) - 1
    # A file that ends `horizon` rows after the forecast begins, whose load and others are not known yet.
    new = []
    for group in range(len(groups or [None])):
        of_group = [list(row) for row in rows[200 * group : 200 * group + count]]
        for row in of_group[-3:]:
            row[offset] = row[offset - 2] = row[offset - 3] = ""
        new += of_group
    model = Watched(outputs=3)
    found = prediction.predictions(model, card, write(tmp_path / "new.csv", header, new))
    assert [row.get("site") for row in found] == [group for group in groups or [None] for _ in range(3)]
    assert [row["time"] for row in found[-3:]] == [row[offset - 4] for row in rows[count - 3 : count]]
    windows = np.concatenate([data.x[part] for part in ("train", "validation", "test")])
    for read_now in model.read:
        assert (np.abs(windows - read_now).max(axis=(1, 2)) < 1e-6).any()


def test_the_time_of_a_forecast_and_its_intervals(tmp_path):
    def forecast(times, **options):
        rows = [[time, k % 5 + 0.5] for k, time in enumerate(times)]
        options = {"target": "y", "time": "t", "steps": 4, "horizon": 2, "split": "time", **options}
        data = read(write(tmp_path / "old.csv", ["t", "y"], rows), **options)
        card = card_of(data, intervals={"80": {"width": [1, 1.5], "coverage": 0.8}})
        new = write(tmp_path / "new.csv", ["t", "y"], rows[-6:])
        return prediction.predictions(Watched(outputs=2), card, new)

    months = [str(month) for month in np.arange("2010-01", "2018-05", dtype="datetime64[M]")]
    assert forecast(months) == [
        {"t": "2018-05", "y": 4.5, "lower 80 %": 3.5, "upper 80 %": 5.5},
        {"t": "2018-06", "y": 4.5, "lower 80 %": 3.0, "upper 80 %": 6.0},
    ]
    ends = np.arange("2010-02", "2018-04", dtype="datetime64[M]").astype("datetime64[D]") - np.timedelta64(1, "D")
    assert str(ends[-1]) == "2018-02-28"
    assert [row["t"] for row in forecast(map(str, ends))] == ["2018-03-31", "2018-04-30"]
    zoned = [f"{time}+02:00" for time in hours(100)]
    assert forecast(zoned)[1]["t"] == "2024-03-05T05:00+02:00"
    assert forecast([time.removesuffix(":00") for time in hours(100)])[1]["t"] == "2024-03-05T05"
    days = np.arange("2024-01-01", "2024-08-01", dtype="datetime64[D]")
    # The last one is a Wednesday; two business days later, it is Friday.
    assert forecast(map(str, days[np.is_busday(days)]))[1]["t"] == "2024-08-02"
    assert [row["t"] for row in forecast([0.5 * k for k in range(100)])] == ["50", "50.5"]


def test_changes_are_added_to_the_last_value(tmp_path):
    rows = [[k + k % 2] for k in range(100)]
    data = read(write(tmp_path / "old.csv", ["y"], rows), target="y", steps=4, horizon=2)
    assert data.series.origin is not None
    model = Watched(outputs=2)
    found = prediction.predictions(model, card_of(data), write(tmp_path / "new.csv", ["y"], rows[:9]))
    # 4, 4, 6, 6, 8 and 8 were the last ones: a change of 0 is what the model says.
    np.testing.assert_array_equal(model.read[0, :, 0], [2, 0, 2, 0])
    assert found == [{"rows ahead": 1, "y": 8.0}, {"rows ahead": 2, "y": 8.0}]
    with pytest.raises(
        ValueError, match=r"has 4 rows up to the last one with a target, and the model reads 5 at least"
    ):
        prediction.predictions(model, card_of(data), write(tmp_path / "new.csv", ["y"], rows[:4]))


@pytest.mark.parametrize("differences", ["yes", "no"])
def test_row_by_row_a_model_reads_its_own_forecasts(differences, tmp_path):
    """The sum of the last two numbers and what is known of the next row: those of Fibonacci, and their likes."""
    rows = [[k % 7, k % 5 + 0.5] for k in range(100)]
    options = {"target": "y", "known": ["open"], "steps": 4, "horizon": 4, "differences": differences}
    data = read(write(tmp_path / "old.csv", ["open", "y"], rows), **options)
    one = data.one_step
    assert one.card["columns"] == ["y", "open"]

    class Sum:
        def predict(self, x, verbose):
            return x[:, -1:, 0] + x[:, -2:-1, 0] + x[:, -1:, 1]

    class Learned(Rolled):
        def __init__(self):
            self.data, self.judged, self.batch_size = one, data, 2

        def predict(self, x):
            return (Sum().predict(x, 0) - one.mean) / one.deviation

    new = [*rows[:9], *([k, ""] for k in (1, 2, 3, 4))]
    card = card_of(data, strategy="recursive")
    found = prediction.predictions(Sum(), card, write(tmp_path / "new.csv", ["open", "y"], new))
    given = np.array([y for _, y in rows[:9]])
    numbers = list(np.diff(given) if differences == "yes" else given)
    for known in (1, 2, 3, 4):
        numbers.append(numbers[-1] + numbers[-2] + known)
    expected = np.array(numbers[-4:])
    expected = given[-1] + np.cumsum(expected) if differences == "yes" else expected
    assert [row["rows ahead"] for row in found] == [1, 2, 3, 4]
    np.testing.assert_allclose([row["y"] for row in found], expected, rtol=1e-6)
    # What is measured on the parts of a comparison is what is predicted.
    outputs = Learned().outputs_of("train", np.array([0, 5]))
    for output, end in zip(outputs, data.series.ends["train"][[0, 5]], strict=True):
        past = [[k, y] for k, y in rows[: end + 1]] + [[k, ""] for k, _ in rows[end + 1 : end + 5]]
        if len(past) < 9 and differences == "yes":
            continue  # The change of the first step is not known.
        again = prediction.predictions(Sum(), card, write(tmp_path / "past.csv", ["open", "y"], past))
        forecast = output * data.deviation + data.mean + data.series.level(np.array([end]))
        np.testing.assert_allclose(np.ravel(forecast), [row["y"] for row in again], rtol=1e-5)


def test_what_is_not_known_of_the_rows_to_come_is_not_forecast_row_by_row(tmp_path):
    rows = [[k % 3, k % 7, k % 5 + 0.5] for k in range(100)]
    path = write(tmp_path / "old.csv", ["other", "same", "y"], rows)
    assert read(path, target="y", steps=4, horizon=3).one_step is None
    assert read(path, target="y", steps=4, horizon=3, columns=["y"]).one_step is not None
    assert read(path, target="y", steps=4, horizon=1, columns=["y"]).one_step is None


def test_rows_without_a_time_are_ahead(tmp_path):
    rows = [[k % 5 + 0.5] for k in range(100)]
    data = read(write(tmp_path / "old.csv", ["y"], rows), target="y", steps=4, horizon=3)
    found = prediction.predictions(Watched(outputs=3), card_of(data), write(tmp_path / "new.csv", ["y"], rows[:9]))
    assert found == [{"rows ahead": k, "y": 3.5} for k in (1, 2, 3)]


def test_classes_of_series_and_of_rows(tmp_path):
    rng = np.random.default_rng(0)
    rows = [[f"s{s}", f"{rng.normal():.3f}", "ab"[s % 2]] for s in range(60) for _ in range(6)]
    options = {"target": "kind", "group": "name"}
    path = write(tmp_path / "old.csv", ["name", "v", "kind"], rows)
    new = write(tmp_path / "new.csv", ["v", "name"], [[v, name] for name, v, _ in rows[:12]])
    found = prediction.predictions(Watched(outputs=2), card_of(read(path, **options)), new)
    assert [row["name"] for row in found] == ["s0", "s1"]
    assert [row["kind"] for row in found] == ["a", "a"]
    assert found[0]["probability of b"] == float(rows[5][1])
    card = card_of(read(path, **options, steps=4, split="group"))
    found = prediction.predictions(Watched(outputs=2), card, new)
    assert [(row["name"], row["row"]) for row in found] == [("s0", k) for k in (4, 5, 6)] + [
        ("s1", k) for k in (10, 11, 12)
    ]


def test_arrays(tmp_path):
    x = np.random.default_rng(0).normal(size=(80, 5, 2)).astype("float32")
    np.savez(tmp_path / "old.npz", x=x, y=x[:, 0, 0] > 0)
    np.savez(tmp_path / "new.npz", x=x[:3])
    card = card_of(read(tmp_path / "old.npz"))
    found = prediction.predictions(Watched(outputs=2), card, tmp_path / "new.npz")
    assert [row["sample"] for row in found] == [0, 1, 2]
    assert set(found[0]) == {"sample", "class", "probability of False", "probability of True"}
    np.savez(tmp_path / "new.npz", x=x[:3, :, :1])
    with pytest.raises(ValueError, match=r"new.npz: the array x must be \[samples, steps, 2\], and is of shape \(3, 5"):
        prediction.predictions(Watched(), card, tmp_path / "new.npz")


def known_to_come(sixteenth):
    """Returns rows whose last three have no target, with a change in the sixteenth."""
    rows = [[*row[:4], "" if k > 16 else row[4]] for k, row in enumerate(table(20))]
    rows[15] = sixteenth(rows[15])
    return rows


@pytest.mark.parametrize(
    ("header", "rows", "says"),
    [
        (["time", "a", "b", "load"], table(20), "has no column 'open', which the model reads"),
        (HEADER, table(4), "has 4 rows up to the last one with a target, and the model reads 5 at least"),
        (HEADER, table(20), "column 'open' is known in advance, and has no value 1 row after the last one"),
        (HEADER, [*table(20)[:4], *table(20)[10:]], "is hourly, and lacks 6 rows after"),
        (
            HEADER,
            [[row[0].replace(":00", ":30"), *row[1:]] if k == 9 else row for k, row in enumerate(table(20))],
            "not h",
        ),
        (HEADER, [[*row[:4], ""] for row in table(20)], "column 'load' has no number, from which to forecast"),
        (
            HEADER,
            known_to_come(lambda row: [*row[:4], ""]),
            "column 'load' has no number in row 16 .line 17.; the model has learn",
        ),
        (
            HEADER,
            known_to_come(lambda row: [row[0], "", *row[2:]]),
            "column 'a' has no number in row 16 .line 17.; the model",
        ),
    ],
    ids=["column", "short", "known", "gap", "frequency", "no target", "empty target", "empty cell"],
)
def test_what_cannot_be_predicted(header, rows, says, tmp_path):
    card = card_of(read(write(tmp_path / "old.csv", HEADER, table(200)), **OPTIONS))
    if header != HEADER:
        rows = [[*row[:3], row[4]] for row in rows]
    with pytest.raises(ValueError, match=says):
        prediction.predictions(Watched(), card, write(tmp_path / "new.csv", header, rows))


def test_other_kinds_of_files_are_refused(tmp_path):
    card = card_of(read(write(tmp_path / "old.csv", HEADER, table(200)), **OPTIONS))
    with pytest.raises(ValueError, match=r"must be of the kind that was compared on: \.csv, \.tsv, \.parquet"):
        prediction.predictions(Watched(), card, write(tmp_path / "new.npz", HEADER, []))
    with pytest.raises(ValueError, match=r"there is no file .*none.csv"):
        prediction.predictions(Watched(), card, tmp_path / "none.csv")
    with pytest.raises(TypeError, match=r"`best_model\(\).predict` takes arrays. Received: an object of type ndarray"):
        prediction.predictions(Watched(), card, np.zeros((3, 5, 2)))


def test_intervals_hold_what_they_say():
    rng = np.random.default_rng(0)
    # Of two rows of a horizon, the second one has twice the errors.
    validation, test = rng.normal(size=(2, 4000, 2)) * [1, 2]
    found = conformal(center(validation), center(test))
    np.testing.assert_allclose(found["80"]["width"], [1.2816, 2 * 1.2816], rtol=0.05)
    np.testing.assert_allclose(found["95"]["width"], [1.96, 2 * 1.96], rtol=0.05)
    np.testing.assert_allclose([found["80"]["coverage"], found["95"]["coverage"]], [0.8, 0.95], atol=0.02)
    # Of nine errors, the largest is exceeded by a tenth of all others.
    nine, test = np.arange(9.0)[:, None], test[:, :1]
    assert conformal(center(-nine), center(test)) == {
        "80": {"width": [7.0], "coverage": float(np.mean(np.abs(test) <= 7))}
    }
    assert conformal(center(nine[:3]), center(test)) == {}


def test_intervals_between_quantiles_vary_with_the_noise():
    rng = np.random.default_rng(0)
    noise = rng.choice([1.0, 5.0], size=(2, 6000, 1))
    truth = noise * rng.normal(size=noise.shape)
    # What a network says: the right quantiles, but less wide, and in disorder.
    ends = ascending(noise[..., None] * np.array([-1.96, 1.2816, -1.2816, 1.96]) / 1.25)
    validation, test = ends - truth[..., None]
    found = conformal(validation, test)
    np.testing.assert_allclose([found["80"]["coverage"], found["95"]["coverage"]], [0.8, 0.95], atol=0.015)
    for level in found:
        lower, upper = interval(np.zeros_like(truth[1]), ends[1], level, found[level]["width"])
        np.testing.assert_allclose(np.mean((lower <= truth[1]) & (truth[1] <= upper)), found[level]["coverage"])
        assert (upper - lower)[noise[1] == 5].mean() > 2 * (upper - lower)[noise[1] == 1].mean()
    constant = center(-truth)
    of_constant = pinball_losses(constant[0], conformal(*constant))
    assert np.mean(pinball_losses(validation, found)) < np.mean(of_constant)


def test_a_cell_learns_the_quantiles_of_each_row():
    """The last number of a sequence tells how much the next two vary."""
    rng = np.random.default_rng(0)
    x = {part: rng.choice([1.0, 4.0], size=(count, 3, 1)).astype("float32") for part, count in SIZES.items()}
    y = {part: (each[:, -1] * rng.normal(size=(len(each), 2))).astype("float32") for part, each in x.items()}
    data = Data(x, y, mean=np.array([10.0]), deviation=np.array([2.0]))
    candidate = offered()["gru"]
    learner = Quantiles(data, ModelShape(1, None, 2, 1), candidate, 8, 64)
    plan = {"steps": 400, "pieces": 4, "validations": 4, "rows": 300, "scored": dict.fromkeys(SIZES)}
    record = learner.train(0.02, 0, plan)
    found = learned_intervals(learner, plan)
    # The quantiles are known: those of the normal distribution, for each of both deviations.
    known = x["test"][:, -1:, :, None] * np.array([-1.96, -1.2816, 1.2816, 1.96])
    truth = y["test"].astype(float)
    best = 2 * np.mean(pinball_losses(known[:, 0] - truth[..., None], {level: {"width": [0, 0]} for level in LEVELS}))
    assert best < found["pinball"] < 1.1 * best
    assert found["pinball"] == pytest.approx(record["score"], rel=0.05)
    for level, each in found["intervals"].items():
        assert each["coverage"] == pytest.approx(int(level) / 100, abs=0.04)
    # What is saved predicts them in the unit of the target.
    ends = learner.finished_model().predict(x["test"], verbose=0)
    assert ends.shape == (SIZES["test"], 2, 4)
    np.testing.assert_allclose(ascending(ends), 10 + 2 * learner.outputs_of("test", slice(None)), rtol=1e-4)


def test_a_forecast_is_in_its_interval():
    ends = np.array([1.0, 2.0, 3.0, 4.0])
    assert interval(2.5, ends, "80", 0.25) == (1.75, 3.25)
    assert interval(0.5, ends, "80", 0.25) == (0.5, 3.25)
    assert interval(2.5, ends, "95", -2.0) == (2.5, 2.5)


def test_the_command_goes_from_a_file_to_forecasts(tmp_path, capsys):
    rows = [[time, f"{10 + 5 * np.sin(k / 4):.3f}"] for k, time in enumerate(hours(300))]
    old = write(tmp_path / "old.csv", ["time", "load"], rows)
    out = str(tmp_path / "out")
    options = "--target load --time time --steps 6 --horizon 2 --cells lstm,gru --weights 300 --trials 1 --seeds 1"
    main(["compare", str(old), *options.split(), "--folds", "2", "--minutes", "0.02", "--no-memory", "--output", out])
    said = " ".join(capsys.readouterr().out.split())
    assert "Of the saved model's forecasts, 80 % lie within ± " in said
    assert "Horizons are forecast " in said
    assert "Over 2 folds, each after a later cut than the one before, the mean test RMSE is: " in said
    folds = Comparison(out).results["folds"]
    assert [row["name"] for row in folds[0]["rows"]] == [row["name"] for row in folds[1]["rows"]]
    assert "<h2>Backtests: test RMSE after each cut</h2>" in (tmp_path / "out" / "report.html").read_text()
    new = write(tmp_path / "new.csv", ["time", "load"], rows[-8:])
    main(["predict", out, str(new)])
    header, *lines = capsys.readouterr().out.splitlines()
    assert header == "time,load,lower 80 %,upper 80 %,lower 95 %,upper 95 %"
    assert [line.split(",")[0] for line in lines] == ["2024-03-13T12:00", "2024-03-13T13:00"]
    _, load, low, high, lower, higher = lines[0].split(",")
    assert float(lower) < float(low) < float(load) < float(high) < float(higher)
    found = Comparison(out)
    assert found.predict(new)[0]["load"] == float(load)
    exec(found.code, {})  # From the file that was compared on.
    assert capsys.readouterr().out.startswith("{'time': '2024-03-13T12:00', 'load': ")
    assert found.results["intervals"]["80"]["width"][0] == pytest.approx(float(load) - float(low), rel=1e-4)
    main(["predict", out, str(new), "--output", str(tmp_path / "new_forecasts.csv")])
    assert (tmp_path / "new_forecasts.csv").read_text() == "\n".join([header, *lines, ""])
    for wrong, says in ((["--output", "x.txt"], "must end in .csv or .parquet"), ([], "holds no finished comparison")):
        with pytest.raises(SystemExit, match=says):
            main(["predict", out if wrong else str(tmp_path), str(new), *wrong])
