"""The folder of a training that may be killed at any moment, and goes on to the same numbers."""

import contextlib
import csv
import io
import json
import math
import pathlib

import keras

from keras_adaptive_rnn.callbacks import StreamStates
from keras_adaptive_rnn.files import save_whole, write_whole
from keras_adaptive_rnn.hub.presets import check_weights, read_json


class Journal(keras.callbacks.Callback):
    """Keeps, after each round, a log of all rounds, the best weights, and a backup from which a training goes on.

    The backup of a round is one file, whose name is its number, and it is the last thing written: rounds without one
    are dropped from the log when the training goes on. Files appear whole. The best weights have the smallest value of
    `monitor`, and rounds are counted on from those in `earlier`, the log of an earlier training.
    """

    def __init__(self, folder, monitor, earlier):
        super().__init__()
        self.folder, self.monitor = pathlib.Path(folder), monitor
        self.log = self.folder / "log.csv"
        self.first = len(earlier)
        # The metrics of the initial weights, if the rounds must beat them.
        self.start = {}

    def begin(self, model, validation=None):
        """Loads the last backup; returns the number of the next round.

        Unless they are random, the weights that the model begins with are judged by `validation`, as no round may be
        better.
        """
        if validation is not None:
            self._judge(model, validation)
        epoch = max((number for number, _ in self._numbered("backup")), default=self.first)
        rows = [row for row in read_log(self.log) if row["epoch"] < epoch]
        best = self.best(rows)
        if len(rows) < epoch - self.first or (best is not None and not self._path("best", best).exists()):
            raise ValueError(f"{self.folder} lacks a part of the training that it holds: delete it to start anew")
        if rows:
            write_whole(self.log, as_csv(rows))
            model.optimizer.build(model.trainable_variables)
            self._load(model, "backup", epoch)
        else:
            self.log.unlink(missing_ok=True)
        return epoch

    def _judge(self, model, validation):
        path = self.folder / "start.json"
        if not path.exists():
            scores = model.evaluate(validation, callbacks=[StreamStates()], verbose=0, return_dict=True)
            write_whole(path, json.dumps({f"val_{name}": float(value) for name, value in scores.items()}))
        self.start = read_json(path)

    def best(self, rows):
        """Returns the number of the best round, or `None` if the weights that the training began with are better."""
        if not rows:
            return None
        row = min(rows, key=self._value)
        return None if self.start and self._value(self.start) <= self._value(row) else row["epoch"]

    def _value(self, metrics):
        if self.monitor not in metrics:
            raise ValueError(f"{self.folder} lacks {self.monitor!r} of a round: delete it to start anew")
        value = metrics[self.monitor]
        return math.inf if math.isnan(value) else value

    def load_best(self, model):
        """Loads the best weights, if a round has them; returns their metrics."""
        rows = read_log(self.log)
        best = self.best(rows)
        if best is None:
            return self.start
        self._load(model, "best", best)
        return next(row for row in rows if row["epoch"] == best)

    def on_epoch_end(self, epoch, logs=None):
        rows = [*read_log(self.log), {"epoch": epoch, **{name: float(value) for name, value in logs.items()}}]
        write_whole(self.log, as_csv(rows))
        best = self.best(rows)
        if best == epoch:
            self._save("best", epoch)
        self._save("backup", epoch + 1)
        # The round is complete from here on.
        for name, last in (("best", best), ("backup", epoch + 1)):
            for number, path in self._numbered(name):
                if number != last:
                    path.unlink()

    def _save(self, name, number):
        save_whole(self.model.save_weights, self._path(name, number))

    def _load(self, model, name, number):
        path = self._path(name, number)
        check_weights(path)
        model.load_weights(path)

    def _path(self, name, number):
        return self.folder / f"{name}.{number}.weights.h5"

    def _numbered(self, name):
        """Returns the number and the path of each file of weights of a name."""
        numbered = []
        for path in self.folder.glob(f"{name}.*.weights.h5"):
            with contextlib.suppress(ValueError):
                numbered.append((int(path.name.split(".")[1]), path))
        return numbered


def as_csv(rows):
    """Returns the rounds as the text of a CSV file."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def read_log(path):
    """Returns the rounds in a log, a list of dicts of numbers, without a last line that was cut off."""
    if not path.exists():
        return []
    try:
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        rows = list(csv.DictReader(line for line in lines if line.endswith("\n")))
        if any(not row.get("epoch") for row in rows):
            raise ValueError("a line has no epoch")
        return [{name: int(x) if name == "epoch" else float(x) for name, x in row.items() if x} for row in rows]
    except (ValueError, TypeError, csv.Error) as error:
        raise ValueError(f"{path} must hold the rounds of a training, and is damaged: {error}") from error
