"""Language models from the command line: `python -m keras_adaptive_rnn.hub train|write|score|tokens`."""

import argparse
import ast
import os
import sys

from keras_adaptive_rnn._command_line import positive

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # Silences TensorFlow's list of missing devices.


def parse(argv=None):
    parser = argparse.ArgumentParser(prog="python -m keras_adaptive_rnn.hub", description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    train = commands.add_parser("train", help="train a model on a text, and save it as a preset")
    add = train.add_argument
    add("text", help="text in UTF-8; or tokens, a file that the command `tokens` has written")
    add(
        "--preset",
        required=True,
        help="folder for the model; the same command goes on where an earlier one was stopped",
    )
    add("--minutes", type=positive(float), default=10, help="training time (%(default)s)")
    add("--cell", default="mogrifier", help="recurrent cell: mogrifier, lstm, gru, adaptive_lstm, ... (%(default)s)")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="further arguments of the cell: --set rank=32")
    add("--units", type=positive(int), default=236, help="units of each layer (%(default)s)")
    add("--layers", type=positive(int), default=2, help="number of layers (%(default)s)")
    add("--dropout", type=float, default=0.0, help="rate between the layers, in [0, 1) (%(default)s)")
    add("--learning-rate", type=positive(float), default=0.002, help="learning rate of Adam (%(default)s)")
    add("--batch", type=positive(int), default=32, help="parts of the text that are read in parallel (%(default)s)")
    add("--steps", type=positive(int), default=64, help="tokens through which gradients go back (%(default)s)")
    add("--validation", type=float, default=0.07, help="share of the text, at its end, to judge by (%(default)s)")
    add("--round", type=positive(int), default=300, help="steps between validations and backups (%(default)s)")
    add("--seed", type=int, default=0, help="seed of weights and noise (%(default)s)")
    add("--license", help="licence of the model, for its card")
    vocabulary(add)

    write = commands.add_parser("write", help="let a model write")
    add = write.add_argument
    add("preset", help="folder of a preset, or the handle of one on Hugging Face (hf://) or Kaggle (kaggle://)")
    add("--prompt", default="", help="text to go on from; a line break if it is empty")
    add("--length", type=positive(int), default=400, help="number of tokens to write (%(default)s)")
    add(
        "--sampler", choices=("top_k", "top_p", "random", "greedy"), default="top_p", help="how to choose (%(default)s)"
    )
    add("--temperature", type=positive(float), default=0.8, help="below 1: likelier; above: wilder (%(default)s)")
    add("--seed", type=int, help="the same seed writes the same text")

    score = commands.add_parser("score", help="judge a model by a text")
    add = score.add_argument
    add("preset", help="as in `write`")
    add("text", help="text in UTF-8, or tokens")
    add("--batch", type=positive(int), default=1, help="parts of the text that are read in parallel (%(default)s)")
    add("--steps", type=positive(int), default=256, help="tokens that are read at once (%(default)s)")

    tokens = commands.add_parser("tokens", help="tokenize a large text once")
    add = tokens.add_argument
    add("text", help="text in UTF-8, of any size")
    add("path", help="file to write; with it, `train` and `score` read the text from the disk")
    vocabulary(add)

    args = parser.parse_args(argv)
    for name in ("dropout", "validation"):
        if not 0 <= getattr(args, name, 0) < 1:
            parser.error(f"argument --{name}: must be in [0, 1), and is {getattr(args, name)}")
    return args


def vocabulary(add):
    add("--split", choices=("character", "word"), default="character", help="what a token is (%(default)s)")
    add("--min-count", type=positive(int), default=5, help="rarer tokens become one (%(default)s)")
    add("--max-size", type=positive(int), help="largest number of tokens")


def options(pairs):
    """Returns `NAME=VALUE` pairs as a dict of Python values."""
    found = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"--set needs NAME=VALUE, such as --set rank=32, and is {pair!r}")
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            found[name] = value
    return found


def main(argv=None):
    args = parse(argv)
    try:
        # Imported here: KerasHub takes seconds, and `--help` needs none of it.
        from keras_adaptive_rnn.hub import command_line
    except ImportError as error:
        sys.exit(f'error: {error}. Install it with: pip install "keras_adaptive_rnn[hub]"')
    try:
        if args.command == "train":
            args.set = options(args.set)
        getattr(command_line, args.command)(args)
    except (ValueError, TypeError, OSError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. The same command goes on from the last backup." if args.command == "train" else 130)


if __name__ == "__main__":
    main()
