"""What a type checker says about code that uses the package: mypy, with no settings but that Keras and
scikit-learn have no types."""

import ast
import collections
import doctest
import importlib
import inspect
import pathlib
import re
import subprocess
import sys

import keras
import pytest

import keras_adaptive_rnn as kar
from keras_adaptive_rnn import _arguments, _export
from tests.backends import nightly
from tools import make_stubs

pytestmark = pytest.mark.skipif(
    keras.backend.backend() != "jax", reason="types are the same on every backend: checked once, on JAX"
)

ROOT = pathlib.Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted([*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "compare").glob("*.md")])]
PUBLIC = [cls for cls in _export.PUBLIC if cls.__module__.startswith("keras_adaptive_rnn.")]
MODULES = (
    *(kar.activations, kar.analysis, kar.callbacks, kar.datasets, kar.distribution),
    *(kar.initializers, kar.models),
)
FUNCTIONS = [
    getattr(module, name)
    for module in MODULES
    for name in getattr(module, "__all__", dir(module))
    if getattr(getattr(module, name), "__module__", "").startswith("keras_adaptive_rnn.")
]
IMPORTS = """
import keras
import numpy as np
import keras_adaptive_rnn
import keras_adaptive_rnn as kar
from keras_adaptive_rnn.layers import Mogrifier
from keras_adaptive_rnn.layers.cell_layer import CellLayer
"""
ACCEPTED = {
    "a cell and a layer, by any of the names": """
        cells = [kar.MogrifierCell(8), kar.cells.MogrifierCell(8), kar.layers.MogrifierCell(8)]
        layer: kar.layers.RNN = kar.Mogrifier(8)
        """,
    "arguments of the class, its base, its core and its layer": """
        Mogrifier(8, rounds=4, tied_gates=True, dropout=0.1, seed=1, return_sequences=True, name="a", dtype="float16")
        """,
    "a stack": 'Mogrifier([8] * 4, connection="skip")',
    "objects": """
        kernel_map = kar.maps.LowRank(4, diagonal=True)
        kar.LSTM(8, activation=keras.ops.tanh, recurrent_map=kernel_map, kernel_initializer=keras.initializers.Zeros())
        """,
    "methods": """
        layer = Mogrifier(8, stateful=True)
        layer.build((None, None, 8))
        output, states = layer.step(np.ones((1, 8)), None)
        layer.reset_state()
        config: dict[str, object] = layer.get_config()
        rounds: int = Mogrifier.from_config(config).rounds
        """,
    "a model": """
        model = kar.models.SkimOrRead(vocabulary_size=9, embedding_units=4, classes=2, units=8)
        shares: np.ndarray = model.curve(np.ones((4, 3)), np.ones(4)).shares
        """,
    "a cell and a layer of one's own": """
        class MyCell(kar.cells.GatedCell):
            gates = ("h",)

        class MyLayer(CellLayer, cell_class=MyCell):
            pass

        MyCell(8, dropout=0.1)
        MyLayer(8, dropout=0.1, return_sequences=True)
        """,
}
REJECTED = {
    "a wrong name in a layer": ("Mogrifier(8, roundz=3)", 'Unexpected keyword argument "roundz" for "Mogrifier"'),
    "a wrong name in a cell": ("kar.MogrifierCell(8, roundz=3)", 'Unexpected keyword argument "roundz"'),
    "a wrong name in a map": ("kar.maps.LowRank(3, diagnal=True)", 'Unexpected keyword argument "diagnal"'),
    "a wrong name in a feed-forward layer": ("kar.Highway(dept=3)", 'Unexpected keyword argument "dept"'),
    "a wrong name in the RNN": ("kar.RNN(kar.GRUCell(8), masks=1)", 'Unexpected keyword argument "masks"'),
    "an argument of another core": ("kar.GRUCell(8, tied_gates=True)", 'Unexpected keyword argument "tied_gates"'),
    "a type of its own argument": ('Mogrifier("a")', 'incompatible type "str"'),
    "a type of its base's argument": ('Mogrifier(8, dropout="a")', 'incompatible type "str"; expected "float"'),
    "a type of its layer's argument": ("Mogrifier(8, return_sequences=3.5)", 'incompatible type "float"'),
    "a missing argument": ("kar.DeepRNN(8)", 'Missing named argument "depth"|Missing positional argument "depth"'),
    "an unknown class": ("kar.Mogrifer(8)", 'Module has no attribute "Mogrifer"'),
    "a wrong type from an attribute": ("a: str = Mogrifier(8).rounds", 'expression has type "int"'),
    "a wrong name in a method": ("Mogrifier(8).step(1, state=2)", 'Unexpected keyword argument "state"'),
    "an unknown attribute of a result": (
        "kar.models.ReadingCurve(np.ones(1), np.ones(1), np.ones(1)).share",
        '"ReadingCurve" has no attribute "share"',
    ),
}


