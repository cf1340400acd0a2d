"""The outcome of a comparison: the recommendation, the best models and all figures."""

import numpy as np

from keras_adaptive_rnn.files import save_whole
from keras_rnn_compare.reporting.code import lines
from keras_rnn_compare.rounding import rounded
from keras_rnn_compare.running.schedule import most_steps, quantiles_seconds
from keras_rnn_compare.scoring import curves
from keras_rnn_compare.scoring.baselines import baseline_rows
from keras_rnn_compare.scoring.figures import JUDGED, figures, forecasts, joined, shown
from keras_rnn_compare.scoring.intervals import center, conformal, pinball_losses
from keras_rnn_compare.scoring.statistics import mean_and_error, over_origins, recommend
from keras_rnn_compare.study import backtests
from keras_rnn_compare.study.plan import limits
from keras_rnn_compare.study.search import score_or_inf
from keras_rnn_compare.study.training import full_trial, quantiles_trial

ADVICE = ("verdict", "winner", "ahead", "tied", "differences", "baseline", "falling")


def report(study, plan, runner, searched, trained, folds):
    """Writes the best models and the results.

    Args:
        study, plan: The `Study` and the `Plan`.
        runner: The `Runner`.
        searched, trained: The outcomes of `search` and of `train`.
        folds: List of the records of earlier cuts.
    """
    data = study.data
    baselines = scored_baselines(study, plan)
    advice = advise(study, plan, trained, baselines)
    winner = trained.row(advice["winner"])
    learned = None
    needed = quantiles_seconds({winner["name"]: plan.times[winner["name"]]}, plan.final)
    if plan.quantiles and study.has_time("quantiles", needed):
        (learned,) = runner.records([quantiles_trial(study, plan, winner)])
    learner = best_learner(study, plan, runner, trained, winner)
    save(study, learner, "best")
    outputs = {}
    if not data.is_text:
        outputs = {part: list(learner.outputs(part, plan.final["scored"][part])) for part in JUDGED}
    of_series = {"intervals": {}, "quantiles": False, "forecast": None, "notes": []}
    if data.series is not None:
        of_series = forecast(study, plan, runner, learner, outputs, winner, learned)
    cuts = [*folds, backtests.last(data, trained.rows, baselines)]
    best_first = sorted(baselines, key=over_origins)
    notes = [
        *limits(study, plan),
        curves.note(trained.rows),
        note_of_origins(best_first, data.measure),
        *trained.notes,
        *of_series["notes"],
        backtests.note(cuts, data.measure),
    ]
    results = {
        "measure": data.measure,
        "data": data.card,
        "settings": study.folder.read("settings"),
        "plan": study.folder.read("plan"),
        "rows": ranked(trained.rows),
        "behind": ranked(trained.behind),
        "baselines": with_means(best_first),
        "search": {name: found["trials"] for name, found in searched.items()},
        **{name: advice[name] for name in ADVICE},
        "recommendation": advice["sentence"],
        "strategy": trained.strategy,
        **of_series,
        "figures": figures(data, outputs),
        "folds": cuts if folds else [],
        "notes": [note for note in notes if note],
        "code": lines(learner, winner["rate"], plan.final["steps"], study.folder.path, data.file),
    }
    study.folder.write("results", results)


def ranked(rows):
    """Returns rows with means and errors in place of contributions, the best first."""
    return sorted(with_means(rows), key=lambda row: score_or_inf(row["validation_mean"]))


def with_means(rows):
    """Returns rows with means and errors in place of contributions."""
    found = []
    for row in rows:
        figures = {name: value for name, value in row.items() if name != "contributions"}
        for part in JUDGED:
            figures[f"{part}_mean"], figures[f"{part}_error"] = mean_and_error(row[part])
        found.append(figures)
    return found


def scored_baselines(study, plan):
    """Returns the rows of the baselines."""
    study.progress.says("the baselines")

    def score():
        return {"rows": baseline_rows(study.data, plan.final["scored"], study.baselines)}

    rows = study.folder.once("baselines", score, ("rows",))["rows"]
    # JSON has no infinity: a score that is none is `None` there.
    infinite = [row for row in rows if None in (*row["validation"], *row["test"])]
    for row in infinite:
        study.progress.warn(f"left out: {row['title']}, whose score is not finite")
    rows = [row for row in rows if row not in infinite]
    scores = study.scores_at_origins()
    return [{**row, "origins": scores.get(row["name"], [])} for row in rows]


