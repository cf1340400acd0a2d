"""Resets inside a sequence: the pieces of a row give the results, and the gradients, that they give apart."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import engine
from tests import exporting, runtimes
from tests.backends import in_turns

BACKEND = keras.backend.backend()
FORMATS = {"jax": ("onnx",), "tensorflow": ("onnx", "litert", "tf_saved_model"), "torch": ("onnx", "torch")}
TIME = 9
# Where pieces begin: with the sequence, one after the other, under a mask, before masked steps alone, at the end.
STARTS = [(0, 3), (4, 5), (2, 7)]
RESETS = np.array([[t in starts for t in range(TIME)] for starts in STARTS])
MASK = np.array([[0, 1, 1, 0, 0, 1, 1, 0, 0], [1, 1, 0, 1, 1, 0, 0, 1, 1], [1, 1, 0, 1, 1, 1, 1, 0, 0]], bool)
OPTIONS = {"return_sequences": True, "return_state": True}


def stack(make, connection=None):
    return kar.StackedCells([make() for _ in range(4)], connection=connection)


def trained(cell_class=kar.LSTMCell):
    return cell_class(4, trainable_initial_state=True)


LAYERS = {
    "lstm": lambda **o: kar.LSTM(4, trainable_initial_state=True, **o),
    "unrolled": lambda **o: kar.Mogrifier(4, rank=2, unroll=True, **o),
    "recomputed": lambda **o: kar.Mogrifier(4, rank=2, recompute=True, trainable_initial_state=True, **o),
    "keras": lambda **o: kar.RNN([keras.layers.LSTMCell(4), keras.layers.GRUCell(4)], **o),
    "steps": lambda **o: kar.RNN(stack(trained, "skip"), schedule="steps", **o),
    "layers": lambda **o: kar.RNN(stack(trained, "residual"), schedule="layers", **o),
    "wavefront": lambda **o: kar.RNN(stack(trained), schedule="wavefront", **o),
    "deep": lambda **o: kar.DeepRNN(4, depth=4, skip_every=2, schedule="layers", **o),
    "linear_steps": lambda **o: kar.MinGRU(4, trainable_initial_state=True, schedule="steps", **o),
    "linear_scan": lambda **o: kar.MinGRU(4, trainable_initial_state=True, schedule="scan", **o),
    "linear_associative": lambda **o: kar.MinGRU(4, trainable_initial_state=True, schedule="associative", **o),
    "mlstm": lambda **o: kar.MLSTM(4, num_heads=2, trainable_initial_state=True, schedule="scan", **o),
    "delta": lambda **o: kar.GatedDeltaNet(4, num_heads=2, trainable_initial_state=True, schedule="scan", **o),
    "linear_stack": lambda **o: kar.RNN(
        kar.StackedCells([kar.AdaptiveLinearCell(4), trained(kar.MinGRUCell), kar.LSTMCell(4)], connection="skip"),
        schedule="scan",
        **o,
    ),
    "skip": lambda **o: kar.Skip(kar.GRUCell(4), **o),
    "skim": lambda **o: kar.Skim(kar.GRUCell(4), kar.GRUCell(2), **o),
}


def built(make, rng, **options):
    layer = make(**OPTIONS, **options)
    layer.build((None, TIME, 3))
    for weight in layer.trainable_weights:
        weight.assign(0.5 * rng.normal(size=weight.shape))
    return layer


def pieces_of(row, backwards):
    """Returns the slices of a row's pieces, in the order of reading."""
    bounds = sorted({0, *STARTS[row], TIME})
    pieces = [slice(a, b) for a, b in itertools.pairwise(bounds)]
    return pieces[::-1] if backwards else pieces


def value_and_gradients(layer, x, run):
    """Returns the outputs and last states `run(x)`, and the gradients of a sum that weighs each of them."""

    def total(x):
        results = run(x)
        rng = np.random.default_rng(5)
        weights = [rng.normal(size=tuple(each.shape)).astype("float32") for each in results]
        return sum(ops.sum(a * ops.convert_to_tensor(b)) for a, b in zip(results, weights, strict=True))

    return engine.gradients(total, layer.trainable_variables, [x], compiled=True)


