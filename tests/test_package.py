"""What the package is made of: its imports, its public names, its metadata and its wheel."""

import ast
import graphlib
import importlib.metadata
import importlib.util
import inspect
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import typing
import zipfile

import keras
import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import _export
from keras_adaptive_rnn._command_line import without_logs
from keras_adaptive_rnn.cells import Cell
from tests.backends import in_turns, nightly
from tools import draw_rooms, make_stubs, run_tests

ROOT = pathlib.Path(__file__).parent.parent
PACKAGE = ROOT / "keras_adaptive_rnn"
BACKENDS = ("jax", "tensorflow", "torch")
NAMESPACES = (
    kar,
    kar.analysis,
    kar.cells,
    kar.datasets,
    kar.evaluation,
    kar.layers,
    kar.maps,
    kar.models,
    kar.optimizers,
)
OTHER_NAMESPACES = kar.activations, kar.callbacks, kar.distribution, kar.files, kar.initializers, kar.testing
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


# Imported only where a module of the framework is checked, which has imported it.
FOREIGN = {f"testing/{name}_case.py" for name in ("flax", "torch")}


def importers(*modules):
    """Returns the files of the package that import one of the modules, or a part of it."""
    return {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if any(f"{name}.".startswith(f"{module}.") for name in imports(path) for module in modules)
    }


def test_only_the_engine_imports_a_backend():
    """And `hub`, as KerasHub tokenizes in pipelines of TensorFlow, and the checks of modules of PyTorch and Flax."""
    internals = [f"_{name}_internals" for name in ("tensorflow", "torch")]
    parts = [f"jax_{name}" for name in ("persistent", "platform", "products", "tiles")]
    parts += ["torch_graphs", "torch_loop", "torch_trace", *(f"{name}_native" for name in BACKENDS)]
    files = {f"engine/{name}.py" for name in (*BACKENDS, *internals, *parts)}
    assert importers("jax", "jaxlib", "tensorflow", "torch") == files | {"hub/_tensorflow.py", *FOREIGN}


def test_only_one_room_imports_kerashub_and_no_other_imports_it():
    files = importers("keras_hub", "keras_adaptive_rnn.hub")
    assert {file.split("/")[0] for file in files} == {"hub"}


def test_the_plan_of_rooms_can_be_drawn():
    """It has no place for files that import each other in a circle, or for a room that imports one above it."""
    files, counts, chain = draw_rooms.read(PACKAGE)
    below = {room: {b for a, b in counts if a == room} for room in files}
    assert list(graphlib.TopologicalSorter(below).static_order())[-1] == "hub"
    assert chain < 10


def test_only_one_file_reaches_into_keras():
    assert importers("keras.src", "keras._tf_keras") == {"_keras.py"}


@in_turns
def test_importing_it_chooses_and_imports_no_backend():
    """Beyond the one that Keras chooses and imports."""
    show = f"; import os, sys; print(os.getenv('KERAS_BACKEND'), [m for m in {BACKENDS} if m in sys.modules])"
    assert run("import keras_adaptive_rnn" + show, cwd=ROOT) == run("import keras" + show, cwd=ROOT)


HIDE = """
import os, sys
from importlib.machinery import PathFinder

class Hiding(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        hidden = name.partition(".")[0] in os.environ["HIDDEN"].split()
        return None if hidden else super().find_spec(name, path, target)

sys.meta_path[:] = [Hiding if finder is PathFinder else finder for finder in sys.meta_path]
"""
SHOW = ["-c", "import keras_adaptive_rnn, keras; print(keras.backend.backend())"]


