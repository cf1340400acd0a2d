"""The data, settings and folder that all parts of one comparison share."""

import dataclasses
import functools
import time

import keras

from keras_rnn_compare.models.candidates import ModelShape, equal_sizes
from keras_rnn_compare.reading.data import Data
from keras_rnn_compare.rounding import rounded
from keras_rnn_compare.running.folder import Folder
from keras_rnn_compare.running.progress import Progress
from keras_rnn_compare.running.schedule import LEAST
from keras_rnn_compare.scoring import baselines
from keras_rnn_compare.study.settings import Settings

# Of plans and decisions: folders of another one hold another comparison.
FORMAT = 4
# Cells in a minute, at most; those that are compared however short the time is, are in the schedule.
CELLS_A_MINUTE = 2
# Shares of the time: to fit baselines, after which no other one is begun, and to save the model and write the report.
BASELINES, FINISH = 0.2, 0.08
# Of a minute, or of less, more: where cores are busy, a process takes seconds to end.
EXIT = 0.05
# Seconds below which a comparison is there to be tried out: four cells are trained, though it takes longer.
TRYING = 30


@dataclasses.dataclass(frozen=True)
class Study:
    """One comparison: its data, its settings and its folder.

    Args:
        data: The `Data`.
        settings: The `Settings`.
        folder: The `Folder` of the results.
        progress: The `Progress`.
        begun: When its time began.
    """

    data: Data
    settings: Settings
    folder: Folder
    progress: Progress
    begun: float

    @property
    def candidates(self):
        return self.settings.cells

    @property
    def weights(self):
        """About how many weights each model has."""
        return weights_of(self.settings, self.data)

    @property
    def batch_size(self):
        return min(self.settings.batch_size, len(self.data.x["train"]))

    @property
    def batches(self):
        """How many batches the training part has."""
        return -(-len(self.data.x["train"]) // self.batch_size)

    @property
    def horizon(self):
        """How often a model of the next row is called for a forecast."""
        return 1 if self.data.series is None else self.data.series.horizon

    @property
    def trainings(self):
        """How often the better cells are trained in full, with all seeds and with one: after each earlier cut, too."""
        return [seeds + len(self.data.earlier) for seeds in dict.fromkeys((self.settings.seeds, 1))]

    @property
    def is_trying(self):
        """Whether there is so little time that the comparison is only a trial, which may take longer."""
        return self.total < TRYING

    @property
    def kept(self):
        """How many cells are trained in any case."""
        return LEAST if self.is_trying else 1

    @functools.cached_property
    def lineup(self):
        """The names of the cells that the minutes may suffice for."""
        return list(self.candidates)[: max(LEAST, int(CELLS_A_MINUTE * self.settings.minutes))]

    @functools.cached_property
    def shape(self):
        """The `ModelShape` of all models."""
        return shape_of(self.data, self.settings)

    @functools.cached_property
    def sizes(self):
        """The units of equally large models, by name, and a note or `None`."""
        return equal_sizes(self.shape, self.candidates, self.weights)

    @functools.cached_property
    def baselines(self):
        """The baselines, fitted."""
        self.progress.line("fitting the baselines")
        return baselines.fit(self.data, BASELINES * self.total, self.progress.line)

    def scores_at_origins(self):
        """Returns the validation scores of the baselines at earlier origins, a list by name; none without origins."""
        if not self.data.origins:
            return {}

        def score():
            self.progress.line("ranking the baselines by earlier cuts of the series")
            left = BASELINES * self.total - sum(each.seconds for each in self.baselines)
            return {"scores": baselines.at_origins(self.data, self.baselines, left)}

        return self.folder.once("origins", score, ("scores",))["scores"]

    def title(self, name):
        return self.candidates[name].title

    @property
    def total(self):
        """The seconds for everything."""
        return 60 * self.settings.minutes

    def elapsed(self):
        return time.perf_counter() - self.begun

    def left(self):
        """Returns the seconds that are left before the end of the comparison has to be written."""
        return (1 - FINISH) * self.total - EXIT * min(60, self.total) - self.elapsed()

    def has_time(self, name, seconds):
        """Returns whether so many seconds are left for something; that is decided once, and kept in the folder."""
        return self.folder.once(f"time-{name}", lambda: {"is_left": seconds <= self.left()}, ("is_left",))["is_left"]

    def log_scores(self, title, scores):
        """Shows the score of each cell, by name."""
        shown = (
            f"{self.title(name)} {'diverged' if score is None else rounded(score)}" for name, score in scores.items()
        )
        self.progress.line(f"{title}, {self.data.measure}: {', '.join(shown)}")


def shape_of(data, settings):
    return ModelShape(data.x["train"].shape[-1], data.vocabulary, data.outputs, settings.depth)


def weights_of(settings, data):
    return settings.weights or (100_000 if data.is_text else 20_000)


def decisive(settings, data):
    """Returns all that decides about a result, for the folder, which holds the results of nothing else."""
    return {
        **vars(settings),
        "cells": {name: candidate.key or candidate.title for name, candidate in settings.cells.items()},
        "weights": weights_of(settings, data),
        "backend": keras.backend.backend(),
        "data": data.fingerprint(),
        "folds": 1 + len(data.earlier),
        "format": FORMAT,
    }
