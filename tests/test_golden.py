"""Outputs, states and gradients of other people's implementations (see golden/README.md)."""

import json
import os
import pathlib

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import engine
from tests.golden_layouts import FEED_FORWARD, LAYOUTS

FOLDER = pathlib.Path(os.environ.get("KAR_GOLDEN_DIR", pathlib.Path(__file__).parent / "golden"))
FILES = sorted(FOLDER.glob("*.npz"))


def test_the_folder_has_files():
    assert FILES, f"no .npz file in {FOLDER}"


def read_meta(path):
    return json.loads(str(np.load(path)["meta"]))


RECURRENT = [path for path in FILES if read_meta(path)["system"] not in FEED_FORWARD]
OTHERS = [path for path in FILES if path not in RECURRENT]


@pytest.mark.parametrize("rnn", [kar.RNN, keras.layers.RNN], ids=["ours", "keras"])
@pytest.mark.parametrize("path", RECURRENT, ids=lambda path: path.stem)
def test_golden(path, rnn):
    check(path, lambda cell: rnn(cell, return_sequences=True, return_state=True))


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
def test_golden_layer(path):
    check(path, lambda layer: layer)


def check(path, wrap):
    data, meta = np.load(path), read_meta(path)
    assert meta["system"] in LAYOUTS, f"unknown system {meta['system']!r}: add it to tests/golden_layouts.py"
    golden = LAYOUTS[meta["system"]](data, meta["config"])
    layer = wrap(golden.cell)
    layer.build(data["x"].shape)
    golden.cell.set_weights([w.astype("float32") for w in golden.weights])
    states = [data[f"s0.{name}"] for name in golden.states]
    training = bool(golden.masks)
    for cell, masks in golden.masks:
        cell._noise.given.update({name: mask.astype("float32") for name, mask in masks.items()})

    def forward(x, *states):
        if not states:
            return [layer(x)]
        return layer(x, initial_state=list(states), training=training)

    def loss(x, *states):
        return keras.ops.sum(keras.ops.square(forward(x, *states)[0]))

    tensors = [array.astype("float32") for array in (data["x"], *states)]
    outputs, *last = forward(*tensors)
    close(outputs, data["y"], "outputs")
    for name, state in zip(golden.states, last, strict=True):
        close(state, data[f"s1.{name}"], f"state {name}")
    variables = golden.cell.trainable_variables
    value, by_variable, by_tensor = engine.gradients(loss, variables, tensors)
    close(value, data["loss"], "loss")
    for name, gradient in zip(["x", *(f"s0.{name}" for name in golden.states)], by_tensor, strict=True):
        close(gradient, data[f"g.{name}"], f"gradient of {name}")
    for variable, gradient, expected in zip(variables, by_variable, golden.gradients, strict=True):
        close(gradient, expected, f"gradient of {variable.path}")


def close(ours, theirs, what):
    np.testing.assert_allclose(keras.ops.convert_to_numpy(ours), theirs, rtol=1e-5, atol=1e-5, err_msg=what)
