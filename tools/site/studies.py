"""Pages of what was measured: one for each study, whose tables are made from the file of its results.

A link to a study leads to its program on GitHub, and to its page on the site.
"""

from benchmarks import forecasts, which_cell
from examples.papers import report
from tools.site.names import ROOT

INDEX = "studies/index"
PROBE = """\
# The probe of all cells

[Small tasks](../../docs/compare/probe.md), each of which asks one thing of a state.

{table}

The command was `KERAS_BACKEND=jax keras-rnn-compare probe --seeds 5`, on one core, with JAX 0.10.1. Gated DeltaNet was
measured with `epsilon=1e-6`; its default is now `1e-5`. [All figures](results.json).
"""


def made():
    """Returns the page of each study, and a function that writes its text, by the file that links to it name."""
    found = {"examples/papers": (INDEX, index)}
    for module in report.studies():
        name = module.STUDY.name
        found[f"examples/papers/{name}.py"] = (f"studies/{name}", lambda module=module: report.page(module))
    found["benchmarks/which_cell.py"] = ("studies/which_cell", which_cell.page)
    found["benchmarks/forecasts.py"] = ("studies/forecasts", forecasts.page)
    found["benchmarks/probe/table.md"] = ("studies/probe", probe)
    return found


def index():
    """Returns the list of the studies, below which the sidebar has their pages."""
    pages = [f"/{page}" for page, _ in made().values() if page != INDEX]
    return "\n".join([report.index(), "```{toctree}", ":hidden:", "", *pages, "```", ""])


def probe():
    return PROBE.format(table=(ROOT / "benchmarks" / "probe" / "table.md").read_text())


def write(site):
    """Writes all of these pages."""
    for origin, (page, text) in made().items():
        site.write(page, text(), "examples/papers/report.py" if page == INDEX else origin)
