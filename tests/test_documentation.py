"""What `help` and the site say about each argument of each public name is what its signature says."""

import ast
import inspect
import operator
import pathlib
import pydoc
import re
import subprocess
import sys

import keras_adaptive_rnn as kar
from keras_adaptive_rnn._documentation import Documentation
from keras_adaptive_rnn.layers.cell_layer import CellLayer
from tests.backends import in_turns, nightly
from tools.site import catalogue, names, reference

pytestmark = in_turns

PACKAGE = pathlib.Path(kar.__file__).parent
PUBLIC = {name.paths[0]: name for name in names.public()}
# Every form in which a text may state a default, and forms that a reader of texts would miss.
STATED = re.compile(r"Defaults?\s+to\s+`([^`]*)`|`([^`]*)`\s+\(default|`([^`]*)`\s+by\s+default")
MISSED = re.compile(r"Defaults?\s+to\s+[^`]|\(the default|[^`]\s+\(default|[^`]\s+by\s+default[.;]")
REFERENCE = re.compile(r"As in(?: a call of)?\s+`(keras_(?:adaptive_rnn|rnn_compare)\.[\w.]+)`")
SECTION = re.compile(r"^(?:Args(?: of [^:\n]+)?|Attributes):\n((?: {4}.*\n|\s*\n)+)", re.MULTILINE)
ENTRY = re.compile(r"^ {4}(\w[\w, .]*(?:\n {8}\w[\w, .]*)*): (.*(?:\n(?: {5,}.*|(?=\n)))*)", re.MULTILINE)
OPEN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


def described(doc):
    """Returns what a docstring says about each argument, by name; the fields of a result are its attributes."""
    entries = ENTRY.findall("\n".join(SECTION.findall(f"{doc}\n")))
    return {name: " ".join(text.split()) for names, text in entries for name in re.findall(r"\w+", names)}


def value_of(text):
    """Returns a default from its text: its Python value, or the text, such as the name of a class."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def stated(text):
    return [value_of(next(filter(None, forms))) for forms in STATED.findall(text)]


def default_of(parameter):
    """Returns `[default]` as a docstring may state it, or `[]` for an argument that must be given."""
    default = parameter.default
    return [] if default is parameter.empty else [default.__name__ if callable(default) else default]


def same(a, b):
    return a == b and [type(x) for x in a] == [type(x) for x in b]


def faults(path, parameters, texts):
    """Yields what is wrong in `texts`, which say something about each parameter, by name."""
    for name, parameter in parameters.items():
        text, expected = texts.get(name, ""), default_of(parameter)
        other = REFERENCE.match(text)
        if parameter.kind in OPEN:
            continue
        if not text:
            yield f"{path} does not document `{name}`"
        elif MISSED.search(text):
            yield f"{path}: `{name}` states its default in another form: {text}"
        elif other and not stated(text):
            package, _, referred_to = other[1].partition(".")
            referred = inspect.signature(operator.attrgetter(referred_to)(sys.modules[package])).parameters
            if name not in referred or not same(default_of(referred[name]), expected):
                yield f"{path}: `{name}` is {expected}, and not as in {other[1]}"
        elif not same(stated(text), expected):
            yield f"{path}: `{name}` is {expected}, and its text says {stated(text)}: {text}"


def signature_of(value):
    return inspect.signature(value).parameters


def test_help_states_every_argument_with_its_default():
    assert len(PUBLIC) > 100
    found = []
    for path, name in PUBLIC.items():
        found += faults(path, signature_of(name.value), described(inspect.getdoc(name.value)))
    assert found == []


def test_help_and_jupyter_show_this_text():
    text = pydoc.render_doc(kar.Mogrifier, renderer=pydoc.plaintext)
    shown = " ".join(re.sub(r"^ \|", "", text, flags=re.MULTILINE).split())
    assert " ".join(inspect.getdoc(kar.Mogrifier).split()) in shown
    assert 'activation: Activation function $\\phi$. Defaults to `"tanh"`.' in shown
    assert "**kwargs" not in inspect.getdoc(kar.Mogrifier)
    assert kar.Mogrifier(2).__doc__ == kar.Mogrifier.__doc__


def test_methods_state_no_other_default():
    found = []
    for path, name in PUBLIC.items():
        for method, value in vars(name.value).items() if inspect.isclass(name.value) else ():
            if inspect.isfunction(value) and not method.startswith("_"):
                texts = {n: t for n, t in described(inspect.getdoc(value)).items() if stated(t)}
                parameters = {n: p for n, p in signature_of(value).items() if n in texts}
                found += faults(f"{path}.{method}", parameters, texts)
    assert found == []


def test_no_author_states_another_default_than_the_class_has():
    """What a subclass inherits is corrected, which must not hide a slip in a class's own docstring."""
    found = []
    for path, name in PUBLIC.items():
        doc = vars(name.value).get("__doc__")
        if isinstance(doc, Documentation):
            texts = {n: t for n, t in described(inspect.cleandoc(doc.written)).items() if stated(t)}
            parameters = {n: p for n, p in signature_of(name.value).items() if n in texts}
            found += faults(path, parameters, texts)
    assert found == []


def test_the_site_states_every_argument_with_its_default():
    found = []
    for path, name in PUBLIC.items():
        lines = "\n".join(reference.arguments(name, reference.docstrings.read(name.value)))
        entries = re.findall(r"^(`[^\n]*`)\n: (.*(?:\n(?:  .*)?(?!`))*)", lines, flags=re.MULTILINE)
        texts = {n: " ".join(t.split()) for group, t in entries for n in re.findall(r"\w+", group)}
        texts |= described(inspect.getdoc(name.value)) if "Attributes:\n" in inspect.getdoc(name.value) else {}
        found += faults(path, signature_of(name.value), texts)
    assert found == []


