"""Every example in a docstring, in the README and in CONTRIBUTING runs."""

import doctest
import importlib
import pathlib
import pkgutil
import re

import keras
import numpy as np
import pytest

import keras_adaptive_rnn
from tests.backends import dealt

ROOT = pathlib.Path(__file__).parent.parent
MODULES = [
    name
    for _, name, _ in pkgutil.walk_packages(keras_adaptive_rnn.__path__, "keras_adaptive_rnn.")
    if not name.startswith("keras_adaptive_rnn.engine.")
]


@pytest.mark.parametrize("name", dealt(MODULES))
def test_docstrings(name):
    module = importlib.import_module(name)
    names = {"keras": keras, "np": np, "keras_adaptive_rnn": keras_adaptive_rnn}
    failed, _ = doctest.testmod(module, extraglobs=names, optionflags=doctest.ELLIPSIS)
    assert failed == 0


@pytest.mark.parametrize("page", dealt(["README.md", "CONTRIBUTING.md"]))
def test_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.DOTALL)
    assert blocks, f"{page} shows no example"
    names = {}
    for block in blocks:
        exec(block, names)
