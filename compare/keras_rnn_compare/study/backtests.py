"""Backtests by rolling origin: forecasts after earlier cuts of the same series."""

from keras_rnn_compare.models.strategies import Learners
from keras_rnn_compare.models.trials import full_scores
from keras_rnn_compare.rounding import rounded
from keras_rnn_compare.running.schedule import trial_seconds
from keras_rnn_compare.scoring.baselines import baseline_rows, fit
from keras_rnn_compare.scoring.statistics import mean_and_error
from keras_rnn_compare.seeds import fold_in
from keras_rnn_compare.study.study import shape_of


def fold(study, plan, trained, data, k):
    """Returns the record of an earlier cut: each cell is trained anew on what was known then, with its rate.

    Args:
        study, plan, trained: The `Study`, the `Plan` and what was `Trained`.
        data: The `Data` of the cut.
        k: Its number.
    """
    final, progress = plan.final, study.progress
    size = min(study.batch_size, len(data.x["train"]))
    learner = Learners(data, shape_of(data, study.settings), size, study.candidates)
    strategy = trained.strategy if data.one_step is not None else "direct"
    samples = {part: min(count, len(data.x[part])) for part, count in final["scored"].items()}
    final = {**final, "rows": min(final["rows"], len(data.x["validation"]))}

    def record(row):
        def train():
            name = row["name"]
            progress.says(f"{row['title']}, fold {k + 1}")
            made = learner(name, plan.units[name], strategy)
            made.train(row["rate"], fold_in(study.settings.seed, "fold", k), final)
            found = full_scores(made, {**final, "scored": samples})
            progress.advance(fold_seconds(plan, name))
            return {"rate": row["rate"], **{each: found[each] for each in ("score", "test", "figures")}}

        return study.folder.once(f"trials/{row['name']}-fold{k}", train, ("score", "test", "figures", "rate"))

    def of_baselines():
        # Those that there was time for.
        found = baseline_rows(data, samples, fit(data, names=[each.name for each in study.baselines]))
        return {"rows": [{name: row[name] for name in ("name", "title", "test", "figures")} for row in found]}

    cells = [{"name": row["name"], "title": row["title"], "test": record(row)["test"]} for row in trained.rows]
    progress.says(f"the baselines, fold {k + 1}")
    others = study.folder.once(f"baselines-fold{k}", of_baselines, ("rows",))["rows"]
    return of_cut(data, [*cells, *map(first_seed, others)])


def of_cut(data, rows):
    """Returns the record of a cut."""
    return {"test": data.card["read"]["test"], "train": data.card["read"]["train"], "rows": rows}


def first_seed(row):
    return {"name": row["name"], "title": row["title"], "test": row["test"][0]}


def fold_seconds(plan, name):
    """Returns what a cell takes in a fold."""
    return plan.times[name]["build"] + trial_seconds(plan.final, plan.times[name])


def earlier(study, plan, trained):
    """Returns the records of the earlier cuts."""
    return [fold(study, plan, trained, data, k) for k, data in enumerate(study.data.earlier)]


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
    several = [(title, mean, error) for title, mean, error in means(records) if error is not None]
    shown = ", ".join(f"{title} {rounded(mean)} ± {rounded(error, 1)}" for title, mean, error in several)
    return (
        f"Over {len(records)} folds, each after a later cut than the one before, the mean test {measure} is: {shown}."
    )
