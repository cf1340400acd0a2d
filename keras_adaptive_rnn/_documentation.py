"""Docstrings of classes, completed from those of their bases and parts: every argument, each with its real default."""

import ast
import functools
import inspect
import itertools
import operator
import re
import sys
import textwrap
import types

from keras_adaptive_rnn._signatures import HasSignature, argument_groups

SECTIONS = (
    "Args",
    "Arguments",
    "Attributes",
    "Call arguments",
    "Example",
    "Items",
    "Logs",
    "Output shape",
    "Raises",
    "Reference",
    "Returns",
    "Variables",
    "Yields",
)
OPEN = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
KERAS = ("keras", "keras_hub")
# What a class that writes no such section has from its nearest base.
INHERITED = ("Call arguments", "Output shape", "Returns")
HEAD = re.compile(rf"^({'|'.join(SECTIONS)}|Args of [^:]+):(.*)$")
ITEM = re.compile(r"^(\*{0,2}\w[\w., *\n]*?): (.*(?:\n(?: +.*|(?=\n +\S).*|))*)", re.MULTILINE)
# A reference to another class; "As in `keras.layers.Dense`." stays as it is.
REFERENCE = re.compile(r"As in `(keras\.layers\.Layer|keras\.Model|keras_adaptive_rnn\.[\w.]+)`(?:, [^.]*)?\.?\s*")
# The forms in which a text states a default.
SENTENCE = re.compile(r"\s*\bDefaults? to `([^`]*)`(?:[^.`]|\.(?=\S)|`[^`]*`)*\.?")
ASIDE = re.compile(r"`([^`]*)` (?:\(default\)|by default)")
# What Keras documents for every layer.
OF_ANY_LAYER = {
    "name": "String, name of the layer. Defaults to `None`: one made from the name of the class.",
    "dtype": "Dtype or dtype policy, as in `keras.layers.Layer`. Defaults to `None`: `keras.config.dtype_policy()`.",
    "trainable": "Whether the variables are trained. Defaults to `True`.",
    "activity_regularizer": "Regularizer of the output. Defaults to `None`.",
}


class Documentation:
    """The docstring of a class, which is completed when it is first read: most programs read none.

    Args:
        cls: The class.
        written: Its docstring as written.
    """

    def __init__(self, cls, written):
        self.cls, self.written, self.complete = cls, written, None

    def __get__(self, instance, owner=None):
        if self.complete is None:
            self.complete = complete(self.cls)
        return self.complete


def document(cls):
    """Decorates a class whose docstring, if it has one, is completed as soon as it is read."""
    doc = vars(cls).get("__doc__")
    if isinstance(doc, str):
        # `type` declares a string, and takes any descriptor.
        setattr(cls, "__doc__", Documentation(cls, doc))  # noqa: B010
    return cls


def written(value):
    """Returns the docstring that a class or function has itself, as written."""
    doc = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    return inspect.cleandoc((doc.written if isinstance(doc, Documentation) else doc) or "")


def documented(value):
    """Returns a function, or a class and its bases, without those of Keras, which are documented in another style."""
    bases = value.__mro__ if inspect.isclass(value) else (value,)
    return [base for base in bases if base.__module__.partition(".")[0] not in KERAS]


@functools.lru_cache(maxsize=1024)
def segments(text):
    """Returns the parts of a docstring as written, by the name of the section; `""` is the text before the first."""
    parts, current = {"": []}, ""
    for line in text.splitlines():
        head = HEAD.match(line)
        if head:
            current = head[1]
            parts[current] = []
        parts[current].append(line)
    return types.MappingProxyType({name: "\n".join(lines).strip() for name, lines in parts.items()})


def parse(text):
    """Returns the text before the first section, and the contents of the sections by name, without indentation."""
    parts = dict(segments(text))
    return parts.pop(""), {
        name: dedented(part.partition(":")[2].lstrip(" ").strip("\n")) for name, part in parts.items()
    }


def dedented(text):
    """Returns the text with the indentation of its second and later lines taken away."""
    first, _, rest = text.partition("\n")
    if first.startswith(" "):
        return inspect.cleandoc("\n" + text).strip()
    return (first + "\n" + inspect.cleandoc("\n" + rest)).strip() if rest else first.strip()


def items(section):
    """Returns `(names, text)` for each entry of a section, such as one argument."""
    return [(" ".join(names.split()), dedented(text)) for names, text in ITEM.findall(section)]


def joined(text):
    """Returns a text in one line, unless it has lists or paragraphs."""
    return text if re.search(r"\n\s*(\n|- )", text) else " ".join(text.split())


