"""The page of all options of `keras-rnn-compare`, from its `--help`."""

import os
import subprocess
import sys

COMMANDS = {"Compare": (), "Predict": ("predict",), "Probe": ("probe",)}
HEAD = """\
# Options

The output of `keras-rnn-compare --help`. In Python, an option is an argument of the same name: `--no-memory` is
`memory=False`.
"""


def page():
    """Returns the page, in Markdown."""
    lines = [HEAD]
    for title, words in COMMANDS.items():
        command = [sys.executable, "-m", "keras_rnn_compare", *words, "--help"]
        environment = {**os.environ, "COLUMNS": "90"}
        shown = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
        lines += [f"## {title}", "", f"```text\n{shown}```", ""]
    return "\n".join(lines)
