"""What the tasks share: a training with one progress bar, LSTMs of equal size, a table, a picture."""

import argparse
import inspect
import json
import os
import pathlib
import time
from typing import NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # Silences TensorFlow's list of missing devices.

import keras
import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

OUTPUT = pathlib.Path("runs/tasks")


class Results(NamedTuple):
    """What a task has found.

    Attributes:
        rows: A dict of figures for each row of the table.
        losses: The training loss of the model that the task is about, epoch by epoch.
        picture: A figure of matplotlib, or `None`.
    """

    rows: dict[str, dict[str, float]]
    losses: list[float]
    picture: Figure | None = None


class Bar(keras.callbacks.Callback):
    """One progress bar for all epochs."""

    def __init__(self, name: str):
        super().__init__()
        columns = (
            TextColumn("{task.description:24}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[logs]}"),
        )
        self.name, self.progress = name, Progress(*columns)

    def on_train_begin(self, logs=None):
        self.progress.start()
        self.line = self.progress.add_task(self.name, total=self.params["epochs"], logs="")

    def on_epoch_end(self, epoch, logs=None):
        shown = "  ".join(f"{name} {value:.4g}" for name, value in (logs or {}).items())
        self.progress.update(self.line, advance=1, logs=shown)

    def on_train_end(self, logs=None):
        self.progress.stop()


def fit(name: str, model: keras.Model, *args, callbacks=(), **kwargs) -> dict[str, list[float]]:
    """Returns the history of `model.fit`, which shows one progress bar for all epochs."""
    return model.fit(*args, verbose=0, callbacks=[*callbacks, Bar(name)], **kwargs).history


def lstm_units(layer: keras.Layer, features: int) -> int:
    """Builds a layer, and returns how many units an LSTM of about as many weights has."""
    layer.build((None, None, features))
    return round((np.sqrt((features + 1) ** 2 + layer.count_params()) - features - 1) / 2)


def curves(histories: dict[str, list[float]], ylabel: str, log: bool = False) -> Figure:
    """Returns a picture of one curve per model over the epochs."""
    figure = Figure(figsize=(5, 3), layout="constrained")
    axes = figure.subplots()
    for name, values in histories.items():
        axes.plot(np.arange(1, len(values) + 1), values, label=name)
    axes.set(xlabel="epochs", ylabel=ylabel, yscale="log" if log else "linear")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure


def reference_text() -> str:
    """Returns Python's language reference as plain text; it comes with every CPython."""
    from pydoc_data.topics import topics

    return "\n".join(topics[name] for name in sorted(topics))


def columns(rows: dict[str, dict[str, float]]) -> list[str]:
    """Returns the names of all figures, those of the row that has most first."""
    return list(dict.fromkeys(column for row in sorted(rows.values(), key=len, reverse=True) for column in row))


def shown(value: float | None) -> str:
    if value is None:
        return ""
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:.4g}" if abs(value) >= 1e-4 else f"{value:.0e}"


def make_table(rows: dict[str, dict[str, float]], title: str) -> Table:
    table = Table("", title=title)
    for column in columns(rows):
        table.add_column(column, justify="right")
    for name, row in rows.items():
        table.add_row(name, *(shown(row.get(column)) for column in columns(rows)))
    return table


def run(main):
    """Runs a task from the command line: prints its table, and leaves table and picture in `runs/tasks`."""
    path = pathlib.Path(inspect.getfile(main))
    parser = argparse.ArgumentParser(description=inspect.getmodule(main).__doc__.splitlines()[0])
    parser.add_argument("--small", action="store_true", help="a few seconds, to see that it runs; learns little")
    small = parser.parse_args().small
    keras.utils.set_random_seed(0)
    start = time.perf_counter()
    results = main(small)
    seconds = time.perf_counter() - start
    Console().print(make_table(results.rows, f"{path.stem} ({keras.backend.backend()}, {seconds:.0f} s)"))
    OUTPUT.mkdir(parents=True, exist_ok=True)
    about = {"task": path.stem, "backend": keras.backend.backend(), "small": small, "rows": results.rows}
    (OUTPUT / f"{path.stem}.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    if results.picture:
        results.picture.savefig(OUTPUT / f"{path.stem}.png", dpi=80)
    print(f"The table{' and the picture are' if results.picture else ' is'} in {OUTPUT}")