@in_turns
@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("mask", [None, MASK], ids=["whole", "masked"])
@pytest.mark.parametrize("name", LAYERS)
def test_pieces_are_as_apart(name, mask, backwards, rng):
    layer = built(LAYERS[name], rng, go_backwards=backwards)
    x = rng.normal(size=(3, TIME, 3)).astype("float32")

    def whole(x):
        return keras.tree.flatten(layer(x, resets=RESETS, mask=mask))

    def apart(x):
        rows = []
        for row in range(3):
            done = [
                keras.tree.flatten(
                    layer(x[row : row + 1, piece], mask=None if mask is None else mask[row : row + 1, piece])
                )
                for piece in pieces_of(row, backwards)
            ]
            rows.append([ops.concatenate([outputs for outputs, *_ in done], axis=1), *done[-1][1:]])
        return [ops.concatenate(parts) for parts in zip(*rows, strict=True)]

    for a, b in zip(whole(x), apart(x), strict=True):
        np.testing.assert_allclose(ops.convert_to_numpy(a), ops.convert_to_numpy(b), atol=1e-5)
    if name == "unrolled":
        return  # Its pieces have other lengths.
    found, expected = (keras.tree.flatten(value_and_gradients(layer, x, run)) for run in (whole, apart))
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-4, rtol=1e-4)


def test_masked_outputs_are_zeros_where_they_are_asked_for(rng):
    layer = built(LAYERS["lstm"], rng, zero_output_for_mask=True)
    x = rng.normal(size=(3, TIME, 3)).astype("float32")
    outputs = ops.convert_to_numpy(layer(x, resets=RESETS, mask=MASK)[0])
    assert not outputs[~MASK].any()
    assert outputs[MASK].all()


def functional(layer, **kwargs):
    x, resets = keras.Input((TIME, 3), name="x", **kwargs), keras.Input((TIME,), dtype="bool", name="resets", **kwargs)
    return keras.Model([x, resets], layer(x, resets=resets))


def test_both_directions(rng, tmp_path):
    x = rng.normal(size=(3, TIME, 3)).astype("float32")
    for merge in ("concat", "sum", "ave", "mul", None):
        layer = kar.Bidirectional(kar.GRU(4, return_sequences=True), merge_mode=merge)
        ahead, back = [
            ops.convert_to_numpy(each(x, resets=RESETS)) for each in (layer.forward_layer, layer.backward_layer)
        ]
        back = back[:, ::-1]
        merged = {"concat": np.concatenate([ahead, back], -1), "sum": ahead + back, "ave": (ahead + back) / 2}
        expected = merged.get(merge, ahead * back if merge else (ahead, back))
        np.testing.assert_allclose(keras.tree.map_structure(ops.convert_to_numpy, layer(x, resets=RESETS)), expected)
    layer = kar.Bidirectional(kar.GRU(4, return_state=True))
    states = [np.ones((3, 4), "float32"), 2 * np.ones((3, 4), "float32")]
    _, ahead, back = layer(x, initial_state=states, resets=RESETS)
    for each, state, found in zip((layer.forward_layer, layer.backward_layer), states, (ahead, back), strict=True):
        expected = each(x, initial_state=[state], resets=RESETS)[1]
        np.testing.assert_allclose(*map(ops.convert_to_numpy, (found, expected)))
    model = functional(kar.Bidirectional(kar.GRU(4)))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(*(m.predict([x, RESETS], verbose=0) for m in (model, loaded)), atol=1e-6)
    with pytest.raises(ValueError, match="needs layers of this package"):
        kar.Bidirectional(keras.layers.GRU(4))(x, resets=RESETS)


def test_both_directions_start_from_given_weights(rng):
    weights = [rng.normal(size=shape) for shape in 2 * [(3, 12), (4, 12), (2, 12)]]
    layer = kar.Bidirectional(kar.GRU(4), weights=weights)
    for _ in range(2):
        layer.build((None, TIME, 3))
        for found, given in zip(layer.get_weights(), weights, strict=True):
            np.testing.assert_allclose(found, given, rtol=1e-6)
        weights = [2 * each for each in weights]
        layer.set_weights(weights)
    with pytest.raises(ValueError, match="forward_gru"):
        kar.Bidirectional(kar.GRU(4, name="gru"), weights=weights[1:]).build((None, TIME, 3))


def test_keras_loop_by_a_cell(rng):
    layer = built(LAYERS["lstm"], rng)
    x = rng.normal(size=(3, TIME, 3)).astype("float32")
    joined = np.concatenate([x, RESETS[..., None]], axis=-1).astype("float32")
    for loop in (keras.layers.RNN, kar.RNN):
        by_cell = loop(kar.ResetCell(layer.cell), **OPTIONS)
        for a, b in zip(by_cell(joined), layer(x, resets=RESETS), strict=True):
            np.testing.assert_allclose(ops.convert_to_numpy(a), ops.convert_to_numpy(b), atol=1e-6)
    with pytest.raises(ValueError, match="at least two features"):
        kar.RNN(kar.ResetCell(kar.LSTMCell(4)))(x[..., :1])


