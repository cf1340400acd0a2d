"""The page of all cells: paper, equations, weights, speed, what wraps them, and what they were checked against."""

import collections
import itertools
import json
import re

import keras
import numpy as np

import keras_adaptive_rnn
from keras_rnn_compare import Probe
from keras_rnn_compare.models.layers import NAMED_LAYERS
from tests.golden.layouts import LAYOUTS
from tests.table import CELL_ROWS
from tools.site import docstrings, weights
from tools.site.names import ROOT

BACKENDS = {"jax": "JAX", "tensorflow": "TensorFlow", "torch": "PyTorch"}
# Where the speed was measured: `benchmarks/time_loop.json` has other sizes as well.
SETTING = {"device": "cpu", "jit": "auto", "batch": 20, "steps": 35, "what": "train"}
KINDS = {
    "original": "the authors' code",
    "original-fixed": "the authors' code with one defect repaired",
    "peer": "another implementation",
    "transcription": "the equations in NumPy, as there was nothing to run",
}
HEAD = """# Every cell

One row a cell; below, its equations, the ways to combine it, and the source that its numbers were compared with.

- **Weights** are counted for {sizes}. They were measured by building each cell at several sizes, and the formula was
  confirmed at others. Where a cell has further sizes, the section below says which were fixed.
- **Time** is that of a train step of the layer, divided by that of `keras.layers.LSTM` with as many units, on two CPU
  cores, with {units} units, a batch of 20 and 35 steps ([all sizes]({benchmarks})). Below one is faster. PyTorch has a
  fused LSTM, which no other cell can use. Cells that decide how much to compute are measured
  [in another table]({less}).
"""


def page(site, names):
    """Returns the page, in Markdown."""
    by_class = {name.value: name for name in names}
    cells = [
        cls for cls in by_class if cls.__name__ in keras_adaptive_rnn.cells.__all__ and cls.__name__ != "GridLSTMBlock"
    ]
    speeds, golden, wrapped, abilities = measured_speeds(256), golden_sources(), compositions(), probed()
    sizes = ", ".join(f"${letter}$ {words}" for letter, _, words in weights.SIZES.values() if letter != "V")
    head = HEAD.format(sizes=sizes, units=256, benchmarks="/benchmarks.md", less="/benchmarks.md#computing-less")
    lines = [
        head,
        "| cell | paper | weights | " + " | ".join(BACKENDS.values()) + " |",
        "| --- | --- | --- |" + " ---: |" * 3,
    ]
    for cls in cells:
        times = [shown(speeds.get((backend, cls.__name__.removesuffix("Cell")))) for backend in BACKENDS]
        first = weights.formula(cls)[0][1]
        lines.append(f"| [`{cls.__name__}`](#{anchor(cls)}) | {year(cls)} | {first} | {' | '.join(times)} |")
    lines.append("")
    for cls in cells:
        lines += section(site, by_class[cls], golden[cls], wrapped, abilities)
    return "\n".join(lines)


def section(site, name, golden, wrapped, abilities):
    """Returns the lines about one cell."""
    doc = docstrings.read(name.value)
    lines = [f"## {name.name}", "", f"{doc.sentence} [Its page](/{name.page}.md).", ""]
    lines += [f"{equation}\n" for equation in re.findall(r"\$\$.*?\$\$", doc.text, flags=re.DOTALL)]
    items = [("Paper", doc.sections.get("Reference", "").strip())]
    items += [(f"Weights of `{call}`", count) for call, count in weights.formula(name.value)]
    if name.value in wrapped:
        takes, refuses = wrapped[name.value]
        text = ", ".join(f"`{wrapper}`" for wrapper in takes) or "none"
        items.append(
            ("Can be wrapped by", text + (f"; not by {', '.join(f'`{w}`' for w in refuses)}" if refuses else ""))
        )
    own = "- its equations in NumPy, written from the paper and not from the cell"
    others = [
        f"- {repository(source)}, {KINDS[kind]}: {count} [golden {'file' if count == 1 else 'files'}](/golden.md)"
        for (source, kind), count in sorted(golden.items())
    ]
    items.append(("Checked against", "\n".join([own, *others])))
    if name.value in abilities:
        items.append(("Probed", abilities[name.value]))
    return [*lines, docstrings.definitions(items), ""]


