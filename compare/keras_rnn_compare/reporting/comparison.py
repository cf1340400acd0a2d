"""The result of a comparison."""

import math
import os
import pathlib
import textwrap
from collections.abc import Callable
from typing import Any

import keras

from keras_adaptive_rnn import export_step
from keras_adaptive_rnn.files import alone_on, replaced
from keras_rnn_compare import arguments
from keras_rnn_compare.models.candidates import offered
from keras_rnn_compare.models.estimators import SequenceClassifier, SequenceRegressor
from keras_rnn_compare.reading.data import BESIDE_THE_MODEL
from keras_rnn_compare.reporting.columns import COLUMNS, NARROW
from keras_rnn_compare.reporting.prediction import predictions
from keras_rnn_compare.reporting.report import body
from keras_rnn_compare.rounding import rounded
from keras_rnn_compare.running.folder import AGAIN, Damaged, fault_of_zip, finished, read_json
from keras_rnn_compare.scoring import curves

NEEDS = (
    *("measure", "data", "settings", "plan", "rows", "behind", "baselines", "search", "winner", "recommendation"),
    *("notes", "intervals", "quantiles", "strategy", "forecast", "figures", "folds", "code"),
)

# How the files of one step end.
SUFFIXES = {"onnx": ".onnx", "litert": ".tflite"}
WIDTH = 80


