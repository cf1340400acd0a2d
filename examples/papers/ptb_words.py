"""AWD-LSTM, Mogrifier and LSTM on the first 120,000 words of the Penn Treebank, and each judged in five ways.

    python -m examples.papers.ptb_words --data penn/

`penn` is a folder with `ptb.train.txt`, `ptb.valid.txt` and `ptb.test.txt`. Each training is a run of
`examples/word_language_model.py`, which goes on where it was killed.

Reference: Merity, Keskar and Socher, Regularizing and Optimizing LSTM Language Models (2018); Melis, Kočiský and
Blunsom, Mogrifier LSTM (2020), table 1; Krause et al., Dynamic Evaluation of Neural Sequence Models (2018).
"""

import json
import math
import pathlib

from examples import word_language_model
from examples.papers import _study

MODELS = {"LSTM": "lstm", "AWD-LSTM": "awd", "Mogrifier": "mogrifier"}
# What is tried on validation data, for every model alike.
TRIED = (
    *("--rows", "20", "--samples", "20", "--dropout-scale", "0.4", "0.6", "0.8", "--temperatures", "0.8", "1.3"),
    *("--tune-tokens", "5000", "--dynamic-rate", "5e-5", "1e-4", "3e-4", "--dynamic-decay", "2e-3"),
)
STUDY = _study.Study(
    name="ptb_words",
    title="Words of the Penn Treebank: three models, five ways to judge them",
    claim="At 24 million weights and on the whole text, test perplexities are 58.8 for AWD-LSTM (57.3 after "
    "finetuning), 54.6 for an LSTM and 51.0 for a Mogrifier, tuned alike. Averaging over dropout masks takes 0.5 to "
    "1.5 % off, dynamic evaluation 11 to 14 %.",
    protocol="The first 120,000 words of the training file and its 5,476 words that come twice; whole validation and "
    "test files; three million tied weights in two layers; Adam without momentum at 0.002, 16 rows of 35 words, the "
    "rate constant for half of 25 epochs and then falling to a tenth, weights averaged over the last quarter. LSTM: "
    "plain dropout of 0.3, best epoch. AWD-LSTM and Mogrifier: the dropouts and penalties of AWD-LSTM. Rates and "
    "dropouts of the training are not tuned. Temperatures, dropout scales and dynamic rates are chosen on the first "
    "5,000 words of validation.",
    models=tuple(MODELS),
    budgets={
        "test": {"words": 600, "epochs": 1, "rounds": 1, "updates": 1},
        "small": {"words": 120_000, "epochs": 25, "rounds": 25, "updates": 215},
        "paper": {"words": 929_589, "epochs": 60, "rounds": 60, "updates": 1660},
    },
    read=None,
    make=None,
    draw=None,
    batch=16,
    score=None,
    metric="val_perplexity",
    log=True,
    found="The order of the papers holds for the ways to judge one model: dynamic evaluation is below Monte-Carlo "
    "dropout, which is below the plain pass. Monte-Carlo dropout takes 1.0 % off, as in the papers. "
    "Dynamic evaluation takes 21.9 % off, more than in the papers: our model has seen an eighth of the "
    "text, and goes on learning from a test text that is two thirds as long. The tuned temperature is 1: "
    "a model with that much dropout is not too sure of itself. Beside each other, models were run with "
    "one seed, which is no proof of an order.",
)
# For the smallest form.
TINY = (
    *("--embedding", "40", "--units", "40", "--batch", "4", "--steps", "5", "--rows", "2", "--samples", "2"),
    *("--skip", "temperature", "monte-carlo-temperature", "dynamic"),
)


def row(name, seed, results):
    """Returns the row of a run, in the form of the other studies."""
    found = results["perplexity"]
    return {
        "model": name,
        "seed": seed,
        "weights": results["weights"],
        "minutes": round(sum(point.get("seconds", math.nan) for point in results["curves"]) / 60, 2),
        "diverged": False,
        "figures": {
            method: round(found[method]["test"], 2) for method in word_language_model.METHODS if method in found
        },
        "validation": {method: round(found[method]["valid"], 2) for method in found},
        "chosen": {method: found[method]["settings"] for method in found},
        "curve": [
            {k: float(f"{v:.6g}") for k, v in point.items() if k not in ("epoch", "seconds")}
            for point in results["curves"]
        ],
    }


def command(name, seed, data, budget, folder) -> list[str]:
    """Returns the arguments of `word_language_model.py` for a run."""
    settings = STUDY.budgets[budget]
    argv = ["--model", MODELS[name], "--small", "--seed", str(seed), "--output", str(folder)]
    argv += ["--words", str(settings["words"]), "--epochs", str(settings["epochs"]), *TRIED]
    argv += [*(["--text", data] if data else []), *(TINY if budget == "test" else [])]
    # Samples of a model at two settings at once take hours, and the paper has no figure for it.
    return argv if "--skip" in argv else [*argv, "--skip", "monte-carlo-temperature"]


def run(argv: list[str] | None = None) -> dict:
    args = _study.parse(STUDY, argv)
    folder = pathlib.Path(args.output) / STUDY.name / args.budget
    path, results = _study.begin(STUDY, args)
    for seed in args.seeds:
        for name in args.models:
            mine = folder / f"{name}-{seed}"
            word_language_model.main(command(name, seed, args.data, args.budget, mine))
            found = json.loads((mine / "results.json").read_text(encoding="utf-8"))
            _study.add(STUDY, path, results, row(name, seed, found))
    _study.finish(STUDY, args, path, results)
    return results


if __name__ == "__main__":
    run()