def repository(source):
    """Returns a source as Markdown, with a link to a repository on GitHub, such as `owner+name@commit`."""
    return re.sub(r"^([\w-]+)\+([\w.-]+)@(\w{7})\w*$", r"[\1/\2](https://github.com/\1/\2) at `\3`", source)


def anchor(cls):
    return cls.__name__.lower()


def year(cls):
    """Returns authors and year of the first paper of a cell, such as `Melis et al., 2020`."""
    reference = " ".join(docstrings.read(cls).sections.get("Reference", "").split())
    found = re.search(r"\((\d{4})\)", reference)
    # What follows the names is the title.
    is_name = re.compile(r"[^ :()]+( [^ :()]+)?")
    authors = list(itertools.takewhile(is_name.fullmatch, re.split(r", | and ", reference)))
    if not found or not authors:
        return ""
    others = {1: "", 2: f" and {authors[-1]}"}.get(len(authors), " et al.")
    return f"{authors[0]}{others}, {found[1]}"


def shown(ratio):
    return "" if ratio is None else f"{ratio:.2g}" if ratio < 10 else f"{ratio:.0f}"


def measured_speeds(units):
    """Returns the time of a train step beside `keras.layers.LSTM`, by backend and layer."""
    found = {}
    for row in json.loads((ROOT / "benchmarks" / "time_loop.json").read_text()):
        is_meant = row["units"] == units and all(row.get(key) == value for key, value in SETTING.items())
        if is_meant and "keras_lstm" in row.get("ratios", {}):
            found[row["backend"], row["cell"]] = 1 / row["ratios"]["keras_lstm"]
    return found


def probed():
    """Returns what the probe of all cells has found, in words, by class of cell."""
    classes = {key: row.layer_class.cell_class for key, row in NAMED_LAYERS.items()}
    found = Probe(ROOT / "benchmarks" / "probe")
    length, seeds = found.results["settings"]["length"], found.results["settings"]["seeds"]
    figures = collections.defaultdict(list)
    for key, row in zip((row["cell"] for row in found.results["rows"]), found.table(), strict=True):
        accuracies = f"{row['accuracy']:.2f} / {row['accuracy when longer']:.2f}"
        figures[classes[key]].append(f"{row['task']} {accuracies} ({row['solved']})")
    head = f"[task](/compare/probe.md), accuracy at {length} / {8 * length} steps (seeds that solved it, of {seeds}): "
    return {cls: head + ", ".join(texts) for cls, texts in figures.items()}


def golden_sources():
    """Returns a count of golden files by `(source, kind)`, for each class of cells."""
    found = collections.defaultdict(collections.Counter)
    for path in sorted((ROOT / "tests" / "golden").glob("*.npz")):
        data = np.load(path)
        meta = json.loads(str(data["meta"]))
        if meta["system"] in LAYOUTS:
            cell = LAYOUTS[meta["system"]](data, {**meta["config"], "name": meta["name"]}).cell
            found[type(cell)][meta["source"], meta["kind"]] += 1
    return found


def compositions():
    """Returns the wrappers that take a cell and those that refuse it, by the class of the cell, as tried."""
    wrappers = {type(row.wraps(keras_adaptive_rnn.LSTMCell(4))): row.wraps for row in CELL_ROWS.values() if row.wraps}
    found = {}
    for row in CELL_ROWS.values():
        takes, refuses = [], []
        for wrapper, wraps in wrappers.items():
            try:
                wraps(row.make()).build((2, 5))
                takes.append(wrapper.__name__)
            except (ValueError, TypeError):
                refuses.append(wrapper.__name__)
        found.setdefault(type(row.make()), (takes, refuses))
    keras.utils.clear_session(free_memory=False)
    return found
