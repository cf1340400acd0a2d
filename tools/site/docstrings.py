"""Docstrings, which are Markdown with sections like `Args:`, as pages.

A class writes about the arguments that it declares, and refers to others for the rest. Here each argument gets the text
that is nearest: in the class, its bases, or the parts whose arguments it takes.
"""

import dataclasses
import functools
import inspect
import itertools
import operator
import re

import keras

import keras_adaptive_rnn
from keras_adaptive_rnn._signatures import HasSignature, part_classes

SECTIONS = (
    *("Args", "Arguments", "Attributes", "Call arguments", "Example", "Items", "Logs", "Output shape"),
    *("Raises", "Reference", "Returns", "States", "Variables", "Yields"),
)
OPEN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
# A class that writes no such section has the one of its nearest base.
INHERITED = ("Call arguments", "Output shape", "Raises", "Returns", "States")
HEAD = re.compile(rf"^({'|'.join(SECTIONS)}|Args of [^:]+):(.*)$", re.MULTILINE)
ITEM = re.compile(r"^(\*{0,2}\w[\w., *\n]*?): (.*(?:\n(?: +.*|(?=\n +\S).*|))*)", re.MULTILINE)
REFERENCE = re.compile(r"As in\s+`(keras(?:_adaptive_rnn)?)\.([\w.]+)`(?:, [^.]*)?\.?\s*")
# The forms in which a text states a default.
STATED = re.compile(r"Defaults?\s+to\s+`|`\s+\(default\b|`\s+by\s+default")
OF_LAYER = {
    "name": "String, name of the layer. Defaults to `None`: one made from the name of the class.",
    "dtype": "Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.",
    "trainable": "Whether the variables are trained. Defaults to `True`.",
    "activity_regularizer": "Regularizer of the output. Defaults to `None`.",
}


@dataclasses.dataclass
class Docstring:
    """A docstring in parts: the text before the first section, and the sections by name."""

    text: str
    sections: dict

    @property
    def sentence(self):
        return " ".join(self.text.partition("\n\n")[0].split())

    def items(self, section):
        """Returns `(names, text)` for each entry of a section, such as one argument."""
        return items(self.sections.get(section, ""))


def parse(text):
    """Returns the text before the first section, and the contents of the sections by name, without indentation."""
    before, *parts = HEAD.split(text)
    heads, firsts, rests = (parts[k::3] for k in range(3))
    sections = zip(heads, firsts, rests, strict=True)
    return before.strip(), {head: dedented(f"{first.strip()}{rest}".strip("\n")) for head, first, rest in sections}


def dedented(text):
    """Returns the text with the indentation of its second and later lines taken away."""
    first, _, rest = text.partition("\n")
    if first.startswith(" "):
        return inspect.cleandoc("\n" + text).strip()
    return (first + "\n" + inspect.cleandoc("\n" + rest)).strip() if rest else first.strip()


def items(section):
    """Returns `(names, text)` for each entry of a section, such as one argument."""
    return [(" ".join(names.split()), dedented(text)) for names, text in ITEM.findall(section)]


@functools.cache
def own(value):
    """Returns the text and the sections of the docstring that a class or function has itself."""
    doc = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    return parse(inspect.cleandoc(doc or ""))


def documented(value):
    """Returns a function, or a class and its bases, without those of Keras, which are documented in another style."""
    bases = value.__mro__ if inspect.isclass(value) else (value,)
    return [base for base in bases if base.__module__.partition(".")[0] not in ("keras", "keras_hub")]


