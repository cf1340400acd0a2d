"""`compare` on three data sets that no one tuned for, twice each, with seeds of its own each time.

    pip install scikit-learn statsmodels
    KERAS_BACKEND=jax python -m benchmarks.which_cell runs/which_cell

The folder keeps the data and the comparisons; a run that was stopped goes on. Settings, seeds and figures go to
`benchmarks/compare/`, and the tables of `docs/compare.md` are printed. It takes up to 52 minutes.
"""

import argparse
import json
import math
import pathlib

import numpy as np

from keras_rnn_compare import Comparison, cli
from keras_rnn_compare.scoring.statistics import difference, mean_and_error

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
    """Returns what is kept of a comparison: all but the curves, and the code, which names a folder."""

    def kept(rows):
        without = {"curve", "curves", "band"}
        return [{name: value for name, value in row.items() if name not in without} for row in rows]

    search = {cell: kept(trials) for cell, trials in found.results["search"].items()}
    rows, behind = kept(found.results["rows"]), kept(found.results["behind"])
    results = {name: value for name, value in found.results.items() if name != "code"}
    return {**results, "rows": rows, "behind": behind, "search": search}


def line(name, results):
    """Returns the line of a comparison in the table."""
    rows = {row["name"]: row for row in results["rows"]}
    # The first files call the cell with the best mean the winner, and know one baseline.
    lstm, ahead = rows["lstm"], rows[results.get("ahead", results["winner"])]

    def score(row):
        return f"{row['test_mean']:.3g} ± {row['test_error']:.1g}"

    tied = ", ".join(rows[cell]["title"] for cell in results["tied"]) or "none"
    of_baseline = results["baselines"][0]["test_mean"] if "baselines" in results else results["data"]["naive"]["test"]
    return f"| {name} | {ahead['title']} | {tied} | {score(ahead)} | {score(lstm)} | {of_baseline:.3g} |"


def both(comparisons):
    """Returns the lines of a table of all cells: accuracy in percent, or the test score, over both comparisons.

    In bold is what beats the LSTM by a t-test at 95 %. Of two seeds, there are both figures. Where a cell has fewer
    seeds than the LSTM, as it was not among the better ones, their number is in parentheses.

    Args:
        comparisons: Dict of the names of data sets; a list of results each. The last one decides about the order.
    """
    found = {}
    for name, of_data in comparisons.items():
        for row in (row for results in of_data for row in (*results["rows"], *results["behind"])):
            values = [100 * value for value in row["accuracy"]] if name == "digits" else row["test"]
            found.setdefault(row["title"], {}).setdefault(name, []).extend(values)

    def shown(title, name):
        values, of_lstm = found[title].get(name, []), found["LSTM"][name]
        if len(values) < 2:
            return ""
        (mean, error), (base, of_base) = mean_and_error(values), mean_and_error(of_lstm)
        places = min(3, max(0, -math.floor(math.log10(error))))
        text = f"{mean:.{places}f} ± {error:.{places}f}"
        if len(values) == 2:
            text = ", ".join(f"{value:.{places}f}" for value in values)
        gain = mean - base if name == "digits" else base - mean
        is_noise = difference(gain, error, len(values), of_base, len(of_lstm)).is_noise
        text = f"**{text}**" if gain > 0 and not is_noise else text
        return text + (f" ({len(values)})" if len(values) < len(of_lstm) else "")

    def last_score(title):
        return mean_and_error(found[title][name])[0]

    *_, name = comparisons
    return [
        f"| {title} | {' | '.join(shown(title, name) for name in comparisons)} |"
        for title in sorted(found, key=last_score)
    ]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="for the data and the comparisons")
    folder = parser.parse_args(argv).folder
    folder.mkdir(parents=True, exist_ok=True)
    RESULTS.mkdir(exist_ok=True)
    comparisons = {}
    lines = ["| data, seed | ahead | within noise of it | test | test of the LSTM | best baseline |"]
    lines += ["| --- | --- | --- | ---: | ---: | ---: |"]
    for file, (make, arguments) in DATA.items():
        path = folder / file
        if not path.exists():
            make(path)
        for seed in (0, 1):
            output = folder / f"out_{path.stem}_{seed}"
            cli.main([str(path), *arguments, "--seed", str(seed), "--output", str(output)])
            results = figures(Comparison(output))
            comparisons.setdefault(path.stem, []).append(results)
            (RESULTS / f"{path.stem}_{seed}.json").write_text(json.dumps(results, indent=1) + "\n")
            lines.append(line(f"{path.stem}, {seed}", results))
    print("\n".join([*lines, "", *both(comparisons)]))


if __name__ == "__main__":
    main()
