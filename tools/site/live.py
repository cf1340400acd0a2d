"""The model of the live page, as a file of one time step that the reader's browser runs."""

import contextlib
import io
import json
import warnings

from keras_adaptive_rnn import export_step, hub

PRESET = "mogrifier_python_reference"


def write(folder):
    """Writes `model.onnx` and `vocabulary.json` into a new folder."""
    folder.mkdir(parents=True)
    lm = hub.RecurrentCausalLM.from_preset(PRESET)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")  # Keras's own, about NumPy.
        export_step(lm, folder / "model.onnx", format="onnx", verbose=False)
    tokenizer = lm.preprocessor.tokenizer
    vocabulary = {"tokens": tokenizer.get_vocabulary(), "unknown": tokenizer.unknown_token_id}
    (folder / "vocabulary.json").write_text(json.dumps(vocabulary))