def test_a_stateful_layer(rng):
    layer = built(LAYERS["lstm"], rng)
    x = rng.normal(size=(3, TIME, 3)).astype("float32")
    stateful = kar.RNN(layer.cell, stateful=True, return_sequences=True)
    model = functional(stateful, batch_size=3)
    # Of another length than the model says: its batches are parts of a sequence.
    parts = [stateful(x[:, part], resets=RESETS[:, part]) for part in (slice(5), slice(5, None))]
    parts = np.concatenate([ops.convert_to_numpy(part) for part in parts], axis=1)
    np.testing.assert_allclose(parts, ops.convert_to_numpy(layer(x, resets=RESETS)[0]), atol=1e-6)
    stateful.reset_state()
    predicted = model.predict([x, RESETS], batch_size=3, verbose=0)
    np.testing.assert_allclose(predicted, parts, atol=1e-6)


def test_noise_is_shared_by_the_pieces_of_a_row(rng):
    layer = built(lambda **o: kar.LSTM(4, dropout=0.5, recurrent_dropout=0.5, **o), rng)
    x = np.tile(rng.normal(size=(1, 3, 3)), (2, 3, 1)).astype("float32")
    resets = np.tile([[True, False, False] * 3], (2, 1))
    outputs = ops.convert_to_numpy(layer(x, resets=resets, training=True)[0])
    np.testing.assert_allclose(outputs[:, 3:6], outputs[:, :3], atol=1e-6)
    assert not np.allclose(outputs[0], outputs[1])


def test_models_train_and_predict(rng):
    x = rng.normal(size=(3, TIME, 3)).astype("float32")
    model = functional(kar.Mogrifier(4, rank=2))
    model.compile("adam", "mse")
    assert np.isfinite(model.fit([x, RESETS], np.ones((3, 4)), epochs=2, verbose=0).history["loss"]).all()
    eager = ops.convert_to_numpy(model([x, RESETS.astype("int32")]))
    np.testing.assert_allclose(model.predict([x, RESETS], verbose=0), eager, atol=1e-6)


@pytest.mark.filterwarnings("ignore")  # Converters warn of themselves.
@pytest.mark.parametrize("format", FORMATS[BACKEND])
@pytest.mark.parametrize("name", ["lstm", "delta"])
def test_files(name, format, rng, tmp_path):
    exporting.skip_without(format)
    # One input, as all that runs files here feeds one.
    inputs = keras.Input((TIME, 4))
    options = {"return_sequences": True}
    outputs = LAYERS[name](**options)(inputs[..., :3], resets=inputs[..., 3] > 0.5)
    model = keras.Model(inputs, outputs)
    x = np.concatenate([rng.normal(size=(3, TIME, 3)), RESETS[..., None]], axis=-1).astype("float32")
    path = tmp_path / f"model{exporting.SUFFIXES[format]}"
    exporting.export(model, path, format, (3, TIME, 4))
    np.testing.assert_allclose(exporting.run(path, format, x), model.predict(x, verbose=0), atol=1e-5)


def test_single_steps(rng):
    x = rng.normal(size=(3, TIME, 3)).astype("float32")
    model = functional(built(LAYERS["lstm"], rng))
    step = kar.step_model(model, 3)
    states = runtimes.zero_states(step)
    for t in range(TIME):
        found = step.predict_on_batch({"x": x[:, t], "resets": RESETS[:, t], **states})
        states = {name: found[f"next_{name}"] for name in states}
    expected = model.predict([x, RESETS], verbose=0)
    np.testing.assert_allclose(found["output_0"], expected[0][:, -1], atol=1e-5)
    np.testing.assert_allclose(found["output_1"], expected[1], atol=1e-5)


@pytest.mark.parametrize(
    ("resets", "message"),
    [
        (
            RESETS[:, :-1],
            r"`resets` of layer 'own' must have the shape \(batch, time\).* \(3, 9\). Received: .*\(3, 8\)",
        ),
        (RESETS.T, "axes are swapped"),
        (RESETS[0], r"Received: shape \(9,\)"),
    ],
)
def test_resets_that_do_not_fit(resets, message, rng):
    layer = kar.LSTM(4, name="own")
    with pytest.raises(ValueError, match=message):
        layer(np.ones((3, TIME, 3), "float32"), resets=resets)


def test_resets_of_a_step_that_do_not_fit():
    layer = kar.LSTM(4, name="own")
    layer.build((None, None, 3))
    with pytest.raises(ValueError, match=r"`resets` of layer 'own' must have the shape \(batch,\).* \(3,\).*\(2,\)"):
        layer.step(np.ones((3, 3), "float32"), None, np.ones(2, bool))
