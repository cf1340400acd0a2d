"""Whole trainings of the cells, with their best rates and several seeds."""

import dataclasses
from typing import Any

import numpy as np

from keras_rnn_compare.models.measures import latency, peak_megabytes, predict_seconds
from keras_rnn_compare.models.strategies import STRATEGIES, learned_intervals
from keras_rnn_compare.models.trials import FULL_SCORES, full_scores
from keras_rnn_compare.reading.tables import listed
from keras_rnn_compare.rounding import rounded
from keras_rnn_compare.running.schedule import cost_seconds, fit_seconds, trial_seconds
from keras_rnn_compare.scoring import curves
from keras_rnn_compare.scoring.figures import mean_figures
from keras_rnn_compare.seeds import fold_in
from keras_rnn_compare.study.runner import trial_of
from keras_rnn_compare.study.search import best_searched, score_or_inf

# Seconds that there is always time for.
QUICK = 1


@dataclasses.dataclass(frozen=True)
class Trained:
    """The outcome of the whole trainings.

    Args:
        rows: List of a dict of figures for each of the better cells.
        behind: List of one for each of the other cells.
        strategy: How a horizon is forecast.
        lowered: Dict of the rates of cells that got a lower one than the search had chosen.
        notes: List of sentences.
    """

    rows: list[dict[str, Any]]
    behind: list[dict[str, Any]]
    strategy: str
    lowered: dict[str, float]
    notes: list[str]

    def row(self, name):
        return next(row for row in self.rows if row["name"] == name)


def train(study, plan, runner, searched):
    """Trains every cell in full, and the better ones with all seeds, and returns what `Trained` holds.

    Args:
        study: The `Study`.
        plan: The `Plan`.
        runner: The `Runner`.
        searched: The outcome of `search`.
    """
    strategy, of_strategy = chosen_strategy(study, plan, runner, searched)
    rates = {name: searched[name]["rate"] for name in plan.cells}
    names, seeds, lowered = plan.cells, study.settings.seeds, {}
    records = {name: [] for name in names}
    for k in range(seeds):
        # The other seeds only tell differences from noise.
        if k and not study.has_time(f"seed{k}", seconds_of_seed(plan, names, records, runner)):
            break
        trials = [full_trial(study, plan, name, rates[name], k, strategy, name in lowered) for name in names]
        for name, record in zip(names, runner.records(trials), strict=True):
            records[name].append(record)
        title = f"Seed {k + 1} of {seeds}, {plan.final['steps']:,} steps"
        study.log_scores(title, {name: records[name][k]["score"] for name in names})
        if k == 0:
            again = lower_rates(study, plan, runner, searched, records, strategy)
            lowered = {name: record["rate"] for name, record in again.items()}
            rates |= lowered
            records |= {name: [record] for name, record in again.items()}
            names = better(plan, records)
    rows = {
        name: row(study, plan, runner, name, {**searched[name], "rate": rates[name]}, records[name], strategy)
        for name in plan.cells
    }
    of_costs, longest = {}, 0.0
    for name in names:
        begun = study.elapsed()
        of_costs[name] = costs(study, plan, runner, name, strategy, longest)
        longest = max(longest, study.elapsed() - begun)
    return Trained(
        rows=[rows[name] | of_costs[name] for name in names],
        behind=[rows[name] for name in plan.cells if name not in names],
        strategy=strategy,
        lowered=lowered,
        notes=[each for each in (of_strategy, describe_lowered(study, lowered)) if each],
    )


def seconds_of_seed(plan, names, records, runner):
    """Returns what whole trainings of cells take, at the pace of those that are done."""
    taken = sum(record["seconds"] for each in records.values() for record in each)
    planned = sum(len(each) * fit_seconds(plan.final, plan.times[name]) for name, each in records.items())
    return (
        max(1.0, taken / planned) * sum(trial_seconds(plan.final, plan.times[name]) for name in names) / runner.at_once
    )


def full_trial(study, plan, name, rate, k, strategy, is_lowered=False):
    """Returns a whole training with seed `k`, with all that the result needs of it."""
    seed = fold_in(study.settings.seed, "final", k)
    title = f"seed {k + 1} of {study.settings.seeds}"
    key = f"seed{k}" if strategy == "direct" else f"seed{k}-{strategy}"
    key += "-lower" if is_lowered else ""
    more = {"more": full_scores, "needs": FULL_SCORES, "strategy": strategy}
    return trial_of(study, plan, name, rate, seed, plan.final, key, title, **more)


def chosen_strategy(study, plan, runner, searched):
    """Returns how a horizon is forecast, by whole trainings of the best cell of the search, and a note or `None`."""
    if study.data.one_step is None:
        return "direct", None
    name = best_searched(searched)
    # One that is not taken was for nothing, and the models of the other are built anew.
    needed = 2 * trial_seconds(plan.final, plan.times[name])
    needed += sum(times["build"] + trial_seconds(plan.final, times) for times in plan.times.values())
    if not study.has_time("strategy", needed / runner.at_once):
        return "direct", "Horizons are forecast at once: there was no time to try it row by row."
    trials = [full_trial(study, plan, name, searched[name]["rate"], 0, strategy) for strategy in STRATEGIES]
    direct, recursive = (score_or_inf(record["score"]) for record in runner.records(trials))
    note = (
        f"Horizons are forecast {'row by row' if recursive < direct else 'at once'}: {study.title(name)} has a "
        f"validation RMSE of {rounded(recursive)} row by row, and {rounded(direct)} at once."
    )
    study.progress.line(note)
    return ("recursive" if recursive < direct else "direct"), note


