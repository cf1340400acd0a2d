"""Trains presets of the package, and uploads those that come with it.

    python -m tools.presets train [NAME] [--minutes 30]
    python -m tools.presets upload hf://OWNER       # or kaggle://OWNER

Each reads the text of `examples/char_language_model.py`, Python's language reference, with the command line of
`keras_adaptive_rnn.hub`, and keeps its weights in half precision, which halves the file; `trained/README.md` there
lists them. A run that was stopped goes on. An upload needs `huggingface-cli login`, or Kaggle's credentials, and makes
a model of each preset's name.
"""

import argparse
import pathlib
import shutil
import tempfile

from examples.char_language_model import read_text
from keras_adaptive_rnn import hub
from keras_adaptive_rnn.hub import __main__ as commands
from keras_adaptive_rnn.hub.presets import TRAINED

RUNS = pathlib.Path(__file__).parents[1] / "runs" / "preset"
OPTIONS = ["--dropout", "0.2", "--round", "300", "--license", "PSF-2.0"]
CELLS = {
    "mogrifier": "--cell mogrifier --units 200",
    "lstm": "--cell lstm --units 219",
    "low_rank_gru": "--cell low_rank_gru --units 300 --set rank=64",
    "adaptive_linear": "--cell adaptive_linear --units 320",
}
DEFAULT = "mogrifier_python_reference"
NAMES = {f"{cell}_python_reference": options.split() for cell, options in CELLS.items()}


def train(name, minutes):
    """Trains a preset, and puts it where the package looks for it."""
    RUNS.mkdir(parents=True, exist_ok=True)
    text = RUNS / "python_reference.txt"
    if not text.exists():
        text.write_text(read_text(None), encoding="utf-8")
    if not (RUNS / name).exists():
        target = ["--preset", str(RUNS / name), "--minutes", str(minutes)]
        commands.main(["train", str(text), *target, *NAMES[name], *OPTIONS])
    lm = hub.RecurrentCausalLM.from_preset(RUNS / name, dtype="float16")
    shutil.rmtree(TRAINED / name, ignore_errors=True)
    with tempfile.TemporaryDirectory() as kept:
        lm.save_to_preset(kept)
        shutil.copy(RUNS / name / "README.md", kept)
        shutil.copytree(kept, TRAINED / name)
    print(f"{TRAINED / name}: {sum(path.stat().st_size for path in (TRAINED / name).rglob('*')) / 1e6:.2f} MB")


def upload(owner):
    """Uploads every preset that comes with the package."""
    for folder in sorted(path for path in TRAINED.iterdir() if path.is_dir()):
        variation = "/keras/characters" if owner.startswith("kaggle://") else ""
        address = f"{owner.rstrip('/')}/{folder.name}{variation}"
        hub.upload_preset(address, folder)
        print(address, flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parts = parser.add_subparsers(dest="command", required=True)
    part = parts.add_parser("train")
    part.add_argument("name", nargs="?", choices=NAMES, default=DEFAULT, metavar="NAME", help=", ".join(NAMES))
    part.add_argument("--minutes", type=float, default=30.0)
    parts.add_parser("upload").add_argument("owner", help="hf://OWNER or kaggle://OWNER")
    options = parser.parse_args(arguments)
    if options.command == "upload":
        upload(options.owner)
    else:
        train(options.name, options.minutes)


if __name__ == "__main__":
    main()
