"""What a comparison has found."""

import json
import os
import pathlib
from typing import Any

import keras

from keras_adaptive_rnn.comparison.folder import fault_of_zip, finished
from keras_adaptive_rnn.comparison.report import body

NEEDS = (
    "measure",
    "data",
    "settings",
    "plan",
    "rows",
    "references",
    "dropped",
    "search",
    "winner",
    "recommendation",
    "code",
)


class Comparison:
    """The result of `keras_adaptive_rnn.compare`, read from its folder.

    A notebook shows it as a table, `print` as text.

    Args:
        path: Path of the folder of a comparison that is finished.

    Attributes:
        path: The folder. It holds `results.json`, `report.html`, `best.keras` and, with the names of the classes or
            the characters, `best.json`.
        winner: Name of the cell with the best mean on validation.
        recommendation: A sentence: what to take, and why, or that the differences are noise.
        code: Python lines that make and train the model of the winner.
        results: Dict of everything that was measured.

    Raises:
        ValueError: The folder holds no finished comparison, or a damaged one.

    Example:

    >>> keras_adaptive_rnn.comparison.Comparison("nowhere")
    Traceback (most recent call last):
    ...
    ValueError: nowhere holds no finished comparison: it has no results.json
    """

    def __init__(self, path: str | os.PathLike):
        self.path = pathlib.Path(path)
        self.results: dict[str, Any] = finished(path, NEEDS)
        self.winner: str = self.results["winner"]
        self.recommendation: str = self.results["recommendation"]
        self.code: str = self.results["code"]

    def table(self) -> list[dict[str, Any]]:
        """Returns a dict per cell, the best first; `pandas.DataFrame(found.table())` makes a table of them.

        Below the cells comes what needs no network, then the cells that the search dropped, with what they had reached
        in it.
        """
        rows = [
            {
                "cell": row["title"],
                "needs a network": True,
                "units": row["units"],
                "weights": row["weights"],
                "learning rate": row["rate"],
                "validation": row["validation_mean"],
                "validation error": row["validation_error"],
                "test": row["test_mean"],
                "test error": row["test_error"],
                "test accuracy": _mean(row["accuracy"]),
                "training, s": row["seconds"],
                "step, ms": 1000 * row["step"],
                "prediction, ms a sequence": 1000 * row["predict"],
                "one step, ms": 1000 * row["latency"],
                "training memory, MB": row["memory"],
            }
            for row in self.results["rows"]
        ]
        rows += [
            {
                "cell": row["title"],
                "needs a network": False,
                "validation": row["validation_mean"],
                "test": row["test_mean"],
                "test accuracy": row["accuracy"][0],
                "training, s": row["seconds"],
                "prediction, ms a sequence": 1000 * row["predict"],
            }
            for row in self.results["references"]
        ]
        return rows + [
            {
                "cell": row["title"],
                "needs a network": True,
                "units": row["units"],
                "weights": row["weights"],
                "learning rate": row["rate"],
                "search": row["search"],
            }
            for row in self.results["dropped"]
        ]

    def best_model(self) -> keras.Model:
        """Returns the best model of the winner, by validation; it reads the data as it was given.

        It returns probabilities of the classes, in the order of `results["data"]`, or numbers in the unit of the
        target.
        """
        path = self.path / "best.keras"
        fault = fault_of_zip(path)
        if fault:
            raise ValueError(f"{path} {fault}: the call that made it makes it again, from its trials")
        return keras.saving.load_model(path)

    def predict(self, path: str | os.PathLike, decimal: str = ".") -> list[dict[str, Any]]:
        """Returns what the best model predicts for a file like the one that was compared on.

        Of a table to forecast, each series gets a dict: its name, the time, the forecast, and `lower` and `upper` ends
        of intervals; the last row with a target is what is forecast from. Of what is known in advance, the file must
        hold the rows to come, without a target. Of a table to classify, each series, or each row that ends a window,
        gets a class and the probabilities of all; of arrays, each sample.

        Args:
            path: Path of the file.
            decimal: What precedes the decimals of a number in a `.csv` file: `"."` (default) or `","`.

        Raises:
            ValueError: The file cannot be read, or lacks what the model reads.
        """
        from keras_adaptive_rnn.comparison.prediction import predictions

        return predictions(self.best_model(), json.loads((self.path / "best.json").read_text("utf-8")), path, decimal)

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Returns the headings and the rows of the table as text: of what was measured, and formatted."""
        rows = self.results["rows"]
        has_accuracy = rows[0]["accuracy"][0] is not None
        has_memory = any(row["memory"] is not None for row in rows)
        measure = self.results["measure"]
        headings = ["cell", "units", "weights", "rate", f"validation {measure}", f"test {measure}"]
        headings += ["test accuracy"] if has_accuracy else []
        headings += ["training, s", "step, ms", "predict, ms", "one step, ms"]
        headings += ["memory, MB"] if has_memory else []
        lines = []
        for row in rows:
            line = [row["title"], str(row["units"]), f"{row['weights']:,}", f"{row['rate']:g}"]
            line += [_with_error(row["validation_mean"], row["validation_error"])]
            line += [_with_error(row["test_mean"], row["test_error"])]
            line += [f"{_mean(row['accuracy']):.2%}"] if has_accuracy else []
            line += [f"{row['seconds']:.1f}"]
            line += [f"{1000 * row[name]:.2f}" for name in ("step", "predict", "latency")]
            line += ["" if row["memory"] is None else f"{row['memory']:.0f}"] if has_memory else []
            lines.append(line)
        for row in self.results["references"]:
            line = [row["title"], "no network", "", "", _with_error(row["validation_mean"], None)]
            line += [_with_error(row["test_mean"], None)]
            accuracy = row["accuracy"][0]
            line += ["" if accuracy is None else f"{accuracy:.2%}"] if has_accuracy else []
            line += [f"{row['seconds']:.1f}", "", f"{1000 * row['predict']:.2f}", ""]
            lines.append(line + [""] * (len(headings) - len(line)))
        for row in self.results["dropped"]:
            score = "diverged" if row["search"] is None else f"{row['search']:.4g}, dropped"
            line = [row["title"], str(row["units"]), f"{row['weights']:,}", f"{row['rate']:g}", score]
            lines.append(line + [""] * (len(headings) - len(line)))
        return headings, lines

    def __str__(self):
        headings, rows = self.cells()
        widths = [max(len(line[k]) for line in (headings, *rows)) for k in range(len(headings))]
        lines = [[value.rjust(width) for value, width in zip(line, widths, strict=True)] for line in (headings, *rows)]
        for line in lines:
            line[0] = line[0].strip().ljust(widths[0])
        text = "\n".join("  ".join(line).rstrip() for line in lines)
        return f"{text}\n\n{self.recommendation}\n"

    def __repr__(self):
        return f"Comparison({str(self.path)!r}): {self.recommendation}"

    def _repr_html_(self):
        return body(self)


def _mean(values):
    return None if values[0] is None else sum(values) / len(values)


def _with_error(mean, error):
    if mean is None:
        return "diverged"
    return f"{mean:.4g}" if error is None else f"{mean:.4g} ± {error:.1g}"
