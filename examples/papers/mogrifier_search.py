"""The search for the hyperparameters of the Mogrifier, in the paper's ranges, and how sensitive the loss is to each.

    python -m examples.papers.mogrifier_search --text penn/ --trials 100
    python -m examples.papers.mogrifier_search --table 6 --run runs/word_language_model

It needs KerasTuner. Each trial of tables 4 and 5 is a run of `examples/word_language_model.py`, which takes what other
options there are: `--epochs 145 --steps 35` is the shorter schedule of section 4.1. The units are those at which the
model has the `--weights`. Table 6 tunes the dynamic evaluation of a model that such a run has trained. A killed search
goes on with the same command.

The paper tunes by batched Gaussian process bandits; `--oracle bayesian` is KerasTuner's search by Gaussian processes.
The picture has a panel for each hyperparameter, with the loss of all trials; those near the best one are red.

Reference: Melis, Kočiský and Blunsom, Mogrifier LSTM (2020), appendix A, tables 4 to 6, and appendix B.
"""

import argparse
import functools
import json
import math
import pathlib
import sys
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from examples import recipes, word_language_model
from examples.papers import _study
from keras_adaptive_rnn import evaluation, hub

PAPERS = ("mogrifier", "mogrifier-lstm", "mogrifier-characters")
ORACLES = ("bayesian", "random")
NEAR = 0.15  # Share of a range, around the best value, that appendix B looks at.
STATISTICS_ROWS = 1024


class Range(NamedTuple):
    low: float
    high: float
    spacing: str = "linear"

    def place(self, value: float) -> float:
        """Returns where a value is in the range, from 0 to 1."""
        low, high, value = map(math.log, (self.low, self.high, value)) if self.spacing == "log" else (*self[:2], value)
        return (value - low) / (high - low)


# A rank below one is full, and a ratio above one makes the embedding as large as the output.
MOGRIFIER = {"mogrifier_rounds": Range(0, 6), "mogrifier_rank": Range(-20, 100)}
TABLES = {
    4: {
        "learning_rate": Range(0.001, 0.004, "log"),
        "input_embedding_ratio": Range(0.0, 2.0),
        "l2_penalty": Range(5e-6, 1e-3, "log"),
        "input_dropout": Range(0.0, 0.9),
        "inter_layer_dropout": Range(0.0, 0.95),
        "state_dropout": Range(0.0, 0.8),
        "output_dropout": Range(0.0, 0.95),
        **MOGRIFIER,
    },
    # For Enwik8.
    5: {
        "learning_rate": Range(0.001, 0.004, "log"),
        "l2_penalty": Range(5e-6, 1e-3, "log"),
        "input_dropout": Range(0.0, 0.2),
        "inter_layer_dropout": Range(0.0, 0.2),
        "state_dropout": Range(0.0, 0.25),
        "output_dropout": Range(0.0, 0.25),
        **MOGRIFIER,
    },
    # Of dynamic evaluation; for words.
    6: {
        "max_time_steps": Range(1, 20),
        "dyneval_learning_rate": Range(1e-6, 1e-3, "log"),
        "dyneval_decay_rate": Range(1e-6, 1e-2, "log"),
        "dyneval_epsilon": Range(1e-8, 1e-2, "log"),
    },
}
CHARACTER_STEPS = Range(1, 50)


def ranges(table: int, cell: str = "mogrifier", tokens: str = "words") -> dict[str, Range]:
    """Returns the ranges of a table, for a cell and for words or characters."""
    found = dict(TABLES[table])
    if cell != "mogrifier":
        found = {name: some for name, some in found.items() if name not in MOGRIFIER}
    if table == 6 and tokens == "characters":
        found["max_time_steps"] = CHARACTER_STEPS
    return found


def import_tuner():
    try:
        import keras_tuner
    except ImportError:
        raise ImportError("the search needs KerasTuner: pip install keras-tuner") from None
    return keras_tuner


def hyperparameters(some: dict[str, Range]):
    """Returns ranges as the `keras_tuner.HyperParameters` of a search."""
    found = import_tuner().HyperParameters()
    for name, (low, high, spacing) in some.items():
        (found.Int if isinstance(low, int) else found.Float)(name, low, high, sampling=spacing)
    return found


# A trial of tables 4 and 5.


def sizes(values: dict, units: int) -> tuple[int, int | None]:
    """Returns the size of the embedding, and the rank of the gates."""
    embedding = max(1, round(min(1.0, values.get("input_embedding_ratio", 1.0)) * units))
    rank = values.get("mogrifier_rank", 0)
    # A matrix has no larger rank than its smaller side.
    return embedding, min(rank, embedding) if rank > 0 else None


