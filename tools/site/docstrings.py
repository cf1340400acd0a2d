"""Docstrings, which are Markdown with sections like `Args:`, as pages."""

import dataclasses
import functools
import inspect
import re

from keras_adaptive_rnn import _documentation


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
        return _documentation.items(self.sections.get(section, ""))


@functools.cache
def read(value):
    """Returns the `Docstring` that `help` shows of a class or function, not the one of a base."""
    doc = value.__doc__ if not inspect.isclass(value) or vars(value).get("__doc__") else ""
    text, sections = _documentation.parse(inspect.cleandoc(doc or ""))
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
