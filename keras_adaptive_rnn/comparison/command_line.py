"""Compare cells on your data: `python -m keras_adaptive_rnn compare DATA`."""

import os
import pathlib

from keras_adaptive_rnn._command_line import ending, list_files, names, parser, positive

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # Silences TensorFlow's list of missing devices.

DESCRIPTION = """\
Compares recurrent cells on your data: models of equal size, learning rates that are searched alike, several seeds. It
ends with a table, a recommendation, the best model and a report in HTML.

DATA is a text in UTF-8, for a language model of its characters; a table of series (.csv, .tsv or .parquet), to
forecast or to classify; or a file of numpy.savez with the arrays x (samples, steps, features), or tokens (samples,
steps), y (classes or numbers) and, if you like, groups. The variable KERAS_BACKEND chooses jax, tensorflow or torch.
"""


def parse(argv=None):
    options = parser("compare", DESCRIPTION)
    add = options.add_argument
    add("data", metavar="DATA", help="a text, a table, or .npz")
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
    add("--horizon", type=positive(int), default=1, help="rows to look ahead (%(default)s)")

    add = options.add_argument_group("sequences").add_argument
    add("--steps", type=positive(int), help="length of a sequence (100 characters, 32 rows, or a whole group)")
    add("--split", choices=("random", "time", "group"), help="how 15 %% for validation and 15 %% for test are taken")

    add = options.add_argument_group("the comparison").add_argument
    add(
        "--cells",
        metavar="NAME,...",
        help="lstm,... or module:function (all); the first is always in the final table",
    )
    add("--weights", type=positive(int), help="weights of each model (100,000 for a text, 20,000 otherwise)")
    add("--equal", choices=("weights", "time"), default="weights", help="what is equal: the weights, or a train step")
    add("--minutes", type=positive(float), default=10, help="time for everything (%(default)s)")
    add("--trials", type=positive(int), default=4, help="learning rates for each cell (%(default)s)")
    add("--seeds", type=positive(int), default=3, help="trainings of each of the better cells (%(default)s)")
    add("--depth", type=positive(int), default=1, help="recurrent layers (%(default)s)")
    add("--batch", type=positive(int), default=32, help="sequences in a batch (%(default)s)")
    add("--seed", type=int, default=0, help="decides how the data is divided, and all weights (%(default)s)")
    add("--no-memory", action="store_true", help="do not measure the memory of training, which takes seconds a cell")
    return options.parse_args(argv)


def main(argv=None):
    args = parse(argv)
    output = args.output or f"compare_{pathlib.Path(args.data).stem}"
    with ending(output):
        comparison = compared(args, output)
    show(comparison)


def compared(args, output):
    # Imported here: `--help` needs none of it.
    from keras_adaptive_rnn.comparison.candidates import from_command_line
    from keras_adaptive_rnn.comparison.experiment import run, validate_settings
    from keras_adaptive_rnn.comparison.files import read

    settings = validate_settings(
        cells=from_command_line(names(args.cells)),
        weights=args.weights,
        equal=args.equal,
        minutes=args.minutes,
        trials=args.trials,
        seeds=args.seeds,
        depth=args.depth,
        batch_size=args.batch,
        memory=not args.no_memory,
        seed=args.seed,
    )
    data = read(
        args.data,
        args.target,
        args.time,
        args.group,
        args.task,
        names(args.columns),
        args.steps,
        args.horizon,
        args.split,
        args.seed,
        args.decimal,
        args.missing,
        not args.no_calendar,
        names(args.known),
    )
    return run(data, settings, output)


def show(comparison):
    """Prints the table, the recommendation and the files."""
    from rich.console import Console
    from rich.table import Table

    headings, rows = comparison.cells()
    console = Console()
    if console.is_terminal:
        table = Table()
        for k, heading in enumerate(headings):
            table.add_column(heading, justify="left" if k == 0 else "right")
        for k, row in enumerate(rows):
            table.add_row(*row, style="bold" if k == 0 else "dim" if k >= len(comparison.results["rows"]) else None)
        console.print(table)
        print(f"\n{comparison.recommendation}\n")
    else:
        print(comparison)
    print(comparison.code)
    list_files(
        comparison.path,
        {"the report": "report.html", "the best model": "best.keras", "all figures": "results.json"},
    )
