"""The command `keras-rnn-compare`, whose options are read before Keras is imported, which takes seconds."""

import argparse
import importlib
import importlib.metadata
import math
import platform
import sys
import time

from keras_rnn_compare import __version__

NAME = "keras-rnn-compare"
COMPARE = """\
Compares recurrent cells on your data: models of equal size, learning rates that are searched alike, several seeds. It
ends with a table, a recommendation, the best model and a report in HTML.

DATA is a text in UTF-8, for a language model of its characters; a table of series (.csv, .tsv, .parquet or .xlsx), to
forecast or to classify; or a file of numpy.savez with the arrays x (samples, steps, features), or tokens (samples,
steps), y (classes or numbers) and, if you like, groups. The variable KERAS_BACKEND chooses jax, tensorflow or torch.

keras-rnn-compare predict FOLDER DATA predicts with the result, and keras-rnn-compare probe finds out what a cell can
do: each has a --help of its own.
"""
PREDICT = """\
Predicts new rows with the best model of a comparison: the next value of each series with intervals, or classes with
probabilities.

FOLDER is that of a finished comparison, which holds all that it takes. DATA is a file like the one that was compared
on, with the same columns. A forecast begins at the last row of each series that has a target; of columns that are known
in advance, the rows to come must be there, without a target. To classify, the column of classes need not be there.
"""
PROBE = """\
Finds out what cells can do: small tasks that ask one thing of a state, models of equal size, learning rates that are
searched alike, several seeds. Each is tested at the length that it learned from, and at eight times that. It ends with
a table and a picture.

CELL is a name, such as lstm, gru, mogrifier or min_gru, or module:function for one of yours: a class of recurrent
layers or cells, or a function that takes `units` and returns one. Without names, all cells are probed that have one.
The variable KERAS_BACKEND chooses jax, tensorflow or torch; jax is the fastest on a CPU.

Tasks:
  parity            whether the number of ones so far is odd
  modular_addition  the sum so far, modulo five
  s3, s5            the product so far of permutations of three elements, and the place of one of five
  brackets          which of three kinds of brackets must close next
  recall            the values of keys that are asked for (MQAR)
  copy              four symbols, after a pause
  selective_copy    four symbols that were scattered among blanks
  adding            the mean of two marked numbers
"""


def main(argv=None):
    """Runs the command."""
    begun = time.perf_counter()
    name, options = parse(sys.argv[1:] if argv is None else argv)
    # The time for everything includes what it takes to import Keras.
    options.begun = begun
    # The core finds an installed backend for a command of this name.
    importlib.import_module("keras_adaptive_rnn")
    commands = importlib.import_module("keras_rnn_compare.commands")
    getattr(commands, name)(options)


def parse(argv):
    """Returns the name of a command and its options, or ends the process."""
    if argv[:1] == ["--version"]:
        print(versions())
        sys.exit()
    name, rest = (argv[0], argv[1:]) if argv[:1] and argv[0] in OPTIONS else ("compare", argv)
    return name, OPTIONS[name]().parse_args(rest)


def versions():
    """Returns the versions of this package and of what it runs on, one a line."""
    found = {"keras_rnn_compare": __version__}
    found |= {name: importlib.metadata.version(name) for name in ("keras_adaptive_rnn", "keras")}
    return "\n".join(f"{name} {version}" for name, version in {**found, "Python": platform.python_version()}.items())


