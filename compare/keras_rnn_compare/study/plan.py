"""The plan of a comparison: the steps of every trial, decided once, from measured times, and kept in its folder."""

import dataclasses
import itertools
import math
from typing import Any

import numpy as np

from keras_rnn_compare.models.trials import Building
from keras_rnn_compare.reading.series import counted
from keras_rnn_compare.rounding import rounded
from keras_rnn_compare.running.folder import Damaged, origin
from keras_rnn_compare.running.schedule import (
    BUILD,
    DECENT,
    EXTRA,
    EXTRAS,
    FEWEST,
    LEAST,
    affordable,
    finalists,
    fit_seconds,
    most_steps,
    rescaled,
    schedule,
    slowest_of,
    trial_seconds,
)
from keras_rnn_compare.study.runner import trials_done
from keras_rnn_compare.study.search import score_of

# Times of a step are equal if their logarithms differ by less, and no model gets more weights than so many times those
# of the first cell.
CLOSE, LARGEST = 0.1, 4
# The share of the time that is left which one more model may take to be built.
LAST = 0.5
# By how much of the ratio of the units the time of a model is taken to grow: a guess.
GROWTH = 0.25
# The share of the time that is left which the final training is to take.
SAFE = 0.8
# The share of the time that is left where a cell is trained once more, to forecast row by row.
ONE_STEP = 0.92


@dataclasses.dataclass(frozen=True)
class Plan:
    """The plan of a comparison.

    Args:
        units: Dict of the size of each cell.
        times: Dict of the seconds that a step, a judgement and the like take, by cell.
        cells: List of the names of the cells that are compared.
        left_out: List of the names of those that there is no time for.
        quantiles: Whether quantiles are learned for intervals.
        memory: Whether the memory of training is measured.
        schedule: Dict of the rates, the rungs of the search and the final training.
        versions, machine, date: What the times were measured on.
    """

    units: dict[str, int]
    times: dict[str, dict[str, float]]
    cells: list[str]
    left_out: list[str]
    quantiles: bool
    memory: bool
    schedule: dict[str, Any]
    versions: dict[str, str]
    machine: str
    date: str

    @property
    def final(self):
        """The final training."""
        return self.schedule["final"]

    @property
    def extra_seconds(self):
        """What the extras take, those that there is time for."""
        return sum(seconds_of(self.times, self.final) for name, seconds_of in EXTRAS if getattr(self, name))


NEEDS = tuple(field.name for field in dataclasses.fields(Plan))


def plan_of(study, runner):
    """Returns the plan in the folder, which is made if there is none: without it, trials that are done fit to nothing.

    Args:
        study: The `Study`.
        runner: The `Runner`, which builds and measures the models.
    """
    path, done = study.folder.path / "plan.json", trials_done(study.folder)
    try:
        if study.folder.read("plan", NEEDS) is None and done:
            raise Damaged(f"{path} is missing")
    except Damaged as error:
        if done:
            raise ValueError(
                f"{error}, and the {done} trials of the folder belong to that plan alone: restore it, or delete the "
                "folder to begin anew"
            ) from None
    found = study.folder.once("plan", lambda: dataclasses.asdict(make_plan(study, runner)), NEEDS)
    return Plan(**{name: found[name] for name in NEEDS})


def make_plan(study, runner):
    """Returns a new plan, for as many models as there is time to build and measure."""
    data = study.data
    # First, since what it takes is not known before.
    of_folds = len(data.earlier) * sum(each.seconds for each in study.baselines)
    study.scores_at_origins()
    units, times = measured(study, runner)
    study.progress.line(describe_steps(study, units, times))
    if data.one_step is not None:
        # It may turn out that horizons are better forecast row by row.
        times = {name: {**each, "row": each["row"] * study.horizon} for name, each in times.items()}
    samples = {part: len(data.x[part]) for part in ("validation", "test")}
    share = 1 if data.one_step is None else ONE_STEP
    left = share * (study.left() - other_seconds(study, times, of_folds))
    given = (study.batches, study.trainings, study.settings.trials, samples, runner.at_once)
    names, chosen = affordable(times, left, *given, kept=study.kept)
    of_chosen = {name: times[name] for name in names}
    extras, chosen = with_extras(study, of_chosen, chosen, left, samples, runner.at_once)
    return Plan(
        units=units,
        times=of_chosen,
        cells=names,
        left_out=[name for name in study.candidates if name not in names],
        **extras,
        schedule=chosen,
        **origin(),
    )


