"""The probe: sizes, a search for the learning rate of each cell and task, several seeds, a result."""

import functools
import os
import pathlib
import tempfile
from collections.abc import Callable, Sequence

import keras

from keras_rnn_compare import arguments
from keras_rnn_compare.models.candidates import equal_sizes, resolve_candidates
from keras_rnn_compare.probing.learner import FIGURES, LONGER, Learner, shape_of
from keras_rnn_compare.probing.result import Probe, median
from keras_rnn_compare.probing.tasks import TASKS
from keras_rnn_compare.running.folder import Folder, opened, origin
from keras_rnn_compare.running.progress import Progress
from keras_rnn_compare.seeds import fold_in

RATES = (0.003, 0.01, 0.03)
# The share of the updates that a trial of the search gets, and how many rates beyond those given it may try; and the
# shortest sequences that hold every task.
SEARCH, BEYOND, SHORTEST = 1 / 3, 2, 16
# The settings on which no trial depends.
MAY_CHANGE = ("tasks", "seeds")


def probe(
    cells: Sequence[str] | dict[str, str | Callable[[int], keras.Layer]] | None = None,
    *,
    tasks: Sequence[str] | None = None,
    weights: int = 5000,
    length: int = 32,
    updates: int = 3000,
    rates: Sequence[float] = RATES,
    seeds: int = 3,
    seed: int = 0,
    output: str | os.PathLike | None = None,
    verbose: bool = True,
) -> Probe:
    """Finds out what cells can do, on small tasks that ask one thing of a state, with as many weights each.

    The tasks are parity, sums modulo five, permutations of three and of five elements, nested brackets, recall of keys,
    two of copying, and the adding problem. Each model is an embedding, a recurrent layer and a dense layer. Adam trains
    it on sequences that are drawn anew for each update, until it is right in 99.9 % of the answers on sequences that
    were never seen, twice in a row. Then it is tested on sequences of eight times the length, too. What counts are the
    answers in the last eighth of the steps.

    Each cell first tries every rate for a third of the updates on each task, and up to two beyond them, where the
    highest or the lowest is best. The rate that solves the task soonest, or else the most accurate one, is that of all
    seeds.

    A trial depends on its cell, task, rate, seed and number of updates alone, and those that are done are kept in
    `output`: the same call goes on where an earlier one was stopped, to the same numbers, and a call for more seeds or
    other tasks goes on from these. Each trial sets the random seeds of Python, NumPy and the backend.

    Args:
        cells: List of names, such as `"lstm"` and `"min_gru"` (the message about an unknown name lists all); or a dict
            of names and functions `units -> layer`, which make any recurrent layer or cell of Keras. Defaults to
            `None`, which means all that have a name.
        tasks: List of names among `"parity"`, `"modular_addition"`, `"s3"`, `"s5"`, `"brackets"`, `"recall"`, `"copy"`,
            `"selective_copy"` and `"adding"`. Defaults to `None`, which means all.
        weights: Positive integer, about how many weights each model has: sizes are chosen within 10 % of it that differ
            by 2 % at most, if there are such sizes. Defaults to `5000`.
        length: Integer of at least 16, steps of the sequences to learn from. Defaults to `32`.
        updates: Positive integer, the most updates of a training run, of 64 sequences each. Defaults to `3000`.
        rates: List of positive numbers, the learning rates to try. A single one is that of all trials. Defaults to
            `(0.003, 0.01, 0.03)`.
        seeds: Positive integer, number of training runs with the best rate. Defaults to `3`.
        seed: Integer, which decides all weights and sequences. Defaults to `0`.
        output: Path of a folder for the results, which may be one of an unfinished probe. Defaults to `None`, a
            temporary folder.
        verbose: Whether to show progress. Defaults to `True`.

    Returns: A `keras_rnn_compare.Probe`.

    Raises:
        ValueError: An argument has a value that is not allowed, or `output` holds something else. Raised before any
            training.
        TypeError: An argument has a wrong type.
        RuntimeError: Another process, or another thread, is writing to `output`.
        OSError: A file cannot be written. What is done is kept, and the same call goes on from there.

    Example:

    >>> found = keras_rnn_compare.probe(
    ...     ["gru"], tasks=["parity"], weights=200, length=16, updates=2, rates=[0.01], seeds=1, verbose=False
    ... )
    >>> found.table()[0]["solved"]
    0

    Source: of each task, in `keras_rnn_compare/probing/tasks.py`; the protocol is that of
    `keras_rnn_compare.compare`.
    """
    settings = validate_settings(cells, tasks, weights, length, updates, rates, seeds, seed)
    return run(settings, output, arguments.boolean("verbose", verbose))


def validate_settings(cells, tasks, weights, length, updates, rates, seeds, seed):
    """Returns the settings, by name, or raises an error."""
    return {
        "cells": resolve_candidates(cells, fewest=1),
        "tasks": resolve_tasks(tasks),
        "weights": arguments.integer("weights", weights),
        "length": arguments.integer("length", length, minimum=SHORTEST),
        "updates": arguments.integer("updates", updates),
        "rates": resolve_rates(rates),
        "seeds": arguments.integer("seeds", seeds),
        "seed": arguments.integer("seed", seed, minimum=0),
    }


def resolve_tasks(tasks):
    if tasks is None:
        return list(TASKS)
    allowed = f"Argument `tasks` must be None, or a list of different names among {', '.join(map(repr, TASKS))}."
    if not isinstance(tasks, (list, tuple)):
        raise TypeError(f"{allowed} Received: tasks={tasks!r}")
    unknown = [name for name in tasks if not isinstance(name, str) or name not in TASKS]
    if unknown or not tasks or len(set(tasks)) < len(tasks):
        raise ValueError(f"{allowed} Received: {unknown[0]!r}" if unknown else f"{allowed} Received: tasks={tasks!r}")
    return list(tasks)


