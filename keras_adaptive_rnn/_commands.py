"""The commands of `python -m`, and what they say before Keras and its backend are imported, which takes seconds."""

import contextlib
import importlib
import importlib.metadata
import importlib.util
import os
import platform
import sys

from keras_adaptive_rnn import __version__, _backend, _command_line, _hub_options

# Those of keras_rnn_compare.
FORWARDED = ("compare", "predict", "probe")
TEXT = """\
usage: python -m keras_adaptive_rnn compare|predict|probe ...

Which cell for your data, what the best model predicts, and what a cell can do: these are commands of keras-rnn-compare
(needs `pip install "keras_adaptive_rnn[compare]"`), which `keras-rnn-compare --help` describes.

usage: python -m keras_adaptive_rnn.hub COMMAND ...

Language models, from a text file to a preset of KerasHub (needs `pip install "keras_adaptive_rnn[hub]"`):

  train TEXT    train a model on a text for some minutes, and save it as a preset
  write PRESET  let it write
  score PRESET  judge it by another text
  tokens TEXT   tokenize a large text once, into a file that training reads from the disk

`python -m keras_adaptive_rnn.hub COMMAND --help` lists the options, and `python -m keras_adaptive_rnn --version` shows
which versions run. The variable KERAS_BACKEND chooses jax, tensorflow
or torch.
"""


def command():
    """Returns the module of this package that `python -m` runs, and its arguments, or `None`.

    `python -m` imports this package before it runs a module of it. Until then, `sys.argv` begins with `-m`, and the
    name of the module is only in the other list.
    """
    if sys.argv[:1] != ["-m"]:
        return None
    module = sys.orig_argv[-len(sys.argv)]
    return (module, sys.argv[1:]) if module in ("keras_adaptive_rnn", "keras_adaptive_rnn.hub") else None


def check_before_keras():
    """Ends the process if it runs a command that only shows a text, or that cannot begin."""
    if found := command():
        module, arguments = found
        if arguments[:1] == ["--version"]:
            print(versions())
            sys.exit()
        if module == "keras_adaptive_rnn.hub":
            _hub_options.check_command(arguments)
        else:
            forwarded(arguments).parse(arguments)


def versions():
    """Returns the versions of this package and of what it may run on, one a line."""
    found = {"keras_adaptive_rnn": __version__, "Keras": importlib.metadata.version("keras")}
    for name, title in _backend.NAMES.items():
        # A package without metadata is not installed.
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[title] = importlib.metadata.version(name)
    found["Python"] = platform.python_version()
    return "\n".join(f"{title} {version}" for title, version in found.items())


def import_keras():
    """Imports Keras for a command, without what TensorFlow logs meanwhile."""
    if _backend.is_command():
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        with _command_line.without_logs():
            # On every backend, Keras imports TensorFlow to seed it, if it is there.
            importlib.import_module("keras").utils.set_random_seed(0)


def forwarded(arguments):
    """Returns the module that has the command which is named, or shows the commands and ends the process."""
    if arguments and arguments[0] in FORWARDED:
        if importlib.util.find_spec("keras_rnn_compare") is None:
            sys.exit(
                f"error: `{arguments[0]}` is in a package of its own. Install it with: "
                'pip install "keras_adaptive_rnn[compare]"'
            )
        return importlib.import_module("keras_rnn_compare.cli")
    if arguments[:1] == ["hub"]:
        sys.exit(
            f"error: this is a command of its own: {' '.join(['python -m keras_adaptive_rnn.hub', *arguments[1:]])}"
        )
    print(TEXT, end="")
    if arguments and arguments[0] not in ("-h", "--help"):
        sys.exit(f"\nerror: there is no command {arguments[0]}")
    sys.exit()
