"""What can be run from the command line: `python -m keras_adaptive_rnn`."""

import importlib
import sys

ROOMS = {"compare": "comparison", "probe": "probing"}
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


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    if argv and argv[0] in ROOMS:
        importlib.import_module(f"keras_adaptive_rnn.{ROOMS[argv[0]]}.command_line").main(argv[1:])
    else:
        print(TEXT, end="")
        if argv and argv[0] not in ("-h", "--help"):
            sys.exit(f"\nerror: there is no command {argv[0]}")


if __name__ == "__main__":
    main()