def weights(values: dict, units: int, args: argparse.Namespace, vocabulary: int) -> int:
    """Returns the number of weights of a trial with so many units."""
    embedding, rank = sizes(values, units)
    total = vocabulary * (embedding + 1)
    if not args.tie_weights:
        total += vocabulary * units
    elif embedding < units:
        total += units * embedding
    for inputs in (embedding, *[units] * (len(args.units) - 1)):
        of_gate = inputs * units if rank is None else rank * (inputs + units)
        total += 4 * units * (inputs + units + 1) + values.get("mogrifier_rounds", 0) * of_gate
    return total


def options(values: dict, args: argparse.Namespace, vocabulary: int, budget: int) -> dict:
    """Returns the settings of a trial, with as many units as its number of weights allows."""
    units = _study.equal_units(lambda n: weights(values, n, args, vocabulary), budget)
    embedding, rank = sizes(values, units)
    gates = {"rounds": values["mogrifier_rounds"], "rank": rank} if args.cell == "mogrifier" else {}
    return {
        "embedding": embedding,
        "units": [units] * len(args.units),
        **gates,
        "input_dropout": values["input_dropout"],
        "hidden_dropout": values["inter_layer_dropout"],
        "state_dropout": values["state_dropout"],
        "output_dropout": values["output_dropout"],
        "learning_rate": values["learning_rate"],
        # The paper's losses are sums over the steps.
        "weight_decay": values["l2_penalty"] / args.steps,
        "clip": 10 / args.steps,
    }


def trained(values: dict, folder: pathlib.Path, argv: list[str], args, vocabulary: int, budget: int) -> float:
    """Trains a model with some hyperparameters, and returns its validation loss."""
    chosen = options(values, args, vocabulary, budget)
    chosen = [word for name, value in chosen.items() for word in recipes.option(name, value).split()]
    skipped = [method for method in word_language_model.METHODS if method != "static"]
    word_language_model.main([*argv, *chosen, "--output", str(folder), "--skip", *skipped])
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return math.log(results["perplexity"]["static"]["valid"])


# A trial of table 6.


