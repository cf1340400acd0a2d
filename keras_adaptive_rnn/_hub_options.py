"""The options of `python -m keras_adaptive_rnn.hub`, and checks of them that need no Keras."""

import argparse
import importlib.util
import pathlib
import sys

from keras_adaptive_rnn._command_line import positive, seed

# Beside a file of tokens, its vocabulary.
VOCABULARY = ".vocabulary.json"
# The presets that come with this package, by name.
TRAINED = pathlib.Path(__file__).parent / "hub" / "trained"
# Options of a new model; a preset fixes them.
OF_A_NEW_MODEL = ("cell", "set", "units", "layers", "dropout", "document_token", "split", "min_count", "max_size")


def parse(argv=None):
    parser = argparse.ArgumentParser(
        prog="python -m keras_adaptive_rnn.hub",
        description="Language models from the command line.",
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")

    train = commands.add_parser("train", help="train a model on a text, and save it as a preset")
    add = train.add_argument
    add("text", help="text in UTF-8; or tokens, a file that the command `tokens` has written")
    add(
        "--preset",
        required=True,
        # Without the slash that a shell adds to the name of a folder, for there are others beside it.
        type=lambda path: str(pathlib.Path(path)),
        help="folder for the model; the same command goes on where an earlier one was stopped",
    )
    add("--resume", action="store_true", help="train the model on that is in the folder already, for --minutes more")
    add("--from", dest="source", metavar="PRESET", help="start with the weights, cells and vocabulary of a preset")
    add("--minutes", type=positive(float), default=10, help="training time (%(default)s)")
    add("--cell", default="mogrifier", help="recurrent cell: mogrifier, lstm, gru, adaptive_lstm, ... (%(default)s)")
    add("--set", action="append", default=[], metavar="NAME=VALUE", help="further arguments of the cell: --set rank=32")
    add("--units", type=positive(int), default=236, help="units of each layer (%(default)s)")
    add("--layers", type=positive(int), default=2, help="number of layers (%(default)s)")
    add("--dropout", type=float, default=0.0, help="rate between the layers, in [0, 1) (%(default)s)")
    add(
        "--document-token",
        metavar="TOKEN",
        help="token with which each document of the text begins, a character or, with --split word, a word: the model "
        "starts again there, from its initial states",
    )
    add("--learning-rate", type=positive(float), default=0.002, help="learning rate of Adam (%(default)s)")
    add("--batch", type=positive(int), default=32, help="parts of the text that are read in parallel (%(default)s)")
    add("--steps", type=positive(int), default=64, help="tokens through which gradients go back (%(default)s)")
    add("--validation", type=float, default=0.07, help="share of the text, at its end, to judge by (%(default)s)")
    add("--round", type=positive(int), default=300, help="steps between validations and backups (%(default)s)")
    add("--seed", type=seed, default=0, help="seed of weights and noise (%(default)s)")
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
    add("--seed", type=seed, help="the same seed writes the same text")

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
    if args.command == "train" and (args.resume or args.source):
        if args.resume and args.source:
            parser.error("argument --from: not allowed with argument --resume, which goes on from --preset itself")
        of_new_model = [name for name in OF_A_NEW_MODEL if getattr(args, name) != train.get_default(name)]
        if args.source and of_new_model:
            parser.error(
                f"argument --{of_new_model[0].replace('_', '-')}: not allowed with argument --from, whose model has one"
            )
    return args


def vocabulary(add):
    add("--split", choices=("character", "word"), default="character", help="what a token is (%(default)s)")
    add("--min-count", type=positive(int), default=5, help="rarer tokens become one (%(default)s)")
    add("--max-size", type=positive(int), help="largest number of tokens")


def check(args):
    """Raises `ValueError` if a command cannot begin: its input is missing, or a file would be overwritten."""
    if importlib.util.find_spec("keras_hub") is None:
        raise ValueError('KerasHub is not installed. Install it with: pip install "keras_adaptive_rnn[hub]"')
    if args.command == "train":
        check_train(args)
    elif args.command != "tokens":
        check_preset(args.preset)
    if args.command != "write" and not is_file_of_tokens(args.text):
        check_text(args.text)


def check_train(args):
    preset, work = pathlib.Path(args.preset), work_of(args.preset)
    if preset.exists() and not args.resume and not is_finished(work):
        raise ValueError(
            f"{preset} exists already: train it on with --resume, start another model from it with --from {preset} and "
            "another --preset, or delete it"
        )
    if args.resume and not preset.exists() and not work.exists():
        raise ValueError(f"--resume goes on with the model in {preset}, and there is none")
    if args.source:
        check_preset(args.source)


def work_of(preset):
    """Returns the folder of the training of a preset."""
    return pathlib.Path(f"{preset}.training")


def is_finished(work):
    """Returns whether the training in a folder has ended, and only its files remain to be cleared."""
    return (work / "finished").exists()


def check_preset(preset):
    path = pathlib.Path(preset)
    if "://" in str(preset) or (path / "config.json").exists() or (TRAINED / str(preset) / "config.json").exists():
        return
    unfinished = work_of(preset).exists()
    hint = ": its training is not finished; run the same `train` command again" if unfinished else ""
    raise ValueError(f"{preset} is not the folder of a preset{hint}")


def is_file_of_tokens(path):
    return pathlib.Path(f"{path}{VOCABULARY}").exists()


def check_text(path):
    """Raises `ValueError` if a file is no text."""
    path = pathlib.Path(path)
    if path.is_dir():
        raise ValueError(f"{path} is a folder, and should be a text in UTF-8")
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is no file, and should be a text in UTF-8")
    try:
        with path.open("rb") as file:
            start = file.read(1 << 16)
    except OSError as error:
        raise ValueError(f"cannot read {path}: {error.strerror}") from None
    if not start.strip():
        raise ValueError(f"{path} is empty")
    if b"\0" in start:
        check_utf8(path)


def check_utf8(path):
    """Raises `ValueError` with the byte and the line, if a file is no text in UTF-8."""
    begin, lines = 0, 0
    with open(path, "rb") as file:
        for raw in file:
            try:
                raw.decode("utf-8")
                fault, reason = raw.find(b"\0"), None
            except UnicodeDecodeError as error:
                fault, reason = error.start, error.reason
            if fault >= 0:
                # Lines may end as those of old Macs do.
                line, byte = lines + len((raw[:fault] + b".").splitlines()), begin + fault
                what = f"is not UTF-8: {reason} at byte {byte}, in line {line}. Save the file as UTF-8"
                if reason is None:
                    what = f"is not a text in UTF-8: it has a byte of zero in line {line}, byte {byte}"
                raise ValueError(f"{path} {what}") from None
            begin, lines = begin + len(raw), lines + len(raw.splitlines())


def check_command(argv):
    """Ends the process if a command cannot begin."""
    try:
        check(parse(argv))
    except (ValueError, OSError) as error:
        sys.exit(f"error: {error}")
