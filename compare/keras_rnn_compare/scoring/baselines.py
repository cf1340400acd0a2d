"""Baselines without a network, which a cell must beat to be worth its training."""

import contextlib
import dataclasses
import functools
import importlib.util
import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from keras_rnn_compare.reading.data import BLOCK, PARTS, carried, spread
from keras_rnn_compare.reading.tables import listed
from keras_rnn_compare.scoring.figures import JUDGED, figures
from keras_rnn_compare.threads import one_thread

# A window has at most so many inputs for linear models and trees: of a longer one, the last steps.
MOST_INPUTS = 400
# Trees learn from at most so many windows, evenly spread, or goals of windows, and choices are made by so many of the
# validation part: more take minutes, and change little.
MOST_WINDOWS = 20_000
# Penalties of the ridge, for each window and for inputs of unit variance; of the logistic regression, for all.
PENALTIES = tuple(10.0**k for k in range(-6, 2))
LOGISTIC_PENALTIES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0)
# Trees read at most so many numbers, which they do in some seconds with one thread.
MOST_NUMBERS = 1_000_000
# The calendar in a linear model: a year has more than one wave.
HARMONICS = 3
# Inputs of a logistic regression on all steps; random kernels, and the numbers that all of them read at most.
MOST_FLAT, KERNELS, FEWEST_KERNELS, MOST_CONVOLVED = 2000, 500, 50, 100_000_000
# The longest context of an n-gram, in characters.
LONGEST_CONTEXT = 10
FEWEST_PROBABLE = 1e-12
# Sequences that are summarized at once.
SUMMARIZED = 10_000
# The longest season of exponential smoothing: it has a state for each row of it.
LONGEST_SEASON = 400
# What statsmodels needs to begin with; and more rows take it minutes, and the memory of a season for each.
FEWEST_ROWS, MOST_ROWS = 10, 20_000


def baseline_rows(data, scored=None, fitted=None):
    """Returns a row for each baseline, on the samples that the cells are judged on.

    Args:
        data: The `Data`.
        scored: Dict of validation and test; how many samples, evenly spread, are scored. `None` means all.
        fitted: What `fit` has returned for the data; `None` means that it is fitted now.

    Returns: A list of dicts with `name`, `title`, `validation` and `test` (a list of one score each, lower is better),
        `accuracy` (a list of one, on test; `None` without classes), `contributions` (a list of one list: a number per
        validation sample, whose mean is the score), `figures` (see there), `seconds` that it took, and `predict`, the
        seconds per sample.
    """
    with quiet():
        return [row(each, data, scored or {}) for each in fitted or fit(data)]