def run_without(tmp_path, hidden, arguments, backend=None, config=None):
    """Runs Python with backends that look as if they were not installed, in an empty home."""
    (tmp_path / "sitecustomize.py").write_text(HIDE)
    if config is not None:
        (tmp_path / ".keras").mkdir()
        (tmp_path / ".keras" / "keras.json").write_text(config)
    kept = {name: os.environ[name] for name in ("PATH", "OMP_NUM_THREADS") if name in os.environ}
    environment = {
        **kept,
        "HOME": str(tmp_path),
        "HIDDEN": " ".join(hidden),
        "PYTHONPATH": os.pathsep.join(map(str, (tmp_path, ROOT, ROOT / "compare"))),
        "TF_CPP_MIN_LOG_LEVEL": "3",
        **({} if backend is None else {"KERAS_BACKEND": backend}),
    }
    return subprocess.run([sys.executable, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True)


OTHERS = {name: [other for other in BACKENDS if other != name] for name in BACKENDS}
HERE = keras.backend.backend()
COMMANDS = {
    "compare": (["-m", "keras_rnn_compare", "none.csv", "--target", "y"], "none.csv"),
    "forwarded": (["-um", "keras_adaptive_rnn", "compare", "none.csv", "--target", "y"], "none.csv"),
}


@pytest.mark.skipif(HERE == "tensorflow", reason="Keras's default is not missing")
@pytest.mark.parametrize("command", ["compare", "forwarded"])
@in_turns
def test_a_command_runs_on_the_backend_that_is_installed(command, tmp_path):
    arguments, says = COMMANDS[command]
    done = run_without(tmp_path, OTHERS[HERE], arguments)
    name = {"jax": "JAX", "torch": "PyTorch"}[HERE]
    assert f"TensorFlow, the default backend of Keras, is not installed: running on {name}." in done.stderr
    assert says in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@in_turns
def test_a_command_runs_on_another_backend_than_a_file_names(tmp_path):
    missing = next(name for name in BACKENDS if name != HERE)
    config = json.dumps({"backend": missing})
    done = run_without(tmp_path, OTHERS[HERE], COMMANDS["compare"][0], config=config)
    assert done.returncode == 1
    assert "keras.json, a file that Keras writes when it is first imported, is not installed: running on" in done.stderr


def test_a_command_does_not_run_on_another_backend_than_the_variable_names(tmp_path):
    missing = next(name for name in BACKENDS if name != HERE)
    done = run_without(tmp_path, [missing], COMMANDS["compare"][0], backend=missing)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ")
    assert "which KERAS_BACKEND names, is not installed. Choose one that is" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_command_without_any_backend_says_how_to_install_one(tmp_path):
    pytest.importorskip("keras_hub")
    done = run_without(tmp_path, BACKENDS, ["-m", "keras_adaptive_rnn.hub", "write", "mogrifier_python_reference"])
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert 'pip install "keras_adaptive_rnn[tensorflow]"' in done.stderr


@pytest.mark.parametrize("config", [None, "{", "[]", '{"floatx": "float32"}', '{"backend": "tensorflow"}'])
@pytest.mark.skipif(HERE == "tensorflow", reason="Keras's default is not missing")
@in_turns
def test_an_import_says_that_the_backend_is_missing(config, tmp_path):
    done = run_without(tmp_path, OTHERS[HERE], SHOW, config=config)
    *_, last = done.stderr.strip().splitlines()
    assert done.returncode == 1
    assert last.startswith("ImportError: TensorFlow, the ")
    assert f"""os.environ["KERAS_BACKEND"] = "{HERE}\"""" in last
    assert "optree" not in done.stderr


@pytest.mark.parametrize(
    ("backend", "hint"),
    [
        ("pytorch", 'did you mean "torch"?'),
        ("tf", 'did you mean "tensorflow"?'),
        ("Torch", 'did you mean "torch"?'),
        ("JAX", 'did you mean "jax"?'),
        ("something", "choose one of jax, tensorflow, torch, numpy, openvino"),
    ],
)
@in_turns
def test_a_misspelt_backend_is_told_the_nearest(backend, hint, tmp_path):
    done = run_without(tmp_path, [], SHOW, backend=backend)
    assert done.returncode == 1
    assert "Unable to import backend" not in done.stderr
    *_, last = done.stderr.strip().splitlines()
    assert last.startswith(f"ValueError: '{backend}', which KERAS_BACKEND names, is not the name of a backend: {hint}")


@in_turns
def test_a_misspelt_backend_in_the_file_of_keras_ends_a_command(tmp_path):
    done = run_without(tmp_path, [], COMMANDS["compare"][0], config='{"backend": "pytorch"}')
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert done.stderr.startswith("error: 'pytorch', the backend in ")
    assert 'did you mean "torch"?' in done.stderr


@pytest.mark.parametrize("module", ["keras_adaptive_rnn", "keras_adaptive_rnn.hub"])
@in_turns
def test_a_command_shows_versions_without_keras(module, tmp_path):
    done = run_without(tmp_path, BACKENDS, ["-X", "importtime", "-m", module, "--version"], backend=HERE)
    names = {"jax": "JAX", "tensorflow": "TensorFlow", "torch": "PyTorch"}
    versions = dict(line.split() for line in done.stdout.splitlines())
    assert done.returncode == 0
    assert versions == {
        "keras_adaptive_rnn": kar.__version__,
        "Keras": importlib.metadata.version("keras"),
        **{title: importlib.metadata.version(name) for name, title in names.items() if importlib.util.find_spec(name)},
        "Python": platform.python_version(),
    }
    assert not re.search(r"\| +keras$", done.stderr, flags=re.MULTILINE)


@in_turns
def test_an_import_leaves_an_installed_backend_alone(tmp_path):
    done = run_without(tmp_path, OTHERS[HERE], SHOW, backend=HERE)
    assert (done.stdout, done.returncode) == (f"{HERE}\n", 0)


@pytest.mark.parametrize(
    "arguments", [[], ["compare", "--help"], ["probe", "--help"], ["train"], ["hub", "train"], ["compare", "--minutes"]]
)
@in_turns
def test_what_a_command_can_say_without_keras_needs_no_backend(arguments, tmp_path):
    done = run_without(tmp_path, BACKENDS, ["-m", "keras_adaptive_rnn", *arguments])
    says = {
        "--help": (0, "usage: "),
        "train": (1, "there is no command train"),
        "--minutes": (2, "expected one argument"),
    }
    code, text = says.get(arguments[-1] if arguments else "--help")
    if arguments[:1] == ["hub"]:
        text = "error: this is a command of its own: python -m keras_adaptive_rnn.hub train\n"
    assert done.returncode == code
    assert text in done.stdout + done.stderr
    assert "Warning" not in done.stderr


@in_turns
def test_without_the_package_that_compares_its_commands_say_how_to_get_it(tmp_path):
    for command in ("compare", "predict", "probe"):
        done = run_without(tmp_path, ["keras_rnn_compare"], ["-m", "keras_adaptive_rnn", command], backend=HERE)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            f"error: `{command}` is in a package of its own. Install it with: "
            'pip install "keras_adaptive_rnn[compare]"\n'
        )


