"""What can be run from the command line: `python -m keras_adaptive_rnn`."""

import importlib
import sys

from keras_adaptive_rnn import _commands

MODULES = {
    "compare": "comparison.command_line",
    "predict": "comparison.predict_command",
    "probe": "probing.command_line",
}


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    _commands.chosen(argv)
    importlib.import_module(f"keras_adaptive_rnn.{MODULES[argv[0]]}").main(argv[1:])


if __name__ == "__main__":
    main()
