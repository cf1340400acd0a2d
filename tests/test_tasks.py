"""The tasks run in their small form, and learn."""

import importlib
import json
import pathlib
import re

import numpy as np
import pytest

from tests import exporting
from tests.backends import in_turns, one_in

pytest.importorskip("matplotlib")
pytest.importorskip("rich")

ROOT = pathlib.Path(__file__).parents[1]
FOLDER = ROOT / "examples" / "tasks"
if not FOLDER.exists():
    pytest.skip("the examples are not part of the source distribution", allow_module_level=True)
NAMES = sorted(path.stem for path in FOLDER.glob("[!_]*.py"))
# What writes the files warns.
WARNS = {"export_and_run": pytest.mark.filterwarnings("ignore")}


@in_turns
@pytest.mark.parametrize("name", [pytest.param(name, marks=WARNS.get(name, ())) for name in one_in(2, NAMES)])
def test_task(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if name == "export_and_run":
        exporting.skip_without("onnx")
    task = importlib.import_module(f"examples.tasks.{name}")
    results = task.main(small=True)
    figures = [value for row in results.rows.values() for value in row.values()]
    assert len(results.rows) > 1  # A figure means little without one beside it.
    assert np.isfinite(figures).all()
    assert results.losses[-1] < results.losses[0]
    if results.picture:
        results.picture.savefig(tmp_path / "picture.png", dpi=80)
        assert (tmp_path / "picture.png").stat().st_size < 40_000


def test_the_gallery_has_every_task_and_what_was_measured():
    """`python -m examples.tasks --gallery` writes the list and the results; the site makes the gallery from both."""
    tasks = importlib.import_module("examples.tasks.__main__")
    results = json.loads((ROOT / "docs" / "tasks" / "figures.json").read_text(encoding="utf-8"))
    assert sorted(results) == NAMES
    assert (ROOT / "docs" / "tasks" / "index.md").read_text(encoding="utf-8") == tasks.index()
    gallery = tasks.gallery()
    for name, result in results.items():
        assert tasks.table(result["rows"]) in gallery
        assert f"](../../examples/tasks/{name}.py)" in gallery
    assert all(path.stat().st_size < 40_000 for path in (ROOT / "docs" / "images" / "tasks").glob("*.png"))
    assert all(
        (ROOT / "docs" / "tasks" / link).resolve().exists() for link in re.findall(r"\]\((\.\./[^)]*)\)", gallery)
    )


def test_links_to_a_task_lead_to_its_section():
    tasks = importlib.import_module("examples.tasks.__main__")
    headings = {tasks.anchor(title) for title in re.findall(r"^## (.*)", tasks.gallery(), flags=re.MULTILINE)}
    pages = [path.read_text(encoding="utf-8") for path in ROOT.glob("docs/**/*.md")]
    linked = {anchor for page in pages for anchor in re.findall(r"\]\([./]*tasks/index\.md#([\w-]+)\)", page)}
    assert linked
    assert linked <= headings


@in_turns
def test_the_example_for_keras_io_runs(capsys):
    """As it stands, but for its sizes."""
    text = (ROOT / "examples" / "keras_io" / "reversal_with_a_mogrifier.py").read_text(encoding="utf-8")
    sizes = "SAMPLES, LENGTH, SYMBOLS, UNITS, EPOCHS = "
    assert f"{sizes}6000, 10, 20, 64, 25" in text
    exec(text.replace(f"{sizes}6000, 10, 20, 64, 25", f"{sizes}64, 3, 4, 4, 1"), {"__name__": "__main__"})
    shown = capsys.readouterr().out
    assert re.search(r"Mogrifier: [\d,]+ weights, [\d.]+% of unseen sequences right", shown)
    assert re.search(r"LSTM: [\d,]+ weights", shown)