def resolve_rates(rates):
    if not isinstance(rates, (list, tuple)):
        raise TypeError(f"Argument `rates` must be a list of positive numbers. Received: rates={rates!r}")
    rates = [arguments.positive_number("rates", rate) for rate in rates]
    if not rates or len(set(rates)) < len(rates):
        raise ValueError(f"Argument `rates` must have a rate, and each one once. Received: rates={rates!r}")
    return rates


def run(settings, output=None, verbose=True):
    """Probes the cells, in a folder, and returns the `Probe`."""
    progress = Progress(verbose)
    written = {
        **settings,
        "cells": {name: candidate.key or candidate.title for name, candidate in settings["cells"].items()},
        "backend": keras.backend.backend(),
    }
    path = pathlib.Path(tempfile.mkdtemp(prefix="probe_") if output is None else output)
    with opened(path, "probing cells"):
        return in_folder(path, settings, written, progress)


def in_folder(path, settings, written, progress):
    """Probes the cells in a folder that no other process writes to; `written` are the settings for its files."""
    decisive = {name: value for name, value in written.items() if name not in MAY_CHANGE}
    folder = Folder(path, decisive, progress.warn, "probe")
    made_with = folder.once("origin", origin)
    progress.line(f"Probing on {keras.backend.backend()}; all results go to {folder.path}")
    try:
        rows = Experiment(settings, folder, progress).rows()
    except KeyboardInterrupt as stop:
        stop.add_note(f"The trials that are done are kept in {folder.path}: the same call goes on from there.")
        raise
    tasks = {name: {"title": TASKS[name].title, "chance": TASKS[name].chance} for name in settings["tasks"]}
    folder.write("results", {"settings": written, **made_with, "tasks": tasks, "rows": rows})
    found = Probe(folder.path)
    folder.write_text("table.md", f"{found}\n")
    try:
        with folder.replaced("probe.png") as path:
            found.figure().savefig(path)
    except ImportError as error:
        progress.line(f"No picture: {error}")
    return found


class Experiment:
    """One probe, from where its folder says it is."""

    def __init__(self, settings, folder, progress):
        self.settings, self.folder, self.progress = settings, folder, progress
        self.cells, self.rates, self.updates = settings["cells"], settings["rates"], settings["updates"]
        # With one rate there is nothing to search for.
        self.search = max(1, int(SEARCH * self.updates)) if len(self.rates) > 1 else 0

    def rows(self):
        """Returns a row of figures for each task and cell."""
        of_pair = self.search * (len(self.rates) + BEYOND) + self.settings["seeds"] * self.updates
        with self.progress.shown("", of_pair * len(self.settings["tasks"]) * len(self.cells)):
            return [row for name in self.settings["tasks"] for row in self.rows_of_task(name, TASKS[name])]

    def rows_of_task(self, name, task):
        shape = shape_of(task)
        units, note = equal_sizes(shape, self.cells, self.settings["weights"])
        if note:
            self.progress.line(f"{task.title}: {note}")
        for cell, candidate in self.cells.items():
            learner = functools.cache(
                functools.partial(Learner, task, candidate, units[cell], self.settings["length"], self.settings["seed"])
            )
            rate, records = self.trials(cell, name, learner)
            row = {
                "cell": cell,
                "title": candidate.title,
                "task": name,
                "units": units[cell],
                "weights": shape.size(candidate, units[cell]),
                "rate": rate,
                **{each: [record[each] for record in records] for each in FIGURES},
            }
            self.progress.line(
                f"{candidate.title}, {task.title}: {median(row['length']):.2f} at {self.settings['length']} steps, "
                f"{median(row['longer']):.2f} at {LONGER * self.settings['length']}; solved {sum(row['solved'])} of "
                f"{len(records)}, rate {rate:g}, {sum(row['seconds']):.0f} s"
            )
            yield row

    def trials(self, cell, name, learner):
        """Returns the best rate, and the records of its trials."""

        def trial(rate, k, updates):
            trained = []

            def record():
                self.progress.says(f"{self.cells[cell].title}, {TASKS[name].title}, rate {rate:g}, seed {k + 1}")
                seed = fold_in(self.settings["seed"], "trial", k)
                trained.append(learner().train(rate, seed, updates, self.progress.advance))
                return trained[0]

            found = self.folder.once(f"trials/{cell}-{name}-rate{rate:g}-seed{k}-{updates}", record, FIGURES)
            self.progress.advance(updates - (found["updates"] if trained else 0))
            return found

        tried = {}

        def rank(rate):
            return not tried[rate]["solved"], tried[rate]["updates"], -tried[rate]["length"]

        best, left = self.rates[0], list(self.rates) if self.search else []
        while left:
            tried |= {rate: trial(rate, 0, self.search) for rate in left}
            best = min(tried, key=rank)
            left = {beyond(tried, best)} - tried.keys() if len(tried) < len(self.rates) + BEYOND else ()
        self.progress.advance(self.search * (len(self.rates) + BEYOND - len(tried)))
        rest = range(self.settings["seeds"])
        records = []
        if tried and tried[best]["solved"]:
            # More updates would have ended in the same place.
            records, rest = [tried[best]], rest[1:]
            self.progress.advance(self.updates)
        return best, [*records, *(trial(best, k, self.updates) for k in rest)]


def beyond(rates, best):
    """Returns the rate to try next: one beyond the best, if that is the lowest or the highest, or else the best."""
    rates = sorted(rates)
    neighbor = {rates[0]: rates[1], rates[-1]: rates[-2]}.get(best, best)
    # As far from the best as its neighbor is, on a logarithmic scale.
    return float(f"{best * best / neighbor:.3g}")