class DynamicEvaluation:
    """Dynamic evaluation of the model that a run has trained, on validation data."""

    def __init__(self, run: pathlib.Path):
        try:
            self.args = argparse.Namespace(**json.loads((run / "settings.json").read_text(encoding="utf-8")), rows=1)
        except OSError as error:
            raise ValueError(f"--run {run} is not a run of word_language_model.py: {error.strerror}") from None
        self.args.tune_tokens = 20_000
        tokenizer, self.ids = word_language_model.prepare(self.args)
        self.vocabulary = tokenizer.vocabulary_size()
        self.model = hub.RecurrentCausalLM.from_preset(str(run / "preset")).streaming_model(1)
        self.statistics = functools.lru_cache(None)(self.statistics)

    def statistics(self, steps):
        rows = max(1, min(STATISTICS_ROWS, len(self.ids["train"]) // (2 * steps) - 1))
        return evaluation.gradient_statistics(self.model, self.ids["train"], steps, rows, "sum", verbose=False)

    def loss(self, values: dict) -> float:
        # Their losses are sums over the steps; their code takes the mean size of the gradients over all weights.
        return evaluation.dynamic_evaluate(
            self.model,
            self.ids["valid"][: self.args.tune_tokens],
            self.statistics(values["max_time_steps"]),
            values["max_time_steps"],
            learning_rate=values["dyneval_learning_rate"],
            decay=values["dyneval_decay_rate"],
            epsilon=values["dyneval_epsilon"],
            normalize="entries",
            reduction="sum",
            verbose=False,
        ).loss


# The search.


def search(judge, some: dict[str, Range], folder: pathlib.Path, oracle: str, trials: int, seed: int, worst: float):
    """Returns the trials of a search, the best one first: `judge(values, folder)` is the loss of a trial."""
    keras_tuner = import_tuner()

    class Tuner(keras_tuner.Tuner):
        def run_trial(self, trial):
            loss = judge(trial.hyperparameters.values, folder / f"trial_{trial.trial_id}")
            # One that diverged is no better than a guess.
            return {"loss": min(worst, float(np.nan_to_num(loss, nan=worst, posinf=worst)))}

    kinds = {
        "bayesian": keras_tuner.oracles.BayesianOptimizationOracle,
        "random": keras_tuner.oracles.RandomSearchOracle,
    }
    chooser = kinds[oracle](
        objective=keras_tuner.Objective("loss", "min"),
        max_trials=trials,
        seed=seed,
        hyperparameters=hyperparameters(some),
        tune_new_entries=False,
    )
    tuner = Tuner(chooser, directory=folder, project_name="search")
    tuner.search()
    done = [trial for trial in tuner.oracle.trials.values() if trial.score is not None]
    if not done:
        raise ValueError(f"no trial of {len(tuner.oracle.trials)} has ended: {folder / 'search'} has their messages")
    return sorted(({"loss": t.score, "values": t.hyperparameters.values} for t in done), key=lambda row: row["loss"])


def is_near(row: dict, best: dict, some: dict[str, Range]) -> bool:
    """Returns whether each hyperparameter of a trial is near that of the best one."""
    return all(
        abs(one.place(row["values"][name]) - one.place(best["values"][name])) <= NEAR / 2 for name, one in some.items()
    )


def plot(rows: list[dict], some: dict[str, Range], path: pathlib.Path) -> None:
    """Draws the loss of all trials over each hyperparameter; those near the best one, which is the first, are red."""
    columns = min(3, len(some))
    lines = math.ceil(len(some) / columns)
    figure = Figure(figsize=(3.2 * columns, 2.6 * lines), layout="constrained")
    panels = figure.subplots(lines, columns, sharey=True, squeeze=False)
    near = np.array([is_near(row, rows[0], some) for row in rows])
    losses = np.array([row["loss"] for row in rows])
    for (name, one), axes in zip(some.items(), panels.flat, strict=False):
        values = np.array([row["values"][name] for row in rows])
        axes.scatter(values[~near], losses[~near], s=9, color="gray", alpha=0.6, clip_on=False)
        axes.scatter(values[near], losses[near], s=16, color="red", clip_on=False)
        axes.set(xlabel=name.replace("_", " "), xscale=one.spacing)
        if one.spacing == "log":
            ticks = np.geomspace(one.low, one.high, 3)
            axes.set_xticks(ticks, [f"{tick:.2g}" for tick in ticks])
            axes.set_xticks([], minor=True)
        axes.set_xlim(one.low, one.high)
        axes.grid(alpha=0.3)
    for axes in panels.flat[len(some) :]:
        axes.remove()
    for axes in panels[:, 0]:
        axes.set_ylabel("validation loss (nats)")
    figure.savefig(path, dpi=110)


def parse(argv: list[str] | None = None) -> tuple[argparse.Namespace, list[str]]:
    """Returns the options, and those of `word_language_model.py`."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.papers.mogrifier_search",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    positive = word_language_model.positive
    parser.add_argument("--table", type=int, choices=TABLES, default=4, help="whose ranges to take (%(default)s)")
    parser.add_argument("--paper", choices=PAPERS, default="mogrifier", help="what is tuned (%(default)s)")
    parser.add_argument("--weights", type=positive(int), default=24_000_000, help="of each model (%(default)s)")
    parser.add_argument("--oracle", choices=ORACLES, default="bayesian", help="what chooses the trials (%(default)s)")
    parser.add_argument("--trials", type=positive(int), default=100, help="how many (%(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the search (%(default)s)")
    parser.add_argument("--run", type=pathlib.Path, help="for table 6: folder of a run of word_language_model.py")
    parser.add_argument("--output", type=pathlib.Path, default="runs/papers/mogrifier_search", help="(%(default)s)")
    args, others = parser.parse_known_args(argv)
    if (args.table == 6) != (args.run is not None):
        parser.error("--table 6 needs the --run of a trained model, and no other table has one")
    if args.table == 6 and others:
        parser.error(f"--table 6 trains nothing, and has no {' '.join(others)}")
    return args, others


def run(argv: list[str] | None = None) -> list[dict]:
    """Runs the search of the options `argv`, by default those of the command, and returns its trials."""
    args, others = parse(argv)
    import_tuner()
    if args.table == 6:
        trained_before = DynamicEvaluation(args.run)
        vocabulary = trained_before.vocabulary
        some = ranges(6, tokens=trained_before.args.tokens)

        def judge(values, folder):
            return trained_before.loss(values)
    else:
        base = ["--paper", args.paper, *others]
        model = word_language_model.parse(base)
        vocabulary = word_language_model.prepare(model)[0].vocabulary_size()
        some = ranges(args.table, model.cell)

        def judge(values, folder):
            return trained(values, folder, base, model, vocabulary, args.weights)

    rows = search(judge, some, args.output, args.oracle, args.trials, args.seed, math.log(vocabulary))
    path, picture = args.output / "results.json", args.output / "sensitivity.png"
    word_language_model.write(path, rows)
    plot(rows, some, picture)
    print(f"The best of {len(rows)} trials has a validation loss of {rows[0]['loss']:.4f}:", rows[0]["values"])
    print(f"All trials are in {path}, the picture in {picture}.")
    return rows


if __name__ == "__main__":
    try:
        run()
    except (ImportError, ValueError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. The same command goes on.")