def with_extras(study, times, chosen, left, samples, workers):
    """Returns which extras there is time for, by name, and the schedule beside them."""
    given = (study.batches, chosen["seeds"], study.settings.trials, samples, workers)
    extras = {"quantiles": study.data.series is not None, "memory": study.settings.memory}
    for name, seconds_of in EXTRAS:
        if extras[name]:
            seconds = seconds_of(times, chosen["final"])
            shorter = schedule(left - seconds, times, *given)
            # Not at the expense of what matters more.
            extras[name] = seconds <= EXTRA * study.total and shorter["final"]["steps"] >= DECENT
            if extras[name]:
                left, chosen = left - seconds, shorter
    return extras, chosen


def paced(study, plan, runner, searched):
    """Returns the plan with the final training as long as the time suffices for, at the pace of the search.

    Other processes may have taken the cores when the steps were measured, or since. If it does not suffice for the
    shortest training of each cell, those that were behind in the search are left out. It is decided once.
    """
    trials = [(name, trial) for name in plan.cells for trial in searched[name]["trials"]]

    def final():
        if not trials:
            return {"final": plan.final, "cells": plan.cells}
        taken = sum(trial["seconds"] for _, trial in trials)
        pace = taken / sum(fit_seconds(trial, plan.times[name]) for name, trial in trials) / runner.at_once
        left = SAFE * max(0.0, study.left())
        one = pace * sum(trial_seconds(plan.final, times) for times in plan.times.values())
        others = slowest_of(plan.times, plan.final["kept"])
        every = one + pace * (plan.schedule["seeds"] - 1) * sum(trial_seconds(plan.final, times) for times in others)
        share = max(left / every, min(1.0, left / one))
        chosen = rescaled(plan.final, share, most_steps(study.batches))
        ranked = sorted(plan.cells, key=lambda name: score_of(searched[name]))
        if chosen["steps"] == 2 * FEWEST:
            taken = np.cumsum([pace * trial_seconds(chosen, plan.times[name]) for name in ranked])
            ranked = ranked[: max(study.kept, np.count_nonzero(taken <= study.left()))]
        return {"final": chosen, "cells": [name for name in plan.cells if name in ranked]}

    found = study.folder.once("final", final, ("final", "cells"))
    return dataclasses.replace(
        plan,
        cells=found["cells"],
        left_out=[name for name in study.candidates if name not in found["cells"]],
        schedule={**plan.schedule, "final": found["final"]},
    )


def fold_build_seconds(study, times):
    """Returns what it takes to build the better cells for the earlier cuts."""
    slowest = slowest_of(times, finalists(len(times)))
    return len(study.data.earlier) * sum(each["build"] for each in slowest)


def other_seconds(study, times, of_folds):
    """Returns the seconds that are taken neither to build the models at first, nor to search and train.

    Args:
        study: The `Study`.
        times: What each cell takes.
        of_folds: What the baselines of earlier cuts take.
    """
    row_by_row = 0 if study.data.one_step is None else max(each["build"] for each in times.values())
    return of_folds + fold_build_seconds(study, times) + row_by_row


# Models are built and measured.


def measured(study, runner):
    """Returns the units and the times of as many models as there is time for, by name."""
    units, times = dict(study.sizes[0]), {}
    is_by_time = study.settings.equal == "time"
    with study.progress.shown("", len(study.lineup)):
        for names in batched(study.lineup, 1 if is_by_time else runner.at_once):
            is_late = len(times) >= LEAST and study.elapsed() + mean_of(times)["build"] > BUILD * study.total
            if is_late:
                break
            if len(times) >= min(2, study.kept):
                names = [name for name in names if build_seconds(units, times, name) <= LAST * study.left()]
            if not names:
                continue
            if is_by_time and times:
                (name,) = names
                units[name], times[name] = equally_slow(study, runner, name, units[name], first_of(times)["step"])
            else:
                times |= build(study, runner, {name: units[name] for name in names})
            study.progress.advance(len(names))
    return units, times


