"""Writes a tiny `.keras` file of every cell, layer and model that has none yet: `python -m tests.frozen.freeze`.

A file is written once, when its cell is first released, and never again: users hold files like it. A change that makes
one unreadable is a break of the format.
"""

import json
import pathlib

import keras
import numpy as np

import keras_adaptive_rnn as kar
from tests.table import CELLS, LAYERS, MODELS, OPTIONS

FOLDER = pathlib.Path(__file__).parent
PRESET = FOLDER / "hub_preset"
INPUT_SHAPE = (2, 3, 4)


def models():
    """Returns a function that makes the layer or model to freeze, by the file's name."""
    cells = CELLS | OPTIONS
    layers = {f"cell_{name}": lambda make=make: kar.RNN(make(), return_sequences=True) for name, make in cells.items()}
    layers |= {f"layer_{name}": make for name, make in LAYERS.items()}
    layers |= {f"{mode}_mogrifier": lambda: kar.layers.Mogrifier([7, 7], rank=3) for mode in ("int8", "int4")}
    return layers | {f"model_{name}": make for name, make in MODELS.items()}


def freeze():
    rng = np.random.default_rng(0)
    for name, make in models().items():
        path = FOLDER / f"{name}.keras"
        if path.exists():
            continue
        inputs = rng.normal(size=INPUT_SHAPE).astype("float32")
        if name.startswith("model_"):
            model, inputs = make(), rng.integers(0, 9, size=(4, 12))
            model.build(inputs.shape)
        else:
            model = keras.Sequential([keras.Input((None, INPUT_SHAPE[-1])), make()])
        model.set_weights([0.3 * rng.normal(size=w.shape) for w in model.weights])
        if name.startswith("int"):
            model.quantize(name[:4])
        model.save(path)
        np.savez(path.with_suffix(".npz"), inputs=inputs, outputs=model.predict(inputs, verbose=0))
        print(f"froze {path.name}")
    freeze_preset()


def freeze_preset():
    """Writes the preset of a language model, and what it writes from two prompts."""
    from tests.cross.worker import greedy_text, language_model

    if not PRESET.exists():
        lm = language_model()
        lm.save_to_preset(PRESET)
        (PRESET / "text.json").write_text(json.dumps(greedy_text(lm)))
        print(f"froze {PRESET.name}")


if __name__ == "__main__":
    freeze()
