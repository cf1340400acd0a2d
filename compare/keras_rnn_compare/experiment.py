"""The comparison: sizes, measured times, a search for learning rates, several seeds, a result."""

import concurrent.futures
import contextlib
import itertools
import math
import os
import pathlib
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np

from keras_adaptive_rnn.files import save_whole
from keras_rnn_compare import arguments, backtests, curves
from keras_rnn_compare.baselines import baseline_rows, fit, not_compared
from keras_rnn_compare.candidates import ModelShape, equal_sizes, resolve_candidates
from keras_rnn_compare.code import lines
from keras_rnn_compare.data import beside_the_model, from_arrays, told
from keras_rnn_compare.figures import JUDGED, figures, forecasts, joined, mean_figures, shown
from keras_rnn_compare.folder import Damaged, Folder, digest, fault_of_zip, opened, origin
from keras_rnn_compare.intervals import about, conformal, pinball_losses
from keras_rnn_compare.measures import latency, peak_megabytes, predict_seconds
from keras_rnn_compare.progress import Progress
from keras_rnn_compare.report import html
from keras_rnn_compare.result import NEEDS, Comparison
from keras_rnn_compare.schedule import (
    BUILD,
    EXTRA,
    EXTRAS,
    PASSES,
    affordable,
    cost_seconds,
    decent,
    estimated,
    finalists,
    schedule,
    seconds_needed,
    slowest_of,
    trial_seconds,
)
from keras_rnn_compare.seeds import fold_in
from keras_rnn_compare.statistics import mean_and_error, recommend
from keras_rnn_compare.strategies import LEARNERS, STRATEGIES, learned_intervals
from keras_rnn_compare.tables import listed
from keras_rnn_compare.trials import FULL_SCORES, Building, Trial, full_scores
from keras_rnn_compare.workers import Here, Problem, pickled, workers_for

# Times of a step are equal if their logarithms differ by less, and no model gets more weights than so many times those
# of the first cell.
CLOSE, LARGEST = 0.1, 4
ADVICE = ("verdict", "winner", "ahead", "tied", "differences", "baseline")
# Seconds to save the best model and to write the report, whose pictures need matplotlib.
FINISH = 3
# The share of the time that is left where a cell is trained once more, to forecast row by row.
ONE_STEP = 0.92


