"""The grid LSTM over data of two and more dimensions."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import maps
from tests import exporting
from tests import reference as ref
from tests.backends import in_turns, nightly
from tests.test_reference import randomized

pytestmark = in_turns

Layer = kar.layers.MultidimensionalGridLSTM
IMAGE = (2, 4, 3, 5)


def numpy(x):
    return ops.convert_to_numpy(x)


def randomized_layer(layer, shape, rng):
    """Builds a layer; returns its weights by name."""
    layer.build((None, *shape[1:]))
    return ref.inside(randomized(layer.cell, rng), layer.cell.path)


@pytest.mark.parametrize(
    ("shape", "options"),
    [
        (IMAGE, {}),
        (IMAGE, {"depth": 3}),
        (IMAGE, {"depth": 3, "tied": True}),
        ((2, 3, 4, 2, 5), {"depth": 2}),
        ((1, 2, 1, 3, 2, 5), {}),
        ((3, 1, 1, 5), {}),
    ],
    ids=str,
)
def test_every_point_is_its_equations(shape, options, rng):
    layer = Layer(4, len(shape) - 2, return_sequences=True, **options)
    weights, x = randomized_layer(layer, shape, rng), rng.normal(size=shape)
    expected = ref.multidimensional_grid(weights, x, **options)
    np.testing.assert_allclose(numpy(layer(x.astype("float32"))), expected, rtol=1e-5, atol=1e-5)
    last = Layer(4, len(shape) - 2, **options)
    last.build(shape)
    last.set_weights(layer.get_weights())
    corner = expected[(slice(None), *[-1] * (len(shape) - 2))]
    np.testing.assert_allclose(numpy(last(x.astype("float32"))), corner, rtol=1e-5, atol=1e-5)


def test_gradients_are_those_of_the_equations(rng):
    layer = Layer(3, depth=2)
    weights, x = randomized_layer(layer, (2, 3, 2, 2), rng), rng.normal(size=(2, 3, 2, 2))

    def loss(weights, x):
        return np.square(ref.multidimensional_grid(weights, x, depth=2)[:, -1, -1]).sum()

    value, by_variable, (by_input,) = kar.engine.gradients(
        lambda x: ops.sum(ops.square(layer(x))), layer.trainable_variables, [x.astype("float32")]
    )
    assert value == pytest.approx(loss(weights, x), rel=1e-4)
    for tensor, gradient, changed in (
        (x, by_input, lambda moved: loss(weights, moved)),
        *(
            (weights[name], gradient, lambda moved, name=name: loss({**weights, name: moved}, x))
            for name, gradient in zip(weights, by_variable, strict=True)
        ),
    ):
        direction = rng.normal(size=tensor.shape)
        slope = (changed(tensor + 1e-5 * direction) - changed(tensor - 1e-5 * direction)) / 2e-5
        np.testing.assert_allclose(np.sum(gradient * direction), slope, rtol=1e-3, atol=1e-4)


def test_a_point_sees_what_lies_before_it_and_nothing_else(rng):
    layer = Layer(4, return_sequences=True)
    randomized_layer(layer, IMAGE, rng)
    x = rng.normal(size=IMAGE).astype("float32")
    changed = x.copy()
    changed[:, 1, 1] += 1
    moved = np.abs(numpy(layer(changed)) - numpy(layer(x))).max(axis=(0, -1)) > 1e-6
    expected = np.zeros((4, 3), bool)
    expected[1:, 1:] = True
    np.testing.assert_array_equal(moved, expected)


def test_options_of_the_lstms(rng):
    layer = Layer(4, tied_gates=True, layer_normalization=True, recurrent_map=maps.LowRank(2), activation="relu")
    x = rng.normal(size=IMAGE).astype("float32")
    assert np.isfinite(numpy(layer(x))).all()
    assert len({tuple(w.shape) for w in layer.weights if w.path.endswith("/right")}) == 1
    assert layer.cell.cells[2].tied_gates


@pytest.mark.parametrize("name", ["dropout", "recurrent_dropout"])
def test_a_sample_has_one_mask(name, rng):
    layer = Layer(4, return_sequences=True, seed=3, **{name: 0.5})
    weights = randomized_layer(layer, (8, 3, 3, 5), rng)
    x = np.repeat(rng.normal(size=(1, 3, 3, 5)), 8, axis=0)
    trained = numpy(layer(x.astype("float32"), training=True))
    assert not np.allclose(trained[0], trained[1])
    assert not np.allclose(trained, numpy(layer(x.astype("float32"))))
    if name == "dropout":
        # Some mask of the five features, the same at every point, explains all of a sample.
        masks = 2.0 * np.stack(np.unravel_index(np.arange(32), [2] * 5), axis=-1)
        of_masks = ref.multidimensional_grid(weights, x[:1] * masks[:, None, None])
        for sample in trained:
            assert np.abs(of_masks - sample).max(axis=(1, 2, 3)).min() < 1e-5


def test_saving_and_predicting(tmp_path, rng):
    inputs = keras.Input((4, 3, 5))
    grid = Layer(4, depth=2, return_sequences=True, kernel_initializer="he_normal")
    model = keras.Model(inputs, keras.layers.GlobalAveragePooling2D()(grid(inputs)))
    x = rng.normal(size=(7, 4, 3, 5)).astype("float32")
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert grid.get_config() == loaded.layers[1].get_config()
    for size in (3, 7):
        np.testing.assert_allclose(loaded.predict(x, batch_size=size, verbose=0), numpy(model(x)), rtol=1e-5, atol=1e-6)


EXPORTED = {
    "tensorflow": ("tf_saved_model", "litert"),
    "jax": ("tf_saved_model", "onnx"),
    "torch": ("onnx", pytest.param("openvino", marks=nightly)),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("format", EXPORTED[keras.backend.backend()])
def test_a_file(format, tmp_path, rng):
    exporting.skip_without(format)
    model = keras.Sequential([keras.Input((3, 2, 5)), Layer(4, return_sequences=True), Layer(3)])
    x = rng.normal(size=(2, 3, 2, 5)).astype("float32")
    path = tmp_path / f"model{exporting.SUFFIXES[format]}"
    exporting.export(model, path, format, x.shape)
    np.testing.assert_allclose(exporting.run(path, format, x), model.predict(x, verbose=0), atol=1e-5)


def test_mixed_precision(rng):
    x = rng.normal(size=IMAGE).astype("float32")
    precise, half = Layer(4, return_sequences=True), Layer(4, return_sequences=True, dtype="mixed_bfloat16")
    for layer in (precise, half):
        layer.build(IMAGE)
    half.set_weights(precise.get_weights())
    assert {keras.backend.standardize_dtype(w.dtype) for w in half.weights} == {"float32"}
    output = half(x)
    assert keras.backend.standardize_dtype(output.dtype) == "bfloat16"
    np.testing.assert_allclose(numpy(ops.cast(output, "float32")), numpy(precise(x)), atol=0.03)


def test_it_learns_which_line_is_bright(rng):
    """A cross of a bright row and a bright column: the class is whether it is above and left of the middle."""
    keras.utils.set_random_seed(0)
    rows, columns = rng.integers(0, 4, (2, 512))
    x = 0.1 * rng.normal(size=(512, 4, 4, 1)).astype("float32")
    x[np.arange(512), rows] += 1
    x[np.arange(512), :, columns] += 1
    y = (rows < 2) == (columns < 2)
    model = keras.Sequential([keras.Input((4, 4, 1)), Layer(8), keras.layers.Dense(1, activation="sigmoid")])
    model.compile(keras.optimizers.Adam(0.02), "binary_crossentropy", metrics=["accuracy"])
    model.fit(x[:384], y[:384], epochs=30, batch_size=64, verbose=0)
    assert model.evaluate(x[384:], y[384:], verbose=0)[1] > 0.9


@pytest.mark.parametrize(
    ("call", "error", "parts"),
    [
        (lambda: Layer(0), ValueError, ["`units`", "units=0"]),
        (lambda: Layer(4, dimensions=1), ValueError, ["`dimensions`", "dimensions=1", "at least 2"]),
        (lambda: Layer(4, depth=0), ValueError, ["`depth`", "depth=0"]),
        (lambda: Layer(4, return_sequences="all"), TypeError, ["`return_sequences`", "'all'"]),
        (lambda: Layer(4, update_dropout=0.5), TypeError, ["`update_dropout`"]),
        (lambda: Layer(4, trainable_initial_state=True), TypeError, ["`trainable_initial_state`"]),
        (lambda: Layer(4)(np.ones((2, 4, 3))), ValueError, ["dimensions=2", "d_1, d_2", "(2, 4, 3)"]),
        (lambda: Layer(4)(keras.Input((None, 3, 5))), ValueError, ["known size", "(None, None, 3, 5)"]),
        (lambda: Layer(4)(np.ones(IMAGE), mask=np.ones(IMAGE[:3], "bool")), ValueError, ["mask", "(2, 4, 3)"]),
    ],
)
def test_errors(call, error, parts):
    with pytest.raises(error) as caught:
        call()
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize("return_sequences", [False, True])
def test_an_empty_batch(return_sequences):
    layer = Layer(4, return_sequences=return_sequences)
    shape = (0, 3, 2, 4) if return_sequences else (0, 4)
    assert tuple(layer(np.zeros((0, 3, 2, 5), "float32")).shape) == shape


@pytest.mark.parametrize("sizes", [(0, 3), (3, 0), (3, None)])
def test_a_grid_without_points_is_refused(sizes):
    with pytest.raises(ValueError, match=r"known size of at least 1. Received: input shape \(None, "):
        Layer(4)(keras.Input((*sizes, 5)))
