"""The commands of `python -m keras_adaptive_rnn`, which are those of keras_rnn_compare."""

import sys

from keras_adaptive_rnn import _commands


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    _commands.forwarded(argv).main(argv)


if __name__ == "__main__":
    main()
