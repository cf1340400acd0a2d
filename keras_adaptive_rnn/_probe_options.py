"""The options of `python -m keras_adaptive_rnn probe`, without Keras."""

from keras_adaptive_rnn._command_line import names, parser, positive, seed

DESCRIPTION = """\
Finds out what cells can do: small tasks that ask one thing of a state, models of equal size, learning rates that are
searched alike, several seeds. Each is tested at the length that it learned from, and at eight times that. It ends with
a table and a picture.

CELL is a name, such as lstm, gru, mogrifier or min_gru, or module:function for a cell of yours: any class of Keras
cells, or a function that takes `units` and returns a cell. Without names, all cells are probed that have one. The
variable KERAS_BACKEND chooses jax, tensorflow or torch; jax is the fastest on a CPU.

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


def rates(text):
    return [positive(float)(rate) for rate in names(text)]


def parse(argv=None):
    options = parser("probe", DESCRIPTION)
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
    return options.parse_args(argv)
