"""Outputs, states and gradients of other people's implementations (see golden/README.md)."""

import contextlib
import json
import os
import pathlib

import keras
import numpy as np
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import engine
from keras_adaptive_rnn._keras import flatten_layers
from keras_adaptive_rnn.testing import given_noise
from tests.backends import dealt
from tests.golden.layouts import FEED_FORWARD, LAYOUTS

FOLDER = pathlib.Path(os.environ.get("KAR_GOLDEN_DIR", pathlib.Path(__file__).parent / "golden"))
FILES = sorted(FOLDER.glob("*.npz"))
# Systems that compute no outputs: weights before and after an initialization, in tests/test_lsuv.py.
ELSEWHERE = {"lsuv"}


def test_the_folder_has_files():
    assert FILES, f"no .npz file in {FOLDER}"


def read_meta(path):
    return json.loads(str(np.load(path)["meta"]))


RECURRENT = [path for path in FILES if read_meta(path)["system"] not in FEED_FORWARD | ELSEWHERE]
OTHERS = [path for path in FILES if read_meta(path)["system"] in FEED_FORWARD]


@pytest.mark.parametrize("path", dealt(RECURRENT), ids=lambda path: path.stem)
def test_golden(path):
    check(path, lambda cell: kar.RNN(cell, return_sequences=True, return_state=True))


# That both loops agree is tested of every cell; here the first file of each system.
@pytest.mark.parametrize(
    "path", dealt({read_meta(p)["system"]: p for p in RECURRENT[::-1]}.values()), ids=lambda p: p.stem
)
def test_golden_in_the_loop_of_keras(path):
    check(path, lambda cell: keras.layers.RNN(cell, return_sequences=True, return_state=True))


@pytest.mark.parametrize("path", OTHERS, ids=lambda path: path.stem)
def test_golden_layer(path):
    check(path, lambda layer: layer)


def check(path, wrap):
    data, meta = np.load(path), read_meta(path)
    assert meta["system"] in LAYOUTS, f"unknown system {meta['system']!r}: add it to tests/golden/layouts"
    golden = LAYOUTS[meta["system"]](data, {**meta["config"], "name": meta["name"]})
    layer = wrap(golden.cell)
    layer.build(golden.inputs.shape)
    golden.cell.set_weights([w.astype("float32") for w in golden.weights])
    training = bool(golden.masks)
    # A state that the source does not have: whatever it is, it must change nothing.
    sizes = keras.tree.flatten(getattr(golden.cell, "state_size", []))
    states = [
        np.full((len(data["x"]), size), 0.5) if name is None else data[f"s0.{name}"]
        for name, size in zip(golden.states, sizes, strict=False)
    ]

    def forward(x, *states):
        if golden.dropped_states:
            return first_step_apart(layer, x, list(states))
        if layer is golden.cell:
            return [layer(x)]
        return layer(x, initial_state=list(states) or None, training=training)

    def loss(x, *states):
        return keras.ops.sum(keras.ops.square(forward(x, *states)[0]))

    tensors = [keras.ops.convert_to_tensor(array.astype("float32")) for array in (golden.inputs, *states)]
    variables = golden.cell.trainable_variables
    with contextlib.ExitStack() as stack:
        for drawer, masks in golden.masks:
            stack.enter_context(given_noise(drawer, **{n: mask.astype("float32") for n, mask in masks.items()}))
        outputs, *last = forward(*tensors)
        value, by_variable, by_tensor = engine.gradients(loss, variables, tensors)
    close(outputs, data["y"], "outputs")
    for name, state in zip(golden.states, last[: len(golden.states)], strict=True):
        if name is not None:
            state = keras.ops.convert_to_numpy(state) * golden.dropped_states.get(name, 1.0)
            close(state, data[f"s1.{name}"], f"state {name}")
    close(value, data["loss"], "loss")
    close(by_tensor[0][..., : data["x"].shape[-1]], data["g.x"], "gradient of x")
    for name, gradient in zip(golden.states, by_tensor[1:], strict=True):
        if name is not None and name not in golden.ties:
            close(gradient, data[f"g.s0.{name}"], f"gradient of state {name}")
    # Those that the source does not have are NaN, and there must be few.
    known = [np.isfinite(expected) for expected in golden.gradients]
    assert sum(k.all() for k in known) >= len(known) / 2
    for variable, gradient, expected, k in zip(variables, by_variable, golden.gradients, known, strict=True):
        gradient = np.zeros(variable.shape) if gradient is None else gradient
        close(gradient[k], expected[k], f"gradient of {variable.path}")


@pytest.mark.parametrize("path", [p for p in FILES if "seq.update_gate" in np.load(p)], ids=lambda path: path.stem)
def test_golden_decisions(path):
    data, meta = np.load(path), read_meta(path)
    golden = LAYOUTS[meta["system"]](data, {**meta["config"], "name": meta["name"]})
    layer = kar.RNN(golden.cell, return_decisions=True)
    layer.build(golden.inputs.shape)
    golden.cell.set_weights([w.astype("float32") for w in golden.weights])
    states = [data[f"s0.{name}"].astype("float32") for name in golden.states]
    _, decisions = layer(golden.inputs.astype("float32"), initial_state=states)
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(decisions), data["seq.update_gate"][..., 0])


def first_step_apart(layer, x, states):
    """Runs a layer whose source drops a state when it is computed: the initial state is not dropped."""
    cells = [part for part in flatten_layers(layer.cell) if isinstance(part, kar.cells.Cell)]
    with contextlib.ExitStack() as stack:
        for cell in cells:

            def drop(t, *rest, usual=cell.drop):
                return t if any(t is state for state in states) else usual(t, *rest)

            cell.__dict__["drop"] = drop
            stack.callback(cell.__dict__.pop, "drop")
        output, states = layer.cell.call(x[:, 0], states, True)
    outputs, *last = layer(x[:, 1:], initial_state=states, training=True)
    return keras.ops.concatenate([output[:, None], outputs], axis=1), *last


def close(ours, theirs, what):
    # Two NaN would be equal.
    assert np.isfinite(theirs).all(), what
    np.testing.assert_allclose(keras.ops.convert_to_numpy(ours), theirs, rtol=1e-5, atol=1e-5, err_msg=what)
