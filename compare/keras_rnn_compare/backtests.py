"""Backtests by rolling origin: what would have been forecast after earlier cuts of the same series."""

from keras_rnn_compare.baselines import baseline_rows
from keras_rnn_compare.candidates import ModelShape
from keras_rnn_compare.schedule import trial_seconds
from keras_rnn_compare.seeds import fold_in
from keras_rnn_compare.statistics import mean_and_error
from keras_rnn_compare.strategies import STRATEGIES
from keras_rnn_compare.trials import full_scores


def fold(experiment, data, k, rows):
    """Returns the record of an earlier cut: each cell is trained anew on what was known then, with its rate.

    Args:
        experiment: The `Experiment`.
        data: The `Data` of the cut.
        k: Its number.
        rows: Rows of the cells.
    """
    plan, progress = experiment.schedule["final"], experiment.progress
    size = min(experiment.size, len(data.x["train"]))
    shape = ModelShape(data.x["train"].shape[-1], data.vocabulary, data.outputs, experiment.settings["depth"])
    samples = {part: min(count, len(data.x[part])) for part, count in plan["scored"].items()}
    plan = {**plan, "rows": min(plan["rows"], len(data.x["validation"]))}

    def record(row):
        def train():
            name = row["name"]
            progress.says(f"{row['title']}, fold {k + 1}")
            strategy = experiment.strategy if data.one_step is not None else "direct"
            learner = STRATEGIES[strategy](data, shape, experiment.candidates[name], experiment.units[name], size)
            seed = fold_in(experiment.settings["seed"], "fold", k)
            learner.train(row["rate"], seed, plan)
            found = full_scores(learner, {**plan, "scored": samples})
            progress.advance(fold_seconds(experiment, name))
            return {"rate": row["rate"], **{each: found[each] for each in ("score", "test", "figures")}}

        return experiment.folder.once(f"trials/{row['name']}-fold{k}", train, ("score", "test", "figures", "rate"))

    def of_baselines():
        found = baseline_rows(data, samples)
        return {"rows": [{name: row[name] for name in ("name", "title", "test", "figures")} for row in found]}

    cells = [{"name": row["name"], "title": row["title"], "test": record(row)["test"]} for row in rows]
    progress.says(f"the baselines, fold {k + 1}")
    others = experiment.folder.once(f"baselines-fold{k}", of_baselines, ("rows",))["rows"]
    return of_cut(data, [*cells, *map(first_seed, others)])


def of_cut(data, rows):
    """Returns the record of a cut."""
    return {"test": data.card["read"]["test"], "train": data.card["read"]["train"], "rows": rows}


def first_seed(row):
    return {"name": row["name"], "title": row["title"], "test": row["test"][0]}


def fold_seconds(experiment, name):
    """Returns what a cell takes in a fold."""
    times = experiment.times[name]
    return times["build"] + trial_seconds(experiment.schedule["final"], times)


def earlier(experiment, rows):
    """Returns the records of the earlier cuts."""
    return [fold(experiment, data, k, rows) for k, data in enumerate(experiment.data.earlier)]


def last(data, rows, others):
    """Returns the record of the last cut, whose scores are those of the first seed."""
    return of_cut(data, [first_seed(row) for row in (*rows, *others)])


def means(records):
    """Returns `(title, mean, error)` of each row that all cuts have, by their test scores, the best first."""
    names = {row["name"]: row["title"].partition(" (")[0] for row in records[-1]["rows"]}
    scores = {
        name: [row["test"] for record in records for row in record["rows"] if row["name"] == name] for name in names
    }
    found = [(names[name], *mean_and_error(each)) for name, each in scores.items() if len(each) == len(records)]
    return sorted(found, key=lambda each: each[1])


def note(records, measure):
    """Returns a sentence about the folds, or `None` if there is one only."""
    if len(records) < 2:
        return None
    shown = ", ".join(f"{title} {mean:.4g} ± {error:.1g}" for title, mean, error in means(records) if error is not None)
    return (
        f"Over {len(records)} folds, each after a later cut than the one before, the mean test {measure} is: {shown}."
    )