def compare(
    x: Any,
    y: Any,
    *,
    groups: Any = None,
    split: str | None = None,
    cells: Sequence[str] | dict[str, str | Callable[[int], keras.Layer]] | None = None,
    weights: int | None = None,
    equal: str = "weights",
    minutes: float = 10,
    trials: int = 4,
    seeds: int = 3,
    depth: int = 1,
    batch_size: int = 32,
    memory: bool = True,
    seed: int = 0,
    workers: int | None = None,
    executor: concurrent.futures.Executor | None = None,
    output: str | os.PathLike | None = None,
    verbose: bool = True,
) -> Comparison:
    """Compares recurrent cells on your data, at equal numbers of weights or equal time, and says which one to take.

    Every cell gets a model of the same form: normalised numbers or embedded tokens, `depth` recurrent layers, a dense
    layer. Adam trains it, with the norm of the gradient clipped at one, and with a learning rate that falls to a tenth
    in the second half. Each cell gets the same number of short trials with different learning rates. The better half of
    them goes on with twice as many steps, and so on (successive halving). Then every cell is trained in full, from new
    weights with its best rate, and the better ones, and always the first one, with the other seeds as well. All choices
    are made on the validation part; the test part is only reported. A difference is noise if a t-test at 95 %, paired
    over the seeds and over the validation samples, does not tell it from zero.

    A trial depends on its cell, rate, seed and number of steps alone. The numbers of steps are decided once, from
    measured times, and kept in `output`: the same call goes on where an earlier one was stopped, to the same numbers.
    Each trial sets the random seeds of Python, NumPy and the backend.

    Args:
        x: Array of sequences: numbers `[samples, steps, features]`, or tokens, integers `[samples, steps]`.
        y: Array of targets: classes `[samples]` or `[samples, steps]` (integers or strings), or numbers `[samples]`,
            `[samples, outputs]` or `[samples, steps, outputs]` (floats).
        groups: Array of an entry per sample, such as the person it comes from. A group is never divided between
            training, validation and test. Defaults to `None`.
        split: `"random"`, `"time"` (the samples are in order; the last ones are for testing) or `"group"`; `None`
            (default) means `"group"` if there are groups, else `"random"`. Training gets 70 % and the other parts 15 %
            each.
        cells: List of names, such as `"lstm"` and `"low_rank_gru"` (the message about an unknown name lists all); or a
            dict of names and functions `units -> layer`, which make any recurrent layer or cell of Keras. Defaults to
            `None`, which means all that have a name.
        weights: Positive integer, about how many weights each model has: sizes are chosen within 10 % of it that differ
            by 2 % at most. Where so few weights leave no such sizes, the recommendation says so. Defaults to `None`,
            which means 20,000.
        equal: What is equal: `"weights"` (default), or `"time"`, which gives every cell the units with which a training
            step takes as long as one of the first cell at `weights`, up to 10 %, and four times the weights at most.
        minutes: Positive number, the time for everything. Where it does not suffice, fewer rates are tried, then cells
            are left out, the slow ones first, and a note says which; two are always compared, which may take longer.
            Little data takes less. Defaults to `10`.
        trials: Positive integer, number of learning rates between 0.001 and 0.03 that each cell tries. Defaults to `4`;
            1 means no search, and a rate of 0.003.
        seeds: Positive integer, how often each of the better cells is trained in the end. Defaults to `3`; 1 cannot
            tell a difference from noise.
        depth: Positive integer, number of recurrent layers. Defaults to `1`.
        batch_size: Positive integer. Defaults to `32`.
        memory: Whether to measure the memory of training, if there is time to start a process per cell. Defaults to
            `True`.
        seed: Integer, which decides how the data is divided, and all weights and orders. Defaults to `0`.
        workers: Positive integer, how many trials run at a time, each in a process of its own with one core of this
            machine. A script must then call `compare` under `if __name__ == "__main__":`. Defaults to `None`, which
            means one, in this process; or as many as `executor` has workers, where it tells.
        executor: A `concurrent.futures.Executor` that runs the trials, such as `distributed.Client(...).get_executor()`
            of Dask. Its workers are processes, with `KERAS_BACKEND` and versions as here. What they run and return is
            pickled, so cells of yours are classes, or functions of a module. Threads are refused: they share their
            random seeds. Defaults to `None`.
        output: Path of a folder for the results, which may be one of an unfinished comparison. Defaults to `None`, a
            temporary folder.
        verbose: Whether to show progress. Defaults to `True`.

    Returns: A `keras_rnn_compare.Comparison`.

    Raises:
        ValueError: The data is not usable (not finite, too short, a single class, unequal lengths, ...), an argument
            has a value that is not allowed, or `output` holds something else. Raised before any training.
        TypeError: An argument has a wrong type.
        RuntimeError: Another process, or another thread, is writing to `output`.
        OSError: A file cannot be written. What is done is kept, and the same call goes on from there.
        ChildProcessError: A trial has cost three workers their life, or the executor is broken.
        ConnectionError: The cluster does not answer, or has no workers.

    Example:

    >>> x = np.random.default_rng(0).normal(size=(80, 5, 1))
    >>> comparison = keras_rnn_compare.compare(
    ...     x, x.sum(axis=1), cells=["lstm", "gru"], weights=400, minutes=0.01, trials=1, memory=False, verbose=False
    ... )
    >>> comparison.winner in ("lstm", "gru")
    True
    >>> comparison.best_model().predict(x[:2], verbose=0).shape
    (2, 1)

    Source: The protocol follows Melis et al., On the State of the Art of Evaluation in Neural Language Models (2018),
    section 3: as many weights, tuned alike; and Jamieson and Talwalkar, Non-stochastic Best Arm Identification (2016):
    successive halving.
    """
    begun = time.perf_counter()
    settings = validate_settings(
        cells=cells,
        weights=weights,
        equal=equal,
        minutes=minutes,
        trials=trials,
        seeds=seeds,
        depth=depth,
        batch_size=batch_size,
        memory=memory,
        seed=seed,
    )
    team = workers_for(workers, executor, candidates=settings["cells"])
    data = from_arrays(x, y, groups, split, settings["seed"])
    return run(data, settings, output, arguments.boolean("verbose", verbose), begun, team)


def validate_settings(cells, weights, equal, minutes, trials, seeds, depth, batch_size, memory, seed):
    """Returns the settings, by name, or raises an error."""
    return {
        "cells": resolve_candidates(cells),
        "weights": arguments.integer("weights", weights, optional=True),
        "equal": arguments.choice("equal", equal, ("weights", "time")),
        "minutes": arguments.positive_number("minutes", minutes),
        "trials": arguments.integer("trials", trials),
        "seeds": arguments.integer("seeds", seeds),
        "depth": arguments.integer("depth", depth),
        "batch_size": arguments.integer("batch_size", batch_size),
        "memory": arguments.boolean("memory", memory),
        "seed": arguments.integer("seed", seed, minimum=0),
    }


