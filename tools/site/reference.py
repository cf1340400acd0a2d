"""A page for each public name, from its docstring and its declared arguments."""

import collections
import importlib
import inspect
import re

import keras

from keras_adaptive_rnn import _types
from tools.site import docstrings, weights
from tools.site.docstrings import ITEM, OPEN
from tools.site.names import PACKAGE, module_of

ALIASES = {str(value): name for name, value in vars(_types).items() if isinstance(value, type(int | str))}


def pages(names, site):
    """Returns `{page: Markdown}` of all names, of each room, and of the list of rooms."""
    by_room = collections.defaultdict(list)
    for name in names:
        by_room[name.room].append(name)
    found = {name.page: page(name, site) for name in names}
    found |= {room_page(room): room_text(room, members) for room, members in by_room.items()}
    return {**found, "api/index": index(by_room)}


def room_page(room):
    return f"api/{room or PACKAGE}"


def index(by_room):
    """Returns the page that lists the rooms."""
    lines = ["# Reference", "", "Every public name, by the module that it is imported from.", "", "| module | |"]
    lines += ["| --- | --- |"]
    lines += [f"| [`{module_of(room)}`](/{room_page(room)}.md) | {cell(about(room))} |" for room in by_room]
    tree = [f"{room or PACKAGE} </{room_page(room)}>" for room in by_room]
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", *tree, "```", ""])


def about(room):
    """Returns the first sentence about a public module."""
    return " ".join(inspect.getdoc(importlib.import_module(module_of(room))).partition("\n\n")[0].split())


def room_text(room, members):
    """Returns the page that lists the names of a room."""
    lines = [f"# {module_of(room)}", "", about(room), "", "| name | |", "| --- | --- |"]
    lines += [f"| [`{n.name}`](/{n.page}.md) | {cell(docstrings.read(n.value).sentence)} |" for n in members]
    return "\n".join([*lines, ""])


def cell(text):
    """Returns a text for a cell of a table."""
    return text.replace("|", r"\|")


def page(name, site):
    """Returns the page of a name."""
    value, doc = name.value, docstrings.read(name.value)
    # Not in the sidebar, where there is no room for so many: the pages of rooms list them.
    room = f"[Reference](/api/index.md) › [`{module_of(name.room)}`](/{room_page(name.room)}.md)"
    lines = ["---", "orphan: true", "---", "", room, "", f"# {name.name}", "", brief(name), "", doc.text, ""]
    # What a reader looks for first comes before what may be forty arguments.
    if "Example" in doc.sections:
        lines += ["## Example", "", docstrings.markdown(doc.sections["Example"]), ""]
    lines += arguments(name)
    for section in ("Call arguments", "States", "Returns", "Output shape", "Yields"):
        lines += listed(doc, section)
    for section in ("Attributes", "Variables", "Items", "Logs", "Raises"):
        lines += listed(doc, section)
    if inspect.isclass(value) and issubclass(value, keras.Layer):
        lines += measured(value)
    lines += methods(value)
    lines += ["## Source", ""]
    if "Reference" in doc.sections:
        lines += [doc.sections["Reference"], ""]
    lines += [f"Defined in {site.source_link(name.page, str(name.file), anchor=f'#L-{name.line}')}."]
    if len(name.paths) > 1:
        lines += [f"Also importable as {', '.join(f'`{path}`' for path in name.paths[1:])}."]
    return "\n".join(lines) + "\n"


def listed(doc, section):
    """Returns a section whose entries have names as a definition list, and any other as text."""
    if section not in doc.sections:
        return []
    body = body_of(doc, section)
    return [f"## {section}", "", body[:1].upper() + body[1:] if body[:1] != "`" else body, ""]


def body_of(doc, section):
    """Returns a section, without its heading."""
    whole = doc.sections[section]
    return definition_list(doc.items(section)) if ITEM.match(whole) else docstrings.markdown(whole)


def brief(name):
    """Returns the call with the arguments that must be given and the first others, four at most, as a block of code."""
    listed = inspect.signature(name.value).parameters.values()
    given = [p for p in listed if p.default is p.empty and p.kind not in OPEN]
    shown = [*given, *(p for p in listed if p.default is not p.empty)][: max(4, len(given))]
    texts = [p.name if p.default is p.empty else f"{p.name}={default(p.default)}" for p in shown]
    texts += ["..."] if len(shown) < len(listed) else []
    return f"```python\n{name.paths[0]}({', '.join(texts)})\n```"


def signature(name):
    """Returns the signature as a directive, with the type and default of each argument."""
    kind = "class" if inspect.isclass(name.value) else "function"
    return f"```{{py:{kind}}} {name.paths[0]}{parameter_list(inspect.signature(name.value))}\n```"


def parameter_list(found):
    """Returns a signature as text, in names that a reader can look up."""
    listed, starred = [], False
    for p in found.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not starred:
            listed.append("*")
            starred = True
        starred = starred or p.kind is p.VAR_POSITIONAL
        prefix = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        text = prefix + p.name
        shown = annotation(p.annotation)
        text += f": {shown}" if shown else ""
        if p.default is not p.empty:
            text += (" = " if shown else "=") + default(p.default)
        listed.append(text)
    returned = annotation(found.return_annotation)
    return f"({', '.join(listed)})" + (f" -> {returned}" if returned else "")


def annotation(value):
    """Returns an annotation as text, or `""` where there is none."""
    if value is inspect.Signature.empty:
        return ""
    if str(value) in ALIASES:
        return ALIASES[str(value)]
    text = value if isinstance(value, str) else inspect.formatannotation(value)
    return re.sub(r"[\w.]+\.(?=\w)", "", text)


def default(value):
    text = repr(value)
    return text if not text.startswith("<") else getattr(value, "__name__", "...")


def arguments(name):
    """Returns the section of arguments: the signature, and what is written about each."""
    own, *others = docstrings.arguments(name.value).items()
    lines = ["## Arguments", "", signature(name), "", definition_list(own[1]), ""]
    for section, listed in others:
        lines += [f"### {section.replace('Args', 'Arguments')}", "", definition_list(listed), ""]
    return lines


def definition_list(items):
    """Returns `(names, text)` of arguments or errors as a definition list."""
    return docstrings.definitions((docstrings.code(names), text) for names, text in items)


def methods(cls):
    """Returns the methods that the class documents itself."""
    if not inspect.isclass(cls):
        return []
    lines = []
    for name, member in vars(cls).items():
        function = member.__func__ if isinstance(member, (classmethod, staticmethod)) else member
        if name.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        found = inspect.signature(function)
        shown = found.replace(parameters=[p for p in found.parameters.values() if p.name not in ("self", "cls")])
        doc = docstrings.read(function)
        option = "\n:classmethod:" if isinstance(member, classmethod) else ""
        lines += [f"::::{{py:method}} {cls.__name__}.{name}{parameter_list(shown)}{option}", "", doc.text, ""]
        for section in doc.sections:
            lines += [f"**{'Arguments' if section == 'Args' else section}**", "", body_of(doc, section), ""]
        lines += ["::::", ""]
    return ["## Methods", "", *lines] if lines else []


def measured(cls):
    """Returns the section of weights: what small instances of several sizes were measured to hold."""
    found = weights.of(cls)
    if found is None:
        return []
    lines = ["## Weights", "", found.sentence, "", "| weight | shape |", "| --- | --- |"]
    lines += [f"| `{name}` | `{shape}` |" for name, shape in found.rows]
    return [*lines, "", f"Together {found.total} numbers.", ""]
