"""What the package stands on: the public API of keras_adaptive_rnn, and the same version."""

import ast
import graphlib
import importlib
import pathlib
import subprocess
import sys

import pytest

import keras_adaptive_rnn as kar
import keras_rnn_compare as krc
from keras_rnn_compare import cli
from tools import draw_rooms

FILES = sorted(pathlib.Path(krc.__file__).parent.rglob("*.py"))


def taken(path):
    """Yields the module and the name of all that a file imports from the core."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] == "keras_adaptive_rnn":
            yield from ((node.module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if alias.name.startswith("keras_adaptive_rnn."))


def test_it_imports_nothing_but_public_names_of_the_core():
    found = {(module, name) for path in FILES for module, name in taken(path)}
    assert ("keras_adaptive_rnn", "step_model") in found
    for module, name in found:
        room, _, inside = module.partition(".")[2].partition(".")
        assert not inside, f"{module} is a part of a room"
        assert room == "" or room in kar.__all__, f"{module} is not public"
        assert name in importlib.import_module(module).__all__, f"{module} has no public name {name}"


def test_imports_between_rooms_point_down():
    files, counts, _ = draw_rooms.read(pathlib.Path(krc.__file__).parent)
    # The commands, beside the rooms, import from several.
    below = {room: {b for a, b in counts if a == room and b != "."} for room in files if room != "."}
    assert next(graphlib.TopologicalSorter(below).static_order()) == "reading"


def test_both_packages_have_one_version():
    assert krc.__version__ == kar.__version__


def test_a_command_shows_versions(capsys):
    with pytest.raises(SystemExit):
        cli.parse(["--version"])
    assert capsys.readouterr().out.startswith(f"keras_rnn_compare {krc.__version__}\nkeras_adaptive_rnn ")


def test_a_command_shows_its_options_without_keras():
    code = "import keras_rnn_compare.cli as cli, sys; cli.parse(['predict', 'a', 'b']); print('keras' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "False\n"


def test_the_public_names_exist():
    assert set(krc.__all__) <= set(dir(krc))
    for name in krc.__all__:
        assert getattr(krc, name).__module__.startswith("keras_rnn_compare.")
