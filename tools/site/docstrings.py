"""Docstrings, which are Markdown with sections like `Args:`, as pages."""

import dataclasses
import functools
import inspect
import re

SECTIONS = (
    "Args",
    "Arguments",
    "Attributes",
    "Call arguments",
    "Call arguments and output shape",
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
HEAD = re.compile(rf"^({'|'.join(SECTIONS)}):(.*)$")
ITEM = re.compile(r"^(\*{0,2}\w[\w., *\n]*?): (.*(?:\n(?: +.*|(?=\n +\S).*|))*)", re.MULTILINE)


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
        return [
            (" ".join(names.split()), dedented(text)) for names, text in ITEM.findall(self.sections.get(section, ""))
        ]


@functools.cache
def read(value):
    """Returns the `Docstring` that a class or function has itself, not the one of a base."""
    own = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
    parts, current = {"": []}, ""
    for line in inspect.cleandoc(own or "").splitlines():
        head = HEAD.match(line)
        if head:
            current = head[1]
            parts[current] = [head[2].strip()] if head[2].strip() else []
        else:
            parts[current].append(line)
    text = markdown("\n".join(parts.pop("")))
    return Docstring(text, {name: dedented("\n".join(lines)) for name, lines in parts.items()})


def dedented(text):
    """Returns the text with the indentation of its second and later lines taken away."""
    first, _, rest = text.partition("\n")
    if first.startswith(" "):
        return inspect.cleandoc("\n" + text).strip()
    return (first + "\n" + inspect.cleandoc("\n" + rest)).strip() if rest else first.strip()


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
