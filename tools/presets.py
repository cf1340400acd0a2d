"""Trains the preset that comes with the package again: `python -m tools.train_preset [MINUTES]`.

It reads the text of `examples/char_language_model.py`, Python's language reference, with the command line of
`keras_adaptive_rnn.hub`, and keeps the weights in half precision, which halves the file. A run that was stopped goes
on.
"""

import pathlib
import shutil
import sys
import tempfile

from examples.char_language_model import read_text
from keras_adaptive_rnn import hub
from keras_adaptive_rnn.hub.__main__ import main
from keras_adaptive_rnn.hub.presets import TRAINED

ROOT = pathlib.Path(__file__).parent.parent
NAME = "mogrifier_python_reference"
OPTIONS = "--units 200 --dropout 0.2 --round 300 --license PSF-2.0"

if __name__ == "__main__":
    minutes = sys.argv[1] if len(sys.argv) > 1 else "40"
    folder = ROOT / "runs" / "preset"
    folder.mkdir(parents=True, exist_ok=True)
    text = folder / "python_reference.txt"
    if not text.exists():
        text.write_text(read_text(None), encoding="utf-8")
    if not (folder / NAME).exists():
        main(["train", str(text), "--preset", str(folder / NAME), "--minutes", minutes, *OPTIONS.split()])
    lm = hub.RecurrentCausalLM.from_preset(folder / NAME, dtype="float16")
    shutil.rmtree(TRAINED / NAME, ignore_errors=True)
    with tempfile.TemporaryDirectory() as kept:
        lm.save_to_preset(kept)
        shutil.copy(folder / NAME / "README.md", kept)
        shutil.copytree(kept, TRAINED / NAME)
    print(f"{TRAINED / NAME}: {sum(path.stat().st_size for path in (TRAINED / NAME).rglob('*')) / 1e6:.2f} MB")