class Comparison:
    """The result of `keras_rnn_compare.compare`, read from its folder.

    A notebook shows it as a table, `print` as text.

    Args:
        path: Path of the folder of a comparison that is finished.

    Attributes:
        path: The folder. It holds `results.json`, `report.html`, `best.keras` and, with the names of the classes or
            the characters, `best.json`.
        winner: Name of the cell to take, whose model is saved: the best one by validation, or one that is as good
            and much quicker.
        recommendation: What to take and why, or what it takes to find out.
        notes: List of sentences: what there was no time for, and the like.
        code: Python lines that predict with the model of the winner, and train others like it.
        results: Dict of everything that was measured.

    Raises:
        ValueError: The folder holds no finished comparison, or a damaged one.

    Example:

    >>> keras_rnn_compare.Comparison("nowhere")
    Traceback (most recent call last):
    ...
    ValueError: nowhere holds no finished comparison: it has no results.json
    """

    def __init__(self, path: str | os.PathLike):
        self.path = pathlib.Path(path)
        self.results: dict[str, Any] = finished(path, NEEDS)
        self.winner: str = self.results["winner"]
        self.recommendation: str = self.results["recommendation"]
        self.notes: list[str] = self.results["notes"]
        self.code: str = self.results["code"]

    def table(self) -> list[dict[str, Any]]:
        """Returns a dict per cell, the best first; `pandas.DataFrame(found.table())` makes a table of them.

        The cells that were trained with the first seed only come after the others, and then the baselines.
        """
        results = self.results
        naive = _naive(results["baselines"])
        cells = (*results["rows"], *results["behind"])
        return [_of_cell(row) | _judged(row, naive) | _costs(row) for row in cells] + [
            {"cell": row["title"]} | _judged(row, naive) | _costs(row) for row in results["baselines"]
        ]

    def best_model(self) -> keras.Model:
        """Returns the best model of the winner, by validation; it reads the data as it was given.

        It returns probabilities of the classes, in the order of `results["data"]`, or numbers in the unit of the
        target.
        """
        return self._model("best")

    def _model(self, name):
        path = self.path / f"{name}.keras"
        fault = fault_of_zip(path)
        if fault:
            raise ValueError(f"{path} {fault}: {AGAIN}")
        try:
            return keras.saving.load_model(path)
        except (KeyError, OSError) as error:
            raise ValueError(f"{path} is no model ({error}): {AGAIN}") from error

    def predict(self, path: Any, decimal: str = ".") -> list[dict[str, Any]]:
        """Returns what the best model predicts for a file like the one that was compared on.

        Of a table to forecast, each series gets a dict for each row of the horizon: its name, the time, the forecast,
        and `lower` and `upper` ends of intervals; the last row with a target is what is forecast from. Of what is known
        in advance, the file must hold the rows to come, without a target. Of a table to classify, each series, or each
        row that ends a window, gets a class and the probabilities of all; of arrays, each sample.

        Args:
            path: Path of the file, or a DataFrame of pandas or polars.
            decimal: What precedes the decimals of a number in a `.csv` file: `"."` (default) or `","`.

        Raises:
            ValueError: The file cannot be read, or lacks what the model reads.
            TypeError: `path` is neither a path nor a DataFrame.
        """
        quantiles = self._model("quantiles") if self.results["quantiles"] else None
        return predictions(self.best_model(), self._card(), path, decimal, quantiles)

    def _card(self):
        """Returns what the model file cannot hold, if that is what belongs to the results."""
        path, results = self.path / "best.json", self.results
        belongs = {**results["data"], **{name: results[name] for name in BESIDE_THE_MODEL}}
        try:
            if not path.exists():
                raise Damaged(f"{path} is missing")
            card = read_json(path)
            # The same data may be read from another file.
            wrong = [name for name in belongs if name not in ("file", "read") and card.get(name) != belongs[name]]
            if wrong:
                raise Damaged(f"{path} is damaged ({wrong[0]!r} is not that of results.json)")
        except Damaged as error:
            raise ValueError(f"{error}: {AGAIN}") from None
        return card

    def export(self, format: str = "onnx", path: str | os.PathLike | None = None) -> pathlib.Path:
        """Writes a single time step of the best model to a file, as `keras_adaptive_rnn.export_step` does.

        The step reads a row as the model does, in the unit in which it was given. The output after the last row of a
        window is what the model predicts for the window: the number in the unit of the target, or the probabilities.
        `export_step(found.best_model(), ...)` writes more formats, and larger batches.

        Args:
            format: `"onnx"` (default), for ONNX Runtime, or `"litert"`, on TensorFlow only.
            path: Path of the file. Defaults to `None`, which means `best_step.onnx`, or `best_step.tflite`, in the
                folder.

        Returns: The path.

        Raises:
            ValueError: `format` is unknown, or not one that the backend writes.
            ImportError: A package that writes the format is not installed.
        """
        suffix = SUFFIXES[arguments.choice("format", format, tuple(SUFFIXES))]
        path = self.path / f"best_step{suffix}" if path is None else pathlib.Path(path)
        with alone_on(path, "exporting a model"), replaced(path) as new:
            export_step(self.best_model(), new, format, verbose=False)
        return path

    def estimator(
        self, cell: Callable[[int], keras.Layer] | None = None, **kwargs: Any
    ) -> SequenceClassifier | SequenceRegressor:
        """Returns an estimator for scikit-learn, skforecast or sktime that trains models like that of the winner.

        It is not fitted. It has the winner's cell, units and learning rate, and as many epochs, rounded up, as its
        training read; so it is for about as much data.

        Args:
            cell: The function `units -> cell` of a cell of your own, which the folder does not hold. Defaults to
                `None`, for a cell that has a name.
            **kwargs: Other arguments of `keras_rnn_compare.SequenceRegressor`, such as `lags` or `epochs`.

        Returns: A `keras_rnn_compare.SequenceRegressor`, or a `SequenceClassifier` if classes were
        compared.

        Raises:
            ValueError: The winner reads tokens, or predicts something for each step; or it is a cell of your own, and
                `cell` is `None`.
            ImportError: scikit-learn is not installed.
        """
        data, settings = self.results["data"], self.results["settings"]
        if data["vocabulary"] is not None or len(self.best_model().output_shape) == 3:
            what = "reads tokens" if data["vocabulary"] is not None else "predicts something for each step"
            raise ValueError(
                f"an estimator reads numbers and predicts once a sample, and the winner of {self.path} {what}"
            )
        names = {candidate.title: name for name, candidate in offered().items()}
        kind = names.get(settings["cells"][self.winner], cell)
        if kind is None:
            raise ValueError(
                f"Argument `cell` must be the function that makes {self.winner!r}, the winner of {self.path}, which "
                "does not hold it. Received: cell=None"
            )
        row = next(row for row in self.results["rows"] if row["name"] == self.winner)
        steps, samples = self.results["plan"]["schedule"]["final"]["steps"], data["samples"]["train"]
        batch_size = min(settings["batch_size"], samples)
        made_by = {
            "units": row["units"],
            "depth": settings["depth"],
            "learning_rate": row["rate"],
            "epochs": math.ceil(steps * batch_size / samples),
            "batch_size": batch_size,
        }
        is_forecast = self.results["measure"] == "RMSE"
        return (SequenceRegressor if is_forecast else SequenceClassifier)(kind, **{**made_by, **kwargs})

    def cells(self, names: list[str] | None = None) -> tuple[list[str], list[list[str]]]:
        """Returns the headings and the rows of the table as text, of some columns or all; empty ones are left out."""
        names = list(COLUMNS) if names is None else names
        lines = [[_shown(row, *COLUMNS[name]) for name in names] for row in self.table()]
        # Columns that no row has are left out, such as the accuracy of a forecast.
        shown = [k for k in range(len(names)) if any(line[k] for line in lines)]
        measure = "" if set(names) <= set(NARROW) else f" {self.results['measure']}"
        headings = [names[k] + (measure if names[k] in ("validation", "test") else "") for k in shown]
        return headings, [[line[k] for k in shown] for line in lines]

    def text(self, wide: bool = False) -> str:
        """Returns the table, the learning curves, the recommendation and the notes; `print` shows it."""
        # Beside an accuracy there is no room for the time of a step.
        narrow = NARROW if self.results["measure"] == "RMSE" else NARROW[:-1]
        headings, rows = self.cells(None if wide else narrow)
        widths = [max(len(line[k]) for line in (headings, *rows)) for k in range(len(headings))]
        if not wide:
            # Long titles go on in the next line.
            widths[0] = min(widths[0], WIDTH - sum(2 + width for width in widths[1:]))
        table = []
        for title, *values in (headings, *rows):
            first, *rest = textwrap.wrap(title, widths[0], subsequent_indent="  ")
            shown = (value.rjust(width) for value, width in zip(values, widths[1:], strict=True))
            table += ["  ".join([first.ljust(widths[0]), *shown]).rstrip(), *rest]
        parts = [
            [f"{self.results['measure']}, lower is better", *table],
            ["learning curves", *curves.lines([*self.results["rows"], *self.results["behind"]])],
            _forecasts(self.results["forecast"]),
            textwrap.wrap(self.recommendation, WIDTH, break_on_hyphens=False),
            [line for note in self.notes for line in textwrap.wrap(note, WIDTH, break_on_hyphens=False)],
        ]
        return "\n\n".join("\n".join(part) for part in parts if part) + "\n"

    def __str__(self):
        return self.text()

    def __repr__(self):
        return f"Comparison({str(self.path)!r}): {self.recommendation}"

    def _repr_html_(self):
        return body(self)


