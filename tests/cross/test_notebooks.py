"""Runs the notebooks of the docs from beginning to end, each on the backend that it chooses."""

import pytest

nbformat = pytest.importorskip("nbformat")
# No part of the source distribution.
run_notebooks = pytest.importorskip("tools.run_notebooks")
NOTEBOOKS = sorted(run_notebooks.FOLDER.glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_what_it_shows(path):
    """In numbers, outputs differ from machine to machine."""
    kept = nbformat.read(path, as_version=4)
    assert kinds(run_notebooks.run(path)) == kinds(kept)
    assert "image/png" in {kind for found in kinds(kept) for kind in found}


def kinds(notebook):
    """Returns the kinds of outputs of each cell."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [[kind for output in cell.outputs for kind in output.get("data", {"text": None})] for cell in cells]