# Classes of a user's own.


def test_a_subclass_that_changes_a_default_says_so():
    class Clipped(kar.LSTMCell):
        """An LSTM.

        Args:
            units: How many.

        Reference: nobody.
        """

        def __init__(self, units, *, cell_clip=3.0, tied_gates=True, activation="relu", **kwargs):
            super().__init__(units, cell_clip=cell_clip, tied_gates=tied_gates, activation=activation, **kwargs)

    texts = described(inspect.getdoc(Clipped))
    assert list(faults("Clipped", signature_of(Clipped), texts)) == []
    assert texts["units"] == "How many."
    assert texts["activation"] == 'Activation function $\\phi$. Defaults to `"relu"`.'
    assert texts["cell_clip"].endswith("Defaults to `3.0`.")
    assert "`None` for no clipping" in texts["cell_clip"]
    assert "Reference: nobody." in inspect.getdoc(Clipped)
    assert "states: List of two tensors" in inspect.getdoc(Clipped)


def test_a_subclass_that_requires_an_argument_states_no_default():
    class Strict(kar.LSTMCell):
        """An LSTM that must be told."""

        def __init__(self, units, *, cell_clip, seed, dropout, **kwargs):
            super().__init__(units, cell_clip=cell_clip, seed=seed, dropout=dropout, **kwargs)

    texts = described(inspect.getdoc(Strict))
    assert list(faults("Strict", signature_of(Strict), texts)) == []
    assert texts["dropout"].startswith("Float in `[0, 1)`")


def test_a_layer_of_a_cell_has_the_arguments_of_the_cell():
    class Slow(kar.ElmanCell):
        """A slow cell, with no sections at all."""

        def __init__(self, units, *, pace=0.5, activation="belu", **kwargs):
            super().__init__(units, activation=activation, **kwargs)
            self.pace = pace

    class SlowLayer(CellLayer, cell_class=Slow):
        """A slow layer."""

    texts = described(inspect.getdoc(SlowLayer))
    assert texts["pace"] == "Defaults to `0.5`."
    assert texts["activation"].endswith('Defaults to `"belu"`.')
    assert texts["return_sequences"].startswith("Whether to return the output of every step.")
    assert list(faults("SlowLayer", signature_of(SlowLayer), texts)) == []


def test_a_class_without_a_docstring_stays_without():
    class Bare(kar.GRUCell):
        pass

    assert vars(Bare)["__doc__"] is None
    assert inspect.getdoc(Bare) == inspect.getdoc(kar.GRUCell)


def test_classes_that_refer_to_each_other_have_a_docstring():
    class Circular(kar.GRUCell):
        """A cell.

        Args:
            reset_after: As in `keras_adaptive_rnn.GRUCell`, or not.
            units: As in `keras_adaptive_rnn.nowhere.Class`.
        """

    assert described(Circular.__doc__)["reset_after"].endswith("Defaults to `True`.")
    assert described(Circular.__doc__)["units"].startswith("Positive integer")


def test_no_docstring_is_completed_before_it_is_read():
    code = """
import keras_adaptive_rnn as kar
from keras_adaptive_rnn._documentation import Documentation
docs = [vars(value).get("__doc__") for value in vars(kar).values() if isinstance(value, type)]
docs = [doc for doc in docs if isinstance(doc, Documentation)]
assert len(docs) > 40
assert all(doc.complete is None for doc in docs)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=PACKAGE.parent)
    assert done.returncode == 0, done.stderr


@in_turns
@nightly
def test_it_runs_without_docstrings():
    done = subprocess.run(
        [sys.executable, "-OO", "-c", "import keras_adaptive_rnn as kar; print(kar.Mogrifier.__doc__ is None)"],
        capture_output=True,
        text=True,
        cwd=PACKAGE.parent,
    )
    assert done.stdout.strip() == "True", done.stderr


# What the cells were checked against.


def test_the_guide_names_the_published_code_of_each_cell():
    guide = PACKAGE.parent / "docs" / "guides" / "reproducing_papers.md"
    section = guide.read_text(encoding="utf-8").split("## Published code\n")[1].split("\n## ")[0]
    expected = {}
    for cls, sources in catalogue.golden_sources().items():
        cells = [base.__name__ for base in cls.__mro__ if base.__name__ in kar.cells.__all__][:1]
        for source, kind in sources:
            if kind != "transcription":
                name = re.match(r"[\w.+-]+", source)[0].replace("+", "/")
                whose = "others" if kind == "peer" else "a paper's authors"
                expected.setdefault((name, whose), set()).update(cells)
    rows = re.findall(r"^\| \[(\S+)\]\(\S+\).* \| (.*) \| (.*) \|$", section, flags=re.MULTILINE)
    assert {(name, whose): set(re.findall(r"\w+", cells)) for name, whose, cells in rows} == expected
    others = set(re.findall(r"`(\w+)`", section.rpartition("|")[2]))
    readme = (
        (PACKAGE.parent / "README.md").read_text(encoding="utf-8").partition("- **Trust.**")[2].partition("[also")[0]
    )
    of_authors = set().union(*(cells for (_, whose), cells in expected.items() if whose != "others"))
    assert {f"{name}Cell" for name in re.findall(r"`(\w+)`", readme)} <= of_authors
    assert others == set(kar.cells.__all__) - set().union(*expected.values())