def run(data, settings, output=None, verbose=True, begun=None, team=None):
    """Compares the cells on `Data`, in a folder, and returns the `Comparison`.

    Args:
        data: The `Data`.
        settings: What `validate_settings` returns.
        output, verbose: As in `compare`.
        begun: When the time began. Defaults to `None`, which means now.
        team: What `workers_for` returns.
    """
    begun = time.perf_counter() if begun is None else begun
    candidates = settings["cells"]
    settings = {**settings, "weights": settings["weights"] or (100_000 if data.is_text else 20_000)}
    size = min(settings["batch_size"], len(data.x["train"]))
    shape = ModelShape(data.x["train"].shape[-1], data.vocabulary, data.outputs, settings["depth"])
    units, note_of_sizes = equal_sizes(shape, candidates, settings["weights"])
    # Before anything is trained: what cannot be written, cannot be written now either.
    beside_the_model(data)
    path = pathlib.Path(tempfile.mkdtemp(prefix="comparison_") if output is None else output)
    written = {
        **settings,
        "cells": {name: candidate.key or candidate.title for name, candidate in candidates.items()},
        "backend": keras.backend.backend(),
        "data": data.fingerprint(),
        "folds": 1 + len(data.earlier),
    }
    progress = Progress(verbose)
    with opened(path, "comparing cells"):
        folder = Folder(path, written, progress.warn)
        for line in (*told(data.card["read"]), *data.card.get("notes", ()), *not_compared(data)):
            progress.line(line)
        if not is_done(folder):
            given = (data, settings, candidates, shape, units, note_of_sizes, size, folder, progress, begun, team)
            Experiment(*given).execute()
        comparison = Comparison(path)
        folder.write_text("best.json", beside_the_model(data, comparison.results))
        folder.write_text("report.html", html(comparison))
    return comparison


def is_done(folder):
    """Returns whether a folder holds a whole result; where that is damaged, the user is told."""
    try:
        done = folder.read("results", NEEDS)
        for name in [] if done is None else ["best.keras", *(["quantiles.keras"] if done["quantiles"] else [])]:
            fault = fault_of_zip(folder.path / name)
            if fault:
                raise Damaged(f"{folder.path / name} {fault}")
    except Damaged as error:
        folder.warn(f"{error}: it is made again, from the trials")
        return False
    return done is not None


