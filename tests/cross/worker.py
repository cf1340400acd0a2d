"""One backend's part of the tests that cross backends: `python -m tests.cross.worker write|read|call FOLDER`.

`write` saves a model of every cell and layer, and every whole model, with its predictions, and numbers to compare.
`read` loads each of them as one of the other backends wrote it, importing no cell but those of the package, and prints
the differences. `call` loads and calls every second one in the folder, or all with every row, on a backend that cannot
train.
"""

import importlib.util
import itertools
import json
import pathlib
import sys

import keras
import numpy as np

import keras_adaptive_rnn as kar
from tests.backends import EVERY_ROW, one_in

INPUT_SHAPE = (2, 5, 4)
TOLERANCE = 1e-5
# It needs a newer Keras than the oldest that the package supports.
HAS_HUB = importlib.util.find_spec("keras_hub") is not None
# The cells that are also tried inside `Bidirectional` and in a stack of Keras: a core, cells of cells, and a count.
WRAPPED = ("lstm", "mogrifier_low_rank", "stacked_adaptive_lstm", "zoneout")


def inputs():
    return np.random.default_rng(0).normal(size=INPUT_SHAPE).astype("float32")


def tokens():
    return np.random.default_rng(0).integers(0, 9, size=(4, 12))


def inputs_of(name):
    return tokens() if name.startswith("model_") else inputs()


def set_weights(model):
    """Gives every weight numbers that depend on its place alone, the same on every backend."""
    rng = np.random.default_rng(1)
    model.set_weights([0.3 * rng.normal(size=w.shape) for w in model.weights])


def cells_of_files():
    """Returns the cells of which files are written: every third one, and those that are tried inside of others."""
    from tests.table import CELLS

    return {**dict(one_in(3, CELLS.items())), **{name: CELLS[name] for name in WRAPPED}}


def layers_of_files():
    """Returns the layers of which files are written: a third, as most are a cell's, which is written, too."""
    from tests.table import LAYERS

    return dict(one_in(3, LAYERS.items()))


def models():
    """Yields a name and the layers of a model: each cell in our `RNN` and in Keras's, some wrapped; each layer."""
    for name, make in cells_of_files().items():
        wrapped = [
            keras.layers.Bidirectional(kar.RNN(make(), return_sequences=True)),
            kar.RNN([make(), make()], return_sequences=True),
        ]
        stateful = kar.RNN(make(), return_sequences=True, stateful=True)
        yield f"cell_{name}", [stateful, *(wrapped if name in WRAPPED else []), keras.layers.RNN(make())]
    for name, make in layers_of_files().items():
        yield f"layer_{name}", [make()]


def language_model():
    """Returns a language model of KerasHub, which crosses backends as a preset."""
    from keras_adaptive_rnn import hub

    tokenizer = hub.VocabularyTokenizer([chr(k) for k in (0xFFFD, *range(97, 123))])
    backbone = hub.RecurrentBackbone(27, 8, [kar.MogrifierCell(8), keras.layers.GRUCell(8)], tie_weights=False)
    lm = hub.RecurrentCausalLM(backbone, hub.RecurrentCausalLMPreprocessor(tokenizer, sequence_length=30))
    rng = np.random.default_rng(1)
    lm.set_weights([rng.normal(size=w.shape) for w in lm.weights])
    return lm


def language_model_with_the_kit():
    """Returns one of token ids with all that AWD-LSTM and a mixture of softmaxes add."""
    from keras_adaptive_rnn import hub

    rates = {"word_dropout": 0.1, "embedding_dropout": 0.4, "output_dropout": 0.4}
    penalties = {"activation_regularization": 2.0, "temporal_regularization": 1.0}
    backbone = hub.RecurrentBackbone(27, 8, [kar.WeightDropLSTMCell(6, dropout=0.2)], **rates, **penalties)
    lm = hub.RecurrentCausalLM(backbone, experts=3, expert_dropout=0.2)
    rng = np.random.default_rng(2)
    lm.set_weights([rng.normal(size=w.shape) for w in lm.weights])
    return lm


