"""The commands: a comparison, predictions with its best model, and a probe."""

import contextlib
import csv
import pathlib
import sys
import time

from keras_adaptive_rnn import check_export_format
from keras_adaptive_rnn.files import alone_on, ending, replaced
from keras_rnn_compare.cli import NAME, names
from keras_rnn_compare.models.candidates import from_command_line
from keras_rnn_compare.probing import experiment as probing
from keras_rnn_compare.reading.files import read
from keras_rnn_compare.reading.tables import imported_pyarrow
from keras_rnn_compare.reporting.comparison import Comparison
from keras_rnn_compare.running import workers
from keras_rnn_compare.study import experiment
from keras_rnn_compare.study.settings import Settings

# The file of `--sample`, and the largest share of the time that imports count for.
SAMPLE, IMPORTS = "sunspots.csv", 1 / 3


def list_files(folder, files):
    """Prints where files are, by what they hold; one that is not there is left out."""
    width = max(map(len, files)) + 2
    for what, name in files.items():
        if (folder / name).exists():
            print(f"{what + ':':{width}}{folder / name}")


# A comparison.


def compare(options):
    """Compares cells on a file."""
    if options.sample:
        options.data = SAMPLE
        options.target, options.time = options.target or "sunspots", options.time or "year"
    output = options.output or f"compare_{pathlib.Path(options.data).stem}"
    with ending(output):
        if options.sample:
            write_sample()
        comparison = compared(options, output)
        if options.export:
            comparison.export(options.export)
        show(comparison, options.wide)


def write_sample():
    """Writes the yearly sunspots of statsmodels to a table, unless it is there."""
    try:
        from statsmodels.datasets import sunspots
    except ImportError:
        raise ImportError('--sample needs statsmodels: pip install "keras_rnn_compare[report]"') from None
    rows = sunspots.load_pandas().data.itertuples(index=False)
    text = "year,sunspots\n" + "".join(f"{year:.0f},{count:g}\n" for year, count in rows)
    path = pathlib.Path(SAMPLE)
    if path.exists() and path.read_text(encoding="utf-8") != text:
        raise ValueError(f"--sample writes {path}, and another file of this name is there")
    with replaced(path) as new:
        new.write_text(text, encoding="utf-8")


def compared(options, output):
    if options.export:
        # Before anything is trained.
        check_export_format(options.export)
    begun = time.perf_counter()
    settings = Settings(
        cells=from_command_line(names(options.cells)),
        weights=options.weights,
        equal=options.equal,
        minutes=options.minutes,
        trials=options.trials,
        seeds=options.seeds,
        depth=options.depth,
        batch_size=options.batch,
        memory=not options.no_memory,
        seed=options.seed,
    )
    team = workers.workers_for(options.workers, dask=options.dask, candidates=settings.cells)
    data = read(
        options.data,
        target=options.target,
        time=options.time,
        group=options.group,
        task=options.task,
        columns=names(options.columns),
        steps=options.steps,
        horizon=options.horizon,
        split=options.split,
        seed=options.seed,
        decimal=options.decimal,
        missing=options.missing,
        calendar=not options.no_calendar,
        known=names(options.known),
        differences=options.differences,
        folds=options.folds,
    )
    # Imports count, but where the cores are busy they must not take the place of the comparison.
    begun = max(options.begun, begun - IMPORTS * 60 * settings.minutes)
    return experiment.run(data, settings, output, begun=begun, team=team)


def show(comparison, wide):
    """Prints the table, the recommendation, the lines in Python and the files."""
    print(comparison.text(wide))
    print(comparison.code)
    list_files(
        comparison.path,
        {
            "the report": "report.html",
            "the best model": "best.keras",
            "the ends of intervals": "quantiles.keras",
            "one step of it, for ONNX": "best_step.onnx",
            "one step of it, for LiteRT": "best_step.tflite",
            "all figures": "results.json",
        },
    )
    data = comparison.results["data"]
    if data["kind"] != "text":
        decimal = " --decimal ," if data.get("decimal") == "," else ""
        print(f"\nFor new data:   {NAME} predict {comparison.path} DATA{decimal}")


# Predictions.


def predict(options):
    """Predicts with the best model of a comparison."""
    output = None if options.output is None else pathlib.Path(options.output)
    with ending():
        check_output(output)
        with contextlib.nullcontext() if output is None else alone_on(output, "predicting"):
            write(Comparison(options.folder).predict(options.data, options.decimal), output)


def check_output(output):
    """Raises an error if predictions cannot be written to a file."""
    if output is None:
        return
    if output.suffix.lower() not in (".csv", ".parquet"):
        raise ValueError(f"--output must end in .csv or .parquet, and is {output}")
    if not output.parent.is_dir():
        raise ValueError(f"--output must be in a folder that exists, and is {output}")
    if output.suffix.lower() == ".parquet":
        imported_pyarrow()


def write(rows, output):
    """Writes predictions to a file, put in place as a whole, or prints them."""
    if output is None:
        write_csv(rows, sys.stdout)
        return
    with replaced(output) as path:
        if output.suffix.lower() == ".parquet":
            pyarrow = imported_pyarrow()
            pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path)
        else:
            with path.open("w", encoding="utf-8", newline="") as file:
                write_csv(rows, file)


def write_csv(rows, file):
    writer = csv.DictWriter(file, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


# A probe.


def probe(options):
    """Probes cells."""
    output = options.output or "_".join(["probe", *(name.rpartition(":")[2] for name in options.cells)])
    with ending(output):
        found = probing.probe(
            from_command_line(options.cells),
            tasks=names(options.tasks),
            weights=options.weights,
            length=options.length,
            updates=options.updates,
            rates=options.rates,
            seeds=options.seeds,
            seed=options.seed,
            output=output,
        )
        print(found)
        list_files(found.path, {"the picture": "probe.png", "the table": "table.md", "all figures": "results.json"})
