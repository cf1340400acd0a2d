"""The model of the live page, as a file of one time step that the reader's browser runs."""

import contextlib
import io
import json
import pathlib
import warnings

import keras
import numpy as np

from keras_adaptive_rnn import export_step, hub

PRESET = "mogrifier_python_reference"
# English of the kind that the model was trained on.
SAMPLE = """The keyword "class" starts the definition of a class.  Its name is bound in the enclosing
scope, as soon as the whole suite has run without an exception (see section "Naming and binding").
"""


def write(folder):
    """Writes `model.onnx` and `vocabulary.json` into a new folder."""
    folder.mkdir(parents=True)
    lm = hub.RecurrentCausalLM.from_preset(PRESET)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")  # Keras's own, about NumPy.
        export_step(lm, folder / "model.onnx", format="onnx", verbose=False)
    tokenizer = lm.preprocessor.tokenizer
    vocabulary = {"tokens": tokenizer.get_vocabulary(), "unknown": tokenizer.unknown_token_id, "orders": orders(lm)}
    (folder / "vocabulary.json").write_text(json.dumps(vocabulary))


def orders(lm):
    """Returns the units of each layer, the slowest first, so that a heat map of them shows more than noise."""
    text = pathlib.Path(__file__).with_name("live.py").read_text() + SAMPLE * 4
    found = lm.preprocessor.generate_preprocess([text], sequence_length=len(text))
    recurrent = [layer.output for layer in lm.backbone.layers if layer.name.startswith("recurrent_")]
    states = [output[0] if isinstance(output, (list, tuple)) else output for output in recurrent]
    sequences = keras.Model(lm.backbone.input, states).predict(found, verbose=0)
    changes = [np.abs(np.diff(h[0], axis=0)).mean(0) / h[0].std(0) for h in sequences]
    return [np.argsort(change).tolist() for change in changes]