def test_what_has_moved_says_where_to():
    for name in ("compare", "probe"):
        with pytest.raises(AttributeError, match=f"`from keras_rnn_compare import {name}`"):
            getattr(kar, name)


@in_turns
def test_importing_it_needs_nothing_but_keras_and_numpy():
    others = {"jinja2", "keras_hub", "keras_rnn_compare", "matplotlib", "pandas", "scipy", "sklearn"}
    before = run(f"import keras, sys; print(sorted({others} & set(sys.modules)))", cwd=ROOT)
    assert run(f"import keras_adaptive_rnn, sys; print(sorted({others} & set(sys.modules)))", cwd=ROOT) == before


def test_logs_of_libraries_stay_off_the_terminal(capfd):
    with without_logs():
        os.write(2, b"log")
    os.write(2, b"error")
    assert capfd.readouterr().err == "error"
    with pytest.raises(ValueError, match="told"), without_logs():
        raise ValueError("told")


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


def test_every_file_of_cells_and_layers_is_imported():
    files = [path for room in ("cells", "layers") for path in (PACKAGE / room).glob("*.py")]
    found = {name for path in files for name in re.findall(r"^@export\nclass (\w+)", path.read_text(), re.MULTILINE)}
    assert len(found) > 40
    assert found <= set(kar.layers.__all__), "import them in the `__init__.py` of their folder"


@pytest.mark.parametrize("cls", PUBLIC, ids=lambda cls: cls.__name__)
def test_a_public_class_has_a_docstring(cls):
    text = inspect.getdoc(cls)
    if hasattr(cls, "cell_class"):  # Its cell has all that the layer does not.
        assert f"`keras_adaptive_rnn.{cls.cell_class.__name__}`" in text
        return
    assert "\nArgs:\n" in text
    assert ("\nStates: " if issubclass(cls, Cell) else "\nExample:\n\n>>> ") in text
    # A cell names its paper; a layer or a map may name the class that does.
    reference = r"\nReference: .*\(\d{4}\)" if issubclass(cls, Cell) else r"\(\d{4}\)|`keras(_adaptive_rnn)?\.\w"
    assert re.search(reference, text, flags=re.DOTALL)


