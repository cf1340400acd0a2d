"""The pages that are written by hand: copied, with their links, and with a page for each file that they point at."""

import csv
import html
import pathlib
import posixpath
import re

import nbconvert
import pygments
import pygments.formatters
import pygments.lexers

from tools.site import studies
from tools.site.names import ROOT

# Pages from outside of docs/, by their path in the repository.
OTHERS = {
    "README.md": "readme",
    "CONTRIBUTING.md": "contributing",
    "CHANGELOG.md": "changelog",
    "benchmarks/README.md": "benchmarks",
    "tests/README.md": "tests",
    "tests/golden/README.md": "golden",
    "keras_adaptive_rnn/hub/trained/README.md": "presets",
}
# Captions of the sidebar, and the pages below them; a folder stands for all of its pages.
SECTIONS = {
    "Start": [
        "guides/install",
        "guides/first_model",
        "guides/which_cell",
        "guides/from_lstm_to_mogrifier",
        "guides/sharing",
        "live",
        "catalogue",
    ],
    "Guides": ["guides/"],
    "Notebooks": ["notebooks/first_model", "notebooks/text", "notebooks/sensor", "notebooks/cells"],
    "Tasks": ["tasks/"],
    "Train": [
        "linear_cells",
        "language_models",
        "presets",
        "awd_lstm",
        "evaluation",
        "resuming",
        "native_loops",
        "one_kernel",
        "distribution",
    ],
    "Compare": [
        "compare/start",
        "compare/reference",
        "compare/options",
        "compare/method",
        "compare/many_machines",
        "compare/estimators",
        "compare/probe",
    ],
    "Ship": ["one_step", "exports", "platforms", "quantization"],
    "Measured": ["results", "studies/index", "benchmarks", "conformance", "others", "figures", "needs"],
    "Reference": ["api/index"],
    "Project": ["readme", "architecture", "contributing", "tests", "golden", "changelog"],
}
# Titles in the sidebar that are not those of the pages.
TITLES = {"readme": "README"}
FENCE = re.compile(r"^(```+|~~~+).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
# A paragraph that is a link to a table, which the site shows below it.
TABLE = re.compile(r"^\[[^\[\]]*\]\(([^()\s]+\.csv)\)$", re.MULTILINE)
IMAGE = re.compile(r'(<img src=")([^":]+)(")')
CODE = re.compile(r"(?<![`\[])`([\w./]+)`(?![`\]])")


class Site:
    """The sources of the site, in a folder: pages by name, and files that they point at."""

    def __init__(self, folder, extra, names):
        self.folder, self.extra = pathlib.Path(folder), pathlib.Path(extra)
        self.by_hand = {path.relative_to(ROOT).as_posix(): page_of(path) for path in sorted(ROOT.glob("docs/**/*.md"))}
        self.by_hand |= {path: page for path, page in OTHERS.items() if (ROOT / path).exists()}
        self.notebooks = {p.relative_to(ROOT).as_posix(): page_of(p) for p in sorted(ROOT.glob("docs/**/*.ipynb"))}
        # Pages that are made while the site is built, as pages that are written by hand link to them.
        made = ["catalogue", "compare/options", "api/index", *(name.page for name in names)]
        self.origins = {**self.by_hand, **self.notebooks, **{f"docs/{page}.md": page for page in made}}
        self.origins |= {path: page for path, (page, _) in studies.made().items()}
        self.targets = {path: name.page for name in names for path in name.paths}
        self.targets |= {name.name: name.page for name in names if name.room in ("cells", "layers", "models", "hub")}
        self.pages, self.sources, self.files, self.broken = set(), set(), set(), []

    def write(self, page, text, origin=None):
        """Writes one page. Links in it are those of the file `origin`, relative to the root of the repository."""
        linked: set = set()
        text = "".join(part if is_code else self.linked(part, page, origin, linked) for part, is_code in split(text))
        path = self.folder / f"{page}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.pages.add(page)

    def write_all(self):
        """Writes every page that is a file of the repository."""
        for origin, page in self.by_hand.items():
            self.write(page, (ROOT / origin).read_text(), origin)
        for origin, page in self.notebooks.items():
            self.write(page, self.of_notebook(origin, page), origin)

    def of_notebook(self, path, page):
        """Returns a notebook in Markdown, with its outputs, whose pictures it writes beside the page."""
        text, resources = nbconvert.MarkdownExporter().from_filename(ROOT / path)
        for name, picture in resources["outputs"].items():
            (self.folder / page).mkdir(parents=True, exist_ok=True)
            (self.folder / page / name).write_bytes(picture)
        text = re.sub(r"!\[[^]]*\]\((output_\w+\.png)\)", rf"![What the cell above draws](/{page}/\1)", text)
        title, _, rest = text.lstrip().partition("\n")
        return f"{title}\n\n[This page as a notebook]({posixpath.basename(path)})\n{rest}"

    def linked(self, text, page, origin, linked):
        """Returns a text whose links lead to pages of the site, and whose names of classes are links to their pages."""

        def replace(match):
            # The words of a link may be a picture.
            is_image, words, target = match[1], LINK.sub(replace, match[2]), match[3]
            if re.match(r"[a-z]+:|#|/", target):
                return f"{is_image}[{words}]({target})"
            target, _, anchor = target.partition("#")
            path = posixpath.normpath(posixpath.join(posixpath.dirname(origin or ""), target))
            anchor = f"#{anchor}" if anchor else ""
            # A page that is made of a program links to the program itself.
            if self.origins.get(path, page) != page:
                return f"[{words}](/{self.origins[path]}.md{anchor})"
            if (ROOT / path).is_dir():
                return words  # The site has no pages for folders.
            if not (ROOT / path).is_file():
                self.broken.append(f"{origin or page} links to {match[3]}")
                return words
            if is_image:
                return f"![{words}]({self.image(path)})"
            return self.source_link(page, path, words, anchor)

        def picture(match):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(origin or ""), match[2]))
            return f"{match[1]}{self.image(path) or match[2]}{match[3]}"

        def with_table(match):
            path = ROOT / posixpath.join(posixpath.dirname(origin or ""), match[1])
            return f"{match[0]}\n\n{table(path)}" if path.is_file() else match[0]

        def name(match):
            target = self.targets.get(match[1]) or self.origins.get(match[1])
            is_first = target not in linked
            if target is None or target == page or not is_first:
                return match[0]
            linked.add(target)
            return f"[{match[0]}](/{target}.md)"

        lines = []
        text = TABLE.sub(with_table, text)
        for line in LINK.sub(replace, IMAGE.sub(picture, text)).splitlines(keepends=True):
            # Not in headings, nor in words that are links already.
            is_heading = line.startswith("#")
            parts = re.split(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\([^()\s]+\)|<a .*?</a>)", line)
            lines.append(
                line if is_heading else "".join(part if i % 2 else CODE.sub(name, part) for i, part in enumerate(parts))
            )
        return "".join(lines)

    def image(self, path):
        """Copies a picture of the repository, and returns its path on the site, or `""` if there is no such file."""
        if not (ROOT / path).is_file():
            self.broken.append(f"No picture {path}")
            return ""
        copied = self.folder / path
        copied.parent.mkdir(parents=True, exist_ok=True)
        copied.write_bytes((ROOT / path).read_bytes())
        return f"/{path}"

    def source_link(self, page, path, words=None, anchor=""):
        """Returns a link, in HTML, to a page that shows a file, or to the file itself if it is no program."""
        is_program = path.endswith((".py", ".toml", ".sh", ".js")) or path == "Makefile"
        (self.sources if is_program else self.files).add(path)
        target = f"source/{path}.html" if is_program else f"files/{path}"
        target = posixpath.relpath(target, posixpath.dirname(page) or ".")
        shown = re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(words or f"`{path}`"))
        return f'<a class="reference internal" href="{target}{anchor}">{shown}</a>'

    def write_sources(self):
        """Writes the pages that show programs, and copies the other files that are linked.

        Raises:
            FileNotFoundError: Links lead to no file of the repository. The message lists them.
        """
        if self.broken:
            raise FileNotFoundError("\n".join(["Links lead to no file of the repository:", *self.broken]))
        for path in sorted(self.sources):
            text = (ROOT / path).read_text()
            lexer = pygments.lexers.get_lexer_for_filename(path)
            formatter = pygments.formatters.HtmlFormatter(linenos="inline", lineanchors="L", anchorlinenos=True)
            shown = pygments.highlight(text, lexer, formatter)
            head = "---\norphan: true\nnosearch: true\n---\n\n"
            page = self.folder / "source" / f"{path}.md"
            page.parent.mkdir(parents=True, exist_ok=True)
            page.write_text(f"{head}# {path}\n\n````{{raw}} html\n{shown}\n````\n")
        for path in sorted(self.files):
            copied = self.extra / "files" / path
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.write_bytes((ROOT / path).read_bytes())

    def write_index(self):
        """Adds the tables of contents to the first page: every page is in one of them."""
        index = self.folder / "index.md"
        text = index.read_text()
        # The pages of these folders are listed by their index.
        inside = {page for page in self.pages if page.startswith(("api/", "studies/")) and not page.endswith("/index")}
        left = self.pages - inside - {"index"}
        for caption, listed in SECTIONS.items():
            found = []
            for entry in listed:
                found += self.in_order(entry, left) if entry.endswith("/") else [p for p in left if p == entry]
            left -= set(found)
            if caption == "Project":
                found += sorted(left)
            if found:
                text += toctree(caption, found)
        index.write_text(text)

    def in_order(self, folder, pages):
        """Returns the pages of a folder: its index, and the others in the order in which the index names them."""
        inside = sorted(page for page in pages if page.startswith(folder))
        index = self.folder / folder / "index.md"
        text = index.read_text() if index.exists() else ""
        place = {page: text.find(f"(/{page}.md") % (len(text) + 1) for page in inside}
        return sorted(inside, key=lambda page: (page != f"{folder}index", place[page]))