def examples_of(cls):
    return "".join(example.source for example in doctest.DocTestParser().get_examples(inspect.getdoc(cls) or ""))


def sources():
    """Yields the name and the code of each file that is checked; mypy reads them all at once."""
    for page in PAGES:
        blocks = re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)
        if blocks:
            # Functions of the page have no types.
            yield page.name, "\n".join(['# mypy: disable-error-code="no-untyped-call"', *blocks])
    for thing in [*PUBLIC, *FUNCTIONS]:
        if examples_of(thing):
            yield f"{thing.__module__}.{thing.__name__}", IMPORTS + examples_of(thing)
    for name, code in ACCEPTED.items():
        yield name, IMPORTS + inspect.cleandoc(code)
    for name, (code, _) in REJECTED.items():
        yield name, IMPORTS + code


SOURCES = dict(sources())


@pytest.fixture(scope="module")
def errors(tmp_path_factory):
    """Returns the errors of mypy by the name of the code."""
    make_stubs.write()
    folder = tmp_path_factory.mktemp("types")
    settings = folder / "mypy.ini"
    untyped = "[mypy-keras.*,sklearn.*]\nignore_missing_imports = True"
    skipped = "[mypy-jax.*,jaxlib.*,optax.*,tensorflow.*,torch.*]\nfollow_imports = skip\nignore_missing_imports = True"
    # Errors in the package itself are those of `make lint`.
    inside = "[mypy-keras_adaptive_rnn.*,tests.*]\nfollow_imports = silent\nfollow_imports_for_stubs = True"
    settings.write_text(f"[mypy]\ndisallow_untyped_calls = True\n{untyped}\n{skipped}\n{inside}\n")
    files = {f"example_{k}.py": name for k, name in enumerate(SOURCES)}
    for path, name in files.items():
        (folder / path).write_text(SOURCES[name])
    options = [f"--config-file={settings}", f"--cache-dir={folder / 'cache'}"]
    command = [sys.executable, "-m", "mypy", *options, *(folder / path for path in files)]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert found.returncode == 1, found.stdout + found.stderr
    by_name = collections.defaultdict(list)
    for path, text in re.findall(r"^(.*?):\d+: error: (.*)$", found.stdout, flags=re.MULTILINE):
        # An unknown function is a lambda of an example.
        if "untyped function (unknown)" not in text:
            by_name[files[pathlib.Path(path).name]].append(text)
    return by_name


@nightly
@pytest.mark.parametrize("name", [name for name in SOURCES if name not in REJECTED])
def test_right_code_is_accepted(name, errors):
    assert not errors[name], "\n".join(errors[name])


@nightly
@pytest.mark.parametrize("name", REJECTED)
def test_wrong_code_is_rejected(name, errors):
    _, reason = REJECTED[name]
    assert len(errors[name]) == 1, errors[name]
    assert re.search(reason, errors[name][0])


def constructors():
    """Yields each class that a stub completes, and the signature of its constructor in the stub."""
    for path, text in make_stubs.stubs().items():
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        tree, namespace = ast.parse(text), {}
        imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
        exec(compile(ast.Module(imports, []), path, "exec"), namespace)
        namespace |= vars(importlib.import_module(name))
        for cls in tree.body:
            for node in cls.body if isinstance(cls, ast.ClassDef) else ():
                if getattr(node, "name", "") == "__init__":
                    exec(compile(ast.Module([node], []), path, "exec"), namespace)
                    listed = list(inspect.signature(namespace["__init__"]).parameters.values())[1:]
                    yield namespace[cls.name], inspect.Signature(listed)


def subclasses(cls):
    return {cls, *(found for base in cls.__subclasses__() for found in subclasses(base))}


def test_the_stubs_are_those_of_the_signatures():
    """Those are derived from the source, without Keras, and these are of the classes themselves."""
    in_stubs = dict(constructors())
    classes = {c for c in subclasses(_arguments.DeclaredArguments) if c.__module__.startswith("keras_adaptive_rnn.")}
    # A layer without a cell takes what the cell of its subclass does.
    classes -= {_arguments.DeclaredArguments, *(c for c in classes if getattr(c, "cell_class", c) is None)}
    assert len(classes) > 50
    assert {c.__qualname__: in_stubs[c] for c in classes} == {c.__qualname__: inspect.signature(c) for c in classes}


def test_the_stubs_need_nothing_that_the_package_needs():
    """A wheel is built where Keras and NumPy may be missing."""
    code = (
        "import sys; sys.modules |= dict.fromkeys(['keras', 'numpy']); from tools import make_stubs; make_stubs.stubs()"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
