"""The options of `python -m keras_adaptive_rnn compare`, without Keras."""

from keras_adaptive_rnn._command_line import parser, positive, seed

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
        help="lstm,... or module:function (all); the first is always in the final table",
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
    return options.parse_args(argv)
