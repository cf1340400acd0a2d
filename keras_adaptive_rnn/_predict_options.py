"""The options of `python -m keras_adaptive_rnn predict`, without Keras."""

from keras_adaptive_rnn._command_line import parser

DESCRIPTION = """\
Predicts new rows with the best model of a comparison: the next value of each series with intervals, or classes with
probabilities.

FOLDER is that of a finished `compare`, which holds all that it takes. DATA is a file like the one that was compared on,
with the same columns. A forecast begins at the last row of each series that has a target; of columns that are known in
advance, the rows to come must be there, without a target. To classify, the column of classes need not be there.
"""


def parse(argv=None):
    options = parser("predict", DESCRIPTION)
    add = options.add_argument
    add("folder", metavar="FOLDER", help="of a finished comparison")
    add("data", metavar="DATA", help="a table, or .npz with an array x")
    add("--output", metavar="FILE", help="what to write, .csv or .parquet; by default, CSV is printed")
    add("--decimal", choices=(".", ","), default=".", help="what precedes the decimals of a number (%(default)s)")
    return options.parse_args(argv)