def note_of_origins(baselines, measure):
    """Returns a sentence about how the baselines were ranked, or `None` if that was by one cut."""
    if not baselines or not baselines[0]["origins"]:
        return None
    shown = ", ".join(f"{row['title'].partition(' (')[0]} {rounded(over_origins(row))}" for row in baselines)
    return (
        f"The baselines are ranked by the geometric mean of their validation {measure} after "
        f"{1 + len(baselines[0]['origins'])} cuts of the series: {shown}."
    )


def advise(study, plan, trained, baselines):
    """Returns what `recommend` does."""
    return recommend(
        trained.rows,
        study.data.measure,
        baselines,
        minutes=study.settings.minutes,
        more_training=plan.final["steps"] < most_steps(study.batches),
        behind=trained.behind,
    )


def best_learner(study, plan, runner, trained, winner):
    """Returns the model of a cell with the weights of its best seed, by validation."""
    name, strategy = winner["name"], trained.strategy
    best = min(range(len(winner["validation"])), key=lambda k: score_or_inf(winner["validation"][k]))
    trial = full_trial(study, plan, name, winner["rate"], best, strategy, name in trained.lowered)
    learner = runner.learner(name, plan.units[name], strategy)
    learner.model.load_weights(runner.weights(trial))
    return learner


def save(study, learner, name):
    save_whole(learner.finished_model().save, study.folder.path / f"{name}.keras")


# Forecasts.


def forecast(study, plan, runner, learner, outputs, winner, learned):
    """Returns the intervals of forecasts, whether they are learned, and the last forecasts of the test part.

    Intervals that are learned are taken if the pinball loss of their ends is lower on validation.
    """
    data = study.data
    residuals = {part: center(data.residuals(part, *joined(outputs[part]))) for part in JUDGED}
    intervals, windows = conformal(residuals["validation"], residuals["test"]), shown(data.series)
    values = in_units(data, learner.outputs_of("test", windows), windows)
    ends, losses = center(values), pinball_losses(residuals["validation"], intervals)
    is_learned = bool(losses) and learned is not None and score_or_inf(learned["pinball"]) < np.mean(losses)
    note = describe_intervals(intervals)
    if is_learned:
        intervals, name = learned["intervals"], winner["name"]
        of_quantiles = runner.learner(name, plan.units[name], "quantiles")
        of_quantiles.model.load_weights(runner.weights(quantiles_trial(study, plan, winner)))
        save(study, of_quantiles, "quantiles")
        ends = in_units(data, of_quantiles.outputs_of("test", windows), windows)
        note = describe_learned(learned, float(np.mean(losses)), winner["title"])
    last = forecasts(data.series, windows, values, ends, intervals)
    return {"intervals": intervals, "quantiles": is_learned, "forecast": last, "notes": [note]}


def in_units(data, outputs, windows):
    """Returns outputs for windows of the test part in the unit of the target."""
    level = data.series.level(data.series.ends["test"][windows])
    values = np.asarray(outputs, "float64") * data.deviation + data.mean
    return values + np.reshape(level, (-1, *[1] * (values.ndim - 1)))


def describe_intervals(intervals):
    """Returns a sentence about intervals of one width, or `None` if there are none."""
    if not intervals:
        return None
    widths = " and ".join(f"{level} % lie within ± {span(each['width'])}" for level, each in intervals.items())
    return (
        f"Of the saved model's forecasts, {widths} of the truth, by the validation part; of the test part, "
        f"{format_coverage(intervals)} did."
    )


def describe_learned(learned, loss, title):
    """Returns a sentence about intervals between quantiles, whose ends have a lower pinball loss than a `loss`."""
    levels = " and ".join(f"{level} %" for level in learned["intervals"])
    return (
        f"Intervals of {levels} lie between quantiles that {title} has learned: the mean pinball loss of their ends on "
        f"validation is {rounded(learned['pinball'], 3)}, and that of intervals of one width {rounded(loss, 3)}. They "
        f"hold {format_coverage(learned['intervals'])} of the test part."
    )


def format_coverage(intervals):
    """Returns the shares of the test part that intervals hold, as text."""
    return " and ".join(f"{each['coverage']:.0%}" for each in intervals.values())


def span(widths):
    """Returns the width of an interval, for the first row of the horizon and the last one."""
    return rounded(widths[0], 3) + (f" (first row) to {rounded(widths[-1], 3)} (last)" if len(widths) > 1 else "")
