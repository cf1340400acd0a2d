"""Language models from the command line: `python -m keras_adaptive_rnn.hub train|write|score|tokens`."""

import ast

from keras_adaptive_rnn._hub_options import check, parse, work_of
from keras_adaptive_rnn.files import ending


def options(pairs):
    """Returns `NAME=VALUE` pairs as a dict of Python values."""
    values = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise ValueError(f"--set needs NAME=VALUE, such as --set rank=32, and is {pair!r}")
        try:
            values[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            values[name] = value
    return values


def main(argv=None):
    args = parse(argv)
    with ending(work_of(args.preset) if args.command == "train" else None):
        check(args)
        if args.command == "train":
            args.set = options(args.set)
        # Imported here, as KerasHub takes seconds: wrong options are reported before that.
        from keras_adaptive_rnn.hub import command_line

        getattr(command_line, args.command)(args)


if __name__ == "__main__":
    main()