def lower_rates(study, plan, runner, searched, records, strategy):
    """Returns the records of cells that train better with the next lower rate, by name.

    It is tried where a whole training came no further than the search did: a rate that is the best one for a short
    training may be too high for a long one.
    """
    tried = {}
    for name in records:
        found = searched[name]
        short, reached = shorter(plan, found), best_score(records[name][0]["curve"])
        lower = [trial["rate"] for trial in found["trials"] if trial["rate"] < found["rate"]]
        if short is not None and lower and reached >= best_score(short["curve"]):
            tried[name] = max(lower)
    if tried and not study.has_time("lower", seconds_of_seed(plan, tried, records, runner)):
        return {}
    trials = [full_trial(study, plan, name, rate, 0, strategy, True) for name, rate in tried.items()]
    again = dict(zip(tried, runner.records(trials), strict=True))
    again = {
        name: record
        for name, record in again.items()
        if score_or_inf(record["score"]) < score_or_inf(records[name][0]["score"])
    }
    if again:
        study.progress.line(describe_lowered(study, {name: tried[name] for name in again}))
    return again


def describe_lowered(study, lowered):
    """Returns a sentence about lower rates, or `None` if there are none."""
    if not lowered:
        return None
    cells = listed([f"{study.title(name)} ({rate:g})" for name, rate in lowered.items()])
    return f"With a lower learning rate than that of the search, which was too high for a whole training: {cells}."


def shorter(plan, searched):
    """Returns the longest trial in the search with the chosen rate, if it was clearly shorter than a whole one."""
    most = plan.final["steps"] / 1.4
    same = [trial for trial in searched["trials"] if trial["rate"] == searched["rate"]]
    short = [trial for trial in same if trial["score"] is not None and trial["steps"] <= most]
    return max(short, key=lambda trial: trial["steps"], default=None)


def better(plan, records):
    """Returns the cells that the other seeds are for.

    A whole training decides, not a short one, in which cells that learn slowly at first would look bad.
    """
    kept, first = plan.final["kept"], plan.cells[0]
    ranked = sorted(plan.cells, key=lambda name: score_or_inf(records[name][0]["score"]))
    # The first cell is what the others are compared with, in place of the last of the better ones.
    chosen = ranked[:kept] if first in ranked[:kept] else [*ranked[: kept - 1], first]
    return [name for name in plan.cells if name in chosen]


def row(study, plan, runner, name, searched, records, strategy):
    """Returns the figures of a cell."""
    short = shorter(plan, searched)
    learner = runner.learner(name, plan.units[name], strategy)
    return {
        "name": name,
        "title": study.title(name),
        "units": plan.units[name],
        "weights": learner.model.count_params(),
        "layer": repr(learner.recurrent[0]),
        "rate": searched["rate"],
        "shorter": None if short is None else (short["steps"], short["score"]),
        "step": median_step([*searched["trials"], *records]),
        "validation": [record["score"] for record in records],
        "test": [record["test"] for record in records],
        "accuracy": [record["test_accuracy"] for record in records],
        "contributions": [record["contributions"] for record in records],
        "figures": mean_figures([record["figures"] for record in records]),
        "curves": [record["curve"] for record in records],
        "band": curves.band([record["curve"] for record in records]),
        "seconds": float(np.mean([record["seconds"] for record in records])),
    }


def median_step(trials):
    """Returns the median seconds of a step over the trials of a cell, between which those of the others ran."""
    return float(np.median([trial["seconds"] / trial["steps"] for trial in trials]))


def costs(study, plan, runner, name, strategy, longest):
    """Returns what the model of a cell costs besides its training, unless that would take too long to find out.

    `longest` is what it took for another cell, in seconds.
    """

    def measure():
        expected = max(cost_seconds(plan.times[name]), 0 if study.is_trying else longest)
        if expected > max(study.left(), QUICK):
            return {"predict": None, "latency": None, "memory": None}
        learner = runner.learner(name, plan.units[name], strategy)
        return {
            "predict": predict_seconds(learner) * (study.horizon if strategy == "recursive" else 1),
            "latency": latency(learner.model),
            "memory": peak_megabytes(learner) if plan.memory else None,
        }

    study.progress.says(f"{study.title(name)}, latency and memory")
    found = study.folder.once(f"costs-{name}", measure, ("predict", "latency", "memory"))
    study.progress.advance(cost_seconds(plan.times[name]))
    return found


def quantiles_trial(study, plan, winner):
    """Returns a training of a cell for the ends of intervals."""
    more = {"more": learned_intervals, "needs": ("intervals", "pinball"), "strategy": "quantiles"}
    seed = fold_in(study.settings.seed, "quantiles")
    name, rate = winner["name"], winner["rate"]
    return trial_of(study, plan, name, rate, seed, plan.final, "quantiles", "quantiles", **more)


def best_score(curve):
    """Returns the lowest score of a curve, infinite where it has none."""
    return min((score_or_inf(score) for _, score in curve), default=float("inf"))
