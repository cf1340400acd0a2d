"""The docs of each argument of each public name agree with its signature."""

import ast
import inspect
import operator
import pathlib
import pydoc
import re
import subprocess
import sys

import keras_adaptive_rnn as kar
from keras_adaptive_rnn.layers.cell_layer import CellLayer
from tests.backends import in_turns, nightly
from tools.site import catalogue, docstrings, names

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


def site_texts(value):
    """Returns what the site says about each argument, by name."""
    listed = [entry for entries in docstrings.arguments(value).values() for entry in entries]
    return {name: " ".join(text.split()) for names, text in listed for name in re.findall(r"\w+", names)}


def test_the_site_states_every_argument_with_its_default():
    assert len(PUBLIC) > 100
    found = []
    for path, name in PUBLIC.items():
        texts, doc = site_texts(name.value), inspect.getdoc(name.value)
        texts |= described(doc) if "Attributes:\n" in doc else {}
        found += faults(path, signature_of(name.value), texts)
    assert found == []


def test_help_lists_every_argument_with_its_default():
    """In the signature; the docstring is about the arguments of the class, and says where the others are."""
    text = pydoc.render_doc(kar.Mogrifier, renderer=pydoc.plaintext)
    shown = " ".join(re.sub(r"^ \|", "", text, flags=re.MULTILINE).split())
    assert "rounds: int = 5, rank: int | None = None" in shown
    assert "return_sequences: bool = False" in shown
    assert "the arguments of `keras_adaptive_rnn.MogrifierCell`" in shown
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


def test_no_docstring_states_another_default_than_the_class_has():
    found = []
    for path, name in PUBLIC.items():
        texts = {n: t for n, t in described(inspect.getdoc(name.value)).items() if stated(t)}
        found += faults(path, {n: p for n, p in signature_of(name.value).items() if n in texts}, texts)
    assert found == []


def test_texts_come_from_the_nearest_class_that_has_one():
    class Slow(kar.ElmanCell):
        """A slow cell.

        Args:
            pace: Number, how slow it is. Defaults to `0.5`.
            units: As in `keras_adaptive_rnn.LSTMCell`. More is better.
        """

        def __init__(self, units, *, pace=0.5, **kwargs):
            super().__init__(units, **kwargs)
            self.pace = pace

    class SlowLayer(CellLayer, cell_class=Slow):
        """A slow layer."""

    texts = site_texts(Slow)
    assert texts["pace"] == "Number, how slow it is. Defaults to `0.5`."
    assert texts["units"] == "Positive integer, size of the memory $c$. More is better."
    assert texts["seed"].startswith("Integer seed of the masks")
    assert docstrings.read(Slow).sections["States"] == docstrings.read(kar.ElmanCell).sections["States"]
    texts = site_texts(SlowLayer)
    assert texts["pace"] == "Number, how slow it is. Defaults to `0.5`."
    assert texts["return_sequences"].startswith("Whether to return the output of every step.")


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