def compare_options():
    options = parser("", COMPARE)
    add = options.add_argument
    source = options.add_mutually_exclusive_group(required=True).add_argument
    source("data", metavar="DATA", nargs="?", help="a text, a table, or .npz")
    source("--sample", action="store_true", help="write sunspots.csv, yearly sunspots since 1700, and forecast them")
    add("--output", help="folder for the results (compare_DATA); the same command goes on where it was stopped")

    add = options.add_argument_group("tables").add_argument
    add("--target", help="column to predict")
    add("--time", help="column that orders the rows: numbers, or dates such as 2024-01-31")
    add("--group", help="column that says which series a row belongs to")
    add("--task", choices=("forecast", "classify"), help="by default, numbers are forecast and words are classes")
    add("--columns", metavar="NAME,...", help="columns to learn from (all; for a forecast, the target too)")
    add("--decimal", choices=(".", ","), default=".", help="what precedes the decimals of a number (%(default)s)")
    add(
        "--missing",
        choices=("refuse", "interpolate", "drop", "mask"),
        default="refuse",
        help="what to do with empty cells and gaps in time (%(default)s)",
    )
    add("--known", metavar="NAME,...", help="columns that are known in advance, such as holidays")
    add("--no-calendar", action="store_true", help="do not read hour, weekday and day of the year from dates of --time")
    add(
        "--differences",
        choices=("auto", "yes", "no"),
        default="auto",
        help="read and forecast changes (%(default)s: where the target has left its levels)",
    )
    add("--folds", type=positive(int), default=1, help="cuts to test forecasts behind, by rolling origin (%(default)s)")
    add("--horizon", type=positive(int), default=1, help="rows to forecast (%(default)s)")

    add = options.add_argument_group("sequences").add_argument
    add("--steps", type=positive(int), help="length of a sequence (100 characters, 32 rows, or a whole group)")
    add("--split", choices=("random", "time", "group"), help="how 15 %% for validation and 15 %% for test are taken")

    comparison = options.add_argument_group("the comparison")
    add = comparison.add_argument
    add(
        "--cells",
        metavar="NAME,...",
        help="lstm,gru,mogrifier,... or module:function (all); the first is always in the final table",
    )
    add("--weights", type=positive(int), help="weights of each model (100,000 for a text, 20,000 otherwise)")
    add("--equal", choices=("weights", "time"), default="weights", help="what is equal: the weights, or a train step")
    add(
        "--minutes",
        type=positive(float),
        default=10,
        help="time for everything (%(default)s)",
    )
    add("--trials", type=positive(int), default=4, help="learning rates for each cell (%(default)s)")
    add(
        "--seeds",
        type=positive(int),
        default=3,
        help="training runs of the better cells; others get one (%(default)s)",
    )
    add("--depth", type=positive(int), default=1, help="recurrent layers (%(default)s)")
    add("--batch", type=positive(int), default=32, help="sequences in a batch (%(default)s)")
    add("--seed", type=seed, default=0, help="decides how the data is divided, and all weights (%(default)s)")
    add("--export", choices=("onnx", "litert"), help="also write one time step of the best model, for other programs")
    where = comparison.add_mutually_exclusive_group().add_argument
    where("--workers", metavar="N", type=positive(int), help="training runs at a time, each on a core of its own (1)")
    where("--dask", metavar="ADDRESS", help="scheduler of a Dask cluster that trains, such as tcp://10.0.0.1:8786")
    add("--no-memory", action="store_true", help="do not measure the memory of training, which takes seconds a cell")
    add("--wide", action="store_true", help="show all columns of the table, also where they do not fit 80 characters")
    return options


def predict_options():
    options = parser("predict", PREDICT)
    add = options.add_argument
    add("folder", metavar="FOLDER", help="of a finished comparison")
    add("data", metavar="DATA", help="a table, or .npz with an array x")
    add("--output", metavar="FILE", help="what to write, .csv or .parquet; by default, CSV is printed")
    add("--decimal", choices=(".", ","), default=".", help="what precedes the decimals of a number (%(default)s)")
    return options


def probe_options():
    options = parser("probe", PROBE)
    add = options.add_argument
    add("cells", metavar="CELL", nargs="*", help="a name, or module:function (all that have a name)")
    add("--tasks", metavar="NAME,...", help="parity,copy,... (all)")
    add("--output", help="folder for the results (probe_CELL_...); the same command goes on where it was stopped")
    add("--weights", type=positive(int), default=5000, help="weights of each model (%(default)s)")
    add("--length", type=positive(int), default=32, help="steps of the sequences to learn from (%(default)s)")
    add("--updates", type=positive(int), default=3000, help="the most updates of a training run (%(default)s)")
    add("--rates", type=rates, metavar="RATE,...", default="0.003,0.01,0.03", help="learning rates to try")
    add("--seeds", type=positive(int), default=3, help="training runs with the best rate (%(default)s)")
    add("--seed", type=seed, default=0, help="decides all weights and sequences (%(default)s)")
    return options


OPTIONS = {"compare": compare_options, "predict": predict_options, "probe": probe_options}


def parser(command, description):
    """Returns a parser that shows a description as it is."""
    return argparse.ArgumentParser(
        prog=f"{NAME} {command}".strip(),
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def positive(kind):
    """Returns a type for `add_argument`: a positive `int`, or a `float` that is finite as well."""

    def parse(text):
        value = kind(text)
        if not 0 < value < math.inf:
            raise argparse.ArgumentTypeError(f"must be positive, and is {text}")
        return value

    return parse


def seed(text):
    """Returns a seed that Python, NumPy and the backends take."""
    value = int(text)
    if not 0 <= value < 2**32:
        raise argparse.ArgumentTypeError(f"must be from 0 to 4294967295, and is {text}")
    return value


def names(text):
    """Returns the names in `a,b`, or `None` if the option is not given."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def rates(text):
    return [positive(float)(rate) for rate in names(text)]
