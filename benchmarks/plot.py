"""Draws the times in a file of `benchmarks.time_loop`, over the width, the batch or the length, a panel a backend.

python -m benchmarks.plot benchmarks/time_loop.json docs/images/time_loop.png --cell Mogrifier --over units
"""

import argparse
import json
import pathlib

from matplotlib.figure import Figure

from benchmarks import NAMES

LABELS = {"units": "units", "batch": "batch size", "steps": "time steps"}
WHATS = {"train": "train step", "predict": "prediction", "step": "single step", "memory": "train step"}


def picture(rows, cell, over, fixed, what, jit):
    """Returns a figure of the rows of one cell over one size; `fixed` holds the other sizes."""
    rows = [row for row in rows if (row["cell"], row["what"], row["jit"]) == (cell, what, jit)]
    rows = [row for row in rows if all(row[name] == value for name, value in fixed.items())]
    if not rows:
        raise ValueError(f"the file holds no '{what}' of {cell} with {fixed}")
    rows.sort(key=lambda row: row[over])
    unit, values, factor = ("MB", "megabytes", 1) if what == "memory" else ("ms", "seconds", 1000)
    backends = list(dict.fromkeys(row["backend"] for row in rows))
    figure = Figure(figsize=(1 + 3.2 * len(backends), 3.6), layout="constrained")
    panels = figure.subplots(1, len(backends), sharex=True, sharey=True, squeeze=False)[0]
    names = [name for name in NAMES if any(name in row[values] for row in rows)]
    for axes, backend in zip(panels, backends, strict=True):
        for name in names:
            points = [
                (r[over], factor * r[values][name]) for r in rows if r["backend"] == backend and name in r[values]
            ]
            style = (
                {"linestyle": "--", "color": "black"}
                if name == "products"
                else {"color": f"C{list(NAMES).index(name)}"}
            )
            axes.plot(
                *zip(*points, strict=True) if points else ([], []),
                marker="o",
                markersize=3.5,
                label=NAMES[name],
                **style,
            )
        sizes = sorted({row[over] for row in rows})
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xticks(sizes, [str(size) for size in sizes])
        axes.minorticks_off()
        axes.set_title(backend)
        axes.set_xlabel(LABELS[over])
        axes.grid(alpha=0.3)
    panels[0].set_ylabel(f"{WHATS[what]}, {unit}")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(f"{cell}, " + ", ".join(f"{LABELS[name]}: {value}" for name, value in fixed.items()))
    return figure


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("json", type=pathlib.Path)
    parser.add_argument("picture", type=pathlib.Path, help="a PNG file to write")
    parser.add_argument("--cell", default="Mogrifier")
    parser.add_argument("--over", choices=LABELS, default="units")
    parser.add_argument("--what", choices=WHATS, default="train")
    for name, value in (("units", 256), ("batch", 20), ("steps", 35)):
        parser.add_argument(f"--{name}", type=int, default=value, help="of all points, but for --over")
    parser.add_argument("--jit", default="auto", help="Keras's jit_compile in the rows to draw")
    arguments = parser.parse_args(argv)
    fixed = {name: getattr(arguments, name) for name in LABELS if name != arguments.over}
    try:
        rows = json.loads(arguments.json.read_text())
        figure = picture(rows, arguments.cell, arguments.over, fixed, arguments.what, arguments.jit)
    except ValueError as error:
        parser.error(str(error))
    figure.savefig(arguments.picture, dpi=150)


if __name__ == "__main__":
    main()