def test_signatures_show_types_by_their_names():
    signature = str(inspect.signature(kar.Mogrifier))
    assert "kernel_initializer: Initializer = 'glorot_uniform'" in signature
    assert "keras.src" not in signature
    for cls in PUBLIC:
        inits = [vars(base)["__init__"] for base in cls.__mro__[:-1] if "__init__" in vars(base)]
        assert all(isinstance(typing.get_type_hints(init), dict) for init in inits)
    hints = typing.get_type_hints(kar.maps.LowRank.__init__)
    assert keras.initializers.Initializer in typing.get_args(hints["diagonal_initializer"].__value__)


@pytest.mark.parametrize("namespace", [*NAMESPACES, *OTHER_NAMESPACES], ids=lambda module: module.__name__)
def test_dir_shows_the_public_names_alone(namespace):
    shown = set(dir(namespace))
    assert set(namespace.__all__) <= shown
    assert not {"Any", "engine", "exported", "importlib", "keras", "loop", "np", "ops", "recurrent"} & shown
    assert all(hasattr(namespace, name) for name in shown)


def test_dir_shows_the_rooms_and_what_cells_are_derived_from():
    assert {"Mogrifier", "callbacks", "cells", "files", "layers", "__version__"} <= set(dir(kar))
    assert {"Cell", "GatedCell", "Run"} <= set(dir(kar.cells))


def test_the_initializers_by_name_are_public():
    for name, cls in kar.initializers.NAMES.items():
        assert cls.__name__ in kar.initializers.__all__
        assert isinstance(kar.initializers.get(name), cls)


@pytest.mark.parametrize("namespace", NAMESPACES, ids=lambda module: module.__name__)
def test_the_public_names_exist(namespace):
    assert all(hasattr(namespace, name) for name in namespace.__all__)


# Distribution.


def test_the_version_is_that_of_the_metadata():
    assert importlib.metadata.version("keras_adaptive_rnn") == kar.__version__


def test_the_changelog_knows_the_version():
    assert f"## [{kar.__version__}]" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("CITATION.cff", "version: {}\n"),
        ("conda/recipe.yaml", 'version: "{}"\n'),
        ("compare/conda/recipe.yaml", 'version: "{}"\n'),
        ("compare/keras_rnn_compare/__init__.py", '__version__ = "{}"\n'),
        ("compare/pyproject.toml", '"keras_adaptive_rnn=={}"'),
    ],
)
def test_what_names_the_version_names_this_one(file, line):
    assert line.format(kar.__version__) in (ROOT / file).read_text(encoding="utf-8")


