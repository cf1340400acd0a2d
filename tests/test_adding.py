"""CONTRIBUTING says how to add a cell: its edits, made to the letter in a copy of the package, are all it takes."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from tests.backends import in_turns, nightly
from tools import make_stubs

pytestmark = in_turns

ROOT = pathlib.Path(__file__).parent.parent
PAGE = ROOT / "CONTRIBUTING.md"
if not PAGE.exists():
    pytest.skip("CONTRIBUTING.md is not part of the source distribution", allow_module_level=True)
# What is said of a file, its path, and a block; a block of nothing said is code that runs.
STEP = re.compile(
    r"^(?:(A new file,|At the end of|In) `(\S+)`:\n\n)?```(python|diff|sh)\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
COPIED = ("keras_adaptive_rnn", "tests", "docs/in_the_box.md", "pyproject.toml", "CONTRIBUTING.md")
NAME = "minimal_gated"
# Of the tests that go through the table, those that ask most of a cell, in the least time.
SHARED = [f"tests/test_{name}.py" for name in ("cells", "reference", "frozen", "table")]
USE = """
import keras
import numpy as np

import keras_adaptive_rnn as kar
assert {"MinimalGatedCell", "MinimalGated"} <= set(kar.__all__) & set(kar.layers.__all__)
assert "MinimalGatedCell" in kar.cells.__all__
model = keras.Sequential([keras.Input((None, 3)), kar.MinimalGated(4), keras.layers.Dense(1)])
model.compile("adam", "mse")
x = np.ones((8, 5, 3), "float32")
before = model.predict(x, verbose=0)
model.fit(x, np.ones((8, 1)), verbose=0)
after = model.predict(x, verbose=0)
assert abs(after - before).max() > 1e-5
model.save("model.keras")
np.testing.assert_allclose(keras.models.load_model("model.keras").predict(x, verbose=0), after, rtol=1e-6)
"""


def section():
    """Returns what CONTRIBUTING says about adding a cell."""
    text = PAGE.read_text(encoding="utf-8")
    return re.search(r"^## Add a cell\n(.*?)^## ", text, flags=re.MULTILINE | re.DOTALL)[1]


def follow(folder, said, path, block):
    """Does one step in the folder."""
    file = folder / path
    if said == "A new file,":
        assert not file.exists()
        file.write_text(block, encoding="utf-8")
        return
    text = file.read_text(encoding="utf-8")
    if said == "At the end of":
        file.write_text(f"{text}\n\n{block}", encoding="utf-8")
        return
    lines = block.splitlines()
    assert {line[0] for line in lines if line} <= {" ", "+"}
    old = "\n".join(line[1:] for line in lines if line.startswith(" "))
    new = "\n".join(line[1:] for line in lines)
    assert text.count(f"{old}\n") == 1, f"{path} no longer has the lines that CONTRIBUTING shows:\n{old}"
    file.write_text(text.replace(f"{old}\n", f"{new}\n"), encoding="utf-8")


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """Returns a copy of the package in which the steps are done, and their files."""
    folder = tmp_path_factory.mktemp("adding")
    for name in COPIED:
        (folder / name).parent.mkdir(exist_ok=True)
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyi", "golden*")
            )
        else:
            shutil.copy(ROOT / name, folder / name)
    steps = [step for step in STEP.findall(section()) if step[0]]
    for said, path, _, block in steps:
        follow(folder, said, path, block)
    return folder, [path for _, path, _, _ in steps]


def run(folder, *arguments):
    process = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def test_as_many_files_as_it_says(followed):
    """And a line of the changelog."""
    _, files = followed
    edits = int(
        re.search(r"^\| a cell and its layer \|.*?\| (\d+) in \d+ files, `CHANGELOG", section(), re.MULTILINE)[1]
    )
    assert len(files) == len(set(files)) == edits - 1


def test_the_cell_is_formatted(followed):
    folder, files = followed
    code = [file for file in files if file.endswith(".py")]
    run(folder, "-m", "ruff", "check", *code)
    run(folder, "-m", "ruff", "format", "--check", *code)


def test_the_layer_trains_and_is_saved(followed):
    run(followed[0], "-c", USE)


def test_the_stubs_have_its_arguments(followed):
    folder, _ = followed
    stubs = {path.relative_to(folder).as_posix(): text for path, text in make_stubs.stubs(folder).items()}
    for package in ("", "cells/", "layers/"):
        assert "'MinimalGatedCell'" in stubs[f"keras_adaptive_rnn/{package}__init__.pyi"]
    assert "import MinimalGatedCell" in stubs["keras_adaptive_rnn/cells/__init__.pyi"]
    cell = stubs[f"keras_adaptive_rnn/cells/{NAME}.pyi"]
    assert re.search(r"units: int, activation: .*\*, recurrent_initializer: ", cell)
    layer = stubs["keras_adaptive_rnn/layers/recurrent.pyi"].partition("class MinimalGated(")[2]
    assert "return_sequences: bool=False" in layer.partition("class ")[0]


@nightly
def test_the_tests_that_all_cells_share_pass(followed):
    folder, _ = followed
    commands = [block for *_, language, block in STEP.findall(section()) if language == "sh"]
    assert f'python -m tests.frozen.freeze\nmake test ARGS="torch -- -k {NAME}"\n' in commands
    assert f"froze cell_{NAME}.keras\nfroze layer_{NAME}.keras" in run(folder, "-m", "tests.frozen.freeze")
    report = run(folder, "-m", "pytest", "-q", *SHARED, "-k", f"{NAME} or test_table", "-p", "no:cacheprovider", "-rA")
    for test in ("test_cells.py::", "test_reference.py::", "test_frozen.py::"):
        assert re.search(rf"PASSED \S*{test}\S*{NAME}", report), report


def test_what_else_it_shows_runs():
    shown = [block for said, _, language, block in STEP.findall(section()) if language == "python" and not said]
    assert shown
    for block in shown:
        exec(block, {})