@functools.lru_cache(maxsize=1024)
def entries(text):
    """Returns what a docstring says about each argument, by name."""
    args = parse(text)[1].get("Args", "")
    return types.MappingProxyType(
        {name: joined(text) for names, text in items(args) for name in re.findall(r"\w+", names) if "*" not in names}
    )


def text_about(value, name, seen=()):
    """Returns what is written nearest about an argument of a class: in it, its bases, or the parts that it makes.

    "As in `keras_adaptive_rnn.X`." is replaced by what `X`, a class or a function, says. Returns `""` if nothing is
    written.
    """
    if value in seen:
        return ""
    seen = (*seen, value)
    remark = ""
    for base in documented(value):
        text = entries(written(base)).get(name, "")
        reference = REFERENCE.match(text)
        if text and not reference:
            return f"{text} {remark}".strip()
        if reference:
            remark = remark or text[reference.end() :]
            other = text_about(resolved(reference[1]), name, seen)
            if other:
                return f"{other} {remark}".strip()
        if name in vars(base).get("fixed_arguments", ()):
            break
    parts = getattr(value, "takes_arguments_of", ())
    for part in parts if isinstance(parts, tuple) else (parts,):
        if name in inspect.signature(part).parameters:
            return f"{text_about(part, name, seen)} {remark}".strip()
    return f"{OF_ANY_LAYER.get(name, '')} {remark}".strip()


def resolved(path):
    """Returns the class or function with this path, or `object` if there is none."""
    try:
        return operator.attrgetter(path.partition(".")[2])(sys.modules[path.partition(".")[0]])
    except AttributeError:
        return object


def with_default(text, default):
    """Returns a text about an argument that states its default: what it says of another one is taken away."""
    stated = SENTENCE.search(text) or ASIDE.search(text)
    without = ASIDE.sub(r"`\1`", SENTENCE.sub("", text)).strip()
    if default is inspect.Parameter.empty:
        return without
    shown = shown_default(default)
    return text if stated and same(stated[1], shown) else f"{without} Defaults to `{shown}`.".strip()


def same(stated, shown):
    """Returns whether two texts are the same Python value."""
    try:
        a, b = ast.literal_eval(stated), ast.literal_eval(shown)
    except (ValueError, SyntaxError):
        return stated == shown
    return a == b and type(a) is type(b)


def shown_default(value):
    """Returns a default as it is written in a docstring."""
    if isinstance(value, str):
        return f'"{value}"'
    return getattr(value, "__name__", repr(value)) if callable(value) else repr(value)


def arguments(cls):
    """Returns the sections of all arguments of a class, in the order of its signature, as lists of `(names, text)`."""
    listed, described = inspect.signature(cls).parameters, entries(written(cls))
    is_open = any(p.kind is p.VAR_KEYWORD for p in listed.values())
    texts = {name: with_default(text_about(cls, name), p.default) for name, p in listed.items() if p.kind not in OPEN}
    # Of what it passes on to a class of Keras, only the class itself can say something.
    texts |= {name: text_about(cls, name) for name in described if is_open and name not in texts}
    groups = argument_groups(cls) if issubclass(cls, HasSignature) else {}
    sections = {"Args": []}
    for (group, text), names in itertools.groupby(texts, lambda name: (groups.get(name, ""), texts[name])):
        sections.setdefault(f"Args of {group}" if group else "Args", []).append((", ".join(names), text))
    sections["Args"] += [
        (names, text) for names, text in items(parse(written(cls))[1].get("Args", "")) if is_open and "*" in names
    ]
    return sections


def complete(cls):
    """Returns the docstring of a class with all of its arguments, and the sections that it has from its bases."""
    sections = segments(written(cls))
    ordered = {"": sections[""]}
    for section, listed in arguments(cls).items():
        ordered[section] = f"{section}:\n" + textwrap.indent("\n".join(itertools.starmap(entry, listed)), " " * 4)
    for base in reversed(documented(cls)):
        ordered |= {name: text for name, text in segments(written(base)).items() if name in INHERITED}
    return "\n\n".join([*ordered.values(), *(text for name, text in sections.items() if name not in ordered)])


def entry(names, text):
    """Returns the entry of an argument, or of several that have one text."""
    if "\n" in text:
        return f"{names}: {text}".replace("\n", "\n    ")
    return textwrap.fill(
        f"{names}: {text}", 108, subsequent_indent=" " * 4, break_long_words=False, break_on_hyphens=False
    )
