"""Every example runs on every backend: those of the docstrings, the README and the docs.

Those of CONTRIBUTING are edits, which `test_adding.py` makes.
"""

import doctest
import importlib
import pathlib
import pkgutil
import re

import keras
import numpy as np
import pytest

import keras_adaptive_rnn
import keras_rnn_compare
from keras_adaptive_rnn import _export
from tests.backends import dealt, in_turns

pytestmark = in_turns

ROOT = pathlib.Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
PACKAGES = (keras_adaptive_rnn, keras_rnn_compare)
NAMES = {"keras": keras, "np": np, **{package.__name__: package for package in PACKAGES}}


def examples():
    """Returns the examples of each module that shows some."""
    found = {}
    modules = [name for each in PACKAGES for _, name, _ in pkgutil.walk_packages(each.__path__, f"{each.__name__}.")]
    for name in modules:
        # Importing what is for another framework than the one in use imports that.
        if not name.startswith("keras_adaptive_rnn.engine.") and not name.endswith(("flax_case", "torch_case")):
            tests = doctest.DocTestFinder(exclude_empty=True).find(importlib.import_module(name), extraglobs=NAMES)
            tests = [test for test in tests if test.examples]
            if tests:
                found[name] = tests
    return found


def blocks(page):
    return re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)


EXAMPLES = examples()
SHOWN = {page.relative_to(ROOT).as_posix(): blocks(page) for page in PAGES if page.exists() and blocks(page)}


def test_there_are_examples():
    modules = {cls.__module__ for cls in _export.PUBLIC if cls.__module__.startswith("keras_adaptive_rnn.")}
    # A cell that takes its units alone is made like an `LSTMCell`.
    modules = {name for name in modules if not name.startswith("keras_adaptive_rnn.cells.")}
    assert {*modules, "keras_adaptive_rnn.cells.lstm", "keras_adaptive_rnn.cells.mogrifier"} <= set(EXAMPLES)
    assert {"README.md", "docs/guides/your_own_cell.md"} <= set(SHOWN)


@pytest.mark.parametrize("name", dealt(EXAMPLES))
def test_docstrings(name):
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    for test in EXAMPLES[name]:
        runner.run(test)
    assert runner.failures == 0
    assert runner.tries > 0


@pytest.mark.parametrize("page", SHOWN)
def test_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in SHOWN[page]:
        exec(block, names)