def log_probabilities(lm):
    return lm.predict({"token_ids": tokens(), "padding_mask": np.ones_like(tokens())}, verbose=0)


def greedy_text(lm):
    lm.compile(sampler="greedy")
    return lm.generate(["hello", "to"])


def write(folder):
    from tests.table import CELLS, MODELS

    if HAS_HUB:
        lm = language_model()
        lm.save_to_preset(folder / "preset")
        (folder / "preset.txt").write_text(json.dumps(greedy_text(lm)))
        lm = language_model_with_the_kit()
        lm.save_to_preset(folder / "preset_kit")
        np.save(folder / "preset_kit.npy", log_probabilities(lm))

    for name, layers in models():
        model = keras.Sequential([keras.Input(INPUT_SHAPE[1:], batch_size=INPUT_SHAPE[0]), *layers])
        set_weights(model)
        model.save(folder / f"{name}.keras")
        np.save(folder / f"{name}.npy", model.predict(inputs(), batch_size=INPUT_SHAPE[0], verbose=0))
    for name, make in MODELS.items():
        model = make()
        model.build(tokens().shape)
        set_weights(model)
        model.save(folder / f"model_{name}.keras")
        np.save(folder / f"model_{name}.npy", model.predict(tokens(), verbose=0))
    for name, make in one_in(2, CELLS.items()):
        layer = kar.RNN(make(), return_sequences=True)
        layer.build(INPUT_SHAPE)
        set_weights(layer)
        value, by_variable, by_tensor = kar.engine.gradients(
            lambda x, layer=layer: keras.ops.sum(keras.ops.square(layer(x))), layer.trainable_variables, [inputs()]
        )
        gradients = {f"{k}": g for k, g in enumerate([value, *by_variable, *by_tensor]) if g is not None}
        np.savez(folder / f"{name}.gradients.npz", **gradients)


def read(folder):
    writers = sorted(other for other in folder.parent.iterdir() if other != folder)
    differences = {}
    for writer in writers if HAS_HUB else []:
        from keras_adaptive_rnn import hub

        text = greedy_text(hub.RecurrentCausalLM.from_preset(writer / "preset"))
        differences[f"{writer.name}/preset"] = float(text != json.loads((writer / "preset.txt").read_text()))
        received = log_probabilities(hub.RecurrentCausalLM.from_preset(writer / "preset_kit"))
        differences[f"{writer.name}/preset_kit"] = float(np.abs(received - np.load(writer / "preset_kit.npy")).max())
    # From the two others in turns: each pair of backends meets, in half the time.
    names = sorted(path.name for path in folder.glob("*.keras"))
    pairs = itertools.product(writers, names) if EVERY_ROW else zip(itertools.cycle(writers), names, strict=False)
    for path in itertools.starmap(pathlib.Path.joinpath, pairs):
        model = keras.models.load_model(path)
        received = model.predict(inputs_of(path.stem), batch_size=INPUT_SHAPE[0], verbose=0)
        expected = np.load(path.with_suffix(".npy"))
        differences[f"{path.parent.name}/{path.stem}"] = float(np.abs(received - expected).max())
    print(json.dumps(differences))


def call(folder):
    differences = {}
    for path in one_in(2, sorted(folder.glob("*.keras"))):
        model = keras.models.load_model(path)
        expected = np.load(path.with_suffix(".npy"))
        # OpenVINO predicts in the precision that it prefers.
        received = keras.ops.convert_to_numpy(model(inputs_of(path.stem)))
        differences[path.stem] = float(np.abs(received - expected).max())
    print(json.dumps(differences))


if __name__ == "__main__":
    {"write": write, "read": read, "call": call}[sys.argv[1]](pathlib.Path(sys.argv[2]))
