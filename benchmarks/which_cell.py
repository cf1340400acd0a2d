"""`compare` on three data sets that no one tuned for, twice each, with seeds of its own each time.

    pip install scikit-learn statsmodels
    KERAS_BACKEND=jax python -m benchmarks.which_cell runs/which_cell

The folder keeps the data and the comparisons; a run that was stopped goes on. Settings, seeds and figures go to
`benchmarks/compare/`, from which the site makes a page, which is printed. It takes up to 52 minutes.
"""

import argparse
import json
import math
import pathlib

import numpy as np

from keras_rnn_compare import Comparison, cli
from keras_rnn_compare.scoring.statistics import difference, mean_and_error

RESULTS = pathlib.Path(__file__).parent / "compare"
PAGE = """\
# Fifteen cells on three data sets

`compare` on data that nobody tuned for: images of digits from scikit-learn, row by row; the yearly sunspots of
statsmodels, one year ahead; and the texts of Python's `help()`, by character. On each, the cells were compared twice,
with different seeds; the digits were also split anew. Lower is better: cross entropy, RMSE and bits per character, on
the test part, which no choice has seen.

{comparisons}

On every data set, the winner of the first comparison was the winner of the second one, or within noise of it.

- **Digits.** Four cells, then five, are within noise of each other: 269 validation images tell little. Logistic
  regression on summaries is far behind.
- **Sunspots.** A different cell was ahead each time, with the LSTM within noise; 41 validation years tell so little
  that `compare` recommends the trees, though all better cells are ahead of them on test.
- **The texts of Python.** The low-rank GRU was ahead both times, with `AdaptiveLinear` within noise of it; the LSTM is
  behind by more than noise in the first comparison, and in the second, whose seeds vary more, it is not. In fourteen
  minutes, divided among fifteen cells, none catches up with a 5-gram, which is what is recommended: on validation, it
  has 2.19 bits per character, the low-rank GRU 2.33.

## All seeds

Both comparisons of each data set together, with all their seeds: the accuracy in percent, the RMSE, and the bits per
character. In bold is what beats the LSTM by a t-test over the seeds at 95 %, one comparison at a time: with fourteen
cells and three data sets, one of 42 would by chance. The test part is the same for all seeds, which matters for the 42
years of sunspots. Cells that were not among the better ones had fewer seeds, whose number is in parentheses; of two,
there are both figures. For Gated DeltaNet, the time did not suffice on the sunspots.

{both}

`AdaptiveLinear` is level with the best cell on the texts, and behind on the digits and the sunspots. The Mogrifier is
behind on the texts, after 450 to 470 steps; after thousands, on words, it is [ahead](../examples/papers/ptb_words.py)
of the LSTM. If you have time, compare fewer cells for longer.

## Models without a network

On the same test parts:

{baselines}

## How it was measured

The comparisons ran on JAX, on one CPU core beside other work on a second one, with all fifteen cells, for 6 minutes at
most on the digits and the sunspots (5 seeds) and 14 on the texts (3 seeds): `python -m benchmarks.which_cell FOLDER`
([program](which_cell.py)). Those of the digits are from before cells could be trained again with a lower rate. In all
of them, Gated DeltaNet has `epsilon=1e-6`; its default is now `1e-5`. All settings and figures are in files: digits
[0](compare/digits_0.json) and [1](compare/digits_1.json), sunspots [0](compare/sunspots_0.json) and
[1](compare/sunspots_1.json), texts [0](compare/python_docs_0.json) and [1](compare/python_docs_1.json). On idle cores,
a training step on the texts takes 9.8 ms (LSTM), 9.4 (GRU), 12.2 (low-rank GRU) and 17.8 (Mogrifier):
[figures](equal_weights.json) from a comparison of 36 seconds.
"""


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


def baselines(name, results):
    """Returns the line of a comparison in the table of models without a network."""
    listed = [f"{row['title'].partition(' (')[0]} {row['test_mean']:.3g}" for row in results["baselines"]]
    return f"| {name} | {', '.join(listed)} |"


def page():
    """Returns the page of what was measured, in Markdown. Its links start from the folder of this file."""
    found = {}
    for file in DATA:
        name = pathlib.Path(file).stem
        found[name] = [json.loads((RESULTS / f"{name}_{seed}.json").read_text()) for seed in (0, 1)]
    numbered = [(f"{name}, {seed}", results) for name, pair in found.items() for seed, results in enumerate(pair)]
    comparisons = ["| data, seed | ahead | within noise of it | test | test of the LSTM | best baseline |"]
    comparisons += ["| --- | --- | --- | ---: | ---: | ---: |", *(line(*each) for each in numbered)]
    together = ["| | digits | sunspots | texts |", "| --- | ---: | ---: | ---: |", *both(found)]
    without = ["| data, seed | test |", "| --- | --- |", *(baselines(*each) for each in numbered)]
    tables = {"comparisons": comparisons, "both": together, "baselines": without}
    return PAGE.format(**{name: "\n".join(lines) for name, lines in tables.items()})


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path, help="for the data and the comparisons")
    folder = parser.parse_args(argv).folder
    folder.mkdir(parents=True, exist_ok=True)
    RESULTS.mkdir(exist_ok=True)
    for file, (make, arguments) in DATA.items():
        path = folder / file
        if not path.exists():
            make(path)
        for seed in (0, 1):
            output = folder / f"out_{path.stem}_{seed}"
            cli.main([str(path), *arguments, "--seed", str(seed), "--output", str(output)])
            results = figures(Comparison(output))
            (RESULTS / f"{path.stem}_{seed}.json").write_text(json.dumps(results, indent=1) + "\n")
    print(page())


if __name__ == "__main__":
    main()
