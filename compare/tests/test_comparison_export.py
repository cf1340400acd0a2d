"""The file with one time step of the best model: over a window, it ends with what the model predicts."""

import importlib.util
import json

import keras
import numpy as np
import pytest

from keras_adaptive_rnn.one_step import file
from keras_rnn_compare import Comparison
from keras_rnn_compare.cli import main
from keras_rnn_compare.reporting.comparison import NEEDS
from tests import exporting, runtimes

pytestmark = [pytest.mark.filterwarnings("ignore")]

BACKEND = keras.backend.backend()
FORMATS = [format for format in ("onnx", "litert") if format in file.FORMATS[BACKEND]]
SMALL = "--cells lstm,gru --weights 300 --trials 1 --seeds 1 --minutes 0.02 --no-memory"


def forecast(folder):
    rows = [f"{k},{5000 + 300 * np.sin(k / 4):.3f}" for k in range(200)]
    (folder / "old.csv").write_text("\n".join(["t,load", *rows]))
    return f"{folder / 'old.csv'} --target load --time t --steps 6"


def classes(folder):
    x = np.random.default_rng(0).normal(loc=30, scale=5, size=(80, 5, 2))
    np.savez(folder / "old.npz", x=x, y=x[:, 0, 0] > 30)
    return str(folder / "old.npz")


def text(folder):
    (folder / "old.txt").write_text("a text of words, again and again. " * 200)
    return f"{folder / 'old.txt'} --steps 20"


def window_of(model, rng):
    """Returns a window like those that the model has learned from."""
    if model.inputs[0].dtype == "int32":
        return rng.integers(model.layers[0].input_dim, size=(1, 12)).astype("int32")
    normalization = model.layers[0]
    mean, variance = (keras.ops.convert_to_numpy(x)[0, 0] for x in (normalization.mean, normalization.variance))
    return (mean + np.sqrt(variance) * rng.normal(size=(1, 12, len(mean)))).astype("float32")


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("data", [forecast, classes, text])
def test_a_step_ends_with_what_the_best_model_predicts(data, format, tmp_path, capsys):
    exporting.skip_without(format)
    out = tmp_path / "out"
    main(["compare", *data(tmp_path).split(), *SMALL.split(), "--output", str(out), "--export", format])
    path = out / f"best_step{exporting.SUFFIXES[format]}"
    assert f"{path}\n" in capsys.readouterr().out
    model = Comparison(out).best_model()
    window = window_of(model, np.random.default_rng(0))
    expected = model.predict(window, verbose=0)
    units = json.loads((out / "results.json").read_text())["rows"][0]["units"]
    run = runtimes.load(path, format)
    names = ["state_0", "state_1"] if Comparison(out).winner == "lstm" else ["state_0"]
    found = runtimes.read(run, window, {name: np.zeros((1, units), "float32") for name in names})["output"]
    found = found if data is text else found[:, -1]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.every_backend
@pytest.mark.parametrize("format", FORMATS)
def test_what_cannot_be_written_is_told_before_the_training(format, monkeypatch, tmp_path):
    find, needed = importlib.util.find_spec, file.WRITERS.get((BACKEND, format), ())
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name in needed else find(name, *rest))
    if not needed:
        pytest.skip(f"{BACKEND} writes {format} by itself")
    with pytest.raises(SystemExit, match=rf"needs .* on the {BACKEND} backend: pip install {needed[0]}"):
        main(["compare", "none.csv", "--export", format])


@pytest.mark.every_backend
@pytest.mark.skipif(BACKEND == "tensorflow", reason="TensorFlow writes it")
def test_a_format_of_another_backend_is_refused_before_the_training():
    with pytest.raises(SystemExit, match=f"'onnx'.* on the {BACKEND} backend; .* Received: format='litert'"):
        main(["compare", "none.csv", "--export", "litert"])


def test_other_formats_are_those_of_export_step(tmp_path):
    (tmp_path / "results.json").write_text(json.dumps(dict.fromkeys(NEEDS)))
    with pytest.raises(ValueError, match=r"`format` must be one of .onnx., .litert.\. Received: format=.h5."):
        Comparison(tmp_path).export("h5")
