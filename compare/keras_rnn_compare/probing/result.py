"""The result of a probe."""

import html
import os
import pathlib
import statistics
from typing import Any

from keras_rnn_compare.running.folder import finished

NEEDS = ("settings", "versions", "machine", "date", "tasks", "rows")


def median(values):
    return float(statistics.median(values))


class Probe:
    """The result of `keras_rnn_compare.probe`, read from its folder.

    A notebook shows it as a table, `print` as a table of Markdown.

    Args:
        path: Path of the folder of a probe that is finished.

    Attributes:
        path: The folder. It holds `results.json`, `table.md` and, with matplotlib, `probe.png`.
        results: Dict of everything that was measured.

    Raises:
        ValueError: The folder holds no finished probe, or a damaged one.

    Example:

    >>> keras_rnn_compare.Probe("nowhere")
    Traceback (most recent call last):
    ...
    ValueError: nowhere holds no finished probe: it has no results.json
    """

    def __init__(self, path: str | os.PathLike):
        self.path = pathlib.Path(path)
        self.results: dict[str, Any] = finished(path, NEEDS, "probe")

    def table(self) -> list[dict[str, Any]]:
        """Returns a dict per task and cell; `pandas.DataFrame(found.table())` makes a table of them.

        `accuracy` and `accuracy when longer` are medians over the seeds, `solved` is the number of seeds that solved
        the task, and `updates` the median of what that took.
        """
        return [
            {
                "cell": row["title"],
                "task": self.results["tasks"][row["task"]]["title"],
                "units": row["units"],
                "weights": row["weights"],
                "learning rate": row["rate"],
                "chance": self.results["tasks"][row["task"]]["chance"],
                "accuracy": median(row["length"]),
                "accuracy when longer": median(row["longer"]),
                "solved": sum(row["solved"]),
                "seeds": len(row["solved"]),
                "updates": median(row["updates"]),
                "training, s": sum(row["seconds"]) / len(row["seconds"]),
            }
            for row in self.results["rows"]
        ]

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Returns the headings and the rows of the table as text: cells by tasks, or tasks by fewer cells."""
        tasks = self.results["tasks"]
        lines = {"": ["", *(task["title"] for task in tasks.values())]}
        lines["chance"] = ["chance", *(f"{task['chance']:.2f}" for task in tasks.values())]
        for row in self.results["rows"]:
            text = f"{median(row['length']):.2f} / {median(row['longer']):.2f} ({sum(row['solved'])})"
            lines.setdefault(row["cell"], [row["title"]]).append(text)
        table = list(lines.values())
        if len(table) - 2 < len(tasks):
            table = [list(column) for column in zip(*table, strict=True)]
        return table[0], table[1:]

    def explanation(self) -> str:
        """Returns what the figures of the table are."""
        settings = self.results["settings"]
        length, seeds = settings["length"], settings["seeds"]
        return (
            f"Accuracy at {length} steps, as learned from / at {8 * length} steps: median over {seeds} "
            f"seed{'s' * (seeds > 1)}. In parentheses: seeds that solved it. About {settings['weights']:,} weights."
        )

    def figure(self) -> Any:
        """Returns a figure of matplotlib, which must be installed: heat maps of cells and tasks, for both lengths.

        The darker, the nearer from chance to 1.
        """
        try:
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ImportError('Plots need matplotlib: pip install "keras_rnn_compare[report]"') from error
        tasks, length = self.results["tasks"], self.results["settings"]["length"]
        titles = {row["cell"]: row["title"] for row in self.results["rows"]}
        drawn = Figure(figsize=(3 + 1.1 * len(tasks), 1.5 + 0.3 * len(titles)), layout="constrained", dpi=150)
        for axes, figure, steps in zip(
            drawn.subplots(1, 2, sharey=True), ("length", "longer"), (length, 8 * length), strict=True
        ):
            found = {(row["cell"], row["task"]): median(row[figure]) for row in self.results["rows"]}
            shares = [
                [(found[cell, task] - tasks[task]["chance"]) / (1 - tasks[task]["chance"]) for task in tasks]
                for cell in titles
            ]
            axes.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
            for k, cell in enumerate(titles):
                for j, task in enumerate(tasks):
                    color = "white" if shares[k][j] > 0.6 else "black"
                    axes.text(j, k, f"{found[cell, task]:.2f}", ha="center", va="center", fontsize=8, color=color)
            axes.set_xticks(range(len(tasks)), [task["title"] for task in tasks.values()], rotation=45, ha="right")
            axes.set_yticks(range(len(titles)), list(titles.values()), parse_math=False)
            axes.set_title(f"accuracy at {steps} steps", fontsize=10)
        return drawn

    def __str__(self):
        headings, rows = self.cells()
        widths = [max(len(line[k]) for line in (headings, *rows)) for k in range(len(headings))]
        rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
        lines = [
            " | ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])])
            for line in (headings, rule, *rows)
        ]
        return "\n".join([*(f"| {line} |" for line in lines), "", self.explanation()])

    def __repr__(self):
        return f"Probe({str(self.path)!r})"

    def _repr_html_(self):
        headings, rows = self.cells()

        def line(tag, values):
            return "<tr>" + "".join(f"<{tag}>{html.escape(value)}</{tag}>" for value in values) + "</tr>"

        body = "".join(line("td", row) for row in rows)
        return f"<table>{line('th', headings)}{body}</table><p>{html.escape(self.explanation())}</p>"
