"""The commands of `python -m`, and what they say before Keras and its backend are imported, which takes seconds."""

import os
import sys

from keras_adaptive_rnn import _compare_options, _hub_options, _probe_options

OPTIONS = {"compare": _compare_options, "probe": _probe_options}
TEXT = """\
usage: python -m keras_adaptive_rnn compare DATA ...

Which cell for your data, a text, a table of series or arrays: `python -m keras_adaptive_rnn compare --help`.

usage: python -m keras_adaptive_rnn probe [CELL ...]

What a cell can do, on small tasks such as parity, recall and copying: `python -m keras_adaptive_rnn probe --help`.

usage: python -m keras_adaptive_rnn.hub COMMAND ...

Language models, from a text file to a preset of KerasHub (needs `pip install "keras_adaptive_rnn[hub]"`):

  train TEXT    train a model on a text for some minutes, and save it as a preset
  write PRESET  let it write
  score PRESET  judge it by another text
  tokens TEXT   tokenize a large text once, into a file that training reads from the disk

`python -m keras_adaptive_rnn.hub COMMAND --help` lists the options. The variable KERAS_BACKEND chooses jax, tensorflow
or torch.
"""


def check_before_keras():
    """Ends the process if it runs a command that only shows a text, or that cannot begin.

    `python -m` imports this package before it runs a module of it.
    """
    # What `sys.argv` is while `python -m` looks for its module, whose name is only in the other list.
    if sys.argv[:1] != ["-m"]:
        return
    module, arguments = sys.orig_argv[-len(sys.argv)], sys.argv[1:]
    if module not in ("keras_adaptive_rnn", "keras_adaptive_rnn.hub"):
        return
    # TensorFlow reads it when it is imported, and Keras imports TensorFlow on JAX too.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if module == "keras_adaptive_rnn.hub":
        _hub_options.check_command(arguments)
    else:
        chosen(arguments).parse(arguments[1:])


def chosen(arguments):
    """Returns the options of the command that is named, or shows the commands and ends the process."""
    if arguments and arguments[0] in OPTIONS:
        return OPTIONS[arguments[0]]
    print(TEXT, end="")
    if arguments and arguments[0] not in ("-h", "--help"):
        sys.exit(f"\nerror: there is no command {arguments[0]}")
    sys.exit()