def test_the_table_of_versions_is_that_of_what_is_tested():
    page = ROOT / "docs" / "versions.md"
    if not page.exists():
        pytest.skip("the docs are not part of the source distribution")
    rows = re.findall(r"^\| (\w+) \| ([\d.]+) \| ([\d.]+) \|$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    oldest, newest = ({name.lower(): row[k] for name, *row in rows} for k in (0, 1))
    metadata = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    pythons = re.findall(r"Python :: (3\.\d+)", metadata)
    assert f'requires-python = ">={pythons[0]}"' in metadata
    (in_makefile,) = re.findall(
        r"^OLDEST := (.*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    pinned = dict(line.split("==") for line in in_makefile.split())
    constrained = dict(re.findall(r"^(\w+)==(\S+)$", (ROOT / "constraints.txt").read_text("utf-8"), flags=re.MULTILINE))
    names = {"keras": "keras", "jax": "jax", "tensorflow": "tensorflow", "pytorch": "torch"}
    assert oldest == {"python": pythons[0], **{name: pinned[package] for name, package in names.items()}}
    assert newest == {"python": pythons[-1], **{name: constrained[package] for name, package in names.items()}}
    assert workflow("ci")[1]["jobs"]["test"]["strategy"]["matrix"]["python"] == pythons
    lower = dict(re.findall(r'"(keras|jax|tensorflow|torch)>=([\d.]+)', metadata))
    assert all(f"{pinned[name]}.".startswith(f"{lower[name]}.") for name in names.values())


@pytest.mark.parametrize(
    ("folder", "package", "extras", "count"),
    [("conda", "keras_adaptive_rnn", [], 2), ("compare/conda", "keras_rnn_compare", ["report"], 10)],
)
def test_conda_recipes_render_and_need_what_the_packages_need(folder, package, extras, count):
    import rattler_build

    (rendered,) = rattler_build.Stage0Recipe.from_file(str(ROOT / folder / "recipe.yaml")).render()
    recipe = rendered.recipe.to_dict()
    assert recipe["build"]["noarch"] == "python"
    assert {"package", "source", "requirements", "tests", "about"} < recipe.keys()
    found = dict(f"{line} ".split(" ", 1) for line in recipe["requirements"]["run"])
    assert found.pop("python").strip() == importlib.metadata.metadata(package)["Requires-Python"]
    needed = {}
    for line in importlib.metadata.requires(package):
        requirement = Requirement(line)
        if requirement.marker is None or any(requirement.marker.evaluate({"extra": extra}) for extra in extras):
            needed[requirement.name] = requirement.specifier
    assert len(needed) == count
    assert {name.removesuffix("-base"): SpecifierSet(bounds) for name, bounds in found.items()} == needed


def test_the_readme_is_short_and_its_programs_choose_a_backend():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 700
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        assert block.startswith('import os\n\nos.environ.setdefault("KERAS_BACKEND", "jax")')
        assert "model.fit(" in block
        assert "model.predict(" in block
    assert 'keras.models.load_model("model.keras")' in blocks[0]


@pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="the wheel is the same on every backend: built once, on JAX"
)
@nightly
def test_a_wheel_works_away_from_the_checkout(tmp_path):
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    build = [*pip, "wheel", str(ROOT), "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    url = "https://example.org/owner/project"
    subprocess.run(build, check=True, capture_output=True, env={**os.environ, "PROJECT_URL": url})
    (wheel,) = tmp_path.glob("keras_adaptive_rnn-*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    (name,) = (name for name in names if name.endswith("/METADATA"))
    metadata = zipfile.ZipFile(wheel).read(name).decode()
    assert f"\nProject-URL: Repository, {url}\n" in metadata
    links = re.findall(r"(!?)\[[^\]]*\]\(([^()\s]+)\)", metadata)
    assert len(links) > 20
    for is_image, link in links:
        assert re.match("https://", link)
        place = f"{url}/{'raw' if is_image else 'blob'}/v{kar.__version__}/"
        if link.startswith(url):
            assert link.startswith(place)
            assert (ROOT / link.removeprefix(place).partition("#")[0]).is_file()
    assert "keras_adaptive_rnn/py.typed" in names
    sources = {path.relative_to(ROOT).as_posix() for path in [*PACKAGE.rglob("*.py"), *make_stubs.stubs()]}
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


# Continuous integration.


def workflow(name):
    """Returns the text of a workflow, and what it holds."""
    yaml = pytest.importorskip("yaml")
    path = ROOT / ".github" / "workflows" / f"{name}.yml"
    if not path.exists():
        pytest.skip("the workflows are not part of the source distribution")
    text = path.read_text(encoding="utf-8")
    return text, yaml.safe_load(text)


def test_the_workflows_run_every_part():
    matrix = workflow("ci")[1]["jobs"]["test"]["strategy"]["matrix"]
    assert {*matrix["part"], *(row["part"] for row in matrix["include"])} == set(run_tests.PARTS)
    nightly = workflow("nightly")[1]["jobs"]
    assert set(nightly["all"]["strategy"]["matrix"]["part"]) == set(run_tests.PARTS) - {"lint", "docs"}
    assert nightly["newest"]["strategy"]["matrix"]["part"] == list(BACKENDS)


@pytest.mark.parametrize("name", ["ci", "nightly", "release"])
def test_the_workflows_run_targets_of_the_makefile(name):
    text, _ = workflow(name)
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = {word for words in re.findall(r"run: make ((?:[a-z-]+ ?)+)", text) for word in words.split()}
    named |= set(re.findall(r"target: \[?([a-z-]+)", text))
    assert named
    assert named <= targets
