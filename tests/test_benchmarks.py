"""The benchmarks run, on sizes that say nothing of speed, and what they compare computes the same."""

import json
import pathlib

import keras
import numpy as np
import pytest

from tests.backends import in_turns

pytest.importorskip("matplotlib")
pytest.importorskip("rich")
if not (pathlib.Path(__file__).parents[1] / "benchmarks").exists():
    pytest.skip("the benchmarks are not part of the source distribution", allow_module_level=True)

from benchmarks import contenders, deep_stack, memory, plot, start_up, time_loop

pytestmark = in_turns

SIZES = {"units": 3, "batch": 2, "steps": 4}
ARGUMENTS = [f"--{name}={size}" for name, size in SIZES.items()]


def test_contenders_compute_the_same():
    on_torch = keras.backend.backend() == "torch"
    for cell in ("Mogrifier", "AdaptiveLSTM") if on_torch else ("Elman",):
        same = {"ours", "keras", *(["plain"] if on_torch else [])}
        found = contenders.contenders({"cell": cell, **SIZES}, same)
        assert set(found) == same
        losses = {name: each["train"]() for name, each in found.items()}
        for name in same:
            np.testing.assert_allclose(losses[name], losses["ours"], rtol=1e-6)


def test_streaming_contenders_compute_the_same():
    outputs = {name: read() for name, read in contenders.streaming_contenders({"cell": "LSTM", **SIZES}).items()}
    for each in outputs.values():
        np.testing.assert_allclose(each, outputs["ours"], rtol=1e-5, atol=1e-6)


def test_products_of_a_step():
    cell = contenders.CELLS["Mogrifier"](3)
    cell.build((None, 3))
    gates = [((2, 3), (3, 3), False)] * 10
    # The first round gates the data, so that nothing reads them as they are.
    assert contenders.products(cell, 2) == [*gates, ((2, 3), (3, 12), False), ((2, 3), (3, 12), False)]
    cell = contenders.CELLS["LSTM"](3)
    cell.build((None, 3))
    assert contenders.products(cell, 2) == [((2, 3), (3, 12), True), ((2, 3), (3, 12), False)]


def test_run(tmp_path, capsys, monkeypatch):
    path, picture = tmp_path / "rows.json", tmp_path / "rows.png"
    other = {"backend": "another", "device": "cpu", "jit": "auto", "cell": "GRU", **SIZES, "what": "train"}
    path.write_text(json.dumps([{**other, "seconds": {"ours": 2.0}, "ratios": {"keras": 3.0}, "rounds": 5}]))
    arguments = [*ARGUMENTS, "--cells=Elman", "--contenders=products", "--repeats=3", f"--json={path}"]
    time_loop.main(arguments)
    first = json.loads(path.read_text())
    assert [row["what"] for row in first] == ["train", "train", "predict"]
    assert all(row["rounds"] == 3 and set(row["seconds"]) == {"ours", "products"} for row in first[1:])

    monkeypatch.setattr(time_loop, "measure", None)
    time_loop.main([*arguments, "--resume"])
    assert json.loads(path.read_text()) == first

    capsys.readouterr()
    time_loop.main(["--report", f"--json={path}", "--markdown"])
    assert "| another | GRU | 3 | 2 | 4 | train | 2000 |  | 3.00 |  | 5 |" in capsys.readouterr().out

    plot.main([str(path), str(picture), "--cell=Elman", *ARGUMENTS])
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_schedules_of_deep_stacks(tmp_path):
    path = tmp_path / "rows.json"
    sizes = {"units": 3, "depth": 3, "batch": 2, "steps": 4}
    arguments = ["--stacks=Elman", *(f"--{name}={size}" for name, size in sizes.items())]
    for schedules in (["layers"], ["layers", "wavefront", *deep_stack.KERAS]):
        deep_stack.main([*arguments, "--schedules", *schedules, "--repeats=3", f"--json={path}"])
    (row,) = json.loads(path.read_text())
    assert list(row["schedules"]) == schedules
    assert all(row[name] == size for name, size in sizes.items())
    assert row["schedules"]["layers"]["times_first"] == 1
    assert row["schedules"]["wavefront"]["rounds"] == 3
    with pytest.raises(SystemExit):
        deep_stack.main(["--stacks=DeepRNN", "--schedules", "Keras layers"])


def test_growth_of_memory():
    assert memory.growth({100: 300.0}) is None
    np.testing.assert_allclose(memory.growth({100: 300.0, 200: 350.0, 400: None}), 0.5)


def test_start_up(tmp_path, capsys):
    path = tmp_path / "rows.json"
    start_up.main(["--cells=Elman", "--repeats=1", *ARGUMENTS, f"--json={path}"])
    rows = json.loads(path.read_text())
    assert [row["what"] for row in rows] == ["train", "predict"]
    assert all(row["ratio"] > 0 and set(row["seconds"]) == {"ours", "keras"} for row in rows)
    assert "Elman" in capsys.readouterr().out