def build_seconds(units, times, name):
    """Returns what a model may take to be built and measured, from the times of others.

    It grows with the units: of one input and as many weights, MinGRU has forty times those of an LSTM.
    """
    typical = np.median([units[each] for each in times])
    return mean_of(times)["build"] * max(1.0, GROWTH * units[name] / typical)


def build(study, runner, units):
    """Returns what the models of cells take, by name: to be built, and what each `Learner` measures."""
    jobs = [
        Building(name, count, f"building {study.title(name)}", bool(study.candidates[name].key))
        for name, count in units.items()
    ]
    found = {job.name: times for job, times in runner.run(jobs)}
    return {name: found[name] for name in units}


def equally_slow(study, runner, name, units, goal):
    """Returns the units with which a step of a cell takes about as long as `goal`, and its times."""
    before = study.elapsed()
    multiple = study.candidates[name].multiple
    tried = {units: build(study, runner, {name: units})[name]}

    def distance(units):
        return abs(np.log(tried[units]["step"] / goal))

    for _ in range(5):
        units = min(tried, key=distance)
        if distance(units) <= CLOSE:
            break
        # The time grows with the units, but less than in proportion as long as they are few.
        new = max(1, round(units * min(4.0, max(0.25, goal / tried[units]["step"]))))
        new = (new + units) // 2 if new in tried else new
        new = max(1, round(new / multiple)) * multiple
        size = study.shape.size(study.candidates[name], new)
        # Where a step takes its time whatever the units are, no size would be large enough.
        if new in tried or size > LARGEST * study.weights:
            break
        tried[new] = build(study, runner, {name: new})[name]
    units = min(tried, key=distance)
    return units, {**tried[units], "build": study.elapsed() - before}


def batched(names, size):
    """Yields lists of up to `size` names."""
    names = iter(names)
    while batch := list(itertools.islice(names, size)):
        yield batch


def first_of(times):
    return next(iter(times.values()))


def mean_of(times):
    """Returns the mean of each time over the cells."""
    return {key: float(np.mean([each[key] for each in times.values()])) for key in first_of(times)}


def describe_steps(study, units, times):
    weights = [study.shape.size(study.candidates[name], units[name]) for name in times]
    ranked = sorted(times, key=lambda name: times[name]["step"])
    steps = [f"{rounded(1000 * times[name]['step'], 3)} ms ({study.title(name)})" for name in ranked]
    if len(times) == 1:
        return f"1 model of {weights[0]:,} weights; a step takes {steps[0]}"
    return (
        f"{len(times)} models of {min(weights):,} to {max(weights):,} weights; a step takes {steps[0]} to {steps[-1]}"
    )


def limits(study, plan):
    """Returns what the time did not suffice for, and other limitations, one sentence each."""
    settings, data, final = study.settings, study.data, plan.final
    _, of_sizes = study.sizes
    notes = [of_sizes] if of_sizes and settings.equal == "weights" else []
    if plan.left_out:
        titles = ", ".join(study.title(name) for name in plan.left_out)
        minutes = math.ceil(settings.minutes * len(study.candidates) / len(plan.cells))
        notes.append(f"Left out for lack of time: {titles}. All cells take about {counted(minutes, 'minute')} or more.")
    tried = len(plan.schedule["rates"])
    if tried < settings.trials:
        are = "learning rate is" if tried == 1 else "learning rates are"
        notes.append(f"Only {tried} {are} tried, for lack of time.")
    if data.series is not None and not plan.quantiles:
        notes.append("Intervals are equally wide at all times: no quantiles are learned, for lack of time.")
    if settings.memory and not plan.memory:
        notes.append("Memory is not measured, for lack of time.")
    read, count = final["steps"] * study.batch_size, len(data.x["train"])
    if read < count:
        notes.append(f"A training reads {read:,} of the {count:,} sequences.")
    sizes = {part: (scored, len(data.x[part])) for part, scored in final["scored"].items()}
    in_part = [f"{scored:,} of {size:,} for {part}" for part, (scored, size) in sizes.items() if scored < size]
    if in_part:
        notes.append(f"Scores are of samples that are evenly spread: {', '.join(in_part)}.")
    return notes
