"""The comparison: sizes, measured times, a search for learning rates, several seeds, a result."""

import concurrent.futures
import contextlib
import os
import pathlib
import tempfile
from collections.abc import Callable, Sequence
from time import perf_counter as clock
from typing import Any

import keras

from keras_rnn_compare import arguments
from keras_rnn_compare.reading.data import beside_the_model, describe_source, from_arrays
from keras_rnn_compare.reading.files import read
from keras_rnn_compare.reading.options import ReadOptions
from keras_rnn_compare.reading.tables import is_frame, listed
from keras_rnn_compare.reporting.comparison import NEEDS, Comparison
from keras_rnn_compare.reporting.report import html
from keras_rnn_compare.running.folder import Damaged, Folder, fault_of_zip, opened
from keras_rnn_compare.running.progress import Progress
from keras_rnn_compare.running.schedule import estimated
from keras_rnn_compare.running.workers import workers_for
from keras_rnn_compare.scoring.baselines import not_compared
from keras_rnn_compare.study import backtests
from keras_rnn_compare.study.outcome import report
from keras_rnn_compare.study.plan import fold_build_seconds, limits, paced, plan_of
from keras_rnn_compare.study.runner import started, trials_done
from keras_rnn_compare.study.search import search
from keras_rnn_compare.study.settings import Settings
from keras_rnn_compare.study.study import Study, decisive
from keras_rnn_compare.study.training import train
from keras_rnn_compare.threads import one_thread

# Weights of models that several threads do not train faster.
SMALL = 50_000