def page_of(path):
    return path.relative_to(ROOT / "docs").with_suffix("").as_posix()


def split(text):
    """Yields `(part, is_code)` of a Markdown text: blocks of code and equations, and what is between them."""
    end = 0
    for match in FENCE.finditer(text):
        yield text[end : match.start()], False
        yield titled(match[0]), True
        end = match.end()
    yield text[end:], False


def table(path):
    """Returns a table in Markdown from a file of comma-separated values; columns of numbers are aligned right."""
    with path.open(newline="", encoding="utf-8") as file:
        head, *rows = [[cell.replace("|", r"\|") for cell in row] for row in csv.reader(file)]
    columns = zip(*rows, strict=True)
    aligned = ["---:" if all(re.match(r"[\d.]|$", cell) for cell in column) else "---" for column in columns]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, aligned, *rows])


def titled(block):
    """Returns a block of code with its `title=` as a caption, as in `python title=train.py`."""
    return re.sub(r"\A(```+)(\w+) title=(\S+)\n", r"\1{code-block} \2\n:caption: \3\n\n", block)


def toctree(caption, pages):
    """Returns a part of the sidebar."""
    entries = [f"{TITLES[page]} </{page}>" if page in TITLES else f"/{page}" for page in pages]
    return "\n".join(["", "", "```{toctree}", ":hidden:", f":caption: {caption}", "", *entries, "```", ""])