@functools.cache
def text_about(value, name):
    """Returns `(text, source)`: the nearest text about an argument, and the class or function that has it."""
    remark = ""
    for base in documented(value):
        for names, text in items(own(base)[1].get("Args", "")):
            if name not in re.findall(r"\w+", names) or "*" in names:
                continue
            reference = REFERENCE.match(text)
            if not reference or (reference[1] == "keras" and name not in OF_LAYER):
                return f"{text} {remark}".strip(), base
            remark = remark or text[reference.end() :]
            if reference[1] == "keras":
                return f"{OF_LAYER[name]} {remark}".strip(), base
            other, _ = text_about(operator.attrgetter(reference[2])(keras_adaptive_rnn), name)
            return f"{other} {remark}".strip(), base
        if name in vars(base).get("fixed_arguments", ()):
            break
    for part in part_classes(value) if isinstance(value, type) and issubclass(value, HasSignature) else ():
        if name in inspect.signature(part).parameters:
            return text_about(part, name)
    return OF_LAYER.get(name, ""), keras.layers.Layer if name in OF_LAYER else value


def argument(value, name):
    """Returns `text_about(value, name)`, with the default if the text does not state it."""
    text, source = text_about(value, name)
    parameter = inspect.signature(value).parameters.get(name)
    if parameter is None or parameter.default is parameter.empty or STATED.search(text):
        return text, source
    default = parameter.default
    shown = f'"{default}"' if isinstance(default, str) else getattr(default, "__name__", repr(default))
    return f"{text} Defaults to `{shown}`.".strip(), source


def arguments(value):
    """Returns `{section: [(names, text)]}` about all arguments, in the order of the signature."""
    listed = inspect.signature(value).parameters
    is_open = any(p.kind is p.VAR_KEYWORD for p in listed.values())
    written = own(value)[1].get("Args", "")
    names = [name for name, p in listed.items() if p.kind not in OPEN]
    if is_open:
        # Only the class itself can say something about what it passes on to Keras.
        described = [name for group, _ in items(written) if "*" not in group for name in re.findall(r"\w+", group)]
        names += [name for name in described if name not in names]
    sections = {"Args": []}
    for (text, source), group in itertools.groupby(names, lambda name: argument(value, name)):
        is_own = source is value or not inspect.isclass(source)
        section = "Args" if is_own or not sections["Args"] else f"Args of `{source.__name__}`"
        sections.setdefault(section, []).append((", ".join(group), text))
    sections["Args"] += [(group, text) for group, text in items(written) if is_open and "*" in group]
    return sections


@functools.cache
def read(value):
    """Returns the `Docstring` of a class or function: with all arguments, and what it has from its bases."""
    text, sections = own(value)
    if inspect.isclass(value) and text:
        inherited = {}
        for base in reversed(documented(value)):
            inherited |= {name: part for name, part in own(base)[1].items() if name in INHERITED}
        sections = {**inherited, **sections}
    return Docstring(markdown(text), sections)


def markdown(text):
    """Returns the text with lists that are indented under a sentence moved to the margin, where Markdown sees them."""
    lines, indentation = [], None
    for line in text.splitlines():
        item = re.match(r"^( {2,})- ", line)
        if item and indentation is None:
            indentation = len(item[1])
            if lines and lines[-1].strip():
                lines.append("")
        elif indentation is not None and line.strip() and not line.startswith(" " * indentation):
            indentation = None
        lines.append(line[indentation:] if indentation and line.strip() else line)
    return examples("\n".join(lines)).strip()


def examples(text):
    """Returns the text with each example, from `>>>` to an empty line, in a block of code."""
    found = re.sub(
        r"(?:^>>> .*\n?(?:^(?!\s*$).*\n?)*)+", lambda m: f"```pycon\n{m[0].strip()}\n```\n", text + "\n", flags=re.M
    )
    return re.sub(r"\s*# doctest: \+\w+", "", found).strip()


def definitions(items):
    """Returns a definition list in Markdown."""
    return "\n\n".join(f"{term}\n: {indented(markdown(text))}" for term, text in items)


def indented(text):
    first, _, rest = text.partition("\n")
    return first + ("\n" + "\n".join("  " + line if line.strip() else "" for line in rest.splitlines()) if rest else "")


def code(names):
    """Returns `a, b` as `` `a`, `b` ``."""
    return ", ".join(f"`{name.strip()}`" for name in names.split(","))
