"""What `compare` measures of forecasts and classes beside their score, against definitions and scikit-learn."""

import numpy as np
import pytest

from keras_rnn_compare.reading.data import Data, Series, from_arrays
from keras_rnn_compare.rounding import rounded
from keras_rnn_compare.scoring import figures
from keras_rnn_compare.scoring.intervals import center, conformal

HORIZON, SEASON = 3, 4


@pytest.fixture
def data(rng):
    """Returns the `Data` of two series of 60 hours, with a gap in the first one."""
    values = rng.normal(size=120).cumsum()
    values[7] = np.nan
    owners, ticks = np.repeat([0, 1], 60), np.tile(np.arange(60), 2)
    ends = {"train": np.arange(10, 30), "validation": np.arange(30, 56), "test": np.arange(70, 116)}
    series = Series(
        values,
        owners,
        ticks,
        ends,
        HORIZON,
        np.arange(120) < 33,
        np.zeros((120, 0)),
        season=SEASON,
        times=np.datetime64("2024-01-01T22", "s") + ticks * np.timedelta64(1, "h"),
        names=["a", "b"],
    )
    mean, deviation = np.array([2.0]), np.array([5.0])
    y = {part: (values[series.goals(each)] - mean) / deviation for part, each in ends.items()}
    return Data({}, y, mean=mean, deviation=deviation, series=series)


def in_blocks(outputs):
    count = len(outputs)
    return [(outputs[:20], np.arange(20)), (outputs[20:], np.arange(20, count))]


def test_forecasts(data, rng):
    series = data.series
    outputs = {part: data.y[part] + rng.normal(size=data.y[part].shape) / 5 for part in figures.JUDGED}
    found = figures.figures(data, {part: in_blocks(each) for part, each in outputs.items()})
    truth = series.values[series.goals(series.ends["test"])]
    forecast = outputs["test"] * 5 + 2
    errors = forecast - truth
    np.testing.assert_allclose(found["MAE"], np.abs(errors).mean())
    seasons_apart = [abs(series.values[k] - series.values[k - SEASON]) for k in range(SEASON, 33) if k not in (7, 11)]
    np.testing.assert_allclose(found["MASE"], found["MAE"] / np.mean(seasons_apart))
    np.testing.assert_allclose(found["by horizon"], np.sqrt(np.mean(errors**2, axis=0)))
    hours = (22 + series.ticks[series.goals(series.ends["test"])]) % 24
    by_hour = [np.sqrt(np.mean(errors[hours == hour] ** 2)) for hour in range(24)]
    np.testing.assert_allclose(found["by hour"], by_hour)
    validation = (outputs["validation"] - data.y["validation"]) * 5
    intervals = conformal(center(validation), center(errors))
    assert found["coverage"] == {level: each["coverage"] for level, each in intervals.items()}
    # Quantile by quantile, as the loss is defined.
    losses = []
    for share, level, sign in ((0.025, "95", -1), (0.1, "80", -1), (0.5, None, 0), (0.9, "80", 1), (0.975, "95", 1)):
        quantile = forecast + (sign * np.array(intervals[level]["width"]) if level else 0)
        losses.append(np.where(truth >= quantile, share * (truth - quantile), (1 - share) * (quantile - truth)))
    np.testing.assert_allclose(found["pinball"], np.mean(losses))


def test_the_picture_shows_the_last_forecasts_without_overlap(data, monkeypatch):
    monkeypatch.setattr(figures, "SHOWN", 30)
    windows = figures.shown(data.series)
    assert len(windows) == 10
    goals = data.series.goals(data.series.ends["test"][windows]).ravel()
    np.testing.assert_array_equal(goals, np.arange(89, 119))
    values = 5 * data.y["test"][windows] + 2
    found = figures.forecasts(data.series, windows, values, center(values), {"80": {"width": [1, 2, 3]}})
    np.testing.assert_allclose(found["forecast"], found["truth"])
    np.testing.assert_allclose(np.subtract(found["upper 80"], found["truth"]), np.tile([1, 2, 3], 10))
    assert (found["series"], found["time"][0]) == ("b", "2024-01-03T03:00:00")


def test_classes(rng):
    metrics = pytest.importorskip("sklearn.metrics")
    x, y = rng.normal(size=(400, 3, 1)), rng.choice(["a", "b", "c"], 400, p=[0.7, 0.2, 0.1])
    data = from_arrays(x, y)
    truth = data.y["test"]
    logits = 2 * rng.normal(size=(len(truth), 3)) + 2 * np.eye(3)[truth]
    found = figures.figures(data, {"test": in_blocks(logits)})
    predicted = logits.argmax(axis=1)
    np.testing.assert_allclose(found["balanced accuracy"], metrics.balanced_accuracy_score(truth, predicted))
    np.testing.assert_array_equal(found["confusion"], metrics.confusion_matrix(truth, predicted))
    probability = np.exp(logits).max(axis=1) / np.exp(logits).sum(axis=1)
    error, count = 0.0, 0
    for k in range(10):
        chosen = (probability >= k / 10) & (probability < (k + 1) / 10)
        if chosen.any():
            error += chosen.mean() * abs(probability[chosen].mean() - (predicted == truth)[chosen].mean())
            count += chosen.sum()
    np.testing.assert_allclose(found["calibration error"], error)
    assert sum(each[0] for each in found["calibration"]) == count == len(truth)


def test_the_mean_over_seeds():
    each = [{"MAE": 1.0, "coverage": {"80": 0.7}, "by hour": [1.0, None], "calibration": [1]}]
    each.append({"MAE": 3.0, "coverage": {"80": 0.9}, "by hour": [2.0, None], "calibration": [2]})
    assert figures.mean_figures(each) == {"MAE": 2.0, "coverage": {"80": 0.8}, "by hour": [1.5, None]}


@pytest.mark.parametrize(
    ("value", "digits", "expected"),
    [
        (0.012344, 4, "0.01234"),
        (2854.3, 3, "2,850"),
        (12345.6, 4, "12,350"),
        (-1.9e6, 1, "-2,000,000"),
        (1e20, 4, "1e+20"),
    ],
)
def test_large_numbers_are_written_in_full(value, digits, expected):
    assert rounded(value, digits) == expected