def compare(
    x: Any,
    y: Any = None,
    *,
    groups: Any = None,
    split: str | None = None,
    target: str | None = None,
    time: str | None = None,
    group: str | None = None,
    task: str | None = None,
    columns: Sequence[str] | None = None,
    steps: int | None = None,
    horizon: int = 1,
    decimal: str = ".",
    missing: str = "refuse",
    calendar: bool = True,
    known: Sequence[str] | None = None,
    differences: str = "auto",
    folds: int = 1,
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
    over the seeds and over the validation samples, does not find it significantly different from zero.

    A trial depends on its cell, rate, seed and number of steps alone. The numbers of steps are decided once, from
    measured times, and kept in `output`: the same call goes on where an earlier one was stopped, to the same numbers.
    Each trial sets the random seeds of Python, NumPy and the backend.

    Args:
        x: Array of sequences: numbers `[samples, steps, features]`, or tokens, integers `[samples, steps]`. Or, without
            `y`, the path of a file, or a DataFrame of pandas or polars, whose index orders its rows if it holds times.
        y: Array of targets: classes `[samples]` or `[samples, steps]` (integers or strings), or numbers `[samples]`,
            `[samples, outputs]` or `[samples, steps, outputs]` (floats). Defaults to `None`, for a file or a DataFrame.
        groups: Array of an entry per sample, such as the person it comes from. A group is never divided between
            training, validation and test. Defaults to `None`.
        split: `"random"`, `"time"` (the samples are in order; the last ones are for testing) or `"group"`; `None`
            (default) means `"group"` if there are groups, else `"random"`. Training gets 70 % and the other parts 15 %
            each.
        target, time, group, task, columns, steps, horizon, decimal, missing, calendar, known, differences, folds: Of a
            file or a DataFrame, what the options of the command are: `target` is the column to predict, `time` orders
            the rows, `group` names the series, `horizon` is the number of rows to forecast.
        cells: List of names, such as `"lstm"` and `"low_rank_gru"` (the message about an unknown name lists all); or a
            dict of names and functions `units -> layer`, which make any recurrent layer or cell of Keras. Defaults to
            `None`, which means all that have a name.
        weights: Positive integer, about how many weights each model has: sizes are chosen within 10 % of it that differ
            by 2 % at most. Where so few weights leave no such sizes, the recommendation says so. Defaults to `None`,
            which means 20,000.
        equal: What is equal: `"weights"` (default), or `"time"`, which gives every cell the units with which a training
            step takes as long as one of the first cell at `weights`, up to 10 %, and four times the weights at most.
        minutes: Positive number, the time for everything. Where it does not suffice, fewer rates are tried, then there
            is one seed, then cells are left out, the last and the slow ones first; the first line says which are
            compared. Little data takes less. Defaults to `10`.
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
        ChildProcessError: A trial crashed three workers, or the executor is broken.
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
    begun = clock()
    reading = ReadOptions(
        target=target,
        time=time,
        group=group,
        task=task,
        columns=columns,
        steps=steps,
        horizon=horizon,
        split=split,
        seed=seed,
        decimal=decimal,
        missing=missing,
        calendar=calendar,
        known=known,
        differences=differences,
        folds=folds,
    )
    settings = Settings(
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
    team = workers_for(workers, executor, candidates=settings.cells)
    data = read_given(x, y, groups, reading)
    return run(data, settings, output, arguments.boolean("verbose", verbose), begun, team)


def read_given(x, y, groups, reading):
    """Returns the `Data` of arrays, or of a file or a DataFrame."""
    if y is None and (is_frame(x) or isinstance(x, (str, os.PathLike))):
        if groups is not None:
            raise ValueError(
                "Argument `groups` is for arrays; `group` names a column. Received: both a table and groups"
            )
        return read(x, **vars(reading))
    passed = reading.of_tables()
    if passed or reading.steps is not None:
        name = (passed or ["steps"])[0]
        raise ValueError(f"Argument `{name}` is for a file or a DataFrame, given as `x` without `y`. Received: arrays")
    if y is None:
        raise ValueError(
            "Argument `y` must be an array of targets, unless `x` is a file or a DataFrame. "
            f"Received: y=None, and x of type {type(x).__name__}"
        )
    return from_arrays(x, y, groups, reading.split, reading.seed)


def run(data, settings, output=None, verbose=True, begun=None, team=None):
    """Compares the cells on `Data`, in a folder, and returns the `Comparison`.

    Args:
        data: The `Data`.
        settings: The `Settings`.
        output, verbose: As in `compare`.
        begun: When the time began. Defaults to `None`, which means now.
        team: What `workers_for` returns.
    """
    begun = clock() if begun is None else begun
    # Before anything is trained: what cannot be written, cannot be written now either.
    beside_the_model(data)
    path = pathlib.Path(tempfile.mkdtemp(prefix="comparison_") if output is None else output)
    progress = Progress(verbose)
    with opened(path, "comparing cells"):
        folder = Folder(path, decisive(settings, data), progress.warn)
        study = Study(data, settings, folder, progress, begun)
        for line in (
            first_line(study),
            *describe_source(data.card["read"]),
            *data.card.get("notes", ()),
            *not_compared(data),
        ):
            progress.line(line)
        if not is_done(folder):
            with one_thread() if study.weights <= SMALL else contextlib.nullcontext():
                execute(study, team)
        comparison = Comparison(path)
        folder.write_text("best.json", beside_the_model(data, comparison.results))
        folder.write_text("report.html", html(comparison))
    return comparison


def execute(study, team):
    """Plans, searches, trains and reports, from where the folder says that it is."""
    try:
        with started(study, team) as runner:
            plan = plan_of(study, runner)
            runner.expect(plan)
            announce(study, plan, runner)
            with study.progress.shown("", seconds_of(study, plan, workers=1)):
                searched = search(study, plan, runner)
                plan = paced(study, plan, runner, searched)
                trained = train(study, plan, runner, searched)
                folds = backtests.earlier(study, plan, trained)
            report(study, plan, runner, searched, trained, folds)
    except KeyboardInterrupt as stop:
        stop.add_note(
            f"{trials_done(study.folder)} trials are kept in {study.folder.path}: the same call goes on from there."
        )
        raise


def first_line(study):
    """Returns which cells are compared in the time."""
    named = listed([study.title(name) for name in study.lineup])
    count, all_of = len(study.lineup), len(study.candidates)
    cells = named if count == all_of else f"at most {count} of {all_of} cells ({named})"
    return f"--minutes {study.settings.minutes:g}: the baselines, and {cells}"


def announce(study, plan, runner):
    done, seconds = trials_done(study.folder), seconds_of(study, plan, runner.at_once)
    doing = f"Resuming after {done} trials" if done else f"Training for about {seconds:.0f} seconds"
    study.progress.line(f"{doing}, on {keras.backend.backend()}; all results go to {study.folder.path}")
    for note in limits(study, plan):
        study.progress.line(note)


def seconds_of(study, plan, workers):
    """Returns the seconds that a plan takes with so many workers."""
    of_trials = estimated(plan.schedule, plan.times, workers)
    return plan.extra_seconds + fold_build_seconds(study, plan.times) + of_trials


def is_done(folder):
    """Returns whether a folder holds a whole result; where that is damaged, the user is told."""
    try:
        done = folder.read("results", NEEDS)
        for name in [] if done is None else ["best.keras", *(["quantiles.keras"] if done["quantiles"] else [])]:
            fault = fault_of_zip(folder.path / name)
            if fault:
                raise Damaged(f"{folder.path / name} {fault}")
    except Damaged as error:
        folder.warn(f"{error}: rebuilding it from the trials")
        return False
    return done is not None
