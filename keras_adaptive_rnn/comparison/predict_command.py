"""Predict with the best model of a comparison: `python -m keras_adaptive_rnn predict FOLDER DATA`."""

import contextlib
import csv
import pathlib
import sys

from keras_adaptive_rnn._command_line import ending
from keras_adaptive_rnn._files import alone_on, replaced
from keras_adaptive_rnn._predict_options import parse
from keras_adaptive_rnn.comparison.result import Comparison
from keras_adaptive_rnn.comparison.tables import imported_pyarrow


def main(argv=None):
    args = parse(argv)
    output = None if args.output is None else pathlib.Path(args.output)
    with ending():
        check_output(output)
        with contextlib.nullcontext() if output is None else alone_on(output, "predicting"):
            write(Comparison(args.folder).predict(args.data, args.decimal), output)


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
