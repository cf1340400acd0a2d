"""What the package is made of: its imports, its public names, its metadata and its wheel."""

import ast
import importlib.metadata
import inspect
import os
import pathlib
import re
import subprocess
import sys
import zipfile

import keras
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import _export
from keras_adaptive_rnn.cells import Cell
from tests.backends import in_turns

ROOT = pathlib.Path(__file__).parent.parent
PACKAGE = ROOT / "keras_adaptive_rnn"
BACKENDS = ("jax", "tensorflow", "torch")
NAMESPACES = (
    kar,
    kar.analysis,
    kar.cells,
    kar.comparison,
    kar.datasets,
    kar.evaluation,
    kar.layers,
    kar.maps,
    kar.models,
    kar.optimizers,
)
# Tests define and register cells of their own.
PUBLIC = [cls for cls in _export.PUBLIC if cls.__module__.startswith("keras_adaptive_rnn.")]


def run(code, cwd=None, **environment):
    """Returns what another Python prints."""
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert process.returncode == 0, process.stderr
    return process.stdout.strip()


# Imports.


def imports(path):
    """Returns the modules that a file imports, functions included, and the names that it asks `optional` for."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "optional":
            yield node.args[0].value


def importers(*modules):
    """Returns the files of the package that import one of the modules, or a part of it."""
    return {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(f"{name}.".startswith(f"{module}.") for name in imports(path) for module in modules)
    }


def test_only_the_engine_imports_a_backend():
    """And one file of `hub`: KerasHub tokenizes in pipelines of TensorFlow, whatever the backend."""
    names = [part for name in BACKENDS for part in (name, f"_{name}_internals")]
    files = {f"engine/{name}.py" for name in (*names, "torch_trace")}
    assert importers("jax", "jaxlib", "tensorflow", "torch") == files | {"hub/_tensorflow.py"}


def test_only_one_room_imports_kerashub_and_no_other_imports_it():
    files = importers("keras_hub", "keras_adaptive_rnn.hub")
    assert {file.split("/")[0] for file in files} == {"hub"}


def test_only_one_file_reaches_into_keras():
    assert importers("keras.src", "keras._tf_keras") == {"_keras.py"}


@in_turns
def test_importing_it_chooses_and_imports_no_backend():
    """Beyond the one that Keras chooses and imports."""
    show = f"; import os, sys; print(os.getenv('KERAS_BACKEND'), [m for m in {BACKENDS} if m in sys.modules])"
    assert run("import keras_adaptive_rnn" + show, cwd=ROOT) == run("import keras" + show, cwd=ROOT)


# Public names.


@pytest.mark.parametrize("cls", PUBLIC, ids=lambda cls: cls.__name__)
def test_a_public_class_is_in_its_namespace(cls):
    room = cls.__module__.split(".")[1]
    if room not in ("cells", "layers", "loop"):
        namespace = getattr(kar, room)
        assert getattr(namespace, cls.__name__) is cls
        assert cls.__name__ in namespace.__all__
    else:
        assert getattr(kar, cls.__name__) is getattr(kar.layers, cls.__name__) is cls
        assert cls.__name__ in kar.__all__
        assert cls.__name__ in kar.layers.__all__
    assert keras.saving.get_registered_object(f"keras_adaptive_rnn>{cls.__name__}") is cls


@pytest.mark.parametrize("cls", PUBLIC, ids=lambda cls: cls.__name__)
def test_a_public_class_has_a_docstring(cls):
    text = inspect.getdoc(cls)
    assert "\nArgs:\n" in text
    assert "\nExample:\n\n>>> " in text
    # A cell names its paper; a layer or a map may name the class that does.
    reference = r"\nReference: .*\(\d{4}\)" if issubclass(cls, Cell) else r"\(\d{4}\)|`keras(_adaptive_rnn)?\.\w"
    assert re.search(reference, text, flags=re.DOTALL)


@pytest.mark.parametrize("namespace", NAMESPACES, ids=lambda module: module.__name__)
def test_the_public_names_exist(namespace):
    assert all(hasattr(namespace, name) for name in namespace.__all__)


# Distribution.


def test_the_version_is_that_of_the_metadata():
    assert importlib.metadata.version("keras_adaptive_rnn") == kar.__version__


def test_the_changelog_knows_the_version():
    assert f"## [{kar.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize(
    ("file", "line"), [("CITATION.cff", "version: {}\n"), ("conda/recipe.yaml", 'version: "{}"\n')]
)
def test_what_names_the_version_names_this_one(file, line):
    assert line.format(kar.__version__) in (ROOT / file).read_text(encoding="utf-8")


def test_the_conda_recipe_needs_what_the_package_needs():
    recipe = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")
    needed = [line for line in importlib.metadata.requires("keras_adaptive_rnn") if "extra ==" not in line]
    assert len(needed) == 2
    for line in needed:
        name, bounds = re.fullmatch(r"([a-z]+)(.*)", line).groups()
        assert set(re.search(rf"- {name} (.*)\n", recipe)[1].split(",")) == set(bounds.split(","))


@pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="the wheel is the same on every backend: built once, on JAX"
)
def test_a_wheel_works_away_from_the_checkout(tmp_path):
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = [*pip, "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("keras_adaptive_rnn-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "keras_adaptive_rnn/py.typed" in names
    sources = {path.relative_to(ROOT).as_posix() for path in PACKAGE.rglob("*.py*") if path.suffix in (".py", ".pyi")}
    assert {name for name in names if name.endswith((".py", ".pyi"))} == sources

    target = tmp_path / "target"
    install = [*pip, "install", str(wheel), "--no-deps", "--no-index", "--target", str(target)]
    subprocess.run(install, check=True, capture_output=True)
    code = """
import numpy as np
import keras_adaptive_rnn
print(keras_adaptive_rnn.__file__)
keras_adaptive_rnn.Mogrifier(4)(np.ones((2, 3, 5)))
"""
    file = run(code, cwd=tmp_path, PYTHONPATH=str(target))
    assert pathlib.Path(file) == target / "keras_adaptive_rnn" / "__init__.py"