@contextlib.contextmanager
def quiet():
    """Leaves out warnings, of minima that were not reached, say: the scores tell what that is worth."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@dataclasses.dataclass
class Fitted:
    """A baseline, fitted.

    Args:
        name, title: What it is called.
        forecast: Function `part, rows -> outputs`, or `part, rows -> losses, None`, of some samples of a part.
        seconds: What it took.
    """

    name: str
    title: str
    forecast: Callable[[str, np.ndarray], Any]
    seconds: float

    @classmethod
    def of(cls, maker, data):
        begin = time.perf_counter()
        title, forecast = maker(data)
        return cls(maker.__name__, title, forecast, time.perf_counter() - begin)


# Baselines that nothing is fitted for.
RULES = ("frequencies", "mean", "last_value", "seasonal", "drift")


def fit(data, seconds=math.inf, warn=None, names=None):
    """Returns all baselines, fitted, the quick ones first.

    Args:
        data: The `Data`.
        seconds: What they may take together: of those that are left then, only rules are fitted, which take no time.
            Defaults to no limit.
        warn: Function that tells the user which ones that are.
        names: Names of those to fit. Defaults to `None`, which means all.
    """
    fitted, late, begun = [], [], time.perf_counter()
    with quiet(), one_thread():
        for maker in [each for each in makers_for(data) if names is None or each.__name__ in names]:
            if maker.__name__ not in RULES and time.perf_counter() - begun > seconds:
                late.append(maker.__name__.replace("_", " "))
            else:
                fitted.append(Fitted.of(maker, data))
    if late and warn is not None:
        warn(f"not compared, for lack of time: {listed(late)}")
    return fitted


def at_origins(data, fitted, seconds):
    """Returns the validation scores of baselines at earlier origins, a list of scores by name.

    Args:
        data: The `Data`.
        fitted: The baselines, as `fit` has returned them.
        seconds: What it may take. An origin for which the time that the last one took is not left, is not begun.
    """
    found = {each.name: [] for each in fitted}
    begun, last = time.perf_counter(), sum(each.seconds for each in fitted)
    for origin in data.origins:
        start = time.perf_counter()
        if start - begun + last > seconds:
            break
        rows, scores = origin.rows("validation"), {}
        for each in fit(origin, names=found):
            with quiet():
                losses, _ = origin.losses("validation", each.forecast("validation", rows), rows)
            scores[each.name] = origin.score(losses)
        # All or none: they are ranked by the same origins.
        if scores.keys() != found.keys() or not np.isfinite([*scores.values()]).all():
            break
        for name, score in scores.items():
            found[name].append(score)
        last = time.perf_counter() - start
    return found


def makers_for(data):
    """Returns the functions that make the baselines of data, the quick ones first."""
    sequences = data.vocabulary is None and not data.per_step
    learns = sequences and installed("sklearn")
    if data.is_text:
        return [frequencies, n_gram]
    if data.classes is not None:
        return [frequencies, *([logistic, flat_logistic, convolutions] if learns else [])]
    if data.series is None:
        return [mean, *([linear] if sequences else []), *([trees] if learns else [])]
    makers = [last_value, *([seasonal] if data.series.season else []), drift, linear]
    makers += [theta, exponential_smoothing] if installed("statsmodels") and smooths(data) else []
    return [*makers, *([trees] if learns else [])]


def not_compared(data):
    """Returns a line for each row that an installed package would add, or a shorter series."""
    lines = []
    sequences = data.vocabulary is None and not data.per_step
    if sequences and not installed("sklearn"):
        what = "logistic regression" if data.classes is not None else "gradient-boosted trees"
        lines.append(f"not compared with {what}: pip install scikit-learn")
    if data.series is not None and is_single(data) and len(data.series.values) > MOST_ROWS:
        lines.append(f"not compared with exponential smoothing (ETS) and theta, for {MOST_ROWS:,} rows at most")
    elif data.series is not None and smooths(data) and not installed("statsmodels"):
        lines.append("not compared with exponential smoothing (ETS) and theta: pip install statsmodels")
    return lines


def installed(package):
    return importlib.util.find_spec(package) is not None


def is_single(data):
    return data.series.owners[0] == data.series.owners[-1]


def smooths(data):
    """Returns whether exponential smoothing applies: to a single series, neither too short nor too long."""
    long_enough = data.series.ends["train"].max() >= FEWEST_ROWS
    return is_single(data) and long_enough and len(data.series.values) <= MOST_ROWS


def row(fitted, data, scored):
    """Returns the row of what has been fitted."""
    chosen = {part: data.rows(part, scored.get(part)) for part in JUDGED}
    begin = time.perf_counter()
    judged = {"validation": fitted.forecast("validation", chosen["validation"])}
    predict = (time.perf_counter() - begin) / len(chosen["validation"])
    judged["test"] = fitted.forecast("test", chosen["test"])
    has_outputs = not isinstance(judged["test"], tuple)
    found = figures(data, {part: [(judged[part], chosen[part])] for part in JUDGED}) if has_outputs else {}
    losses = {part: data.losses(part, judged[part], chosen[part]) if has_outputs else judged[part] for part in JUDGED}
    losses, accuracies = ({part: pair[k] for part, pair in losses.items()} for k in (0, 1))
    contributions = [float(f"{value:.5g}") for value in data.contributions(losses["validation"])]
    accuracy = accuracies["test"]
    return {
        "name": fitted.name,
        "title": fitted.title,
        **{part: [data.score(losses[part])] for part in JUDGED},
        "accuracy": [None if accuracy is None else float(np.mean(accuracy))],
        "contributions": [contributions],
        "figures": found,
        "seconds": fitted.seconds,
        "predict": predict,
    }


# Forecasts by a formula.


def mean(data):
    return "mean of the training part", lambda part, rows: np.zeros(data.y[part][rows].shape)


class Past:
    """What has been known of a series, at the last row of each window.

    Args:
        data: The `Data` of a forecast.
    """

    def __init__(self, data):
        self.series = series = data.series
        self.mean, self.deviation = data.mean[0], data.deviation[0]
        # Before its first value, nothing is known of a series but what is known of all.
        last = carried(series.values, series.owners)
        self.last = np.where(np.isnan(last), self.mean, last)
        rows = np.arange(len(last))
        first = np.minimum.accumulate(np.where(np.isnan(series.values), len(rows) - 1, rows)[::-1])[::-1]
        self.first = first[np.searchsorted(series.owners, series.owners)]

    def outputs(self, forecast):
        """Returns a `Fitted.forecast` by a function of the last rows of windows `-> numbers [windows, horizon]`."""

        def outputs(part, rows):
            ends = self.series.ends[part][rows]
            return (forecast(ends) - self.series.level(ends) - self.mean) / self.deviation

        return outputs

    def ahead(self, ends):
        """Returns how many ticks each goal is after the end of its window, `[windows, horizon]`."""
        return self.series.ticks[self.series.goals(ends)] - self.series.ticks[ends][:, None]

    def a_season_ago(self, ends, back=1):
        """Returns the values that are the least number of seasons before each goal and not after the end of the window.

        Where there is none, because a series has just begun or has a gap, it is the last value.

        Args:
            ends: Array of the last rows of windows.
            back: `1`; or `2` for a season earlier, and so on.
        """
        series = self.series
        seasons = -(-self.ahead(ends) // series.season) + back - 1
        values = series.at(series.owners[ends][:, None], series.ticks[series.goals(ends)] - seasons * series.season)
        return np.where(np.isnan(values), self.last[ends][:, None], values)


def last_value(data):
    past = Past(data)
    return "last value", past.outputs(lambda ends: np.repeat(past.last[ends][:, None], data.series.horizon, axis=1))


def seasonal(data):
    past = Past(data)
    return f"seasonal naive ({data.series.season} rows)", past.outputs(past.a_season_ago)


def drift(data):
    """The last value, and the mean change since the beginning of the series for each row of the horizon."""
    past, ticks = Past(data), data.series.ticks

    def forecast(ends):
        first = past.first[ends]
        passed = ticks[ends] - ticks[first]
        change = np.where(passed > 0, (past.last[ends] - data.series.values[first]) / np.maximum(passed, 1), 0)
        return past.last[ends][:, None] + past.ahead(ends) * change[:, None]

    return "drift", past.outputs(forecast)


# Forecasts that are learnt.


class Inputs:
    """What linear models and trees read of a window, as one vector.

    These are the last steps of the window; what is known in advance of the goals; and, where series have a season, the
    last two values at the place of each.

    Args:
        data: The `Data`.
        is_relative: Whether values of the target, also those to forecast, are read as differences to the last one.
        harmonics: Up to which multiple of its frequency each cycle of the calendar is read. Defaults to 1.
    """

    def __init__(self, data, is_relative=False, harmonics=1):
        self.data, self.is_relative, self.harmonics = data, is_relative, harmonics
        known = data.series.known.shape[1] if data.series is not None else 0
        _, steps, features = data.x["train"].shape
        self.observed = features - known
        self.steps = min(steps, max(1, MOST_INPUTS // self.observed))
        self.past = None if data.series is None else Past(data)
        self.horizon = 1 if data.series is None else data.series.horizon

    def __call__(self, part, rows, goal=slice(None)):
        """Returns the inputs of windows of a part, for all goals or for one of them."""
        x = self.data.x[part][rows]
        inputs = [x[:, -self.steps :, : self.observed].astype("float64")]
        if self.past is not None:
            series, ends = self.past.series, self.past.series.ends[part][rows]
            known = series.known[series.goals(ends)[:, goal]]
            inputs += [known, *self.multiples(known)]
            level = self.past.last[ends][:, None] if self.is_relative else series.level(ends)
            inputs += [(self.past.a_season_ago(ends, back) - level)[:, goal] for back in (1, 2) if series.season]
            if self.is_relative:
                column = self.data.card["columns"].index(self.data.card["target"])
                # Not by the last value in float64: what is zero would become rounding.
                inputs[0][..., column] -= inputs[0][:, -1:, column]
        return np.concatenate([each.reshape(len(x), -1) for each in inputs], axis=1, dtype="float64")

    def multiples(self, known):
        """Yields the cycles of the calendar, among what is known in advance, at multiples of their frequencies."""
        count = len(self.data.card["reads"]["cycles"])
        sines, cosines = (known[..., known.shape[-1] - count + k :: 2] for k in (0, 1))
        for multiple in range(2, self.harmonics + 1):
            turned = (cosines + 1j * sines) ** multiple
            yield np.concatenate([turned.imag, turned.real], axis=-1)

    def base(self, part, rows):
        """Returns what is to be added to outputs, in units of the standard deviation."""
        if not self.is_relative:
            return 0.0
        return ((self.past.last[self.past.series.ends[part][rows]] - self.past.mean) / self.past.deviation)[:, None]

    def targets(self, part, rows):
        return self.data.y[part][rows].astype("float64") - self.base(part, rows)

    def blocks(self, part, rows):
        """Yields the rows, so few at a time that their inputs take 32 MB."""
        size = max(1, BLOCK // (8 * self(part, rows[:1]).size))
        for start in range(0, len(rows), size):
            yield rows[start : start + size]

    def apply(self, part, rows, function):
        return np.concatenate([function(self(part, block)) for block in self.blocks(part, rows)])

    @property
    def used(self):
        """How many of the steps are read, for titles."""
        steps = self.data.x["train"].shape[1]
        return f"{self.steps} of {steps} steps" if self.steps < steps else f"{steps} steps"


def ridge(moments, penalty):
    """Returns coefficients and intercept of a linear model with inputs of unit variance and a penalty on their squares.

    Args:
        moments: Tuple of the number of samples, the sums of inputs and of targets, and the sums of the products of
            inputs with inputs and with targets.
        penalty: Of the squared coefficients, for each sample.
    """
    count, of_inputs, of_targets, squares, products = moments
    center, level = of_inputs / count, of_targets / count
    covariance = squares / count - np.outer(center, center)
    variance = covariance.diagonal()
    # A constant tells nothing, and may have a variance by rounding.
    varies = variance > 1e-12 * (center**2 + 1e-300)
    scale = np.where(varies, np.sqrt(np.maximum(variance, 0)), np.inf)
    correlation = covariance / np.outer(scale, scale)
    shared = (products / count - np.outer(center, level)) / scale[:, None]
    coefficients = np.linalg.solve(correlation + penalty * np.eye(len(scale)), shared) / scale[:, None]
    return coefficients, level - center @ coefficients


def moments_of(data, inputs):
    # Sums of deviations from one sample: those of large numbers would lose their digits.
    origin = inputs("train", slice(0, 1))[0]
    total = None
    for rows in inputs.blocks("train", data.rows("train")):
        x, y = inputs("train", rows) - origin, inputs.targets("train", rows)
        block = (len(x), x.sum(0), y.sum(0), x.T @ x, x.T @ y)
        total = block if total is None else tuple(one + other for one, other in zip(total, block, strict=True))
    return origin, total


def best_of(data, forecasts):
    """Returns the forecast with the best score on validation."""
    rows = data.rows("validation", -(-MOST_WINDOWS // data.outputs))

    def score(forecast):
        return data.score(data.losses("validation", forecast("validation", rows), rows)[0])

    return min(forecasts, key=score)


def linear(data):
    """A ridge regression, of levels or of differences to the last value, with the penalty that is best on validation.

    It reads two more harmonics of each cycle of the calendar.
    """
    kinds = [Inputs(data, harmonics=HARMONICS)]
    if data.series is not None and data.series.origin is None:
        kinds.append(Inputs(data, is_relative=True, harmonics=HARMONICS))
    forecasts = [forecast for inputs in kinds for forecast in ridges(data, inputs)]
    return f"linear (ridge, {kinds[0].used})", best_of(data, forecasts)


def ridges(data, inputs):
    """Yields a forecast for each penalty."""
    origin, moments = moments_of(data, inputs)
    for penalty in PENALTIES:
        coefficients, intercept = ridge(moments, penalty)

        def forecast(part, rows, coefficients=coefficients, intercept=intercept):
            found = inputs.apply(part, rows, lambda x: (x - origin) @ coefficients + intercept)
            return found + inputs.base(part, rows)

        yield forecast


def trees(data):
    """Gradient-boosted trees, of the target or of its change, whichever is better on validation.

    The rows of a horizon have the same trees, which read how far ahead they are.
    """
    from sklearn.ensemble import HistGradientBoostingRegressor

    inputs, y = Inputs(data), data.y["train"]
    count, horizon = len(y), inputs.horizon
    most = min(MOST_WINDOWS, MOST_NUMBERS // inputs("train", slice(0, 1), slice(0, 1)).size)
    windows = [np.linspace(0, count - 1, min(count, -(-most // horizon))).astype(int)] * horizon
    if horizon > 1 and len(windows[0]) < count:
        # Others for each row of the horizon.
        windows = [(chosen + 7919 * k) % count for k, chosen in enumerate(windows)]

    def read(part, rows, k):
        x = inputs(part, rows, slice(k, k + 1))
        return np.column_stack([x, np.full(len(x), k)]) if horizon > 1 else x

    def last(part, rows, _):
        # Trees do not reach beyond the targets that they have seen; changes may stay the same where levels do not.
        past = inputs.past
        return (past.last[past.series.ends[part][rows]] - past.mean) / past.deviation

    def fitted(x, targets):
        return HistGradientBoostingRegressor(random_state=0).fit(x, targets)

    x = np.concatenate([read("train", rows, k) for k, rows in enumerate(windows)])

    def of_series(level):
        targets = [y[rows, k].astype("float64") - level("train", rows, k) for k, rows in enumerate(windows)]
        tree = fitted(x, np.concatenate(targets))

        def forecast(part, rows):
            def column(k):
                blocks = inputs.blocks(part, rows)
                return np.concatenate([tree.predict(read(part, block, k)) + level(part, block, k) for block in blocks])

            return np.stack([column(k) for k in range(horizon)], axis=1)

        return forecast

    if data.series is None:
        of_outputs = [fitted(x, y[windows[0], k]) for k in range(y.shape[1])]

        def outputs(x):
            return np.stack([tree.predict(x) for tree in of_outputs], axis=1)

        models = [functools.partial(inputs.apply, function=outputs)]
    else:
        models = [of_series(lambda *_: 0.0)]
        models += [of_series(last)] if data.series.origin is None else []
    of = f", {len(windows[0]):,} of {count:,} windows" if len(windows[0]) < count else ""
    return f"gradient-boosted trees ({inputs.used}{of})", best_of(data, models)


class Single:
    """A single series without gaps, for models that read all of it.

    Args:
        data: The `Data` of a forecast.
    """

    def __init__(self, data):
        self.series, self.past = data.series, Past(data)
        self.begin = self.past.first[0]
        self.values = self.past.last[self.begin :]
        self.until = int(data.series.ends["train"].max()) + data.series.horizon + 1 - self.begin
        season = data.series.season
        # Its pattern is told by two of them at least.
        self.season = season if season and season <= LONGEST_SEASON and self.until >= 2 * season else None
        self.ahead = np.arange(1, data.series.horizon + 1)

    @property
    def trained(self):
        return self.values[: self.until]

    def outputs(self, forecast):
        """Returns a `Fitted.forecast` by a function of the last rows of windows, counted from the first value."""
        return self.past.outputs(lambda ends: forecast((ends - self.begin)[:, None]))


def theta(data):
    """The theta method, with seasonal factors: half a trend, and simple exponential smoothing."""
    from scipy.signal import lfilter
    from statsmodels.tsa.forecasting.theta import ThetaModel

    single = Single(data)
    season, until = single.season, single.until
    model = ThetaModel(single.trained, period=season, deseasonalize=season is not None, use_test=False)
    fitted = model.fit()
    slope, alpha = fitted.params["b0"], fitted.params["alpha"]
    is_product = season is not None and model.method.startswith("mul")
    factors = np.zeros(1)
    if season:
        factors = np.roll(fitted.forecast_components(season)["seasonal"].to_numpy(), until)
    of_row = np.resize(factors, len(single.values) + len(single.ahead))
    plain = single.values / of_row[: len(single.values)] if is_product else single.values - of_row[: len(single.values)]
    levels, _ = lfilter([alpha], [1, alpha - 1], plain, zi=[(1 - alpha) * plain[0]])

    def forecast(at):
        passed = (1 - (1 - alpha) ** (at + 1)) / alpha if alpha > 0 else 0
        outputs = levels[at] + slope / 2 * (single.ahead - 1 + passed)
        return outputs * of_row[at + single.ahead] if is_product else outputs + of_row[at + single.ahead]

    return f"theta{f' (season of {season})' if season else ''}", single.outputs(forecast)


def exponential_smoothing(data):
    """ETS with or without a trend, damped or not, and a season, by Akaike's criterion on the training part."""
    from statsmodels.tsa.exponential_smoothing.ets import ETSModel

    single = Single(data)
    season, fitted = single.season, []
    # A season is added, or multiplies what is positive.
    kinds = ["add", *(["mul"] if single.values.min() > 0 else [])] if season else []
    for trend, damped in ((None, False), ("add", False), ("add", True)):
        for seasonal in (None, *kinds):
            options = {"trend": trend, "damped_trend": damped, "seasonal": seasonal}
            options |= {"seasonal_periods": season if seasonal else None, "initialization_method": "heuristic"}
            fitted.append((ETSModel(single.trained, **options).fit(disp=False), options))
    best, options = min(fitted, key=lambda each: each[0].aicc)
    # The states after each row follow from the rows up to it.
    states = ETSModel(single.values, **options).smooth(best.params)
    damping = best.damping_trend if options["damped_trend"] else 1.0
    slopes = np.cumsum(damping**single.ahead)

    def forecast(at):
        outputs = np.repeat(states.level[at], len(single.ahead), axis=1)
        if options["trend"]:
            outputs = outputs + slopes * states.slope[at]
        if options["seasonal"]:
            of_season = states.season[at + single.ahead - season * -(-single.ahead // season)]
            outputs = outputs * of_season if options["seasonal"] == "mul" else outputs + of_season
        return outputs

    kinds = ["level"]
    kinds += ["damped trend" if options["damped_trend"] else "trend"] if options["trend"] else []
    kinds += [f"season of {season}"] if options["seasonal"] == "add" else []
    kinds += [f"factors for a season of {season}"] if options["seasonal"] == "mul" else []
    return f"exponential smoothing (ETS: {', '.join(kinds)})", single.outputs(forecast)


# Classes.


def frequencies(data):
    counts = np.bincount(data.y["train"].ravel(), minlength=len(data.classes)) + 1
    logits = np.log(counts / counts.sum())
    what = "characters" if data.is_text else "classes"

    def forecast(part, rows):
        return np.broadcast_to(logits, (*data.y[part][rows].shape, len(logits)))

    return f"frequencies of the {what}", forecast


def summaries(x):
    """Returns mean, deviation, first, last, least and greatest value of each feature."""
    x = x.astype("float64")
    return np.concatenate([x.mean(1), x.std(1), x[:, 0], x[:, -1], x.min(1), x.max(1)], axis=1)


def logistic(data):
    """A logistic regression on summaries, with the penalty that is best on validation."""
    blocks = range(0, max(map(len, data.x.values())), SUMMARIZED)
    x = {part: np.concatenate([summaries(data.x[part][k : k + SUMMARIZED]) for k in blocks]) for part in PARTS}
    return "logistic regression on summaries", regression(data, x)


def flat_logistic(data):
    """A logistic regression on all steps, of which some are averaged where there are many."""
    x = {part: np.asarray(data.x[part], "float64") for part in PARTS}
    _, steps, features = x["train"].shape
    size = -(-steps * features // MOST_FLAT)
    if size > 1:
        ends = range(0, steps, size)
        x = {part: np.add.reduceat(array, ends, axis=1) for part, array in x.items()}
    what = "steps" if size == 1 else f"means of {size} steps"
    return f"logistic regression on {what}", regression(
        data, {part: array.reshape(len(array), -1) for part, array in x.items()}
    )


def convolutions(data):
    """A logistic regression on random convolutions, as in ROCKET (Dempster, Petitjean and Webb, 2020)."""
    x = {part: np.asarray(data.x[part], "float64") for part in PARTS}
    mean, deviation = x["train"].mean((0, 1)), x["train"].std((0, 1))
    x = {part: (array - mean) / np.where(deviation > 0, deviation, 1) for part, array in x.items()}
    count = sum(array[..., 0].size for array in x.values())
    kernels = random_kernels(x["train"].shape[1:], max(FEWEST_KERNELS, min(KERNELS, MOST_CONVOLVED // count)))
    x = {part: np.concatenate([convolved(array, *kernel) for kernel in kernels], axis=1) for part, array in x.items()}
    return f"{len(kernels)} random convolutions (ROCKET)", regression(data, x)


def random_kernels(shape, count):
    """Returns random kernels for series of so many steps and features: weights, features, bias and dilation."""
    rng, (steps, features) = np.random.default_rng(0), shape
    kernels = []
    for _ in range(count):
        length = int(rng.choice([each for each in (7, 9, 11) if each <= steps] or [steps]))
        read = rng.permutation(features)[: int(2 ** rng.uniform(0, np.log2(min(features, length) + 1)))]
        weights = rng.normal(size=(length, len(read)))
        dilation = int(2 ** rng.uniform(0, np.log2(max(1, (steps - 1) / max(1, length - 1)))))
        kernels.append((weights - weights.mean(0), read, rng.uniform(-1, 1), dilation, bool(rng.integers(2))))
    return kernels


def convolved(x, weights, read, bias, dilation, is_padded):
    """Returns the maximum of a convolution of series, and the share of its outputs that are positive."""
    padding = (len(weights) - 1) * dilation // 2 if is_padded else 0
    x = np.pad(x[..., read], ((0, 0), (padding, padding), (0, 0)))
    length = x.shape[1] - (len(weights) - 1) * dilation
    found = bias + sum(x[:, k * dilation : k * dilation + length] @ row for k, row in enumerate(weights))
    return np.stack([found.max(axis=1), (found > 0).mean(axis=1)], axis=1)


def regression(data, x):
    """Returns the forecast of a logistic regression on inputs of each part, with the penalty best on validation."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    y = data.y["train"]
    count, classes = len(y), len(data.classes)
    chosen = np.arange(count)[spread(count, MOST_WINDOWS)]

    def model(inverse):
        fitted = make_pipeline(StandardScaler(), LogisticRegression(C=inverse, max_iter=300))
        fitted.fit(x["train"][chosen], y[chosen])

        def forecast(part, rows):
            # A class that the training part lacks is as probable as one that it has once too few.
            probabilities = np.full((len(rows), classes), 1 / (count + classes))
            found = fitted.predict_proba(x[part][rows])
            probabilities[:, fitted.classes_] = found * (1 - (classes - found.shape[1]) / (count + classes))
            return np.log(np.maximum(probabilities, FEWEST_PROBABLE))

        return forecast

    return best_of(data, [model(inverse) for inverse in LOGISTIC_PENALTIES])


# Texts.


class NGrams:
    """Probabilities of the next character by the last ones, interpolated after Witten and Bell.

    With $c$ for the counts in the training part and $t(h)$ for how many different characters follow the context $h$,
    $p(y \\mid h) = (c(h, y) + t(h)\\, p(y \\mid h')) / (c(h) + t(h))$, where $h'$ is $h$ without its first character.
    The shortest context is none, below which all characters are equally probable.

    Args:
        x, y: Arrays `[sequences, steps]` to learn from: characters and the next ones, as integers.
        vocabulary: How many characters there are.
    """

    def __init__(self, x, y, vocabulary):
        self.x, self.y, self.vocabulary = x, y.ravel().astype("int64"), vocabulary
        self.contexts, self.levels = np.zeros(x.size, "int64"), []
        self.lengthen()

    def lengthen(self):
        """Counts what follows contexts that are longer by one character, at first those of none."""
        known = None
        if self.levels:
            contexts = self.longer(self.contexts, self.x, len(self.levels))
            read = contexts >= 0
            known, places = np.unique(contexts[read], return_inverse=True)
            self.contexts = np.full(len(contexts), -1)
            self.contexts[read] = places
        read = self.contexts >= 0
        pairs, counts = np.unique(self.contexts[read] * self.vocabulary + self.y[read], return_counts=True)
        different = np.bincount(pairs // self.vocabulary)
        self.levels.append((known, pairs, counts, different, np.bincount(self.contexts[read])))

    def longer(self, contexts, x, length):
        """Returns the number of each context with one more character; -1 where a sequence is not that long yet."""
        before = np.full(x.shape, -1)
        before[:, 1:] = contexts.reshape(x.shape)[:, :-1]
        if length == 1:
            before[:] = 0
        return np.where(before < 0, -1, before * self.vocabulary + x).ravel()

    def probabilities(self, x, y):
        """Yields the probabilities of `y` by contexts of 0, 1, 2, ... characters."""
        contexts, found, of = np.zeros(x.size, "int64"), np.full(x.size, 1 / self.vocabulary), y.ravel()
        for length, (known, pairs, counts, different, total) in enumerate(self.levels):
            if length:
                contexts = find(known, self.longer(contexts, x, length))
            read = np.flatnonzero(contexts >= 0)
            at = contexts[read]
            place = find(pairs, at * self.vocabulary + of[read])
            seen = np.where(place >= 0, counts[place], 0)
            found[read] = (seen + different[at] * found[read]) / (total[at] + different[at])
            yield found.reshape(y.shape).copy()


def find(values, wanted):
    """Returns the places of numbers in a sorted array, -1 where they are not in it."""
    places = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return np.where(values[places] == wanted, places, -1)


def n_gram(data):
    """An n-gram with back-off, of the length that is best on validation."""
    model = NGrams(data.x["train"], data.y["train"], data.vocabulary)

    def bits(part, rows=slice(None)):
        *_, probabilities = model.probabilities(data.x[part][rows], data.y[part][rows])
        return -np.log2(probabilities).mean(axis=1)

    best = bits("validation").mean()
    while len(model.levels) <= min(LONGEST_CONTEXT, data.x["train"].shape[1]):
        model.lengthen()
        score = bits("validation").mean()
        if score >= best:
            model.levels.pop()
            break
        best = score
    return f"{len(model.levels)}-gram with back-off", lambda part, rows: (bits(part, rows), None)
