"""The guide from a CSV of sensor data to ONNX Runtime, followed literally in an empty folder."""

import os
import pathlib
import re
import subprocess
import sys

import numpy as np

from tests import exporting
from tests.backends import nightly

ROOT = pathlib.Path(__file__).parents[1]
PAGE = ROOT / "docs" / "guides" / "sensor_data.md"


@nightly
def test_the_scripts_run_in_order(tmp_path):
    exporting.skip_without("onnx")
    scripts = dict(re.findall(r"```python title=(\S+)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL))
    assert list(scripts) == ["make_data.py", "train.py", "export.py", "run.py"]
    # Fewer epochs, which are enough to beat no change.
    shortened = scripts["train.py"].replace("epochs=20", "epochs=4").replace("SEEDS = 8, 100, 3", "SEEDS = 8, 100, 2")
    assert len(shortened) == len(scripts["train.py"]) - 1
    said = {}
    for name, text in (scripts | {"train.py": shortened}).items():
        (tmp_path / name).write_text(text)
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        run = subprocess.run([sys.executable, name], cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert run.returncode == 0, run.stdout + run.stderr
        said[name] = run.stdout
        if name == "export.py":
            assert "torch" not in run.stdout + run.stderr
    *cells, kept = said["train.py"].strip().splitlines()
    assert [line.partition(":")[0] for line in cells] == ["Elman", "LSTM", "Mogrifier"]
    model, unchanged = map(float, re.findall(r"([\d.]+)(?: degrees off;|$)", kept))
    assert model < unchanged
    lines, temperature = re.findall(r"([\d.]+) (?:lines|degrees)", said["run.py"])
    assert lines == "4000"
    measured = np.loadtxt(tmp_path / "sensor.csv", delimiter=",", skiprows=1)[:, 1]
    assert measured.min() - 10 < float(temperature) < measured.max() + 10
