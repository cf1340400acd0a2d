"""`compare` on three data sets that no one tuned for, twice each, with seeds of its own each time.

    pip install scikit-learn statsmodels
    KERAS_BACKEND=jax python -m benchmarks.which_cell runs/which_cell

The folder keeps the data and the comparisons; a run that was stopped goes on. Settings, seeds and figures go to
`benchmarks/compare/`, and the tables of `docs/compare.md` are printed. It takes up to 52 minutes.
"""

import argparse
import json
import pathlib

import numpy as np

from keras_adaptive_rnn.comparison import Comparison, command_line
from keras_adaptive_rnn.comparison.statistics import mean_and_error

RESULTS = pathlib.Path(__file__).parent / "compare"


def digits(path):
    from sklearn.datasets import load_digits

    found = load_digits()
    np.savez(path, x=found.images.astype("float32"), y=found.target)


def sunspots(path):
    from statsmodels.datasets import sunspots

    sunspots.load_pandas().data.to_csv(path, index=False)


def python_docs(path):
    from pydoc_data.topics import topics

    path.write_text("\n\n".join(topics[name] for name in sorted(topics)), encoding="utf-8")


# The file, what makes it, and the arguments of the command.
DATA = {
    "digits.npz": (digits, ["--weights", "5000", "--minutes", "6", "--seeds", "5"]),
    "sunspots.csv": (
        sunspots,
        ["--target", "SUNACTIVITY", "--time", "YEAR", "--weights", "3000", "--minutes", "6", "--seeds", "5"],
    ),
    "python_docs.txt": (python_docs, ["--weights", "30000", "--minutes", "14"]),
}


def figures(found):
    """Returns what is kept of a comparison: all but the curves."""

    def kept(rows):
        without = {"curve", "curves", "band"}
        return [{name: value for name, value in row.items() if name not in without} for row in rows]

    search = {cell: kept(trials) for cell, trials in found.results["search"].items()}
    rows, behind = kept(found.results["rows"]), kept(found.results["behind"])
    return {**found.results, "rows": rows, "behind": behind, "search": search}


def line(name, results):
    """Returns the line of a comparison in the table."""
    rows = {row["name"]: row for row in results["rows"]}
    # The first files call the cell with the best mean the winner, and know one forecast without a network.
    lstm, ahead = rows["lstm"], rows[results.get("ahead", results["winner"])]

    def score(row):
        return f"{row['test_mean']:.3g} ± {row['test_error']:.1g}"

    tied = ", ".join(rows[cell]["title"] for cell in results["tied"]) or "none"
    of_reference = (
        results["references"][0]["test_mean"] if "references" in results else results["data"]["naive"]["test"]
    )
    return f"| {name} | {ahead['title']} | {tied} | {score(ahead)} | {score(lstm)} | {of_reference:.3g} |"


def both(name, comparisons):
    """Returns the line of the table that pools the seeds of both comparisons: accuracy, or the test score."""
    of_cells = {}
    for row in (row for results in comparisons for row in results["rows"]):
        of_cells.setdefault(row["title"], []).append(row["accuracy"] if name == "digits" else row["test"])
    cells = []
    for title, of_rows in of_cells.items():
        # A cell that only one comparison has chosen has half of the seeds.
        if len(of_rows) == len(comparisons):
            mean, error = mean_and_error([value for values in of_rows for value in values])
            shown = f"{100 * mean:.1f} ± {100 * error:.1f} %" if name == "digits" else f"{mean:#.3g} ± {error:.1g}"
            cells.append((mean, f"{title} {shown}"))
    return f"| {name} | {', '.join(text for _, text in sorted(cells, reverse=name == 'digits'))} |"


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="for the data and the comparisons")
    folder = parser.parse_args(argv).folder
    folder.mkdir(parents=True, exist_ok=True)
    RESULTS.mkdir(exist_ok=True)
    pooled = ["| data | cells of both comparisons |", "| --- | --- |"]
    lines = ["| data, seed | ahead | within noise of it | test | test of the LSTM | without a model |"]
    lines += ["| --- | --- | --- | ---: | ---: | ---: |"]
    for file, (make, arguments) in DATA.items():
        path = folder / file
        if not path.exists():
            make(path)
        comparisons = []
        for seed in (0, 1):
            output = folder / f"out_{path.stem}_{seed}"
            command_line.main([str(path), *arguments, "--seed", str(seed), "--output", str(output)])
            results = figures(Comparison(output))
            comparisons.append(results)
            (RESULTS / f"{path.stem}_{seed}.json").write_text(json.dumps(results, indent=1) + "\n")
            lines.append(line(f"{path.stem}, {seed}", results))
        pooled.append(both(path.stem, comparisons))
    print("\n".join([*lines, "", *pooled]))


if __name__ == "__main__":
    main()