def _forecasts(shown):
    """Returns lines that show the last forecasts of the test part, and the truth, in block characters."""
    if not shown:
        return []
    count = min(len(shown["truth"]), WIDTH - len("forecast  "))
    truth, forecast = (shown[name][-count:] for name in ("truth", "forecast"))
    drawn = curves.blocks([*truth, *forecast])
    title = f"the last {count:,} rows of the test part"
    return [title, f"truth     {drawn[:count]}", f"forecast  {drawn[count:]}"]


def _of_cell(row):
    return {
        "cell": row["title"],
        "units": row["units"],
        "weights": row["weights"],
        "learning rate": row["rate"],
        "seeds": len(row["validation"]),
    }


def _naive(baselines):
    """Returns the test score of the seasonal naive forecast, or of the last value, or `None`."""
    scores = {row["name"]: row["test_mean"] for row in baselines}
    return scores.get("seasonal") or scores.get("last_value")


def _judged(row, naive):
    """Returns the scores of a row of the table, and the other measures on the test part."""
    figures = row["figures"]
    found = {
        "validation": row["validation_mean"],
        "validation error": row.get("validation_error"),
        "test": row["test_mean"],
        "test error": row.get("test_error"),
        "test accuracy": _mean(row["accuracy"]),
        **{
            name: figures[name] for name in ("balanced accuracy", "calibration error", "MAE", "MASE") if name in figures
        },
    }
    if naive and row["test_mean"] is not None:
        found["skill"] = 1 - row["test_mean"] / naive
    if "pinball" in figures:
        coverage = {f"coverage {level} %": share for level, share in figures["coverage"].items()}
        found |= {"pinball": figures["pinball"], **coverage}
    return found


def _costs(row):
    costs = {"training, s": row["seconds"], "step, ms": _milliseconds(row, "step")}
    costs |= {"prediction, ms a sequence": _milliseconds(row, "predict"), "one step, ms": _milliseconds(row, "latency")}
    costs["training memory, MB"] = row.get("memory")
    return {name: value for name, value in costs.items() if value is not None}


def _milliseconds(row, name):
    return None if row.get(name) is None else 1000 * row[name]


def _mean(values):
    return None if None in values else sum(values) / len(values)


def _shown(row, name, form):
    """Returns a figure of a row as text, with its error if it has one; an empty one where the row lacks it."""
    value, error = row.get(name), row.get(f"{name} error")
    if value is None:
        return "diverged" if name in ("validation", "test") else ""
    text = rounded(value, form) if isinstance(form, int) else f"{value:{form}}"
    return text + ("" if error is None else f" ± {rounded(error, 1)}")
