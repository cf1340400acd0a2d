"""The examples run, for a few steps."""

import importlib.util
import json
import pathlib

import numpy as np
import pytest

from tests.backends import in_turns

pytestmark = in_turns

pytest.importorskip("matplotlib")
pytest.importorskip("rich")
FOLDER = pathlib.Path(__file__).parents[1] / "examples"
if not FOLDER.exists():
    pytest.skip("the examples are not part of the source distribution", allow_module_level=True)


def load(name):
    spec = importlib.util.spec_from_file_location(name, FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def results(folder):
    return json.loads((folder / "results.json").read_text(encoding="utf-8"))["models"]


def test_extreme_tail_regression(tmp_path, capsys):
    example = load("extreme_tail_regression")
    example.main(["--seeds", "1", "--steps", "7", "--output", str(tmp_path)])
    assert {path.name for path in tmp_path.iterdir()} == {"results.json", "tail.png"}
    weights = {name: runs["0"]["weights"] for name, runs in results(tmp_path).items()}
    assert weights["adaptive"] < weights["static"] / 3
    assert "of the error in the tail" in capsys.readouterr().out


def test_adaptive_computation(tmp_path, capsys):
    sizes = ["--units", "4", "--small-units", "2", "--batch", "4", "--steps-an-epoch", "2", "--unseen", "9"]
    example = load("adaptive_computation")
    example.main([*sizes, "--epochs", "1", "--free-epochs", "1", "--output", str(tmp_path)])
    assert {path.name for path in tmp_path.iterdir()} == {"results.json", "curves.png"}
    curves = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["curves"]
    assert {task: len(curve) for task, curve in curves.items()} == {"skip": 2, "skim": 1}
    assert all(0 <= point["used"] <= 1 for curve in curves.values() for point in curve)
    assert "marked symbol" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(SystemExit):
        example.main(["--small-units", "99"])


def test_copy_decoding(capsys):
    arguments = ["--steps", "2", "--units", "8", "--texts", "2", "--beam", "2", "--strengths", "0", "1"]
    shares = load("copy_decoding").main(arguments)
    assert list(shares) == [0.0, 1.0]
    assert all(0 <= share <= 1 for share in shares.values())
    assert "generated" in capsys.readouterr().out


def test_memorization(tmp_path, rng, capsys):
    x, y = rng.integers(0, 256, (60, 28, 28), dtype="uint8"), np.arange(60) % 10
    np.savez(tmp_path / "mnist.npz", x_train=x, y_train=y)
    example, folder = load("memorization"), tmp_path / "results"
    arguments = ["--units", "16", "--epochs", "1", "--repeats", "2", "--output", str(folder)]
    curves = example.main([*arguments, "--data", str(tmp_path / "mnist.npz")])
    assert set(curves) == {"true labels", "random labels"}
    assert [path.name for path in folder.iterdir()] == ["curves.png"]
    assert "selectivity" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="cannot read MNIST"):
        example.main([*arguments, "--data", str(tmp_path / "none.npz")])
