"""Figures of predictions besides their score, on the test part."""

import numpy as np

from keras_rnn_compare.reading.data import PARTS
from keras_rnn_compare.scoring.intervals import LEVELS, center, conformal, interval, pinball_losses

JUDGED = PARTS[1:]
# Classes of the largest confusion matrix, and bins of a calibration.
MOST_CLASSES, BINS = 30, 10
HOURS = 24
# Rows of the picture of forecasts.
SHOWN = 168


def figures(data, outputs):
    """Returns figures of the outputs of a model, whose scores are told elsewhere.

    Args:
        data: The `Data`.
        outputs: Dict of validation and test; a list of blocks of outputs and the rows of the part that they are for.

    Returns: A dict, empty for texts. Of forecasts: `MAE`; `MASE`, the MAE in units of that of the seasonal naive
        forecast (or the last value) on the rows to train on; `pinball`, the mean pinball loss of the forecast and the
        ends of its intervals, as quantiles; `coverage`, the share of each interval; and the RMSE `by horizon` and
        `by hour`. Of other numbers in one unit: `MAE`. Of classes: `balanced accuracy`, the mean recall; `calibration
        error`; `calibration`, for each bin of the probability of the predicted class, how many predictions it has,
        their mean probability and their accuracy; and the `confusion` matrix, a row for each true class.
    """
    if data.is_text:
        return {}
    if data.classes is not None:
        return of_classes(data, *joined(outputs["test"]))
    if data.deviation.size > 1:
        return {}
    residuals = {part: data.residuals(part, *joined(outputs[part])) for part in outputs}
    found = {"MAE": float(np.abs(residuals["test"]).mean())}
    return found if data.series is None else found | of_forecasts(data.series, residuals, joined(outputs["test"])[1])


def joined(blocks):
    """Returns the outputs of all blocks, and their rows."""
    outputs, rows = zip(*blocks, strict=True)
    return np.concatenate(outputs), rows[0] if len(rows) == 1 else np.concatenate(rows)


# Forecasts.


def of_forecasts(series, residuals, rows):
    errors = residuals["test"]
    ends = {part: center(each) for part, each in residuals.items()}
    intervals = conformal(ends["validation"], ends["test"])
    losses = pinball_losses(ends["test"], intervals)
    scale = usual_error(series)
    return {
        "MASE": float(np.abs(errors).mean()) / scale if scale else None,
        "pinball": float(np.mean([0.5 * np.abs(errors), *losses])) if len(intervals) == len(LEVELS) else None,
        "coverage": {level: each["coverage"] for level, each in intervals.items()},
        "by horizon": root_mean_square(errors, axis=0).tolist(),
        "by hour": by_hour(series, errors, rows),
    }


def root_mean_square(errors, axis=None):
    return np.sqrt(np.mean(errors**2, axis=axis))


def usual_error(series):
    """Returns the MAE of the seasonal naive forecast, or of the last value, on the rows to train on."""
    rows = np.flatnonzero(series.trained)
    before = series.at(series.owners[rows], series.ticks[rows] - (series.season or 1))
    errors = np.abs(series.values[rows] - before)
    return float(np.nanmean(errors)) if np.isfinite(errors).any() else 0.0


def by_hour(series, errors, rows):
    """Returns the RMSE of the forecasts for each hour of the day, `None` where there is none; `None` without hours."""
    if series.times is None or series.times.dtype.kind != "M":
        return None
    times = series.times[series.goals(series.ends["test"][rows])]
    hours = (times - times.astype("datetime64[D]")).astype("timedelta64[h]").astype(int)
    if len(np.unique(hours)) < 2:
        return None
    of_hour = [errors[hours == hour] for hour in range(HOURS)]
    return [float(root_mean_square(each)) if len(each) else None for each in of_hour]


def shown(series):
    """Returns the windows of the test part whose forecasts a picture shows: the last ones, which do not overlap.

    They are of the series that has the last window.
    """
    ends = series.ends["test"]
    chosen = [len(ends) - 1]
    for k in range(len(ends) - 2, -1, -1):
        if series.owners[ends[k]] != series.owners[ends[-1]] or len(chosen) * series.horizon >= SHOWN:
            break
        if ends[k] + series.horizon <= ends[chosen[-1]]:
            chosen.append(k)
    return np.array(chosen[::-1])


def forecasts(series, windows, values, ends, intervals):
    """Returns what was forecast from windows of the test part, beside the truth, as lists with an entry a row.

    Args:
        series: The `Series`.
        windows: Array [windows], which ones.
        values: Array [windows, horizon], the forecasts.
        ends: Array [windows, horizon, 4], what is predicted for each of `QUANTILES`.
        intervals: What `conformal` returns.
    """
    goals = series.goals(series.ends["test"][windows])
    times = goals if series.times is None else series.times[goals]
    found = {"truth": series.values[goals], "forecast": values}
    for level, each in intervals.items():
        found[f"lower {level}"], found[f"upper {level}"] = interval(values, ends, level, each["width"])
    found = {name: array.ravel().tolist() for name, array in found.items()}
    found["time"] = times.ravel().astype(str).tolist() if times.dtype.kind == "M" else times.ravel().tolist()
    return found | {"horizon": series.horizon, "series": series.names[series.owners[goals[0, 0]]]}


# Classes.


def of_classes(data, outputs, rows):
    y = data.y["test"][rows].ravel()
    logits = np.asarray(outputs, "float64").reshape(-1, len(data.classes))
    probabilities = np.exp(logits - logits.max(axis=1, keepdims=True))
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    predicted, certain = probabilities.argmax(axis=1), probabilities.max(axis=1)
    present = np.unique(y)
    found = {"balanced accuracy": float(np.mean([np.mean(predicted[y == k] == k) for k in present]))}
    found["calibration"] = calibration(certain, predicted == y)
    found["calibration error"] = sum(
        count / len(y) * abs(certainty - right) for count, certainty, right in found["calibration"]
    )
    if len(data.classes) <= MOST_CLASSES:
        confusion = np.zeros((len(data.classes),) * 2, int)
        np.add.at(confusion, (y, predicted), 1)
        found["confusion"] = confusion.tolist()
    return found


def calibration(certain, right):
    """Returns how many predictions each bin of probabilities has, their mean probability and their accuracy."""
    bins = np.minimum((certain * BINS).astype(int), BINS - 1)
    return [
        (int((bins == k).sum()), float(certain[bins == k].mean()), float(right[bins == k].mean()))
        for k in np.unique(bins)
    ]


# Several seeds.


def mean_figures(figures):
    """Returns the mean over the seeds of figures, but for `calibration`, whose bins differ."""
    return {name: mean([each[name] for each in figures]) for name in figures[0] if name != "calibration"}


def mean(values):
    """Returns the mean of numbers, or of dicts and lists of them, in which there may be `None`."""
    first = values[0]
    if isinstance(first, dict):
        return {name: mean([each[name] for each in values]) for name in first}
    if isinstance(first, list):
        return [mean(each) for each in zip(*values, strict=True)]
    return None if None in values else float(np.mean(values))