class Experiment:
    """One comparison, from where its folder says it is."""

    def __init__(self, data, settings, candidates, shape, units, note, size, folder, progress, begun, team=None):
        self.data, self.settings, self.candidates, self.shape = data, settings, candidates, shape
        self.units, self.size, self.folder, self.progress = units, size, folder, progress
        self.begun, self.team = begun, team
        self.note = note if settings["equal"] == "weights" else None
        self.learners, self.fitted = {}, None
        self.strategy, self.about_strategy = "direct", None
        # Cells that are trained with a lower rate than the search has chosen, and these rates.
        self.lowered = {}

    def execute(self):
        try:
            with self.workers_of_team() as self.workers:
                searched, rows, behind, earlier = self.searched_and_trained()
                baselines = self.baselines()
                advice = self.advice(rows, behind, baselines)
                winner = next(row for row in rows if row["name"] == advice["winner"])
                learned = self.learn_quantiles(winner)
            self.finish(searched, rows, behind, earlier, baselines, advice, winner, learned)
        except KeyboardInterrupt as stop:
            stop.add_note(f"{self.done()} trials are kept in {self.folder.path}: the same call goes on from there.")
            raise

    def workers_of_team(self):
        """Returns a context of what runs the trials."""
        if self.team is None:
            return contextlib.nullcontext(
                Here(lambda name, units, strategy: self.learner(name, strategy), self.progress)
            )
        return self.team(Problem(self.data, self.shape, self.size, pickled(self.candidates)), self.progress)

    def searched_and_trained(self):
        """Makes or reads the plan, and returns what `search` and `train` do."""
        self.plan = self.plan_of_folder()
        self.units, self.times, self.cells = (self.plan[name] for name in ("units", "times", "cells"))
        self.workers.builds = {name: self.times[name]["build"] for name in self.cells}
        self.schedule = self.plan["schedule"]
        extra = sum(seconds_of(self.times, self.schedule["final"]) for name, seconds_of in EXTRAS if self.plan[name])
        work, seconds = (
            extra + self.builds_of_folds(self.times) + estimated(self.schedule, self.times, self.trainings, workers)
            for workers in (1, self.workers.at_once)
        )
        done = self.done()
        doing = f"Going on after {done} trials" if done else f"Training for about {seconds:.0f} seconds"
        self.progress.line(f"{doing}, on {keras.backend.backend()}; all results go to {self.folder.path}")
        for note in self.notes():
            self.progress.line(note)
        with self.progress.shown("", work):
            searched = self.search()
            rows, behind = self.train(searched)
            return searched, rows, behind, backtests.earlier(self, rows)

    def done(self):
        """Returns the number of trials that are done."""
        return len(list((self.folder.path / "trials").glob("[!.]*.json")))

    def learner(self, name, strategy):
        """Returns the model of a cell, made and compiled when it is first needed."""
        if (name, strategy) not in self.learners:
            made = LEARNERS[strategy](self.data, self.shape, self.candidates[name], self.units[name], self.size)
            self.learners[name, strategy] = made
        return self.learners[name, strategy]

    # The plan.

    def plan_of_folder(self):
        """Returns the plan, which is made if there is none: without it, trials that are done fit to nothing."""
        needs = ("units", "times", "cells", "left_out", "minutes", "schedule", "versions", "machine", "date")
        needs += tuple(name for name, _ in EXTRAS)
        path = self.folder.path / "plan.json"
        try:
            plan = self.folder.read("plan", needs)
            if plan is None and self.done():
                raise Damaged(f"{path} is missing")
        except Damaged as error:
            if self.done():
                raise ValueError(
                    f"{error}, and the {self.done()} trials of the folder fit to no other plan: restore it, or delete "
                    "the folder to begin anew"
                ) from None
        return self.folder.once("plan", self.make_plan, needs)

    def make_plan(self):
        """Builds and measures as many models as there is time for, and decides what every trial will take."""
        settings, total = self.settings, 60 * self.settings["minutes"]
        # First, since what it takes is not known before.
        self.progress.line("fitting the baselines")
        self.fitted = fit(self.data)
        of_folds = len(self.data.earlier) * sum(each.seconds for each in self.fitted)
        times = {}
        with self.progress.shown("", len(self.candidates)):
            for names in batched(self.candidates, 1 if settings["equal"] == "time" else self.workers.at_once):
                if len(times) >= 2 and self.elapsed() + mean_of(times)["build"] > BUILD * total:
                    break
                times |= self.build(names, times)
                self.progress.advance(len(names))
        self.progress.line(self.says_steps(times))
        if self.data.one_step is not None:
            # It may turn out that horizons are better forecast row by row.
            times = {name: {**each, "row": each["row"] * self.horizon} for name, each in times.items()}
        count = -(-len(self.data.x["train"]) // self.size)
        samples = {part: len(self.data.x[part]) for part in ("validation", "test")}
        given = (count, self.trainings, settings["trials"], samples, self.workers.at_once)
        building = self.elapsed()
        others = building + self.besides(times, of_folds)
        share = 1 if self.data.one_step is None else ONE_STEP
        left = share * (total - others)
        names, chosen = affordable(times, left, *given)
        of_chosen = {name: times[name] for name in names}
        extras = {"quantiles": self.data.series is not None, "memory": settings["memory"]}
        for name, seconds_of in EXTRAS:
            if extras[name]:
                seconds = seconds_of(of_chosen, chosen["final"])
                shorter = schedule(left - seconds, of_chosen, *given)
                # Not at the expense of what matters more.
                extras[name] = seconds <= EXTRA * total and shorter["final"]["steps"] >= decent(count)
                if extras[name]:
                    left, chosen = left - seconds, shorter
        every = {name: times.get(name, mean_of(times)) for name in self.candidates}
        left_out = [name for name in self.candidates if name not in names]
        is_short = chosen["final"]["steps"] < decent(count)

        def minutes_needed(times, others):
            """Returns the minutes in which cells can be trained decently, after so many seconds of other work."""
            return (others + seconds_needed(times, *given) / share) / 60

        of_all = None
        if left_out:
            building += sum(every[name]["build"] for name in every if name not in times)
            of_all = max(minutes_needed(every, building + self.besides(every, of_folds)), building / BUILD / 60)
        return {
            "units": self.units,
            "times": {name: times[name] for name in names},
            "cells": names,
            "left_out": left_out,
            "minutes": {
                "all cells": of_all,
                "these cells": minutes_needed(of_chosen, others) if is_short else None,
            },
            **extras,
            "schedule": chosen,
            **origin(),
        }

    @property
    def horizon(self):
        """How often a model of the next row is called for a forecast."""
        return 1 if self.data.series is None else self.data.series.horizon

    @property
    def trainings(self):
        """How often the better cells are trained in full: with each seed, and after each earlier cut."""
        return self.settings["seeds"] + len(self.data.earlier)

    def builds_of_folds(self, times):
        """Returns what it takes to build the better cells for the earlier cuts."""
        slowest = slowest_of(times, finalists(len(times)))
        return len(self.data.earlier) * sum(each["build"] for each in slowest)

    def besides(self, times, of_folds):
        """Returns the seconds that are taken neither to build the models at first, nor to search and train.

        Args:
            times: What each cell takes.
            of_folds: What the baselines of earlier cuts take.
        """
        row_by_row = 0 if self.data.one_step is None else max(each["build"] for each in times.values())
        return FINISH + of_folds + self.builds_of_folds(times) + row_by_row

    def elapsed(self):
        return time.perf_counter() - self.begun

    def build(self, names, times):
        """Returns what the models of cells take: to be built, and what each `Learner` measures."""
        before = time.perf_counter()
        jobs = [
            Building(name, self.units[name], f"building {self.candidates[name].title}", bool(self.candidates[name].key))
            for name in names
        ]
        found = {job.name: measured for job, measured in self.workers.run(jobs)}
        if self.settings["equal"] == "time" and times:
            (name,) = names
            fitted = self.fit_time(name, found[name], next(iter(times.values()))["step"])
            found[name] = {**fitted, "build": time.perf_counter() - before}
        return {name: found[name] for name in names}

    def says_steps(self, times):
        fastest, *_, slowest = sorted(times, key=lambda name: times[name]["step"])
        weights = [self.shape.size(self.candidates[name], self.units[name]) for name in times]
        return (
            f"{len(times)} models of {min(weights):,} to {max(weights):,} weights; a step takes "
            f"{1000 * times[fastest]['step']:.3g} ms ({self.candidates[fastest].title}) to "
            f"{1000 * times[slowest]['step']:.3g} ms ({self.candidates[slowest].title})"
        )

    def notes(self):
        """Returns what the time did not suffice for, and what else limits the result, a sentence each."""
        notes = [self.note] if self.note else []
        final = self.schedule["final"]
        if self.plan["left_out"]:
            titles = ", ".join(self.candidates[name].title for name in self.plan["left_out"])
            minutes = math.ceil(self.plan["minutes"]["all cells"])
            notes.append(f"Left out for lack of time: {titles}. About {minutes} minutes or more do for all.")
        if len(self.schedule["rates"]) < self.settings["trials"]:
            notes.append(f"Only {len(self.schedule['rates'])} learning rates are tried, for lack of time.")
        if self.data.series is not None and not self.plan["quantiles"]:
            notes.append("Intervals are equally wide at all times: no quantiles are learned, for lack of time.")
        if self.settings["memory"] and not self.plan["memory"]:
            notes.append("Memory is not measured, for lack of time.")
        read, count = final["steps"] * self.size, len(self.data.x["train"])
        if read < count:
            notes.append(f"A training reads {read:,} of the {count:,} sequences.")
        sizes = {part: (scored, len(self.data.x[part])) for part, scored in final["scored"].items()}
        in_part = [f"{scored:,} of {size:,} for {part}" for part, (scored, size) in sizes.items() if scored < size]
        if in_part:
            notes.append(f"Scores are of samples that are evenly spread: {', '.join(in_part)}.")
        return notes

    def fit_time(self, name, times, goal):
        """Changes the units of a cell until its step takes as long as `goal`; returns its times."""
        tried, multiple = {self.units[name]: times}, self.candidates[name].multiple

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
            size = self.shape.size(self.candidates[name], new)
            # Where a step takes its time whatever the units are, no size would be large enough.
            if new in tried or size > LARGEST * self.settings["weights"]:
                break
            self.resize(name, new)
            tried[new] = self.measured(name)
        self.resize(name, min(tried, key=distance))
        return tried[self.units[name]]

    def measured(self, name):
        ((_, found),) = self.workers.run([Building(name, self.units[name], f"building {self.candidates[name].title}")])
        return found

    def resize(self, name, units):
        if units != self.units[name]:
            self.units[name] = units
            self.learners.pop((name, "direct"), None)

    # Trials.

    def trials(self, asked):
        """Yields the records of trials in their order; those that are not in the folder are run."""
        records = {trial.key: self.kept(trial) for trial in asked}
        for trial in [trial for trial in asked if records[trial.key] is not None]:
            self.progress.advance(trial.seconds)
        ended = self.workers.run([trial for trial in asked if records[trial.key] is None])
        for trial in asked:
            # Workers may end them in another order.
            while records[trial.key] is None:
                other, outcome = next(ended)
                records[other.key] = self.keep(other, *outcome)
            yield records[trial.key]

    def kept(self, trial):
        """Returns the record of a trial in the folder, or `None`."""
        needs = ("score", "accuracy", "curve", "seconds", *trial.made_by, *trial.needs)
        needs += ("weights",) if trial.more is not None else ()
        weights = self.folder.path / f"trials/{trial.key}.weights.h5"

        def fault(record):
            other = [each for each in trial.made_by if record[each] != trial.made_by[each]]
            if other:
                return f"is of another plan ({other[0]} {record[other[0]]!r} instead of {trial.made_by[other[0]]!r})"
            if trial.more is not None and record["weights"] != digest(weights):
                return f"has lost its weights, {weights.name}, which are {'damaged' if weights.exists() else 'missing'}"
            return None

        return self.folder.kept(f"trials/{trial.key}", needs, fault)

    def keep(self, trial, record, weights):
        """Writes a trial that has ended, and returns its record as it will be read."""
        if weights is not None:
            with self.folder.replaced(f"trials/{trial.key}.weights.h5") as path:
                path.write_bytes(weights)
            record = {**record, "weights": digest(self.folder.path / f"trials/{trial.key}.weights.h5")}
        return self.folder.put(f"trials/{trial.key}", record)

    def trial(self, name, rate, seed, plan, key, title, **more):
        says, seconds = f"{self.candidates[name].title}, {title}", trial_seconds(plan, self.times[name])
        return Trial(name, self.units[name], rate, seed, plan, f"{name}-{key}", says, seconds, **more)

    def search(self):
        """Returns `{name: {"rate": ..., "trials": [...]}}`."""
        seed = fold_in(self.settings["seed"], "search")
        searched = {name: {"rates": self.schedule["rates"], "trials": []} for name in self.cells}
        for k, rung in enumerate(self.schedule["rungs"]):
            tried = self.trials(
                [
                    self.trial(name, rate, seed, rung, f"rung{k}-rate{rate:g}", f"learning rate {rate:g}")
                    for name, found in searched.items()
                    for rate in found["rates"][: rung["kept"]]
                ]
            )
            for found in searched.values():
                records = sorted(itertools.islice(tried, rung["kept"]), key=lambda record: or_inf(record["score"]))
                found["rates"] = [record["rate"] for record in records]
                found["trials"] += records
            best = {name: found["trials"][-rung["kept"]]["score"] for name, found in searched.items()}
            self.says_scores(f"Best of {rung['kept']} learning rates, {rung['steps']:,} steps each", best)
        return {name: {"rate": found["rates"][0], "trials": found["trials"]} for name, found in searched.items()}

    def says_scores(self, title, scores):
        shown = (
            f"{self.candidates[name].title} {'diverged' if score is None else f'{score:.4g}'}"
            for name, score in scores.items()
        )
        self.progress.line(f"{title}, {self.data.measure}: {', '.join(shown)}")

    def train(self, searched):
        """Returns a row of figures for each of the better cells, and one for each cell behind them."""
        self.choose_strategy(searched)
        plan, seeds = self.schedule["final"], self.settings["seeds"]
        records, names = {name: [] for name in self.cells}, self.cells
        for some in (range(1), range(1, seeds)):
            trained = self.trials(
                [self.full_trial(name, searched[name]["rate"], k, self.strategy) for k in some for name in names]
            )
            for k in some:
                for name in names:
                    records[name].append(next(trained))
                title = f"Seed {k + 1} of {seeds}, {plan['steps']:,} steps"
                self.says_scores(title, {name: records[name][k]["score"] for name in names})
            if 0 in some:
                self.lower_rates(searched, records)
            names = self.better(records)
        rows = [{**self.row(name, searched[name], records[name]), **self.costs(name)} for name in names]
        behind = [self.row(name, searched[name], records[name]) for name in self.cells if name not in names]
        return rows, behind

    def lower_rates(self, searched, records):
        """Trains cells once more, with the next lower rate, that came no further than in the search.

        A rate that is the best one for a short training may be too high for a long one.
        """
        for name, found in searched.items():
            shorter, reached = self.shorter(found), lowest(records[name][0]["curve"])
            lower = [trial["rate"] for trial in found["trials"] if trial["rate"] < found["rate"]]
            if shorter is not None and lower and reached >= lowest(shorter["curve"]):
                self.lowered[name] = max(lower)
        tried = self.trials([self.full_trial(name, rate, 0, self.strategy) for name, rate in self.lowered.items()])
        for (name, rate), record in zip(dict(self.lowered).items(), tried, strict=True):
            if or_inf(record["score"]) < or_inf(records[name][0]["score"]):
                searched[name]["rate"], records[name][0] = rate, record
            else:
                del self.lowered[name]
        if self.lowered:
            self.progress.line(self.about_lowered())

    def about_lowered(self):
        if not self.lowered:
            return None
        cells = listed([f"{self.candidates[name].title} ({rate:g})" for name, rate in self.lowered.items()])
        return f"With a lower learning rate than that of the search, which was too high for a whole training: {cells}."

    def shorter(self, searched):
        """Returns the longest trial in the search with the chosen rate, if it was clearly shorter than a whole one."""
        most = self.schedule["final"]["steps"] / 1.4
        same = [trial for trial in searched["trials"] if trial["rate"] == searched["rate"]]
        short = [trial for trial in same if trial["score"] is not None and trial["steps"] <= most]
        return max(short, key=lambda trial: trial["steps"], default=None)

    def better(self, records):
        """Returns the cells that the other seeds are for.

        A whole training decides, not a short one, in which cells that learn slowly at first would look bad.
        """
        kept, first = self.schedule["final"]["kept"], self.cells[0]
        ranked = sorted(self.cells, key=lambda name: or_inf(records[name][0]["score"]))
        # The first cell is what the others are compared with, in place of the last of the better ones.
        better = ranked[:kept] if first in ranked[:kept] else [*ranked[: kept - 1], first]
        return [name for name in self.cells if name in better]

    def choose_strategy(self, searched):
        """Decides how a horizon is forecast, by whole trainings of the cell that was the best in the search."""
        if self.data.one_step is None:
            return
        name = min(self.cells, key=lambda name: min((or_inf(t["score"]) for t in searched[name]["trials"]), default=0))
        tried = self.trials([self.full_trial(name, searched[name]["rate"], 0, strategy) for strategy in STRATEGIES])
        direct, recursive = (or_inf(record["score"]) for record in tried)
        self.strategy = "recursive" if recursive < direct else "direct"
        self.about_strategy = (
            f"Horizons are forecast {'row by row' if recursive < direct else 'at once'}: {self.candidates[name].title} "
            f"has a validation RMSE of {recursive:.4g} row by row, and {direct:.4g} at once."
        )
        self.progress.line(self.about_strategy)

    def full_trial(self, name, rate, k, strategy):
        """Returns a whole training with seed `k`, with all that the result needs of it."""
        seed = fold_in(self.settings["seed"], "final", k)
        title = f"seed {k + 1} of {self.settings['seeds']}"
        key = f"seed{k}" if strategy == "direct" else f"seed{k}-{strategy}"
        key += "-lower" if self.lowered.get(name) == rate else ""
        more = {"more": full_scores, "needs": FULL_SCORES, "strategy": strategy}
        return self.trial(name, rate, seed, self.schedule["final"], key, title, **more)

    def learn_quantiles(self, row):
        """Returns the record of a training of a cell for the ends of intervals, or `None` if there is none."""
        if not self.plan["quantiles"]:
            return None
        seed, plan = fold_in(self.settings["seed"], "quantiles"), self.schedule["final"]
        more = {"more": learned_intervals, "needs": ("intervals", "pinball"), "strategy": "quantiles"}
        (record,) = self.trials([self.trial(row["name"], row["rate"], seed, plan, "quantiles", "quantiles", **more)])
        return record

    def row(self, name, searched, records):
        learner, shorter = self.learner(name, self.strategy), self.shorter(searched)
        return {
            "name": name,
            "title": self.candidates[name].title,
            "units": self.units[name],
            "weights": learner.model.count_params(),
            "layer": repr(learner.recurrent[0]),
            "rate": searched["rate"],
            "shorter": None if shorter is None else (shorter["steps"], shorter["score"]),
            "step": self.times[name]["step"],
            "validation": [record["score"] for record in records],
            "test": [record["test"] for record in records],
            "accuracy": [record["test_accuracy"] for record in records],
            "contributions": [record["contributions"] for record in records],
            "figures": mean_figures([record["figures"] for record in records]),
            "curves": [record["curve"] for record in records],
            "band": curves.band([record["curve"] for record in records]),
            "seconds": float(np.mean([record["seconds"] for record in records])),
        }

    def costs(self, name):
        """Returns what the model of a cell costs besides its training."""

        def measured():
            learner = self.learner(name, self.strategy)
            return {
                "predict": predict_seconds(learner) * (self.horizon if self.strategy == "recursive" else 1),
                "latency": latency(learner.model),
                "memory": peak_megabytes(learner) if self.plan["memory"] else None,
            }

        self.progress.says(f"{self.candidates[name].title}, latency and memory")
        found = self.folder.once(f"costs-{name}", measured, ("predict", "latency", "memory"))
        self.progress.advance(cost_seconds(self.times[name]))
        return found

    # The result.

    def baselines(self):
        """Returns the rows of the baselines."""
        self.progress.says("the baselines")
        scored = self.schedule["final"]["scored"]
        made = self.folder.once(
            "baselines", lambda: {"rows": baseline_rows(self.data, scored, self.fitted)}, ("rows",)
        )["rows"]
        # JSON has no infinity: a score that is none is `None` there.
        for row in [row for row in made if None in (*row["validation"], *row["test"])]:
            self.progress.warn(f"left out: {row['title']}, whose score is not finite")
            made.remove(row)
        return made

    def advice(self, rows, behind, baselines):
        """Returns what `recommend` does."""
        count = -(-len(self.data.x["train"]) // self.size)
        return recommend(
            rows,
            self.data.measure,
            baselines,
            minutes=self.settings["minutes"],
            more_training=self.schedule["final"]["steps"] < PASSES * count,
            needed=self.plan["minutes"]["these cells"],
            behind=behind,
        )

    def finish(self, searched, rows, behind, earlier, baselines, advice, winner, learned):
        """Writes the best models and the results."""
        data = self.data
        learner = self.best_learner(winner)
        self.save(learner, "best")
        outputs = {}
        if not data.is_text:
            scored = self.schedule["final"]["scored"]
            outputs = {part: list(learner.outputs(part, scored[part])) for part in JUDGED}
        of_series = {"intervals": {}, "quantiles": False, "forecast": None, "notes": []}
        if data.series is not None:
            of_series = self.forecasts(learner, winner, outputs, learned)
        folds = [*earlier, backtests.last(data, rows, baselines)]
        for row in (*rows, *behind, *baselines):
            del row["contributions"]
            row["validation_mean"], row["validation_error"] = mean_and_error(row["validation"])
            row["test_mean"], row["test_error"] = mean_and_error(row["test"])
        notes = [
            curves.note(rows),
            self.about_strategy,
            self.about_lowered(),
            *of_series["notes"],
            backtests.note(folds, data.measure),
        ]
        result = {
            "measure": data.measure,
            "data": data.card,
            "settings": self.folder.read("settings"),
            "plan": self.plan,
            "rows": sorted(rows, key=lambda row: or_inf(row["validation_mean"])),
            "behind": sorted(behind, key=lambda row: or_inf(row["validation_mean"])),
            "baselines": sorted(baselines, key=lambda row: or_inf(row["validation_mean"])),
            "search": {name: each["trials"] for name, each in searched.items()},
            **{name: advice[name] for name in ADVICE},
            "recommendation": advice["sentence"],
            "strategy": self.strategy,
            **of_series,
            "figures": figures(data, outputs),
            "folds": folds if earlier else [],
            "notes": [*self.notes(), *filter(None, notes)],
            "code": lines(learner, winner["rate"], self.schedule["final"]["steps"], self.folder.path, data.file),
        }
        self.folder.write("results", result)

    def best_learner(self, winner):
        """Returns the model of a cell with the weights of its best seed, by validation."""
        best = min(range(len(winner["validation"])), key=lambda k: or_inf(winner["validation"][k]))
        learner = self.learner(winner["name"], self.strategy)
        trial = self.full_trial(winner["name"], winner["rate"], best, self.strategy)
        learner.model.load_weights(self.folder.path / f"trials/{trial.key}.weights.h5")
        return learner

    def save(self, learner, name):
        save_whole(learner.finished_model().save, self.folder.path / f"{name}.keras")

    def forecasts(self, learner, winner, outputs, learned):
        """Returns the intervals of forecasts, whether they are learned, and the last forecasts of the test part.

        Intervals that are learned are taken if the pinball loss of their ends is lower on validation.
        """
        data = self.data
        residuals = {part: about(data.residuals(part, *joined(outputs[part]))) for part in JUDGED}
        intervals, windows = conformal(residuals["validation"], residuals["test"]), shown(data.series)
        values = self.in_units(learner.outputs_of("test", windows), windows)
        ends, losses = about(values), pinball_losses(residuals["validation"], intervals)
        is_learned = bool(losses) and learned is not None and or_inf(learned["pinball"]) < np.mean(losses)
        note = about_intervals(intervals)
        if is_learned:
            intervals = learned["intervals"]
            of_quantiles = self.learner(winner["name"], "quantiles")
            of_quantiles.model.load_weights(self.folder.path / f"trials/{winner['name']}-quantiles.weights.h5")
            self.save(of_quantiles, "quantiles")
            ends = self.in_units(of_quantiles.outputs_of("test", windows), windows)
            note = about_learned(learned, float(np.mean(losses)), winner["title"])
        last = forecasts(data.series, windows, values, ends, intervals)
        return {"intervals": intervals, "quantiles": is_learned, "forecast": last, "notes": [note]}

    def in_units(self, outputs, windows):
        """Returns outputs for windows of the test part in the unit of the target."""
        level = self.data.series.level(self.data.series.ends["test"][windows])
        values = np.asarray(outputs, "float64") * self.data.deviation + self.data.mean
        return values + np.reshape(level, (-1, *[1] * (values.ndim - 1)))


def batched(names, size):
    """Yields lists of up to `size` names."""
    names = iter(names)
    while batch := list(itertools.islice(names, size)):
        yield batch


def mean_of(times):
    """Returns the mean of each time over the cells."""
    return {key: float(np.mean([each[key] for each in times.values()])) for key in next(iter(times.values()))}


def about_intervals(intervals):
    """Returns a sentence about intervals of one width, or `None` if there are none."""
    if not intervals:
        return None
    widths = " and ".join(f"{level} % lie within ± {span(each['width'])}" for level, each in intervals.items())
    return (
        f"Of the saved model's forecasts, {widths} of the truth, by the validation part; of the test part, "
        f"{held(intervals)} did."
    )


def about_learned(learned, loss, title):
    """Returns a sentence about intervals between quantiles, whose ends have a lower pinball loss than a `loss`."""
    levels = " and ".join(f"{level} %" for level in learned["intervals"])
    return (
        f"Intervals of {levels} lie between quantiles that {title} has learned: the mean pinball loss of their ends on "
        f"validation is {learned['pinball']:.3g}, and that of intervals of one width {loss:.3g}. They hold "
        f"{held(learned['intervals'])} of the test part."
    )


def held(intervals):
    """Returns the shares of the test part that intervals hold, as text."""
    return " and ".join(f"{each['coverage']:.0%}" for each in intervals.values())


def span(widths):
    """Returns the width of an interval, for the first row of the horizon and the last one."""
    return f"{widths[0]:.3g}" + (f" (first row) to {widths[-1]:.3g} (last)" if len(widths) > 1 else "")


def lowest(curve):
    """Returns the lowest score of a curve, infinite where it has none."""
    return min((or_inf(score) for _, score in curve), default=float("inf"))


def or_inf(score):
    return float("inf") if score is None else score
