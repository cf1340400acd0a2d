"""Runs the notebooks of the docs from beginning to end, each on the backend that it chooses."""

import pytest

from tests.backends import nightly

nbformat = pytest.importorskip("nbformat")
# No part of the source distribution.
run_notebooks = pytest.importorskip("tools.run_notebooks")
# The two that train for longest.
MARKS = {"cells": nightly, "text": nightly}
NOTEBOOKS = [
    pytest.param(path, id=path.stem, marks=MARKS.get(path.stem, ()))
    for path in sorted(run_notebooks.FOLDER.glob("*.ipynb"))
]


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_a_notebook_runs_and_shows_what_it_shows(path):
    """In numbers, outputs differ from machine to machine."""
    kept = nbformat.read(path, as_version=4)
    assert kinds(run_notebooks.run(path)) == kinds(kept)
    assert "image/png" in {kind for found in kinds(kept) for kind in found}


def kinds(notebook):
    """Returns the kinds of outputs of each cell."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [[kind for output in cell.outputs for kind in sorted(output.get("data", ["text"]))] for cell in cells]
