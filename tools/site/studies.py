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

- **Counting and order** (parity, modulo 5, S3, S5). minGRU, minLSTM and RG-LRU, whose coefficients are positive, and
  mLSTM and Gated DeltaNet, as they are by default, stay at chance. Every cell with a recurrent matrix solves all four
  with four or five seeds, also at eight times the length, but for the low-rank LSTM on S5. `AdaptiveLinear`, a minGRU
  behind an LSTM of a quarter of its units, solves all but S5: 0.77 at 32 steps.
- **A stack** (brackets). Every cell with a recurrent matrix and `AdaptiveLinear` solve it with all seeds, at both
  lengths. The other linear cells are close at the length that they learn from, and worse at eight times the length.
- **Looking up** (recall). sLSTM, Gated DeltaNet and the low-rank LSTM solve it with all seeds, the LSTM and the
  low-rank GRU with four. minGRU, minLSTM, RG-LRU, mLSTM and the recurrent highway stay near 0.56, the score of a cell
  that knows the values but not which key each belongs to. mLSTM and Gated DeltaNet both have a matrix as their memory.
- **Keeping what matters** (copy, selective copy). The LSTM, GRU, sLSTM and low-rank LSTM solve both with all seeds, the
  low-rank GRU with four and five; of the linear cells, only `AdaptiveLinear` does, with five and four. The adaptive
  LSTM and the recurrent highway solve them with three seeds at most.
- **Adding.** All cells but Gated DeltaNet solve it with four or five seeds, and none at eight times the length, where
  Gated DeltaNet comes closest, with 0.75. The reason was not investigated.

The tasks are from Minsky and Papert, 1969, and Grazzi et al., 2024 (parity, modulo 5); Barrington, 1989, and Merrill et
al., 2024 (S3, S5); Hewitt et al., 2020 (brackets); Arora et al., 2023 (recall); Hochreiter and Schmidhuber, 1997 (copy,
adding), and Arjovsky et al., 2016 (copy); Jing et al., 2019, and Gu and Dao, 2023 (selective copy). Exact definitions
are in the functions of `probing/tasks.py`, a few lines each.

The probe says what a cell learned within these updates, with so many weights, at the best of three rates. A cell that
fails may need more of either, or another rate: of the 65 fields that not all seeds solved, 27 have their best rate at
an end of the range. Cells run alone: mLSTM and Gated DeltaNet, whose papers put a convolution and projections around
them, and whose keys have a few entries only at this size, may do better in their blocks. Medians hide the spread:
`AdaptiveLinear` has 1.00, 0.44, 0.98, 0.77 and 0.22 on S5.

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
