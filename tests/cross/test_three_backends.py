"""The three programs of docs/guides/three_backends.md, one backend after the other."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.conftest import QUICK_TO_COMPILE

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs" / "guides" / "three_backends.md"
if not PAGE.exists():
    pytest.skip("the guides are not part of the source distribution", allow_module_level=True)


def test_the_guide(tmp_path):
    (commands,) = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    programs = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    usual = {name: value for name, value in os.environ.items() if name not in QUICK_TO_COMPILE}
    said = []
    for command, program in zip(commands.splitlines(), programs, strict=True):
        backend, name = re.fullmatch(r"KERAS_BACKEND=(\w+) python (\w+\.py)", command).groups()
        (tmp_path / name).write_text(program)
        environment = {**usual, "KERAS_BACKEND": backend, "PYTHONPATH": str(ROOT)}
        run = subprocess.run(
            [sys.executable, name], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert run.returncode == 0, f"{command}:\n{run.stderr[-3000:]}"
        said.append(run.stdout.splitlines()[-1])
    assert said[0].startswith("trained on jax")
    assert said[1].startswith("went on with torch")
    assert said[2] == "served by tensorflow"
    assert float(said[1].split()[-1]) < float(said[0].split()[-1])
