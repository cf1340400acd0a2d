"""Forecasts of a whole horizon row by row, by a model of the next row that reads its own forecasts."""

from keras_adaptive_rnn._seeds import fold_in
from keras_adaptive_rnn.comparison.candidates import ModelShape
from keras_adaptive_rnn.comparison.folder import digest
from keras_adaptive_rnn.comparison.series import rolled
from keras_adaptive_rnn.comparison.trials import Learner, full_scores


class Rolled(Learner):
    """Forecasts a whole horizon, row by row, with the `Learner` of the next row.

    Args:
        next_row: The `Learner` of `data.one_step`.
        data: The `Data` whose horizon is forecast.
    """

    strategy = "recursive"

    def __init__(self, next_row, data):
        self.next_row, self.data, self.batch_size = next_row, data, next_row.batch_size

    @property
    def learner(self):
        return self.next_row

    def outputs_of(self, part, rows):
        one, series = self.next_row.data, self.data.series
        x = one.x[part]
        later = x.table[series.goals(series.ends[part][rows])[:, :-1]]
        column = one.card["columns"].index(one.card["target"])

        def predict(x):
            return self.next_row.predict(x)[:, 0] * one.deviation[0] + one.mean[0]

        found = rolled(predict, x[rows], later, column, series.origin is not None)
        return (found - self.data.mean) / self.data.deviation


def trained(experiment, winner):
    """Returns the cell to take, trained for the next row with its rate, as a `Rolled`, and the record of it."""
    data, plan, name = experiment.data, experiment.schedule["final"], winner["name"]
    shape = ModelShape(data.x["train"].shape[-1], None, 1, experiment.settings["depth"])
    learner = Learner(data.one_step, shape, experiment.candidates[name], experiment.units[name], experiment.size)
    found, weights = Rolled(learner, data), experiment.folder.path / "trials" / f"{name}-recursive.weights.h5"

    def record():
        experiment.progress.says(f"{winner['title']}, row by row")
        learner.train(winner["rate"], fold_in(experiment.settings["seed"], "recursive"), plan)
        with experiment.folder.replaced(f"trials/{weights.name}") as path:
            learner.model.save_weights(path)
        scores = full_scores(found, plan)
        return {"weights": digest(weights), **{each: scores[each] for each in ("score", "test", "figures")}}

    def fault(record):
        return None if record["weights"] == digest(weights) else f"has lost its weights, {weights.name}"

    needs = ("score", "test", "figures", "weights")
    kept = experiment.folder.once(f"trials/{name}-recursive", record, needs, fault)
    learner.model.load_weights(weights)
    return found, kept


def note(winner, best, record):
    """Returns a sentence about both ways to forecast a horizon."""
    at_once, row_by_row = winner["validation"][best], record["score"]
    taken = "row by row" if is_better(winner, best, record) else "all at once"
    return (
        f"{winner['title']} has a validation RMSE of {at_once:.4g} if it forecasts the whole horizon at once, and of "
        f"{row_by_row:.4g} row by row: the saved model forecasts {taken}."
    )


def is_better(winner, best, record):
    return record["score"] is not None and record["score"] < winner["validation"][best]
