"""A page for each public name, from its docstring and its declared arguments."""

import collections
import importlib
import inspect
import re

import keras

from keras_adaptive_rnn import _arguments
from tools.make_stubs import ALIASES, has_hidden_arguments, parameters
from tools.site import docstrings, weights
from tools.site.names import PACKAGE


def pages(names, site):
    """Returns `{page: Markdown}` of all names, of each room, and of the list of rooms."""
    classes = [n.value for n in names if inspect.isclass(n.value)]
    by_room = collections.defaultdict(list)
    for name in names:
        by_room[name.room].append(name)
    found = {name.page: page(name, classes, site) for name in names}
    found |= {room_page(room): room_text(room, members) for room, members in by_room.items()}
    return {**found, "api/index": index(by_room)}


def room_page(room):
    return f"api/{room or PACKAGE}"


def module_of(room):
    return f"{PACKAGE}.{room}" if room else PACKAGE


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


def page(name, classes, site):
    """Returns the page of a name."""
    value, doc = name.value, docstrings.read(name.value)
    # Not in the sidebar, where there is no room for so many: the pages of rooms list them.
    room = f"[Reference](/api/index.md) › [`{module_of(name.room)}`](/{room_page(name.room)}.md)"
    lines = ["---", "orphan: true", "---", "", room, "", f"# {name.name}", "", doc.text, ""]
    if inspect.isclass(value) and issubclass(value, keras.Layer):
        lines += measured(value)
    lines += arguments(name, doc, classes)
    for section in ("Call arguments", "Call arguments and output shape", "Returns", "Output shape", "Yields"):
        lines += listed(doc, section)
    for section in ("Attributes", "Variables", "Items", "Logs", "Raises"):
        lines += listed(doc, section)
    if "Example" in doc.sections:
        lines += ["## Example", "", example(doc.sections["Example"]), ""]
    lines += methods(value)
    lines += ["## Source", ""]
    if "Reference" in doc.sections:
        lines += [doc.sections["Reference"], ""]
    lines += [f"Defined in {site.source_link(name.page, str(name.file), anchor=f'#L-{name.line}')}."]
    if len(name.paths) > 1:
        lines += [f"Also importable as {', '.join(f'`{path}`' for path in name.paths[1:])}."]
    return "\n".join(lines) + "\n"


def example(text):
    """Returns an example as Markdown: the interpreter's prompts in a block of code, any words as words."""
    return docstrings.markdown(text)


def listed(doc, section):
    """Returns a section whose entries have names as a definition list, and any other as text."""
    if section not in doc.sections:
        return []
    items = doc.items(section)
    whole = doc.sections[section]
    is_list = items and re.match(docstrings.ITEM, whole)
    body = definition_list(items) if is_list else docstrings.markdown(whole)
    return [f"## {section}", "", body[:1].upper() + body[1:] if body[:1] != "`" else body, ""]


def signature(name):
    """Returns the signature as a directive, with the type and default of each argument."""
    value = name.value
    if inspect.isclass(value) and (issubclass(value, keras.Layer) and has_hidden_arguments(value)):
        found = inspect.Signature(parameters(value))
        text = parameter_list(found)
    else:
        try:
            found = inspect.signature(value)
            text = parameter_list(found)
        except ValueError:
            text = "()"
    kind = "class" if inspect.isclass(value) else "function"
    return f"```{{py:{kind}}} {name.paths[0]}{text}\n```"


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


def arguments(name, doc, classes):
    """Returns the section of arguments: each one of the signature, with what is written nearest about it."""
    value, own, lines = name.value, doc.items("Args"), ["## Arguments", "", signature(name), ""]
    if not inspect.isclass(value) or not issubclass(value, keras.Layer):
        return [*lines, definition_list(own), ""]
    is_hidden = has_hidden_arguments(value)
    listed = [p.name for p in parameters(value)] if is_hidden else list(inspect.signature(value).parameters)
    entries, texts = [], {}
    for names, text in own:
        texts |= dict.fromkeys(re.findall(r"\w+", names), text)
    for argument in listed:
        text = texts.get(argument, "")
        if not text or text.startswith("As in"):
            text = nearest(value, argument, classes) or text or inherited(value, argument)
        if entries and entries[-1][1] == text:
            entries[-1][0].append(argument)
        else:
            entries.append(([argument], text))
    # Of `**kwargs`, which are listed here by name, only what a reader cannot see from the list.
    if "kwargs" not in listed:
        said = [text for names, text in own if "*" in names]
        lines += [docstrings.markdown(t) + "\n" for t in said if not re.match("(Further )?[Aa]rguments of|As in", t)]
    return [*lines, definition_list((", ".join(group), text) for group, text in entries), ""]


def definition_list(items):
    """Returns `(names, text)` of arguments or errors as a definition list."""
    return docstrings.definitions((docstrings.code(names), text) for names, text in items)


def inherited(cls, argument):
    """Returns what to say about an argument that a class of Keras or KerasHub documents."""
    if argument in (*_arguments.LAYER_ARGUMENTS, "activity_regularizer"):
        return "As in `keras.layers.Layer`."
    base = next(base for base in cls.__mro__ if not base.__module__.startswith(PACKAGE))
    return f"As in `{base.__name__}` of {'KerasHub' if base.__module__.startswith('keras_hub') else 'Keras'}."


def nearest(cls, name, classes):
    """Returns what is written nearest about an argument: in a base, the cell, its bases, or any class that has it."""
    near = [*cls.__mro__, *getattr(getattr(cls, "cell_class", None), "__mro__", ())]
    others = [] if name in _arguments.LAYER_ARGUMENTS else classes
    for base in [*near, *others]:
        if base.__module__.startswith(PACKAGE):
            for names, text in docstrings.read(base).items("Args"):
                if name in re.findall(r"\w+", names) and not text.startswith(("As in", "Not accepted")):
                    return text
    return ""


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
            items = doc.items(section)
            whole = doc.sections[section]
            is_list = items and re.match(docstrings.ITEM, whole)
            body = definition_list(items) if is_list else docstrings.markdown(whole)
            lines += [f"**{'Arguments' if section == 'Args' else section}**", "", body, ""]
        lines += ["::::", ""]
    return ["## Methods", "", *lines] if lines else []


def measured(cls):
    """Returns the section of weights: what small instances of several sizes were measured to hold."""
    found = weights.of(cls)
    if found is None:
        return []
    lines = ["## Weights", "", found.sentence, "", "| weight | shape |", "| --- | --- |"]
    lines += [f"| `{name}` | `{shape}` |" for name, shape in found.rows]
    if found.total:
        lines += ["", f"Together {found.total} numbers."]
    return [*lines, ""]
